// What would a new centre gain? The inner step of streaming k-median clustering: for each point,
// whether it would move to the candidate, and what that or staying means for its present centre.
//
// Coordinates lie dimension by dimension, `ld` apart: those of the points are one line a warp, and
// used once; that of the candidate is the same line for every warp of the grid. Where `ld` is a
// power of two, all dimensions meet in few sets. Points are structures of 32 bytes, so that a warp
// reads 8 lines for one field, and each thread has its own row of `gain`, `centres + 1` floats
// long: what closing each centre would cost, and in the last column what opening the candidate
// would.
#include "../common/cuda_shim.h"

struct Point {
    float weight;
    long long name;
    long long centre;
    float cost;
};

// A launch file's buffers have elements of one type: this fills the structures from three.
extern "C" __global__ void streamcluster_pack(const float *weight, const float *cost,
                                              const int *centre, Point *points, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        points[i].weight = weight[i];
        points[i].name = i;
        points[i].centre = centre[i];
        points[i].cost = cost[i];
    }
}

extern "C" __global__ void streamcluster_gain(const Point *points, const float *coordinates,
                                              float *gain, int *moves, int candidate, int count,
                                              int dimensions, int ld, int centres) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        float distance = 0.0f;
        for (int d = 0; d < dimensions; d++) {
            float apart = coordinates[d * ld + i] - coordinates[d * ld + candidate];
            distance += apart * apart;
        }
        float offer = distance * points[i].weight;
        float *row = &gain[i * (centres + 1)];
        if (offer < points[i].cost) {
            moves[i] = 1;
            row[centres] += offer - points[i].cost;
        } else {
            row[points[i].centre] += points[i].cost - offer;
        }
    }
}
