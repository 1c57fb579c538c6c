// # Contention test
// Whether a load instruction touches so many lines that it had better leave the L1D alone: as many as each resident warp
// has of the cache's lines, or more (anssari2012 section 3.3).
//
// | port       | dir | contract                                                                        |
// |------------|-----|---------------------------------------------------------------------------------|
// | `line`     | in  | line addresses, lane 0 in the lowest bits                                         |
// | `mask`     | in  | lanes that take part, one or more                                                 |
// | `resident` | in  | warps of the SM that are resident, a bit each, one or more                        |
// | `touched`  | out | lines that the lanes touch                                                        |
// | `contends` | out | the test                                                                          |
//
// No division: of LINES, t are fewer than a warp's part floor(LINES / warps) just if warps is at most
// floor(LINES / (t + 1)), and that is a constant for each t. Latency: none. No registers.
module contention #(
    parameter int LINES = 128,
    parameter int LINE_BITS = 25,
    parameter int LANES = 32,
    parameter int WARPS = 64,
    localparam int T_BITS = $clog2(LANES + 1),
    localparam int W_BITS = $clog2(WARPS + 1)
) (
    input  logic [LANES*LINE_BITS-1:0] line,
    input  logic [LANES-1:0]           mask,
    input  logic [WARPS-1:0]           resident,
    output logic [T_BITS-1:0]          touched,
    output logic                       contends
);
  // A lane counts if none before it is in its line.
  logic [LANES-1:0] first;
  always_comb
    for (int i = 0; i < LANES; i++) begin
      first[i] = mask[i];
      for (int j = 0; j < i; j++)
        if (mask[j] && line[i*LINE_BITS+:LINE_BITS] == line[j*LINE_BITS+:LINE_BITS]) first[i] = 0;
    end

  // Warps up to which so many lines are no contention.
  logic [W_BITS-1:0] warps, most;
  always_comb begin
    touched = '0;
    for (int i = 0; i < LANES; i++) touched += T_BITS'(first[i]);
    warps = '0;
    for (int w = 0; w < WARPS; w++) warps += W_BITS'(resident[w]);
    most = '0;
    for (int t = 1; t <= LANES; t++)
      if (touched == T_BITS'(t)) most |= LINES / (t + 1) > WARPS ? W_BITS'(WARPS) : W_BITS'(LINES / (t + 1));
  end
  assign contends = warps > most;
endmodule
