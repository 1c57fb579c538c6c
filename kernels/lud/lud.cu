// LU decomposition without pivoting, in place, by 16 x 16 tiles: the tile on the diagonal, then the
// tiles below it and right of it, then all tiles beyond them; the next diagonal tile; and so on.
// The host launches these three per diagonal tile. n is a multiple of 16.
//
// Every tile is read once into shared memory, in rows of 16, two a warp: little for L1 to keep.
// The strips below and beside the diagonal are read again by every tile of the rest, from L2.
#include "../common/cuda_shim.h"

constexpr int TILE = 16;

// Makes the diagonal dominant, so that no pivot is small.
extern "C" __global__ void lud_shift(float *a, int n, float shift) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        a[i * n + i] += shift;
    }
}

// One CTA of 16 threads: thread t makes column t of U and row t of L.
extern "C" __global__ void lud_diagonal(float *a, int n, int first) {
    __shared__ float tile[TILE][TILE];
    int t = threadIdx.x;
    float *corner = &a[first * n + first];
    for (int y = 0; y < TILE; y++) {
        tile[y][t] = corner[y * n + t];
    }
    __syncthreads();
    for (int step = 0; step < TILE - 1; step++) {
        if (t > step) {
            for (int k = 0; k < step; k++) {
                tile[t][step] -= tile[t][k] * tile[k][step];
            }
            tile[t][step] /= tile[step][step];
        }
        __syncthreads();
        if (t > step) {
            for (int k = 0; k <= step; k++) {
                tile[step + 1][t] -= tile[step + 1][k] * tile[k][t];
            }
        }
        __syncthreads();
    }
    for (int y = 1; y < TILE; y++) {
        corner[y * n + t] = tile[y][t];
    }
}

// CTA b of 32 threads takes the tile b + 1 to the right of the diagonal (first 16 threads, a column
// each) and the tile b + 1 below it (last 16 threads, a row each).
extern "C" __global__ void lud_perimeter(float *a, int n, int first) {
    __shared__ float tile[TILE][TILE];
    __shared__ float right[TILE][TILE];
    __shared__ float below[TILE][TILE];
    int t = threadIdx.x % TILE;
    int away = TILE * (blockIdx.x + 1);
    float *corner = &a[first * n + first];
    if (threadIdx.x < TILE) {
        for (int y = 0; y < TILE / 2; y++) {
            tile[y][t] = corner[y * n + t];
        }
        for (int y = 0; y < TILE; y++) {
            right[y][t] = corner[y * n + away + t];
        }
    } else {
        for (int y = TILE / 2; y < TILE; y++) {
            tile[y][t] = corner[y * n + t];
        }
        for (int y = 0; y < TILE; y++) {
            below[y][t] = corner[(away + y) * n + t];
        }
    }
    __syncthreads();
    if (threadIdx.x < TILE) {
        for (int y = 1; y < TILE; y++) {
            for (int k = 0; k < y; k++) {
                right[y][t] -= tile[y][k] * right[k][t];
            }
        }
    } else {
        for (int x = 0; x < TILE; x++) {
            for (int k = 0; k < x; k++) {
                below[t][x] -= below[t][k] * tile[k][x];
            }
            below[t][x] /= tile[x][x];
        }
    }
    __syncthreads();
    if (threadIdx.x < TILE) {
        for (int y = 1; y < TILE; y++) {
            corner[y * n + away + t] = right[y][t];
        }
    } else {
        for (int y = 0; y < TILE; y++) {
            corner[(away + y) * n + t] = below[y][t];
        }
    }
}

extern "C" __global__ void lud_rest(float *a, int n, int first) {
    __shared__ float left[TILE][TILE];
    __shared__ float above[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = first + TILE * (blockIdx.y + 1) + ty;
    int column = first + TILE * (blockIdx.x + 1) + tx;
    left[ty][tx] = a[row * n + first + tx];
    above[ty][tx] = a[(first + ty) * n + column];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < TILE; k++) {
        sum += left[ty][k] * above[k][tx];
    }
    a[row * n + column] -= sum;
}
