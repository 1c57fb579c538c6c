// c = a + b, timed with events: the time is the simulated time of the kernel.
#include <vector>

#include "check.h"

__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

int main() {
    const int n = 5000;
    const size_t bytes = n * sizeof(float);
    std::vector<float> a(n), b(n), c(n);
    for (int i = 0; i < n; ++i) {
        a[i] = 0.5f * i;
        b[i] = 1000.0f - i;
    }
    float *a_device, *b_device, *c_device;
    CHECK(cudaMalloc(&a_device, bytes));
    CHECK(cudaMalloc(&b_device, bytes));
    CHECK(cudaMalloc(&c_device, bytes));
    CHECK(cudaMemcpy(a_device, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b_device, b.data(), bytes, cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start));
    add<<<(n + 255) / 256, 256>>>(a_device, b_device, c_device, n);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));

    CHECK(cudaMemcpy(c.data(), c_device, bytes, cudaMemcpyDeviceToHost));
    bool passed = milliseconds > 0;
    for (int i = 0; i < n; ++i)
        passed = passed && c[i] == a[i] + b[i];
    std::printf("add: %.2f us\n", 1e3 * milliseconds);
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    CHECK(cudaFree(a_device));
    CHECK(cudaFree(b_device));
    CHECK(cudaFree(c_device));
    return verdict(passed);
}
