// Target: sm_80
// C = A B + C on tensor cores: A and B of .f16, C of .f32, all row by row. A CTA of four warps makes a tile
// of 32 x 32, a warp 16 x 16 of it, in steps of 16 columns of A that lie in shared memory for that time.
#include "../common/cuda_shim.h"

constexpr int TILE = 32;
constexpr int DEPTH = 16;
constexpr int THREADS = 128;
// Rows of shared memory that eight lanes read at once begin in different banks.
constexpr int PAD = 8;

static __device__ inline unsigned shared_address(const void *p) {
    unsigned long long address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(p));
    return static_cast<unsigned>(address);
}

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

extern "C" __global__ void hmma(const unsigned short *a, const unsigned short *b, float *c, int m, int n, int k) {
    alignas(16) __shared__ unsigned short tile_a[TILE][DEPTH + PAD];
    alignas(16) __shared__ unsigned short tile_b[DEPTH][TILE + PAD];
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    const int warp_row = warp / 2 * 16, warp_col = warp % 2 * 16;
    // A lane has elements of two rows, eight apart, in each half of the 16 columns.
    const int row = top + warp_row + lane / 4, col = left + warp_col + lane % 4 * 2;
    float sum[2][4];
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < 4; i++) {
            const int y = row + i / 2 * 8, x = col + half * 8 + i % 2;
            sum[half][i] = y < m && x < n ? c[y * n + x] : 0.0f;
        }
    }
    for (int first = 0; first < k; first += DEPTH) {
        for (int i = thread; i < TILE * DEPTH; i += THREADS) {
            const int y = i / DEPTH, x = i % DEPTH;
            tile_a[y][x] = top + y < m && first + x < k ? a[(top + y) * k + first + x] : 0;
        }
        for (int i = thread; i < DEPTH * TILE; i += THREADS) {
            const int y = i / TILE, x = i % TILE;
            tile_b[y][x] = first + y < k && left + x < n ? b[(first + y) * n + left + x] : 0;
        }
        __syncthreads();
        unsigned in_a[4], in_b[4];
        load_a(in_a, &tile_a[warp_row + lane % 16][lane / 16 * 8]);
        load_b(in_b, &tile_b[lane % 16][warp_col + lane / 16 * 8]);
        multiply(sum[0], in_a, in_b[0], in_b[1]);
        multiply(sum[1], in_a, in_b[2], in_b[3]);
        __syncthreads();
    }
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < 4; i++) {
            const int y = row + i / 2 * 8, x = col + half * 8 + i % 2;
            if (y < m && x < n)
                c[y * n + x] = sum[half][i];
        }
    }
}
