// SPDX-License-Identifier: MIT OR Apache-2.0
// # Assertions of the Fetch and Replacement Cache
// Checks the contract in the header of `ws_l2_frc` at its ports. What the caller guarantees is assumed, and
// what the module guarantees is asserted. The states of the entries are tracked from the events at the ports.
//
// | property        | what holds                                                                        |
// |-----------------|-----------------------------------------------------------------------------------|
// | `entry_exists`  | assumed: entries, ways and L1s that are used exist                                |
// | `ack_expected`  | assumed: an acknowledgment answers a recall that was sent                         |
// | `alloc_free`    | assumed: a free entry of its set awaits a line that no entry has                  |
// | `fill_fetches`  | assumed: a line arrives that was awaited                                          |
// | `write_filled`  | assumed: a line that is written waits for its swap                                |
// | `put_here`      | assumed: bytes are written to a line that is awaited or waits for its swap        |
// | `turn_waits`    | assumed: a swap is taken, or moved behind the others, only if there is one        |
// | `exc_taken`     | assumed: a line that moves to its way waited for its swap                         |
// | `gone_due`      | assumed: only an old line that nothing but its write to memory holds here is gone |
// | `recall_due`    | assumed: a recall is sent for an old line with copies that were not recalled yet  |
// | `find_state`    | the state that a search returns is that of the entry, after the acknowledgment    |
// | `free_is_free`  | the way that a search offers as free has nothing left to do                       |
// | `free_is_found` | a search offers a free way, if its set has one                                    |
// | `swap_filled`   | the line that is offered for a swap has arrived and was not swapped               |
// | `swap_offered`  | a line that waits for its swap is offered, as long as none was taken              |
// | `copies_kept`   | a line moves to its way with the copies that were recorded since its allocation   |
// | `recall_copy`   | a recall is sent to the lowest L1 with a copy that was not sent one               |
`ifdef YOSYS  // Yosys reads no concurrent assertions.
`define WS_ASSERT(NAME, PROPERTY) always_comb if (rst_ni) NAME : assert (PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) always_comb if (rst_ni) NAME : assume (PROPERTY);
`else
`define WS_ASSERT(NAME, PROPERTY) NAME : assert property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) NAME : assume property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`endif
module ws_l2_frc_sva #(
    parameter int SETS = 1,
    parameter int WAYS = 8,
    parameter int BANK_SETS = 64,
    parameter int L1S = 15,
    localparam int ENTRIES = SETS * WAYS,
    localparam int E_BITS = ENTRIES < 2 ? 1 : $clog2(ENTRIES),
    localparam int W_BITS = WAYS < 2 ? 1 : $clog2(WAYS),
    localparam int S_BITS = BANK_SETS < 2 ? 1 : $clog2(BANK_SETS),
    localparam int SM_BITS = L1S < 2 ? 1 : $clog2(L1S),
    localparam int N_BITS = $clog2(L1S + 1)
) (
    input logic               clk_i,
    input logic               rst_ni,
    input logic               ack_valid_i,
    input logic [E_BITS-1:0]  ack_entry_i,
    input logic [S_BITS-1:0]  find_set_i,
    input logic               find_hit_o,
    input logic [W_BITS-1:0]  find_way_o,
    input logic [2:0]         find_state_o,
    input logic               free_valid_o,
    input logic [W_BITS-1:0]  free_way_o,
    input logic [1:0]         acc_op_i,
    input logic [E_BITS-1:0]  acc_entry_i,
    input logic               acc_copies_i,
    input logic [SM_BITS-1:0] acc_sm_i,
    input logic               put_valid_i,
    input logic [E_BITS-1:0]  put_entry_i,
    input logic [1:0]         turn_i,
    input logic               to_swap_valid_o,
    input logic [E_BITS-1:0]  to_swap_o,
    input logic               exc_valid_i,
    input logic [E_BITS-1:0]  exc_entry_i,
    input logic               old_dirty_i,
    input logic [L1S-1:0]     old_sharers_i,
    input logic [L1S-1:0]     exc_sharers_o,
    input logic [ENTRIES-1:0] gone_i,
    input logic               recall_valid_i,
    input logic [E_BITS-1:0]  recall_entry_i,
    input logic [SM_BITS-1:0] recall_sm_o
);
  localparam logic [2:0] FREE = 0, FETCH = 1, FILLED = 2, VICT_INV = 3, VICT_WB = 4;
  localparam logic [1:0] ALLOCATE = 1, FILL = 2, WRITE = 3;

  // State of each entry, copies in L1s that were recorded and not recalled, recalls without an
  // acknowledgment, and whether the old line must be written to memory. A number is that of the port after
  // which they hold. The swap of a `taken` entry was taken and not performed.
  logic [ENTRIES*3-1:0]      states, state_1, state_3, state_5, state_7;
  logic [ENTRIES*L1S-1:0]    copies, copies_3, copies_5, copies_7;
  logic [ENTRIES*N_BITS-1:0] unacked, unacked_1, unacked_7;
  logic [ENTRIES-1:0]        dirty, dirty_5, taken, taken_4;

  wire [31:0] set = 32'(find_set_i) % SETS;
  wire [E_BITS-1:0] found = E_BITS'(set * WAYS + 32'(find_way_o));
  wire [E_BITS-1:0] offered = E_BITS'(set * WAYS + 32'(free_way_o));

  logic is_any_free, is_any_waiting, gone_legal;
  always_comb begin
    is_any_free = 0;
    is_any_waiting = 0;
    gone_legal = 1;
    state_1 = states;
    unacked_1 = unacked;
    copies_3 = copies;
    dirty_5 = dirty;
    taken_4 = taken;
    for (int e = 0; e < ENTRIES; e++) begin
      if (ack_valid_i && ack_entry_i == E_BITS'(e)) begin
        unacked_1[e*N_BITS+:N_BITS] = unacked[e*N_BITS+:N_BITS] - 1'b1;
        if (unacked[e*N_BITS+:N_BITS] == N_BITS'(1) && copies[e*L1S+:L1S] == '0)
          state_1[e*3+:3] = dirty[e] ? VICT_WB : FREE;
      end
    end
    state_3 = state_1;
    for (int e = 0; e < ENTRIES; e++) begin
      if (state_1[e*3+:3] == FREE && e / WAYS == set) is_any_free = 1;
      if (acc_entry_i == E_BITS'(e)) begin
        if (acc_op_i == ALLOCATE) state_3[e*3+:3] = FETCH;
        if (acc_op_i == FILL) state_3[e*3+:3] = FILLED;
        if (acc_copies_i && (state_1[e*3+:3] == FETCH || state_1[e*3+:3] == FILLED))
          copies_3[e*L1S+:L1S] = copies[e*L1S+:L1S] | L1S'(1) << acc_sm_i;
      end
      if (state_3[e*3+:3] == FILLED && !taken[e]) is_any_waiting = 1;
      if (turn_i == 2'd1 && to_swap_o == E_BITS'(e)) taken_4[e] = 1;
    end
    state_5 = state_3;
    copies_5 = copies_3;
    for (int e = 0; e < ENTRIES; e++)
      if (exc_valid_i && exc_entry_i == E_BITS'(e)) begin
        state_5[e*3+:3] = old_sharers_i != '0 ? VICT_INV : old_dirty_i ? VICT_WB : FREE;
        copies_5[e*L1S+:L1S] = old_sharers_i;
        dirty_5[e] = old_dirty_i;
      end
    state_7 = state_5;
    copies_7 = copies_5;
    unacked_7 = unacked_1;
    for (int e = 0; e < ENTRIES; e++) begin
      if (gone_i[e]) begin
        if (state_5[e*3+:3] != VICT_WB) gone_legal = 0;
        state_7[e*3+:3] = FREE;
      end
      if (recall_valid_i && recall_entry_i == E_BITS'(e)) begin
        copies_7[e*L1S+:L1S] = copies_5[e*L1S+:L1S] & ~(L1S'(1) << recall_sm_o);
        unacked_7[e*N_BITS+:N_BITS] = unacked_1[e*N_BITS+:N_BITS] + 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) {states, copies, unacked, dirty, taken} <= '0;
    else begin
      states <= state_7;
      copies <= copies_7;
      unacked <= unacked_7;
      dirty <= dirty_5;
      for (int e = 0; e < ENTRIES; e++) taken[e] <= taken_4[e] && !(exc_valid_i && exc_entry_i == E_BITS'(e));
    end

  wire accesses = acc_op_i != 2'd0 || acc_copies_i;
  wire acc_exists = (!accesses || 32'(acc_entry_i) < ENTRIES) && (!acc_copies_i || 32'(acc_sm_i) < L1S);
  wire ack_exists = !ack_valid_i || 32'(ack_entry_i) < ENTRIES;
  wire put_exists = !put_valid_i || 32'(put_entry_i) < ENTRIES;
  wire exc_exists = !exc_valid_i || 32'(exc_entry_i) < ENTRIES;
  wire recall_exists = !recall_valid_i || 32'(recall_entry_i) < ENTRIES;
  wire [2:0] put_state = state_3[32'(put_entry_i)*3+:3];
  wire [2:0] acc_state = state_1[32'(acc_entry_i)*3+:3];
  wire [L1S-1:0] exc_copies = copies_3[32'(exc_entry_i)*L1S+:L1S];
  wire [L1S-1:0] recall_copies = copies_5[32'(recall_entry_i)*L1S+:L1S];
  wire [2:0] recall_state = state_5[32'(recall_entry_i)*3+:3];
  wire [L1S-1:0] lower_l1s = (L1S'(1) << recall_sm_o) - 1'b1;
  wire in_set = 32'(acc_entry_i) / WAYS == set;

  // `disable iff` reads the asynchronous reset at a clock edge, of which Verilator warns.
  // verilator lint_off SYNCASYNCNET
  `WS_ASSUME(entry_exists, acc_exists && ack_exists && put_exists && exc_exists && recall_exists)
  `WS_ASSUME(ack_expected, !ack_valid_i || unacked[32'(ack_entry_i)*N_BITS+:N_BITS] != '0)
  `WS_ASSUME(alloc_free, acc_op_i != ALLOCATE || acc_state == FREE && in_set && !find_hit_o)
  `WS_ASSUME(fill_fetches, acc_op_i != FILL || acc_state == FETCH)
  `WS_ASSUME(write_filled, acc_op_i != WRITE || acc_state == FILLED)
  `WS_ASSUME(put_here, !put_valid_i || put_state == FETCH || put_state == FILLED)
  `WS_ASSUME(turn_waits, turn_i == 2'd0 || turn_i != 2'd3 && to_swap_valid_o)
  `WS_ASSUME(exc_taken, !exc_valid_i || taken_4[exc_entry_i])
  `WS_ASSUME(gone_due, gone_legal)
  `WS_ASSUME(recall_due, !recall_valid_i || recall_state == VICT_INV && recall_copies != '0)
  `WS_ASSERT(find_state, !find_hit_o || find_state_o == state_1[32'(found)*3+:3] && find_state_o != FREE)
  `WS_ASSERT(free_is_free, !free_valid_o || state_1[32'(offered)*3+:3] == FREE)
  `WS_ASSERT(free_is_found, free_valid_o == is_any_free)
  `WS_ASSERT(swap_filled, !to_swap_valid_o || state_3[32'(to_swap_o)*3+:3] == FILLED && !taken[to_swap_o])
  `WS_ASSERT(swap_offered, to_swap_valid_o == is_any_waiting)
  `WS_ASSERT(copies_kept, !exc_valid_i || exc_sharers_o == exc_copies)
  `WS_ASSERT(recall_copy, !recall_valid_i || recall_copies[recall_sm_o] && (recall_copies & lower_l1s) == '0)
  // verilator lint_on SYNCASYNCNET
endmodule
bind ws_l2_frc ws_l2_frc_sva #(
    .SETS(SETS), .WAYS(WAYS), .BANK_SETS(BANK_SETS), .L1S(L1S)
) i_sva (.*);
`undef WS_ASSERT
`undef WS_ASSUME
