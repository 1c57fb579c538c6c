// Estimate of pi: how many random points of the unit square lie in the quarter circle, a count per
// CTA. Every thread draws its points with a generator of its own. One kernel finds the state in which
// each begins, from a table that all of them read; the other draws. States are structures side by side:
// a warp load of one word touches 12 lines, and all words that follow lie in the same ones. Counts are
// added up in shared memory.
#include "../common/cuda_shim.h"

constexpr int THREADS = 128;
constexpr int WORDS = 5;

// As long as the state of such a generator in NVIDIA's library, which keeps normally distributed
// numbers here, too.
struct Generator {
    unsigned counter;
    unsigned word[WORDS];
    int has_normal[2];
    float normal;
    double wide_normal;
};

// The next number of Marsaglia's xorwow, as a multiple of 2^-24 below one.
static __device__ inline float draw(Generator &g) {
    unsigned first = g.word[0] ^ g.word[0] >> 2;
#pragma unroll
    for (int w = 0; w < WORDS - 1; w++) {
        g.word[w] = g.word[w + 1];
    }
    unsigned last = g.word[WORDS - 1];
    g.word[WORDS - 1] = last ^ last << 4 ^ first ^ first << 1;
    g.counter += 362437;
    return (float)((g.word[WORDS - 1] + g.counter) >> 8) * (1.0f / (1 << 24));
}

// Where generator i begins: i sequences of 2^67 numbers behind the first. Level k of `skip` moves on by
// 4^k of them: of each bit of the history, what becomes of it by then. All lanes read the same words.
extern "C" __global__ void pest_seed(const unsigned *skip, Generator *states) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    Generator mine = {6615241, {123456789, 362436069, 521288629, 88675123, 5783321}, {0, 0}, 0.0f, 0.0};
#pragma unroll 1
    for (int left = i; left != 0; left >>= 2) {
#pragma unroll 1
        for (int times = left & 3; times != 0; times--) {
            unsigned moved[WORDS] = {0, 0, 0, 0, 0};
#pragma unroll
            for (int w = 0; w < WORDS; w++) {
#pragma unroll 1
                for (int bit = 0; bit < 32; bit++) {
                    if (mine.word[w] >> bit & 1) {
#pragma unroll
                        for (int k = 0; k < WORDS; k++) {
                            moved[k] ^= skip[(w * 32 + bit) * WORDS + k];
                        }
                    }
                }
            }
#pragma unroll
            for (int w = 0; w < WORDS; w++) {
                mine.word[w] = moved[w];
            }
        }
        skip += WORDS * 32 * WORDS;
    }
    states[i] = mine;
}

extern "C" __global__ void pest_states(const Generator *states, int *inside, int points) {
    __shared__ int count[THREADS];
    int t = threadIdx.x;
    int first = blockIdx.x * THREADS + t;
    Generator mine = states[first];
    int found = 0;
    for (int i = first; i < points; i += gridDim.x * THREADS) {
        float x = draw(mine);
        float y = draw(mine);
        found += x * x + y * y < 1.0f;
    }
    count[t] = found;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) {
            count[t] += count[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        inside[blockIdx.x] = count[0];
    }
}
