// SPDX-License-Identifier: MIT OR Apache-2.0
// # Streaming monitor
// Detects streaming accesses by the miss rate of a period, and closes the cache while it is useless
// (khairy2015 section 4.1). While the cache is closed, loads bypass it. The tags are still updated, so that
// their miss rate shows when the cache becomes useful again.
//
// The ports act in the order of their numbers within one cycle. Each port is used at most once per cycle and
// sees the results of the ports before it:
//
// | port        | contract                                                                   |
// |-------------|----------------------------------------------------------------------------|
// | 1 `ends_i`  | a period ends; without `may_close_i` the cache opens; only with PERIOD = 0 |
// | 2 `count_i` | an accepted load, and whether it missed                                    |
//
// With PERIOD > 0, a period ends every PERIOD cycles, and the cache may close at the end of every period.
// `is_closed_o` is the state in this cycle; if a period ends in this cycle, it is the new state. `opens_o` is
// set if the cache was closed in the previous cycle and is open in this one.
// At the end of a period, an open cache closes if more than MISS_PERCENT of the accesses missed. A closed
// cache opens if less than MISS_PERCENT of them missed. If exactly MISS_PERCENT missed, or if there were
// fewer than MIN_ACCESSES accesses, the state is unchanged. The counters saturate at 14 bits.
module ws_cells_streaming #(
    parameter int PERIOD = 10000,
    parameter int MISS_PERCENT = 90,
    parameter int MIN_ACCESSES = 32
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic ends_i,
    input  logic may_close_i,
    input  logic count_i,
    input  logic missed_i,
    output logic is_closed_o,
    output logic opens_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (PERIOD < 0 || PERIOD > 16384) begin : g_refuse_period
    $error("PERIOD is %0d, expected 0 to 16384", PERIOD);
  end
  if (MISS_PERCENT < 0 || MISS_PERCENT > 100) begin : g_refuse_miss_percent
    $error("MISS_PERCENT is %0d, expected 0 to 100", MISS_PERCENT);
  end
  if (MIN_ACCESSES < 0 || MIN_ACCESSES > 16383) begin : g_refuse_min_accesses
    $error("MIN_ACCESSES is %0d, expected 0 to 16383", MIN_ACCESSES);
  end
`endif

  logic        closed_q;
  logic [13:0] accesses_q, misses_q;

  // Step 1, port `ends_i`: end of a period, in which the cache opens or closes.
  logic end_1, may_close_1;
  if (PERIOD == 0) begin : g_ports
    assign {end_1, may_close_1} = {ends_i, may_close_i};
  end else begin : g_own
    wire unused = &{1'b0, ends_i, may_close_i};
    logic [13:0] timer_q;
    assign {end_1, may_close_1} = {timer_q == 0, 1'b1};
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) timer_q <= 14'(PERIOD - 1);
      else if (end_1) timer_q <= 14'(PERIOD - 1);
      else timer_q <= timer_q - 1'b1;
  end
  wire [20:0] rate = 21'(misses_q) * 21'd100;
  wire [20:0] bound = 21'(accesses_q) * 21'(MISS_PERCENT);
  wire decided = may_close_1 && (accesses_q < 14'(MIN_ACCESSES) ? closed_q : closed_q ? rate >= bound : rate > bound);
  assign is_closed_o = end_1 ? decided : closed_q;
  assign opens_o = closed_q && !is_closed_o;

  // Step 2, port `count_i`: counts an access, in the new period if a period ends in this cycle.
  wire [13:0] accesses_1 = end_1 ? '0 : accesses_q;
  wire [13:0] misses_1 = end_1 ? '0 : misses_q;
  wire counts = count_i && accesses_1 != '1;

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      closed_q <= 0;
      accesses_q <= '0;
      misses_q <= '0;
    end else begin
      closed_q <= is_closed_o;
      accesses_q <= accesses_1 + 14'(counts);
      misses_q <= misses_1 + 14'(counts && missed_i);
    end
endmodule
