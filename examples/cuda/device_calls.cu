// Kernels that print, and that allocate and free memory.
#include <vector>

#include "check.h"

__global__ void report(const char *title) {
    if (threadIdx.x % 16 == 0)
        printf("%s %2d of %-4u|%6.2f|%c|%#llx|%*d|100%%\n", title, threadIdx.x, blockDim.x, 0.25 * threadIdx.x,
               'a' + threadIdx.x / 16, 1ull << (threadIdx.x + 20), 4, -1);
}

struct Node {
    int value;
    Node *next;
};

// Each thread builds a list of its own.
__global__ void build(Node **lists, int count) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    Node *list = nullptr;
    for (int i = 0; i < count; ++i) {
        Node *node = static_cast<Node *>(malloc(sizeof(Node)));
        if (node == nullptr)
            break;
        node->value = thread + i;
        node->next = list;
        list = node;
    }
    lists[thread] = list;
}

__global__ void sum(Node **lists, int *sums) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int total = 0;
    for (Node *node = lists[thread]; node != nullptr;) {
        Node *next = node->next;
        total += node->value;
        free(node);
        node = next;
    }
    sums[thread] = total;
}

__global__ void take_all(int *blocks) {
    while (malloc(1000) != nullptr)
        atomicAdd(blocks, 1);
}

int main() {
    const int threads = 256, count = 6;
    const size_t heap = 128 << 10;
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, heap));
    const char title[] = "thread";
    char *title_device;
    CHECK(cudaMalloc(&title_device, sizeof title));
    CHECK(cudaMemcpy(title_device, title, sizeof title, cudaMemcpyHostToDevice));
    std::printf("before\n");
    report<<<1, 33>>>(title_device);
    CHECK(cudaDeviceSynchronize());
    std::printf("after\n");

    Node **lists;
    int *sums;
    CHECK(cudaMalloc(&lists, threads * sizeof(Node *)));
    CHECK(cudaMalloc(&sums, threads * sizeof(int)));
    bool passed = true;
    // All rounds together need more than the heap, so later rounds need what earlier ones have freed.
    for (int round = 0; round < 4; ++round) {
        build<<<threads / 64, 64>>>(lists, count);
        sum<<<threads / 64, 64>>>(lists, sums);
        std::vector<int> result(threads);
        CHECK(cudaMemcpy(result.data(), sums, threads * sizeof(int), cudaMemcpyDeviceToHost));
        for (int thread = 0; thread < threads; ++thread)
            passed = passed && result[thread] == count * thread + count * (count - 1) / 2;
    }
    int blocks = 0;
    CHECK(cudaMemset(sums, 0, sizeof(int)));
    take_all<<<1, 32>>>(sums);
    CHECK(cudaMemcpy(&blocks, sums, sizeof(int), cudaMemcpyDeviceToHost));
    passed = passed && blocks > 0 && blocks < int(heap / 1000);
    CHECK(cudaFree(title_device));
    CHECK(cudaFree(lists));
    CHECK(cudaFree(sums));
    return verdict(passed);
}
