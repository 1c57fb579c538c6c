// out = a 3 x 3 convolution of in, a thread per element, in the PolyBench-GPU mapping.
//
// Nine loads from global memory per thread, three of each of three rows. Lanes are neighbours in a
// row, so that the nine touch three or six lines per warp, and other warps of the CTA want the same
// rows again. When rows (ld elements) are a multiple of sets x line apart, the ten rows of a
// 32 x 8 CTA compete for one or two sets, and are gone before they are wanted again.
// The outermost rows and columns of out stay as they are.
#include "../common/cuda_shim.h"

extern "C" __global__ void conv2d(const float *in, float *out, int rows, int columns, int ld) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && i < rows - 1 && j > 0 && j < columns - 1) {
        out[i * ld + j] = 0.125f * in[(i - 1) * ld + (j - 1)] - 0.25f * in[(i - 1) * ld + j] +
                          0.375f * in[(i - 1) * ld + (j + 1)] + 0.5f * in[i * ld + (j - 1)] +
                          1.5f * in[i * ld + j] - 0.625f * in[i * ld + (j + 1)] -
                          0.75f * in[(i + 1) * ld + (j - 1)] + 0.875f * in[(i + 1) * ld + j] +
                          0.0625f * in[(i + 1) * ld + (j + 1)];
    }
}
