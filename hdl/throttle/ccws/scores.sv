// # CCWS scores of a core
// Gives warps that lose locality the cache to themselves for a while: their scores rise, and warps whose scores no longer fit below
// the cutoff may not load (khairy2015 section 5, Table 4, of Rogers et al.'s cache-conscious wavefront scheduling).
//
// One cycle, in this order; each sees what those before it did:
//
// | port       | contract                                                                                     |
// |------------|----------------------------------------------------------------------------------------------|
// | 1 `lost`   | `lost_warp` has missed a line that it had lost, while the warps of `lost_live` run                |
// | 2 `starts` | a bit a warp: it begins                                                                       |
// | 3 `issued` | a bit a warp: it has issued an instruction, or a part of one                                   |
// | 4 `live`   | a bit a warp: it runs as the cycle ends; `admitted` are those that may load in the next          |
//
// A score is BASE or more and loses one a cycle above it. An event makes it `hits * K * cutoff / instructions`, rounded down, 2^18 - 1 at
// most, whatever it was. Hits and instructions are those of all warps that run, this event among the hits if its warp does, and the
// cutoff is BASE for each of these.
// Warps are admitted from the highest score down, equal ones from the lowest number, until the scores of those before reach the cutoff.
// `now_scores` has the scores of this cycle, warp 0 lowest.
// Latency: none. The division takes 18 subtractions one behind the other, and a warp is ranked by adding the scores of all before
// it: this is what the part does in a cycle, at whatever clock. An event comes cycles after its miss, so that a machine could take more.
module scores #(
    parameter int WARPS = 48,
    parameter int BASE = 100,
    parameter int K = 8,
    localparam int W_BITS = WARPS < 2 ? 1 : $clog2(WARPS)
) (
    input  logic                clk,
    input  logic                rst,
    input  logic                lost_valid,
    input  logic [W_BITS-1:0]   lost_warp,
    input  logic [WARPS-1:0]    lost_live,
    input  logic [WARPS-1:0]    starts,
    input  logic [WARPS-1:0]    issued,
    input  logic [WARPS-1:0]    live,
    output logic [WARPS-1:0]    admitted,
    output logic [WARPS*18-1:0] now_scores
);
  localparam int COUNT = $clog2(WARPS + 1), SUM = 32 + COUNT, TOTAL = 18 + COUNT;
  // What hits are weighed with, of all warps; and the dividend.
  localparam int WEIGHT = $clog2(K * BASE * WARPS + 1), WORTH = SUM + WEIGHT;

  logic [17:0] score_3 [WARPS];
  if (1) begin : ccws
    logic [31:0] hits         [WARPS];
    logic [31:0] instructions [WARPS];
    logic [17:0] score        [WARPS];

    // 1: what an event is worth.
    logic [SUM-1:0]   all_hits, all_instructions, divisor;
    logic [COUNT-1:0] running;
    logic [WARPS-1:0] loses;
    always_comb begin
      all_hits = SUM'(lost_valid && lost_live[lost_warp]);
      all_instructions = '0;
      running = '0;
      for (int w = 0; w < WARPS; w++) begin
        loses[w] = lost_valid && lost_warp == W_BITS'(w);
        if (lost_live[w]) begin
          all_hits += SUM'(hits[w]);
          all_instructions += SUM'(instructions[w]);
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
        rest = {rest[SUM-1:0], dividend[b]};
        worth[b] = rest >= {1'b0, divisor};
        if (worth[b]) rest -= {1'b0, divisor};
      end
      if (dividend >> 18 >= WORTH'(divisor)) worth = '1;
      if (worth < 18'(BASE)) worth = 18'(BASE);
    end

    // 2 and 3: counts, and the scores of the next cycle.
    for (genvar w = 0; w < WARPS; w++) begin : g_warp
      wire [17:0] score_2 = starts[w] ? 18'(BASE) : loses[w] ? worth : score[w];
      assign score_3[w] = score_2 == 18'(BASE) ? score_2 : score_2 - 1'b1;
      assign now_scores[w*18+:18] = score[w];
      always_ff @(posedge clk)
        if (rst) begin
          hits[w] <= '0;
          instructions[w] <= '0;
          score[w] <= 18'(BASE);
        end else begin
          hits[w] <= starts[w] ? '0 : hits[w] + 32'(loses[w]);
          instructions[w] <= starts[w] ? 32'(issued[w]) : instructions[w] + 32'(issued[w]);
          score[w] <= score_3[w];
        end
    end
  end

  // 4: those whose scores fit.
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
    for (int w = 0; w < WARPS; w++) if (live[w]) cutoff += TOTAL'(BASE);
    for (int w = 0; w < WARPS; w++) begin
      sum = '0;
      for (int v = 0; v < WARPS; v++) if (ahead[w*WARPS+v] && live[v]) sum += TOTAL'(score_3[v]);
      admitted[w] = live[w] && sum < cutoff;
    end
  end
endmodule
