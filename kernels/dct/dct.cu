// Discrete cosine transform (orthonormal DCT-II) of every 8 x 8 tile of an image, in place. Width
// and height are multiples of 8.
//
// A warp takes four tiles side by side: each lane reads a column of eight pixels, rows ld elements
// apart, a line each, transforms it, hands it over to the lanes that transform rows through shared
// memory, and writes its column back. Every line is read once and written once, in place.
//
// dct_direct has a thread a pixel and no fast transform, as the sample of the AMD APP SDK does: eight
// products of the pixel's column with a table in global memory, then eight of the row that the tile's
// threads have left in shared memory. The result is another image.
#include "../common/cuda_shim.h"

constexpr int SIDE = 8;
constexpr int COLUMNS = 32;
constexpr int WARPS = 4;

// Transforms eight values in place. Sums of opposite values give the even coefficients, their
// differences the odd ones; C<k> is cos(k pi / 16) / 2.
static __device__ inline void transform(float (&v)[SIDE]) {
    constexpr float C1 = 0.49039264020161522f, C2 = 0.46193976625564337f, C3 = 0.41573480615127262f,
                    C4 = 0.35355339059327376f, C5 = 0.27778511650980111f, C6 = 0.19134171618254489f,
                    C7 = 0.09754516100806413f;
    float s0 = v[0] + v[7], s1 = v[1] + v[6], s2 = v[2] + v[5], s3 = v[3] + v[4];
    float d0 = v[0] - v[7], d1 = v[1] - v[6], d2 = v[2] - v[5], d3 = v[3] - v[4];
    v[0] = C4 * ((s0 + s3) + (s1 + s2));
    v[4] = C4 * ((s0 + s3) - (s1 + s2));
    v[2] = C2 * (s0 - s3) + C6 * (s1 - s2);
    v[6] = C6 * (s0 - s3) - C2 * (s1 - s2);
    v[1] = C1 * d0 + C3 * d1 + C5 * d2 + C7 * d3;
    v[3] = C3 * d0 - C7 * d1 - C1 * d2 - C5 * d3;
    v[5] = C5 * d0 - C1 * d1 + C7 * d2 + C3 * d3;
    v[7] = C7 * d0 - C5 * d1 + C3 * d2 - C1 * d3;
}

extern "C" __global__ void dct(float *image, int width, int height, int ld) {
    // A column more than the tiles have, so that lanes that read rows meet in no bank.
    __shared__ float strips[WARPS][SIDE][COLUMNS + 1];
    auto &strip = strips[threadIdx.y];
    int lane = threadIdx.x;
    int column = blockIdx.x * COLUMNS + lane;
    int row = (blockIdx.y * WARPS + threadIdx.y) * SIDE;
    // Tiles are whole, so that a lane's column and the row it transforms are inside together.
    bool inside = column < width && row < height;
    float v[SIDE];

    if (inside) {
        for (int i = 0; i < SIDE; i++) {
            v[i] = image[(row + i) * ld + column];
        }
        transform(v);
        for (int i = 0; i < SIDE; i++) {
            strip[i][lane] = v[i];
        }
    }
    __syncthreads();
    if (inside) {
        float *line = &strip[lane % SIDE][lane / SIDE * SIDE];
        for (int i = 0; i < SIDE; i++) {
            v[i] = line[i];
        }
        transform(v);
        for (int i = 0; i < SIDE; i++) {
            line[i] = v[i];
        }
    }
    __syncthreads();
    if (inside) {
        for (int i = 0; i < SIDE; i++) {
            image[(row + i) * ld + column] = strip[i][lane];
        }
    }
}

// What the value in row k adds to coefficient i, at 8 k + i. Not const: it is to lie in global memory.
__device__ float BASIS[SIDE * SIDE] = {
    0.353553391f, 0.49039264f, 0.461939766f, 0.415734806f,
    0.353553391f, 0.277785117f, 0.191341716f, 0.097545161f,
    0.353553391f, 0.415734806f, 0.191341716f, -0.097545161f,
    -0.353553391f, -0.49039264f, -0.461939766f, -0.277785117f,
    0.353553391f, 0.277785117f, -0.191341716f, -0.49039264f,
    -0.353553391f, 0.097545161f, 0.461939766f, 0.415734806f,
    0.353553391f, 0.097545161f, -0.461939766f, -0.277785117f,
    0.353553391f, 0.415734806f, -0.191341716f, -0.49039264f,
    0.353553391f, -0.097545161f, -0.461939766f, 0.277785117f,
    0.353553391f, -0.415734806f, -0.191341716f, 0.49039264f,
    0.353553391f, -0.277785117f, -0.191341716f, 0.49039264f,
    -0.353553391f, -0.097545161f, 0.461939766f, -0.415734806f,
    0.353553391f, -0.415734806f, 0.191341716f, 0.097545161f,
    -0.353553391f, 0.49039264f, -0.461939766f, 0.277785117f,
    0.353553391f, -0.49039264f, 0.461939766f, -0.415734806f,
    0.353553391f, -0.277785117f, 0.191341716f, -0.097545161f,
};

extern "C" __global__ void dct_direct(const float *image, float *out, int width) {
    // Coefficients of the columns of the tile.
    __shared__ float columns[SIDE][SIDE];
    int x = threadIdx.x, y = threadIdx.y;
    int corner = (blockIdx.y * width + blockIdx.x) * SIDE;
    float sum = 0.0f;
    for (int k = 0; k < SIDE; k++) {
        sum += BASIS[k * SIDE + x] * image[corner + k * width + y];
    }
    columns[y][x] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int k = 0; k < SIDE; k++) {
        sum += columns[k][y] * BASIS[k * SIDE + x];
    }
    out[corner + y * width + x] = sum;
}
