// SPDX-License-Identifier: MIT OR Apache-2.0
// # MSHR: miss status holding registers
// Tracks the lines in flight, so that a second miss to a line waits for the first fill, without another
// memory request (li2015 section 2.2).
//
// The ports act in the order of their numbers within one cycle. Each port is used at most once per cycle and
// sees the results of the ports before it:
//
// | port       | contract                                                                                           |
// |------------|----------------------------------------------------------------------------------------------------|
// | 1 `fill`   | a line arrives; accepted unless `fill_blocked_o`: waiters have yet to read the place that it fills |
// | 2 `recall` | the L2 recalls the line: no later load may join it; only with RECALLS                              |
// | 3 `pop`    | one waiter of the entry filled first, in arrival order; removed if `pop_ready_i`                   |
// | 4 `acc`    | one of {join, miss, overtake}, selected by `acc_op_i`, or none: the outputs are valid for all      |
//
// `acc_open_o`, `acc_full_o` and `acc_draining_o` show the state of the entry for `acc_line_i`, and
// `acc_free_o` shows whether an entry can be allocated for the line. `acc_drains_o` is set while waiters must
// still read the place `acc_place_i`.
// - join (1): waits for the line, if the entry of the line is open.
// - miss (2): allocates `acc_entry_o`, if `acc_free_o` and `acc_go_i`. The caller guarantees that the line is
//   untracked or draining, and that no line in flight will fill `acc_place_i`.
// - overtake (3): a store overtook the line in flight; no later load may join the line.
//
// Some outputs are valid only if their search succeeds: `fill_place_o` and `fill_blocked_o` with
// `fill_hit_o`, and all other `pop_*` outputs with `pop_valid_o`. `acc_entry_o` is valid for a miss with
// `acc_free_o`, and otherwise with `acc_open_o` or `acc_full_o`.
// At most one entry tracks a line, so matches are one-hot.
// Latency: a fill makes its entry ready for `pop` in the same cycle. An entry that `pop` frees can be
// allocated in the same cycle.
// Registers of a free entry keep their last values.
module ws_l1_mshr #(
    parameter int ENTRIES = 32,
    parameter int MERGES = 8,
    parameter int LINE_BITS = 25,
    parameter int PLACE_BITS = 7,
    parameter bit RECALLS = 1,
    localparam int E_BITS = ENTRIES < 2 ? 1 : $clog2(ENTRIES),
    localparam int L_BITS = $clog2(ENTRIES + 1),
    localparam int C_BITS = $clog2(MERGES + 1)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,

    input  logic                  fill_valid_i,
    input  logic [LINE_BITS-1:0]  fill_line_i,
    output logic                  fill_hit_o,
    output logic [PLACE_BITS-1:0] fill_place_o,
    output logic                  fill_blocked_o,

    input  logic                  recall_valid_i,
    input  logic [LINE_BITS-1:0]  recall_line_i,
    output logic                  recall_hit_o,

    input  logic                  pop_ready_i,
    output logic                  pop_valid_o,
    output logic [LINE_BITS-1:0]  pop_line_o,
    output logic [PLACE_BITS-1:0] pop_place_o,
    output logic [5:0]            pop_slot_o,
    output logic [31:0]           pop_lanes_o,
    output logic                  pop_last_o,
    output logic                  has_ready_o,

    input  logic [1:0]            acc_op_i,
    input  logic                  acc_go_i,
    input  logic [LINE_BITS-1:0]  acc_line_i,
    input  logic [PLACE_BITS-1:0] acc_place_i,
    input  logic [5:0]            acc_slot_i,
    input  logic [31:0]           acc_lanes_i,
    output logic                  acc_open_o,
    output logic                  acc_full_o,
    output logic                  acc_draining_o,
    output logic                  acc_free_o,
    output logic [E_BITS-1:0]     acc_entry_o,
    output logic                  acc_drains_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (ENTRIES < 1) begin : g_refuse_entries
    $error("ENTRIES is %0d, expected 1 or more", ENTRIES);
  end
  if (MERGES < 1) begin : g_refuse_merges
    $error("MERGES is %0d, expected 1 or more", MERGES);
  end
  if (LINE_BITS < 1) begin : g_refuse_line_bits
    $error("LINE_BITS is %0d, expected 1 or more", LINE_BITS);
  end
  if (PLACE_BITS < 1) begin : g_refuse_place_bits
    $error("PLACE_BITS is %0d, expected 1 or more", PLACE_BITS);
  end
