// Uniform noise on an image of four bytes a pixel, a thread per pixel: every pixel seeds a generator
// (Park and Miller's, its output shuffled by a table of 16 entries after Bays and Durham), and the
// same deviation, -amplitude to amplitude, is added to its four channels.
//
// One word in, one word out; the tables lie in shared memory, an entry of all lanes side by side, so
// that the data-dependent look-up never meets in a bank.
#include "../common/cuda_shim.h"

constexpr int BLOCK = 256;
constexpr int TABLE = 16;
constexpr int MODULUS = 2147483647;
constexpr int MULTIPLIER = 16807;

// MULTIPLIER * state modulo MODULUS by Schrage's method: nothing leaves 32 bits.
static __device__ inline int advance(int state) {
    constexpr int QUOTIENT = MODULUS / MULTIPLIER, REMAINDER = MODULUS % MULTIPLIER;
    int high = state / QUOTIENT;
    int next = MULTIPLIER * (state - high * QUOTIENT) - REMAINDER * high;
    return next < 0 ? next + MODULUS : next;
}

static __device__ inline unsigned char add(unsigned char channel, int deviation) {
    return min(255, max(0, channel + deviation));
}

extern "C" __global__ void urng(const uchar4 *in, uchar4 *out, int pixels, int amplitude) {
    __shared__ int table[TABLE][BLOCK];
    int lane = threadIdx.x;
    int pixel = blockIdx.x * BLOCK + lane;
    if (pixel >= pixels) {
        return;
    }
    uchar4 colour = in[pixel];
    int state = 1 + 1021 * pixel + colour.x + colour.y + colour.z + colour.w;
    // The first eight numbers only let the seed wear off.
    for (int i = 0; i < 8; i++) {
        state = advance(state);
    }
    for (int i = TABLE - 1; i >= 0; i--) {
        state = advance(state);
        table[i][lane] = state;
    }
    int chosen = table[state / (MODULUS / TABLE + 1)][lane];
    int deviation = (int)((unsigned long long)chosen * (2 * amplitude + 1) >> 31) - amplitude;
    out[pixel] = uchar4{add(colour.x, deviation), add(colour.y, deviation),
                        add(colour.z, deviation), add(colour.w, deviation)};
}
