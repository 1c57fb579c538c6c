// Scalar products of many pairs of vectors, a CTA per pair at a time.
//
// Two streams, unit stride, nothing used twice. A thread adds up every 1024th product, four
// such sums one after the other, and a tree in shared memory adds up the 1024.
#include "../common/cuda_shim.h"

constexpr int SUMS = 1024;

extern "C" __global__ void scalarprod(const float *a, const float *b, float *product, int vectors,
                                      int length) {
    __shared__ float sum[SUMS];
    for (int vector = blockIdx.x; vector < vectors; vector += gridDim.x) {
        int first = vector * length;
        for (int lane = threadIdx.x; lane < SUMS; lane += blockDim.x) {
            float part = 0.0f;
            for (int i = lane; i < length; i += SUMS) {
                part += a[first + i] * b[first + i];
            }
            sum[lane] = part;
        }
        for (int half = SUMS / 2; half > 0; half /= 2) {
            __syncthreads();
            for (int lane = threadIdx.x; lane < half; lane += blockDim.x) {
                sum[lane] += sum[half + lane];
            }
        }
        if (threadIdx.x == 0) {
            product[vector] = sum[0];
        }
        __syncthreads();
    }
}
