// Coulomb potential with a cutoff on a lattice of 8 points per unit of length. Atoms lie in bins,
// unit cubes of CAPACITY slots with coordinates relative to the bin's corner and a charge; a slot
// that is not used has no charge. A CTA computes the 8 x 8 x 8 points of a bin, from the atoms of
// that bin and of the 26 around it, of which those nearer than the cutoff, at most 1, count: each
// adds charge / r * (1 - r^2 / cutoff^2)^2.
//
// A bin is a line, which a CTA fetches into shared memory and all its threads read at the same
// address; neighbouring CTAs fetch the same bins. The potentials of a bin lie side by side, so that a
// warp stores whole lines.
#include "../common/cuda_shim.h"

constexpr int SIDE = 8;
constexpr int CAPACITY = 8;
// Threads of a CTA are 8 x 8 x LAYERS, so that a thread computes POINTS of the lattice.
constexpr int LAYERS = 2;
constexpr int POINTS = SIDE / LAYERS;
constexpr float SPACING = 1.0f / SIDE;

extern "C" __global__ void cutcp(const float4 *atoms, float *potential, float cutoff) {
    __shared__ float4 bin[CAPACITY];
    int thread = (threadIdx.z * SIDE + threadIdx.y) * SIDE + threadIdx.x;
    float limit = cutoff * cutoff;
    float inverse_limit = 1.0f / limit;
    float x = threadIdx.x * SPACING;
    float y = threadIdx.y * SPACING;
    float sum[POINTS] = {};

    for (int dz = -1; dz <= 1; dz++) {
        for (int dy = -1; dy <= 1; dy++) {
            for (int dx = -1; dx <= 1; dx++) {
                int bx = blockIdx.x + dx, by = blockIdx.y + dy, bz = blockIdx.z + dz;
                // Bins beyond the edge do not exist. The whole CTA agrees.
                if (bx < 0 || bx >= gridDim.x || by < 0 || by >= gridDim.y || bz < 0 ||
                    bz >= gridDim.z) {
                    continue;
                }
                // Nobody still reads the bin before.
                __syncthreads();
                if (thread < CAPACITY) {
                    float4 atom = atoms[((bz * gridDim.y + by) * gridDim.x + bx) * CAPACITY + thread];
                    bin[thread] = float4{atom.x + dx, atom.y + dy, atom.z + dz, atom.w};
                }
                __syncthreads();
                for (int slot = 0; slot < CAPACITY; slot++) {
                    float4 atom = bin[slot];
                    float across = (atom.x - x) * (atom.x - x) + (atom.y - y) * (atom.y - y);
#pragma unroll
                    for (int point = 0; point < POINTS; point++) {
                        float up = atom.z - (threadIdx.z + point * LAYERS) * SPACING;
                        float square = across + up * up;
                        if (square < limit) {
                            float fade = 1.0f - square * inverse_limit;
                            sum[point] += atom.w * rsqrtf(square) * fade * fade;
                        }
                    }
                }
            }
        }
    }
    int bin_number = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
#pragma unroll
    for (int point = 0; point < POINTS; point++) {
        int pz = threadIdx.z + point * LAYERS;
        potential[((bin_number * SIDE + pz) * SIDE + threadIdx.y) * SIDE + threadIdx.x] = sum[point];
    }
}
