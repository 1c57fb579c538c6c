// # Fetch and Replacement Cache
// A small cache next to an L2 bank for the lines of misses, so that fetches need not wait for evictions
// (candel2018 section 4). The way that the new line will take keeps its old line in the meantime. When the
// new line has arrived, the two lines are swapped, and the old line is evicted from here.
//
// In one cycle, in this order; each port is used at most once, and sees the results of those before it:
//
// | port       | contract                                                                                             |
// |------------|------------------------------------------------------------------------------------------------------|
// | 1 `ack`    | an L1 has dropped its copy of the old line of an entry                                               |
// | 2 `find`   | with `find_hit`, way and state of the entry that has the line; also the lowest free way of that set  |
// | 3 `acc`    | operation `acc_op` of an access on `acc_entry`, and whether L1 `acc_sm` gets a copy                  |
// | 3 `put`    | writes bytes of an entry: a burst from memory, or a store                                            |
// | 4 `turn`   | `to_swap` is the line that has waited longest for its swap: 1 takes it, 2 moves it behind the others |
// | 5 `exc`    | a taken line moves to its way, whose old line moves into the entry                                   |
// | 6 `gone`   | one bit per entry: memory has the last burst of its old line                                         |
// | 7 `recall` | `recall_sm`, the lowest L1 with a copy of the old line of an entry, is sent a recall                 |
//
// - allocate (1): a free entry awaits the line, which no entry has. With BINDS_EARLY, `acc_bound` is set if
//   `acc_way` is the way that it will take.
// - fill (2): the line has arrived, modified if `acc_dirty`; it waits for its swap.
// - write (3): a line that waits for its swap has been written.
//
// A copy is recorded only for a line that stays, not for one that is being evicted.
//
// FREE -allocate-> FETCH -fill-> FILLED -exc-> VICT_INV -last ack-> VICT_WB -gone-> FREE: an old line without
// copies in L1s skips VICT_INV, a clean one skips VICT_WB. An entry becomes free in the cycle in which
// nothing is left to do, and its registers are then 0.
//
// `to_swap` and its related outputs are valid with `to_swap_valid`; `exc_*`, `recall_sm` and the lines are
// valid if the selected entry has them.
// `get_line` is a line before the cycle, `out_line` a line after `exc`, from which bursts to memory are read.
// `out_id` is the request that allocated the entry.
// The set index of an entry is the low bits of the bank's set index. The old line is found here only because
// both lines belong to the same set of the bank.
// A row of `data` has the lines of a set, with way 0 in the lowest bits.
module frc #(
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
    input  logic                  clk,
    input  logic                  rst,

    input  logic                  ack_valid,
    input  logic [E_BITS-1:0]     ack_entry,

    input  logic [S_BITS-1:0]     find_set,
    input  logic [TAG_BITS-1:0]   find_tag,
    output logic                  find_hit,
    output logic [W_BITS-1:0]     find_way,
    output logic [2:0]            find_state,
    output logic                  free_valid,
    output logic [W_BITS-1:0]     free_way,

    input  logic [1:0]            acc_op,
    input  logic [E_BITS-1:0]     acc_entry,
    input  logic                  acc_copies,
    input  logic [SM_BITS-1:0]    acc_sm,
    input  logic                  acc_dirty,
    input  logic                  acc_bound,
    input  logic [B_BITS-1:0]     acc_way,
    input  logic [31:0]           acc_id,
    input  logic                  put_valid,
    input  logic [E_BITS-1:0]     put_entry,
    input  logic [LINE_BYTES-1:0] put_mask,
    input  logic [LINE-1:0]       put_line,
    input  logic [E_BITS-1:0]     get_entry,
    output logic [LINE-1:0]       get_line,

    input  logic [1:0]            turn,
    output logic                  to_swap_valid,
    output logic [E_BITS-1:0]     to_swap,
    output logic [S_BITS-1:0]     to_swap_set,
    output logic                  to_swap_bound,
    output logic [B_BITS-1:0]     to_swap_way,

    input  logic                  exc_valid,
    input  logic [E_BITS-1:0]     exc_entry,
    input  logic                  old_here,
    input  logic [TAG_BITS-1:0]   old_tag,
    input  logic                  old_dirty,
    input  logic [L1S-1:0]        old_sharers,
    input  logic [LINE-1:0]       old_line,
    output logic [TAG_BITS-1:0]   exc_tag,
    output logic                  exc_wr_pend,
    output logic [L1S-1:0]        exc_sharers,
    output logic [LINE-1:0]       exc_line,

    input  logic [ENTRIES-1:0]    gone,
    input  logic [E_BITS-1:0]     out_entry,
    output logic [LINE-1:0]       out_line,
    output logic [31:0]           out_id,

    input  logic                  recall_valid,
    input  logic [E_BITS-1:0]     recall_entry,
    output logic [SM_BITS-1:0]    recall_sm
);
  localparam logic [2:0] FREE = 0, FETCH = 1, FILLED = 2, VICT_INV = 3, VICT_WB = 4;
  localparam int H_BITS = BANK_SETS == SETS ? 1 : $clog2(BANK_SETS / SETS);

  (* fsm_encoding = "none" *)
  logic [2:0]           state    [ENTRIES];
  logic [TAG_BITS-1:0]  tag      [ENTRIES];
  logic [ENTRIES-1:0]   wr_pend, bound;
  logic [B_BITS-1:0]    way      [ENTRIES];
  logic [L1S-1:0]       sharers  [ENTRIES];
  logic [N_BITS-1:0]    inv_left [ENTRIES];
  logic [ENTRIES-1:0]   dirty;
  logic [31:0]          id       [ENTRIES];
  logic [WAYS*LINE-1:0] data     [SETS];

  // Set index of the bank: the high bits are a register, the low bits are the row.
  logic [H_BITS-1:0] set      [ENTRIES];
  logic [S_BITS-1:0] bank_set [ENTRIES];
  always_comb
    for (int e = 0; e < ENTRIES; e++)
      bank_set[e] = S_BITS'(BANK_SETS == SETS ? e / WAYS : 32'(set[e]) * SETS + e / WAYS);

  // 1: acknowledgment.
  logic [ENTRIES-1:0] acks;
  logic [2:0]         state_1    [ENTRIES];
  logic [N_BITS-1:0]  inv_left_1 [ENTRIES];
  always_comb
    for (int e = 0; e < ENTRIES; e++) begin
      acks[e] = ack_valid && ack_entry == E_BITS'(e);
      inv_left_1[e] = inv_left[e] - N_BITS'(acks[e]);
      state_1[e] = acks[e] && inv_left[e] == 1 && sharers[e] == '0 ? (dirty[e] ? VICT_WB : FREE) : state[e];
    end

  // 2: search.
  always_comb begin
    find_hit = 0;
    find_way = '0;
    find_state = '0;
    free_valid = 0;
    free_way = '0;
    for (int e = ENTRIES - 1; e >= 0; e--) begin
      if (state_1[e] != FREE && bank_set[e] == find_set && tag[e] == find_tag) begin
        find_hit = 1;
        find_way |= W_BITS'(e % WAYS);
        find_state |= state_1[e];
      end
      if (state_1[e] == FREE && 32'(find_set) % SETS == e / WAYS) begin
        free_valid = 1;
        free_way = W_BITS'(e % WAYS);
      end
    end
  end

  // 3: access.
  localparam logic [1:0] ALLOCATE = 1, FILL = 2, WRITE = 3;
  logic [ENTRIES-1:0] allocates, fills, copies, wr_pend_3;
  logic [2:0]         state_3   [ENTRIES];
  logic [L1S-1:0]     sharers_3 [ENTRIES];
  wire                fill = acc_op == FILL;
  always_comb
    for (int e = 0; e < ENTRIES; e++) begin
      allocates[e] = acc_op == ALLOCATE && acc_entry == E_BITS'(e);
      fills[e] = fill && acc_entry == E_BITS'(e);
      state_3[e] = allocates[e] ? FETCH : fills[e] ? FILLED : state_1[e];
      wr_pend_3[e] = wr_pend[e] || acc_entry == E_BITS'(e) && (acc_op == WRITE || fill && acc_dirty);
      copies[e] = acc_copies && acc_entry == E_BITS'(e) && (state_1[e] == FETCH || state_1[e] == FILLED);
      sharers_3[e] = sharers[e] | L1S'(copies[e]) << acc_sm;
    end

  // 4: queue of lines that wait for their swap, oldest first; free elements hold 0.
  if (1) begin : filled
    localparam int LEVEL_BITS = $clog2(ENTRIES + 1);
    logic [LEVEL_BITS-1:0] level;
    logic [E_BITS-1:0]     entry [ENTRIES];
    logic [E_BITS-1:0]     entry_3 [ENTRIES+1];
    wire  [LEVEL_BITS-1:0] level_3 = level + LEVEL_BITS'(fill);
    wire                   take = turn == 2'd1 && level_3 != 0;
    wire                   pass = turn == 2'd2 && level_3 > 1;
    always_comb begin
      for (int i = 0; i < ENTRIES; i++)
        entry_3[i] = fill && level == LEVEL_BITS'(i) ? acc_entry : entry[i];
      entry_3[ENTRIES] = '0;
    end
    always_ff @(posedge clk) begin
      level <= rst ? '0 : level_3 - LEVEL_BITS'(take);
      for (int i = 0; i < ENTRIES; i++)
        if (rst) entry[i] <= '0;
        else if (pass && level_3 == LEVEL_BITS'(i + 1)) entry[i] <= entry_3[0];
        else entry[i] <= take || pass ? entry_3[i+1] : entry_3[i];
    end
  end
  assign to_swap_valid = filled.level_3 != 0;
  assign to_swap = filled.entry_3[0];
  assign to_swap_set = bank_set[to_swap];

  assign to_swap_bound = BINDS_EARLY && bound[to_swap];
  assign to_swap_way = BINDS_EARLY ? way[to_swap] : '0;

  // 5: exchange.
  logic [ENTRIES-1:0] swaps, dirty_5;
  logic [2:0]         state_5   [ENTRIES];
  logic [L1S-1:0]     sharers_5 [ENTRIES];
  assign exc_tag = tag[exc_entry];
  assign exc_wr_pend = wr_pend_3[exc_entry];
  assign exc_sharers = sharers_3[exc_entry];
  always_comb
    for (int e = 0; e < ENTRIES; e++) begin
      swaps[e] = exc_valid && exc_entry == E_BITS'(e);
      sharers_5[e] = swaps[e] ? old_sharers : sharers_3[e];
      dirty_5[e] = swaps[e] ? old_dirty : dirty[e];
      state_5[e] = swaps[e] ? (old_sharers != '0 ? VICT_INV : old_dirty ? VICT_WB : FREE) : state_3[e];
    end

  // 6: the old line has left. 7: recall of the lowest sharer.
  logic [2:0]         state_6 [ENTRIES];
  logic [ENTRIES-1:0] frees, recalls;
  for (genvar e = 0; e < ENTRIES; e++) begin : g_gone
    assign state_6[e] = gone[e] ? FREE : state_5[e];
  end
  always_comb begin
    for (int e = 0; e < ENTRIES; e++) begin
      frees[e] = rst || state_6[e] == FREE;
      recalls[e] = recall_valid && recall_entry == E_BITS'(e);
    end
    recall_sm = '0;
    for (int k = L1S - 1; k >= 0; k--) if (sharers_5[recall_entry][k]) recall_sm = SM_BITS'(k);
  end

  always_ff @(posedge clk)
    for (int e = 0; e < ENTRIES; e++)
      if (frees[e]) begin
        state[e] <= FREE;
        tag[e] <= '0;
        wr_pend[e] <= 0;
        sharers[e] <= '0;
        inv_left[e] <= '0;
        dirty[e] <= 0;
        id[e] <= '0;
        set[e] <= '0;
        {bound[e], way[e]} <= '0;
      end else begin
        state[e] <= state_6[e];
        wr_pend[e] <= wr_pend_3[e] && !swaps[e];
        sharers[e] <= recalls[e] ? sharers_5[e] & (sharers_5[e] - 1'b1) : sharers_5[e];
        inv_left[e] <= inv_left_1[e] + N_BITS'(recalls[e]);
        dirty[e] <= dirty_5[e];
        if (allocates[e]) begin
          set[e] <= H_BITS'(32'(find_set) / SETS);
          tag[e] <= find_tag;
          {bound[e], way[e]} <= {acc_bound, acc_way};
          id[e] <= acc_id;
        end
        if (swaps[e]) begin
          tag[e] <= old_tag;
          {bound[e], way[e]} <= '0;
        end
      end

  // Lines: first a write of bytes, then the exchange.
  logic [LINE-1:0] line [ENTRIES], line_3 [ENTRIES], line_5 [ENTRIES];
  for (genvar e = 0; e < ENTRIES; e++) begin : g_line
    assign line[e] = data[e/WAYS][(e%WAYS)*LINE+:LINE];
    for (genvar b = 0; b < LINE_BYTES; b++) begin : g_byte
      wire puts = put_valid && put_entry == E_BITS'(e) && put_mask[b];
      assign line_3[e][b*8+:8] = puts ? put_line[b*8+:8] : line[e][b*8+:8];
    end
    assign line_5[e] = swaps[e] && old_here ? old_line : line_3[e];
  end
  assign get_line = line[get_entry];
  assign exc_line = line_3[exc_entry];
  assign out_line = line_5[out_entry];
  assign out_id = id[out_entry];
  always_ff @(posedge clk)
    for (int e = 0; e < ENTRIES; e++) data[e/WAYS][(e%WAYS)*LINE+:LINE] <= rst ? '0 : line_5[e];
endmodule
