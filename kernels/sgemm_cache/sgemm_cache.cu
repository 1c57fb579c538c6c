// C = alpha * A * B + beta * C through 16 x 16 tiles that live in the L1 cache instead of shared
// memory: a CTA of 16 x 16 threads, each with one element of C.
//
// A step of 32 k takes one line of each of 16 rows of A and half a line of 32 rows of B, 48 lines
// that all 8 warps of the CTA read 32 and 2 times. The barrier keeps the warps in the same step,
// so that few lines are in use at a time.
//
// sgemm_quads is C = A * B as the sample of the AMD APP SDK has it: a CTA of 8 x 8 threads, each with
// 4 x 4 elements of C. Tiles of A lie in shared memory, B comes from global memory, all as float4.
// Sizes are multiples of 32.
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

constexpr int SIDE = 8;
constexpr int EACH = 4;

static __device__ inline void add(float4 *sum, float a, float4 b) {
    sum->x += a * b.x;
    sum->y += a * b.y;
    sum->z += a * b.z;
    sum->w += a * b.w;
}

// n and k count float4s.
extern "C" __global__ void sgemm_quads(const float4 *a, const float4 *b, float4 *c, int n, int k) {
    __shared__ float4 tile[SIDE * EACH][SIDE];
    int x = threadIdx.x, y = threadIdx.y;
    int column = blockIdx.x * SIDE + x;
    int row = (blockIdx.y * SIDE + y) * EACH;
    float4 sums[EACH];
    for (int i = 0; i < EACH; i++) {
        sums[i] = {0.0f, 0.0f, 0.0f, 0.0f};
    }
    for (int first = 0; first < k; first += SIDE) {
        for (int i = 0; i < EACH; i++) {
            tile[y * EACH + i][x] = a[(row + i) * k + first + x];
        }
        __syncthreads();
        for (int j = 0; j < SIDE; j++) {
            float4 below[EACH];
            for (int i = 0; i < EACH; i++) {
                below[i] = b[((first + j) * EACH + i) * n + column];
            }
            for (int i = 0; i < EACH; i++) {
                float4 across = tile[y * EACH + i][j];
                add(&sums[i], across.x, below[0]);
                add(&sums[i], across.y, below[1]);
                add(&sums[i], across.z, below[2]);
                add(&sums[i], across.w, below[3]);
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < EACH; i++) {
        c[(row + i) * n + column] = sums[i];
    }
}
