// SPDX-License-Identifier: MIT OR Apache-2.0
// # Fetch and Replacement Cache
// A small cache next to an L2 bank for the lines of misses, so that fetches need not wait for evictions
// (candel2018 section 4). During the fetch, the way for the new line keeps its old line. When the new line
// has arrived, the two lines are swapped, and the old line is evicted from this cache.
//
// The ports act in the order of their numbers within one cycle. Each port is used at most once per cycle and
// sees the results of the ports before it:
//
// | port       | contract                                                                                               |
// |------------|--------------------------------------------------------------------------------------------------------|
// | 1 `ack`    | an L1 has dropped its copy of the old line of an entry                                                 |
// | 2 `find`   | with `find_hit_o`, way and state of the entry that has the line; also the lowest free way of that set  |
// | 3 `acc`    | operation `acc_op_i` of an access on `acc_entry_i`, and whether L1 `acc_sm_i` gets a copy              |
// | 3 `put`    | writes bytes of an entry: a burst from memory, or a store                                              |
// | 4 `turn_i` | `to_swap_o` is the line that has waited longest for its swap: 1 takes it, 2 moves it behind the others |
// | 5 `exc`    | a taken line moves to its way, whose old line moves into the entry                                     |
// | 6 `gone_i` | one bit per entry: memory has the last burst of its old line                                           |
// | 7 `recall` | `recall_sm_o`, the lowest L1 with a copy of the old line of an entry, is sent a recall                 |
//
// - allocate (1): allocates a free entry for a line that no entry holds or fetches. With BINDS_EARLY,
//   `acc_bound_i` is set if the line will be swapped into `acc_way_i`.
// - fill (2): the line has arrived and waits for its swap; it is modified if `acc_dirty_i` is set.
// - write (3): a line that waits for its swap was written.
//
// Only a new line gets recorded L1 copies; the copies of a line that is being evicted are not recorded.
//
// FREE -allocate-> FETCH -fill-> FILLED -exc-> VICT_INV -last ack-> VICT_WB -gone-> FREE. An old line without
// copies in L1s skips VICT_INV; a clean old line skips VICT_WB. An entry becomes free in the cycle in which
// its last eviction step is complete, and its registers are then 0.
//
// `to_swap_o` and its related outputs are valid with `to_swap_valid_o`; `exc_*`, `recall_sm_o` and the lines
// are valid if the selected entry has them.
// `get_line_o` is a line at the start of the cycle. `out_line_o` is a line after `exc`, from which bursts are
// sent to memory, and `out_set_o` and `out_tag_o` are its set and its tag. `exc_id_o` and `out_id_o` are the
// request that allocated the entry.
// The set index of an entry is the low bits of the bank's set index. The old line can be found in this cache
// only because both lines belong to the same set of the bank.
// A row of `data_q` has the lines of a set, with way 0 in the lowest bits.
module ws_l2_frc #(
    parameter int SETS = 1,
    parameter int WAYS = 8,
    parameter int BANK_SETS = 64,
    parameter int BANK_WAYS = 16,
    parameter int TAG_BITS = 17,
    parameter int LINE_BYTES = 128,
    parameter int L1S = 15,
    parameter bit BINDS_EARLY = 0,
    localparam int ENTRIES = SETS * WAYS,
    localparam int E_BITS = ENTRIES < 2 ? 1 : $clog2(ENTRIES),
    localparam int W_BITS = WAYS < 2 ? 1 : $clog2(WAYS),
    localparam int S_BITS = BANK_SETS < 2 ? 1 : $clog2(BANK_SETS),
    localparam int B_BITS = BANK_WAYS < 2 ? 1 : $clog2(BANK_WAYS),
    localparam int SM_BITS = L1S < 2 ? 1 : $clog2(L1S),
    localparam int N_BITS = $clog2(L1S + 1),
    localparam int LINE = LINE_BYTES * 8
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,

    input  logic                  ack_valid_i,
    input  logic [E_BITS-1:0]     ack_entry_i,

    input  logic [S_BITS-1:0]     find_set_i,
    input  logic [TAG_BITS-1:0]   find_tag_i,
    output logic                  find_hit_o,
    output logic [W_BITS-1:0]     find_way_o,
    output logic [2:0]            find_state_o,
    output logic                  free_valid_o,
    output logic [W_BITS-1:0]     free_way_o,

    input  logic [1:0]            acc_op_i,
    input  logic [E_BITS-1:0]     acc_entry_i,
    input  logic                  acc_copies_i,
    input  logic [SM_BITS-1:0]    acc_sm_i,
    input  logic                  acc_dirty_i,
    input  logic                  acc_bound_i,
    input  logic [B_BITS-1:0]     acc_way_i,
    input  logic [31:0]           acc_id_i,
    input  logic                  put_valid_i,
    input  logic [E_BITS-1:0]     put_entry_i,
    input  logic [LINE_BYTES-1:0] put_mask_i,
    input  logic [LINE-1:0]       put_line_i,
    input  logic [E_BITS-1:0]     get_entry_i,
    output logic [LINE-1:0]       get_line_o,

    input  logic [1:0]            turn_i,
    output logic                  to_swap_valid_o,
    output logic [E_BITS-1:0]     to_swap_o,
    output logic [S_BITS-1:0]     to_swap_set_o,
    output logic                  to_swap_bound_o,
    output logic [B_BITS-1:0]     to_swap_way_o,

    input  logic                  exc_valid_i,
    input  logic [E_BITS-1:0]     exc_entry_i,
    input  logic                  old_here_i,
    input  logic [TAG_BITS-1:0]   old_tag_i,
    input  logic                  old_dirty_i,
    input  logic [L1S-1:0]        old_sharers_i,
    input  logic [LINE-1:0]       old_line_i,
    output logic [TAG_BITS-1:0]   exc_tag_o,
    output logic [S_BITS-1:0]     exc_set_o,
    output logic [31:0]           exc_id_o,
    output logic                  exc_wr_pend_o,
    output logic [L1S-1:0]        exc_sharers_o,
    output logic [LINE-1:0]       exc_line_o,

    input  logic [ENTRIES-1:0]    gone_i,
    input  logic [E_BITS-1:0]     out_entry_i,
    output logic [LINE-1:0]       out_line_o,
    output logic [S_BITS-1:0]     out_set_o,
    output logic [TAG_BITS-1:0]   out_tag_o,
    output logic [31:0]           out_id_o,

    input  logic                  recall_valid_i,
    input  logic [E_BITS-1:0]     recall_entry_i,
    output logic [SM_BITS-1:0]    recall_sm_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (SETS < 1) begin : g_refuse_sets
    $error("SETS is %0d, expected 1 or more", SETS);
  end
  if (WAYS < 1) begin : g_refuse_ways
    $error("WAYS is %0d, expected 1 or more", WAYS);
  end
  if (BANK_SETS < SETS || BANK_SETS % SETS != 0) begin : g_refuse_bank_sets
    $error("BANK_SETS is %0d, expected a multiple of SETS", BANK_SETS);
  end
  if (BANK_WAYS < 1) begin : g_refuse_bank_ways
    $error("BANK_WAYS is %0d, expected 1 or more", BANK_WAYS);
  end
  if (L1S < 1) begin : g_refuse_l1s
    $error("L1S is %0d, expected 1 or more", L1S);
  end
  if (TAG_BITS < 1) begin : g_refuse_tag_bits
    $error("TAG_BITS is %0d, expected 1 or more", TAG_BITS);
  end
  if (LINE_BYTES < 1) begin : g_refuse_line_bytes
    $error("LINE_BYTES is %0d, expected 1 or more", LINE_BYTES);
  end
