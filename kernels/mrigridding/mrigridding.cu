// Gridding of magnetic resonance samples: each sample spreads its complex value, times its density,
// over the points of a regular grid that are nearer than a radius of at most 1.5. Points are the
// centres of unit cells. Samples are sorted by cell, then each point gathers from the 27 cells
// around it.
//
// gridding_bin counts the samples of each cell with atomics at random addresses; gridding_scan makes
// offsets of the counts in one CTA; gridding_reorder scatters the samples, 16 and 8 bytes each, up
// to 32 lines for a warp store; gridding_gather runs loops of a data-dependent length.
#include "../common/cuda_shim.h"

// Order of samples in a cell is that of the atomics: sums differ by their rounding from run to run.
extern "C" __global__ void gridding_bin(const float *x, const float *y, const float *z, int *counts,
                                        int *cells, int *slots, int samples, int nx, int ny) {
    int sample = blockIdx.x * blockDim.x + threadIdx.x;
    if (sample < samples) {
        int cell = ((int)z[sample] * ny + (int)y[sample]) * nx + (int)x[sample];
        cells[sample] = cell;
        slots[sample] = atomicAdd(&counts[cell], 1);
    }
}

constexpr int SCAN_BLOCK = 256;

// firsts[cell] = samples in the cells before it; firsts[cells] = all. One CTA, a run of cells a
// thread.
extern "C" __global__ void gridding_scan(const int *counts, int *firsts, int cells) {
    __shared__ int sums[2][SCAN_BLOCK];
    int lane = threadIdx.x;
    int run = (cells + SCAN_BLOCK - 1) / SCAN_BLOCK;
    int begin = min(lane * run, cells);
    int end = min(begin + run, cells);
    int sum = 0;
    for (int cell = begin; cell < end; cell++) {
        sum += counts[cell];
    }
    int from = 0;
    sums[from][lane] = sum;
    for (int reach = 1; reach < SCAN_BLOCK; reach *= 2) {
        __syncthreads();
        sums[1 - from][lane] = sums[from][lane] + (lane >= reach ? sums[from][lane - reach] : 0);
        from = 1 - from;
    }
    int first = sums[from][lane] - sum;
    for (int cell = begin; cell < end; cell++) {
        firsts[cell] = first;
        first += counts[cell];
    }
    if (lane == SCAN_BLOCK - 1) {
        firsts[cells] = first;
    }
}

extern "C" __global__ void gridding_reorder(const float *x, const float *y, const float *z,
                                            const float *density, const float *re, const float *im,
                                            const int *cells, const int *slots, const int *firsts,
                                            float4 *places, float2 *values, int samples) {
    int sample = blockIdx.x * blockDim.x + threadIdx.x;
    if (sample < samples) {
        int to = firsts[cells[sample]] + slots[sample];
        places[to] = float4{x[sample], y[sample], z[sample], density[sample]};
        values[to] = float2{re[sample], im[sample]};
    }
}

extern "C" __global__ void gridding_gather(const float4 *places, const float2 *values,
                                           const int *firsts, float2 *grid, int nx, int ny, int nz,
                                           float radius) {
    int cx = blockIdx.x * blockDim.x + threadIdx.x;
    int cy = blockIdx.y * blockDim.y + threadIdx.y;
    int cz = blockIdx.z;
    if (cx >= nx || cy >= ny) {
        return;
    }
    float limit = radius * radius;
    float inverse_limit = 1.0f / limit;
    float2 sum = {0.0f, 0.0f};
    for (int row_z = max(cz - 1, 0); row_z <= min(cz + 1, nz - 1); row_z++) {
        for (int row_y = max(cy - 1, 0); row_y <= min(cy + 1, ny - 1); row_y++) {
            // Up to three cells in x follow one another, and so do their samples.
            int row = (row_z * ny + row_y) * nx;
            int end = firsts[row + min(cx + 1, nx - 1) + 1];
            for (int i = firsts[row + max(cx - 1, 0)]; i < end; i++) {
                float4 place = places[i];
                float dx = place.x - (cx + 0.5f);
                float dy = place.y - (cy + 0.5f);
                float dz = place.z - (cz + 0.5f);
                float square = dx * dx + dy * dy + dz * dz;
                if (square < limit) {
                    float fade = 1.0f - square * inverse_limit;
                    float weight = place.w * fade * fade;
                    float2 value = values[i];
                    sum.x += weight * value.x;
                    sum.y += weight * value.y;
                }
            }
        }
    }
    grid[(cz * ny + cy) * nx + cx] = sum;
}
