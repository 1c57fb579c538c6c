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
        Node *node = new Node;
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
        delete node;
        node = next;
    }
    sums[thread] = total;
}

struct Block {
    int owner;
    Block *next;
};

// Every thread takes blocks of several sizes until the heap is full, and marks them as its own. A mark that has
// changed in the end shows that two blocks overlap.
__global__ void take_all(int *blocks, int *overlaps) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    Block *taken = nullptr;
    for (size_t size = 1024; size >= sizeof(Block); size /= 2)
        while (Block *block = static_cast<Block *>(malloc(size))) {
            *block = {thread, taken};
            taken = block;
            atomicAdd(blocks, 1);
        }
    for (; taken != nullptr; taken = taken->next)
        if (taken->owner != thread)
            atomicAdd(overlaps, 1);
}

// Prints more than fits into the print buffer. The result of `printf` is negative where it did not fit.
__global__ void flood(int *lost) {
    if (printf("%d\n", threadIdx.x) < 0)
        atomicAdd(lost, 1);
}

int main() {
    const int threads = 256, count = 6;
    const size_t heap = (128 << 10) + 600;
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, heap));
    CHECK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1024));
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
    int counts[3];
    CHECK(cudaMemset(sums, 0, sizeof counts));
    take_all<<<2, 64>>>(sums, sums + 1);
    // A record of `flood` has 24 bytes.
    flood<<<2, 32>>>(sums + 2);
    CHECK(cudaMemcpy(counts, sums, sizeof counts, cudaMemcpyDeviceToHost));
    std::printf("%d blocks, %d overlaps, %d lost records\n", counts[0], counts[1], counts[2]);
    passed = passed && counts[0] > threads * count && counts[1] == 0 && counts[2] == 64 - 1024 / 24;
    // The size of memory that a loaded module uses is fixed.
    passed = passed && cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2048) == cudaErrorInvalidValue;
    CHECK(cudaFree(title_device));
    CHECK(cudaFree(lists));
    CHECK(cudaFree(sums));
    return verdict(passed);
}
