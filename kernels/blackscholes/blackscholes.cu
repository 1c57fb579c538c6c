// Prices of European call and put options by the formula of Black and Scholes, two options a thread.
//
// Three input and two output streams of float2, unit stride, two lines per warp load, nothing used
// twice. The normal distribution is the five-term polynomial of Abramowitz and Stegun 26.2.17, the
// rest is the work of the special function units.
//
// blackscholes_drawn has all that makes an option from one random number, four options a thread, as
// the sample of the AMD APP SDK does: one input and two output streams of float4.
#include "../common/cuda_shim.h"

constexpr float LOG2_E = 1.44269504f;
constexpr float LN_2 = 0.693147181f;

static __device__ inline float normal_distribution(float d) {
    float t = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float density = 0.398942280f * fast_exp2(-0.5f * LOG2_E * (d * d));
    float series =
        t * (0.319381530f +
             t * (-0.356563782f + t * (1.781477937f + t * (-1.821255978f + t * 1.330274429f))));
    float tail = density * series;
    return d > 0.0f ? 1.0f - tail : tail;
}

static __device__ inline void price(float stock, float strike, float years, float rate,
                                    float volatility, float *call, float *put) {
    float deviation = volatility * sqrtf(years);
    float d1 = (LN_2 * fast_log2(stock / strike) + (rate + 0.5f * volatility * volatility) * years) /
               deviation;
    float d2 = d1 - deviation;
    float n1 = normal_distribution(d1);
    float n2 = normal_distribution(d2);
    float discounted = strike * fast_exp2(-LOG2_E * rate * years);
    *call = stock * n1 - discounted * n2;
    *put = discounted * (1.0f - n2) - stock * (1.0f - n1);
}

extern "C" __global__ void blackscholes(const float2 *stock, const float2 *strike,
                                        const float2 *years, float2 *call, float2 *put, float rate,
                                        float volatility, int pairs) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) {
        float2 s = stock[i];
        float2 k = strike[i];
        float2 t = years[i];
        float2 c, p;
        price(s.x, k.x, t.x, rate, volatility, &c.x, &p.x);
        price(s.y, k.y, t.y, rate, volatility, &c.y, &p.y);
        call[i] = c;
        put[i] = p;
    }
}

// What lies that far from the higher end of a range to the lower.
static __device__ inline float between(float low, float high, float part) {
    return low * part + high * (1.0f - part);
}

static __device__ inline void price_drawn(float drawn, float *call, float *put) {
    price(between(10.0f, 100.0f, drawn), between(10.0f, 100.0f, drawn), between(1.0f, 10.0f, drawn),
          between(0.01f, 0.05f, drawn), between(0.01f, 0.1f, drawn), call, put);
}

extern "C" __global__ void blackscholes_drawn(const float4 *drawn, float4 *call, float4 *put) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 d = drawn[i];
    float4 c, p;
    price_drawn(d.x, &c.x, &p.x);
    price_drawn(d.y, &c.y, &p.y);
    price_drawn(d.z, &c.z, &p.z);
    price_drawn(d.w, &c.w, &p.w);
    call[i] = c;
    put[i] = p;
}
