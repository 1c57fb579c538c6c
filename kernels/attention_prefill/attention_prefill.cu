// Target: sm_70
// Causal attention of all tokens of a prompt to the tokens before them, in the tiles of FlashAttention: a CTA takes
// 32 queries of a head, and passes over the keys and values in tiles of 32 that lie in shared memory.
//
// A warp has four queries. For the scores, a lane has one key; for the values, it has two columns. Scores never go
// to memory. Keys and values are read again by every later tile of queries, from the L2 if it retains them.
#include "../common/lanes.h"

constexpr int TILE = 32;
constexpr int SIZE = 64; // elements of a head
constexpr int WARPS = 8;
constexpr int ROWS = TILE / WARPS; // queries of a warp
constexpr float LOWEST = -3.402823466e38f;

// Grid: tiles of queries, heads. Heads lie one after the other.
extern "C" __global__ void attention_prefill(const float *q, const float *k, const float *v, float *out, int tokens,
                                             int group, float scale) {
    // Queries and powers of a warp lie as the warp reads them: its four queries side by side.
    __shared__ float4 query[WARPS][SIZE];
    __shared__ float4 power[WARPS][TILE];
    __shared__ float key[TILE][SIZE + 1];
    __shared__ float value[TILE][SIZE];
    int tile = blockIdx.x, head = blockIdx.y, key_head = head / group;
    int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    int first = tile * TILE + warp * ROWS;
    float *lanes = reinterpret_cast<float *>(power[warp]);
    for (int i = lane; i < ROWS * SIZE; i += LANES) {
        int row = i / SIZE, column = i % SIZE;
        float x = first + row < tokens ? q[(head * tokens + first + row) * SIZE + column] : 0.0f;
        reinterpret_cast<float *>(query[warp])[column * ROWS + row] = x * scale;
    }
    float most[ROWS], sum[ROWS], low[ROWS], high[ROWS];
    #pragma unroll
    for (int row = 0; row < ROWS; row++) {
        most[row] = LOWEST;
        sum[row] = low[row] = high[row] = 0.0f;
    }
    for (int other = 0; other <= tile; other++) {
        __syncthreads();
        for (int i = threadIdx.x; i < TILE * SIZE; i += blockDim.x) {
            int row = i / SIZE, column = i % SIZE, token = other * TILE + row;
            int at = (key_head * tokens + token) * SIZE + column;
            key[row][column] = token < tokens ? k[at] : 0.0f;
            value[row][column] = token < tokens ? v[at] : 0.0f;
        }
        __syncthreads();
        float score[ROWS] = {0.0f, 0.0f, 0.0f, 0.0f};
        for (int i = 0; i < SIZE; i++) {
            float4 x = query[warp][i];
            float y = key[lane][i];
            score[0] += x.x * y;
            score[1] += x.y * y;
            score[2] += x.z * y;
            score[3] += x.w * y;
        }
        #pragma unroll
        for (int row = 0; row < ROWS; row++) {
            // A query attends to the tokens up to itself.
            bool counts = other * TILE + lane <= first + row;
            float next = fmaxf(most[row], warp_max(counts ? score[row] : LOWEST));
            float x = counts ? fast_exp2(score[row] - next) : 0.0f;
            float before = fast_exp2(most[row] - next);
            most[row] = next;
            sum[row] = sum[row] * before + warp_sum(x);
            low[row] *= before;
            high[row] *= before;
            lanes[lane * ROWS + row] = x;
        }
        __syncthreads();
        for (int i = 0; i < TILE; i++) {
            float4 x = power[warp][i];
            float left = value[i][lane], right = value[i][LANES + lane];
            low[0] += x.x * left;
            low[1] += x.y * left;
            low[2] += x.z * left;
            low[3] += x.w * left;
            high[0] += x.x * right;
            high[1] += x.y * right;
            high[2] += x.z * right;
            high[3] += x.w * right;
        }
    }
    #pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (first + row < tokens) {
            float *to = out + (head * tokens + first + row) * SIZE;
            to[lane] = low[row] / sum[row];
            to[LANES + lane] = high[row] / sum[row];
        }
    }
}
