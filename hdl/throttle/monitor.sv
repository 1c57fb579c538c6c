// # DWT-CS monitor of a core
// Counts misses and thread instructions and reports them at the end of every period (khairy2015 section 4.2).
// Holds the limit on the warps that the core's schedulers may issue.
//
// In one cycle, in this order; each port sees the results of those before it:
//
// | port       | contract                                                                                |
// |------------|-----------------------------------------------------------------------------------------|
// | 1 `runs`   | a cycle in which a kernel runs: `ends_period` if a period ended with the previous cycle |
// | 2 `obey`   | an order of the coordinator: try `obey_limit` (0), or keep it (1)                       |
// | 3 `missed` | the L1D missed                                                                          |
// | 4 `issued` | number of thread instructions issued in this cycle                                      |
// | 5 `stops`  | the kernel ends with this cycle                                                         |
// | `load`     | a kernel arrives, in a cycle in which none runs                                         |
//
// With `ends_period`, `may_close` is set if the L1D's misses may count as streaming. `reports` is set if the
// counts go to the coordinator, and `reports_sample` if they are of a sample. The counts restart after the
// period.
// MONITOR reports every period, SAMPLING once after its periods; WAIT and FIXED report nothing and count no
// instructions.
// With PERSISTS timer, counts and phase are kept for the next launch of the same kernel; otherwise they are
// reset when a kernel ends.
// `now_limit` is valid while a kernel runs. The timer counts the remaining cycles of the period; it stops
// while no kernel runs.
module monitor #(
    parameter int MOST = 24,
    parameter int PERIOD = 10000,
    parameter int MPKI = 10,
    parameter int SAMPLE = 3,
    parameter bit PERSISTS = 0
) (
    input  logic        clk,
    input  logic        rst,
    input  logic        runs,
    output logic        ends_period,
    output logic        may_close,
    output logic        reports,
    output logic        reports_sample,
    output logic [19:0] report_misses,
    output logic [23:0] report_instructions,
    input  logic        obey_valid,
    input  logic        obey_fixed,
    input  logic [6:0]  obey_limit,
    input  logic        missed,
    input  logic [7:0]  issued,
    input  logic        stops,
    output logic [6:0]  now_limit,
    input  logic        load_valid,
    input  logic [15:0] load_key
);
  localparam logic [1:0] MONITOR = 0, SAMPLING = 1, WAIT = 2, FIXED = 3;

  // Threshold of misses per thousand instructions as a fraction in lowest terms, which keeps the products
  // narrow.
  function automatic int common(input int a, input int b);
    common = 1;
    for (int d = 2; d <= b; d++) if (a % d == 0 && b % d == 0) common = d;
  endfunction
  localparam int PER_MISS = 1000 / common(1000, MPKI), PER_INSTRUCTION = MPKI / common(1000, MPKI);

  if (1) begin : dwt
    (* fsm_encoding = "none" *)
    logic [1:0]  phase;
    logic [6:0]  limit;
    logic        timer_runs;
    logic [13:0] timer;
    logic [19:0] misses;
    logic [23:0] instructions;
    logic [2:0]  sampled;
    logic [15:0] key;

    // 1: end of a period.
    wire end_1 = timer_runs && timer == 0;
    wire is_above = 34'(PER_MISS) * 34'(misses) > 34'(PER_INSTRUCTION) * 34'(instructions);
    wire over = end_1 && phase == SAMPLING && sampled + 3'd1 == 3'(SAMPLE);
    wire [1:0]  phase_1 = over ? WAIT : phase;
    wire [13:0] left_1 = end_1 ? 14'(PERIOD) : timer;
    wire [2:0]  sampled_1 = sampled + 3'(end_1 && phase == SAMPLING);
    wire [19:0] misses_1 = end_1 ? '0 : misses;
    wire [23:0] instructions_1 = end_1 && phase == MONITOR ? '0 : instructions;

    // 2: an order.
    wire samples = obey_valid && !obey_fixed;
    wire [1:0]  phase_2 = !obey_valid ? phase_1 : obey_fixed ? FIXED : SAMPLING;
    wire [6:0]  limit_2 = obey_valid ? obey_limit : limit;
    wire [13:0] left_2 = samples ? 14'(PERIOD) : left_1;
    wire [2:0]  sampled_2 = samples ? '0 : sampled_1;
    wire [19:0] misses_2 = obey_valid ? '0 : misses_1;
    wire [23:0] instructions_2 = obey_valid ? '0 : instructions_1;

    // 3 and 4: counts.
    wire counts = phase_2 == MONITOR || phase_2 == SAMPLING;
    wire [19:0] misses_3 = misses_2 + 20'(missed);
    wire [23:0] instructions_4 = instructions_2 + (counts ? 24'(issued) : '0);

    // 5: end of the kernel, and arrival of the next one.
    wire forgets = stops && !PERSISTS || load_valid && (!PERSISTS || load_key != key);

    always_ff @(posedge clk)
      if (rst || forgets) begin
        phase <= MONITOR;
        limit <= 7'(MOST);
        timer_runs <= 0;
        timer <= 14'(PERIOD);
        misses <= '0;
        instructions <= '0;
        sampled <= '0;
      end else begin
        phase <= phase_2;
        limit <= limit_2;
        timer_runs <= (timer_runs || runs) && !stops;
        timer <= left_2 - 14'(runs && !stops);
        misses <= misses_3;
        instructions <= instructions_4;
        sampled <= sampled_2;
      end
    always_ff @(posedge clk)
      if (rst) key <= '0;
      else if (load_valid) key <= load_key;
      else if (forgets) key <= '0;
  end

  assign ends_period = dwt.end_1;
  assign may_close = dwt.phase == MONITOR ? !dwt.is_above : dwt.phase == FIXED && dwt.limit == 7'(MOST);
  assign reports = dwt.end_1 && dwt.phase == MONITOR || dwt.over;
  assign reports_sample = dwt.phase == SAMPLING;
  assign report_misses = dwt.misses;
  assign report_instructions = dwt.instructions;
  assign now_limit = dwt.limit_2;
endmodule
