// Needleman-Wunsch: the score of the best alignment of every prefix of one sequence with every prefix
// of another, by 16 x 16 tiles. Tiles of one anti-diagonal are independent: a launch each, the
// first of one CTA with 16 threads. n is a multiple of 16.
//
// Rows are n + 1 apart. A CTA reads a row above its tile, a column left of it (16 rows, so 16
// lines for 16 lanes), and 16 rows of the similarities, and uses nothing twice: all reuse is between
// launches, in L2.
#include "../common/cuda_shim.h"

constexpr int TILE = 16;

// Row 0 and column 0: an alignment with nothing is all gaps.
extern "C" __global__ void nw_border(int *score, int n, int gap) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) {
        score[i] = -gap * i;
        score[i * (n + 1)] = -gap * i;
    }
}

extern "C" __global__ void nw_tiles(const int *similarity, int *score, int n, int gap,
                                    int diagonal) {
    __shared__ int cell[TILE + 1][TILE + 1];
    __shared__ int alike[TILE][TILE];
    int t = threadIdx.x;
    int last = n / TILE - 1;
    int column = max(0, diagonal - last) + blockIdx.x;
    // The cell before the first of the tile, in both directions.
    int corner = TILE * (diagonal - column) * (n + 1) + TILE * column;
    if (t == 0) {
        cell[0][0] = score[corner];
    }
    for (int y = 0; y < TILE; y++) {
        alike[y][t] = similarity[corner + (y + 1) * (n + 1) + t + 1];
    }
    cell[t + 1][0] = score[corner + (t + 1) * (n + 1)];
    cell[0][t + 1] = score[corner + t + 1];
    __syncthreads();

    // Step s fills the cells (y, x) with x + y = s.
    for (int step = 0; step < 2 * TILE - 1; step++) {
        int y = step - t;
        if (y >= 0 && y < TILE) {
            int aligned = cell[y][t] + alike[y][t];
            int with_gap = max(cell[y][t + 1], cell[y + 1][t]) - gap;
            cell[y + 1][t + 1] = max(aligned, with_gap);
        }
        __syncthreads();
    }
    for (int y = 0; y < TILE; y++) {
        score[corner + (y + 1) * (n + 1) + t + 1] = cell[y + 1][t + 1];
    }
}
