// SPDX-License-Identifier: MIT OR Apache-2.0
// # Table of a sharing tracker
// Records which lines of a bank are in L1s, and in which L1s (anssari2012 section 3.1). The table is
// set-associative, with LRU replacement. Its contents are hints: a listed L1 may no longer hold the line. It
// implements `rtl/tracker/table.rs`; the name differs because `table` is a keyword of SystemVerilog.
//
// One operation per cycle, on `line_i` and `sm_i`, selected by `op_i`:
// - supplier (1): the L1 of `supplier_o` is to send the line to `sm_i`, if `supplier_valid_o`. Sharers are
//   selected in round-robin order, starting after the last one selected; `sm_i` itself is never selected.
// - add (2): `sm_i` holds the line. A new line takes the lowest free entry of its set, or else evicts the
//   least recently used one.
// - remove (3): `sm_i` does not hold the line; an entry without sharers is freed.
// - forget (4): no L1 may supply the line.
// - clear (5): no L1 may supply any line.
//
// Operations 1 and 2 make the entry most recently used. With LAST an entry has room for one sharer, the one
// added last. `supplier_o` is valid with `supplier_valid_o`, which is valid for any `op_i`.
// Latency: none; outputs are combinational.
// A row of `entries_q` has one entry {valid, tag, sharers, turn} per way, with way 0 in the lowest bits. With
// LAST an entry is {valid, tag, sharer}. A row of `recency_q` has the ways in the order of their last use.
module ws_tracker_sharer_table #(
    parameter int SETS = 128,
    parameter int WAYS = 8,
    parameter int SMS = 16,
    parameter int LINE_BITS = 22,
    parameter bit LAST = 0,
    localparam int SM_BITS = SMS < 2 ? 1 : $clog2(SMS)
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic [2:0]           op_i,
    input  logic [LINE_BITS-1:0] line_i,
    input  logic [SM_BITS-1:0]   sm_i,
    output logic                 supplier_valid_o,
    output logic [SM_BITS-1:0]   supplier_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (SETS < 1 || (SETS & (SETS - 1)) != 0) begin : g_refuse_sets
    $error("SETS is %0d, expected a power of two", SETS);
  end
  if (WAYS < 2) begin : g_refuse_ways
    $error("WAYS is %0d, expected 2 or more", WAYS);
  end
  if (SMS < 2) begin : g_refuse_sms
    $error("SMS is %0d, expected 2 or more", SMS);
  end
  if (LINE_BITS <= $clog2(SETS)) begin : g_refuse_line_bits
    $error("LINE_BITS is %0d, expected more bits than the set index", LINE_BITS);
  end
