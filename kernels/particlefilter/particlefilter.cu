// One step of a particle filter that follows an object through a picture: weigh the particles,
// add the weights up, draw as many particles again, the heavy ones several times.
//
// The draw, particlefilter_draw, takes nearly all the time: every thread scans the same array
// `sums` from its beginning for the first entry that reaches its threshold. A warp load is one
// line, used 32 times at once and then not before the next warp comes by: short bursts, and a
// reuse distance as long as the array.
//
// Weights are sums of pixels, so that all sums are integers. They stay exact in single precision
// while their total is below 2^24, and do not depend on the order of the additions.
#include "../common/cuda_shim.h"

constexpr int THREADS = 256;

extern "C" __global__ void particlefilter_weigh(const unsigned char *picture, const int *x,
                                                const int *y, const int *dx, const int *dy,
                                                float *weight, int offsets, int width,
                                                int particles) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < particles) {
        int total = 0;
        for (int k = 0; k < offsets; k++) {
            total += picture[(y[p] + dy[k]) * width + x[p] + dx[k]];
        }
        weight[p] = total;
    }
}

// One CTA of THREADS: running sums of the weights, block after block, and a threshold for each
// particle to be drawn: the middle of its share of the total.
extern "C" __global__ void particlefilter_add_up(const float *weight, float *sums,
                                                 float *threshold, int particles) {
    __shared__ float block[2][THREADS];
    int t = threadIdx.x;
    float before = 0.0f;
    for (int first = 0; first < particles; first += THREADS) {
        int p = first + t;
        int now = 0;
        block[now][t] = p < particles ? weight[p] : 0.0f;
        __syncthreads();
        // After each round, an entry is the sum of the `2 * reach` weights that end with its own.
        for (int reach = 1; reach < THREADS; reach *= 2) {
            float sum = block[now][t];
            if (t >= reach) {
                sum += block[now][t - reach];
            }
            now = 1 - now;
            block[now][t] = sum;
            __syncthreads();
        }
        if (p < particles) {
            sums[p] = before + block[now][t];
        }
        before += block[now][THREADS - 1];
        __syncthreads();
    }
    float share = before / particles;
    for (int p = t; p < particles; p += THREADS) {
        threshold[p] = (p + 0.5f) * share;
    }
}

extern "C" __global__ void particlefilter_draw(const float *sums, const float *threshold,
                                               const int *x, const int *y, int *new_x, int *new_y,
                                               int particles) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < particles) {
        int drawn = particles - 1;
        for (int i = 0; i < particles; i++) {
            if (sums[i] >= threshold[p]) {
                drawn = i;
                break;
            }
        }
        new_x[p] = x[drawn];
        new_y[p] = y[drawn];
    }
}
