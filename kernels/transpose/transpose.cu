// out = transpose of `in`, a thread per element.
//
// Neighbouring lanes read along a row, one line for a warp, and write down a column of `out`: 32
// lines, ld_out elements apart, a word in each. Where ld_out is a multiple of sets x line, all of
// them meet in one set.
#include "../common/cuda_shim.h"

extern "C" __global__ void transpose(const float *in, float *out, int width, int height, int ld_in,
                                     int ld_out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        out[x * ld_out + y] = in[y * ld_in + x];
    }
}
