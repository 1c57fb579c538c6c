// Target: sm_80
// Causal attention on tensor cores, in the form of FlashAttention-2: a CTA of four warps takes 64 queries of a head, a
// warp 16 of them, and passes over the keys and values in tiles of 32. Queries, keys and values are .f16, heads of 64.
//
// Scores and their powers stay in registers: the sum of one product has the same layout as a factor of the next. The
// program issues the cp.async of the next tile before it multiplies a tile, so that a GPU overlaps the two. The model
// does not: a warp waits for each of its copies, and only other warps work meanwhile.
#include "../common/lanes.h"

constexpr int SIZE = 64;    // elements of a head
constexpr int QUERIES = 64; // of a CTA
constexpr int KEYS = 32;    // of a tile
constexpr int THREADS = 128;
constexpr int HALVES = 8; // per 16 bytes, which a lane copies at once
constexpr int STEPS = SIZE / 16;
constexpr float LOWEST = -3.402823466e38f;
// Rows of shared memory that eight lanes read at once begin in different banks.
constexpr int PAD = 8;

static __device__ inline unsigned shared_address(const void *p) {
    unsigned long long address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(p));
    return static_cast<unsigned>(address);
}

// Copies rows of a head to shared memory. Rows beyond the last token become zeros.
template <int ROWS>
static __device__ inline void fetch(unsigned short (&to)[ROWS][SIZE + PAD], const unsigned short *head, int first,
                                    int tokens) {
    for (int i = threadIdx.x; i < ROWS * SIZE / HALVES; i += THREADS) {
        const int row = i / (SIZE / HALVES), column = i % (SIZE / HALVES) * HALVES;
        if (first + row < tokens) {
            unsigned long long from;
            asm("cvta.to.global.u64 %0, %1;" : "=l"(from) : "l"(head + (first + row) * SIZE + column));
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&to[row][column])), "l"(from)
                         : "memory");
        } else {
            *reinterpret_cast<uint4 *>(&to[row][column]) = {0, 0, 0, 0};
        }
    }
}

static __device__ inline void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

static __device__ inline void load(unsigned (&f)[4], const unsigned short *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
                 : "r"(shared_address(row))
                 : "memory");
}

static __device__ inline void load_transposed(unsigned (&f)[4], const unsigned short *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
                 : "r"(shared_address(row))
                 : "memory");
}

static __device__ inline void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

