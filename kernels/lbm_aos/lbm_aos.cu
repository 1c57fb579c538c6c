// Lattice Boltzmann step with the 19 values of a cell side by side, 20 floats from cell to cell:
// neighbouring lanes are 80 bytes apart, so that a warp load touches 20 lines or 21, and each of
// them again for other directions.
#include "../common/lbm.h"

struct CellByCell {
    static __device__ inline int at(int cell, int direction, int) { return cell * 20 + direction; }
};

extern "C" __global__ void lbm_aos(const float *before, float *after, const unsigned char *open,
                                   float omega, int nx, int ny, int nz) {
    lbm_step<CellByCell>(before, after, open, omega, nx, ny, nz);
}
