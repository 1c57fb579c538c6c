// Error handling of the examples: every call of the runtime must succeed.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                     \
    do {                                                                                                \
        cudaError_t error = (call);                                                                     \
        if (error != cudaSuccess) {                                                                     \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
            std::exit(1);                                                                               \
        }                                                                                               \
    } while (0)

// Prints the verdict and returns the exit status.
inline int verdict(bool passed) {
    std::printf("%s\n", passed ? "PASS" : "FAIL");
    return passed ? 0 : 1;
}
