// Fast Walsh-Hadamard transform in place, two levels of butterflies at a time.
//
// fwt_far combines four elements that lie `stride` apart, for strides of 1,024 and more; each of
// its launches reads and writes the whole array, one line a warp and element, so that a line comes
// back only a launch later. fwt_near does the last ten levels of each 1,024 elements in shared
// memory. fwt_step does one level a launch, all of them in global memory, as the sample of the AMD
// APP SDK does.
#include "../common/cuda_shim.h"

constexpr int BLOCK = 1024;
constexpr int THREADS = BLOCK / 4;

static __device__ inline void butterflies(float *data, int at, int stride) {
    float a = data[at];
    float b = data[at + stride];
    float c = data[at + 2 * stride];
    float d = data[at + 3 * stride];
    float ac = a + c;
    float bd = b + d;
    float a_c = a - c;
    float b_d = b - d;
    data[at] = ac + bd;
    data[at + stride] = ac - bd;
    data[at + 2 * stride] = a_c + b_d;
    data[at + 3 * stride] = a_c - b_d;
}

extern "C" __global__ void fwt_far(float *data, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int low = i & (stride - 1);
    butterflies(data, 4 * (i - low) + low, stride);
}

extern "C" __global__ void fwt_near(float *data) {
    __shared__ float block[BLOCK];
    int t = threadIdx.x;
    float *mine = &data[blockIdx.x * BLOCK];
    for (int i = t; i < BLOCK; i += THREADS) {
        block[i] = mine[i];
    }
    for (int stride = THREADS; stride > 0; stride /= 4) {
        __syncthreads();
        int low = t & (stride - 1);
        butterflies(block, 4 * (t - low) + low, stride);
    }
    __syncthreads();
    for (int i = t; i < BLOCK; i += THREADS) {
        mine[i] = block[i];
    }
}

extern "C" __global__ void fwt_step(float *data, int step) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int low = i & (step - 1);
    int at = 2 * (i - low) + low;
    float a = data[at];
    float b = data[at + step];
    data[at] = a + b;
    data[at + step] = a - b;
}
