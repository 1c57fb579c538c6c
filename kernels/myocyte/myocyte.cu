// A heart muscle cell, in steps of Runge and Kutta's method of order 4: a launch finds how fast
// everything in the cell changes, four of them are a step.
//
// As little of the machine works as in the original: one lane of one CTA computes the cell's
// electricity, one lane of another what calmodulin binds in its three compartments. Lanes of their
// warps wait, loads are few, and most time goes into long formulas. What the original's host adds up
// from set to set of rates, two small kernels do.
//
// Electricity: G. W. Beeler and H. Reuter, Reconstruction of the action potential of ventricular
// myocardial fibres, J. Physiol. 268, 1977. Calmodulin: the binding of two ions of calcium, of two
// more, and of a buffer, by J. J. Saucerman and D. M. Bers, Biophys. J. 95, 2008, with 135 mM of
// potassium and 1 mM of magnesium.
#include "../common/cuda_shim.h"

// What the state begins with: potential in mV, six gates, calcium in mol/l.
enum { POTENTIAL, GATE_X1, GATE_M, GATE_H, GATE_J, GATE_D, GATE_F, CALCIUM, ELECTRICAL };
// Then of each compartment in uM: calmodulin with 0, 2 and 4 ions of calcium, the same on a buffer.
constexpr int BOUND = 6;
constexpr int COMPARTMENTS = 3;
constexpr int STATE = ELECTRICAL + COMPARTMENTS * BOUND;
// Exponentials, logarithms and powers are made of adds and multiplies, to full precision, as those
// of CUDA are.
constexpr float LOG2_E = 1.44269504f;
constexpr float LN_2_HIGH = 0.693359375f;
constexpr float LN_2_LOW = -2.12194440e-4f;

static __device__ inline float exponential(float x) {
    float whole = rintf(x * LOG2_E);
    float r = x - whole * LN_2_HIGH - whole * LN_2_LOW;
    float p = 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    if (whole > 127.0f) {
        return __int_as_float(0x7f800000);
    }
    return whole < -126.0f ? 0.0f : p * __int_as_float(((int)whole + 127) << 23);
}

// Of a normal number above 0.
static __device__ inline float logarithm(float x) {
    int bits = __float_as_int(x);
    int whole = (bits >> 23) - 127;
    float m = __int_as_float((bits & 0x7fffff) | 0x3f800000);
    if (m > 1.41421356f) {
        m *= 0.5f;
        whole++;
    }
    float s = (m - 1.0f) / (m + 1.0f);
    float z = s * s;
    float p = 2.0f / 9.0f;
    p = p * z + 2.0f / 7.0f;
    p = p * z + 2.0f / 5.0f;
    p = p * z + 2.0f / 3.0f;
    p = p * z + 2.0f;
    return (float)whole * LN_2_HIGH + ((float)whole * LN_2_LOW + p * s);
}

// Of a number that is not below 0.
static __device__ inline float power(float x, float y) {
    return x < 1.17549435e-38f ? 0.0f : exponential(y * logarithm(x));
}

// How fast a gate opens that is open to `open`, at rates that depend on the potential.
static __device__ inline float gate(float open, float opens, float closes) {
    return opens * (1.0f - open) - closes * open;
}

