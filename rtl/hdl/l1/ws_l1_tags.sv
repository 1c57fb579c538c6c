// SPDX-License-Identifier: MIT OR Apache-2.0
// # Tag store of the baseline L1D
// Holds the set-associative tags of a cache, with true LRU (li2015 section 2.2) or with static or bimodal
// re-reference interval prediction (SRRIP, BRRIP).
//
// The ports act in the order of their numbers within one cycle. Each port is used at most once per cycle and
// sees the results of the ports before it:
//
// | port      | contract                                                                                                                     |
// |-----------|------------------------------------------------------------------------------------------------------------------------------|
// | 1 `fill`  | the line of a reserved way arrives; `fill_kept_o` is set if the line stays valid                                             |
// | 2 `acc`   | one of {load, store to local memory, other store or recall}, selected by `op_i`, if `go_i`; outputs are valid without `go_i` |
// | 3 `flush` | every way becomes invalid, as after a reset; lines that are modified or in flight are lost                                   |
//
// `go_i` means that MSHR, queue and network accept the access; a refused access changes nothing.
// - load (1): uses the line at `way_o`, if it is in the cache (`present_o`) or in flight (`reserved_o`).
//   Otherwise it reserves `victim_way_o`, and evicts the line there if `victim_holds_o` is set. If
//   `victim_valid_o` is not set, all ways are reserved, and the load is refused.
// - store to local memory (2): modifies a line that is `present_o`; a store to any other line acts like (3).
// - other store or recall (3): invalidates a line that is in the cache; a line in flight will be invalid when
//   it arrives.
//
// `way_o` is valid with `present_o` or `reserved_o`; `victim_*` are valid if neither is set. In addition,
// `victim_way_o` and `victim_holds_o` require `victim_valid_o`, and `victim_modified_o` and `victim_tag_o`
// require `victim_holds_o`.
// Victim: the lowest invalid way. If there is none, the unreserved way with the highest rank; among ways of
// equal rank, the lowest.
// Latency: none; all outputs are combinational in the cycle of the access.
// A row of `entries_q` has one entry {status, tag, rank, inv_on_fill} per way, way 0 in the lowest bits.
module ws_l1_tags #(
    parameter int SETS = 32,
    parameter int WAYS = 4,
    parameter int TAG_BITS = 20,
    parameter int POLICY = 0,  // 0 LRU, 1 SRRIP, 2 BRRIP
    localparam int S_BITS = SETS < 2 ? 1 : $clog2(SETS),
    localparam int W_BITS = $clog2(WAYS)
) (
    input  logic                clk_i,
    input  logic                rst_ni,

    input  logic                flush_i,

    input  logic                fill_valid_i,
    input  logic [S_BITS-1:0]   fill_set_i,
    input  logic [W_BITS-1:0]   fill_way_i,
    output logic                fill_kept_o,

    input  logic [1:0]          op_i,
    input  logic                go_i,
    input  logic [S_BITS-1:0]   set_index_i,
    input  logic [TAG_BITS-1:0] tag_i,
    output logic                present_o,
    output logic                reserved_o,
    output logic                modified_o,
    output logic [W_BITS-1:0]   way_o,
    output logic                victim_valid_o,
    output logic                victim_holds_o,
    output logic                victim_modified_o,
    output logic [W_BITS-1:0]   victim_way_o,
    output logic [TAG_BITS-1:0] victim_tag_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (SETS < 1) begin : g_refuse_sets
    $error("SETS is %0d, expected 1 or more", SETS);
  end
  if (WAYS < 2) begin : g_refuse_ways
    $error("WAYS is %0d, expected 2 or more", WAYS);
  end
  if (POLICY < 0 || POLICY > 2) begin : g_refuse_policy
    $error("POLICY is %0d, expected 0 (LRU), 1 (SRRIP) or 2 (BRRIP)", POLICY);
  end
  if (TAG_BITS < 1) begin : g_refuse_tag_bits
    $error("TAG_BITS is %0d, expected 1 or more", TAG_BITS);
  end
`endif

  localparam logic [1:0] INVALID = 0, RESERVED = 1, VALID = 2, MODIFIED = 3;
  localparam bit LRU = POLICY == 0;
  // Bit positions of the fields in the tag entry of a way.
  localparam int R_BITS = LRU ? W_BITS : 2;
  localparam int RANK = 1, TAG = RANK + R_BITS, STATUS = TAG + TAG_BITS, CELL = STATUS + 2;

  logic [WAYS*CELL-1:0] entries_q [SETS];

  // Step 1, port `fill`: the line of a reserved way arrives.
  wire [WAYS*CELL-1:0]  fill_row = entries_q[fill_set_i];
  logic [WAYS*CELL-1:0] filled;
  assign fill_kept_o = !fill_row[32'(fill_way_i)*CELL];
  always_comb begin
    filled = fill_row;
    filled[32'(fill_way_i)*CELL+STATUS+:2] = fill_kept_o ? VALID : INVALID;
    filled[32'(fill_way_i)*CELL] = 0;
  end

  // Step 2, port `acc`: the access sees the set after the fill of this cycle.
  wire [WAYS*CELL-1:0] row = fill_valid_i && fill_set_i == set_index_i ? filled : entries_q[set_index_i];
  logic [1:0]          status [WAYS];
  logic [R_BITS-1:0]   rank   [WAYS];
  logic [WAYS-1:0]     found, goable, invalid;
  for (genvar w = 0; w < WAYS; w++) begin : g_way
    assign status[w] = row[w*CELL+STATUS+:2];
    assign rank[w] = row[w*CELL+RANK+:R_BITS];
    assign goable[w] = status[w] >= VALID;
    assign invalid[w] = status[w] == INVALID;
    assign found[w] = !invalid[w] && row[w*CELL+TAG+:TAG_BITS] == tag_i;
  end

  logic [R_BITS-1:0] top;
  always_comb begin
    way_o = '0;
    {present_o, reserved_o, modified_o} = '0;
    for (int w = 0; w < WAYS; w++)
      if (found[w]) begin
        way_o |= W_BITS'(w);
        present_o |= goable[w];
        reserved_o |= status[w] == RESERVED;
        modified_o |= status[w] == MODIFIED;
      end
    victim_valid_o = 0;
    victim_way_o = '0;
    top = '0;
    victim_holds_o = invalid == '0;
    for (int w = WAYS - 1; w >= 0; w--)
      if (victim_holds_o ? goable[w] && (!victim_valid_o || rank[w] >= top) : invalid[w]) begin
        victim_valid_o = 1;
        victim_way_o = W_BITS'(w);
        top = rank[w];
      end
    victim_modified_o = status[victim_way_o] == MODIFIED;
    victim_tag_o = row[32'(victim_way_o)*CELL+TAG+:TAG_BITS];
  end

  wire load = op_i == 2'd1 && go_i;
  wire claims = load && !present_o && !reserved_o && victim_valid_o;
  wire stores = op_i == 2'd2 && go_i && present_o;
  wire touches = load && (present_o || reserved_o) || stores;
  wire drops = op_i[1] && go_i && !stores && present_o;
  wire overtakes = op_i[1] && go_i && !stores && reserved_o;
  wire [W_BITS-1:0] used_way = claims ? victim_way_o : way_o;

  // Number of inserted lines modulo 32. BRRIP inserts every 32nd line with a shorter predicted re-reference
  // interval.
  logic [4:0] bimodal_q;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) bimodal_q <= '0;
    else bimodal_q <= bimodal_q + 5'(POLICY == 2 && claims);

  // Replacement ranks of the set after a hit or an insertion in the way `used_way`.
  logic [R_BITS-1:0] rank_next [WAYS];
  if (LRU) begin : g_lru
    always_comb
      for (int w = 0; w < WAYS; w++)
        if (used_way == W_BITS'(w)) rank_next[w] = '0;
        else rank_next[w] = rank[w] + R_BITS'(rank[w] < rank[used_way]);
  end else begin : g_rrip
    wire [1:0] start = POLICY == 2 && bimodal_q != '1 ? 2'd3 : 2'd2;
    wire [1:0] rise = claims && victim_holds_o ? 2'd3 - top : 2'd0;
    always_comb
      for (int w = 0; w < WAYS; w++)
        if (used_way == W_BITS'(w)) rank_next[w] = claims ? start : '0;
        else rank_next[w] = rank[w] + (goable[w] ? rise : '0);
  end

  logic [WAYS*CELL-1:0] row_next;
  always_comb begin
    row_next = row;
    for (int w = 0; w < WAYS; w++) begin
      if (touches || claims) row_next[w*CELL+RANK+:R_BITS] = rank_next[w];
      if (used_way == W_BITS'(w)) begin
        if (claims) begin
          row_next[w*CELL+STATUS+:2] = RESERVED;
          row_next[w*CELL+TAG+:TAG_BITS] = tag_i;
        end
        if (stores) row_next[w*CELL+STATUS+:2] = MODIFIED;
        if (drops) row_next[w*CELL+STATUS+:2] = INVALID;
        if (overtakes) row_next[w*CELL] = 1;
      end
    end
  end

  // Step 3, port `flush`.
  logic [WAYS*CELL-1:0] empty;
  for (genvar w = 0; w < WAYS; w++) begin : g_empty
    assign empty[w*CELL+:CELL] = CELL'(LRU ? w : 3) << RANK;
  end
  for (genvar s = 0; s < SETS; s++) begin : g_set
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) entries_q[s] <= empty;
      else if (flush_i) entries_q[s] <= empty;
      else if (set_index_i == S_BITS'(s)) entries_q[s] <= row_next;
      else if (fill_valid_i && fill_set_i == S_BITS'(s)) entries_q[s] <= filled;
  end
endmodule
