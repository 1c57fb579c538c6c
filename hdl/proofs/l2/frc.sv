// # Proof: no line is lost or doubled between FRC and bank
// The proof tracks one line and one byte of it among all others: tag `FOLLOWED` and the lowest byte. The FRC
// is connected to a bank of one set, which has fetches, stores, swaps, recalls and writebacks in any cycle
// that its contract allows.
//
// | property    | what holds                                                                                                             |
// |-------------|------------------------------------------------------------------------------------------------------------------------|
// | `one_place` | from its allocation until it has left, the line is in the FRC or in the bank, never in both, and never before or after |
// | `same_byte` | the copy of the line holds the byte written last                                                                       |
// | `to_memory` | the line is written to memory with that byte                                                                           |
// | `modified`  | the line leaves without a write to memory only if it was never written                                                 |
// | `recalled`  | every L1 that was recorded to have a copy is sent a recall before the line leaves                                      |
//
// Each cycle, the bank searches for one line. It may allocate an entry for a line that is nowhere. For a line
// that is here, it may fill it, store to it or record a copy. It may also read the bytes of a line that is
// being evicted. A swap is with any way; an entry whose swap was taken waits for it for any number of cycles.
module frc_proof #(
    parameter int WAYS = 2,
    parameter int BANK_WAYS = 1,
    parameter int TAG_BITS = 2,
    parameter int L1S = 1,
    localparam int E_BITS = WAYS < 2 ? 1 : $clog2(WAYS),
    localparam int B_BITS = BANK_WAYS < 2 ? 1 : $clog2(BANK_WAYS),
    localparam int SM_BITS = L1S < 2 ? 1 : $clog2(L1S),
    localparam int N_BITS = $clog2(L1S + 1)
) (
    input logic                clk,
    input logic                rst,
    input logic                ack_valid,
    input logic [E_BITS-1:0]   ack_entry,
    input logic [TAG_BITS-1:0] find_tag,
    input logic [1:0]          acc_op,
    input logic                acc_copies,
    input logic [SM_BITS-1:0]  acc_sm,
    input logic                acc_dirty,
    input logic                put_valid,
    input logic [7:0]          put_line,
    input logic [1:0]          turn,
    input logic                exc_valid,
    input logic [B_BITS-1:0]   exc_way,
    input logic                store,
    input logic [B_BITS-1:0]   store_way,
    input logic [7:0]          store_line,
    input logic [WAYS-1:0]     gone,
    input logic [E_BITS-1:0]   out_entry,
    input logic                recall_valid,
    input logic [E_BITS-1:0]   recall_entry
);
  localparam logic [2:0] FETCH = 1, FILLED = 2;
  localparam logic [1:0] ALLOCATE = 1, FILL = 2, WRITE = 3, TAKE = 1, PASS = 2;

  (* anyconst *) logic [TAG_BITS-1:0] FOLLOWED;

  logic                find_hit, free_valid, to_swap_valid, to_swap_bound, exc_wr_pend;
  logic [E_BITS-1:0]   find_way, free_way, to_swap;
  logic [2:0]          find_state;
  logic                to_swap_set;
  logic [B_BITS-1:0]   to_swap_way;
  logic [TAG_BITS-1:0] exc_tag;
  logic [L1S-1:0]      exc_sharers;
  logic [7:0]          get_line, exc_line, out_line;
  logic [31:0]         out_id;
  logic [SM_BITS-1:0]  recall_sm;

  // Bank, and the entry whose swap was taken.
  logic                b_here    [BANK_WAYS], b_dirty [BANK_WAYS];
  logic [TAG_BITS-1:0] b_tag     [BANK_WAYS];
  logic [L1S-1:0]      b_sharers [BANK_WAYS];
  logic [7:0]          b_line    [BANK_WAYS];
  logic                taken;
  logic [E_BITS-1:0]   taken_entry;

  wire [E_BITS-1:0] acc_entry = acc_op == ALLOCATE ? free_way : find_way;
  wire [E_BITS-1:0] put_entry = find_way;
  wire [E_BITS-1:0] get_entry = find_way;
  wire              takes = turn == TAKE && to_swap_valid;
  wire [E_BITS-1:0] exc_entry = taken ? taken_entry : to_swap;
  wire              stores = store && b_here[store_way];
  wire              stored = stores && store_way == exc_way;
  wire              old_here = b_here[exc_way];
  wire [TAG_BITS-1:0] old_tag = b_tag[exc_way];
  wire              old_dirty = old_here && (b_dirty[exc_way] || stored);
  wire [L1S-1:0]    old_sharers = old_here ? b_sharers[exc_way] : '0;
  wire [7:0]        old_line = stored ? store_line : b_line[exc_way];
  frc #(
      .SETS(1), .WAYS(WAYS), .BANK_SETS(1), .BANK_WAYS(BANK_WAYS), .TAG_BITS(TAG_BITS), .LINE_BYTES(1), .L1S(L1S)
  ) dut (
      .find_set(1'b0), .acc_bound(1'b0), .acc_way('0), .acc_id('0), .put_mask(1'b1), .*
  );

  // Old lines that are being evicted, as seen by the bank: remaining work after the acknowledgment (`_1`) and
  // after the swap (`_5`).
  logic [WAYS-1:0]     leaving, leaving_1, leaving_5, owed, owed_5, is_last;
  logic [L1S-1:0]      untold  [WAYS], untold_5 [WAYS];
  logic [N_BITS-1:0]   unacked [WAYS], unacked_1 [WAYS], unacked_5 [WAYS];
  logic [TAG_BITS-1:0] out_tag [WAYS], out_tag_5 [WAYS];
  always_comb
    for (int e = 0; e < WAYS; e++) begin
      unacked_1[e] = unacked[e] - N_BITS'(ack_valid && ack_entry == E_BITS'(e));
      leaving_1[e] = leaving[e] && (owed[e] || untold[e] != '0 || unacked_1[e] != '0);
      leaving_5[e] = leaving_1[e];
      owed_5[e] = owed[e];
      untold_5[e] = untold[e];
      unacked_5[e] = unacked_1[e];
      out_tag_5[e] = out_tag[e];
      if (exc_valid && exc_entry == E_BITS'(e)) begin
        leaving_5[e] = old_sharers != '0 || old_dirty;
        owed_5[e] = old_dirty;
        untold_5[e] = old_sharers;
        unacked_5[e] = '0;
        out_tag_5[e] = old_tag;
      end
      is_last[e] = leaving_5[e] && owed_5[e] && untold_5[e] == '0 && unacked_5[e] == '0;
    end

  // Tracked line: whether it is anywhere, the value of its byte, and the L1s with a copy.
  logic           here, is_known, is_modified;
  logic [7:0]     byte_;
  logic [L1S-1:0] copies;
  wire finds = find_tag == FOLLOWED;
  wire stays = find_hit && (find_state == FETCH || find_state == FILLED);
  wire puts = put_valid && finds;
  wire stores_it = stores && b_tag[store_way] == FOLLOWED;
  wire writes_it = finds && (acc_op == WRITE || acc_op == FILL && acc_dirty) || stores_it;
  wire [7:0] byte_now = puts ? put_line : stores_it ? store_line : byte_;
  wire dropped = exc_valid && old_here && old_tag == FOLLOWED && old_sharers == '0 && !old_dirty;
  logic in_bank, is_found_there, same_in_bank, acked_away, written_away;
  always_comb begin
    in_bank = 0;
    is_found_there = 0;
    same_in_bank = 1;
    for (int w = 0; w < BANK_WAYS; w++) begin
      is_found_there |= b_here[w] && b_tag[w] == find_tag;
      if (b_here[w] && b_tag[w] == FOLLOWED) begin
        in_bank = 1;
        same_in_bank = b_line[w] == byte_;
      end
    end
    acked_away = 0;
    written_away = 0;
    for (int e = 0; e < WAYS; e++) begin
      acked_away |= leaving[e] && !leaving_1[e] && out_tag[e] == FOLLOWED;
      written_away |= gone[e] && out_tag_5[e] == FOLLOWED;
    end
  end
  wire leaves = dropped || acked_away || written_away;

  always_ff @(posedge clk)
    if (rst) begin
      for (int w = 0; w < BANK_WAYS; w++) b_here[w] <= 0;
      taken <= 0;
      leaving <= '0;
      here <= 0;
    end else begin
      if (takes) taken_entry <= to_swap;
      taken <= (taken || takes) && !exc_valid;
      if (stores) begin
        b_line[store_way] <= store_line;
        b_dirty[store_way] <= 1;
      end
      if (exc_valid) begin
        b_here[exc_way] <= 1;
        b_tag[exc_way] <= exc_tag;
        b_dirty[exc_way] <= exc_wr_pend;
        b_sharers[exc_way] <= exc_sharers;
        b_line[exc_way] <= exc_line;
      end
      leaving <= leaving_5 & ~gone;
      owed <= owed_5;
      for (int e = 0; e < WAYS; e++) begin
        out_tag[e] <= out_tag_5[e];
        untold[e] <= untold_5[e];
        unacked[e] <= unacked_5[e];
        if (recall_valid && recall_entry == E_BITS'(e)) begin
          untold[e] <= untold_5[e] & ~(L1S'(1) << recall_sm);
          unacked[e] <= unacked_5[e] + 1'b1;
        end
      end

      if (acc_op == ALLOCATE && finds) begin
        here <= 1;
        {is_known, is_modified, copies} <= '0;
      end else begin
        if (leaves) here <= 0;
        is_known <= is_known || puts || stores_it;
        is_modified <= is_modified || writes_it;
        byte_ <= byte_now;
        if (acc_copies && finds && stays) copies <= copies | L1S'(1) << acc_sm;
        if (recall_valid && out_tag_5[recall_entry] == FOLLOWED) copies <= copies & ~(L1S'(1) << recall_sm);
      end
    end

  logic started = 0;
  always_ff @(posedge clk) started <= 1;
  always_comb begin
    assume (rst == !started);
    assume (32'(ack_entry) < WAYS && 32'(out_entry) < WAYS && 32'(recall_entry) < WAYS);
    assume (32'(exc_way) < BANK_WAYS && 32'(store_way) < BANK_WAYS && 32'(acc_sm) < L1S);
    if (ack_valid) assume (leaving[ack_entry] && unacked[ack_entry] != '0);
    if (acc_op == ALLOCATE) assume (!find_hit && !is_found_there && free_valid);
    if (acc_op == FILL) assume (find_hit && find_state == FETCH);
    if (acc_op == WRITE) assume (find_hit && find_state == FILLED);
    if (acc_copies || put_valid) assume (stays);
    if (turn != 0) assume (!taken && to_swap_valid);
    if (exc_valid) assume (taken || takes);
    assume ((gone & ~is_last) == '0);
    if (recall_valid) assume (leaving_5[recall_entry] && untold_5[recall_entry] != '0);
    if (!rst) begin
      if (finds) one_place : assert (2'(find_hit) + 2'(in_bank) == 2'(here && !acked_away));
      if (finds && find_hit && is_known) same_byte : assert (get_line == byte_);
      if (in_bank && is_known) same_byte_there : assert (same_in_bank);
      if (gone[out_entry] && out_tag_5[out_entry] == FOLLOWED && (is_known || stores_it)) to_memory : assert (out_line == byte_now);
      if (dropped || acked_away) modified : assert (!is_modified);
      if (leaves) recalled : assert (copies == '0);
    end
  end
endmodule
