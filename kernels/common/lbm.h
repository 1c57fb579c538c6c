// A time step of the lattice Boltzmann method with 19 directions, for any layout of its arrays: a
// thread per cell, a CTA per row.
//
// A cell holds, for each direction, how much gas moves that way. In a step, each cell takes over
// from the neighbour against a direction what moves in it (the streaming), and lets the parts it
// got relax to their equilibrium (the collision); a cell that is not open sends them back instead. The
// lattice has no border: cells are numbered row by row and plane by plane, the last one is followed by the
// first.
#pragma once

#include "../common/cuda_shim.h"

constexpr int DIRECTIONS = 19;

// `Layout::at(cell, direction, cells)` is the index of a value.
template <class Layout>
static __device__ inline void lbm_step(const float *before, float *after,
                                       const unsigned char *open, float omega, int nx, int ny,
                                       int nz) {
    // Each direction but the first is followed or preceded by its opposite.
    constexpr int CX[DIRECTIONS] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
    constexpr int CY[DIRECTIONS] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
    constexpr int CZ[DIRECTIONS] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
    int cells = nx * ny * nz;
    int cell = threadIdx.x + nx * (blockIdx.x + ny * blockIdx.y);
    float part[DIRECTIONS];
    float density = 0.0f;
    float x = 0.0f;
    float y = 0.0f;
    float z = 0.0f;
#pragma unroll
    for (int d = 0; d < DIRECTIONS; d++) {
        int from = cell - (CX[d] + nx * (CY[d] + ny * CZ[d]));
        from += from < 0 ? cells : 0;
        from -= from >= cells ? cells : 0;
        part[d] = before[Layout::at(from, d, cells)];
        density += part[d];
        x += CX[d] * part[d];
        y += CY[d] * part[d];
        z += CZ[d] * part[d];
    }
    if (!open[cell]) {
#pragma unroll
        for (int d = 0; d < DIRECTIONS; d++) {
            int opposite = d == 0 ? 0 : d % 2 == 1 ? d + 1 : d - 1;
            after[Layout::at(cell, d, cells)] = part[opposite];
        }
    } else {
        x /= density;
        y /= density;
        z /= density;
        float rest = 1.0f - 1.5f * (x * x + y * y + z * z);
#pragma unroll
        for (int d = 0; d < DIRECTIONS; d++) {
            int axes = (CX[d] != 0) + (CY[d] != 0) + (CZ[d] != 0);
            float share = axes == 0 ? 1.0f / 3.0f : axes == 1 ? 1.0f / 18.0f : 1.0f / 36.0f;
            float along = CX[d] * x + CY[d] * y + CZ[d] * z;
            float aim = share * density * (rest + along * (3.0f + 4.5f * along));
            after[Layout::at(cell, d, cells)] = part[d] + omega * (aim - part[d]);
        }
    }
}
