// # MSHR: miss status holding registers
// Tracks the lines in flight, so that a second miss to a line waits for the first fill, without another
// memory request (li2015 section 2.2).
//
// In one cycle, in this order; each port is used at most once, and sees the results of those before it:
//
// | port       | contract                                                                                         |
// |------------|--------------------------------------------------------------------------------------------------|
// | 1 `fill`   | a line arrives; accepted unless `fill_blocked`: waiters have yet to read the place that it fills |
// | 2 `recall` | the L2 recalls the line: no later load may join it; only with RECALLS                            |
// | 3 `pop`    | one waiter of the entry filled first, in arrival order; removed if `pop_ready`                   |
// | 4 `acc`    | one of {join, miss, overtake}, selected by `acc_op`, or none: the outputs are valid for all      |
//
// `acc_open`, `acc_full` and `acc_draining` show how `acc_line` is tracked, and `acc_free` whether an entry
// can be allocated for it.
// `acc_drains` is set while waiters have yet to read `acc_place`.
// - join (1): waits for the line, if it is open.
// - miss (2): allocates `acc_entry`, if `acc_free` and `acc_go`. The caller has found the line untracked or
//   draining, and no line in flight fills `acc_place`.
// - overtake (3): a store overtook the line in flight; no later load may join it.
//
// Some outputs are valid only if their search succeeds: `fill_place` and `fill_blocked` with `fill_hit`, and
// the other `pop_*` with `pop_valid`. `acc_entry` is valid for a miss with `acc_free`, and otherwise with
// `acc_open` or `acc_full`.
// At most one entry tracks a line, so matches are one-hot.
// Latency: a fill makes its entry ready for `pop` in the same cycle. An entry that `pop` frees can be
// allocated in the same cycle.
// Registers of a free entry keep their last values.
module mshr #(
    parameter int ENTRIES = 32,
    parameter int MERGES = 8,
    parameter int LINE_BITS = 25,
    parameter int PLACE_BITS = 7,
    parameter bit RECALLS = 1,
    localparam int E_BITS = ENTRIES < 2 ? 1 : $clog2(ENTRIES),
    localparam int L_BITS = $clog2(ENTRIES + 1),
    localparam int C_BITS = $clog2(MERGES + 1)
) (
    input  logic                  clk,
    input  logic                  rst,

    input  logic                  fill_valid,
    input  logic [LINE_BITS-1:0]  fill_line,
    output logic                  fill_hit,
    output logic [PLACE_BITS-1:0] fill_place,
    output logic                  fill_blocked,

    input  logic                  recall_valid,
    input  logic [LINE_BITS-1:0]  recall_line,
    output logic                  recall_hit,

    input  logic                  pop_ready,
    output logic                  pop_valid,
    output logic [LINE_BITS-1:0]  pop_line,
    output logic [PLACE_BITS-1:0] pop_place,
    output logic [5:0]            pop_slot,
    output logic [31:0]           pop_lanes,
    output logic                  pop_last,
    output logic                  has_ready,

    input  logic [1:0]            acc_op,
    input  logic                  acc_go,
    input  logic [LINE_BITS-1:0]  acc_line,
    input  logic [PLACE_BITS-1:0] acc_place,
    input  logic [5:0]            acc_slot,
    input  logic [31:0]           acc_lanes,
    output logic                  acc_open,
    output logic                  acc_full,
    output logic                  acc_draining,
    output logic                  acc_free,
    output logic [E_BITS-1:0]     acc_entry,
    output logic                  acc_drains
);
  logic [ENTRIES-1:0]    used, ready, closed;
  logic [L_BITS-1:0]     ready_entries;
  logic [LINE_BITS-1:0]  line    [ENTRIES];
  logic [PLACE_BITS-1:0] set_way [ENTRIES];
  logic [C_BITS-1:0]     count   [ENTRIES];
  logic [C_BITS-1:0]     head    [ENTRIES];
  logic [E_BITS-1:0]     order   [ENTRIES];
  logic [5:0]            slot    [ENTRIES*MERGES];
  logic [31:0]           lanes   [ENTRIES*MERGES];

  // 1: fill.
  logic [ENTRIES-1:0] fill_match, fill_drains;
  logic [E_BITS-1:0]  fill_entry;
  always_comb begin
    fill_place = '0;
    fill_entry = '0;
    for (int e = 0; e < ENTRIES; e++) begin
      fill_match[e] = used[e] && !ready[e] && line[e] == fill_line;
      fill_place |= {PLACE_BITS{fill_match[e]}} & set_way[e];
      fill_entry |= {E_BITS{fill_match[e]}} & E_BITS'(e);
    end
    for (int e = 0; e < ENTRIES; e++) fill_drains[e] = ready[e] && set_way[e] == fill_place;
  end
  assign fill_hit = |fill_match;
  assign fill_blocked = |fill_drains;
  wire fill_go = fill_valid && fill_hit && !fill_blocked;
  wire [ENTRIES-1:0] ready_1 = ready | (fill_go ? fill_match : '0);
  wire [L_BITS-1:0]  len_1 = ready_entries + L_BITS'(fill_go);

  // 2: recall.
  logic [ENTRIES-1:0] recall_match;
  if (RECALLS) begin : g_recall
    always_comb
      for (int e = 0; e < ENTRIES; e++) recall_match[e] = used[e] && !ready_1[e] && line[e] == recall_line;
  end else begin : g_none
    wire unused = &{1'b0, recall_valid, recall_line};
    assign recall_match = '0;
  end
  assign recall_hit = |recall_match;
  wire [ENTRIES-1:0] closed_2 = closed | (recall_valid ? recall_match : '0);

  // 3: pop. If no entry was ready before, the entry just filled is the one filled first.
  wire [E_BITS-1:0]  pop_entry = ready_entries == 0 ? fill_entry : order[0];
  wire [C_BITS-1:0]  pop_at = head[pop_entry];
  wire [C_BITS-1:0]  pop_next = pop_at + 1'b1;
  wire               pop_go = pop_ready && pop_valid;
  wire               frees = pop_go && pop_last;
  logic [ENTRIES-1:0] freed;
  always_comb for (int e = 0; e < ENTRIES; e++) freed[e] = frees && E_BITS'(e) == pop_entry;
  assign pop_valid = len_1 != 0;
  assign pop_line = line[pop_entry];
  assign pop_place = set_way[pop_entry];
  assign pop_slot = slot[pop_entry*MERGES+32'(pop_at)];
  assign pop_lanes = lanes[pop_entry*MERGES+32'(pop_at)];
  assign pop_last = pop_next == count[pop_entry];
  wire [ENTRIES-1:0] used_3 = used & ~freed;
  wire [ENTRIES-1:0] ready_3 = ready_1 & ~freed;
  wire [ENTRIES-1:0] closed_3 = closed_2 & ~freed;
  wire [L_BITS-1:0]  len_3 = len_1 - L_BITS'(frees);
  assign has_ready = len_3 != 0;

  // 4: access.
  logic [ENTRIES-1:0] acc_match, acc_busy, allocated;
  logic [E_BITS-1:0]  match_entry, lowest_free, free_entry;
  logic               has_free;
  always_comb begin
    match_entry = '0;
    for (int e = 0; e < ENTRIES; e++) begin
      acc_match[e] = used_3[e] && line[e] == acc_line;
      acc_busy[e] = ready_3[e] && set_way[e] == acc_place;
      match_entry |= {E_BITS{acc_match[e]}} & E_BITS'(e);
    end
    lowest_free = '0;
    has_free = 0;
    for (int e = ENTRIES - 1; e >= 0; e--)
      if (!used_3[e]) begin
        lowest_free = E_BITS'(e);
        has_free = 1;
      end
    free_entry = lowest_free;
  end
  wire is_full = count[match_entry] == C_BITS'(MERGES) || |(acc_match & closed_3);
  assign acc_draining = |(acc_match & ready_3);
  assign acc_open = |acc_match && !acc_draining && !is_full;
  assign acc_full = |acc_match && !acc_draining && is_full;
  assign acc_free = has_free && !acc_draining;
  assign acc_entry = acc_op == 2'd2 ? free_entry : match_entry;
  assign acc_drains = |acc_busy;
  wire              joins = acc_op == 2'd1 && acc_open;
  wire              misses = acc_op == 2'd2 && acc_go && acc_free;
  wire              overtakes = acc_op == 2'd3;
  wire [C_BITS-1:0] push_at = misses ? '0 : count[match_entry];
  always_comb for (int e = 0; e < ENTRIES; e++) allocated[e] = misses && E_BITS'(e) == free_entry;

  always_ff @(posedge clk) begin
    if (rst) begin
      used <= '0;
      ready <= '0;
      closed <= '0;
      ready_entries <= '0;
    end else begin
      used <= used_3 | allocated;
      ready <= ready_3;
      closed <= closed_3 | (overtakes ? acc_match & ~ready_3 : '0);
      ready_entries <= len_3;
    end
    if (pop_go) head[pop_entry] <= pop_next;
    if (misses) begin
      line[free_entry] <= acc_line;
      set_way[free_entry] <= acc_place;
      head[free_entry] <= '0;
    end
    if (joins || misses) begin
      count[acc_entry] <= push_at + 1'b1;
      slot[acc_entry*MERGES+32'(push_at)] <= acc_slot;
      lanes[acc_entry*MERGES+32'(push_at)] <= acc_lanes;
    end
  end

  // Elements after the last one keep their values.
  for (genvar e = 0; e < ENTRIES; e++) begin : g_order
    always_ff @(posedge clk)
      if (frees && L_BITS'(e) < len_3)
        order[e] <= fill_go && L_BITS'(e + 1) == ready_entries ? fill_entry : order[(e+1)%ENTRIES];
      else if (fill_go && L_BITS'(e) == ready_entries) order[e] <= fill_entry;
  end
endmodule
