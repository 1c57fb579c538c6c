// SPDX-License-Identifier: MIT OR Apache-2.0
// # Protecting distances of the L1D
// Protects each line for DISTANCE accesses to its set after its last access. A miss evicts a line whose
// protection has expired; if there is none, the load bypasses the cache (li2015 section 3.1).
//
// | port                   | dir | contract                                                                     |
// |------------------------|-----|------------------------------------------------------------------------------|
// | `set_index_i`          | in  | set of the current access                                                    |
// | `unguarded_o`          | out | one bit per way: its line is unprotected for this access                     |
// | `age_valid_i`          | in  | the access was accepted: all lines of the set age                            |
// | `way_valid_i`, `way_i` | in  | the access hit in this way, or fills it: the protection of the line restarts |
// | `clear_i`              | in  | instead: removes the protection of all lines in all sets                     |
//
// Latency: none; `unguarded_o` is combinational and shows the state before the access ages the lines.
module ws_l1_bypass_pdp #(
    parameter int SETS = 32,
    parameter int WAYS = 4,
    parameter int DISTANCE = 16,
    localparam int S_BITS = SETS < 2 ? 1 : $clog2(SETS),
    localparam int W_BITS = $clog2(WAYS)
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic [S_BITS-1:0] set_index_i,
    output logic [WAYS-1:0]   unguarded_o,
    input  logic              age_valid_i,
    input  logic              way_valid_i,
    input  logic [W_BITS-1:0] way_i,
    input  logic              clear_i
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (SETS < 1) begin : g_refuse_sets
    $error("SETS is %0d, expected 1 or more", SETS);
  end
  if (WAYS < 2) begin : g_refuse_ways
    $error("WAYS is %0d, expected 2 or more", WAYS);
  end
  if (DISTANCE < 1 || DISTANCE > 255) begin : g_refuse_distance
    $error("DISTANCE is %0d, expected 1 to 255", DISTANCE);
  end
`endif

  logic [WAYS*8-1:0] left_q [SETS];

  wire [WAYS*8-1:0]  row = left_q[set_index_i];
  logic [WAYS*8-1:0] aged;
  always_comb
    for (int w = 0; w < WAYS; w++) begin
      unguarded_o[w] = row[w*8+:8] <= 1;
      if (way_valid_i && way_i == W_BITS'(w)) aged[w*8+:8] = 8'(DISTANCE);
      else aged[w*8+:8] = row[w*8+:8] == 0 ? '0 : row[w*8+:8] - 1'b1;
    end

  for (genvar s = 0; s < SETS; s++) begin : g_set
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) left_q[s] <= '0;
      else if (clear_i) left_q[s] <= '0;
      else if (age_valid_i && set_index_i == S_BITS'(s)) left_q[s] <= aged;
  end
endmodule
