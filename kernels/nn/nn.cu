// The two convolutional layers of a network that reads handwritten digits of 29 x 29 pixels: 6
// maps of 13 x 13, then 50 maps of 5 x 5. A CTA per map and picture, a thread per element.
//
// All threads of a CTA read the same weight at the same time, and all pictures the same weights:
// few lines that are hit over and over. Pixels are read with a stride of two, from rows of 29 and
// 13 floats, so that a warp touches some lines for them, which the next pixel of the window hits
// again. A map's weights begin with its bias.
#include "../common/cuda_shim.h"

constexpr int WINDOW = 5;
constexpr int PICTURE = 29;
constexpr int MAPS1 = 6;
constexpr int SIZE1 = 13;
constexpr int MAPS2 = 50;
constexpr int SIZE2 = 5;

// 1.7159 tanh(2/3 sum), by way of exp2: tanh(v) = 1 - 2 / (e^2v + 1).
static __device__ inline float squash(float sum) {
    constexpr float RATE = 1.9235934f; // 4/3 log2(e)
    return 1.7159f - 3.4318f / (fast_exp2(RATE * sum) + 1.0f);
}

// What one window of one input map adds to a sum.
static __device__ inline float convolve(float sum, const float *map, int row_size,
                                        const float *weights) {
    for (int y = 0; y < WINDOW; y++) {
        for (int x = 0; x < WINDOW; x++) {
            sum += map[y * row_size + x] * weights[y * WINDOW + x];
        }
    }
    return sum;
}

extern "C" __global__ void nn_first(const float *pictures, const float *weights, float *maps) {
    constexpr int WEIGHTS = 1 + WINDOW * WINDOW;
    int map = blockIdx.x;
    int picture = blockIdx.y;
    int x = threadIdx.x;
    int y = threadIdx.y;
    const float *window = &pictures[(picture * PICTURE + 2 * y) * PICTURE + 2 * x];
    const float *mine = &weights[map * WEIGHTS];
    float sum = convolve(mine[0], window, PICTURE, mine + 1);
    maps[((picture * MAPS1 + map) * SIZE1 + y) * SIZE1 + x] = squash(sum);
}

extern "C" __global__ void nn_second(const float *maps1, const float *weights, float *maps) {
    constexpr int WEIGHTS = 1 + MAPS1 * WINDOW * WINDOW;
    int map = blockIdx.x;
    int picture = blockIdx.y;
    int x = threadIdx.x;
    int y = threadIdx.y;
    const float *mine = &weights[map * WEIGHTS];
    float sum = mine[0];
    for (int from = 0; from < MAPS1; from++) {
        const float *window =
            &maps1[((picture * MAPS1 + from) * SIZE1 + 2 * y) * SIZE1 + 2 * x];
        sum = convolve(sum, window, SIZE1, &mine[1 + from * WINDOW * WINDOW]);
    }
    maps[((picture * MAPS2 + map) * SIZE2 + y) * SIZE2 + x] = squash(sum);
}
