// Histogram of an image of bin numbers, each count at most 255, in four kernels.
//
// histo_prescan finds the lowest and highest bin used: a tree, then one atomic a CTA. histo_inter
// copies the image without the gaps between its rows, bins counted from the lowest. histo_main lets
// each CTA count a part of the image for one slice of the bins with atomics in shared memory, then
// adds its counts to global ones with atomics; CTAs of slices that are not used leave at once.
// histo_final packs the counts into bytes.
#include "../common/cuda_shim.h"

constexpr int BLOCK = 256;
constexpr int SLICE = 256;

// `lowest` begins as the largest number, `highest` as zero.
extern "C" __global__ void histo_prescan(const unsigned *image, unsigned *lowest, unsigned *highest,
                                         int width, int height, int pitch) {
    __shared__ unsigned low[BLOCK], high[BLOCK];
    int lane = threadIdx.x;
    unsigned least = 0xffffffffu, most = 0;
    for (int y = blockIdx.x; y < height; y += gridDim.x) {
        for (int x = lane; x < width; x += BLOCK) {
            unsigned bin = image[y * pitch + x];
            least = min(least, bin);
            most = max(most, bin);
        }
    }
    low[lane] = least;
    high[lane] = most;
    for (int reach = BLOCK / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (lane < reach) {
            low[lane] = min(low[lane], low[lane + reach]);
            high[lane] = max(high[lane], high[lane + reach]);
        }
    }
    if (lane == 0) {
        atomicMin(lowest, low[0]);
        atomicMax(highest, high[0]);
    }
}

extern "C" __global__ void histo_inter(const unsigned *image, const unsigned *lowest, unsigned *dense,
                                       int width, int height, int pitch) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    if (x < width && y < height) {
        dense[y * width + x] = image[y * pitch + x] - *lowest;
    }
}

extern "C" __global__ void histo_main(const unsigned *dense, const unsigned *lowest,
                                      const unsigned *highest, unsigned *counts, int pixels) {
    __shared__ unsigned slice[SLICE];
    int lane = threadIdx.x;
    unsigned first = blockIdx.y * SLICE;
    unsigned used = *highest - *lowest + 1;
    if (first >= used) {
        return;
    }
    for (int i = lane; i < SLICE; i += BLOCK) {
        slice[i] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * BLOCK + lane; i < pixels; i += gridDim.x * BLOCK) {
        // Bins below the slice wrap around to large numbers.
        unsigned bin = dense[i] - first;
        if (bin < SLICE) {
            atomicAdd(&slice[bin], 1u);
        }
    }
    __syncthreads();
    for (int i = lane; i < SLICE; i += BLOCK) {
        if (slice[i] > 0) {
            atomicAdd(&counts[*lowest + first + i], slice[i]);
        }
    }
}

// Four bins a thread: 16 bytes in, a word out.
extern "C" __global__ void histo_final(const uint4 *counts, uchar4 *bins, int quads) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < quads) {
        uint4 count = counts[i];
        bins[i] = uchar4{(unsigned char)min(count.x, 255u), (unsigned char)min(count.y, 255u),
                         (unsigned char)min(count.z, 255u), (unsigned char)min(count.w, 255u)};
    }
}
