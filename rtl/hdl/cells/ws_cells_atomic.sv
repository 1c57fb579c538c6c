// SPDX-License-Identifier: MIT OR Apache-2.0
// # Atomic unit
// Atomic unit of an L2 bank: reads, modifies and writes the words of a line for one atomic request, in one
// pass. Each adder and each comparator serves one 8-byte word or the two 4-byte words in it.
//
// | port          | contract                                                                                          |
// |---------------|---------------------------------------------------------------------------------------------------|
// | `f_i`         | 0 add, 1 min, 2 max, 3 and, 4 or, 5 xor, 6 exchange, 7 compare and swap, 8 increment, 9 decrement |
// | `ty_i`        | type of a word: U32 (2), U64 (3), S32 (6), S64 (7), B32 (10) or B64 (11)                          |
// | `byte_mask_i` | bytes of the selected words, always whole words                                                   |
// | `operands_i`  | operand of each word at the word's own position; for compare and swap, the new value              |
// | `line_next_o` | the line afterwards; `changed_o` if any word differs from its old value                           |
//
// For compare and swap, OPERAND_BYTES is at least 16: one half of the operands holds the new value at the
// word's position, and the other half holds the comparison value at the same position. Increment returns 0 if
// the old value has reached the operand. Decrement returns the operand if the old value is 0 or greater than
// the operand. Both comparisons are unsigned.
// Floating-point sums are not implemented. The Rust block executes them in one cycle, too, which is too short
// for a real floating-point adder.
// Latency: none. The module has no registers.
module ws_cells_atomic #(
    parameter int LINE_BYTES = 128,
    parameter int OPERAND_BYTES = LINE_BYTES
) (
    input  logic [3:0]              f_i,
    input  logic [3:0]              ty_i,
    input  logic [LINE_BYTES*8-1:0] line_i,
    input  logic [LINE_BYTES-1:0]   byte_mask_i,
    input  logic [LINE_BYTES*8-1:0] operands_i,
    output logic [LINE_BYTES*8-1:0] line_next_o,
    output logic                    changed_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (LINE_BYTES < 8 || LINE_BYTES % 8 != 0) begin : g_refuse_line_bytes
    $error("LINE_BYTES is %0d, expected a multiple of 8", LINE_BYTES);
  end
  if (OPERAND_BYTES < 16 || OPERAND_BYTES > LINE_BYTES || (OPERAND_BYTES & (OPERAND_BYTES - 1)) != 0) begin : g_refuse_operand_bytes
    $error("OPERAND_BYTES is %0d, expected a power of two from 16 to LINE_BYTES", OPERAND_BYTES);
  end
`endif

  localparam logic [3:0] ADD = 0, MIN = 1, MAX = 2, AND = 3, OR = 4, XOR = 5, EXCHANGE = 6, SWAP = 7, INCREMENT = 8;
  localparam int PLACES = LINE_BYTES / 8;

  wire wide = ty_i[0];
  wire is_signed = ty_i[3:2] == 2'd1 && (f_i == MIN || f_i == MAX);

  logic [PLACES-1:0] differs;
  assign changed_o = differs != '0;
  for (genvar p = 0; p < PLACES; p++) begin : g_place
    wire [63:0] old = line_i[p*64+:64];
    wire [63:0] operand = operands_i[p*64+:64];
    wire [63:0] half = operands_i[((p*8)^(OPERAND_BYTES/2))*8+:64];

    // Sum: two 4-byte words, or one 8-byte word with a carry between its halves.
    logic [63:0] addend;
    always_comb
      case (f_i)
        ADD: addend = operand;
        INCREMENT: addend = wide ? 64'd1 : {32'd1, 32'd1};
        default: addend = '1;
      endcase
    wire [32:0] low_sum = {1'b0, old[31:0]} + {1'b0, addend[31:0]};
    wire [31:0] high_sum = old[63:32] + addend[63:32] + 32'(wide && low_sum[32]);
    wire [63:0] sum = {high_sum, low_sum[31:0]};

    // Results of the comparisons: bit 0 for the low word and bit 1 for the high word. For an 8-byte word,
    // both bits hold its result. A signed comparison is done as an unsigned one, with inverted sign bits.
    wire [63:0] flip = {is_signed, 31'd0, is_signed && !wide, 31'd0};
    wire [63:0] a = old ^ flip;
    wire [63:0] b = operand ^ flip;
    wire [1:0]  below = {a[63:32] < b[63:32], a[31:0] < b[31:0]};
    wire [1:0]  same = {a[63:32] == b[63:32], a[31:0] == b[31:0]};
    wire [1:0]  zero = {old[63:32] == '0, old[31:0] == '0};
    wire [1:0]  equal = {old[63:32] == half[63:32], old[31:0] == half[31:0]};
    wire [1:0]  is_below = wide ? {2{below[1] || same[1] && below[0]}} : below;
    wire [1:0]  is_same = wide ? {2{&same}} : same;
    wire [1:0]  is_zero = wide ? {2{&zero}} : zero;
    wire [1:0]  is_equal = wide ? {2{&equal}} : equal;

    for (genvar h = 0; h < 2; h++) begin : g_half
      wire [31:0] was = old[h*32+:32];
      wire [31:0] by = operand[h*32+:32];
      logic [31:0] result;
      always_comb
        case (f_i)
          ADD: result = sum[h*32+:32];
          MIN: result = is_below[h] ? was : by;
          MAX: result = is_below[h] ? by : was;
          AND: result = was & by;
          OR: result = was | by;
          XOR: result = was ^ by;
          EXCHANGE: result = by;
          SWAP: result = is_equal[h] ? by : was;
          INCREMENT: result = is_below[h] ? sum[h*32+:32] : '0;
          default: result = is_zero[h] || !is_below[h] && !is_same[h] ? by : sum[h*32+:32];
        endcase
      wire chosen = byte_mask_i[p*8+(h==0?0:4)];
      assign line_next_o[p*64+h*32+:32] = chosen ? result : was;
    end
    assign differs[p] = line_next_o[p*64+:64] != old;
  end
  wire unused = &{1'b0, byte_mask_i, ty_i};
endmodule
