// A separable convolution of an image: along rows, then along columns, with the same 17 taps. Beyond
// its edge the image is zero.
//
// The taps are in constant memory, read by all lanes at once. A CTA reads a strip of tiles and a
// tile beyond either end into shared memory, in rows of 16 pixels, two a warp. Those outer tiles
// are what CTAs share; the passes share the picture between them. Each thread makes 8 pixels.
// Widths are multiples of 128, heights of 64.
#include "../common/cuda_shim.h"

constexpr int RADIUS = 8;
constexpr int STEPS = 8;
constexpr int ROW_X = 16;
constexpr int ROW_Y = 4;
constexpr int COLUMN_X = 16;
constexpr int COLUMN_Y = 8;

__constant__ float taps[2 * RADIUS + 1];

extern "C" __global__ void conv_rows(const float *in, float *out, int width) {
    __shared__ float strip[ROW_Y][(STEPS + 2) * ROW_X];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    // The first column of the strip is that of the outer tile.
    int first = ROW_X * (STEPS * (int)blockIdx.x - 1) + tx;
    int row = (ROW_Y * blockIdx.y + ty) * width;
#pragma unroll
    for (int step = 0; step < STEPS + 2; step++) {
        int x = first + step * ROW_X;
        strip[ty][step * ROW_X + tx] = x >= 0 && x < width ? in[row + x] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int step = 1; step <= STEPS; step++) {
        float sum = 0.0f;
#pragma unroll
        for (int k = -RADIUS; k <= RADIUS; k++) {
            sum += taps[RADIUS - k] * strip[ty][step * ROW_X + tx + k];
        }
        out[row + first + step * ROW_X] = sum;
    }
}

extern "C" __global__ void conv_columns(const float *in, float *out, int width, int height) {
    // A column of the strip is a row here, with one element more, against bank conflicts.
    __shared__ float strip[COLUMN_X][(STEPS + 2) * COLUMN_Y + 1];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int column = COLUMN_X * blockIdx.x + tx;
    int first = COLUMN_Y * (STEPS * (int)blockIdx.y - 1) + ty;
#pragma unroll
    for (int step = 0; step < STEPS + 2; step++) {
        int y = first + step * COLUMN_Y;
        strip[tx][step * COLUMN_Y + ty] = y >= 0 && y < height ? in[y * width + column] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int step = 1; step <= STEPS; step++) {
        float sum = 0.0f;
#pragma unroll
        for (int k = -RADIUS; k <= RADIUS; k++) {
            sum += taps[RADIUS - k] * strip[tx][step * COLUMN_Y + ty + k];
        }
        out[(first + step * COLUMN_Y) * width + column] = sum;
    }
}
