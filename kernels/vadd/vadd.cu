// c = a + b: three unit-stride streams without reuse, one 128-byte line per warp access.
#include "../common/cuda_shim.h"

extern "C" __global__ void vadd(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}
