// Cheapest way through a grid of costs from its first row, row by row: from each cell straight on or
// aslant to the next row. A launch goes `steps` rows further.
//
// A CTA keeps 256 columns of the current row in shared memory. Each step reads one row of costs,
// unit stride and used once, and spoils one more column at either end: stretches of neighbouring
// CTAs overlap by 2 x steps columns, so that rows begin anywhere in a line.
#include "../common/cuda_shim.h"

constexpr int STRETCH = 256;

extern "C" __global__ void pathfinder(const int *cost, const int *from, int *to, int columns,
                                      int first_row, int steps) {
    __shared__ int sum[STRETCH];
    __shared__ int next[STRETCH];
    int tx = threadIdx.x;
    int x = (STRETCH - 2 * steps) * (int)blockIdx.x - steps + tx;
    bool inside = x >= 0 && x < columns;
    if (inside) {
        sum[tx] = from[x];
    }
    __syncthreads();

    int left = x > 0 ? tx - 1 : tx;
    int right = x < columns - 1 ? tx + 1 : tx;
    for (int step = 1; step <= steps; step++) {
        bool fresh = inside && tx >= step && tx < STRETCH - step;
        if (fresh) {
            int least = min(sum[tx], min(sum[left], sum[right]));
            next[tx] = least + cost[(first_row + step - 1) * columns + x];
        }
        __syncthreads();
        if (fresh) {
            sum[tx] = next[tx];
        }
        __syncthreads();
    }

    if (inside && tx >= steps && tx < STRETCH - steps) {
        to[x] = sum[tx];
    }
}
