// The part of CUDA C++ that our kernels use, spelled with clang's own builtins, so that they
// compile to PTX with a plain clang: no CUDA toolkit, no GPU. NVRTC knows all of it but the
// `fast_` functions at the end, which are our names for what the special function units do.
#pragma once

#ifndef __CUDACC_RTC__

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))

// Every read of `threadIdx.x` becomes a read of the special register %tid.x, and so on.
#define WARPSIEVE_INDEX(variable, sreg)                                                   \
    struct variable##_t {                                                                 \
        __declspec(property(get = get_x)) unsigned x;                                     \
        __declspec(property(get = get_y)) unsigned y;                                     \
        __declspec(property(get = get_z)) unsigned z;                                     \
        static __device__ inline unsigned get_x() { return __nvvm_read_ptx_sreg_##sreg##_x(); } \
        static __device__ inline unsigned get_y() { return __nvvm_read_ptx_sreg_##sreg##_y(); } \
        static __device__ inline unsigned get_z() { return __nvvm_read_ptx_sreg_##sreg##_z(); } \
    };                                                                                    \
    extern const __device__ variable##_t variable;

WARPSIEVE_INDEX(threadIdx, tid)
WARPSIEVE_INDEX(blockIdx, ctaid)
WARPSIEVE_INDEX(blockDim, ntid)
WARPSIEVE_INDEX(gridDim, nctaid)

// Aligned to their size, so that one is loaded and stored by one instruction.
struct __attribute__((aligned(4))) uchar4 {
    unsigned char x, y, z, w;
};
struct __attribute__((aligned(8))) int2 {
    int x, y;
};
struct __attribute__((aligned(8))) uint2 {
    unsigned x, y;
};
struct __attribute__((aligned(16))) uint4 {
    unsigned x, y, z, w;
};
struct __attribute__((aligned(8))) float2 {
    float x, y;
};
struct __attribute__((aligned(16))) float4 {
    float x, y, z, w;
};

static __device__ inline float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
static __device__ inline float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
static __device__ inline float rintf(float x) { return __builtin_rintf(x); }
static __device__ inline float __int_as_float(int x) { return __nvvm_bitcast_i2f(x); }
static __device__ inline int __float_as_int(float x) { return __nvvm_bitcast_f2i(x); }
static __device__ inline float fabsf(float x) { return __nvvm_fabs_f(x); }
static __device__ inline float fminf(float x, float y) { return __nvvm_fmin_f(x, y); }
static __device__ inline float fmaxf(float x, float y) { return __nvvm_fmax_f(x, y); }
static __device__ inline int min(int x, int y) { return x < y ? x : y; }
static __device__ inline int max(int x, int y) { return x > y ? x : y; }
static __device__ inline unsigned min(unsigned x, unsigned y) { return x < y ? x : y; }
static __device__ inline unsigned max(unsigned x, unsigned y) { return x > y ? x : y; }

// Whether all lanes of the warp that get here say so. clang 14 has a builtin but no code for it.
static __device__ inline int __all(int x) {
    int all;
    asm volatile("{ .reg .pred %%p; setp.ne.s32 %%p, %1, 0; vote.all.pred %%p, %%p; selp.s32 %0, 1, 0, %%p; }"
                 : "=r"(all)
                 : "r"(x));
    return all;
}

// Each returns what was there before.
static __device__ inline int atomicAdd(int *to, int x) { return __nvvm_atom_add_gen_i(to, x); }
static __device__ inline unsigned atomicAdd(unsigned *to, unsigned x) {
    return __nvvm_atom_add_gen_i((int *)to, x);
}
static __device__ inline int atomicExch(int *to, int x) { return __nvvm_atom_xchg_gen_i(to, x); }
static __device__ inline unsigned atomicMin(unsigned *to, unsigned x) {
    return __nvvm_atom_min_gen_ui(to, x);
}
static __device__ inline unsigned atomicMax(unsigned *to, unsigned x) {
    return __nvvm_atom_max_gen_ui(to, x);
}

static __device__ inline float fast_exp2(float x) { return __nvvm_ex2_approx_f(x); }
static __device__ inline float fast_log2(float x) { return __nvvm_lg2_approx_f(x); }
static __device__ inline float fast_sin(float x) { return __nvvm_sin_approx_f(x); }
static __device__ inline float fast_cos(float x) { return __nvvm_cos_approx_f(x); }

#else

static __device__ inline float fast_exp2(float x) { return exp2f(x); }
static __device__ inline float fast_log2(float x) { return __log2f(x); }
static __device__ inline float fast_sin(float x) { return __sinf(x); }
static __device__ inline float fast_cos(float x) { return __cosf(x); }

#endif
