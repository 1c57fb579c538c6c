// SPDX-License-Identifier: MIT OR Apache-2.0
// # Decoupled tag store
// Implements the decoupled L1D of li2015 section 4, which has more tags than lines. Each tag counts the loads
// of its line. Only a line whose count reaches a threshold is admitted to the data array; loads of other
// lines bypass the cache.
//
// The ports act in the order of their numbers within one cycle. Each port is used at most once per cycle and
// sees the results of the ports before it:
//
// | port     | contract                                                                                                                     |
// |----------|------------------------------------------------------------------------------------------------------------------------------|
// | 1 `fill` | the line of a reserved data way arrives; `fill_kept_o` is set if the line stays valid                                        |
// | 2 `mode` | turns the original mode on or off; turning it on discards the candidates of all sets at once                                 |
// | 3 `acc`  | one of {load, store to local memory, other store or recall}, selected by `op_i`, if `go_i`; outputs are valid without `go_i` |
//
// `go_i` means that MSHR, queue and network accept the access; a refused access changes nothing.
// - load (1): If `past_o` is set, the load bypasses the data array, and the tag of its line counts the load.
//   Otherwise the load uses the line, if the line has a data way (`present_o` or `reserved_o`, at `way_o`).
//   If the line has none, the load reserves the data way `victim_way_o`, and evicts the line there if
//   `victim_holds_o` is set. If `victim_valid_o` is not set, all data ways are reserved, and the load is
//   refused.
// - store to local memory (2): modifies a line that is `present_o`; a store to any other line acts like (3).
// - other store or recall (3): the line loses its data way; a line in flight will be invalid when it arrives.
//
// `way_o` is valid if the line has a data way, `victim_*` if it has none. In addition, `victim_way_o` requires
// `victim_valid_o`, and `victim_modified_o` and `victim_tag_o` require `victim_valid_o` and `victim_holds_o`.
// Latency: none; all outputs are combinational in the cycle of the access.
// A row of `entries_q` has one entry {status, tag, tlru, rc, pos} per tag. A row of `lines_q` has one entry
// {lru, inv_on_fill} per data way. The first entry is in the lowest bits. `rc`, the count of a tag, saturates
// at 63.
module ws_l1_decoupled #(
    parameter int SETS = 32,
    parameter int WAYS = 4,
    parameter int TAGS = 8,
    parameter int TAG_BITS = 20,
    parameter int THRESHOLD = 2,
    parameter bit AGE_TWICE = 0,
    localparam int S_BITS = SETS < 2 ? 1 : $clog2(SETS),
    localparam int W_BITS = $clog2(WAYS),
    localparam int T_BITS = $clog2(TAGS),
    localparam int F_BITS = $clog2(WAYS + 1)
) (
    input  logic                clk_i,
    input  logic                rst_ni,

    input  logic                fill_valid_i,
    input  logic [S_BITS-1:0]   fill_set_i,
    input  logic [W_BITS-1:0]   fill_way_i,
    output logic                fill_kept_o,

    input  logic                mode_valid_i,
    input  logic                mode_original_i,

    input  logic [1:0]          op_i,
    input  logic                go_i,
    input  logic [S_BITS-1:0]   set_index_i,
    input  logic [TAG_BITS-1:0] tag_i,
    output logic                past_o,
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
  if (TAGS < 2) begin : g_refuse_tags
    $error("TAGS is %0d, expected 2 or more", TAGS);
  end
  if (THRESHOLD < 0 || THRESHOLD > 63) begin : g_refuse_threshold
    $error("THRESHOLD is %0d, expected 0 to 63", THRESHOLD);
  end
  if (TAG_BITS < 1) begin : g_refuse_tag_bits
    $error("TAG_BITS is %0d, expected 1 or more", TAG_BITS);
  end
`endif

  localparam logic [2:0] EMPTY = 0, CANDIDATE = 1, RESERVED = 2, VALID = 3, MODIFIED = 4;
  // Bit positions of the fields: first those of a tag's entry, then those of a data way's entry.
  localparam int RC = W_BITS, TLRU = RC + 6, TAG = TLRU + T_BITS, STATUS = TAG + TAG_BITS, CELL = STATUS + 3;
  localparam int RANK = 1, LINE = RANK + W_BITS;

  logic [TAGS*CELL-1:0] entries_q [SETS];
  logic [WAYS*LINE-1:0] lines_q   [SETS];
  logic [F_BITS-1:0]    free_q    [SETS];
  logic                 original_q;

  // Step 1, port `fill`: the line of a reserved data way arrives.
  wire [WAYS*LINE-1:0]  fill_lines = lines_q[fill_set_i];
  wire [TAGS*CELL-1:0]  fill_row = entries_q[fill_set_i];
  logic [TAGS*CELL-1:0] filled;
  wire is_original = original_q || THRESHOLD == 0;
  assign fill_kept_o = !fill_lines[32'(fill_way_i)*LINE];
  always_comb begin
    filled = fill_row;
    for (int t = 0; t < TAGS; t++)
      if (fill_row[t*CELL+STATUS+:3] >= RESERVED && fill_row[t*CELL+:W_BITS] == fill_way_i) begin
        filled[t*CELL+STATUS+:3] = fill_kept_o ? VALID : is_original ? EMPTY : CANDIDATE;
        if (!fill_kept_o) filled[t*CELL+RC+:6] = '0;
      end else if (!fill_kept_o) filled[t*CELL+RC+:6] = fill_row[t*CELL+RC+:6] - 6'(fill_row[t*CELL+RC+:6] != 0);
  end
  wire [F_BITS-1:0] fill_free = free_q[fill_set_i] + F_BITS'(!fill_kept_o);

  // Step 2, port `mode`: turns the original mode, in which every line is admitted, on or off.
  wire original_2 = mode_valid_i ? mode_original_i : original_q;
  wire admits_all = original_2 || THRESHOLD == 0;
  wire forgets = mode_valid_i && admits_all;
  function automatic [TAGS*CELL-1:0] forgotten(input [TAGS*CELL-1:0] row);
    forgotten = row;
    for (int t = 0; t < TAGS; t++)
      if (row[t*CELL+STATUS+:3] == CANDIDATE) begin
        forgotten[t*CELL+STATUS+:3] = EMPTY;
        forgotten[t*CELL+RC+:6] = '0;
      end
  endfunction

  // Step 3, port `acc`: the access sees the set after the fill and the mode change of this cycle.
  wire same = fill_valid_i && fill_set_i == set_index_i;
  wire [TAGS*CELL-1:0] read = same ? filled : entries_q[set_index_i];
  wire [TAGS*CELL-1:0] row = forgets ? forgotten(read) : read;
  wire [WAYS*LINE-1:0] row_lines = lines_q[set_index_i];
  wire [F_BITS-1:0]    row_free = same ? fill_free : free_q[set_index_i];

  logic [2:0]          status [TAGS];
  logic [T_BITS-1:0]   tlru   [TAGS];
  logic [5:0]          rc     [TAGS];
  logic [W_BITS-1:0]   pos    [TAGS];
  logic [W_BITS-1:0]   rank   [WAYS];
  logic [TAGS-1:0]     committed, may_go, found, empty;
  for (genvar t = 0; t < TAGS; t++) begin : g_cell
    assign status[t] = row[t*CELL+STATUS+:3];
    assign tlru[t] = row[t*CELL+TLRU+:T_BITS];
    assign rc[t] = row[t*CELL+RC+:6];
    assign pos[t] = row[t*CELL+:W_BITS];
    assign committed[t] = status[t] >= RESERVED;
    assign may_go[t] = status[t] >= VALID;
    assign empty[t] = status[t] == EMPTY;
    assign found[t] = !empty[t] && row[t*CELL+TAG+:TAG_BITS] == tag_i;
  end
  for (genvar w = 0; w < WAYS; w++) begin : g_way
    assign rank[w] = row_lines[w*LINE+RANK+:W_BITS];
  end

  // Tag to evict for a line without a tag: the first empty tag, else the candidate with the lowest count.
  // Among candidates with this count, the least recently used one is evicted.
  logic [5+T_BITS:0] key, least;
  logic [TAGS-1:0]   candidate, spare;
  always_comb begin
    candidate = '0;
    least = '1;
    key = '0;
    for (int t = 0; t < TAGS; t++) begin
      key = {rc[t], ~tlru[t]};
      if (status[t] == CANDIDATE && (candidate == '0 || key < least)) begin
        least = key;
        candidate = TAGS'(1) << t;
      end
    end
    spare = empty != '0 ? empty & (~empty + 1'b1) : candidate;
  end

  // State of the tag of the accessed line, and the tag's count after this access. For a line without a tag,
  // the count is 0.
  logic [5:0]        uses, count;
  logic [W_BITS-1:0] place;
  logic              has_place;
  always_comb begin
    uses = '0;
    place = '0;
    {present_o, reserved_o, modified_o, has_place} = '0;
    for (int t = 0; t < TAGS; t++)
      if (found[t]) begin
        uses |= rc[t];
        place |= pos[t];
        has_place |= committed[t];
        reserved_o |= status[t] == RESERVED;
        present_o |= may_go[t];
        modified_o |= status[t] == MODIFIED;
      end
    count = found != '0 && uses != '1 ? uses + 1'b1 : uses;
    way_o = place;
  end
  assign past_o = !has_place && !admits_all && 32'(count) < THRESHOLD;

  // Data way for a miss: a free way, or the least recently used way if none is free. Even if a data way is
  // free, a line must be evicted if the missed line has no tag and every tag belongs to a line in a data way.
  logic [WAYS-1:0]   taken, goable;
  logic [W_BITS-1:0] top, evicted;
  logic [TAGS-1:0]   loser;
  always_comb begin
    taken = '0;
    goable = '0;
    for (int t = 0; t < TAGS; t++)
      for (int w = 0; w < WAYS; w++)
        if (pos[t] == W_BITS'(w)) begin
          if (committed[t]) taken[w] = 1;
          if (may_go[t]) goable[w] = 1;
        end
    victim_holds_o = !((found != '0 || !(&committed)) && row_free != 0);
    victim_valid_o = 0;
    evicted = '0;
    top = '0;
    for (int w = WAYS - 1; w >= 0; w--)
      if (victim_holds_o ? goable[w] && (!victim_valid_o || rank[w] >= top) : !taken[w]) begin
        victim_valid_o = 1;
        evicted = W_BITS'(w);
        top = rank[w];
      end
    victim_way_o = evicted;
    victim_modified_o = 0;
    victim_tag_o = '0;
    for (int t = 0; t < TAGS; t++) begin
      loser[t] = victim_holds_o && committed[t] && pos[t] == evicted;
      victim_modified_o |= loser[t] && status[t] == MODIFIED;
      victim_tag_o |= {TAG_BITS{loser[t]}} & row[t*CELL+TAG+:TAG_BITS];
    end
  end

  wire load = op_i == 2'd1 && go_i;
  wire passes = load && past_o;
  wire claims = load && !past_o && !has_place && victim_valid_o;
  wire stores = op_i == 2'd2 && go_i && present_o;
  wire touches = load && has_place || stores;
  wire drops = op_i[1] && go_i && !stores && present_o;
  wire overtakes = op_i[1] && go_i && !stores && reserved_o;
  wire [5:0] steps = AGE_TWICE && claims && victim_holds_o ? 6'd2 : 6'd1;

  logic [TAGS*CELL-1:0] row_next;
  logic [WAYS*LINE-1:0] lines_d;
  logic [TAGS-1:0]      winner, front;   // tag of the line after the access, and the same if it becomes MRU
  logic [T_BITS-1:0]    last;
  logic [W_BITS-1:0]    used_way;
  always_comb begin
    winner = found != '0 ? found : spare != '0 || passes ? spare : loser;
    front = touches || passes || claims ? winner : '0;
    last = '0;
    for (int t = 0; t < TAGS; t++) last |= {T_BITS{front[t]}} & tlru[t];
    row_next = row;
    for (int t = 0; t < TAGS; t++) begin
      if (claims && !winner[t] && !loser[t] || drops && !found[t]) row_next[t*CELL+RC+:6] = rc[t] > steps ? rc[t] - steps : '0;
      if (front[t]) row_next[t*CELL+TLRU+:T_BITS] = '0;
      else if (front != '0 && tlru[t] < last) row_next[t*CELL+TLRU+:T_BITS] = tlru[t] + 1'b1;
      if (claims && loser[t] || drops && found[t]) begin
        row_next[t*CELL+STATUS+:3] = admits_all ? EMPTY : CANDIDATE;
        row_next[t*CELL+RC+:6] = '0;
      end
      if (touches && found[t]) begin
        if (stores) row_next[t*CELL+STATUS+:3] = MODIFIED;
        else row_next[t*CELL+RC+:6] = count;
      end
      if ((passes || claims) && winner[t]) begin
        row_next[t*CELL+STATUS+:3] = claims ? RESERVED : CANDIDATE;
        row_next[t*CELL+TAG+:TAG_BITS] = tag_i;
        row_next[t*CELL+RC+:6] = count;
        if (claims) row_next[t*CELL+:W_BITS] = victim_way_o;
      end
    end
    used_way = claims ? victim_way_o : way_o;
    lines_d = row_lines;
    for (int w = 0; w < WAYS; w++)
      if (touches || claims) begin
        if (used_way == W_BITS'(w)) begin
          lines_d[w*LINE+RANK+:W_BITS] = '0;
          if (claims) lines_d[w*LINE] = 0;
        end else if (rank[w] < rank[used_way]) lines_d[w*LINE+RANK+:W_BITS] = rank[w] + 1'b1;
      end else if (overtakes && used_way == W_BITS'(w)) lines_d[w*LINE] = 1;
  end
  wire [F_BITS-1:0] free_d = row_free - F_BITS'(claims && !victim_holds_o) + F_BITS'(drops);

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) original_q <= 0;
    else original_q <= original_2;

  for (genvar s = 0; s < SETS; s++) begin : g_set
    wire fills = fill_valid_i && fill_set_i == S_BITS'(s);
    wire [TAGS*CELL-1:0] kept = fills ? filled : entries_q[s];
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) begin
        for (int t = 0; t < TAGS; t++) entries_q[s][t*CELL+:CELL] <= CELL'(t) << TLRU;
        for (int w = 0; w < WAYS; w++) lines_q[s][w*LINE+:LINE] <= LINE'(w) << RANK;
        free_q[s] <= F_BITS'(WAYS);
      end else if (set_index_i == S_BITS'(s)) begin
        entries_q[s] <= row_next;
        lines_q[s] <= lines_d;
        free_q[s] <= free_d;
      end else begin
        entries_q[s] <= forgets ? forgotten(kept) : kept;
        if (fills) free_q[s] <= fill_free;
      end
  end
endmodule
