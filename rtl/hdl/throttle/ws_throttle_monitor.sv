// SPDX-License-Identifier: MIT OR Apache-2.0
// # DWT-CS monitor of a core
// Counts misses and thread instructions and reports them at the end of every period (khairy2015 section 4.2).
// Holds the limit on the warps that the core's schedulers may issue.
//
// The ports act in the order of their numbers within one cycle, and each port sees the results of the ports
// before it:
//
// | port         | contract                                                                                  |
// |--------------|-------------------------------------------------------------------------------------------|
// | 1 `runs_i`   | a cycle in which a kernel runs: `ends_period_o` if a period ended with the previous cycle |
// | 2 `obey`     | an order of the coordinator: try `obey_limit_i` (0), or keep it (1)                       |
// | 3 `missed_i` | the L1D missed                                                                            |
// | 4 `issued_i` | number of thread instructions issued in this cycle                                        |
// | 5 `stops_i`  | the kernel ends with this cycle                                                           |
// | `load`       | a kernel arrives, in a cycle in which none runs                                           |
//
// With `ends_period_o`, `may_close_o` is set if the L1D's misses may count as streaming. `reports_o` is set
// if the counts go to the coordinator, and `reports_sample_o` if they are the counts of a sample. The counts
// restart after the period.
// In phase MONITOR, the counts are reported after every period, and in phase SAMPLING once, after the periods
// of the sample. In phases WAIT and FIXED, nothing is reported and no instructions are counted.
// With PERSISTS, the timer, counts and phase are kept for the next launch of the same kernel. Otherwise they
// are reset when a kernel ends.
// `now_limit_o` is valid while a kernel runs. The timer counts the remaining cycles of the period; it stops
// while no kernel runs.
module ws_throttle_monitor #(
    parameter int MOST = 24,
    parameter int PERIOD = 10000,
    parameter int MPKI = 10,
    parameter int SAMPLE = 3,
    parameter bit PERSISTS = 0
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        runs_i,
    output logic        ends_period_o,
    output logic        may_close_o,
    output logic        reports_o,
    output logic        reports_sample_o,
    output logic [19:0] report_misses_o,
    output logic [23:0] report_instructions_o,
    input  logic        obey_valid_i,
    input  logic        obey_fixed_i,
    input  logic [6:0]  obey_limit_i,
    input  logic        missed_i,
    input  logic [7:0]  issued_i,
    input  logic        stops_i,
    output logic [6:0]  now_limit_o,
    input  logic        load_valid_i,
    input  logic [15:0] load_key_i
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (MOST < 1 || MOST > 127) begin : g_refuse_most
    $error("MOST is %0d, expected 1 to 127", MOST);
  end
  if (PERIOD < 1 || PERIOD > 16383) begin : g_refuse_period
    $error("PERIOD is %0d, expected 1 to 16383", PERIOD);
  end
  if (MPKI < 1 || MPKI > 1000) begin : g_refuse_mpki
    $error("MPKI is %0d, expected 1 to 1000", MPKI);
  end
  if (SAMPLE < 1 || SAMPLE > 7) begin : g_refuse_sample
    $error("SAMPLE is %0d, expected 1 to 7", SAMPLE);
  end
