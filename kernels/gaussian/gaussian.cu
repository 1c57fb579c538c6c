// Gaussian elimination without pivoting: two launches per column `t`, the multipliers of the rows
// below it, then the rows themselves.
//
// The multipliers are a column: a line per lane. The elimination has CTAs of 4 x 4 threads, half a
// warp each, over the whole matrix in every launch; those left of the column or above the row
// return at once. Neighbouring lanes are in neighbouring rows.
#include "../common/cuda_shim.h"

// Makes the diagonal dominant, so that no pivot is small.
extern "C" __global__ void gaussian_shift(float *a, int n, float shift) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        a[i * n + i] += shift;
    }
}

extern "C" __global__ void gaussian_multipliers(const float *a, float *multiplier, int n, int t) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1 - t) {
        int row = t + 1 + i;
        multiplier[row * n + t] = a[row * n + t] / a[t * n + t];
    }
}

extern "C" __global__ void gaussian_eliminate(float *a, float *b, const float *multiplier, int n,
                                              int t) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n - 1 - t && j < n - t) {
        int row = t + 1 + i;
        a[row * n + t + j] -= multiplier[row * n + t] * a[t * n + t + j];
        if (j == 0) {
            b[row] -= multiplier[row * n + t] * b[t];
        }
    }
}
