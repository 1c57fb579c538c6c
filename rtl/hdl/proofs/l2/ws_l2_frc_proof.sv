// SPDX-License-Identifier: MIT OR Apache-2.0
// # Proof: no line is lost or doubled between FRC and bank
// The proof tracks one of the lines, with tag `FOLLOWED`, and its lowest byte. The FRC is connected to a bank
// with one set. In any cycle, the bank may perform the fetches, stores, swaps, recalls and writebacks that
// the contract of the FRC allows.
//
// | property    | what holds                                                                                                             |
// |-------------|------------------------------------------------------------------------------------------------------------------------|
// | `one_place` | from its allocation until it has left, the line is in the FRC or in the bank, never in both, and never before or after |
// | `same_byte` | the copy of the line holds the byte written last                                                                       |
// | `to_memory` | the line is written to memory with that byte                                                                           |
// | `modified`  | the line leaves without a write to memory only if it was never written                                                 |
// | `recalled`  | every L1 that was recorded to have a copy is sent a recall before the line leaves                                      |
//
// In each cycle, the bank searches for one line. If the line is nowhere, the bank may allocate an entry for
// it. If the line is in the FRC, the bank may fill it, store to it or record a copy. The bank may also read
// the bytes of a line that is being evicted. A swap may use any way. After a swap was taken from the queue,
// any number of cycles may pass until it is performed.
module ws_l2_frc_proof #(
    parameter int WAYS = 2,
    parameter int BANK_WAYS = 1,
    parameter int TAG_BITS = 2,
    parameter int L1S = 1,
    localparam int E_BITS = WAYS < 2 ? 1 : $clog2(WAYS),
    localparam int B_BITS = BANK_WAYS < 2 ? 1 : $clog2(BANK_WAYS),
    localparam int SM_BITS = L1S < 2 ? 1 : $clog2(L1S),
    localparam int N_BITS = $clog2(L1S + 1)
) (
    input logic                clk_i,
    input logic                rst_ni,
    input logic                ack_valid_i,
    input logic [E_BITS-1:0]   ack_entry_i,
    input logic [TAG_BITS-1:0] find_tag_i,
    input logic [1:0]          acc_op_i,
    input logic                acc_copies_i,
    input logic [SM_BITS-1:0]  acc_sm_i,
    input logic                acc_dirty_i,
    input logic                put_valid_i,
    input logic [7:0]          put_line_i,
    input logic [1:0]          turn_i,
    input logic                exc_valid_i,
    input logic [B_BITS-1:0]   exc_way_i,
    input logic                store_i,
    input logic [B_BITS-1:0]   store_way_i,
    input logic [7:0]          store_line_i,
    input logic [WAYS-1:0]     gone_i,
    input logic [E_BITS-1:0]   out_entry_i,
    input logic                recall_valid_i,
    input logic [E_BITS-1:0]   recall_entry_i
);
  localparam logic [2:0] FETCH = 1, FILLED = 2;
  localparam logic [1:0] ALLOCATE = 1, FILL = 2, WRITE = 3, TAKE = 1, PASS = 2;

  (* anyconst *) logic [TAG_BITS-1:0] FOLLOWED;

  logic                find_hit_o, free_valid_o, to_swap_valid_o, to_swap_bound_o, exc_wr_pend_o;
  logic [E_BITS-1:0]   find_way_o, free_way_o, to_swap_o;
  logic [2:0]          find_state_o;
  logic                to_swap_set_o, exc_set_o, out_set_o;
  logic [B_BITS-1:0]   to_swap_way_o;
  logic [TAG_BITS-1:0] exc_tag_o, out_tag_o;
  logic [L1S-1:0]      exc_sharers_o;
  logic [7:0]          get_line_o, exc_line_o, out_line_o;
  logic [31:0]         exc_id_o, out_id_o;
  logic [SM_BITS-1:0]  recall_sm_o;

  // State of the L2 bank (one set), and the FRC entry whose swap the bank has taken but not performed.
  logic                b_here    [BANK_WAYS], b_dirty [BANK_WAYS];
  logic [TAG_BITS-1:0] b_tag     [BANK_WAYS];
  logic [L1S-1:0]      b_sharers [BANK_WAYS];
  logic [7:0]          b_line    [BANK_WAYS];
  logic                taken;
  logic [E_BITS-1:0]   taken_entry;

  wire [E_BITS-1:0] acc_entry_i = acc_op_i == ALLOCATE ? free_way_o : find_way_o;
  wire [E_BITS-1:0] put_entry_i = find_way_o;
  wire [E_BITS-1:0] get_entry_i = find_way_o;
  wire              takes = turn_i == TAKE && to_swap_valid_o;
  wire [E_BITS-1:0] exc_entry_i = taken ? taken_entry : to_swap_o;
  wire              stores = store_i && b_here[store_way_i];
  wire              stored = stores && store_way_i == exc_way_i;
  wire              old_here_i = b_here[exc_way_i];
  wire [TAG_BITS-1:0] old_tag_i = b_tag[exc_way_i];
  wire              old_dirty_i = old_here_i && (b_dirty[exc_way_i] || stored);
  wire [L1S-1:0]    old_sharers_i = old_here_i ? b_sharers[exc_way_i] : '0;
  wire [7:0]        old_line_i = stored ? store_line_i : b_line[exc_way_i];
  ws_l2_frc #(
      .SETS(1), .WAYS(WAYS), .BANK_SETS(1), .BANK_WAYS(BANK_WAYS), .TAG_BITS(TAG_BITS), .LINE_BYTES(1), .L1S(L1S)
  ) dut (
      .find_set_i(1'b0), .acc_bound_i(1'b0), .acc_way_i('0), .acc_id_i('0), .put_mask_i(1'b1), .*
  );

  // For each entry, the steps that the bank still expects in the eviction of the entry's old line. The suffix
  // `_1` stands for the state after the acknowledgment of this cycle, and `_5` for the state after the swap.
  logic [WAYS-1:0]     leaving, leaving_1, leaving_5, owed, owed_5, is_last;
  logic [L1S-1:0]      untold  [WAYS], untold_5 [WAYS];
  logic [N_BITS-1:0]   unacked [WAYS], unacked_1 [WAYS], unacked_5 [WAYS];
  logic [TAG_BITS-1:0] out_tag [WAYS], out_tag_5 [WAYS];
  always_comb
    for (int e = 0; e < WAYS; e++) begin
      unacked_1[e] = unacked[e] - N_BITS'(ack_valid_i && ack_entry_i == E_BITS'(e));
      leaving_1[e] = leaving[e] && (owed[e] || untold[e] != '0 || unacked_1[e] != '0);
      leaving_5[e] = leaving_1[e];
      owed_5[e] = owed[e];
      untold_5[e] = untold[e];
      unacked_5[e] = unacked_1[e];
      out_tag_5[e] = out_tag[e];
      if (exc_valid_i && exc_entry_i == E_BITS'(e)) begin
        leaving_5[e] = old_sharers_i != '0 || old_dirty_i;
        owed_5[e] = old_dirty_i;
        untold_5[e] = old_sharers_i;
        unacked_5[e] = '0;
        out_tag_5[e] = old_tag_i;
      end
      is_last[e] = leaving_5[e] && owed_5[e] && untold_5[e] == '0 && unacked_5[e] == '0;
    end

  // State of the tracked line: whether the FRC or the bank holds the line, the value of its tracked byte, and
  // the L1s that have a copy.
  logic           here, is_known, is_modified;
  logic [7:0]     byte_;
  logic [L1S-1:0] copies;
  wire finds = find_tag_i == FOLLOWED;
  wire stays = find_hit_o && (find_state_o == FETCH || find_state_o == FILLED);
  wire puts = put_valid_i && finds;
  wire stores_it = stores && b_tag[store_way_i] == FOLLOWED;
  wire writes_it = finds && (acc_op_i == WRITE || acc_op_i == FILL && acc_dirty_i) || stores_it;
  wire [7:0] byte_now = puts ? put_line_i : stores_it ? store_line_i : byte_;
  wire dropped = exc_valid_i && old_here_i && old_tag_i == FOLLOWED && old_sharers_i == '0 && !old_dirty_i;
  logic in_bank, is_found_there, same_in_bank, acked_away, written_away;
  always_comb begin
    in_bank = 0;
    is_found_there = 0;
    same_in_bank = 1;
    for (int w = 0; w < BANK_WAYS; w++) begin
      is_found_there |= b_here[w] && b_tag[w] == find_tag_i;
      if (b_here[w] && b_tag[w] == FOLLOWED) begin
        in_bank = 1;
        same_in_bank = b_line[w] == byte_;
      end
    end
    acked_away = 0;
    written_away = 0;
    for (int e = 0; e < WAYS; e++) begin
      acked_away |= leaving[e] && !leaving_1[e] && out_tag[e] == FOLLOWED;
      written_away |= gone_i[e] && out_tag_5[e] == FOLLOWED;
    end
  end
  wire leaves = dropped || acked_away || written_away;

  always_ff @(posedge clk_i)
    if (!rst_ni) begin
      for (int w = 0; w < BANK_WAYS; w++) b_here[w] <= 0;
      taken <= 0;
      leaving <= '0;
      here <= 0;
    end else begin
      if (takes) taken_entry <= to_swap_o;
      taken <= (taken || takes) && !exc_valid_i;
      if (stores) begin
        b_line[store_way_i] <= store_line_i;
        b_dirty[store_way_i] <= 1;
      end
      if (exc_valid_i) begin
        b_here[exc_way_i] <= 1;
        b_tag[exc_way_i] <= exc_tag_o;
        b_dirty[exc_way_i] <= exc_wr_pend_o;
        b_sharers[exc_way_i] <= exc_sharers_o;
        b_line[exc_way_i] <= exc_line_o;
      end
      leaving <= leaving_5 & ~gone_i;
      owed <= owed_5;
      for (int e = 0; e < WAYS; e++) begin
        out_tag[e] <= out_tag_5[e];
        untold[e] <= untold_5[e];
        unacked[e] <= unacked_5[e];
        if (recall_valid_i && recall_entry_i == E_BITS'(e)) begin
          untold[e] <= untold_5[e] & ~(L1S'(1) << recall_sm_o);
          unacked[e] <= unacked_5[e] + 1'b1;
        end
      end

      if (acc_op_i == ALLOCATE && finds) begin
        here <= 1;
        {is_known, is_modified, copies} <= '0;
      end else begin
        if (leaves) here <= 0;
        is_known <= is_known || puts || stores_it;
        is_modified <= is_modified || writes_it;
        byte_ <= byte_now;
        if (acc_copies_i && finds && stays) copies <= copies | L1S'(1) << acc_sm_i;
        if (recall_valid_i && out_tag_5[recall_entry_i] == FOLLOWED) copies <= copies & ~(L1S'(1) << recall_sm_o);
      end
    end

  logic started = 0;
  always_ff @(posedge clk_i) started <= 1;
  always_comb begin
    assume (rst_ni == started);
    assume (32'(ack_entry_i) < WAYS && 32'(out_entry_i) < WAYS && 32'(recall_entry_i) < WAYS);
    assume (32'(exc_way_i) < BANK_WAYS && 32'(store_way_i) < BANK_WAYS && 32'(acc_sm_i) < L1S);
    if (ack_valid_i) assume (leaving[ack_entry_i] && unacked[ack_entry_i] != '0);
    if (acc_op_i == ALLOCATE) assume (!find_hit_o && !is_found_there && free_valid_o);
    if (acc_op_i == FILL) assume (find_hit_o && find_state_o == FETCH);
    if (acc_op_i == WRITE) assume (find_hit_o && find_state_o == FILLED);
    if (acc_copies_i || put_valid_i) assume (stays);
    if (turn_i != 0) assume (!taken && to_swap_valid_o);
    if (exc_valid_i) assume (taken || takes);
    assume ((gone_i & ~is_last) == '0);
    if (recall_valid_i) assume (leaving_5[recall_entry_i] && untold_5[recall_entry_i] != '0);
    if (rst_ni) begin
      if (finds) one_place : assert (2'(find_hit_o) + 2'(in_bank) == 2'(here && !acked_away));
      if (finds && find_hit_o && is_known) same_byte : assert (get_line_o == byte_);
      if (in_bank && is_known) same_byte_there : assert (same_in_bank);
      if (gone_i[out_entry_i] && out_tag_5[out_entry_i] == FOLLOWED && (is_known || stores_it)) to_memory : assert (out_line_o == byte_now);
      if (dropped || acked_away) modified : assert (!is_modified);
      if (leaves) recalled : assert (copies == '0);
    end
  end
endmodule
