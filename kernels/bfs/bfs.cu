// Breadth-first search, one level of the graph per iteration of the last two kernels, a thread
// per node. Masks are a byte per node: `frontier` (nodes of this level), `next` (found in this
// level), `visited`. The host clears `changed`, launches bfs_expand and bfs_advance, and goes on
// while `changed` comes back set.
//
// No atomics: several frontier nodes may write one neighbour's `level` and `next` in the same
// launch, and all of them write the same value. `visited` is written by the other kernel only,
// so a neighbour is never found twice at different levels.
//
// Node v has `degree[v]` edges, which lead to `edges[first[v]]` and the nodes after it.
#include "../common/cuda_shim.h"

constexpr int UNREACHED = -1;

extern "C" __global__ void bfs_start(unsigned char *frontier, unsigned char *visited, int *level,
                                     int source, int nodes) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes) {
        bool is_source = node == source;
        frontier[node] = is_source;
        visited[node] = is_source;
        level[node] = is_source ? 0 : UNREACHED;
    }
}

extern "C" __global__ void bfs_expand(const int *first, const int *degree, const int *edges,
                                      unsigned char *frontier, unsigned char *next,
                                      const unsigned char *visited, int *level, int nodes) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes && frontier[node]) {
        frontier[node] = 0;
        int end = first[node] + degree[node];
        for (int edge = first[node]; edge < end; edge++) {
            int neighbour = edges[edge];
            if (!visited[neighbour]) {
                level[neighbour] = level[node] + 1;
                next[neighbour] = 1;
            }
        }
    }
}

extern "C" __global__ void bfs_advance(unsigned char *frontier, unsigned char *next,
                                       unsigned char *visited, int *changed, int nodes) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes && next[node]) {
        frontier[node] = 1;
        visited[node] = 1;
        next[node] = 0;
        *changed = 1;
    }
}
