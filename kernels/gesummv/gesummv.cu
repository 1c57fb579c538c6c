// y = alpha * A * x + beta * B * x, a thread per row of A and of B.
//
// Each warp load of A or B touches 32 rows, 32 lines, whose reuse is in the next columns:
// two matrices of 64 rows per CTA fill L1 by themselves. `x[j]` is the same for all lanes.
// Both running sums live in memory, as they do in PolyBench-GPU.
#include "../common/cuda_shim.h"

extern "C" __global__ void gesummv(const float *a, const float *b, const float *x, float *y,
                                   float *partial, float alpha, float beta, int rows,
                                   int columns, int ld) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        partial[row] = 0.0f;
        y[row] = 0.0f;
        for (int j = 0; j < columns; j++) {
            partial[row] += a[row * ld + j] * x[j];
            y[row] += b[row * ld + j] * x[j];
        }
        y[row] = alpha * partial[row] + beta * y[row];
    }
}
