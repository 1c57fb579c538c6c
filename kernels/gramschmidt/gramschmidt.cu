// Modified Gram-Schmidt: A (rows x columns) = Q R, a column per turn of the host's loop, three launches
// a turn, in the PolyBench-GPU mapping. A is overwritten.
//
// The norm of a column is one thread's work, a line per element: the machine waits for memory, one load
// after the other. The other columns of A are streams, a thread per column: it reads column k of Q, which
// all lanes share and of which each element is in a line of its own, and keeps its sum in memory, not in
// a register.
#include "../common/cuda_shim.h"

// r[k][k] = length of column k.
extern "C" __global__ void gramschmidt_norm(const float *a, float *r, int rows, int columns, int k) {
    if (blockIdx.x * blockDim.x + threadIdx.x == 0) {
        float squares = 0.0f;
        for (int i = 0; i < rows; i++) {
            squares += a[i * columns + k] * a[i * columns + k];
        }
        r[k * columns + k] = sqrtf(squares);
    }
}

// Column k of Q, an element per thread: that of A, made as long as 1.
extern "C" __global__ void gramschmidt_unit(const float *a, const float *r, float *q, int rows, int columns, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) {
        q[i * columns + k] = a[i * columns + k] / r[k * columns + k];
    }
}

// Takes from every column behind k what points along column k of Q.
extern "C" __global__ void gramschmidt_rest(float *a, float *r, const float *q, int rows, int columns, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j > k && j < columns) {
        float *along = &r[k * columns + j];
        *along = 0.0f;
        for (int i = 0; i < rows; i++) {
            *along += q[i * columns + k] * a[i * columns + j];
        }
        for (int i = 0; i < rows; i++) {
            a[i * columns + j] -= q[i * columns + k] * *along;
        }
    }
}
