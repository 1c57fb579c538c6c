// # Tag store of the baseline L1D
// Holds the set-associative tags of a cache, with true LRU (li2015 section 2.2) or with static or bimodal
// re-reference interval prediction (SRRIP, BRRIP).
//
// In one cycle, in this order; each port is used at most once, and the second sees the result of the first:
//
// | port     | contract                                                                                                               |
// |----------|------------------------------------------------------------------------------------------------------------------------|
// | 1 `fill` | the line of a reserved way arrives; `fill_kept` is set if the line stays valid                                         |
// | 2 `acc`  | one of {load, store to local memory, other store or recall}, selected by `op`, if `go`; outputs are valid without `go` |
//
// `go` means that MSHR, queue and network accept the access; a refused access changes nothing.
// - load (1): uses the line if it is in the cache (`present`) or in flight (`reserved`), at `way`. Otherwise
//   it reserves `victim_way`, and evicts the line there if `victim_holds`. Without `victim_valid` all ways
//   are reserved, and the load is refused.
// - store to local memory (2): modifies a line that is `present`; a store to any other line acts like (3).
// - other store or recall (3): invalidates a line that is in the cache; a line in flight will be invalid when
//   it arrives.
//
// `way` is valid with `present` or `reserved`, `victim_*` without both. In addition, `victim_way` and
// `victim_holds` require `victim_valid`, and `victim_modified` and `victim_tag` require `victim_holds`.
// Victim: the lowest invalid way, else the unreserved way of the highest rank, and the lowest of several.
// Latency: none; all outputs are combinational in the cycle of the access.
// A row of `entries` has one cell {status, tag, rank, inv_on_fill} per way, way 0 in the lowest bits.
module tags #(
    parameter int SETS = 32,
    parameter int WAYS = 4,
    parameter int TAG_BITS = 20,
    parameter int POLICY = 0,  // 0 LRU, 1 SRRIP, 2 BRRIP
    localparam int S_BITS = SETS < 2 ? 1 : $clog2(SETS),
    localparam int W_BITS = $clog2(WAYS)
) (
    input  logic                clk,
    input  logic                rst,

    input  logic                fill_valid,
    input  logic [S_BITS-1:0]   fill_set,
    input  logic [W_BITS-1:0]   fill_way,
    output logic                fill_kept,

    input  logic [1:0]          op,
    input  logic                go,
    input  logic [S_BITS-1:0]   set_index,
    input  logic [TAG_BITS-1:0] tag,
    output logic                present,
    output logic                reserved,
    output logic                modified,
    output logic [W_BITS-1:0]   way,
    output logic                victim_valid,
    output logic                victim_holds,
    output logic                victim_modified,
    output logic [W_BITS-1:0]   victim_way,
    output logic [TAG_BITS-1:0] victim_tag
);
  localparam logic [1:0] INVALID = 0, RESERVED = 1, VALID = 2, MODIFIED = 3;
  localparam bit LRU = POLICY == 0;
  // Bit positions of the fields in a cell.
  localparam int R_BITS = LRU ? W_BITS : 2;
  localparam int RANK = 1, TAG = RANK + R_BITS, STATUS = TAG + TAG_BITS, CELL = STATUS + 2;

  logic [WAYS*CELL-1:0] entries [SETS];

  // 1: fill.
  wire [WAYS*CELL-1:0]  fill_row = entries[fill_set];
  logic [WAYS*CELL-1:0] filled;
  assign fill_kept = !fill_row[32'(fill_way)*CELL];
  always_comb begin
    filled = fill_row;
    filled[32'(fill_way)*CELL+STATUS+:2] = fill_kept ? VALID : INVALID;
    filled[32'(fill_way)*CELL] = 0;
  end

  // 2: access to the row after the fill.
  wire [WAYS*CELL-1:0] row = fill_valid && fill_set == set_index ? filled : entries[set_index];
  logic [1:0]          status [WAYS];
  logic [R_BITS-1:0]   rank   [WAYS];
  logic [WAYS-1:0]     found, goable, invalid;
  for (genvar w = 0; w < WAYS; w++) begin : g_way
    assign status[w] = row[w*CELL+STATUS+:2];
    assign rank[w] = row[w*CELL+RANK+:R_BITS];
    assign goable[w] = status[w] >= VALID;
    assign invalid[w] = status[w] == INVALID;
    assign found[w] = !invalid[w] && row[w*CELL+TAG+:TAG_BITS] == tag;
  end

  logic [R_BITS-1:0] top;
  always_comb begin
    way = '0;
    {present, reserved, modified} = '0;
    for (int w = 0; w < WAYS; w++)
      if (found[w]) begin
        way |= W_BITS'(w);
        present |= goable[w];
        reserved |= status[w] == RESERVED;
        modified |= status[w] == MODIFIED;
      end
    victim_valid = 0;
    victim_way = '0;
    top = '0;
    victim_holds = invalid == '0;
    for (int w = WAYS - 1; w >= 0; w--)
      if (victim_holds ? goable[w] && (!victim_valid || rank[w] >= top) : invalid[w]) begin
        victim_valid = 1;
        victim_way = W_BITS'(w);
        top = rank[w];
      end
    victim_modified = status[victim_way] == MODIFIED;
    victim_tag = row[32'(victim_way)*CELL+TAG+:TAG_BITS];
  end

  wire load = op == 2'd1 && go;
  wire claims = load && !present && !reserved && victim_valid;
  wire stores = op == 2'd2 && go && present;
  wire touches = load && (present || reserved) || stores;
  wire drops = op[1] && go && !stores && present;
  wire overtakes = op[1] && go && !stores && reserved;
  wire [W_BITS-1:0] used_way = claims ? victim_way : way;

  // Number of inserted lines modulo 32. BRRIP inserts one of 32 lines with a shorter predicted interval.
  logic [4:0] bimodal;
  always_ff @(posedge clk)
    if (rst) bimodal <= '0;
    else bimodal <= bimodal + 5'(POLICY == 2 && claims);

  // Ranks after a use or an insertion.
  logic [R_BITS-1:0] rank_next [WAYS];
  if (LRU) begin : g_lru
    always_comb
      for (int w = 0; w < WAYS; w++)
        if (used_way == W_BITS'(w)) rank_next[w] = '0;
        else rank_next[w] = rank[w] + R_BITS'(rank[w] < rank[used_way]);
  end else begin : g_rrip
    wire [1:0] start = POLICY == 2 && bimodal != '1 ? 2'd3 : 2'd2;
    wire [1:0] rise = claims && victim_holds ? 2'd3 - top : 2'd0;
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
          row_next[w*CELL+TAG+:TAG_BITS] = tag;
        end
        if (stores) row_next[w*CELL+STATUS+:2] = MODIFIED;
        if (drops) row_next[w*CELL+STATUS+:2] = INVALID;
        if (overtakes) row_next[w*CELL] = 1;
      end
    end
  end

  for (genvar s = 0; s < SETS; s++) begin : g_set
    always_ff @(posedge clk)
      if (rst)
        for (int w = 0; w < WAYS; w++) entries[s][w*CELL+:CELL] <= CELL'(LRU ? w : 3) << RANK;
      else if (set_index == S_BITS'(s)) entries[s] <= row_next;
      else if (fill_valid && fill_set == S_BITS'(s)) entries[s] <= filled;
  end
endmodule
