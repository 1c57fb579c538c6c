// A layer of a neural network with 16 hidden units: the weighted sums of the inputs, 16 inputs a
// CTA, and the correction of the weights.
//
// Row i of the weights belongs to input i and has 17 elements: the bias, then a weight per hidden
// unit; row 0 belongs to the bias unit. Rows of 17 begin anywhere in a line, a warp reads two of them,
// and the lines at the seams are shared with its neighbours. The sums are made by a tree in shared
// memory, the correction reads weights, old corrections, and the two small vectors again and again.
#include "../common/cuda_shim.h"

constexpr int UNITS = 16;
constexpr int ROW = UNITS + 1;

extern "C" __global__ void backprop_sums(const float *input, const float *weight,
                                         float *partial) {
    __shared__ float unit[UNITS];
    __shared__ float product[UNITS][UNITS];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = UNITS * blockIdx.x + ty + 1;
    if (tx == 0) {
        unit[ty] = input[row];
    }
    __syncthreads();
    product[ty][tx] = weight[row * ROW + tx + 1] * unit[ty];
    __syncthreads();
    for (int half = 1; half < UNITS; half *= 2) {
        if (ty % (2 * half) == 0) {
            product[ty][tx] += product[ty + half][tx];
        }
        __syncthreads();
    }
    if (tx == 0) {
        partial[UNITS * blockIdx.x + ty] = product[0][ty];
    }
}

extern "C" __global__ void backprop_adjust(const float *delta, const float *input, float *weight,
                                           float *change, float rate, float momentum) {
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = UNITS * blockIdx.x + ty + 1;
    int at = row * ROW + tx + 1;
    // The compiler must assume that the two stores change what is read next.
    weight[at] += rate * delta[tx + 1] * input[row] + momentum * change[at];
    change[at] = rate * delta[tx + 1] * input[row] + momentum * change[at];
    if (blockIdx.x == 0 && ty == 0) {
        weight[tx + 1] += rate * delta[tx + 1] + momentum * change[tx + 1];
        change[tx + 1] = rate * delta[tx + 1] + momentum * change[tx + 1];
    }
}
