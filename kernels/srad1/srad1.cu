// Speckle-reducing anisotropic diffusion, first form: a thread per pixel in one dimension, columns
// one after the other, neighbours found through index arrays, everything in global memory.
//
// Six planes of one size: the image, four differences and the coefficient. Lanes are neighbours
// in a column; north and south are in the same lines as the pixel, west and east a column away. At
// sizes that are a multiple of sets x line, the same pixel of all planes falls into one set.
#include "../common/cuda_shim.h"

constexpr float LOG2_E = 1.44269504f;
constexpr float LN_2 = 0.693147181f;

// Number of the row or column before and after each, which at the edge is the edge itself.
extern "C" __global__ void srad1_neighbours(int *before, int *after, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        before[i] = max(i - 1, 0);
        after[i] = min(i + 1, count - 1);
    }
}

// From grey values to intensities: e^(image / 255).
extern "C" __global__ void srad1_extract(float *image, int rows, int columns, int ld) {
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel < rows * columns) {
        int at = pixel % rows + pixel / rows * ld;
        image[at] = fast_exp2(image[at] / 255.0f * LOG2_E);
    }
}

extern "C" __global__ void srad1_differences(const int *row_before, const int *row_after,
                                             const int *column_before, const int *column_after,
                                             const float *image, float *north, float *south,
                                             float *west, float *east, float *coefficient,
                                             int rows, int columns, int ld, float speckle) {
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel < rows * columns) {
        int row = pixel % rows;
        int column = pixel / rows;
        int at = row + column * ld;
        float here = image[at];
        float n = image[row_before[row] + column * ld] - here;
        float s = image[row_after[row] + column * ld] - here;
        float w = image[row + column_before[column] * ld] - here;
        float e = image[row + column_after[column] * ld] - here;
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
}

extern "C" __global__ void srad1_diffuse(const int *row_after, const int *column_after,
                                         float *image, const float *north, const float *south,
                                         const float *west, const float *east,
                                         const float *coefficient, int rows, int columns, int ld,
                                         float pace) {
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel < rows * columns) {
        int row = pixel % rows;
        int column = pixel / rows;
        int at = row + column * ld;
        float here = coefficient[at];
        float below = coefficient[row_after[row] + column * ld];
        float beside = coefficient[row + column_after[column] * ld];
        float divergence = here * north[at] + below * south[at] + here * west[at] + beside * east[at];
        image[at] += 0.25f * pace * divergence;
    }
}

// Back to grey values: 255 ln image.
extern "C" __global__ void srad1_compress(float *image, int rows, int columns, int ld) {
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel < rows * columns) {
        int at = pixel % rows + pixel / rows * ld;
        image[at] = fast_log2(image[at]) * LN_2 * 255.0f;
    }
}
