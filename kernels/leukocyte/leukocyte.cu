// A vector field that leads to the wall of a white blood cell, a CTA per cell: every element is
// drawn to its eight neighbours, to those most that lie in the direction of motion, and to the
// image where that is bright, again and again until the field hardly changes.
//
// The field stays in shared memory, where it is made anew piece by piece, an element a thread. The
// image is read from global memory once in every iteration, a load for some 300 instructions, most
// of them of eight arctangents: enough work to wait for any load.
#include "../common/cuda_shim.h"

constexpr int BLOCK = 320;
constexpr int MOST_ROWS = 41;
constexpr int MOST_COLUMNS = 81;
constexpr float ONE_OVER_PI = 0.318309886f;
constexpr float HALF_PI = 1.57079633f;
// Shares of what neighbours and the image add, with a weight of 1/2 and over 1 + 8 x 1/2.
constexpr float TO_NEIGHBOURS = 0.1f;
constexpr float TO_IMAGE = 0.2f;

// A polynomial through arctan(z) / z in z^2 at Chebyshev's nodes of 0 to 1, off by 7e-8 at most.
static __device__ inline float arctangent(float x) {
    float size = fabsf(x);
    float z = size > 1.0f ? 1.0f / size : size;
    float s = z * z;
    float p = -0.00455979211f;
    p = p * s + 0.0237805191f;
    p = p * s - 0.0588297546f;
    p = p * s + 0.0986886546f;
    p = p * s - 0.140032902f;
    p = p * s + 0.199669614f;
    p = p * s - 0.333318114f;
    p = p * s + 0.999999881f;
    float angle = size > 1.0f ? HALF_PI - z * p : z * p;
    return x < 0.0f ? -angle : angle;
}

// What a neighbour `more` above an element adds, at `along` in the direction of motion, times its
// sharpness: the step from 0 to 1 is as smooth as an arctangent.
static __device__ inline float pull(float more, float along) {
    return (arctangent(more * along) * ONE_OVER_PI + 0.5f) * more;
}

// `images` and `fields` have rows x columns a cell, of which a piece of BLOCK must be longer than a
// row and one more: pieces that are not neighbours do not meet. `right` and `down` are the
// direction of motion times the sharpness. An iteration whose mean change is below `least` is the
// last, or else the one that makes them `iterations`.
extern "C" __global__ void leukocyte(const float *images, float *fields, int rows, int columns,
                                     float right, float down, int iterations, float least) {
    __shared__ float field[MOST_ROWS * MOST_COLUMNS];
    __shared__ float change[BLOCK];
    int lane = threadIdx.x;
    int size = rows * columns;
    const float *image = &images[blockIdx.x * size];
    for (int at = lane; at < size; at += BLOCK) {
        field[at] = image[at];
    }
    __syncthreads();

    int first_row = lane / columns;
    int first_column = lane % columns;
    int rows_apart = BLOCK / columns;
    int columns_apart = BLOCK % columns;
    float mean = least;
    for (int iteration = 0; iteration < iterations && mean >= least; iteration++) {
        float moved = 0.0f;
        float fresh = 0.0f;
        int row = first_row;
        int column = first_column;
        for (int piece = 0; piece < size + BLOCK; piece += BLOCK) {
            int at = piece + lane;
            float next = 0.0f;
            if (at < size) {
                int up = row > 0 ? at - columns : at;
                int below = row < rows - 1 ? at + columns : at;
                int back = column > 0 ? -1 : 0;
                int forth = column < columns - 1 ? 1 : 0;
                float here = field[at];
                float sum = pull(field[up] - here, -down) + pull(field[below] - here, down) +
                            pull(field[at + back] - here, -right) +
                            pull(field[at + forth] - here, right) +
                            pull(field[up + forth] - here, right - down) +
                            pull(field[below + forth] - here, right + down) +
                            pull(field[up + back] - here, -right - down) +
                            pull(field[below + back] - here, down - right);
                float bright = image[at];
                next = here + TO_NEIGHBOURS * sum;
                next -= TO_IMAGE * bright * (next - bright);
                moved += fabsf(next - here);
            }
            // All have seen this piece as it was. The last one is seen by none after it.
            __syncthreads();
            if (at >= BLOCK && at - BLOCK < size) {
                field[at - BLOCK] = fresh;
            }
            fresh = next;
            row += rows_apart;
            column += columns_apart;
            if (column >= columns) {
                column -= columns;
                row++;
            }
        }
        change[lane] = moved;
        __syncthreads();
        if (lane >= 256) {
            change[lane - 256] += moved;
        }
        for (int reach = 128; reach > 0; reach /= 2) {
            __syncthreads();
            if (lane < reach) {
                change[lane] += change[lane + reach];
            }
        }
        __syncthreads();
        mean = change[0] / (float)size;
        __syncthreads();
    }

    for (int at = lane; at < size; at += BLOCK) {
        fields[blockIdx.x * size + at] = field[at];
    }
}
