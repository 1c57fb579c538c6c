// The Q matrix of `mriq`, with the samples in global memory instead of constants.
//
// Words of a sample are read one by one: all lanes read the same word, four loads in turn find the
// same line, and so do eight samples. Whoever looks at one load at a time sees a word a line and no
// reuse: the case in which xie2013 section 6 finds what earlier rules for bypassing miss.
#include "../common/cuda_shim.h"

constexpr float TWO_PI = 6.28318530717958648f;

// Words of their own: not aligned so that one instruction could read them all.
struct Sample {
    float x, y, z, weight;
};

extern "C" __global__ void mriq_global(const float *x, const float *y, const float *z,
                                       const Sample *samples, float *re, float *im, int voxels,
                                       int count) {
    int voxel = blockIdx.x * blockDim.x + threadIdx.x;
    if (voxel >= voxels) {
        return;
    }
    float vx = x[voxel], vy = y[voxel], vz = z[voxel];
    float sum_re = 0.0f, sum_im = 0.0f;
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
