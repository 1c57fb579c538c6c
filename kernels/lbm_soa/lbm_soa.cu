// Lattice Boltzmann step with a plane of memory per direction: 19 streams, each one line a warp,
// or two where the neighbour lies in x. No value is read twice.
#include "../common/lbm.h"

struct PlaneByPlane {
    static __device__ inline int at(int cell, int direction, int cells) {
        return direction * cells + cell;
    }
};

extern "C" __global__ void lbm_soa(const float *before, float *after, const unsigned char *open,
                                   float omega, int nx, int ny, int nz) {
    lbm_step<PlaneByPlane>(before, after, open, omega, nx, ny, nz);
}
