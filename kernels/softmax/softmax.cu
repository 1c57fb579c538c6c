// Target: sm_70
// Probabilities of the tokens of a vocabulary from their logits, at a temperature: a CTA per sequence.
//
// Three passes over a row: its maximum, the sum of the powers, the quotients. A row that the L1 retains is read
// once.
#include "../common/lanes.h"

constexpr float LOG2_E = 1.44269504f;

extern "C" __global__ void softmax(const float *logits, float *probability, int vocabulary, int pitch,
                                   float temperature) {
    __shared__ float parts[LANES];
    const float *row = logits + blockIdx.x * pitch;
    // Powers of two instead of e.
    float scale = LOG2_E / temperature;
    float most = -3.402823466e38f;
    for (int i = threadIdx.x; i < vocabulary; i += blockDim.x) {
        most = fmaxf(most, row[i]);
    }
    most = cta_max(most, parts);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < vocabulary; i += blockDim.x) {
        sum += fast_exp2((row[i] - most) * scale);
    }
    float share = 1.0f / cta_sum(sum, parts);
    for (int i = threadIdx.x; i < vocabulary; i += blockDim.x) {
        probability[blockIdx.x * pitch + i] = fast_exp2((row[i] - most) * scale) * share;
    }
}