// How fast a state changes, per ms, under a current of `stimulus` uA/cm^2. `buffers` has how much of
// calmodulin's buffer there is in each compartment, and its calcium in parts of the cell's.
extern "C" __global__ void myocyte_rates(const float *state, const float *buffers, float stimulus,
                                         float *rates) {
    if (threadIdx.x != 0) {
        return;
    }
    float calcium = state[CALCIUM];
    if (blockIdx.x == 0) {
        float v = state[POTENTIAL];
        float x1 = state[GATE_X1];
        float m = state[GATE_M];
        float h = state[GATE_H];
        float j = state[GATE_J];
        float d = state[GATE_D];
        float f = state[GATE_F];

        // Outward currents of potassium, where 0 / 0 has a limit of its own.
        float above = v + 23.0f;
        float leak = fabsf(above) < 0.001f ? 5.0f : 0.2f * above / (1.0f - exponential(-0.04f * above));
        float steady = 4.0f * (exponential(0.04f * (v + 85.0f)) - 1.0f) /
                       (exponential(0.08f * (v + 53.0f)) + exponential(0.04f * (v + 53.0f)));
        float potassium = 0.35f * (steady + leak);
        float slow = x1 * 0.8f * (exponential(0.04f * (v + 77.0f)) - 1.0f) /
                     exponential(0.04f * (v + 35.0f));
        float sodium = (4.0f * power(m, 3.0f) * h * j + 0.003f) * (v - 50.0f);
        float inward = 0.09f * d * f * (v + 82.3f + 13.0287f * logarithm(calcium));
        rates[POTENTIAL] = stimulus - potassium - slow - sodium - inward;
        rates[CALCIUM] = 0.07f * (1e-7f - calcium) - 1e-7f * inward;

        float e50 = v + 50.0f;
        rates[GATE_X1] = gate(x1, 0.0005f * exponential(0.083f * e50) / (exponential(0.057f * e50) + 1.0f),
                              0.0013f * exponential(-0.06f * (v + 20.0f)) /
                                  (exponential(-0.04f * (v + 20.0f)) + 1.0f));
        float e47 = v + 47.0f;
        float opens = fabsf(e47) < 0.001f ? 10.0f : e47 / (1.0f - exponential(-0.1f * e47));
        rates[GATE_M] = gate(m, opens, 40.0f * exponential(-0.056f * (v + 72.0f)));
        rates[GATE_H] = gate(h, 0.126f * exponential(-0.25f * (v + 77.0f)),
                             1.7f / (exponential(-0.082f * (v + 22.5f)) + 1.0f));
        rates[GATE_J] = gate(j, 0.055f * exponential(-0.25f * (v + 78.0f)) /
                                    (exponential(-0.2f * (v + 78.0f)) + 1.0f),
                             0.3f / (exponential(-0.1f * (v + 32.0f)) + 1.0f));
        rates[GATE_D] = gate(d, 0.095f * exponential(-0.01f * (v - 5.0f)) /
                                    (exponential(-0.072f * (v - 5.0f)) + 1.0f),
                             0.07f * exponential(-0.017f * (v + 44.0f)) /
                                 (exponential(0.05f * (v + 44.0f)) + 1.0f));
        rates[GATE_F] = gate(f, 0.012f * exponential(-0.008f * (v + 28.0f)) /
                                    (exponential(0.15f * (v + 28.0f)) + 1.0f),
                             0.0065f * exponential(-0.02f * (v + 30.0f)) /
                                 (exponential(-0.2f * (v + 30.0f)) + 1.0f));
        return;
    }
    for (int compartment = 0; compartment < COMPARTMENTS; compartment++) {
        int at = ELECTRICAL + compartment * BOUND;
        float all = buffers[2 * compartment];
        float share = buffers[2 * compartment + 1];
        float has[BOUND];
        for (int i = 0; i < BOUND; i++) {
            has[i] = state[at + i];
        }
        float buffer = all - has[3] - has[4] - has[5];
        float ions = calcium * share * 1e6f;
        float two = power(ions, 2.0f);
        // Ions join and leave in twos, per s: off the buffer, and a hundred times slower on it.
        float first = 1.034f * two * has[0] - 10.0f * has[1];
        float second = 0.8698f * two * has[1] - 500.0f * has[2];
        float first_bound = 1.034f * two * has[3] - 0.1f * has[4];
        float second_bound = 0.8698f * two * has[4] - 500.0f * has[5];
        float join0 = 0.007f * has[0] * buffer - 0.0014f * has[3];
        float join2 = 0.007f * has[1] * buffer - 0.000014f * has[4];
        float join4 = 0.007f * has[2] * buffer - 0.000014f * has[5];
        rates[at] = -0.001f * (first + join0);
        rates[at + 1] = 0.001f * (first - second - join2);
        rates[at + 2] = 0.001f * (second - join4);
        rates[at + 3] = 0.001f * (join0 - first_bound);
        rates[at + 4] = 0.001f * (join2 + first_bound - second_bound);
        rates[at + 5] = 0.001f * (join4 + second_bound);
    }
}

// Where a state comes to in `ms` at these rates: a lane an element.
extern "C" __global__ void myocyte_ahead(const float *state, const float *rates, float ms, float *there) {
    int i = threadIdx.x;
    if (i < STATE) {
        there[i] = state[i] + ms * rates[i];
    }
}

// The same by the rates at the beginning of a step, twice in its middle, and at its end. `sixth` is a
// sixth of the step in ms.
extern "C" __global__ void myocyte_step(float *state, const float *begin, const float *middle,
                                        const float *again, const float *end, float sixth) {
    int i = threadIdx.x;
    if (i < STATE) {
        state[i] += sixth * (begin[i] + 2.0f * (middle[i] + again[i]) + end[i]);
    }
}
