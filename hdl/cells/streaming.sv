// # Streaming monitor
// Detects streaming access from the miss rate of a period, and closes the cache if it is useless (khairy2015
// section 4.1). While the cache is closed, loads bypass it. Its tags continue to be updated, so that the miss
// rate shows when the cache would be useful again.
//
// In one cycle, in this order; each port is used at most once, and the second sees the result of the first:
//
// | port      | contract                                                                 |
// |-----------|--------------------------------------------------------------------------|
// | 1 `ends`  | a period ends; without `may_close` the cache opens; only with PERIOD = 0 |
// | 2 `count` | an accepted load, and whether it missed                                  |
//
// With any other PERIOD, a period ends every PERIOD cycles, and the cache may always close.
// `is_closed` is the state in this cycle, after a period that ends in it. `opens` is set if the cache was
// closed until now.
// At the end of a period, an open cache closes if more than MISS_PERCENT of the accesses missed. A closed
// cache opens if fewer did. At equality, or with fewer than MIN_ACCESSES accesses, the state is unchanged.
// The counters saturate at 14 bits.
module streaming #(
    parameter int PERIOD = 10000,
    parameter int MISS_PERCENT = 90,
    parameter int MIN_ACCESSES = 32
) (
    input  logic clk,
    input  logic rst,
    input  logic ends,
    input  logic may_close,
    input  logic count,
    input  logic missed,
    output logic is_closed,
    output logic opens
);
  logic        closed;
  logic [13:0] accesses, misses;

  // 1: end of a period.
  logic end_1, may_close_1;
  if (PERIOD == 0) begin : g_ports
    assign {end_1, may_close_1} = {ends, may_close};
  end else begin : g_own
    wire unused = &{1'b0, ends, may_close};
    logic [13:0] timer;
    assign {end_1, may_close_1} = {timer == 0, 1'b1};
    always_ff @(posedge clk)
      if (rst || end_1) timer <= 14'(PERIOD - 1);
      else timer <= timer - 1'b1;
  end
  wire [20:0] rate = 21'(misses) * 21'd100;
  wire [20:0] bound = 21'(accesses) * 21'(MISS_PERCENT);
  wire decided = may_close_1 && (accesses < 14'(MIN_ACCESSES) ? closed : closed ? rate >= bound : rate > bound);
  assign is_closed = end_1 ? decided : closed;
  assign opens = closed && !is_closed;

  // 2: count of an access.
  wire [13:0] accesses_1 = end_1 ? '0 : accesses;
  wire [13:0] misses_1 = end_1 ? '0 : misses;
  wire counts = count && accesses_1 != '1;

  always_ff @(posedge clk)
    if (rst) begin
      closed <= 0;
      accesses <= '0;
      misses <= '0;
    end else begin
      closed <= is_closed;
      accesses <= accesses_1 + 14'(counts);
      misses <= misses_1 + 14'(counts && missed);
    end
endmodule
