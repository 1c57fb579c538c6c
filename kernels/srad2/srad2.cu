// Speckle-reducing anisotropic diffusion, second form: 16 x 16 tiles in shared memory, rows one after
// the other.
//
// Six planes of one size: the image, four differences and the coefficient. Beside its own pixel,
// every lane reads the pixels just beyond the tile in its row and column (the same address for all
// lanes of a row, the same 16 for all rows): two half-warps, two lines a load. At sizes that are a
// multiple of sets x line, the same pixel of all planes falls into one set.
// Beyond the edge of the image a neighbour is the pixel itself. Sizes are multiples of 16.
#include "../common/cuda_shim.h"

constexpr int TILE = 16;

extern "C" __global__ void srad2_differences(const float *image, float *north, float *south,
                                             float *west, float *east, float *coefficient,
                                             int rows, int columns, int ld, float speckle) {
    __shared__ float tile[TILE][TILE];
    __shared__ float above[TILE];
    __shared__ float below[TILE];
    __shared__ float left[TILE];
    __shared__ float right[TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int top = TILE * blockIdx.y;
    int first = TILE * blockIdx.x;
    int at = (top + ty) * ld + first + tx;
    above[tx] = image[max(top - 1, 0) * ld + first + tx];
    below[tx] = image[min(top + TILE, rows - 1) * ld + first + tx];
    left[ty] = image[(top + ty) * ld + max(first - 1, 0)];
    right[ty] = image[(top + ty) * ld + min(first + TILE, columns - 1)];
    tile[ty][tx] = image[at];
    __syncthreads();

    float here = tile[ty][tx];
    float n = (ty > 0 ? tile[ty - 1][tx] : above[tx]) - here;
    float s = (ty < TILE - 1 ? tile[ty + 1][tx] : below[tx]) - here;
    float w = (tx > 0 ? tile[ty][tx - 1] : left[ty]) - here;
    float e = (tx < TILE - 1 ? tile[ty][tx + 1] : right[ty]) - here;
    float gradient = (n * n + s * s + w * w + e * e) / (here * here);
    float laplacian = (n + s + w + e) / here;
    float slope = 1.0f + 0.25f * laplacian;
    float variation = (0.5f * gradient - 0.0625f * (laplacian * laplacian)) / (slope * slope);
    float excess = (variation - speckle) / (speckle * (1.0f + speckle));
    north[at] = n;
    south[at] = s;
    west[at] = w;
    east[at] = e;
    coefficient[at] = fminf(fmaxf(1.0f / (1.0f + excess), 0.0f), 1.0f);
}

extern "C" __global__ void srad2_diffuse(float *image, const float *north, const float *south,
                                         const float *west, const float *east,
                                         const float *coefficient, int rows, int columns, int ld,
                                         float pace) {
    __shared__ float tile[TILE][TILE];
    __shared__ float below[TILE];
    __shared__ float right[TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int top = TILE * blockIdx.y;
    int first = TILE * blockIdx.x;
    int at = (top + ty) * ld + first + tx;
    below[tx] = coefficient[min(top + TILE, rows - 1) * ld + first + tx];
    right[ty] = coefficient[(top + ty) * ld + min(first + TILE, columns - 1)];
    tile[ty][tx] = coefficient[at];
    __syncthreads();

    float here = tile[ty][tx];
    float s = ty < TILE - 1 ? tile[ty + 1][tx] : below[tx];
    float e = tx < TILE - 1 ? tile[ty][tx + 1] : right[ty];
    float divergence = here * north[at] + s * south[at] + here * west[at] + e * east[at];
    image[at] += 0.25f * pace * divergence;
}
