// The nearest of some centres for every point: the step of k-means that takes the time.
//
// A point's features lie together (an array of structures), a thread per point: one warp load
// of a feature touches 32 lines. The next 31 features are in the same lines, if they stay that long
// in L1, and all of them are read once per centre. A few warps fill L1 and thrash it.
// `centres` is the same address for all lanes.
#include "../common/cuda_shim.h"

extern "C" __global__ void kmeans(const float *points, const float *centres, int *nearest,
                                  int count, int features, int clusters) {
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point < count) {
        int best = 0;
        float least = 3.0e38f;
        for (int cluster = 0; cluster < clusters; cluster++) {
            float distance = 0.0f;
            for (int f = 0; f < features; f++) {
                float apart = points[point * features + f] - centres[cluster * features + f];
                distance += apart * apart;
            }
            if (distance < least) {
                least = distance;
                best = cluster;
            }
        }
        nearest[point] = best;
    }
}