`endif

  localparam logic [2:0] FREE = 0, FETCH = 1, FILLED = 2, VICT_INV = 3, VICT_WB = 4;
  localparam int H_BITS = BANK_SETS == SETS ? 1 : $clog2(BANK_SETS / SETS);

  (* fsm_encoding = "none" *)
  logic [2:0]           state_q    [ENTRIES];
  logic [TAG_BITS-1:0]  tag_q      [ENTRIES];
  logic [ENTRIES-1:0]   wr_pend_q, bound_q;
  logic [B_BITS-1:0]    way_q      [ENTRIES];
  logic [L1S-1:0]       sharers_q  [ENTRIES];
  logic [N_BITS-1:0]    inv_left_q [ENTRIES];
  logic [ENTRIES-1:0]   dirty_q;
  logic [31:0]          id_q       [ENTRIES];
  logic [WAYS*LINE-1:0] data_q     [SETS];

  // Bank set index of each entry: its high bits are a register, and its low bits are the number of the
  // entry's set.
  logic [H_BITS-1:0] set_q      [ENTRIES];
  logic [S_BITS-1:0] bank_set [ENTRIES];
  always_comb
    for (int e = 0; e < ENTRIES; e++)
      bank_set[e] = S_BITS'(BANK_SETS == SETS ? e / WAYS : 32'(set_q[e]) * SETS + e / WAYS);

  // Step 1, port `ack`: an L1 has dropped its copy of the old line of an entry.
  logic [ENTRIES-1:0] acks;
  logic [2:0]         state_1    [ENTRIES];
  logic [N_BITS-1:0]  inv_left_1 [ENTRIES];
  always_comb
    for (int e = 0; e < ENTRIES; e++) begin
      acks[e] = ack_valid_i && ack_entry_i == E_BITS'(e);
      inv_left_1[e] = inv_left_q[e] - N_BITS'(acks[e]);
      state_1[e] = acks[e] && inv_left_q[e] == 1 && sharers_q[e] == '0 ? (dirty_q[e] ? VICT_WB : FREE) : state_q[e];
    end

  // Step 2, port `find`: finds the entry that holds a line, and a free way in the set of the line.
  always_comb begin
    find_hit_o = 0;
    find_way_o = '0;
    find_state_o = '0;
    free_valid_o = 0;
    free_way_o = '0;
    for (int e = ENTRIES - 1; e >= 0; e--) begin
      if (state_1[e] != FREE && bank_set[e] == find_set_i && tag_q[e] == find_tag_i) begin
        find_hit_o = 1;
        find_way_o |= W_BITS'(e % WAYS);
        find_state_o |= state_1[e];
      end
      if (state_1[e] == FREE && 32'(find_set_i) % SETS == e / WAYS) begin
        free_valid_o = 1;
        free_way_o = W_BITS'(e % WAYS);
      end
    end
  end

  // Step 3, port `acc`: allocates an entry, marks its line as arrived or as written, and records L1 copies.
  localparam logic [1:0] ALLOCATE = 1, FILL = 2, WRITE = 3;
  logic [ENTRIES-1:0] allocates, fills, copies, wr_pend_3;
  logic [2:0]         state_3   [ENTRIES];
  logic [L1S-1:0]     sharers_3 [ENTRIES];
  wire                fill = acc_op_i == FILL;
  always_comb
    for (int e = 0; e < ENTRIES; e++) begin
      allocates[e] = acc_op_i == ALLOCATE && acc_entry_i == E_BITS'(e);
      fills[e] = fill && acc_entry_i == E_BITS'(e);
      state_3[e] = allocates[e] ? FETCH : fills[e] ? FILLED : state_1[e];
      wr_pend_3[e] = wr_pend_q[e] || acc_entry_i == E_BITS'(e) && (acc_op_i == WRITE || fill && acc_dirty_i);
      copies[e] = acc_copies_i && acc_entry_i == E_BITS'(e) && (state_1[e] == FETCH || state_1[e] == FILLED);
      sharers_3[e] = sharers_q[e] | L1S'(copies[e]) << acc_sm_i;
    end

  // Step 4, port `turn_i`: queue of the entries whose lines wait for their swap, oldest first. Unused
  // elements are 0.
  if (1) begin : filled
    localparam int LEVEL_BITS = $clog2(ENTRIES + 1);
    logic [LEVEL_BITS-1:0] level_q;
    logic [E_BITS-1:0]     slot_q [ENTRIES];
    logic [E_BITS-1:0]     slot_3 [ENTRIES+1];
    wire  [LEVEL_BITS-1:0] level_3 = level_q + LEVEL_BITS'(fill);
    wire                   take = turn_i == 2'd1 && level_3 != 0;
    wire                   pass = turn_i == 2'd2 && level_3 > 1;
    always_comb begin
      for (int i = 0; i < ENTRIES; i++)
        slot_3[i] = fill && level_q == LEVEL_BITS'(i) ? acc_entry_i : slot_q[i];
      slot_3[ENTRIES] = '0;
    end
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) level_q <= '0;
      else level_q <= level_3 - LEVEL_BITS'(take);
    for (genvar i = 0; i < ENTRIES; i++) begin : g_entry
      always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) slot_q[i] <= '0;
        else if (pass && level_3 == LEVEL_BITS'(i + 1)) slot_q[i] <= slot_3[0];
        else slot_q[i] <= take || pass ? slot_3[i+1] : slot_3[i];
    end
  end
  assign to_swap_valid_o = filled.level_3 != 0;
  assign to_swap_o = filled.slot_3[0];
  assign to_swap_set_o = bank_set[to_swap_o];

  assign to_swap_bound_o = BINDS_EARLY && bound_q[to_swap_o];
  assign to_swap_way_o = BINDS_EARLY ? way_q[to_swap_o] : '0;

  // Step 5, port `exc`: swaps the line of an entry with the old line in the bank.
  logic [ENTRIES-1:0] swaps, dirty_5;
  logic [2:0]         state_5   [ENTRIES];
  logic [L1S-1:0]     sharers_5 [ENTRIES];
  assign exc_tag_o = tag_q[exc_entry_i];
  assign exc_set_o = bank_set[exc_entry_i];
  assign exc_id_o = id_q[exc_entry_i];
  assign exc_wr_pend_o = wr_pend_3[exc_entry_i];
  assign exc_sharers_o = sharers_3[exc_entry_i];
  always_comb
    for (int e = 0; e < ENTRIES; e++) begin
      swaps[e] = exc_valid_i && exc_entry_i == E_BITS'(e);
      sharers_5[e] = swaps[e] ? old_sharers_i : sharers_3[e];
      dirty_5[e] = swaps[e] ? old_dirty_i : dirty_q[e];
      state_5[e] = swaps[e] ? (old_sharers_i != '0 ? VICT_INV : old_dirty_i ? VICT_WB : FREE) : state_3[e];
    end

  // Step 6, port `gone_i`: frees the entries whose old line is in memory. Step 7, port `recall`: selects the
  // lowest-numbered L1 that has a copy of the old line.
  logic [2:0]         state_6 [ENTRIES];
  logic [ENTRIES-1:0] frees, recalls;
  for (genvar e = 0; e < ENTRIES; e++) begin : g_gone
    assign state_6[e] = gone_i[e] ? FREE : state_5[e];
  end
  always_comb begin
    for (int e = 0; e < ENTRIES; e++) begin
      frees[e] = state_6[e] == FREE;
      recalls[e] = recall_valid_i && recall_entry_i == E_BITS'(e);
    end
    recall_sm_o = '0;
    for (int k = L1S - 1; k >= 0; k--) if (sharers_5[recall_entry_i][k]) recall_sm_o = SM_BITS'(k);
  end

  for (genvar e = 0; e < ENTRIES; e++) begin : g_entry
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) begin
        {state_q[e], tag_q[e], wr_pend_q[e], sharers_q[e], inv_left_q[e]} <= '0;
        {dirty_q[e], id_q[e], set_q[e], bound_q[e], way_q[e]} <= '0;
      end else if (frees[e]) begin
        {state_q[e], tag_q[e], wr_pend_q[e], sharers_q[e], inv_left_q[e]} <= '0;
        {dirty_q[e], id_q[e], set_q[e], bound_q[e], way_q[e]} <= '0;
      end else begin
        state_q[e] <= state_6[e];
        wr_pend_q[e] <= wr_pend_3[e] && !swaps[e];
        sharers_q[e] <= recalls[e] ? sharers_5[e] & (sharers_5[e] - 1'b1) : sharers_5[e];
        inv_left_q[e] <= inv_left_1[e] + N_BITS'(recalls[e]);
        dirty_q[e] <= dirty_5[e];
        if (allocates[e]) begin
          set_q[e] <= H_BITS'(32'(find_set_i) / SETS);
          tag_q[e] <= find_tag_i;
          {bound_q[e], way_q[e]} <= {acc_bound_i, acc_way_i};
          id_q[e] <= acc_id_i;
        end
        if (swaps[e]) begin
          tag_q[e] <= old_tag_i;
          {bound_q[e], way_q[e]} <= '0;
        end
      end
  end

  // Bytes of the lines: before this cycle, after the writes of port `put` in step 3 (`line_3`), and after the
  // swap in step 5 (`line_5`).
  logic [LINE-1:0] line [ENTRIES], line_3 [ENTRIES], line_5 [ENTRIES];
  logic [LINE-1:0] put_bits;
  for (genvar b = 0; b < LINE_BYTES; b++) begin : g_byte
    assign put_bits[b*8+:8] = {8{put_mask_i[b]}};
  end
  for (genvar e = 0; e < ENTRIES; e++) begin : g_line
    assign line[e] = data_q[e/WAYS][(e%WAYS)*LINE+:LINE];
    wire puts = put_valid_i && put_entry_i == E_BITS'(e);
    assign line_3[e] = puts ? line[e] & ~put_bits | put_line_i & put_bits : line[e];
    assign line_5[e] = swaps[e] && old_here_i ? old_line_i : line_3[e];
  end
  assign get_line_o = line[get_entry_i];
  assign exc_line_o = line_3[exc_entry_i];
  assign out_line_o = line_5[out_entry_i];
  assign out_set_o = bank_set[out_entry_i];
  assign out_tag_o = swaps[out_entry_i] ? old_tag_i : tag_q[out_entry_i];
  assign out_id_o = id_q[out_entry_i];
  for (genvar e = 0; e < ENTRIES; e++) begin : g_data
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) data_q[e/WAYS][(e%WAYS)*LINE+:LINE] <= '0;
      else data_q[e/WAYS][(e%WAYS)*LINE+:LINE] <= line_5[e];
  end
endmodule
