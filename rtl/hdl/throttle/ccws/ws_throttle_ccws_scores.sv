// SPDX-License-Identifier: MIT OR Apache-2.0
// # CCWS scores of a core
// Temporarily reserves the L1D for the warps that lose locality (khairy2015 section 5, Table 4). The scores
// of these warps increase. Warps whose scores then no longer fit below a cutoff may not issue loads. This is
// the cache-conscious wavefront scheduling (CCWS) of Rogers et al.
//
// The ports act in the order of their numbers within one cycle, and each port sees the results of the ports
// before it:
//
// | port         | contract                                                                                                      |
// |--------------|---------------------------------------------------------------------------------------------------------------|
// | 1 `lost`     | `lost_warp_i` missed a line that it had lost, while the warps of `lost_live_i` run                            |
// | 2 `starts_i` | one bit per warp: the warp begins                                                                             |
// | 3 `issued_i` | one bit per warp: it issued an instruction, or one pass of an instruction that takes several                  |
// | 4 `live_i`   | one bit per warp: it runs at the end of the cycle; `admitted_o` are the warps that may load in the next cycle |
//
// A score is at least BASE. While it is above BASE, it decreases by one per cycle. A locality-loss event sets
// the score of its warp to `hits_q * K * cutoff / instructions_q`, rounded down and limited to 2^18 - 1. Hits
// and instructions are those of all running warps, including this event if its warp is running. The cutoff is
// BASE times the number of running warps.
// Warps are admitted in the order of decreasing scores, and in ascending order of their numbers if scores are
// equal, until the sum of the admitted warps' scores reaches the cutoff.
// `now_scores_o` has the scores of this cycle, with warp 0 in the lowest bits.
// Latency: none. Two computations take a single cycle, at any clock frequency: the division, which consists
// of 18 dependent subtractions, and for each warp the sum of the scores ranked before it. Real hardware could
// take more cycles, because an event arrives several cycles after its miss anyway.
module ws_throttle_ccws_scores #(
    parameter int WARPS = 48,
    parameter int BASE = 100,
    parameter int K = 8,
    localparam int W_BITS = WARPS < 2 ? 1 : $clog2(WARPS)
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                lost_valid_i,
    input  logic [W_BITS-1:0]   lost_warp_i,
    input  logic [WARPS-1:0]    lost_live_i,
    input  logic [WARPS-1:0]    starts_i,
    input  logic [WARPS-1:0]    issued_i,
    input  logic [WARPS-1:0]    live_i,
    output logic [WARPS-1:0]    admitted_o,
    output logic [WARPS*18-1:0] now_scores_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (WARPS < 1) begin : g_refuse_warps
    $error("WARPS is %0d, expected 1 or more", WARPS);
  end
  if (BASE < 1 || BASE >= 1 << 18) begin : g_refuse_base
    $error("BASE is %0d, expected 1 to 2^18 - 1", BASE);
  end
  if (K < 1) begin : g_refuse_k
    $error("K is %0d, expected 1 or more", K);
  end
`endif

  localparam int COUNT = $clog2(WARPS + 1), SUM = 32 + COUNT, TOTAL = 18 + COUNT;
  // Width in bits of the factor K * cutoff by which hits are multiplied, and width of the product, which is
  // the dividend.
  localparam int WEIGHT = $clog2(K * BASE * WARPS + 1), WORTH = SUM + WEIGHT;

  logic [17:0] score_3 [WARPS];
  if (1) begin : ccws
    logic [31:0] hits_q         [WARPS];
    logic [31:0] instructions_q [WARPS];
    logic [17:0] score_q        [WARPS];

    // Step 1, port `lost`: computes the score that a warp gets when it misses a line of its own that was
    // evicted before.
    logic [SUM-1:0]   all_hits, all_instructions, divisor;
    logic [COUNT-1:0] running;
    logic [WARPS-1:0] loses;
    always_comb begin
      all_hits = SUM'(lost_valid_i && lost_live_i[lost_warp_i]);
      all_instructions = '0;
      running = '0;
      for (int w = 0; w < WARPS; w++) begin
        loses[w] = lost_valid_i && lost_warp_i == W_BITS'(w);
        if (lost_live_i[w]) begin
          all_hits += SUM'(hits_q[w]);
          all_instructions += SUM'(instructions_q[w]);
          running += 1'b1;
        end
      end
      divisor = all_instructions == '0 ? SUM'(1) : all_instructions;
    end
    wire [WORTH-1:0] dividend = WORTH'(all_hits) * WORTH'(WEIGHT'(running) * WEIGHT'(K * BASE));

    logic [SUM:0] rest;
    logic [17:0]  worth;
    always_comb begin
      rest = (SUM + 1)'(dividend >> 18);
      worth = '0;
      for (int b = 17; b >= 0; b--) begin
        rest = rest << 1 | (SUM + 1)'(dividend[b]);
        worth[b] = rest >= {1'b0, divisor};
        if (worth[b]) rest -= {1'b0, divisor};
      end
      if (dividend >> 18 >= WORTH'(divisor)) worth = '1;
      if (worth < 18'(BASE)) worth = 18'(BASE);
    end

    // Steps 2 and 3, ports `starts_i` and `issued_i`: update the counts of each warp, and its score for the
    // next cycle.
    for (genvar w = 0; w < WARPS; w++) begin : g_warp
      wire [17:0] score_2 = starts_i[w] ? 18'(BASE) : loses[w] ? worth : score_q[w];
      assign score_3[w] = score_2 == 18'(BASE) ? score_2 : score_2 - 1'b1;
      assign now_scores_o[w*18+:18] = score_q[w];
      always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) begin
          hits_q[w] <= '0;
          instructions_q[w] <= '0;
          score_q[w] <= 18'(BASE);
        end else begin
          hits_q[w] <= starts_i[w] ? '0 : hits_q[w] + 32'(loses[w]);
          instructions_q[w] <= starts_i[w] ? 32'(issued_i[w]) : instructions_q[w] + 32'(issued_i[w]);
          score_q[w] <= score_3[w];
        end
    end
  end

  // Step 4, port `live_i`: admits the warps whose scores fit below the cutoff.
  logic [WARPS*WARPS-1:0] ahead;
  logic [TOTAL-1:0]       sum, cutoff;
  always_comb begin
    ahead = '0;
    for (int w = 0; w < WARPS; w++)
      for (int v = 0; v < w; v++) begin
        ahead[w*WARPS+v] = score_3[v] >= score_3[w];
        ahead[v*WARPS+w] = !ahead[w*WARPS+v];
      end
    cutoff = '0;
    for (int w = 0; w < WARPS; w++) if (live_i[w]) cutoff += TOTAL'(BASE);
    for (int w = 0; w < WARPS; w++) begin
      sum = '0;
      for (int v = 0; v < WARPS; v++) if (ahead[w*WARPS+v] && live_i[v]) sum += TOTAL'(score_3[v]);
      admitted_o[w] = live_i[w] && sum < cutoff;
    end
  end
endmodule
