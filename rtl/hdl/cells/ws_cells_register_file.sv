// SPDX-License-Identifier: MIT OR Apache-2.0
// # Register file
// Memory whose words are read in the cycle of their address, as they were before the writes of that cycle.
// Replace this module by a register file of the technology.
//
// | port    | contract                                                                                      |
// |---------|-----------------------------------------------------------------------------------------------|
// | `read`  | three ports, of which a caller leaves those out that it does not need                         |
// | `write` | two ports: a word, in parts of GRAIN bits; both never write the same part of the same row     |
//
// With RESETS, every word is INITIAL after reset. Otherwise a word has no meaning before it is written.
// An address is less than ROWS in a cycle in which its port is used.
module ws_cells_register_file #(
    parameter int ROWS = 64,
    parameter int WIDTH = 32,
    parameter int GRAIN = 8,
    parameter bit RESETS = 1,
    parameter logic [WIDTH-1:0] INITIAL = '0,
    localparam int A_BITS = ROWS < 2 ? 1 : $clog2(ROWS),
    localparam int PARTS = WIDTH / GRAIN
) (
    input  logic              clk_i,
    input  logic              rst_ni,

    input  logic [A_BITS-1:0] read_0_row_i,
    output logic [WIDTH-1:0]  read_0_word_o,
    input  logic [A_BITS-1:0] read_1_row_i,
    output logic [WIDTH-1:0]  read_1_word_o,
    input  logic [A_BITS-1:0] read_2_row_i,
    output logic [WIDTH-1:0]  read_2_word_o,

    input  logic              write_0_valid_i,
    input  logic [A_BITS-1:0] write_0_row_i,
    input  logic [PARTS-1:0]  write_0_mask_i,
    input  logic [WIDTH-1:0]  write_0_word_i,
    input  logic              write_1_valid_i,
    input  logic [A_BITS-1:0] write_1_row_i,
    input  logic [PARTS-1:0]  write_1_mask_i,
    input  logic [WIDTH-1:0]  write_1_word_i
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (ROWS < 1) begin : g_refuse_rows
    $error("ROWS is %0d, expected 1 or more", ROWS);
  end
  if (WIDTH < 1) begin : g_refuse_width
    $error("WIDTH is %0d, expected 1 or more", WIDTH);
  end
  if (GRAIN < 1 || WIDTH % GRAIN != 0) begin : g_refuse_grain
    $error("GRAIN is %0d, expected a divisor of WIDTH", GRAIN);
  end
`endif

  logic [WIDTH-1:0] words_q [ROWS];
  assign read_0_word_o = words_q[read_0_row_i];
  assign read_1_word_o = words_q[read_1_row_i];
  assign read_2_word_o = words_q[read_2_row_i];

  logic [WIDTH-1:0] bits_0, bits_1;
  for (genvar k = 0; k < PARTS; k++) begin : g_bits
    assign bits_0[k*GRAIN+:GRAIN] = {GRAIN{write_0_mask_i[k]}};
    assign bits_1[k*GRAIN+:GRAIN] = {GRAIN{write_1_mask_i[k]}};
  end
  // Words after the writes. If both ports write one row, port 1 writes both.
  wire             is_same = write_0_valid_i && write_0_row_i == write_1_row_i;
  wire [WIDTH-1:0] word_0 = words_q[write_0_row_i] & ~bits_0 | write_0_word_i & bits_0;
  wire [WIDTH-1:0] old_1 = is_same ? word_0 : words_q[write_1_row_i];
  wire [WIDTH-1:0] word_1 = old_1 & ~bits_1 | write_1_word_i & bits_1;
  if (RESETS) begin : g_resets
    for (genvar r = 0; r < ROWS; r++) begin : g_row
      always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) words_q[r] <= INITIAL;
        else if (write_1_valid_i && write_1_row_i == A_BITS'(r)) words_q[r] <= word_1;
        else if (write_0_valid_i && write_0_row_i == A_BITS'(r)) words_q[r] <= word_0;
    end
  end else begin : g_no_reset
    always_ff @(posedge clk_i) begin
      if (write_0_valid_i) words_q[write_0_row_i] <= word_0;
      if (write_1_valid_i) words_q[write_1_row_i] <= word_1;
    end
    wire unused = rst_ni;
  end
endmodule
