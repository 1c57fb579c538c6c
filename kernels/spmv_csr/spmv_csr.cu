// y = A x for a sparse A in rows (CSR with begin and length of each row), a thread per row.
//
// Each lane walks through its own row: a warp load of values or column numbers touches up to 32
// lines, whose other elements the same lanes want in the next steps, and `x` is gathered from
// anywhere. Rows differ in length, so lanes drop out one by one.
#include "../common/cuda_shim.h"

extern "C" __global__ void spmv_csr(const int *first, const int *length, const int *column,
                                    const float *value, const float *x, float *y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        int end = first[row] + length[row];
        for (int k = first[row]; k < end; k++) {
            sum += value[k] * x[column[k]];
        }
        y[row] = sum;
    }
}
