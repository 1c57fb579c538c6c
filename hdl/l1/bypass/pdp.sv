// # Protecting distances of the L1D
// Protects each line for DISTANCE accesses to its set after its last access. A miss evicts a line whose
// protection has expired; if there is none, the load bypasses the cache (li2015 section 3.1).
//
// | port               | dir | contract                                                                     |
// |--------------------|-----|------------------------------------------------------------------------------|
// | `set_index`        | in  | set of the current access                                                    |
// | `unguarded`        | out | one bit per way: its line is unprotected for this access                     |
// | `age_valid`        | in  | the access was accepted: all lines of the set age                            |
// | `way_valid`, `way` | in  | the access hit in this way, or fills it: the protection of the line restarts |
// | `clear`            | in  | instead: removes the protection of all lines in all sets                     |
//
// Latency: none; `unguarded` is combinational and shows the state before the access ages the lines.
module pdp #(
    parameter int SETS = 32,
    parameter int WAYS = 4,
    parameter int DISTANCE = 16,
    localparam int S_BITS = SETS < 2 ? 1 : $clog2(SETS),
    localparam int W_BITS = $clog2(WAYS)
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [S_BITS-1:0] set_index,
    output logic [WAYS-1:0]   unguarded,
    input  logic              age_valid,
    input  logic              way_valid,
    input  logic [W_BITS-1:0] way,
    input  logic              clear
);
  logic [WAYS*8-1:0] left [SETS];

  wire [WAYS*8-1:0]  row = left[set_index];
  logic [WAYS*8-1:0] aged;
  always_comb
    for (int w = 0; w < WAYS; w++) begin
      unguarded[w] = row[w*8+:8] <= 1;
      if (way_valid && way == W_BITS'(w)) aged[w*8+:8] = 8'(DISTANCE);
      else aged[w*8+:8] = row[w*8+:8] == 0 ? '0 : row[w*8+:8] - 1'b1;
    end

  for (genvar s = 0; s < SETS; s++) begin : g_set
    always_ff @(posedge clk)
      if (rst || clear) left[s] <= '0;
      else if (age_valid && set_index == S_BITS'(s)) left[s] <= aged;
  end
endmodule
