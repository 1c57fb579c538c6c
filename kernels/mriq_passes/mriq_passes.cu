// The Q matrix of `mriq`, some samples a launch: each launch reads what those before it have summed,
// and adds to it, as Parboil's ComputeQ does. The samples are in global memory, four words each.
//
// The result is read before it is written: its lines come through the L1, and a store finds its line
// in the L2 or no longer.
#include "../common/cuda_shim.h"

constexpr float TWO_PI = 6.28318530717958648f;

struct Sample {
    float x, y, z, weight;
};

extern "C" __global__ void mriq_passes(const float *x, const float *y, const float *z,
                                       const Sample *samples, float *re, float *im, int voxels,
                                       int count) {
    int voxel = blockIdx.x * blockDim.x + threadIdx.x;
    if (voxel >= voxels) {
        return;
    }
    float vx = x[voxel], vy = y[voxel], vz = z[voxel];
    float sum_re = re[voxel], sum_im = im[voxel];
    for (int i = 0; i < count; i++) {
        float turns = samples[i].x * vx + samples[i].y * vy + samples[i].z * vz;
        // From -pi to pi, where sine and cosine are specified best.
        float angle = TWO_PI * (turns - rintf(turns));
        sum_re += samples[i].weight * fast_cos(angle);
        sum_im += samples[i].weight * fast_sin(angle);
    }
    re[voxel] = sum_re;
    im[voxel] = sum_im;
}
