// C = alpha * A * B + beta * C through 16 x 16 tiles that live in the L1 cache instead of shared
// memory: a CTA of 16 x 16 threads, each with one element of C.
//
// A step of 32 k takes one line of each of 16 rows of A and half a line of 32 rows of B, 48 lines
// that all 8 warps of the CTA read 32 and 2 times. The barrier keeps the warps in the same step,
// so that few lines are in use at a time.
#include "../common/cuda_shim.h"

constexpr int TILE = 16;
constexpr int STEP = 32;

extern "C" __global__ void sgemm_cache(const float *a, const float *b, float *c, float alpha,
                                       float beta, int m, int n, int k) {
    int row = blockIdx.y * TILE + threadIdx.y;
    int column = blockIdx.x * TILE + threadIdx.x;
    bool inside = row < m && column < n;
    float sum = 0.0f;
    for (int first = 0; first < k; first += STEP) {
        int end = min(first + STEP, k);
        if (inside) {
            for (int t = first; t < end; t++) {
                sum += a[row * k + t] * b[t * n + column];
            }
        }
        __syncthreads();
    }
    if (inside) {
        c[row * n + column] = alpha * sum + beta * c[row * n + column];
    }
}
