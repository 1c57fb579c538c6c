// Quasi-random numbers: element v of a dimension is the exclusive or of those of the dimension's 32
// direction numbers that the set bits of v name, over 2^32. A CTA row per dimension, a thread per
// element.
//
// Direction numbers, a line per dimension, are read once a CTA into shared memory and from there by
// all lanes at the same address; the results are a stream of stores.
#include "../common/cuda_shim.h"

constexpr int BITS = 32;

extern "C" __global__ void quasirandom(const unsigned *directions, float *out, int elements) {
    __shared__ unsigned direction[BITS];
    int dimension = blockIdx.y;
    if (threadIdx.x < BITS) {
        direction[threadIdx.x] = directions[dimension * BITS + threadIdx.x];
    }
    __syncthreads();
    int element = blockIdx.x * blockDim.x + threadIdx.x;
    if (element < elements) {
        unsigned x = 0;
        for (int bit = 0; bit < BITS; bit++) {
            x ^= (element >> bit & 1) * direction[bit];
        }
        out[dimension * elements + element] = x * (1.0f / 4294967296.0f);
    }
}
