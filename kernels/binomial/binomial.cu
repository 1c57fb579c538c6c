// Price of European call options by a binomial tree, a CTA per option, a thread per leaf: at leaf i
// of n steps the share is worth spot * up^(2i - n), and every node is worth its two successors,
// weighted. All options have one maturity, so that the host gives log2(up) and the two weights, with
// discount.
//
// Two words of each option from global memory, then hundreds of steps in shared memory with a
// barrier each: bound by compute and barriers. At most MAX_LEAVES - 1 steps.
#include "../common/cuda_shim.h"

constexpr int MAX_LEAVES = 256;

extern "C" __global__ void binomial(const float *spot, const float *strike, float *price, int steps,
                                    float log2_up, float up_weight, float down_weight) {
    // Nodes of even and of odd levels, so that a level is not overwritten while it is read.
    __shared__ float nodes[2][MAX_LEAVES];
    int option = blockIdx.x;
    int i = threadIdx.x;
    if (i <= steps) {
        float share = spot[option] * fast_exp2(log2_up * (2 * i - steps));
        nodes[steps % 2][i] = fmaxf(share - strike[option], 0.0f);
    }
    for (int level = steps - 1; level >= 0; level--) {
        __syncthreads();
        if (i <= level) {
            const float *later = nodes[(level + 1) % 2];
            nodes[level % 2][i] = up_weight * later[i + 1] + down_weight * later[i];
        }
    }
    if (i == 0) {
        price[option] = nodes[0][0];
    }
}
