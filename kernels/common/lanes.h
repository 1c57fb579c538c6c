// Helpers of the kernels of LLM inference: sums and maxima over the lanes of a warp, and half-precision numbers.
#pragma once

#include "../common/cuda_shim.h"

constexpr int LANES = 32;

static __device__ inline float of_lane_xor(float x, int mask) {
    float other;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=f"(other) : "f"(x), "r"(mask));
    return other;
}

static __device__ inline int of_lane_xor(int x, int mask) {
    int other;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=r"(other) : "r"(x), "r"(mask));
    return other;
}

// Every lane gets the result.
static __device__ inline float warp_sum(float x) {
    for (int mask = LANES / 2; mask > 0; mask /= 2) {
        x += of_lane_xor(x, mask);
    }
    return x;
}

static __device__ inline float warp_max(float x) {
    for (int mask = LANES / 2; mask > 0; mask /= 2) {
        x = fmaxf(x, of_lane_xor(x, mask));
    }
    return x;
}

// Sum over the threads of a CTA of whole warps. `parts` has an element per warp. Every thread gets the result.
static __device__ inline float cta_sum(float x, float *parts) {
    int warps = blockDim.x / LANES;
    x = warp_sum(x);
    if (threadIdx.x % LANES == 0) {
        parts[threadIdx.x / LANES] = x;
    }
    __syncthreads();
    float sum = 0.0f;
    for (int warp = 0; warp < warps; warp++) {
        sum += parts[warp];
    }
    __syncthreads();
    return sum;
}

// Maximum over the threads of a CTA, as above.
static __device__ inline float cta_max(float x, float *parts) {
    int warps = blockDim.x / LANES;
    x = warp_max(x);
    if (threadIdx.x % LANES == 0) {
        parts[threadIdx.x / LANES] = x;
    }
    __syncthreads();
    float most = parts[0];
    for (int warp = 1; warp < warps; warp++) {
        most = fmaxf(most, parts[warp]);
    }
    __syncthreads();
    return most;
}

static __device__ inline float from_half(unsigned short half) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
    return value;
}

// The two halves of a word, the one at the lower address first.
static __device__ inline float2 from_halves(unsigned word) {
    float2 pair;
    pair.x = from_half(static_cast<unsigned short>(word & 0xffff));
    pair.y = from_half(static_cast<unsigned short>(word >> 16));
    return pair;
}
