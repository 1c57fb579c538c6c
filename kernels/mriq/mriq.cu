// The Q matrix of a magnetic resonance image reconstruction, a thread per voxel: the sum over samples
// of weight * (cos a, sin a), where a is 2 pi times the product of the sample's and the voxel's
// coordinates.
//
// Samples are constants given by the host, four words each: all lanes read the same one at the same
// time, so that the constant cache broadcasts. Three loads a voxel, the rest is arithmetic and two
// special functions a sample.
#include "../common/cuda_shim.h"

constexpr int SAMPLES = 512;
constexpr float TWO_PI = 6.28318530717958648f;

// Coordinates in x, y, z; the weight in w.
__constant__ float4 samples[SAMPLES];

extern "C" __global__ void mriq(const float *x, const float *y, const float *z, float *re, float *im,
                                int voxels, int count) {
    int voxel = blockIdx.x * blockDim.x + threadIdx.x;
    if (voxel >= voxels) {
        return;
    }
    float vx = x[voxel], vy = y[voxel], vz = z[voxel];
    float sum_re = 0.0f, sum_im = 0.0f;
    for (int i = 0; i < count; i++) {
        float4 sample = samples[i];
        float turns = sample.x * vx + sample.y * vy + sample.z * vz;
        // From -pi to pi, where sine and cosine are specified best.
        float angle = TWO_PI * (turns - rintf(turns));
        sum_re += sample.w * fast_cos(angle);
        sum_im += sample.w * fast_sin(angle);
    }
    re[voxel] = sum_re;
    im[voxel] = sum_im;
}
