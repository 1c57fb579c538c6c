// SPDX-License-Identifier: MIT OR Apache-2.0
// # Memory with two write ports and two read ports, read in the same cycle
// Stores WORDS words of BYTES bytes. Replace this module by a register file of a technology; its text is for
// simulation, and for tools that infer memories.
//
// | port    | contract                                                                      |
// |---------|-------------------------------------------------------------------------------|
// | `read`  | `read_data_o` has the words at both addresses, without latency                |
// | `write` | up to two words are written; of two writes to the same word, the second holds |
//
// A read does not see a write of the same cycle. The contents are undefined until they are written, and there
// is no reset. Addresses are less than WORDS. The first port is in the lowest bits.
module ws_cells_ram #(
    parameter int WORDS = 128,
    parameter int BYTES = 128,
    localparam int A_BITS = WORDS < 2 ? 1 : $clog2(WORDS)
) (
    input  logic                  clk_i,
    input  logic [2*A_BITS-1:0]   read_address_i,
    output logic [2*8*BYTES-1:0]  read_data_o,
    input  logic [1:0]            write_valid_i,
    input  logic [2*A_BITS-1:0]   write_address_i,
    input  logic [2*8*BYTES-1:0]  write_data_i
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

  assign read_data_o = {words_q[read_address_i[A_BITS+:A_BITS]], words_q[read_address_i[0+:A_BITS]]};
  always_ff @(posedge clk_i) begin
    if (write_valid_i[0]) words_q[write_address_i[0+:A_BITS]] <= write_data_i[0+:8*BYTES];
    if (write_valid_i[1]) words_q[write_address_i[A_BITS+:A_BITS]] <= write_data_i[8*BYTES+:8*BYTES];
  end
endmodule
