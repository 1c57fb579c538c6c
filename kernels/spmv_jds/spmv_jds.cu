// y = A x for a sparse matrix in jagged diagonals, a thread per row.
//
// The rows are sorted by length, longest first, in groups of 32, and the rows of a group are
// filled up to one length. Diagonal k holds the k-th elements of all rows that have so many, in
// that order, from `diagonal_first[k]` on: neighbouring lanes read neighbouring elements of
// `value` and `column`, one line for a warp, and the gather of `x` is what the cache is for.
// Lengths and starts are the same for all lanes and lie in constant memory, which the host fills.
#include "../common/cuda_shim.h"

constexpr int GROUP = 32;
constexpr int MAX_DIAGONALS = 64;
constexpr int MAX_GROUPS = 512;

__constant__ int diagonal_first[MAX_DIAGONALS];
__constant__ int group_length[MAX_GROUPS];

extern "C" __global__ void spmv_jds(const float *value, const int *column, const int *row_of,
                                    const float *x, float *y, int rows) {
    int slot = blockIdx.x * blockDim.x + threadIdx.x;
    if (slot < rows) {
        int length = group_length[slot / GROUP];
        float sum = 0.0f;
        for (int k = 0; k < length; k++) {
            int at = diagonal_first[k] + slot;
            sum += value[at] * x[column[at]];
        }
        y[row_of[slot]] = sum;
    }
}
