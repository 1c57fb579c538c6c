// Temperature of a chip, `steps` time steps in one launch: each cell exchanges heat with its four
// neighbours and with the ambient air, and is heated by its own power. The edge of the chip is
// insulated: a neighbour beyond it is the cell itself.
//
// A CTA loads a 16 x 16 tile of both grids once and makes all steps in shared memory. Every step
// spoils one more ring of the tile, so tiles overlap by 2 x steps cells, and half-warps read rows of
// 16 that begin anywhere in a line: nothing is read twice by a CTA, but its neighbours read it
// again, often on other SMs. That reuse is the L2's.
#include "../common/cuda_shim.h"

constexpr int TILE = 16;

extern "C" __global__ void hotspot(const float *power, const float *from, float *to, int rows,
                                   int columns, int steps, float pace, float along_x,
                                   float along_y, float to_air, float ambient) {
    __shared__ float heat[TILE][TILE];
    __shared__ float next[TILE][TILE];
    __shared__ float watts[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int inner = TILE - 2 * steps;
    int x = inner * (int)blockIdx.x - steps + tx;
    int y = inner * (int)blockIdx.y - steps + ty;
    bool inside = x >= 0 && x < columns && y >= 0 && y < rows;
    if (inside) {
        heat[ty][tx] = from[y * columns + x];
        watts[ty][tx] = power[y * columns + x];
    }
    __syncthreads();

    int north = y > 0 ? ty - 1 : ty;
    int south = y < rows - 1 ? ty + 1 : ty;
    int west = x > 0 ? tx - 1 : tx;
    int east = x < columns - 1 ? tx + 1 : tx;
    for (int step = 1; step <= steps; step++) {
        bool fresh = inside && tx >= step && tx < TILE - step && ty >= step && ty < TILE - step;
        if (fresh) {
            float here = heat[ty][tx];
            float flow = watts[ty][tx] +
                         (heat[south][tx] + heat[north][tx] - 2.0f * here) * along_y +
                         (heat[ty][east] + heat[ty][west] - 2.0f * here) * along_x +
                         (ambient - here) * to_air;
            next[ty][tx] = here + pace * flow;
        }
        __syncthreads();
        if (fresh) {
            heat[ty][tx] = next[ty][tx];
        }
        __syncthreads();
    }

    if (inside && tx >= steps && tx < TILE - steps && ty >= steps && ty < TILE - steps) {
        to[y * columns + x] = heat[ty][tx];
    }
}
