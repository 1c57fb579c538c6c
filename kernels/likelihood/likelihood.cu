// How well the pixels around each particle of a filter fit the object that it follows, frame by
// frame of a film: the likelihood step of a particle filter, which li2015 runs from Rodinia.
//
// Every thread first writes down which pixels are its own, a row of indices a particle, then goes
// through its row again and looks at them. A row is longer than a line, so that a warp touches 32
// lines a step, and comes back to each of them 32 times, but not before all other warps have
// touched theirs: bursts of 32 requests, and a reuse distance of 32 lines times the warps of the
// SM. The pixels are few and near one another: the film lies with the frames of a pixel together.
//
// Pixels are compared with the brightness of the background and that of the object. All values are
// integers, so that the sums are exact.
#include "../common/cuda_shim.h"

constexpr int BACKGROUND = 100;
constexpr int OBJECT = 228;

extern "C" __global__ void likelihood(const unsigned char *film, const float *x, const float *y,
                                      const int *dx, const int *dy, int *pixel, int *fit,
                                      int offsets, int width, int frames, int frame, int particles) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < particles) {
        int *mine = pixel + p * offsets;
        for (int k = 0; k < offsets; k++) {
            int column = (int)rintf(x[p]) + dx[k];
            int row = (int)rintf(y[p]) + dy[k];
            mine[k] = (row * width + column) * frames + frame;
        }
        int sum = 0;
        for (int k = 0; k < offsets; k++) {
            int value = film[mine[k]];
            int from_background = value - BACKGROUND;
            int from_object = value - OBJECT;
            sum += from_background * from_background - from_object * from_object;
        }
        fit[p] = sum;
    }
}
