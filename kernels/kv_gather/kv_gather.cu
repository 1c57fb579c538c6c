// Copies the keys or values of sequences from the pages of a KV cache into one row of tokens per sequence.
//
// A block table has the pages of each sequence. Within a page, reads are at unit stride; from page to page, they
// are anywhere. Sequences with a common beginning share pages.
#include "../common/cuda_shim.h"

constexpr int PAGE = 16;

// `quads` is the number of 16-byte words per token, `pages` the number of pages per row of the block table.
extern "C" __global__ void kv_gather(const uint4 *cache, const int *blocks, const int *length, uint4 *out, int pages,
                                     int quads) {
    int sequence = blockIdx.y, page = blockIdx.x;
    int tokens = min(PAGE, length[sequence] - page * PAGE);
    const uint4 *from = cache + blocks[sequence * pages + page] * PAGE * quads;
    uint4 *to = out + (sequence * pages + page) * PAGE * quads;
    for (int i = threadIdx.x; i < tokens * quads; i += blockDim.x) {
        to[i] = from[i];
    }
}