`endif

  logic [ENTRIES-1:0]    used_q, ready_q, closed_q;
  logic [L_BITS-1:0]     ready_entries_q;
  logic [LINE_BITS-1:0]  line_q    [ENTRIES];
  logic [PLACE_BITS-1:0] set_way_q [ENTRIES];
  logic [C_BITS-1:0]     count_q   [ENTRIES];
  logic [C_BITS-1:0]     head_q    [ENTRIES];
  logic [E_BITS-1:0]     order_q   [ENTRIES];
  logic [5:0]            slot_q    [ENTRIES*MERGES];
  logic [31:0]           lanes_q   [ENTRIES*MERGES];

  // Step 1, port `fill`: finds the pending entry of the line that arrives.
  logic [ENTRIES-1:0] fill_match, fill_drains;
  logic [E_BITS-1:0]  fill_entry;
  always_comb begin
    fill_place_o = '0;
    fill_entry = '0;
    for (int e = 0; e < ENTRIES; e++) begin
      fill_match[e] = used_q[e] && !ready_q[e] && line_q[e] == fill_line_i;
      fill_place_o |= {PLACE_BITS{fill_match[e]}} & set_way_q[e];
      fill_entry |= {E_BITS{fill_match[e]}} & E_BITS'(e);
    end
    for (int e = 0; e < ENTRIES; e++) fill_drains[e] = ready_q[e] && set_way_q[e] == fill_place_o;
  end
  assign fill_hit_o = |fill_match;
  assign fill_blocked_o = |fill_drains;
  wire fill_go = fill_valid_i && fill_hit_o && !fill_blocked_o;
  wire [ENTRIES-1:0] ready_1 = ready_q | (fill_go ? fill_match : '0);
  wire [L_BITS-1:0]  len_1 = ready_entries_q + L_BITS'(fill_go);

  // Step 2, port `recall`: finds the pending entry of the recalled line. No later load may join this entry.
  logic [ENTRIES-1:0] recall_match;
  if (RECALLS) begin : g_recall
    always_comb
      for (int e = 0; e < ENTRIES; e++) recall_match[e] = used_q[e] && !ready_1[e] && line_q[e] == recall_line_i;
  end else begin : g_none
    wire unused = &{1'b0, recall_valid_i, recall_line_i};
    assign recall_match = '0;
  end
  assign recall_hit_o = |recall_match;
  wire [ENTRIES-1:0] closed_2 = closed_q | (recall_valid_i ? recall_match : '0);

  // Step 3, port `pop`: removes one waiter from the entry that was filled first. If no entry was ready before
  // this cycle, removes it from the entry that was filled in this cycle.
  wire [E_BITS-1:0]  pop_entry = ready_entries_q == 0 ? fill_entry : order_q[0];
  wire [C_BITS-1:0]  pop_at = head_q[pop_entry];
  wire [C_BITS-1:0]  pop_next = pop_at + 1'b1;
  wire               pop_go = pop_ready_i && pop_valid_o;
  wire               frees = pop_go && pop_last_o;
  logic [ENTRIES-1:0] freed;
  always_comb for (int e = 0; e < ENTRIES; e++) freed[e] = frees && E_BITS'(e) == pop_entry;
  assign pop_valid_o = len_1 != 0;
  assign pop_line_o = line_q[pop_entry];
  assign pop_place_o = set_way_q[pop_entry];
  assign pop_slot_o = slot_q[pop_entry*MERGES+32'(pop_at)];
  assign pop_lanes_o = lanes_q[pop_entry*MERGES+32'(pop_at)];
  assign pop_last_o = pop_next == count_q[pop_entry];
  wire [ENTRIES-1:0] used_3 = used_q & ~freed;
  wire [ENTRIES-1:0] ready_3 = ready_1 & ~freed;
  wire [ENTRIES-1:0] closed_3 = closed_2 & ~freed;
  wire [L_BITS-1:0]  len_3 = len_1 - L_BITS'(frees);
  assign has_ready_o = len_3 != 0;

  // Step 4, port `acc`: a load joins or allocates an entry, or a store overtakes the line in flight.
  logic [ENTRIES-1:0] acc_match, acc_busy, allocated;
  logic [E_BITS-1:0]  match_entry, lowest_free, free_entry;
  logic               has_free;
  always_comb begin
    match_entry = '0;
    for (int e = 0; e < ENTRIES; e++) begin
      acc_match[e] = used_3[e] && line_q[e] == acc_line_i;
      acc_busy[e] = ready_3[e] && set_way_q[e] == acc_place_i;
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
  wire is_full = count_q[match_entry] == C_BITS'(MERGES) || |(acc_match & closed_3);
  assign acc_draining_o = |(acc_match & ready_3);
  assign acc_open_o = |acc_match && !acc_draining_o && !is_full;
  assign acc_full_o = |acc_match && !acc_draining_o && is_full;
  assign acc_free_o = has_free && !acc_draining_o;
  assign acc_entry_o = acc_op_i == 2'd2 ? free_entry : match_entry;
  assign acc_drains_o = |acc_busy;
  wire              joins = acc_op_i == 2'd1 && acc_open_o;
  wire              misses = acc_op_i == 2'd2 && acc_go_i && acc_free_o;
  wire              overtakes = acc_op_i == 2'd3;
  wire [C_BITS-1:0] push_at = misses ? '0 : count_q[match_entry];
  always_comb for (int e = 0; e < ENTRIES; e++) allocated[e] = misses && E_BITS'(e) == free_entry;

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      used_q <= '0;
      ready_q <= '0;
      closed_q <= '0;
      ready_entries_q <= '0;
    end else begin
      used_q <= used_3 | allocated;
      ready_q <= ready_3;
      closed_q <= closed_3 | (overtakes ? acc_match & ~ready_3 : '0);
      ready_entries_q <= len_3;
    end
  always_ff @(posedge clk_i) begin
    if (pop_go) head_q[pop_entry] <= pop_next;
    if (misses) begin
      line_q[free_entry] <= acc_line_i;
      set_way_q[free_entry] <= acc_place_i;
      head_q[free_entry] <= '0;
    end
    if (joins || misses) begin
      count_q[acc_entry_o] <= push_at + 1'b1;
      slot_q[acc_entry_o*MERGES+32'(push_at)] <= acc_slot_i;
      lanes_q[acc_entry_o*MERGES+32'(push_at)] <= acc_lanes_i;
    end
  end

  // Queue of filled entries in the order of their fills. Its unused elements keep their last values.
  for (genvar e = 0; e < ENTRIES; e++) begin : g_order
    always_ff @(posedge clk_i)
      if (frees && L_BITS'(e) < len_3)
        order_q[e] <= fill_go && L_BITS'(e + 1) == ready_entries_q ? fill_entry : order_q[(e+1)%ENTRIES];
      else if (fill_go && L_BITS'(e) == ready_entries_q) order_q[e] <= fill_entry;
  end
endmodule
