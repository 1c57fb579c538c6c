// Normally distributed numbers from a Mersenne twister per thread: the 128-bit recursion of SFMT with
// period 2^607 - 1, five words of 128 bits in registers, seeded as MT19937 is, and the Box-Muller
// transform on the four 32-bit words of each new state word.
//
// A seed per thread comes in; rounds of 16 bytes per thread go out as streams that are never read
// again, four lines for a warp store. Integer and special function units do the rest.
#include "../common/cuda_shim.h"

constexpr int WORDS = 5;
constexpr float MINUS_TWO_LN_2 = -1.38629436111989062f;
constexpr float TWO_PI = 6.28318530717958648f;

// The state word that follows: `a` is the oldest, `b` two after it, `c` and `d` the newest two.
static __device__ inline uint4 twist(uint4 a, uint4 b, uint4 c, uint4 d) {
    // `a` shifted left and `c` shifted right by 24 of their 128 bits; x is the lowest word.
    uint4 left = {a.x << 24, a.y << 24 | a.x >> 8, a.z << 24 | a.y >> 8, a.w << 24 | a.z >> 8};
    uint4 right = {c.x >> 24 | c.y << 8, c.y >> 24 | c.z << 8, c.z >> 24 | c.w << 8, c.w >> 24};
    return uint4{a.x ^ left.x ^ (b.x >> 13 & 0xfdff37ffu) ^ right.x ^ d.x << 15,
                 a.y ^ left.y ^ (b.y >> 13 & 0xef7f3f7du) ^ right.y ^ d.y << 15,
                 a.z ^ left.z ^ (b.z >> 13 & 0xff777b7du) ^ right.z ^ d.z << 15,
                 a.w ^ left.w ^ (b.w >> 13 & 0x7ff7fb2fu) ^ right.w ^ d.w << 15};
}

// A number between 0 and 1, neither of them: 23 bits and a half, which a float holds exactly.
static __device__ inline float uniform(unsigned bits) {
    return ((bits >> 9) + 0.5f) * (1.0f / 8388608.0f);
}

// Two independent normally distributed numbers.
static __device__ inline float2 box_muller(unsigned radius_bits, unsigned angle_bits) {
    float radius = sqrtf(MINUS_TWO_LN_2 * fast_log2(uniform(radius_bits)));
    // From -pi to pi, where sine and cosine are specified best.
    float angle = TWO_PI * (uniform(angle_bits) - 0.5f);
    return float2{radius * fast_cos(angle), radius * fast_sin(angle)};
}

// The MT19937 rule: word k of the state from the one before.
static __device__ inline unsigned seed_word(unsigned before, int k) {
    return 1812433253u * (before ^ before >> 30) + k;
}

extern "C" __global__ void mersenne(const unsigned *seeds, float4 *out, int threads, int rounds) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= threads) {
        return;
    }
    uint4 state[WORDS];
    unsigned word = seeds[thread];
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        state[i].x = word;
        state[i].y = seed_word(state[i].x, 4 * i + 1);
        state[i].z = seed_word(state[i].y, 4 * i + 2);
        state[i].w = seed_word(state[i].z, 4 * i + 3);
        word = seed_word(state[i].w, 4 * i + 4);
    }
    for (int round = 0; round < rounds; round++) {
        uint4 next = twist(state[0], state[2], state[3], state[4]);
#pragma unroll
        for (int i = 0; i + 1 < WORDS; i++) {
            state[i] = state[i + 1];
        }
        state[WORDS - 1] = next;
        float2 first = box_muller(next.x, next.y);
        float2 second = box_muller(next.z, next.w);
        out[round * threads + thread] = float4{first.x, first.y, second.x, second.y};
    }
}
