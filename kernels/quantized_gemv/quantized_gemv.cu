// Target: sm_70
// y = W x with weights of 4 bits, from -8 to 7, and a scale of half precision per group of 64 weights of a row: a
// warp per row.
//
// A lane reads a word of eight weights, a warp one line of them and four scales. The weights are a stream, a
// quarter as long as that of gemv; unpacking them takes most of the instructions.
#include "../common/lanes.h"

constexpr int WEIGHTS = 8; // per word
constexpr int GROUP = 64;

extern "C" __global__ void quantized_gemv(const unsigned *packed, const unsigned short *scales, const float4 *x,
                                          float *y, int rows, int columns) {
    int row = blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES, lane = threadIdx.x % LANES;
    if (row >= rows) {
        return;
    }
    int words = columns / WEIGHTS, groups = columns / GROUP;
    float sum = 0.0f;
    for (int i = lane; i < words; i += LANES) {
        unsigned word = packed[row * words + i];
        float scale = from_half(scales[row * groups + i * WEIGHTS / GROUP]);
        float part = 0.0f;
        for (int half = 0; half < 2; half++) {
            float4 factor = x[2 * i + half];
            part += static_cast<float>(static_cast<int>(word & 15) - 8) * factor.x;
            part += static_cast<float>(static_cast<int>(word >> 4 & 15) - 8) * factor.y;
            part += static_cast<float>(static_cast<int>(word >> 8 & 15) - 8) * factor.z;
            part += static_cast<float>(static_cast<int>(word >> 12 & 15) - 8) * factor.w;
            word >>= 16;
        }
        sum += scale * part;
    }
    sum = warp_sum(sum);
    if (lane == 0) {
        y[row] = sum;
    }
}
