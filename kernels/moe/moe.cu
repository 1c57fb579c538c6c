// Target: sm_70
// A layer of experts sends each token to the two experts with the highest scores. Three kernels: choice of the
// experts, order of the pairs of token and expert by expert, and gather of the tokens' rows in that order, so that
// each expert multiplies adjacent rows.
//
// The rows are read twice, by CTAs that run at any distance from each other.
#include "../common/lanes.h"

constexpr int EXPERTS = 64;
constexpr int CHOSEN = 2;
constexpr float LOG2_E = 1.44269504f;
constexpr float LOWEST = -3.402823466e38f;

// Bit i is set if lane i of the warp says so.
static __device__ inline unsigned ballot(bool x) {
    unsigned all;
    asm volatile("{ .reg .pred %%p; setp.ne.s32 %%p, %1, 0; vote.sync.ballot.b32 %0, %%p, -1; }"
                 : "=r"(all)
                 : "r"(static_cast<int>(x)));
    return all;
}

static __device__ inline int ones(unsigned x) {
    int count;
    asm("popc.b32 %0, %1;" : "=r"(count) : "r"(x));
    return count;
}

// A warp per token; a lane has two experts. Of equal scores, that of the expert with the lower number counts more.
extern "C" __global__ void moe_route(const float *scores, int *expert, float *weight, int tokens) {
    int token = blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES, lane = threadIdx.x % LANES;
    if (token >= tokens) {
        return;
    }
    float mine[2] = {scores[token * EXPERTS + lane], scores[token * EXPERTS + LANES + lane]};
    float chosen_score[CHOSEN];
    #pragma unroll
    for (int round = 0; round < CHOSEN; round++) {
        bool second = mine[1] > mine[0];
        float score = second ? mine[1] : mine[0];
        int number = second ? LANES + lane : lane;
        for (int mask = LANES / 2; mask > 0; mask /= 2) {
            float other = of_lane_xor(score, mask);
            int other_number = of_lane_xor(number, mask);
            if (other > score || (other == score && other_number < number)) {
                score = other;
                number = other_number;
            }
        }
        chosen_score[round] = score;
        if (lane == 0) {
            expert[token * CHOSEN + round] = number;
        }
        if (number == lane) {
            mine[0] = LOWEST;
        }
        if (number == LANES + lane) {
            mine[1] = LOWEST;
        }
    }
    if (lane == 0) {
        float second = fast_exp2((chosen_score[1] - chosen_score[0]) * LOG2_E);
        float share = 1.0f / (1.0f + second);
        weight[token * CHOSEN] = share;
        weight[token * CHOSEN + 1] = second * share;
    }
}

// A CTA of one warp per expert, which passes over all pairs of token and expert, 32 at a time: first for the number
// of pairs of the experts before it, then for its own. Pairs of one expert keep their order. `first` has one element
// more than there are experts.
extern "C" __global__ void moe_order(const int *expert, int *first, int *pair, int pairs) {
    int mine = blockIdx.x, lane = threadIdx.x, at = 0;
    for (int from = 0; from < pairs; from += LANES) {
        int i = from + lane;
        at += ones(ballot(i < pairs && expert[i] < mine));
    }
    if (lane == 0) {
        first[mine] = at;
        if (mine == EXPERTS - 1) {
            first[EXPERTS] = pairs;
        }
    }
    for (int from = 0; from < pairs; from += LANES) {
        int i = from + lane;
        bool is_mine = i < pairs && expert[i] == mine;
        unsigned all = ballot(is_mine);
        if (is_mine) {
            pair[at + ones(all & ((1u << lane) - 1))] = i;
        }
        at += ones(all);
    }
}

// A CTA per pair. `quads` is the number of float4 per row.
extern "C" __global__ void moe_gather(const float4 *rows, const int *pair, float4 *out, int quads) {
    const float4 *from = rows + pair[blockIdx.x] / CHOSEN * quads;
    for (int i = threadIdx.x; i < quads; i += blockDim.x) {
        out[blockIdx.x * quads + i] = from[i];
    }
}
