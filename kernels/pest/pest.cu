// Estimate of pi: how many random points of the unit square lie in the quarter circle, a count per
// CTA. The points are two streams, read once; counts are added up in shared memory.
#include "../common/cuda_shim.h"

constexpr int THREADS = 256;

extern "C" __global__ void pest(const float *x, const float *y, int *inside, int points) {
    __shared__ int count[THREADS];
    int t = threadIdx.x;
    int mine = 0;
    for (int i = blockIdx.x * THREADS + t; i < points; i += gridDim.x * THREADS) {
        mine += x[i] * x[i] + y[i] * y[i] < 1.0f;
    }
    count[t] = mine;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) {
            count[t] += count[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        inside[blockIdx.x] = count[0];
    }
}
