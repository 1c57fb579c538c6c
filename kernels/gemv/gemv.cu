// Target: sm_70
// y = W x with a matrix of half precision, as each layer multiplies it when one sequence is decoded: a warp per row.
//
// The matrix is a stream that nothing reads again, 16 bytes per lane and load. The vector is read by every warp. The
// sums are single precision.
#include "../common/lanes.h"

static __device__ inline float product(unsigned word, float x, float y) {
    float2 pair = from_halves(word);
    return pair.x * x + pair.y * y;
}

// `words` is the number of 16-byte words per row of the matrix, eight columns each.
extern "C" __global__ void gemv(const uint4 *matrix, const float4 *x, float *y, int rows, int words) {
    int row = blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES, lane = threadIdx.x % LANES;
    if (row >= rows) {
        return;
    }
    const uint4 *line = matrix + static_cast<long long>(row) * words;
    float sum = 0.0f;
    for (int i = lane; i < words; i += LANES) {
        uint4 weight = line[i];
        float4 low = x[2 * i], high = x[2 * i + 1];
        sum += product(weight.x, low.x, low.y) + product(weight.y, low.z, low.w);
        sum += product(weight.z, high.x, high.y) + product(weight.w, high.z, high.w);
    }
    sum = warp_sum(sum);
    if (lane == 0) {
        y[row] = sum;
    }
}
