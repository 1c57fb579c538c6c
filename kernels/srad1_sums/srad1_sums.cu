// Sums of the pixels of an image and of their squares, from which `srad1` has its `speckle`: two
// planes are filled from the image, then added up in place, 512 elements a CTA, `stride` apart.
// Launched again with 512 times the stride until one CTA is left.
//
// The first launches are streams; in the last one, every lane reads a line of its own, once.
#include "../common/cuda_shim.h"

constexpr int BLOCK = 512;

extern "C" __global__ void srad1_prepare(const float *image, float *sums, float *squares,
                                         int pixels) {
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel < pixels) {
        sums[pixel] = image[pixel];
        squares[pixel] = image[pixel] * image[pixel];
    }
}

// CTAs of BLOCK threads. `count` elements are left, the first of each CTA takes the sum.
extern "C" __global__ void srad1_reduce(float *sums, float *squares, int count, int stride) {
    __shared__ float partial[2][BLOCK];
    int lane = threadIdx.x;
    int i = blockIdx.x * BLOCK + lane;
    partial[0][lane] = i < count ? sums[i * stride] : 0.0f;
    partial[1][lane] = i < count ? squares[i * stride] : 0.0f;
    __syncthreads();
    for (int reach = BLOCK / 2; reach > 0; reach /= 2) {
        if (lane < reach) {
            partial[0][lane] += partial[0][lane + reach];
            partial[1][lane] += partial[1][lane + reach];
        }
        __syncthreads();
    }
    if (lane == 0) {
        sums[i * stride] = partial[0][0];
        squares[i * stride] = partial[1][0];
    }
}
