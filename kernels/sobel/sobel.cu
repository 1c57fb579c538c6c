// Sobel edge filter on an image of four bytes a pixel, a thread per pixel: half the length of the
// gradient of each channel, rounded down, at most 255. Pixels on the border are left alone.
//
// Eight loads of neighbours, a word per lane: up to two lines for a warp, three rows that the warps
// next to it read again.
#include "../common/cuda_shim.h"

// The four channels of a pixel are the bytes of a word, lowest first.
static __device__ inline int channel_of(unsigned pixel, int channel) {
    return pixel >> (8 * channel) & 255;
}

static __device__ inline unsigned edge(int nw, int n, int ne, int w, int e, int sw, int s, int se) {
    int across = (ne + 2 * e + se) - (nw + 2 * w + sw);
    int down = (sw + 2 * s + se) - (nw + 2 * n + ne);
    // The sum of squares is below 2^24, so exact; its root is too far from the next even number to
    // be rounded up to it.
    return min(255, (int)(0.5f * sqrtf(across * across + down * down)));
}

extern "C" __global__ void sobel(const unsigned *in, unsigned *out, int width, int height, int ld) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
        const unsigned *above = &in[(y - 1) * ld + x];
        const unsigned *here = above + ld;
        const unsigned *below = here + ld;
        unsigned nw = above[-1], n = above[0], ne = above[1];
        unsigned w = here[-1], e = here[1];
        unsigned sw = below[-1], s = below[0], se = below[1];
        unsigned filtered = 0;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            filtered |= edge(channel_of(nw, i), channel_of(n, i), channel_of(ne, i), channel_of(w, i),
                             channel_of(e, i), channel_of(sw, i), channel_of(s, i), channel_of(se, i))
                        << (8 * i);
        }
        out[y * ld + x] = filtered;
    }
}
