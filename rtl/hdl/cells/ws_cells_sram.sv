// SPDX-License-Identifier: MIT OR Apache-2.0
// # Static memory with one write port and one read port
// Stores WORDS words of BYTES bytes. Replace this module by the memory macro of a technology; its text is for
// simulation, and for tools that infer memories.
//
// | port    | contract                                                                                          |
// |---------|---------------------------------------------------------------------------------------------------|
// | `write` | writes the bytes of `write_data_i` that `write_mask_i` selects, one bit per byte                  |
// | `read`  | `read_data_o` is the word in the next cycle, and keeps its value until the cycle after a new read |
//
// A read does not see a write of the same cycle. The contents are undefined until they are written, and there
// is no reset. Addresses are less than WORDS.
// Latency: one cycle for reads; a write is complete in the next cycle.
module ws_cells_sram #(
    parameter int WORDS = 64,
    parameter int BYTES = 64,
    localparam int A_BITS = WORDS < 2 ? 1 : $clog2(WORDS)
) (
    input  logic               clk_i,
    input  logic               write_valid_i,
    input  logic [A_BITS-1:0]  write_address_i,
    input  logic [BYTES-1:0]   write_mask_i,
    input  logic [8*BYTES-1:0] write_data_i,
    input  logic               read_valid_i,
    input  logic [A_BITS-1:0]  read_address_i,
    output logic [8*BYTES-1:0] read_data_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (WORDS < 1) begin : g_refuse_words
    $error("WORDS is %0d, expected 1 or more", WORDS);
  end
  if (BYTES < 1) begin : g_refuse_bytes
    $error("BYTES is %0d, expected 1 or more", BYTES);
  end
`endif

  logic [8*BYTES-1:0] words_q [WORDS];

  logic [8*BYTES-1:0] selected;
  for (genvar b = 0; b < BYTES; b++) begin : g_selected
    assign selected[8*b+:8] = {8{write_mask_i[b]}};
  end

  always_ff @(posedge clk_i) begin
    if (write_valid_i) words_q[write_address_i] <= words_q[write_address_i] & ~selected | write_data_i & selected;
    if (read_valid_i) read_data_o <= words_q[read_address_i];
  end
endmodule
