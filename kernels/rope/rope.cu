// Rotary position embedding of queries and keys, in place: a CTA per token.
//
// Elements i and i + size / 2 of a head are one point of a plane, which turns by an angle that depends on i and on
// the token's position. A table has cosine and sine of every position; tokens gather their row of it, and all
// heads of a token read the same row.
#include "../common/cuda_shim.h"

static __device__ inline void turn(float *head, int pair, int half, float2 angle) {
    float x = head[pair], y = head[half + pair];
    head[pair] = x * angle.x - y * angle.y;
    head[half + pair] = y * angle.x + x * angle.y;
}

extern "C" __global__ void rope(float *q, float *k, const float2 *table, const int *position, int query_heads,
                                int key_heads, int size) {
    int token = blockIdx.x, half = size / 2;
    const float2 *angles = table + position[token] * half;
    for (int i = threadIdx.x; i < query_heads * half; i += blockDim.x) {
        int head = token * query_heads + i / half;
        turn(q + head * size, i % half, half, angles[i % half]);
    }
    for (int i = threadIdx.x; i < key_heads * half; i += blockDim.x) {
        int head = token * key_heads + i / half;
        turn(k + head * size, i % half, half, angles[i % half]);
    }
}
