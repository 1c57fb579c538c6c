// Target: sm_70
// The k tokens of a vocabulary with the highest logits, in order: a CTA per sequence, a pass over the row per token.
//
// In each pass, the CTA looks for the highest logit below the last one. The row is read k times: friendly to a cache
// that retains it, thrashing in one that is slightly smaller. Of equal logits, the one with the lower index is first.
#include "../common/lanes.h"

// One logit and its index.
struct Candidate {
    float logit;
    int index;
};

static __device__ inline bool precedes(Candidate a, Candidate b) {
    return a.logit > b.logit || (a.logit == b.logit && a.index < b.index);
}

extern "C" __global__ void topk(const float *logits, int *index, float *logit, int vocabulary, int pitch, int k) {
    __shared__ Candidate best_of[LANES];
    const float *row = logits + blockIdx.x * pitch;
    int warps = blockDim.x / LANES;
    Candidate last = {3.402823466e38f, -1};
    for (int rank = 0; rank < k; rank++) {
        Candidate best = {-3.402823466e38f, 0x7fffffff};
        for (int i = threadIdx.x; i < vocabulary; i += blockDim.x) {
            Candidate candidate = {row[i], i};
            if (precedes(last, candidate) && precedes(candidate, best)) {
                best = candidate;
            }
        }
        for (int mask = LANES / 2; mask > 0; mask /= 2) {
            Candidate other = {of_lane_xor(best.logit, mask), of_lane_xor(best.index, mask)};
            if (precedes(other, best)) {
                best = other;
            }
        }
        if (threadIdx.x % LANES == 0) {
            best_of[threadIdx.x / LANES] = best;
        }
        __syncthreads();
        last = best_of[0];
        for (int warp = 1; warp < warps; warp++) {
            if (precedes(best_of[warp], last)) {
                last = best_of[warp];
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            index[blockIdx.x * k + rank] = last.index;
            logit[blockIdx.x * k + rank] = last.logit;
        }
    }
}
