// The part of CUDA C++ that our kernels use, spelled with clang's own builtins, so that they
// compile to PTX with a plain clang: no CUDA toolkit, no GPU.
#pragma once

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
