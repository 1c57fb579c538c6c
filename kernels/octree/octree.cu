// Gravity between many bodies by Barnes and Hut's method, as in ../barneshut, on a tree that lies in
// memory as a parallel build leaves it: bodies where they were, in no order, then cells, and a plane
// for each coordinate. The nodes of a walk, which lie side by side there, are in as many lines here.
// The lanes of a warp walk together, and take a node as a whole only if all of them may.
#include "../common/cuda_shim.h"

extern "C" __global__ void octree(const int *place, const float *x, const float *y, const float *z,
                                  const float *mass, const float *size, const int *after,
                                  const int *body, float4 *pull, float threshold, float softening,
                                  int nodes, int bodies) {
    int mine = blockIdx.x * blockDim.x + threadIdx.x;
    if (mine < bodies) {
        int here = place[body[mine]];
        float here_x = x[here];
        float here_y = y[here];
        float here_z = z[here];
        float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
        int at = 0;
        while (at < nodes) {
            int there = place[at];
            float dx = x[there] - here_x;
            float dy = y[there] - here_y;
            float dz = z[there] - here_z;
            float square = dx * dx + dy * dy + dz * dz + softening;
            if (__all(size[there] * size[there] <= threshold * square)) {
                float inverse = 1.0f / sqrtf(square);
                float strength = mass[there] * inverse * inverse * inverse;
                sum.x += strength * dx;
                sum.y += strength * dy;
                sum.z += strength * dz;
                at = after[at];
            } else {
                at++;
            }
        }
        pull[mine] = sum;
    }
}
