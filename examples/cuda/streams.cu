// Uses two streams, managed and page-locked memory, an event between the streams, and a host callback.
#include <cstring>

#include "check.h"

struct Line {
    float slope;
    char pad;
    double offset;
};

__managed__ int launches = 5;

__global__ void evaluate(Line line, const float *x, double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = line.slope * x[i] + line.offset;
    if (i == 0)
        ++launches;
}

__global__ void square(double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] *= y[i];
}

void finish(void *data) {
    *static_cast<bool *>(data) = true;
}

int main() {
    const int n = 1000;
    float *x;
    double *y, *copy;
    CHECK(cudaMallocManaged(&x, n * sizeof(float)));
    CHECK(cudaMallocManaged(&y, n * sizeof(double)));
    CHECK(cudaMallocHost(&copy, n * sizeof(double)));
    for (int i = 0; i < n; ++i)
        x[i] = i;
    ++launches;

    cudaStream_t first, second;
    cudaEvent_t evaluated;
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&evaluated, cudaEventDisableTiming));
    evaluate<<<(n + 63) / 64, 64, 0, first>>>(Line{0.5f, 'x', 3.0}, x, y, n);
    CHECK(cudaEventRecord(evaluated, first));
    CHECK(cudaStreamWaitEvent(second, evaluated, 0));
    square<<<(n + 63) / 64, 64, 0, second>>>(y, n);
    bool is_finished = false;
    CHECK(cudaLaunchHostFunc(second, finish, &is_finished));
    CHECK(cudaMemcpyAsync(copy, y, n * sizeof(double), cudaMemcpyDeviceToHost, second));
    CHECK(cudaStreamSynchronize(second));

    bool passed = is_finished && launches == 7;
    for (int i = 0; i < n; ++i) {
        double value = 0.5 * i + 3.0;
        passed = passed && y[i] == value * value && copy[i] == y[i];
    }
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    CHECK(cudaFreeHost(copy));
    return verdict(passed);
}
