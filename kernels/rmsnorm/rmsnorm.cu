// Target: sm_70
// Adds the output of a layer to the residual stream, and normalizes the sum by its root mean square: a CTA per
// token.
//
// Streams of float4 at unit stride. Each token reads its residual twice, and all tokens read the same weights.
#include "../common/lanes.h"

// `quads` is the number of float4 per token.
extern "C" __global__ void rmsnorm(float4 *residual, const float4 *x, const float4 *weight, float4 *y, int quads,
                                   float epsilon) {
    __shared__ float parts[LANES];
    int first = blockIdx.x * quads;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < quads; i += blockDim.x) {
        float4 sum = residual[first + i], add = x[first + i];
        sum.x += add.x;
        sum.y += add.y;
        sum.z += add.z;
        sum.w += add.w;
        residual[first + i] = sum;
        squares += sum.x * sum.x + sum.y * sum.y + sum.z * sum.z + sum.w * sum.w;
    }
    float scale = rsqrtf(cta_sum(squares, parts) / static_cast<float>(4 * quads) + epsilon);
    for (int i = threadIdx.x; i < quads; i += blockDim.x) {
        float4 sum = residual[first + i], w = weight[i];
        sum.x = sum.x * scale * w.x;
        sum.y = sum.y * scale * w.y;
        sum.z = sum.z * scale * w.z;
        sum.w = sum.w * scale * w.w;
        y[first + i] = sum;
    }
}
