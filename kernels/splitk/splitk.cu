// Target: sm_70
// Y = X W for the few tokens of a decoding batch, with a matrix of half precision. A product of so few rows fills too
// few CTAs, so that each CTA adds up only a part of the products, and a second kernel adds up the parts.
//
// The matrix is a stream, two columns per thread, used for all tokens of the batch at once. The parts are written and
// read once.
#include "../common/lanes.h"

constexpr int TOKENS = 8;
constexpr int DEPTH = 64; // rows of the matrix whose factors lie in shared memory at a time

// Grid: pairs of columns, splits of the rows. x has a row per token. `pairs` is the number of pairs of columns.
extern "C" __global__ void splitk(const float *x, const unsigned *matrix, float2 *parts, int rows, int pairs,
                                  int rows_per_split) {
    __shared__ float factor[DEPTH][TOKENS];
    int pair = blockIdx.x * blockDim.x + threadIdx.x;
    int first = blockIdx.y * rows_per_split, end = min(first + rows_per_split, rows);
    float2 sum[TOKENS];
    for (int token = 0; token < TOKENS; token++) {
        sum[token] = {0.0f, 0.0f};
    }
    for (int from = first; from < end; from += DEPTH) {
        int depth = min(DEPTH, end - from);
        __syncthreads();
        for (int i = threadIdx.x; i < depth * TOKENS; i += blockDim.x) {
            factor[i % depth][i / depth] = x[i / depth * rows + from + i % depth];
        }
        __syncthreads();
        if (pair < pairs) {
            for (int row = 0; row < depth; row++) {
                float2 weight = from_halves(matrix[(from + row) * pairs + pair]);
                for (int token = 0; token < TOKENS; token++) {
                    sum[token].x += factor[row][token] * weight.x;
                    sum[token].y += factor[row][token] * weight.y;
                }
            }
        }
    }
    if (pair < pairs) {
        for (int token = 0; token < TOKENS; token++) {
            parts[(blockIdx.y * TOKENS + token) * pairs + pair] = sum[token];
        }
    }
}

extern "C" __global__ void splitk_sum(const float *parts, float *y, int elements, int splits) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < elements) {
        float sum = 0.0f;
        for (int split = 0; split < splits; split++) {
            sum += parts[split * elements + i];
        }
        y[i] = sum;
    }
}
