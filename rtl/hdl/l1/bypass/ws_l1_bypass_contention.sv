// SPDX-License-Identifier: MIT OR Apache-2.0
// # Contention test
// Detects load instructions that access too many lines for the L1D. An instruction contends for the L1D if it
// accesses, for one warp, at least as many lines as the warp's share of the L1D: the number of lines of the
// L1D divided by the number of resident warps, rounded down (anssari2012 section 3.3).
//
// | port         | dir | contract                                             |
// |--------------|-----|------------------------------------------------------|
// | `line_i`     | in  | line addresses, lane 0 in the lowest bits            |
// | `mask_i`     | in  | active lanes, at least one                           |
// | `resident_i` | in  | resident warps of the SM, one bit each, at least one |
// | `touched_o`  | out | number of lines that the lanes touch                 |
// | `contends_o` | out | true if the instruction contends                     |
//
// The test needs no division. A warp's share of LINES is floor(LINES / warps). It exceeds the number t of
// touched lines if and only if warps is at most floor(LINES / (t + 1)), a constant for each t. Latency: none.
// The module has no registers.
module ws_l1_bypass_contention #(
    parameter int LINES = 128,
    parameter int LINE_BITS = 25,
    parameter int LANES = 32,
    parameter int WARPS = 64,
    localparam int T_BITS = $clog2(LANES + 1),
    localparam int W_BITS = $clog2(WARPS + 1)
) (
    input  logic [LANES*LINE_BITS-1:0] line_i,
    input  logic [LANES-1:0]           mask_i,
    input  logic [WARPS-1:0]           resident_i,
    output logic [T_BITS-1:0]          touched_o,
    output logic                       contends_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (LINES < 1) begin : g_refuse_lines
    $error("LINES is %0d, expected 1 or more", LINES);
  end
  if (LANES < 1) begin : g_refuse_lanes
    $error("LANES is %0d, expected 1 or more", LANES);
  end
  if (WARPS < 1) begin : g_refuse_warps
    $error("WARPS is %0d, expected 1 or more", WARPS);
  end
  if (LINE_BITS < 1) begin : g_refuse_line_bits
    $error("LINE_BITS is %0d, expected 1 or more", LINE_BITS);
  end
`endif

  // A lane is counted if no lower active lane accesses the same line.
  logic [LANES-1:0] first;
  logic             is_repeated;
  always_comb
    for (int i = 0; i < LANES; i++) begin
      is_repeated = 0;
      for (int j = 0; j < i; j++)
        if (mask_i[j] && line_i[i*LINE_BITS+:LINE_BITS] == line_i[j*LINE_BITS+:LINE_BITS]) is_repeated = 1;
      first[i] = mask_i[i] && !is_repeated;
    end

  // Largest number of resident warps for which the instruction does not contend, given the number of lines
  // that it touches.
  logic [W_BITS-1:0] warps, most;
  always_comb begin
    touched_o = '0;
    for (int i = 0; i < LANES; i++) touched_o += T_BITS'(first[i]);
    warps = '0;
    for (int w = 0; w < WARPS; w++) warps += W_BITS'(resident_i[w]);
    most = '0;
    for (int t = 1; t <= LANES; t++)
      if (touched_o == T_BITS'(t)) most |= LINES / (t + 1) > WARPS ? W_BITS'(WARPS) : W_BITS'(LINES / (t + 1));
  end
  assign contends_o = warps > most;
endmodule
