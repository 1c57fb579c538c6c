// Electric and magnetic field on a grid of rows x columns, step by step (finite differences in the time
// domain), a thread per cell, three launches a step, in the PolyBench-GPU mapping. ex has a column more
// than the grid, ey a row more; hz has the grid's shape.
//
// Streams of three arrays; each launch reads what the one before has written. Neighbours in x share
// lines, the row before comes from the L1 if the CTA above it ran on the same SM. The rows of ex, which
// are one longer than a line's multiple, begin anywhere in a line.
#include "../common/cuda_shim.h"

// The source drives the first row of ey.
extern "C" __global__ void fdtd2d_ey(const float *source, float *ey, const float *hz, int rows, int columns, int t) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < rows && j < columns) {
        int at = i * columns + j;
        ey[at] = i == 0 ? source[t] : ey[at] - 0.5f * (hz[at] - hz[at - columns]);
    }
}

extern "C" __global__ void fdtd2d_ex(float *ex, const float *hz, int rows, int columns) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < rows && j < columns && j > 0) {
        int at = i * columns + j;
        ex[at + i] -= 0.5f * (hz[at] - hz[at - 1]);
    }
}

extern "C" __global__ void fdtd2d_hz(const float *ex, const float *ey, float *hz, int rows, int columns) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < rows && j < columns) {
        int at = i * columns + j;
        hz[at] -= 0.7f * (ex[at + i + 1] - ex[at + i] + ey[at + columns] - ey[at]);
    }
}
