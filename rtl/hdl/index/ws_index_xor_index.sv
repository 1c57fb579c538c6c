// SPDX-License-Identifier: MIT OR Apache-2.0
// # XOR index unit
// Maps a line address to a set index: index bit j is the XOR of the line-address bits that row j of H
// selects. Such a matrix can express any set index that is linear over GF(2): the low address bits, the hash
// of Fermi's L1, or a remainder modulo a polynomial.
//
// | port      | dir | contract                                |
// |-----------|-----|-----------------------------------------|
// | `line_i`  | in  | any line address                        |
// | `index_o` | out | combinational, below the number of sets |
//
// Row j of H occupies LINE_BITS bits from bit j*LINE_BITS on. Latency: none. The module has no registers.
module ws_index_xor_index #(
    parameter int LINE_BITS = 25,
    parameter int INDEX_BITS = 5,
    parameter logic [INDEX_BITS*LINE_BITS-1:0] H = '0
) (
    input  logic [LINE_BITS-1:0]  line_i,
    output logic [INDEX_BITS-1:0] index_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (LINE_BITS < 1) begin : g_refuse_line_bits
    $error("LINE_BITS is %0d, expected 1 or more", LINE_BITS);
  end
  if (INDEX_BITS < 1) begin : g_refuse_index_bits
    $error("INDEX_BITS is %0d, expected 1 or more", INDEX_BITS);
  end
`endif

  for (genvar j = 0; j < INDEX_BITS; j++) begin : g_bit
    assign index_o[j] = ^(line_i & H[j*LINE_BITS+:LINE_BITS]);
  end
endmodule
