// SPDX-License-Identifier: MIT OR Apache-2.0
// # SM dueling
// Measures at run time whether the decoupled or an ordinary L1D serves a kernel better, and switches the SMs
// accordingly (li2015 section 4.3, Table 3). SM 0 leads with the decoupled L1D, SM 1 leads in the original
// mode, and the other SMs follow the leader with fewer misses.
//
// The ports act in the order of their numbers within one cycle:
//
// | port     | dir | contract                                                                                              |
// |----------|-----|-------------------------------------------------------------------------------------------------------|
// | 1 `mode` | out | at the end of an interval: bit s of `mode_valid_o` is set if SM s changes to `mode_original_o`        |
// | 2 `seen` | in  | one bit per leader: its L1D accepted a load, and whether the load missed; counts for the new interval |
//
// The original mode wins if its miss rate is lower than the miss rate of the decoupled L1D, by a margin of
// more than MARGIN percent of the original mode's miss rate. With IN_POINTS, the margin is MARGIN percentage
// points. Rates are compared as products, without a division. If a leader made fewer than MIN_ACCESSES
// accesses in an interval, the modes stay unchanged. With JOIN_ONCE, the first decision also applies to the
// leaders, and there is no later one.
module ws_l1_dueling #(
    parameter int NUM_SMS = 15,
    parameter int INTERVAL = 500,
    parameter int MARGIN = 10,
    parameter bit IN_POINTS = 0,
    parameter int MIN_ACCESSES = 16,
    parameter bit JOIN_ONCE = 0,
    localparam int C_BITS = $clog2(INTERVAL + 1)
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    output logic [NUM_SMS-1:0] mode_valid_o,
    output logic               mode_original_o,
    input  logic [1:0]         seen_valid_i,
    input  logic [1:0]         seen_missed_i
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (NUM_SMS < 2) begin : g_refuse_num_sms
    $error("NUM_SMS is %0d, expected 2 or more", NUM_SMS);
  end
  if (INTERVAL < 1) begin : g_refuse_interval
    $error("INTERVAL is %0d, expected 1 or more", INTERVAL);
  end
  if (MARGIN < 0 || MARGIN > 100) begin : g_refuse_margin
    $error("MARGIN is %0d, expected 0 to 100", MARGIN);
  end
  if (MIN_ACCESSES < 0 || MIN_ACCESSES > INTERVAL) begin : g_refuse_min_accesses
    $error("MIN_ACCESSES is %0d, expected 0 to INTERVAL", MIN_ACCESSES);
  end
`endif

  // Width in bits of a product of two counts and a factor of at most 200.
  localparam int P_BITS = 2 * C_BITS + 8;

  logic [C_BITS-1:0] new_accesses_q, new_misses_q, original_accesses_q, original_misses_q;
  logic [C_BITS-1:0] timer_q;
  logic              original_q, decided_q;

  // Step 1, port `mode`: at the end of an interval, decides which mode wins.
  wire end_1 = timer_q == 0;
  wire [P_BITS-1:0] m0_a1 = P_BITS'(new_misses_q) * P_BITS'(original_accesses_q);
  wire [P_BITS-1:0] m1_a0 = P_BITS'(original_misses_q) * P_BITS'(new_accesses_q);
  wire [P_BITS-1:0] a0_a1 = P_BITS'(new_accesses_q) * P_BITS'(original_accesses_q);
  wire [P_BITS-1:0] margin = P_BITS'(MARGIN) * (IN_POINTS ? a0_a1 : m1_a0);
  wire wins = P_BITS'(100) * m0_a1 > P_BITS'(100) * m1_a0 + margin;
  wire enough = new_accesses_q >= C_BITS'(MIN_ACCESSES) && original_accesses_q >= C_BITS'(MIN_ACCESSES);
  wire decides = end_1 && !decided_q && enough;
  assign mode_original_o = wins;
  for (genvar s = 0; s < NUM_SMS; s++) begin : g_sm
    if (s == 0) assign mode_valid_o[s] = decides && JOIN_ONCE && wins;
    else if (s == 1) assign mode_valid_o[s] = decides && JOIN_ONCE && !wins;
    else assign mode_valid_o[s] = decides && original_q != wins;
  end

  // Step 2, port `seen`: counts the loads of the leaders.
  function automatic [C_BITS-1:0] counted(input [C_BITS-1:0] count, input up);
    counted = (end_1 ? '0 : count) + C_BITS'(up);
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      {new_accesses_q, new_misses_q, original_accesses_q, original_misses_q} <= '0;
      timer_q <= C_BITS'(INTERVAL - 1);
      original_q <= 1;
      decided_q <= 0;
    end else begin
      new_accesses_q <= counted(new_accesses_q, seen_valid_i[0]);
      new_misses_q <= counted(new_misses_q, seen_valid_i[0] && seen_missed_i[0]);
      original_accesses_q <= counted(original_accesses_q, seen_valid_i[1]);
      original_misses_q <= counted(original_misses_q, seen_valid_i[1] && seen_missed_i[1]);
      timer_q <= end_1 ? C_BITS'(INTERVAL - 1) : timer_q - 1'b1;
      if (decides) original_q <= wins;
      decided_q <= decided_q || decides && JOIN_ONCE;
    end
endmodule
