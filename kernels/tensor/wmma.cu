// Target: sm_75
// C = A B + C on tensor cores: A of .f16 row by row, B of .f16 column by column, C of .f32 row by row. A warp
// makes a tile of 16 x 16 straight from global memory, so that m, n and k are multiples of 16.
#include "../common/cuda_shim.h"

constexpr int TILE = 16;

static __device__ inline void load_a(unsigned (&f)[8], const unsigned short *p, int stride) {
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3]), "=r"(f[4]), "=r"(f[5]), "=r"(f[6]), "=r"(f[7])
                 : "l"(p), "r"(stride));
}

static __device__ inline void load_b(unsigned (&f)[8], const unsigned short *p, int stride) {
    asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3]), "=r"(f[4]), "=r"(f[5]), "=r"(f[6]), "=r"(f[7])
                 : "l"(p), "r"(stride));
}

static __device__ inline void load_c(float (&f)[8], const float *p, int stride) {
    asm volatile("wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                 : "=f"(f[0]), "=f"(f[1]), "=f"(f[2]), "=f"(f[3]), "=f"(f[4]), "=f"(f[5]), "=f"(f[6]), "=f"(f[7])
                 : "l"(p), "r"(stride));
}

static __device__ inline void store_d(float *p, const float (&f)[8], int stride) {
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%8], {%0, %1, %2, %3, %4, %5, %6, %7}, %9;"
                 :
                 : "f"(f[0]), "f"(f[1]), "f"(f[2]), "f"(f[3]), "f"(f[4]), "f"(f[5]), "f"(f[6]), "f"(f[7]), "l"(p),
                   "r"(stride)
                 : "memory");
}

static __device__ inline void multiply(float (&d)[8], const unsigned (&a)[8], const unsigned (&b)[8]) {
    asm volatile("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, "
                 "{%8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19, %20, %21, %22, %23}, "
                 "{%0, %1, %2, %3, %4, %5, %6, %7};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b[0]),
                   "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
}

extern "C" __global__ void wmma(const unsigned short *a, const unsigned short *b, float *c, int m, int n, int k) {
    const int warps = blockDim.x / 32, warp = blockIdx.x * warps + threadIdx.x / 32;
    const int across = n / TILE, top = warp / across * TILE, left = warp % across * TILE;
    if (top >= m)
        return;
    float sum[8];
    load_c(sum, c + top * n + left, n);
    for (int first = 0; first < k; first += TILE) {
        unsigned in_a[8], in_b[8];
        load_a(in_a, a + top * k + first, k);
        load_b(in_b, b + left * k + first, k);
        multiply(sum, in_a, in_b);
    }
    store_d(c + top * n + left, sum, n);
}
