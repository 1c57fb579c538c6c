// SPDX-License-Identifier: MIT OR Apache-2.0
// # DWT-CS coordinator
// Detects from the counts of all cores that the L1Ds thrash, and finds the best limit on warps by sampling
// (khairy2015 section 4.2). Each core tries a different limit. Then all cores use the limit of the core that
// executed the most instructions.
//
// The ports act in the order of their numbers within one cycle:
//
// | port       | contract                                                                                                                |
// |------------|-------------------------------------------------------------------------------------------------------------------------|
// | 1 `report` | one bit per core: its counts, of a sample or of a period; once per core before each order                               |
// | 2 `order`  | sent, if needed, once all cores have reported: each core tries its own `order_limits_o`, or keeps it if `order_fixed_o` |
// | 3 `load`   | a kernel arrives; only while none runs                                                                                  |
//
// In the first round, core i, counted from 1, tries a limit of i warps per scheduler. If the highest limit of
// a round wins, the next round tries higher limits, except that the last core keeps the winner. If two counts
// are equal, the lower limit wins. If no core executed any instruction, no warp is throttled.
// A report of another kind (sample or period) than the expected one is late, and is ignored.
// TRIGGER selects whose misses start the sampling: those of all cores together (0), of any single core (1),
// or of core COORDINATOR (2). With PERSISTS the search continues in the next launch of the same kernel.
// Latency: the answer to the last report is sent in the cycle in which the report arrives. The reports of one
// cycle pass through a chain of adders and comparators.
module ws_throttle_coordinator #(
    parameter int CORES = 15,
    parameter int MOST = 24,
    parameter int MPKI = 10,
    parameter int ABOVE = 3,
    parameter int TRIGGER = 0,
    parameter int COORDINATOR = 8,
    parameter int MEMO = 8,
    parameter bit PERSISTS = 0
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic [CORES-1:0]    report_valid_i,
    input  logic [CORES-1:0]    report_sample_i,
    input  logic [CORES*20-1:0] report_misses_i,
    input  logic [CORES*24-1:0] report_instructions_i,
    output logic                order_valid_o,
    output logic                order_fixed_o,
    output logic [CORES*7-1:0]  order_limits_o,
    input  logic                load_valid_i,
    input  logic [15:0]         load_key_i
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (CORES < 1) begin : g_refuse_cores
    $error("CORES is %0d, expected 1 or more", CORES);
  end
  if (MOST < 1 || MOST > 127) begin : g_refuse_most
    $error("MOST is %0d, expected 1 to 127", MOST);
  end
  if (MPKI < 1 || MPKI > 1000) begin : g_refuse_mpki
    $error("MPKI is %0d, expected 1 to 1000", MPKI);
  end
  if (ABOVE < 1 || ABOVE > 7) begin : g_refuse_above
    $error("ABOVE is %0d, expected 1 to 7", ABOVE);
  end
  if (TRIGGER < 0 || TRIGGER > 2) begin : g_refuse_trigger
    $error("TRIGGER is %0d, expected 0 (all cores), 1 (any core) or 2 (one core)", TRIGGER);
  end
  if (TRIGGER == 2 && (COORDINATOR < 1 || COORDINATOR > CORES)) begin : g_refuse_coordinator
    $error("COORDINATOR is %0d, expected 1 to CORES", COORDINATOR);
  end
  if (MEMO < 1 || MEMO > 64) begin : g_refuse_memo
    $error("MEMO is %0d, expected 1 to 64", MEMO);
  end
