// C = A * B, a thread per element of C: one product of the two that PolyBench-GPU's 2MM makes
// with this loop.
//
// `a[i * lda + k]` is the same for a whole warp (a broadcast), `b[k * nj + j]` is one coalesced
// line, and every k stores C. The eight rows of A that a 32 x 8 CTA reads fall into one set
// when a row of A is a multiple of sets x line.
#include "../common/cuda_shim.h"

extern "C" __global__ void mm2(const float *a, const float *b, float *c, int ni, int nj, int nk,
                               int lda) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < ni && j < nj) {
        float *sum = &c[i * nj + j];
        *sum = 0.0f;
        for (int k = 0; k < nk; k++) {
            *sum += a[i * lda + k] * b[k * nj + j];
        }
    }
}
