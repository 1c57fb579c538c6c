// One-dimensional Haar wavelet transform: every level replaces pairs by their sum and their
// difference, both over the square root of two, and goes on with the sums. The differences of level
// l end up in out[n >> l] and after.
//
// A CTA takes as many levels as two samples a thread allow, in shared memory, and leaves its last
// sum in `approximation`, which a second launch transforms further. Samples stream in once;
// differences go out in pieces that halve with every level, as do the lanes at work. n is a multiple
// of twice the block size, a power of two.
#include "../common/cuda_shim.h"

constexpr int MAX_BLOCK = 256;
constexpr float SQRT_HALF = 0.70710678118654752f;

extern "C" __global__ void dwthaar(const float *signal, float *out, float *approximation, int n) {
    __shared__ float sums[2 * MAX_BLOCK];
    int lane = threadIdx.x;
    int block = blockDim.x;
    int first = blockIdx.x * 2 * block;
    sums[lane] = signal[first + lane];
    sums[lane + block] = signal[first + lane + block];
    int level_at = n / 2;
    for (int pairs = block; pairs > 0; pairs /= 2) {
        __syncthreads();
        float left = 0.0f, right = 0.0f;
        if (lane < pairs) {
            left = sums[2 * lane];
            right = sums[2 * lane + 1];
        }
        // Sums overwrite what other lanes read.
        __syncthreads();
        if (lane < pairs) {
            sums[lane] = (left + right) * SQRT_HALF;
            out[level_at + blockIdx.x * pairs + lane] = (left - right) * SQRT_HALF;
        }
        level_at /= 2;
    }
    if (lane == 0) {
        approximation[blockIdx.x] = sums[0];
    }
}
