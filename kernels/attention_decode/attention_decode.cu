// Target: sm_70
// Attention of one new token per sequence to the keys and values of all tokens before it, which lie in the pages of
// a KV cache of half precision. Flash decoding: a CTA takes one split of the pages of one sequence and one head,
// and a second kernel combines the splits.
//
// A warp takes one token at a time: a key is 256 bytes, two lines. Nothing but the group of query heads that share a
// key head reads a line again, and those are other CTAs: reuse is in the L2, if the CTAs run at the same time.
#include "../common/lanes.h"

constexpr int PAGE = 16;
constexpr int SIZE = 128; // elements of a head
constexpr int WARPS = 4;
constexpr float LOWEST = -3.402823466e38f;

// Running result of a softmax: the maximum of the scores, the sum of their powers, and the sum of the values, each
// times its power. A lane has four elements of the value.
struct Running {
    float most, sum;
    float4 value;
};

static __device__ inline void rescale(Running &all, float most) {
    float scale = fast_exp2(all.most - most);
    all.most = most;
    all.sum *= scale;
    all.value.x *= scale;
    all.value.y *= scale;
    all.value.z *= scale;
    all.value.w *= scale;
}

static __device__ inline void add(Running &all, float weight, float sum, float4 value) {
    all.sum += weight * sum;
    all.value.x += weight * value.x;
    all.value.y += weight * value.y;
    all.value.z += weight * value.z;
    all.value.w += weight * value.w;
}

static __device__ inline float4 load_halves(const uint2 *p) {
    uint2 words = *p;
    float2 low = from_halves(words.x), high = from_halves(words.y);
    float4 all;
    all.x = low.x;
    all.y = low.y;
    all.z = high.x;
    all.w = high.y;
    return all;
}

// Grid: splits, query heads, sequences. Page p of the cache has, for each key head, the 16 tokens of the page.
extern "C" __global__ void attention_decode(const float4 *q, const uint2 *keys, const uint2 *values, const int *blocks,
                                            const int *length, float *partial, float2 *partial_sum, int key_heads,
                                            int pages, int pages_per_split, float scale) {
    __shared__ float4 value[WARPS][LANES];
    __shared__ float2 sums[WARPS];
    int split = blockIdx.x, head = blockIdx.y, sequence = blockIdx.z;
    int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    int key_head = head / (gridDim.y / key_heads);
    int tokens = length[sequence];
    int first = split * pages_per_split, end = min(first + pages_per_split, (tokens + PAGE - 1) / PAGE);
    float4 query = q[(sequence * gridDim.y + head) * LANES + lane];
    query.x *= scale;
    query.y *= scale;
    query.z *= scale;
    query.w *= scale;
    Running all = {LOWEST, 0.0f, {0.0f, 0.0f, 0.0f, 0.0f}};
    for (int page = first; page < end; page++) {
        int base = (blocks[sequence * pages + page] * key_heads + key_head) * PAGE;
        int in_page = min(PAGE, tokens - page * PAGE);
        for (int token = warp; token < in_page; token += WARPS) {
            float4 key = load_halves(keys + (base + token) * LANES + lane);
            float score = warp_sum(query.x * key.x + query.y * key.y + query.z * key.z + query.w * key.w);
            if (score > all.most) {
                rescale(all, score);
            }
            add(all, fast_exp2(score - all.most), 1.0f, load_halves(values + (base + token) * LANES + lane));
        }
    }
    value[warp][lane] = all.value;
    if (lane == 0) {
        sums[warp] = {all.most, all.sum};
    }
    __syncthreads();
    if (warp == 0) {
        // A warp without tokens has the lowest maximum, and so does not count unless all have none.
        for (int other = 1; other < WARPS; other++) {
            if (sums[other].x > all.most) {
                rescale(all, sums[other].x);
            }
            add(all, fast_exp2(sums[other].x - all.most), sums[other].y, value[other][lane]);
        }
        int at = (sequence * gridDim.y + head) * gridDim.x + split;
        reinterpret_cast<float4 *>(partial)[at * LANES + lane] = all.value;
        if (lane == 0) {
            partial_sum[at] = {all.most, all.sum};
        }
    }
}

// A CTA per sequence and head, a thread per element of the value.
extern "C" __global__ void attention_combine(const float *partial, const float2 *partial_sum, float *out, int splits) {
    int head = blockIdx.x, first = head * splits;
    float most = LOWEST;
    for (int split = 0; split < splits; split++) {
        most = fmaxf(most, partial_sum[first + split].x);
    }
    float sum = 0.0f, value = 0.0f;
    for (int split = 0; split < splits; split++) {
        float2 part = partial_sum[first + split];
        float scale = fast_exp2(part.x - most);
        sum += scale * part.y;
        value += scale * partial[(first + split) * SIZE + threadIdx.x];
    }
    out[head * SIZE + threadIdx.x] = value / sum;
}
