// Gravity between many bodies, each cluster of far ones taken as one: a thread per body walks a
// tree whose leaves are the bodies (Barnes and Hut's method).
//
// The nodes lie in depth-first order. A node that is far enough for its size is taken as a whole,
// and the walk goes on behind its subtree, at `after`; else with its first child, the next node. A
// body is a node of size 0. Which node comes next depends on the data and differs from lane to
// lane; neighbouring bodies lie near one another, so that their walks are alike, but not the same.
#include "../common/cuda_shim.h"

extern "C" __global__ void barneshut(const float4 *node, const float *size, const int *after,
                                     const int *body, float4 *pull, float threshold,
                                     float softening, int nodes, int bodies) {
    int mine = blockIdx.x * blockDim.x + threadIdx.x;
    if (mine < bodies) {
        float4 here = node[body[mine]];
        float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
        int at = 0;
        while (at < nodes) {
            float4 there = node[at];
            float x = there.x - here.x;
            float y = there.y - here.y;
            float z = there.z - here.z;
            float square = x * x + y * y + z * z + softening;
            if (size[at] * size[at] <= threshold * square) {
                float inverse = 1.0f / sqrtf(square);
                float strength = there.w * inverse * inverse * inverse;
                sum.x += strength * x;
                sum.y += strength * y;
                sum.z += strength * z;
                at = after[at];
            } else {
                at++;
            }
        }
        pull[mine] = sum;
    }
}
