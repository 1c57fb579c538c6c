// SPDX-License-Identifier: MIT OR Apache-2.0
// # Assertions of the MSHR
// Checks the contract in the header of `ws_l1_mshr`, at the ports and at some of its registers. What the
// caller guarantees is assumed, and what the module guarantees is asserted.
//
// | property         | what holds                                                                           |
// |------------------|--------------------------------------------------------------------------------------|
// | `miss_untracked` | assumed: a miss is to a line that no entry tracks, or that drains                    |
// | `miss_place`     | assumed: a miss takes a place that no line in flight fills                           |
// | `fill_one`       | at most one entry matches the line of a fill                                         |
// | `recall_one`     | at most one entry matches the line of a recall                                       |
// | `acc_one`        | at most one entry matches the line of an access                                      |
// | `one_way`        | a line is open, full or draining, or none of them, and no draining line is allocated |
// | `ready_used`     | an entry that is ready for `pop` is in use                                           |
// | `ready_counted`  | `ready_entries_q` is the number of ready entries                                     |
// | `fill_place`     | the place of a fill is one that a line in flight fills                               |
// | `fill_pops`      | a fill makes its entry ready for `pop` in the same cycle                             |
// | `freed_again`    | an entry that `pop` frees can be allocated in the same cycle                         |
// | `takes_free`     | a miss is given an entry that is free                                                |
// | `stays_ready`    | with `has_ready_o`, there is a waiter in the next cycle                              |
// | `offer_stable`   | a waiter that is not removed is offered again in the next cycle, unchanged           |
`ifdef YOSYS  // Yosys reads no concurrent assertions.
`define WS_ASSERT(NAME, PROPERTY) always_comb if (rst_ni) NAME : assert (PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) always_comb if (rst_ni) NAME : assume (PROPERTY);
`else
`define WS_ASSERT(NAME, PROPERTY) NAME : assert property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) NAME : assume property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`endif
module ws_l1_mshr_sva #(
    parameter int ENTRIES = 32,
    parameter int LINE_BITS = 25,
    parameter int PLACE_BITS = 7,
    localparam int E_BITS = ENTRIES < 2 ? 1 : $clog2(ENTRIES),
    localparam int L_BITS = $clog2(ENTRIES + 1)
) (
    input logic                  clk_i,
    input logic                  rst_ni,
    input logic                  fill_valid_i,
    input logic                  fill_hit_o,
    input logic [PLACE_BITS-1:0] fill_place_o,
    input logic                  fill_blocked_o,
    input logic                  pop_ready_i,
    input logic                  pop_valid_o,
    input logic [LINE_BITS-1:0]  pop_line_o,
    input logic [PLACE_BITS-1:0] pop_place_o,
    input logic [5:0]            pop_slot_o,
    input logic [31:0]           pop_lanes_o,
    input logic                  pop_last_o,
    input logic                  has_ready_o,
    input logic [1:0]            acc_op_i,
    input logic                  acc_go_i,
    input logic [PLACE_BITS-1:0] acc_place_i,
    input logic                  acc_open_o,
    input logic                  acc_full_o,
    input logic                  acc_draining_o,
    input logic                  acc_free_o,
    input logic [E_BITS-1:0]     acc_entry_o,

    input logic [ENTRIES-1:0]    used_q,
    input logic [ENTRIES-1:0]    ready_q,
    input logic [L_BITS-1:0]     ready_entries_q,
    input logic [ENTRIES-1:0]    used_3,
    input logic [ENTRIES-1:0]    fill_match,
    input logic [ENTRIES-1:0]    recall_match,
    input logic [ENTRIES-1:0]    acc_match
);
  wire fills = fill_valid_i && fill_hit_o && !fill_blocked_o;
  wire misses = acc_op_i == 2'd2 && acc_go_i && acc_free_o;
  wire not_drained = acc_open_o || acc_full_o || acc_free_o;
  wire frees = pop_ready_i && pop_valid_o && pop_last_o;

  // Places (set and way) that lines in flight fill, from the misses and fills seen at the ports.
  logic [(1<<PLACE_BITS)-1:0] in_flight;
  // Waiter that was offered in the previous cycle and not removed.
  logic                       had_ready, was_offered;
  logic [LINE_BITS+PLACE_BITS+38:0] offered;
  wire  [LINE_BITS+PLACE_BITS+38:0] offer = {pop_line_o, pop_place_o, pop_slot_o, pop_lanes_o, pop_last_o};
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      in_flight <= '0;
      {had_ready, was_offered} <= '0;
      offered <= '0;
    end else begin
      if (fills) in_flight[fill_place_o] <= 0;
      if (misses) in_flight[acc_place_i] <= 1;
      had_ready <= has_ready_o;
      was_offered <= pop_valid_o && !pop_ready_i;
      offered <= offer;
    end

  logic [L_BITS-1:0] num_ready;
  always_comb begin
    num_ready = '0;
    for (int e = 0; e < ENTRIES; e++) num_ready = num_ready + L_BITS'(ready_q[e]);
  end

  // `disable iff` reads the asynchronous reset at a clock edge, of which Verilator warns.
  // verilator lint_off SYNCASYNCNET
  `WS_ASSUME(miss_untracked, acc_op_i != 2'd2 || !acc_open_o && !acc_full_o)
  `WS_ASSUME(miss_place, !misses || !in_flight[acc_place_i] || fills && fill_place_o == acc_place_i)
  `WS_ASSERT(fill_one, (fill_match & (fill_match - 1'b1)) == '0)
  `WS_ASSERT(recall_one, (recall_match & (recall_match - 1'b1)) == '0)
  `WS_ASSERT(acc_one, (acc_match & (acc_match - 1'b1)) == '0)
  `WS_ASSERT(one_way, !(acc_open_o && acc_full_o) && !(acc_draining_o && not_drained))
  `WS_ASSERT(ready_used, (ready_q & ~used_q) == '0)
  `WS_ASSERT(ready_counted, ready_entries_q == num_ready)
  `WS_ASSERT(fill_place, !fill_hit_o || in_flight[fill_place_o])
  `WS_ASSERT(fill_pops, !fills || pop_valid_o)
  `WS_ASSERT(freed_again, !frees || acc_draining_o || acc_free_o)
  `WS_ASSERT(takes_free, !misses || !used_3[acc_entry_o])
  `WS_ASSERT(stays_ready, !had_ready || pop_valid_o)
  `WS_ASSERT(offer_stable, !was_offered || pop_valid_o && offer == offered)
  // verilator lint_on SYNCASYNCNET
endmodule
bind ws_l1_mshr ws_l1_mshr_sva #(
    .ENTRIES(ENTRIES), .LINE_BITS(LINE_BITS), .PLACE_BITS(PLACE_BITS)
) i_sva (.*);
`undef WS_ASSERT
`undef WS_ASSUME
