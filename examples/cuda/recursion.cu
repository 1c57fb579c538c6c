// Functions that call themselves: each thread to its own depth, with variables in local memory, results that
// are structs, and two functions that call each other.

#include "check.h"

static const int THREADS = 96;
static const int LENGTH = 24;

struct Sum {
    long long value;
    int leaves;
    float product;
};

__host__ __device__ int hash(int number) {
    return (number * 1103515245 + 12345) >> 8 & 0xffff;
}

// Sorts a part of an array that lies in the local memory of the caller.
__host__ __device__ __noinline__ void sort(int *first, int *last) {
    if (last - first < 2) return;
    int pivot = *(last - 1), *middle = first;
    for (int *other = first; other < last - 1; other++) {
        if (*other < pivot) {
            int held = *middle;
            *middle++ = *other;
            *other = held;
        }
    }
    *(last - 1) = *middle;
    *middle = pivot;
    sort(first, middle);
    sort(middle + 1, last);
}

// Sums the leaves of a tree whose shape follows from the number of the node.
__host__ __device__ __noinline__ Sum add_tree(int node, int depth) {
    if (depth == 0 || hash(node) % 5 == 0) return {hash(node), 1, 1.0f + (hash(node) % 3)};
    Sum left = add_tree(2 * node, depth - 1);
    Sum right = add_tree(2 * node + 1, depth - 1);
    return {left.value - right.value, left.leaves + right.leaves, left.product * 0.5f + right.product};
}

__host__ __device__ __noinline__ int count_odd(int number, int *calls);

__host__ __device__ __noinline__ int count_even(int number, int *calls) {
    ++*calls;
    return number == 0 ? 0 : count_odd(number - 1, calls) + (number & 3);
}

__host__ __device__ __noinline__ int count_odd(int number, int *calls) {
    *calls += 2;
    return number == 0 ? 1 : 3 * count_even(number - 1, calls) % 1009;
}

__host__ __device__ void run(int thread, int *sorted, Sum *sum, int *counted) {
    int numbers[LENGTH];
    for (int i = 0; i < LENGTH; i++) numbers[i] = hash(thread * LENGTH + i);
    sort(numbers, numbers + LENGTH - thread % 7);
    for (int i = 0; i < LENGTH; i++) sorted[i] = numbers[i];
    *sum = add_tree(thread + 1, thread % 6);
    int calls = 0;
    counted[0] = count_even(thread % 13, &calls);
    counted[1] = calls;
}

__global__ void run_threads(int *sorted, Sum *sums, int *counted) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    run(thread, sorted + thread * LENGTH, sums + thread, counted + 2 * thread);
}

int main() {
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
    int *sorted, *counted;
    Sum *sums;
    CHECK(cudaMallocManaged(&sorted, THREADS * LENGTH * sizeof(int)));
    CHECK(cudaMallocManaged(&sums, THREADS * sizeof(Sum)));
    CHECK(cudaMallocManaged(&counted, 2 * THREADS * sizeof(int)));
    run_threads<<<THREADS / 32, 32>>>(sorted, sums, counted);
    CHECK(cudaDeviceSynchronize());
    if (cudaDeviceSetLimit(cudaLimitStackSize, 1024) != cudaErrorInvalidValue) {
        std::printf("the stack of a kernel in use was changed\n");
        return verdict(false);
    }
    for (int thread = 0; thread < THREADS; thread++) {
        int expected_sorted[LENGTH], expected_counted[2];
        Sum expected;
        run(thread, expected_sorted, &expected, expected_counted);
        bool is_same = counted[2 * thread] == expected_counted[0] && counted[2 * thread + 1] == expected_counted[1];
        is_same &= sums[thread].value == expected.value && sums[thread].leaves == expected.leaves;
        is_same &= sums[thread].product == expected.product;
        for (int i = 0; i < LENGTH; i++) is_same &= sorted[thread * LENGTH + i] == expected_sorted[i];
        if (!is_same) {
            std::printf("thread %d differs from the processor\n", thread);
            return verdict(false);
        }
    }
    return verdict(true);
}
