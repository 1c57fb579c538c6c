// Target: sm_80
// C = A B + C on tensor cores, as each layer multiplies the tokens of a prompt: A and B of .f16, C of .f32, all row by
// row, k and n multiples of 8. A CTA of four warps makes a tile of 64 x 64, a warp 32 x 32 of it.
//
// Tiles of A and B are copied by cp.async into a ring of three stages of shared memory. The program issues a copy two
// steps of 32 columns of A before the products that need it, so that a GPU overlaps the two. The model does not: a warp
// waits for each of its copies, and only other warps work meanwhile. Other CTAs of the same row or column of tiles read
// the same tiles.
#include "../common/cuda_shim.h"

constexpr int TILE = 64;
constexpr int DEPTH = 32;
constexpr int STAGES = 3;
constexpr int THREADS = 128;
constexpr int HALVES = 8; // per 16 bytes, which a lane copies at once
// Rows of shared memory that eight lanes read at once begin in different banks.
constexpr int PAD = 8;

static __device__ inline unsigned shared_address(const void *p) {
    unsigned long long address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(p));
    return static_cast<unsigned>(address);
}

// Copies 16 bytes to shared memory, or stores zeros there if they lie outside the matrix.
static __device__ inline void copy(unsigned short *to, const unsigned short *from, bool inside) {
    if (inside) {
        unsigned long long address;
        asm("cvta.to.global.u64 %0, %1;" : "=l"(address) : "l"(from));
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(address) : "memory");
    } else {
        *reinterpret_cast<uint4 *>(to) = {0, 0, 0, 0};
    }
}

static __device__ inline void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

static __device__ inline void load_a(unsigned (&f)[4], const unsigned short *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
                 : "r"(shared_address(row))
                 : "memory");
}

static __device__ inline void load_b(unsigned (&f)[4], const unsigned short *row) {
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

extern "C" __global__ void gemm(const unsigned short *a, const unsigned short *b, float *c, int m, int n, int k) {
    alignas(16) __shared__ unsigned short tile_a[STAGES][TILE][DEPTH + PAD];
    alignas(16) __shared__ unsigned short tile_b[STAGES][DEPTH][TILE + PAD];
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    const int warp_row = warp / 2 * 32, warp_col = warp % 2 * 32;
    const int steps = (k + DEPTH - 1) / DEPTH;
    auto fetch = [&](int step) {
        const int stage = step % STAGES, first = step * DEPTH;
        for (int i = thread; i < TILE * DEPTH / HALVES; i += THREADS) {
            const int y = i / (DEPTH / HALVES), x = i % (DEPTH / HALVES) * HALVES;
            const bool inside = top + y < m && first + x < k;
            copy(&tile_a[stage][y][x], a + (top + y) * k + first + x, inside);
        }
        for (int i = thread; i < DEPTH * TILE / HALVES; i += THREADS) {
            const int y = i / (TILE / HALVES), x = i % (TILE / HALVES) * HALVES;
            const bool inside = first + y < k && left + x < n;
            copy(&tile_b[stage][y][x], b + (first + y) * n + left + x, inside);
        }
    };
    for (int step = 0; step < STAGES - 1; step++) {
        if (step < steps)
            fetch(step);
        end_group();
    }
    // A lane has two adjacent elements of two rows, eight apart, in each product of 16 x 8.
    const int row = top + warp_row + lane / 4, col = left + warp_col + lane % 4 * 2;
    float sum[2][4][4];
    #pragma unroll
    for (int down = 0; down < 2; down++) {
        #pragma unroll
        for (int right = 0; right < 4; right++) {
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                // Sums outside the matrix begin with any element, and are not stored.
                const int y = min(row + down * 16 + i / 2 * 8, m - 1), x = min(col + right * 8 + i % 2, n - 1);
                sum[down][right][i] = c[y * n + x];
            }
        }
    }
    for (int step = 0; step < steps; step++) {
        // All groups of copies except the latest have arrived, including the stage of this step. After the barrier,
        // every warp has finished the previous step, so its stage is free.
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        if (step + STAGES - 1 < steps)
            fetch(step + STAGES - 1);
        end_group();
        const int stage = step % STAGES;
        #pragma unroll
        for (int inner = 0; inner < DEPTH; inner += 16) {
            unsigned in_a[2][4], in_b[2][4];
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                load_a(in_a[i], &tile_a[stage][warp_row + i * 16 + lane % 16][inner + lane / 16 * 8]);
                load_b(in_b[i], &tile_b[stage][inner + lane % 16][warp_col + i * 16 + lane / 16 * 8]);
            }
            #pragma unroll
            for (int down = 0; down < 2; down++) {
                #pragma unroll
                for (int right = 0; right < 4; right++) {
                    const unsigned(&from)[4] = in_b[right / 2];
                    multiply(sum[down][right], in_a[down], from[right % 2 * 2], from[right % 2 * 2 + 1]);
                }
            }
        }
    }
    #pragma unroll
    for (int down = 0; down < 2; down++) {
        #pragma unroll
        for (int right = 0; right < 4; right++) {
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                const int y = row + down * 16 + i / 2 * 8, x = col + right * 8 + i % 2;
                if (y < m && x < n)
                    c[y * n + x] = sum[down][right][i];
            }
        }
    }
}