`endif

  localparam logic [2:0] SUPPLIER = 1, ADD = 2, REMOVE = 3, FORGET = 4, CLEAR = 5;
  localparam int W_BITS = WAYS < 2 ? 1 : $clog2(WAYS);
  localparam int S_BITS = SETS < 2 ? 1 : $clog2(SETS);
  localparam int TAG_BITS = LINE_BITS - $clog2(SETS);
  // Bit positions of the fields in an entry, and the order of the elements in a row of `recency_q`.
  localparam int SHARERS = LAST ? 0 : SM_BITS, TAG = SHARERS + (LAST ? SM_BITS : SMS);
  localparam int VALID = TAG + TAG_BITS, CELL = VALID + 1;
  localparam bit UPWARDS = W_BITS == 4;

  logic [WAYS*CELL-1:0]   entries_q [SETS];
  logic [WAYS*W_BITS-1:0] recency_q [SETS];

  wire [S_BITS-1:0]      set_index = S_BITS'(32'(line_i) % SETS);
  wire [TAG_BITS-1:0]    tag = TAG_BITS'(line_i / LINE_BITS'(SETS));
  wire [WAYS*CELL-1:0]   row = entries_q[set_index];
  wire [WAYS*W_BITS-1:0] uses = recency_q[set_index];

  // Searches for the line; if it is absent, selects the way for a new line.
  logic              is_here, hit, is_full;
  logic [W_BITS-1:0] hit_way, free_way, way;
  logic [W_BITS-1:0] used [WAYS];
  for (genvar w = 0; w < WAYS; w++) begin : g_used
    assign used[w] = uses[(UPWARDS ? w : WAYS - 1 - w)*W_BITS+:W_BITS];
  end
  always_comb begin
    is_here = 0;
    hit_way = '0;
    is_full = 1;
    free_way = '0;
    for (int w = WAYS - 1; w >= 0; w--) begin
      if (row[w*CELL+VALID] && row[w*CELL+TAG+:TAG_BITS] == tag) begin
        is_here = 1;
        hit_way |= W_BITS'(w);
      end
      if (!row[w*CELL+VALID]) begin
        is_full = 0;
        free_way = W_BITS'(w);
      end
    end
    hit = is_here;
    way = is_here ? hit_way : is_full ? used[WAYS-1] : free_way;
  end

  // Selects the lowest-numbered sharer whose number is at least `turn` or, if there is none, the
  // lowest-numbered sharer. Never selects `sm_i` itself.
  wire [CELL-1:0]  entry = row[32'(way)*CELL+:CELL];
  wire [SMS-1:0]   self = SMS'(1) << sm_i;
  logic [SMS-1:0]  sharers, others, behind, among;
  logic [SM_BITS-1:0] turn, lowest;
  if (LAST) begin : g_last
    assign sharers = SMS'(1) << entry[SHARERS+:SM_BITS];
    assign turn = '0;
  end else begin : g_all
    assign sharers = entry[SHARERS+:SMS];
    assign turn = entry[SM_BITS-1:0];
  end
  always_comb begin
    others = sharers & ~self;
    behind = others & ({SMS{1'b1}} << turn);
    among = behind != '0 ? behind : others;
    lowest = '0;
    for (int s = SMS - 1; s >= 0; s--) if (among[s]) lowest = SM_BITS'(s);
    supplier_o = lowest;
    supplier_valid_o = hit && others != '0;
  end

  // `was` is the table entry before the operation (a new line starts without sharers), and `next` the entry
  // after it.
  wire [CELL-1:0]  was = op_i == ADD && !hit ? '0 : entry;
  logic [CELL-1:0] next;
  logic [SMS-1:0]  left;
  always_comb begin
    next = was;
    left = sharers & ~self;
    case (op_i)
      SUPPLIER: if (!LAST && supplier_valid_o) next[SM_BITS-1:0] = 32'(supplier_o) == SMS - 1 ? '0 : supplier_o + 1'b1;
      ADD: begin
        next[VALID] = 1;
        next[TAG+:TAG_BITS] = tag;
        if (LAST) next[SHARERS+:SM_BITS] = sm_i;
        else next[SHARERS+:SMS] = was[SHARERS+:SMS] | self;
      end
      REMOVE: begin
        next[VALID] = left != '0;
        if (!LAST) next[SHARERS+:SMS] = left;
        else if (left == '0) next[SHARERS+:SM_BITS] = '0;
      end
      FORGET: next[VALID] = 0;
      default: ;
    endcase
  end
  wire changes = op_i == ADD || hit && (op_i == SUPPLIER || op_i == REMOVE || op_i == FORGET);
  wire touches = op_i == ADD || hit && op_i == SUPPLIER;

  // Moves the accessed way to the front of the recency order. The ways that preceded it in the order move
  // back by one position.
  logic [WAYS*W_BITS-1:0] uses_next;
  logic                   before_way;
  always_comb begin
    before_way = 1;
    uses_next = uses;
    for (int p = 0; p < WAYS; p++) begin
      if (before_way) uses_next[(UPWARDS ? p : WAYS - 1 - p)*W_BITS+:W_BITS] = p == 0 ? way : used[(p+WAYS-1)%WAYS];
      if (used[p] == way) before_way = 0;
    end
  end

  for (genvar s = 0; s < SETS; s++) begin : g_set
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) begin
        for (int w = 0; w < WAYS; w++) begin
          entries_q[s][w*CELL+:CELL] <= '0;
          recency_q[s][(UPWARDS ? w : WAYS - 1 - w)*W_BITS+:W_BITS] <= W_BITS'(w);
        end
      end else begin
        if (op_i == CLEAR) for (int w = 0; w < WAYS; w++) entries_q[s][w*CELL+VALID] <= 0;
        else if (changes && set_index == S_BITS'(s))
          for (int w = 0; w < WAYS; w++) if (way == W_BITS'(w)) entries_q[s][w*CELL+:CELL] <= next;
        if (touches && set_index == S_BITS'(s)) recency_q[s] <= uses_next;
      end
  end
endmodule