static __device__ inline unsigned to_halves(float low, float high) {
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

// Grid: tiles of queries, heads. Heads lie one after the other; `group` query heads share a key head.
extern "C" __global__ void flash(const unsigned short *q, const unsigned short *k, const unsigned short *v, float *out,
                                 int tokens, int group, float scale) {
    alignas(16) __shared__ unsigned short queries[QUERIES][SIZE + PAD];
    alignas(16) __shared__ unsigned short keys[2][KEYS][SIZE + PAD];
    alignas(16) __shared__ unsigned short values[2][KEYS][SIZE + PAD];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, head = blockIdx.y;
    const int first = blockIdx.x * QUERIES;
    const unsigned short *key_head = k + head / group * tokens * SIZE;
    const unsigned short *value_head = v + head / group * tokens * SIZE;
    const int tiles = (min(first + QUERIES, tokens) + KEYS - 1) / KEYS;
    fetch(queries, q + head * tokens * SIZE, first, tokens);
    fetch(keys[0], key_head, 0, tokens);
    fetch(values[0], value_head, 0, tokens);
    end_group();
    // A lane has elements of two rows, eight apart: of the queries, of the scores and of the result.
    const int row = first + warp * 16 + lane / 4, column = lane % 4 * 2;
    float most[2] = {LOWEST, LOWEST}, total[2] = {0.0f, 0.0f};
    float result[SIZE / 8][4];
    #pragma unroll
    for (int right = 0; right < SIZE / 8; right++) {
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            result[right][i] = 0.0f;
        }
    }
    for (int tile = 0; tile < tiles; tile++) {
        const int stage = tile % 2;
        if (tile + 1 < tiles) {
            fetch(keys[1 - stage], key_head, (tile + 1) * KEYS, tokens);
            fetch(values[1 - stage], value_head, (tile + 1) * KEYS, tokens);
        }
        end_group();
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        float score[KEYS / 8][4];
        #pragma unroll
        for (int right = 0; right < KEYS / 8; right++) {
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                score[right][i] = 0.0f;
            }
        }
        #pragma unroll
        for (int step = 0; step < STEPS; step++) {
            unsigned a[4];
            load(a, &queries[warp * 16 + lane % 16][step * 16 + lane / 16 * 8]);
            #pragma unroll
            for (int right = 0; right < KEYS / 16; right++) {
                // Rows of keys are columns of the second factor.
                unsigned b[4];
                load(b, &keys[stage][right * 16 + lane / 16 * 8 + lane % 8][step * 16 + lane / 8 % 2 * 8]);
                multiply(score[2 * right], a, b[0], b[1]);
                multiply(score[2 * right + 1], a, b[2], b[3]);
            }
        }
        #pragma unroll
        for (int half = 0; half < 2; half++) {
            // The four lanes of a row have all its scores.
            float next = most[half];
            #pragma unroll
            for (int right = 0; right < KEYS / 8; right++) {
                #pragma unroll
                for (int i = 2 * half; i < 2 * half + 2; i++) {
                    const bool counts = tile * KEYS + right * 8 + column + i % 2 <= row + half * 8;
                    score[right][i] = counts ? score[right][i] * scale : LOWEST;
                    next = fmaxf(next, score[right][i]);
                }
            }
            next = fmaxf(next, of_lane_xor(next, 1));
            next = fmaxf(next, of_lane_xor(next, 2));
            float sum = 0.0f;
            #pragma unroll
            for (int right = 0; right < KEYS / 8; right++) {
                #pragma unroll
                for (int i = 2 * half; i < 2 * half + 2; i++) {
                    score[right][i] = score[right][i] > LOWEST ? fast_exp2(score[right][i] - next) : 0.0f;
                    sum += score[right][i];
                }
            }
            sum += of_lane_xor(sum, 1);
            sum += of_lane_xor(sum, 2);
            const float before = fast_exp2(most[half] - next);
            most[half] = next;
            total[half] = total[half] * before + sum;
            #pragma unroll
            for (int right = 0; right < SIZE / 8; right++) {
                result[right][2 * half] *= before;
                result[right][2 * half + 1] *= before;
            }
        }
        #pragma unroll
        for (int step = 0; step < KEYS / 16; step++) {
            const float(&low)[4] = score[2 * step], (&high)[4] = score[2 * step + 1];
            const unsigned a[4] = {to_halves(low[0], low[1]), to_halves(low[2], low[3]), to_halves(high[0], high[1]),
                                   to_halves(high[2], high[3])};
            #pragma unroll
            for (int right = 0; right < SIZE / 16; right++) {
                unsigned b[4];
                load_transposed(b, &values[stage][step * 16 + lane % 16][right * 16 + lane / 16 * 8]);
                multiply(result[2 * right], a, b[0], b[1]);
                multiply(result[2 * right + 1], a, b[2], b[3]);
            }
        }
        // The next tile but one overwrites this one.
        __syncthreads();
    }
    #pragma unroll
    for (int right = 0; right < SIZE / 8; right++) {
        #pragma unroll
        for (int half = 0; half < 2; half++) {
            const int token = row + half * 8;
            if (token < tokens) {
                float2 pair;
                pair.x = result[right][2 * half] / total[half];
                pair.y = result[right][2 * half + 1] / total[half];
                *reinterpret_cast<float2 *>(out + (head * tokens + token) * SIZE + right * 8 + column) = pair;
            }
        }
    }
}
