// Breadth-first search, one launch per level, until a launch leaves a flag clear, which the host reads.
#include <vector>

#include "check.h"

__global__ void visit(const int *first, const int *edges, int *level, int depth, int nodes, int *more) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || level[node] != depth)
        return;
    for (int edge = first[node]; edge < first[node + 1]; ++edge) {
        int neighbor = edges[edge];
        if (level[neighbor] < 0) {
            level[neighbor] = depth + 1;
            *more = 1;
        }
    }
}

int main() {
    const int nodes = 2000, degree = 4;
    std::vector<int> first(nodes + 1), edges, expected(nodes, -1), level(nodes, -1);
    unsigned random = 1;
    for (int node = 0; node < nodes; ++node) {
        for (int edge = 0; edge < degree; ++edge) {
            random = random * 1664525u + 1013904223u;
            edges.push_back(random >> 8 & 1 ? (node + edge + 1) % nodes : random % nodes);
        }
        first[node + 1] = edges.size();
    }
    std::vector<int> queue = {0};
    expected[0] = level[0] = 0;
    for (size_t head = 0; head < queue.size(); ++head)
        for (int edge = first[queue[head]]; edge < first[queue[head] + 1]; ++edge)
            if (expected[edges[edge]] < 0) {
                expected[edges[edge]] = expected[queue[head]] + 1;
                queue.push_back(edges[edge]);
            }

    int *first_device, *edges_device, *level_device, *more_device;
    CHECK(cudaMalloc(&first_device, first.size() * sizeof(int)));
    CHECK(cudaMalloc(&edges_device, edges.size() * sizeof(int)));
    CHECK(cudaMalloc(&level_device, nodes * sizeof(int)));
    CHECK(cudaMalloc(&more_device, sizeof(int)));
    CHECK(cudaMemcpy(first_device, first.data(), first.size() * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(edges_device, edges.data(), edges.size() * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(level_device, level.data(), nodes * sizeof(int), cudaMemcpyHostToDevice));
    int more = 1, depth = 0;
    while (more) {
        CHECK(cudaMemset(more_device, 0, sizeof(int)));
        visit<<<(nodes + 127) / 128, 128>>>(first_device, edges_device, level_device, depth++, nodes, more_device);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(&more, more_device, sizeof(int), cudaMemcpyDeviceToHost));
    }
    CHECK(cudaMemcpy(level.data(), level_device, nodes * sizeof(int), cudaMemcpyDeviceToHost));
    std::printf("%d levels\n", depth);
    CHECK(cudaDeviceReset());
    return verdict(level == expected);
}
