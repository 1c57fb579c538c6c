// One sweep of a 7-point stencil over a grid of nx x ny x nz cells, a thread per cell:
// to = side * (sum of the six neighbours) - middle * from.
//
// Lanes are neighbours in x. A warp wants its own row, two rows beside it and two from the planes
// below and above. When planes are a multiple of sets x line apart, the three planes of a cell
// share their sets, and so do the rows that other CTAs of the SM bring.
// Rows are `row` elements apart and planes `plane`. Cells of the grid's surface stay as they are.
#include "../common/cuda_shim.h"

extern "C" __global__ void stencil3d(const float *from, float *to, float middle, float side,
                                     int nx, int ny, int row, int plane) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int z = blockIdx.z + 1;
    if (x > 0 && x < nx - 1 && y < ny - 1) {
        int cell = z * plane + y * row + x;
        float around = from[cell + plane] + from[cell - plane] + from[cell + row] +
                       from[cell - row] + from[cell + 1] + from[cell - 1];
        to[cell] = side * around - middle * from[cell];
    }
}
