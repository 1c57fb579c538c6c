// Single-source shortest paths: rounds in which every node asks the nodes before it, a thread per
// node, until no distance changes.
//
// Node v has `degree[v]` edges into it, from `from[first[v]]` and the nodes after it, each with a
// `weight`. A warp load of `from` and `weight` touches a few lines, for rows lie side by side; the
// gather of `distance` touches as many as it has active lanes, and lanes drop out as their rows
// end. New distances go into a second array, so that a round sees the one before it only: no
// atomics, and the same result in whatever order warps run.
#include "../common/cuda_shim.h"

// No path is so long; adding a weight to it does not overflow.
constexpr int UNREACHED = 1 << 29;

extern "C" __global__ void sssp_start(int *distance, int source, int nodes) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes) {
        distance[node] = node == source ? 0 : UNREACHED;
    }
}

extern "C" __global__ void sssp_relax(const int *first, const int *degree, const int *from,
                                      const int *weight, const int *distance, int *next,
                                      int nodes) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes) {
        int best = distance[node];
        int end = first[node] + degree[node];
        for (int edge = first[node]; edge < end; edge++) {
            best = min(best, distance[from[edge]] + weight[edge]);
        }
        next[node] = best;
    }
}

extern "C" __global__ void sssp_adopt(int *distance, const int *next, int *changed, int nodes) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes && next[node] != distance[node]) {
        distance[node] = next[node];
        *changed = 1;
    }
}
