// Exclusive prefix sums of n integers, modulo 2^32, for up to 512 x 512 of them: scan_blocks scans
// 512 a CTA and writes each CTA's total, is launched again on the totals, and scan_add adds every
// CTA's offset to its elements.
//
// A thread holds two neighbours, so that a warp load or store with a stride of two touches two
// lines. The tree goes up and down in shared memory, where its strides of 2, 4, 8, ... words meet
// in ever fewer banks.
#include "../common/cuda_shim.h"

constexpr int BLOCK = 256;
constexpr int ELEMENTS = 2 * BLOCK;

extern "C" __global__ void scan_blocks(const int *in, int *out, int *totals, int n) {
    __shared__ unsigned tree[ELEMENTS];
    int lane = threadIdx.x;
    int left = blockIdx.x * ELEMENTS + 2 * lane;
    int right = left + 1;
    tree[2 * lane] = left < n ? in[left] : 0;
    tree[2 * lane + 1] = right < n ? in[right] : 0;

    // Up: the last element of every 2, 4, 8, ... becomes their sum.
    int span = 1;
    for (int nodes = BLOCK; nodes > 0; nodes /= 2) {
        __syncthreads();
        if (lane < nodes) {
            int low = span * (2 * lane + 1) - 1;
            tree[low + span] += tree[low];
        }
        span *= 2;
    }
    __syncthreads();
    if (lane == 0) {
        totals[blockIdx.x] = tree[ELEMENTS - 1];
        tree[ELEMENTS - 1] = 0;
    }

    // Down: the right half of every node gets the node's offset and the sum of the left half.
    for (int nodes = 1; nodes <= BLOCK; nodes *= 2) {
        span /= 2;
        __syncthreads();
        if (lane < nodes) {
            int low = span * (2 * lane + 1) - 1;
            unsigned sum = tree[low];
            tree[low] = tree[low + span];
            tree[low + span] += sum;
        }
    }
    __syncthreads();
    if (left < n) {
        out[left] = tree[2 * lane];
    }
    if (right < n) {
        out[right] = tree[2 * lane + 1];
    }
}

extern "C" __global__ void scan_add(int *out, const int *offsets, int n) {
    int left = blockIdx.x * ELEMENTS + 2 * threadIdx.x;
    unsigned offset = offsets[blockIdx.x];
    if (left < n) {
        out[left] = out[left] + offset;
    }
    if (left + 1 < n) {
        out[left + 1] = out[left + 1] + offset;
    }
}