`endif

  localparam logic [1:0] MONITOR = 0, SAMPLING = 1, WAIT = 2, FIXED = 3;

  // The threshold of misses per thousand instructions is a fraction in lowest terms, which keeps the products
  // narrow. `common` returns the greatest common divisor of `a` and `b`.
  function automatic int common(input int a, input int b);
    common = 1;
    for (int d = 2; d <= b; d++) if (a % d == 0 && b % d == 0) common = d;
  endfunction
  localparam int PER_MISS = 1000 / common(1000, MPKI), PER_INSTRUCTION = MPKI / common(1000, MPKI);

  if (1) begin : dwt
    (* fsm_encoding = "none" *)
    logic [1:0]  phase_q;
    logic [6:0]  limit_q;
    logic        timer_runs_q;
    logic [13:0] timer_q;
    logic [19:0] misses_q;
    logic [23:0] instructions_q;
    logic [2:0]  sampled_q;
    logic [15:0] key_q;

    // Step 1, port `runs_i`: ends a period if the previous cycle was the last one of the period.
    wire end_1 = timer_runs_q && timer_q == 0;
    wire is_above = 34'(PER_MISS) * 34'(misses_q) > 34'(PER_INSTRUCTION) * 34'(instructions_q);
    wire over = end_1 && phase_q == SAMPLING && sampled_q + 3'd1 == 3'(SAMPLE);
    wire [1:0]  phase_1 = over ? WAIT : phase_q;
    wire [13:0] left_1 = end_1 ? 14'(PERIOD) : timer_q;
    wire [2:0]  sampled_1 = sampled_q + 3'(end_1 && phase_q == SAMPLING);
    wire [19:0] misses_1 = end_1 ? '0 : misses_q;
    wire [23:0] instructions_1 = end_1 && phase_q == MONITOR ? '0 : instructions_q;

    // Step 2, port `obey`: applies an order of the coordinator.
    wire samples = obey_valid_i && !obey_fixed_i;
    wire [1:0]  phase_2 = !obey_valid_i ? phase_1 : obey_fixed_i ? FIXED : SAMPLING;
    wire [6:0]  limit_2 = obey_valid_i ? obey_limit_i : limit_q;
    wire [13:0] left_2 = samples ? 14'(PERIOD) : left_1;
    wire [2:0]  sampled_2 = samples ? '0 : sampled_1;
    wire [19:0] misses_2 = obey_valid_i ? '0 : misses_1;
    wire [23:0] instructions_2 = obey_valid_i ? '0 : instructions_1;

    // Steps 3 and 4, ports `missed_i` and `issued_i`: count L1D misses and issued thread instructions.
    wire counts = phase_2 == MONITOR || phase_2 == SAMPLING;
    wire [19:0] misses_3 = misses_2 + 20'(missed_i);
    wire [23:0] instructions_4 = instructions_2 + (counts ? 24'(issued_i) : '0);

    // Step 5, port `stops_i`: the kernel ends. Then port `load`: the next kernel arrives.
    wire forgets = stops_i && !PERSISTS || load_valid_i && (!PERSISTS || load_key_i != key_q);

    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) begin
        phase_q <= MONITOR;
        {timer_runs_q, misses_q, instructions_q, sampled_q} <= '0;
        {limit_q, timer_q} <= {7'(MOST), 14'(PERIOD)};
      end else if (forgets) begin
        phase_q <= MONITOR;
        {timer_runs_q, misses_q, instructions_q, sampled_q} <= '0;
        {limit_q, timer_q} <= {7'(MOST), 14'(PERIOD)};
      end else begin
        phase_q <= phase_2;
        limit_q <= limit_2;
        timer_runs_q <= (timer_runs_q || runs_i) && !stops_i;
        timer_q <= left_2 - 14'(runs_i && !stops_i);
        misses_q <= misses_3;
        instructions_q <= instructions_4;
        sampled_q <= sampled_2;
      end
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) key_q <= '0;
      else if (load_valid_i) key_q <= load_key_i;
      else if (forgets) key_q <= '0;
  end

  assign ends_period_o = dwt.end_1;
  assign may_close_o = dwt.phase_q == MONITOR ? !dwt.is_above : dwt.phase_q == FIXED && dwt.limit_q == 7'(MOST);
  assign reports_o = dwt.end_1 && dwt.phase_q == MONITOR || dwt.over;
  assign reports_sample_o = dwt.phase_q == SAMPLING;
  assign report_misses_o = dwt.misses_q;
  assign report_instructions_o = dwt.instructions_q;
  assign now_limit_o = dwt.limit_2;
endmodule
