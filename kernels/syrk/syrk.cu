// C = alpha * A * A^T + beta * C, a thread per element of C, in the PolyBench-GPU mapping.
//
// Neighbouring lanes differ in j, so `a[j * ld + k]` touches 32 rows of A, 32 lines, in one
// warp load: the access that thrashes L1, and that conflicts in one set when a row of A
// (ld elements) is a multiple of sets x line. `a[i * ld + k]` is one line for the whole warp.
// The sum lives in memory: C may overlap A as far as the compiler knows, so that every k
// stores it.
#include "../common/cuda_shim.h"

extern "C" __global__ void syrk(const float *a, float *c, float alpha, float beta, int ni,
                                int nj, int nk, int ld) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < ni && j < nj) {
        float *sum = &c[i * nj + j];
        *sum *= beta;
        for (int k = 0; k < nk; k++) {
            *sum += alpha * a[i * ld + k] * a[j * ld + k];
        }
    }
}
