// Transposes pitched matrices (with padded rows). The CTA size is computed from the properties of the device.
// The last launch has an illegal grid and must fail.
#include <vector>

#include "check.h"

__global__ void transpose(const float *in, size_t in_pitch, float *out, size_t out_pitch, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        *(float *)((char *)out + x * out_pitch + y * sizeof(float)) =
            *(const float *)((const char *)in + y * in_pitch + x * sizeof(float));
}

int main() {
    const int width = 100, height = 36;
    cudaDeviceProp device;
    int count = 0, sms = 0, ctas = 0, least = 0, size = 0;
    CHECK(cudaGetDeviceCount(&count));
    CHECK(cudaGetDeviceProperties(&device, 0));
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, transpose, device.warpSize * 4, 0));
    CHECK(cudaOccupancyMaxPotentialBlockSize(&least, &size, transpose, 0, 0));
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, transpose));
    std::printf("%s: %d SMs, %d CTAs per SM\n", device.name, sms, ctas);
    bool passed = count == 1 && sms == device.multiProcessorCount && ctas > 0 && size > 0 && attributes.numRegs > 0;

    std::vector<float> in(width * height), out(width * height);
    for (int i = 0; i < width * height; ++i)
        in[i] = i;
    float *in_device, *out_device;
    size_t in_pitch, out_pitch;
    CHECK(cudaMallocPitch(&in_device, &in_pitch, width * sizeof(float), height));
    CHECK(cudaMallocPitch(&out_device, &out_pitch, height * sizeof(float), width));
    CHECK(cudaMemset2D(out_device, out_pitch, 0, height * sizeof(float), width));
    CHECK(cudaMemcpy2D(in_device, in_pitch, in.data(), width * sizeof(float), width * sizeof(float), height,
                       cudaMemcpyHostToDevice));
    dim3 block(device.warpSize, 4), grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    transpose<<<grid, block>>>(in_device, in_pitch, out_device, out_pitch, width, height);
    CHECK(cudaMemcpy2D(out.data(), height * sizeof(float), out_device, out_pitch, height * sizeof(float), width,
                       cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            passed = passed && out[x * height + y] == in[y * width + x];

    transpose<<<dim3(1 << 20, 1 << 20), block>>>(in_device, in_pitch, out_device, out_pitch, width, height);
    passed = passed && cudaGetLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaSuccess;
    return verdict(passed);
}
