// Flow of a gas through an unstructured mesh: each cell exchanges mass, momentum and energy with
// its four neighbours (the Euler equations in finite volumes), then moves on by one time step.
//
// All arrays lie plane by plane, `cells` elements each: density, the momentum in x, y and z, the
// energy. A cell's own values are one line a warp; those of its neighbours are found through
// `neighbour`, and come from a few lines, since cells that lie near one another have numbers that
// do. Instead of a neighbour there may be a wall (-1), or the undisturbed flow far away (-2), whose
// state the host puts into constant memory.
#include "../common/cuda_shim.h"

constexpr int VALUES = 5;
constexpr int SIDES = 4;
constexpr int AXES = 3;
constexpr int WALL = -1;
constexpr float GAMMA = 1.4f;
constexpr float SMOOTHING = 0.2f;

__constant__ float far_state[VALUES];

struct State {
    float density;
    float momentum[AXES];
    float energy;
    float velocity[AXES];
    float pressure;
    float signal; // how fast news travel: flow and sound together
};

// The parts of a state that follow from the five stored values.
static __device__ inline State complete(State s) {
    float square = 0.0f;
#pragma unroll
    for (int axis = 0; axis < AXES; axis++) {
        s.velocity[axis] = s.momentum[axis] / s.density;
        square += s.velocity[axis] * s.velocity[axis];
    }
    s.pressure = (GAMMA - 1.0f) * (s.energy - 0.5f * s.density * square);
    s.signal = sqrtf(square) + sqrtf(GAMMA * s.pressure / s.density);
    return s;
}

static __device__ inline State load(const float *values, int cell, int cells) {
    State s;
    s.density = values[cell];
#pragma unroll
    for (int axis = 0; axis < AXES; axis++) {
        s.momentum[axis] = values[(1 + axis) * cells + cell];
    }
    s.energy = values[(1 + AXES) * cells + cell];
    return complete(s);
}

// Adds half of what the state carries through a side with that normal.
static __device__ inline void carry(float *flux, const State &s, const float *normal) {
#pragma unroll
    for (int axis = 0; axis < AXES; axis++) {
        float half = 0.5f * normal[axis];
        flux[0] += half * s.momentum[axis];
        flux[1 + AXES] += half * (s.velocity[axis] * (s.energy + s.pressure));
#pragma unroll
        for (int along = 0; along < AXES; along++) {
            flux[1 + along] += half * (s.velocity[axis] * s.momentum[along]);
        }
        flux[1 + axis] += half * s.pressure;
    }
}

// Adds the artificial viscosity between two neighbours.
static __device__ inline void smooth(float *flux, const State &s, const State &other,
                                     float length) {
    float factor = -0.5f * SMOOTHING * length * (s.signal + other.signal);
    flux[0] += factor * (s.density - other.density);
#pragma unroll
    for (int axis = 0; axis < AXES; axis++) {
        flux[1 + axis] += factor * (s.momentum[axis] - other.momentum[axis]);
    }
    flux[1 + AXES] += factor * (s.energy - other.energy);
}

// The undisturbed flow plus a disturbance.
extern "C" __global__ void cfd_start(const float *disturbance, float *values, int cells) {
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell < cells) {
#pragma unroll
        for (int v = 0; v < VALUES; v++) {
            values[v * cells + cell] = far_state[v] + disturbance[v * cells + cell];
        }
    }
}

// The undisturbed flow.
extern "C" __global__ void cfd_undisturbed(float *values, int cells) {
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell < cells) {
#pragma unroll
        for (int v = 0; v < VALUES; v++) {
            values[v * cells + cell] = far_state[v];
        }
    }
}

extern "C" __global__ void cfd_flux(const int *neighbour, const float *normals,
                                    const float *values, float *fluxes, int cells) {
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell < cells) {
        State mine = load(values, cell, cells);
        float flux[VALUES] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 1
        for (int side = 0; side < SIDES; side++) {
            int other = neighbour[side * cells + cell];
            float normal[AXES];
            float square = 0.0f;
#pragma unroll
            for (int axis = 0; axis < AXES; axis++) {
                normal[axis] = normals[(side * AXES + axis) * cells + cell];
                square += normal[axis] * normal[axis];
            }
            if (other >= 0) {
                State theirs = load(values, other, cells);
                smooth(flux, mine, theirs, sqrtf(square));
                carry(flux, theirs, normal);
                carry(flux, mine, normal);
            } else if (other == WALL) {
#pragma unroll
                for (int axis = 0; axis < AXES; axis++) {
                    flux[1 + axis] += normal[axis] * mine.pressure;
                }
            } else {
                State far;
                far.density = far_state[0];
                far.momentum[0] = far_state[1];
                far.momentum[1] = far_state[2];
                far.momentum[2] = far_state[3];
                far.energy = far_state[4];
                carry(flux, complete(far), normal);
                carry(flux, mine, normal);
            }
        }
#pragma unroll
        for (int v = 0; v < VALUES; v++) {
            fluxes[v * cells + cell] = flux[v];
        }
    }
}

extern "C" __global__ void cfd_advance(const float *fluxes, float *values, float step,
                                       int cells) {
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell < cells) {
#pragma unroll
        for (int v = 0; v < VALUES; v++) {
            values[v * cells + cell] += step * fluxes[v * cells + cell];
        }
    }
}
