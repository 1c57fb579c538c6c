// Sum of n integers, modulo 2^32: every CTA adds 512 of them in a tree in shared memory and writes
// one partial sum. Launched again on the partial sums until one is left.
//
// A stream without reuse, then a tree in which half of the lanes fall idle at every level.
#include "../common/cuda_shim.h"

constexpr int BLOCK = 256;

extern "C" __global__ void reduction(const int *in, int *out, int n) {
    __shared__ unsigned partial[BLOCK];
    int lane = threadIdx.x;
    int i = blockIdx.x * (2 * BLOCK) + lane;
    unsigned sum = i < n ? in[i] : 0;
    if (i + BLOCK < n) {
        sum += in[i + BLOCK];
    }
    partial[lane] = sum;
    __syncthreads();
    for (int reach = BLOCK / 2; reach > 0; reach /= 2) {
        if (lane < reach) {
            partial[lane] += partial[lane + reach];
        }
        __syncthreads();
    }
    if (lane == 0) {
        out[blockIdx.x] = partial[0];
    }
}
