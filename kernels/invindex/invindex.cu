// Inverted index of a text: for each key, where the words with that key begin, in the order of the
// text. A word is a run of letters a to z, its key a hash of them.
//
// Each thread goes through its own slice of the text byte by byte, and counts keys in its own row
// of `count`: a warp load touches a line per lane, in both. Some warps together need more lines
// than L1 has, so that a line is gone before its next byte is read. A word belongs to the slice in
// which it begins. Two launches turn the counts into places, and a last one goes through the text
// again and writes each word where it belongs. No atomics: the result is always the same.
#include "../common/cuda_shim.h"

constexpr int KEYS = 64;
constexpr int RUN = 32;

// Calls `found(key, begin)` for each word that begins in the slice.
template <class Found>
static __device__ inline void words(const unsigned char *text, int length, int slice_begin,
                                    int slice_end, Found found) {
    auto letter = [=](int at) { return at < length && text[at] >= 'a' && text[at] <= 'z'; };
    bool inside = false;
    int begin = 0;
    unsigned hash = 0;
    // Not within the rest of a word that began in the slice before.
    bool awake = slice_begin == 0 || !letter(slice_begin - 1);
    for (int at = slice_begin; at < slice_end || inside; at++) {
        if (letter(at)) {
            if (awake && !inside) {
                inside = true;
                begin = at;
                hash = 0;
            }
            hash = 31 * hash + text[at];
        } else {
            if (inside) {
                found(hash % KEYS, begin);
            }
            inside = false;
            awake = true;
        }
    }
}

extern "C" __global__ void invindex_count(const unsigned char *text, int *count, int length,
                                          int slice, int slices) {
    int mine = blockIdx.x * blockDim.x + threadIdx.x;
    if (mine < slices) {
        int begin = mine * slice;
        words(text, length, begin, min(begin + slice, length),
              [=](unsigned key, int) { count[mine * KEYS + key]++; });
    }
}

// A CTA per run of RUN slices, a thread per key: how many words with its key the slices before in
// the run have, in place of the count, and how many there are in the run.
extern "C" __global__ void invindex_runs(int *count, int *start, int slices) {
    int key = threadIdx.x;
    int begin = blockIdx.x * RUN;
    int end = min(begin + RUN, slices);
    int before = 0;
    for (int slice = begin; slice < end; slice++) {
        int *place = &count[slice * KEYS + key];
        int here = *place;
        *place = before;
        before += here;
    }
    start[blockIdx.x * KEYS + key] = before;
}

// One CTA, a thread per key: where its words begin in `postings`, those of the text and those of
// each run.
extern "C" __global__ void invindex_starts(int *start, int *first, int runs) {
    __shared__ int total[KEYS];
    int key = threadIdx.x;
    int sum = 0;
    for (int run = 0; run < runs; run++) {
        sum += start[run * KEYS + key];
    }
    total[key] = sum;
    __syncthreads();
    int before = 0;
    for (int smaller = 0; smaller < key; smaller++) {
        before += total[smaller];
    }
    first[key] = before;
    for (int run = 0; run < runs; run++) {
        int *place = &start[run * KEYS + key];
        int here = *place;
        *place = before;
        before += here;
    }
}

extern "C" __global__ void invindex_write(const unsigned char *text, int *place,
                                          const int *start, int *postings, int length, int slice,
                                          int slices) {
    int mine = blockIdx.x * blockDim.x + threadIdx.x;
    if (mine < slices) {
        int begin = mine * slice;
        words(text, length, begin, min(begin + slice, length), [=](unsigned key, int word) {
            int at = start[mine / RUN * KEYS + key] + place[mine * KEYS + key]++;
            postings[at] = word;
        });
    }
}
