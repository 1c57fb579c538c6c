// Simulation program: reads rows of inputs, and writes one row of outputs for each. The input consists of
// blocks up to its end. Each block is a number of rows, followed by that many rows. If the highest bit of the
// number is set, the rows are words for memories of the module instead, each with the number of the memory and a
// 64-bit address first.
#include "Vtop.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <vector>

int main(int argc, char** argv) {
    // Verilator prints failed assertions to the standard output, which is for rows. They go to the standard error.
    FILE* const output_file = fdopen(dup(1), "wb");
    dup2(2, 1);
    Verilated::commandArgs(argc, argv);
    static Vtop top;
    const void* const outputs[] = {OUTPUTS};
    const void* const output = outputs[atoi(argv[1])];
    constexpr size_t in = sizeof(top.in), out = sizeof(top.out0);

    const auto tick = [] {
        top.clk = 1;
        top.eval();
        top.clk = 0;
        top.eval();
    };
    // The clock must be low before the first rising edge.
    top.eval();
    top.rst_n = 0;
    tick();
    top.rst_n = 1;

    uint32_t rows;
    std::vector<char> from, to;
    while (fread(&rows, sizeof rows, 1, stdin) == 1) {
        if (rows >> 31) {
            constexpr size_t word = sizeof(top.poke_data);
            from.resize(12 + word);
            for (rows &= 0x7fffffff; rows > 0; rows--) {
                if (fread(from.data(), from.size(), 1, stdin) != 1) return 1;
                memcpy(&top.poke_memory, &from[0], 4);
                memcpy(&top.poke_address, &from[4], 8);
                memcpy(&top.poke_data, &from[12], word);
                top.poke_clk = 1;
                top.eval();
                top.poke_clk = 0;
                top.eval();
            }
            continue;
        }
        from.resize(rows * in);
        to.resize(rows * out);
        if (fread(from.data(), in, rows, stdin) != rows) return 1;
        for (size_t row = 0; row < rows; row++) {
            memcpy(&top.in, &from[row * in], in);
            top.eval();
            memcpy(&to[row * out], output, out);
            tick();
        }
        // The caller ends this program by a signal, which would lose buffered messages.
        fflush(stdout);
        fwrite(to.data(), out, rows, output_file);
        fflush(output_file);
    }
    return 0;
}