`endif

  localparam logic [1:0] MONITOR = 0, SAMPLE = 1, FIXED = 2;

  (* fsm_encoding = "none" *)
  logic [1:0]       phase_q;
  logic [15:0]      key_q;
  logic [CORES-1:0] got_q;
  logic [27:0]      misses_q;
  logic [31:0]      instructions_q;
  logic             hot_q;
  logic [2:0]       streak_q;
  logic [6:0]       base_q, best_limit_q;
  logic [23:0]      best_count_q;

  // Returns the warp limit that core number `core` tries in a round. The limits of the round start above the
  // limit `from`.
  function automatic [6:0] limit_in(input int core, input [6:0] from);
    int up;
    up = 32'(from) + core + 1;
    if (from == 0) limit_in = core + 1 < MOST ? 7'(core + 1) : 7'(MOST);
    else limit_in = up <= MOST && (core + 1 < CORES || CORES == 1) ? 7'(up) : from;
  endfunction

  // The threshold of misses per thousand instructions is a fraction in lowest terms, which keeps the products
  // narrow. `common` returns the greatest common divisor of `a` and `b`.
  function automatic int common(input int a, input int b);
    common = 1;
    for (int d = 2; d <= b; d++) if (a % d == 0 && b % d == 0) common = d;
  endfunction
  localparam int PER_MISS = 1000 / common(1000, MPKI), PER_INSTRUCTION = MPKI / common(1000, MPKI);

  function automatic is_above(input [27:0] m, input [31:0] i);
    is_above = 42'(PER_MISS) * 42'(m) > 42'(PER_INSTRUCTION) * 42'(i);
  endfunction

  // Step 1, port `report`: adds the reports of all cores, from the first core to the last.
  logic [CORES-1:0] got_1;
  logic [27:0]      misses_1;
  logic [31:0]      instructions_1;
  logic             hot_1;
  logic [23:0]      best_count_1;
  logic [6:0]       best_limit_1, highest;
  always_comb begin
    got_1 = got_q;
    {misses_1, instructions_1, hot_1} = {misses_q, instructions_q, hot_q};
    {best_count_1, best_limit_1} = {best_count_q, best_limit_q};
    highest = '0;
    for (int c = 0; c < CORES; c++) begin
      if (limit_in(c, base_q) > highest) highest = limit_in(c, base_q);
      if (report_valid_i[c] && report_sample_i[c] == (phase_q == SAMPLE)) begin
        got_1[c] = 1;
        if (phase_q == SAMPLE) begin
          // The best count and its limit are initially 0. A core that executed no instructions cannot win:
          // its count is not greater than 0, and its limit is not less than 0.
          if (report_instructions_i[c*24+:24] > best_count_1
              || report_instructions_i[c*24+:24] == best_count_1 && limit_in(c, base_q) < best_limit_1)
            {best_count_1, best_limit_1} = {report_instructions_i[c*24+:24], limit_in(c, base_q)};
        end else begin
          misses_1 = misses_1 + 28'(report_misses_i[c*20+:20]);
          instructions_1 = instructions_1 + 32'(report_instructions_i[c*24+:24]);
          if (TRIGGER == 1 || TRIGGER == 2 && c + 1 == COORDINATOR)
            hot_1 |= is_above(28'(report_misses_i[c*20+:20]), 32'(report_instructions_i[c*24+:24]));
        end
      end
    end
  end

  // Step 2, port `order`: sends an order, if needed, once all cores have reported.
  wire        all = &got_1;
  wire        ends_sample = all && phase_q == SAMPLE;
  wire        ends_period = all && phase_q != SAMPLE;
  wire        found = best_count_1 != 0;
  wire        goes_on = ends_sample && found && best_limit_1 == highest && highest < 7'(MOST);
  wire        notes = ends_sample && found && !goes_on;
  wire        above = hot_1 || TRIGGER == 0 && is_above(misses_1, instructions_1);
  wire [2:0]  streak_1 = above ? streak_q + 1'b1 : '0;
  wire        thrashes = ends_period && streak_1 >= 3'(ABOVE);
  logic       is_known;
  logic [6:0] known;
  wire        samples = goes_on || thrashes && !is_known;
  wire [6:0]  base_d = goes_on ? highest : thrashes ? (is_known ? known : '0) : found ? best_limit_1 : 7'(MOST);
  assign order_valid_o = ends_sample || thrashes;
  assign order_fixed_o = !samples;
  always_comb
    for (int c = 0; c < CORES; c++) order_limits_o[c*7+:7] = samples ? limit_in(c, base_d) : base_d;

  // Step 3, port `load`: a kernel arrives.
  wire forgets = load_valid_i && (!PERSISTS || load_key_i != key_q);
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      phase_q <= MONITOR;
      {got_q, misses_q, instructions_q, hot_q, streak_q, base_q, best_count_q, best_limit_q} <= '0;
    end else if (forgets) begin
      phase_q <= MONITOR;
      {got_q, misses_q, instructions_q, hot_q, streak_q, base_q, best_count_q, best_limit_q} <= '0;
    end else begin
      if (order_valid_o) {phase_q, base_q} <= {samples ? SAMPLE : FIXED, base_d};
      got_q <= all ? '0 : got_1;
      {misses_q, instructions_q, hot_q} <= all ? '0 : {misses_1, instructions_1, hot_1};
      if (ends_period) streak_q <= thrashes ? '0 : streak_1;
      {best_count_q, best_limit_q} <= samples && CORES > 1 ? '0 : {best_count_1, best_limit_1};
    end
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) key_q <= '0;
    else if (load_valid_i) key_q <= load_key_i;

  // Table of the warp limits found for the last sampled kernels, replaced first in, first out. Its registers
  // reuse names of the enclosing scope.
  wire [15:0] noted_key = key_q;
  // verilator lint_off VARHIDDEN
  if (1) begin : memo
    logic [5:0]      next_q;
    logic [MEMO-1:0] valid_q;
    logic [15:0]     key_q   [MEMO];
    logic [6:0]      limit_q [MEMO];
    always_comb begin
      is_known = 0;
      known = '0;
      for (int e = MEMO - 1; e >= 0; e--)
        if (valid_q[e] && key_q[e] == noted_key) begin
          is_known = 1;
          known = limit_q[e];
        end
    end
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) begin
        next_q <= '0;
        valid_q <= '0;
        for (int e = 0; e < MEMO; e++) {key_q[e], limit_q[e]} <= '0;
      end else if (notes) begin
        next_q <= 32'(next_q) == MEMO - 1 ? '0 : next_q + 1'b1;
        for (int e = 0; e < MEMO; e++)
          if (next_q == 6'(e)) begin
            valid_q[e] <= 1;
            {key_q[e], limit_q[e]} <= {noted_key, best_limit_1};
          end
      end
  end
  // verilator lint_on VARHIDDEN
endmodule
