// Fourier transforms of 512 complex numbers each, in place: a CTA of 64 threads per transform, 8
// numbers a thread, three passes of radix 8 with exchanges through shared memory between them.
//
// Element n = t + 64 r, result k = s + 8 m + 64 p (all letters but t below 8). With w(N) = e^(-2 pi
// i / N), and t = u + 8 v:
//   A[s][t] = w(512)^(t s) * sum over r of x[t + 64 r] w(8)^(r s)      thread t
//   B[s][m][u] = w(64)^(u m) * sum over v of A[s][u + 8 v] w(8)^(v m)  thread 8 s + u
//   X[s + 8 m + 64 p] = sum over u of B[s][m][u] w(8)^(u p)            thread 8 m + s
// Loads and stores are 64 neighbouring complex numbers each: two lines a warp, never used again.
#include "../common/cuda_shim.h"

constexpr int SIZE = 512;
constexpr int THREADS = 64;
constexpr int RADIX = 8;

static __device__ inline float2 add(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
static __device__ inline float2 subtract(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
static __device__ inline float2 multiply(float2 a, float2 b) {
    return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

// e^(-2 pi i turns / 512), for any turns: the angle is taken between -pi and pi, where the
// approximations are good.
static __device__ inline float2 root(int turns) {
    constexpr float ANGLE = -6.2831853f / SIZE;
    int least = ((turns + SIZE / 2) & (SIZE - 1)) - SIZE / 2;
    return {fast_cos(ANGLE * least), fast_sin(ANGLE * least)};
}

// Fourier transform of 4 numbers.
static __device__ inline void transform4(float2 &a, float2 &b, float2 &c, float2 &d) {
    float2 ac = add(a, c);
    float2 a_c = subtract(a, c);
    float2 bd = add(b, d);
    float2 b_d = subtract(b, d);
    a = add(ac, bd);
    b = {a_c.x + b_d.y, a_c.y - b_d.x};
    c = subtract(ac, bd);
    d = {a_c.x - b_d.y, a_c.y + b_d.x};
}

// Fourier transform of 8 numbers: of the even and of the odd ones, then one more level.
static __device__ inline void transform8(float2 *v) {
    constexpr float HALF_ROOT = 0.70710678f;
    transform4(v[0], v[2], v[4], v[6]);
    transform4(v[1], v[3], v[5], v[7]);
    float2 odd[4] = {
        v[1],
        {HALF_ROOT * (v[3].x + v[3].y), HALF_ROOT * (v[3].y - v[3].x)},
        {v[5].y, -v[5].x},
        {HALF_ROOT * (v[7].y - v[7].x), -HALF_ROOT * (v[7].x + v[7].y)},
    };
    float2 even[4] = {v[0], v[2], v[4], v[6]};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        v[i] = add(even[i], odd[i]);
        v[i + 4] = subtract(even[i], odd[i]);
    }
}

extern "C" __global__ void fft(float2 *data) {
    __shared__ float2 shared[SIZE];
    int t = threadIdx.x;
    int high = t / RADIX;
    int low = t % RADIX;
    float2 *mine = &data[blockIdx.x * SIZE];
    float2 v[RADIX];
#pragma unroll
    for (int r = 0; r < RADIX; r++) {
        v[r] = mine[t + THREADS * r];
    }
    transform8(v);
#pragma unroll
    for (int s = 0; s < RADIX; s++) {
        shared[THREADS * s + t] = multiply(v[s], root(t * s));
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < RADIX; i++) {
        v[i] = shared[THREADS * high + low + RADIX * i];
    }
    __syncthreads();
    transform8(v);
#pragma unroll
    for (int m = 0; m < RADIX; m++) {
        shared[THREADS * high + RADIX * m + low] = multiply(v[m], root(RADIX * low * m));
    }
    __syncthreads();
#pragma unroll
    for (int u = 0; u < RADIX; u++) {
        v[u] = shared[THREADS * low + RADIX * high + u];
    }
    transform8(v);
#pragma unroll
    for (int p = 0; p < RADIX; p++) {
        mine[t + THREADS * p] = v[p];
    }
}
