// Look-ups in a B+ tree, a CTA per query and a thread per key of a node.
//
// On each level, the thread whose key and next key enclose the query names the child to go on
// with. All CTAs scan the root, many the same leaves: lines that were just used are used again.
// Nodes are arrays of ints: the number of keys, whether the node is a leaf, `order + 1` indices,
// `order + 1` keys. A row of keys begins anywhere in a line, so that most warp loads touch two.
// In an inner node, index i is the child of the keys from key i up to key i + 1; in a leaf, it is
// the record of key i. Unused keys are the largest int, and the first key of an inner node the
// smallest.
//
// Where a query stands is kept in global memory, `place`, between two barriers a level: the first
// keeps its writer away from threads that still read the node before, the second its readers
// behind the writer.
#include "../common/cuda_shim.h"

constexpr int HEADER = 2;
constexpr int NO_RECORD = -1;

extern "C" __global__ void btree_find(const int *nodes, const int *value, const int *query,
                                      int *place, int *answer, int inner_levels, int order) {
    int key = threadIdx.x;
    int mine = blockIdx.x;
    int node_size = HEADER + 2 * (order + 1);
    if (key == 0) {
        place[mine] = 0;
        answer[mine] = NO_RECORD;
    }
    __syncthreads();
    for (int level = 0; level < inner_levels; level++) {
        const int *indices = &nodes[place[mine] * node_size + HEADER];
        const int *keys = indices + order + 1;
        bool here = keys[key] <= query[mine] && query[mine] < keys[key + 1];
        __syncthreads();
        if (here) {
            place[mine] = indices[key];
        }
        __syncthreads();
    }
    const int *records = &nodes[place[mine] * node_size + HEADER];
    const int *keys = records + order + 1;
    if (keys[key] == query[mine]) {
        answer[mine] = value[records[key]];
    }
}
