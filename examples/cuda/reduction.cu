// Computes a weighted sum. The weights are in constant memory, the partial sums in static and dynamic shared
// memory. The host reads the total and the number of CTAs from device variables by their symbols.
#include <vector>

#include "check.h"

const int THREADS = 128;

__constant__ int weights[4];
__device__ unsigned total = 100;
__device__ int ctas;

__global__ void reduce(const int *in, int n) {
    extern __shared__ int sums[];
    __shared__ int scale;
    if (threadIdx.x == 0)
        scale = 2;
    __syncthreads();
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += scale * weights[i % 4] * in[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(&total, unsigned(sums[0]));
        atomicAdd(&ctas, 1);
    }
}

int main() {
    const int n = 10000;
    const int host_weights[4] = {1, 2, 3, -4};
    std::vector<int> in(n);
    unsigned expected = 100;
    for (int i = 0; i < n; ++i) {
        in[i] = i * 7 % 101;
        expected += unsigned(2 * host_weights[i % 4] * in[i]);
    }
    int *in_device;
    CHECK(cudaMalloc(&in_device, n * sizeof(int)));
    CHECK(cudaMemcpy(in_device, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(weights, host_weights, sizeof(host_weights)));
    reduce<<<8, THREADS, THREADS * sizeof(int)>>>(in_device, n);
    CHECK(cudaGetLastError());
    unsigned sum = 0;
    int count = 0;
    size_t bytes = 0;
    CHECK(cudaMemcpyFromSymbol(&sum, total, sizeof(sum)));
    void *address;
    CHECK(cudaGetSymbolAddress(&address, ctas));
    CHECK(cudaMemcpy(&count, address, sizeof(count), cudaMemcpyDefault));
    CHECK(cudaGetSymbolSize(&bytes, weights));

    // This launch requests more shared memory than an SM has. It must fail, and the program continues.
    reduce<<<8, THREADS, 1 << 20>>>(in_device, n);
    bool is_refused = cudaGetLastError() != cudaSuccess;
    std::printf("sum %u of %d CTAs\n", sum, count);
    CHECK(cudaFree(in_device));
    return verdict(sum == expected && count == 8 && bytes == 16 && is_refused);
}
