// Breadth-first search by a queue, a thread per node of the level: how Parboil's BFS goes about it (its
// form with one queue a CTA; L. Luo, M. Wong and W. Hwu, DAC 2010).
//
// Each edge lowers the level of the node it leads to with an atomic, and whoever has lowered it
// changes its colour with another: the first to do so puts the node into the queue of its CTA, in
// shared memory. The CTA then takes a piece of the queue in global memory with one atomic and writes
// its nodes side by side, so that pieces begin anywhere in a line.
//
// Levels follow one another in the queue, where Parboil has two that change places: each node enters
// once, so that nothing is left of an earlier level. A launch has a CTA for each part of the longest
// level that there may be; the host of Parboil reads the length back and launches what it needs.
//
// Node v has `degree[v]` edges, which lead to `edges[first[v]]` and the nodes after it.
#include "../common/cuda_shim.h"

constexpr unsigned UNREACHED = 0xffffffffu;
constexpr int WHITE = 0, GREY = 1, BLACK = 2;
// Nodes that a CTA can hold; what it finds beyond goes to the queue one by one.
constexpr int CAPACITY = 2048;

// Where in the queue a level begins, where it ends, and where the next one ends so far.
struct Bounds {
    int begin, end, tail;
};

extern "C" __global__ void bfs_queue_start(unsigned *level, int *colour, int *queue, Bounds *bounds,
                                           int source, int nodes) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes) {
        bool is_source = node == source;
        level[node] = is_source ? 0u : UNREACHED;
        colour[node] = is_source ? GREY : WHITE;
        if (is_source) {
            queue[0] = node;
            *bounds = Bounds{0, 1, 1};
        }
    }
}

extern "C" __global__ void bfs_queue_expand(const int *first, const int *degree, const int *edges,
                                            unsigned *level, int *colour, int *queue,
                                            Bounds *bounds) {
    __shared__ int held[CAPACITY];
    __shared__ int holds, place;
    if (threadIdx.x == 0) {
        holds = 0;
    }
    __syncthreads();
    int at = bounds->begin + blockIdx.x * blockDim.x + threadIdx.x;
    if (at < bounds->end) {
        int node = queue[at];
        colour[node] = BLACK;
        unsigned next = level[node] + 1;
        int end = first[node] + degree[node];
        for (int edge = first[node]; edge < end; edge++) {
            int neighbour = edges[edge];
            if (atomicMin(&level[neighbour], next) > next &&
                atomicExch(&colour[neighbour], GREY) == WHITE) {
                int slot = atomicAdd(&holds, 1);
                if (slot < CAPACITY) {
                    held[slot] = neighbour;
                } else {
                    queue[atomicAdd(&bounds->tail, 1)] = neighbour;
                }
            }
        }
    }
    __syncthreads();
    int nodes = min(holds, CAPACITY);
    if (threadIdx.x == 0 && nodes > 0) {
        place = atomicAdd(&bounds->tail, nodes);
    }
    __syncthreads();
    for (int slot = threadIdx.x; slot < nodes; slot += blockDim.x) {
        queue[place + slot] = held[slot];
    }
}

// By one thread: the next level, and how many nodes it has.
extern "C" __global__ void bfs_queue_turn(Bounds *bounds, int *found) {
    Bounds old = *bounds;
    *bounds = Bounds{old.end, old.tail, old.tail};
    *found = old.tail - old.end;
}
