// C = alpha * A * B + beta * C through 16 x 16 tiles in shared memory, 16 x 16 threads a CTA.
//
// Each tile of A and B is read from memory once per CTA, then 16 times from shared memory; the
// two barriers of a step keep its readers and the writers of the next step apart. A tile that
// hangs over the edge of a matrix is filled up with zeros, so sizes need not be multiples of 16.
#include "../common/cuda_shim.h"

constexpr int TILE = 16;

extern "C" __global__ void sgemm(const float *a, const float *b, float *c, float alpha,
                                 float beta, int m, int n, int k) {
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    int x = threadIdx.x;
    int y = threadIdx.y;
    int row = blockIdx.y * TILE + y;
    int column = blockIdx.x * TILE + x;
    float sum = 0.0f;
    for (int first = 0; first < k; first += TILE) {
        tile_a[y][x] = row < m && first + x < k ? a[row * k + first + x] : 0.0f;
        tile_b[y][x] = first + y < k && column < n ? b[(first + y) * n + column] : 0.0f;
        __syncthreads();
        for (int t = 0; t < TILE; t++) {
            sum += tile_a[y][t] * tile_b[t][x];
        }
        __syncthreads();
    }
    if (row < m && column < n) {
        c[row * n + column] = alpha * sum + beta * c[row * n + column];
    }
}
