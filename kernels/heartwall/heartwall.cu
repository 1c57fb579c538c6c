// Tracking of points on a heart's wall from one frame to the next, a CTA per point: the texture
// around the point in the old frame is looked for in a window around the same place in the new one,
// at all positions, and the point moves to where the normalised correlation is highest.
//
// heartwall_move makes the next frame by shifting the old one (rows and columns wrap around),
// heartwall_templates cuts out the textures, heartwall_track does the rest. All of its stages work
// in the CTA's own piece of global memory and are set apart by barriers. Most loads are in the
// correlation: all lanes read the same word of the texture, and neighbouring words of a window that
// they share: a small working set that stays in L1. Sums along rows are made a row a lane, each in
// lines of its own.
//
// Points lie at least MARGIN from the edges. Pixels are below 128, so that all sums are integers
// that floats hold exactly.
#include "../common/cuda_shim.h"

constexpr int BLOCK = 256;
constexpr int SIDE = 15;
constexpr int REACH = 10;
constexpr int WINDOW = SIDE + 2 * REACH;
constexpr int PLACES = 2 * REACH + 1;
constexpr int MARGIN = WINDOW / 2;
constexpr int PIXELS = SIDE * SIDE;

extern "C" __global__ void heartwall_move(const unsigned char *old_frame, unsigned char *new_frame,
                                          int rows, int columns, int down, int right) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y;
    if (column < columns && row < rows) {
        int to = (row + down) % rows * columns + (column + right) % columns;
        new_frame[to] = old_frame[row * columns + column];
    }
}

extern "C" __global__ void heartwall_templates(const unsigned char *frame, const int2 *points,
                                               float *templates, int columns) {
    int2 point = points[blockIdx.x];
    float *texture = &templates[blockIdx.x * PIXELS];
    const unsigned char *corner = &frame[(point.x - SIDE / 2) * columns + point.y - SIDE / 2];
    for (int i = threadIdx.x; i < PIXELS; i += BLOCK) {
        texture[i] = corner[i / SIDE * columns + i % SIDE];
    }
}

// Sums of values (x) and of their squares (y).
static __device__ inline float2 add(float2 sum, float2 more) {
    return float2{sum.x + more.x, sum.y + more.y};
}

static __device__ inline float2 subtract(float2 sum, float2 less) {
    return float2{sum.x - less.x, sum.y - less.y};
}

// Per point: `templates` PIXELS, `windows` WINDOW x WINDOW, `column_sums` as many pairs, `box_sums`
// PLACES x WINDOW pairs, `scores` PLACES x PLACES. A point is its row (x) and column (y).
extern "C" __global__ void heartwall_track(const unsigned char *frame, const int2 *points,
                                           const float *templates, float *windows,
                                           float2 *column_sums, float2 *box_sums, float *scores,
                                           int2 *found, int columns) {
    __shared__ float2 partial[BLOCK];
    __shared__ float best_score[BLOCK];
    __shared__ int best_place[BLOCK];
    int lane = threadIdx.x;
    int2 point = points[blockIdx.x];
    const float *texture = &templates[blockIdx.x * PIXELS];
    float *window = &windows[blockIdx.x * WINDOW * WINDOW];
    float2 *column_sum = &column_sums[blockIdx.x * WINDOW * WINDOW];
    float2 *box_sum = &box_sums[blockIdx.x * PLACES * WINDOW];
    float *score = &scores[blockIdx.x * PLACES * PLACES];

    const unsigned char *corner = &frame[(point.x - MARGIN) * columns + point.y - MARGIN];
    for (int i = lane; i < WINDOW * WINDOW; i += BLOCK) {
        window[i] = corner[i / WINDOW * columns + i % WINDOW];
    }
    float2 moments = {0.0f, 0.0f};
    for (int i = lane; i < PIXELS; i += BLOCK) {
        float pixel = texture[i];
        moments = add(moments, float2{pixel, pixel * pixel});
    }
    partial[lane] = moments;
    for (int reach = BLOCK / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (lane < reach) {
            partial[lane] = add(partial[lane], partial[lane + reach]);
        }
    }
    __syncthreads();
    moments = partial[0];

    // Correlation of the texture with each place in the window.
    for (int place = lane; place < PLACES * PLACES; place += BLOCK) {
        const float *under = &window[place / PLACES * WINDOW + place % PLACES];
        float sum = 0.0f;
        for (int row = 0; row < SIDE; row++) {
            for (int column = 0; column < SIDE; column++) {
                sum += texture[row * SIDE + column] * under[row * WINDOW + column];
            }
        }
        score[place] = sum;
    }

    // Running sums down each column, then along each row of boxes SIDE high.
    if (lane < WINDOW) {
        float2 sum = {0.0f, 0.0f};
        for (int i = lane; i < WINDOW * WINDOW; i += WINDOW) {
            sum = add(sum, float2{window[i], window[i] * window[i]});
            column_sum[i] = sum;
        }
    }
    __syncthreads();
    if (lane < PLACES) {
        float2 sum = {0.0f, 0.0f};
        for (int column = 0; column < WINDOW; column++) {
            sum = add(sum, column_sum[(lane + SIDE - 1) * WINDOW + column]);
            if (lane > 0) {
                sum = subtract(sum, column_sum[(lane - 1) * WINDOW + column]);
            }
            box_sum[lane * WINDOW + column] = sum;
        }
    }
    __syncthreads();

    float most = -2.0f;
    int at = 0;
    float spread = moments.y - moments.x * moments.x * (1.0f / PIXELS);
    for (int place = lane; place < PLACES * PLACES; place += BLOCK) {
        const float2 *end = &box_sum[place / PLACES * WINDOW + place % PLACES + SIDE - 1];
        float2 box = place % PLACES > 0 ? subtract(end[0], end[-SIDE]) : end[0];
        float together = score[place] - moments.x * box.x * (1.0f / PIXELS);
        float correlation = together / sqrtf(spread * (box.y - box.x * box.x * (1.0f / PIXELS)));
        score[place] = correlation;
        if (correlation > most) {
            most = correlation;
            at = place;
        }
    }
    best_score[lane] = most;
    best_place[lane] = at;
    for (int reach = BLOCK / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (lane < reach && best_score[lane + reach] > best_score[lane]) {
            best_score[lane] = best_score[lane + reach];
            best_place[lane] = best_place[lane + reach];
        }
    }
    if (lane == 0) {
        int place = best_place[0];
        found[blockIdx.x] = int2{point.x + place / PLACES - REACH, point.y + place % PLACES - REACH};
    }
}
