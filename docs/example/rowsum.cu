#include "../../kernels/common/cuda_shim.h"

extern "C" __global__ void rowsum(const float *matrix, float *sums, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int column = 0; column < columns; ++column)
        sum += matrix[row * columns + column];
    sums[row] = sum;
}
