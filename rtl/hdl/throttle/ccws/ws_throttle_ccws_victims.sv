// SPDX-License-Identifier: MIT OR Apache-2.0
// # CCWS victim tags of an L1D
// Records the evicted lines of each warp. If a warp misses one of the recorded lines, which it fetched
// earlier, it has lost locality (khairy2015 section 5, Table 4).
//
// One operation per cycle:
//
// | port      | contract                                                                                                                                                                                  |
// |-----------|-------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------|
// | `missed`  | an accepted miss of `line_i` by `warp_i`, which fills `way_i` of `set_index_i`; with `old_valid_i` another line, `old_i`, is evicted there. `lost_o` is set if the warp had lost the line |
// | `stored`  | a global store removes `line_i` from the tags of all warps                                                                                                                                |
// | `clear_i` | a kernel has ended: removes all tags                                                                                                                                                      |
//
// A miss first inserts the evicted line into the victim tags of the warp that had fetched the line. If the
// line is already in these tags, it keeps its entry. Otherwise it takes the lowest free entry of its set, or
// else the least recently used one. Then the line that missed is searched for in the victim tags of the warp
// that missed, including the tag just inserted. If its tag is found, it stays there and becomes the most
// recently used one. `lost_o` is valid with `missed_valid_i`.
// Latency: none.
// The set index of a tag is the low bits of the line. A row of `tags_q` is a set of a warp, with one entry
// {valid, line, lru} per tag, entry 0 in the lowest bits; `lru` is its rank, with 0 for the most recently
// used. A row of `owners_q` has, for each way of a set of the L1D, the warp that fetched its line.
module ws_throttle_ccws_victims #(
    parameter int SETS = 32,
    parameter int WAYS = 4,
    parameter int WARPS = 48,
    parameter int VICTIM_SETS = 2,
    parameter int VICTIM_WAYS = 8,
    parameter int LINE_BITS = 25,
    localparam int S_BITS = SETS < 2 ? 1 : $clog2(SETS),
    localparam int W_BITS = WAYS < 2 ? 1 : $clog2(WAYS),
    localparam int O_BITS = WARPS < 2 ? 1 : $clog2(WARPS)
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 missed_valid_i,
    input  logic [S_BITS-1:0]    set_index_i,
    input  logic [W_BITS-1:0]    way_i,
    input  logic                 old_valid_i,
    input  logic [LINE_BITS-1:0] old_i,
    input  logic [O_BITS-1:0]    warp_i,
    input  logic [LINE_BITS-1:0] line_i,
    output logic                 lost_o,
    input  logic                 stored_valid_i,
    input  logic                 clear_i
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (SETS < 1) begin : g_refuse_sets
    $error("SETS is %0d, expected 1 or more", SETS);
  end
  if (WAYS < 1) begin : g_refuse_ways
    $error("WAYS is %0d, expected 1 or more", WAYS);
  end
  if (WARPS < 1) begin : g_refuse_warps
    $error("WARPS is %0d, expected 1 or more", WARPS);
  end
  if (VICTIM_SETS < 1) begin : g_refuse_victim_sets
    $error("VICTIM_SETS is %0d, expected 1 or more", VICTIM_SETS);
  end
  if (VICTIM_WAYS < 2) begin : g_refuse_victim_ways
    $error("VICTIM_WAYS is %0d, expected 2 or more", VICTIM_WAYS);
  end
  if (LINE_BITS < 1) begin : g_refuse_line_bits
    $error("LINE_BITS is %0d, expected 1 or more", LINE_BITS);
  end
`endif

  localparam int LRU = $clog2(VICTIM_WAYS), CELL = 1 + LINE_BITS + LRU, ROW = VICTIM_WAYS * CELL;
  localparam int ROWS = WARPS * VICTIM_SETS, R_BITS = ROWS < 2 ? 1 : $clog2(ROWS);

  logic [ROW-1:0]         tags_q   [ROWS];
  logic [WAYS*O_BITS-1:0] owners_q [SETS];

  function automatic [R_BITS-1:0] row_of(input [O_BITS-1:0] of, input [LINE_BITS-1:0] at);
    row_of = R_BITS'(32'(of) * VICTIM_SETS + 32'(at) % VICTIM_SETS);
  endfunction

  // Returns one bit per tag of a row: 1 for the tag of the line `of`, if there is one.
  function automatic [VICTIM_WAYS-1:0] holder(input [ROW-1:0] row, input [LINE_BITS-1:0] of);
    for (int c = 0; c < VICTIM_WAYS; c++) holder[c] = row[c*CELL+LRU+:LINE_BITS+1] == {1'b1, of};
  endfunction

  // Returns the row after a use of the selected tag, which gets rank 0. The ranks of the tags that were used
  // more recently increase by one.
  function automatic [ROW-1:0] used(input [ROW-1:0] row, input [VICTIM_WAYS-1:0] cell_oh);
    logic [LRU-1:0] rank;
    rank = '0;
    for (int c = 0; c < VICTIM_WAYS; c++) if (cell_oh[c]) rank |= row[c*CELL+:LRU];
    used = row;
    for (int c = 0; c < VICTIM_WAYS; c++)
      if (cell_oh[c]) used[c*CELL+:LRU] = '0;
      else if (row[c*CELL+:LRU] < rank) used[c*CELL+:LRU] = row[c*CELL+:LRU] + 1'b1;
  endfunction

  // Step 1: inserts the evicted line into the victim tags of the warp that fetched it.
  wire              notes = missed_valid_i && old_valid_i;
  wire [O_BITS-1:0] owner = owners_q[set_index_i][32'(way_i)*O_BITS+:O_BITS];
  wire [R_BITS-1:0] old_row = row_of(owner, old_i);
  wire [ROW-1:0]    was = tags_q[old_row];
  logic [VICTIM_WAYS-1:0] place, free, oldest;
  logic [ROW-1:0]         noted;
  always_comb begin
    for (int c = 0; c < VICTIM_WAYS; c++) begin
      free[c] = !was[c*CELL+CELL-1];
      oldest[c] = was[c*CELL+:LRU] == LRU'(VICTIM_WAYS - 1);
    end
    place = holder(was, old_i);
    if (place == '0) place = free & (~free + 1'b1);
    if (place == '0) place = oldest;
    noted = used(was, place);
    for (int c = 0; c < VICTIM_WAYS; c++) if (place[c]) noted[c*CELL+LRU+:LINE_BITS+1] = {1'b1, old_i};
  end

  // Step 2: searches for the missed line in the tags of the warp that missed. The comparison ignores the
  // entry that step 1 overwrites.
  logic [VICTIM_WAYS-1:0] holds [ROWS];
  wire [R_BITS-1:0]      own_row = row_of(warp_i, line_i);
  wire                   is_noted = notes && own_row == old_row;
  wire [ROW-1:0]         sought = is_noted ? noted : tags_q[own_row];
  wire [VICTIM_WAYS-1:0] found = is_noted ? holds[own_row] & ~place : holds[own_row];
  wire [ROW-1:0]         sought_next = used(sought, found);
  assign lost_o = found != '0;

  for (genvar r = 0; r < ROWS; r++) begin : g_row
    assign holds[r] = holder(tags_q[r], line_i);
    wire in_set = r % VICTIM_SETS == 32'(line_i) % VICTIM_SETS;
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) for (int c = 0; c < VICTIM_WAYS; c++) tags_q[r][c*CELL+:CELL] <= CELL'(c);
      else if (clear_i) for (int c = 0; c < VICTIM_WAYS; c++) tags_q[r][c*CELL+:CELL] <= CELL'(c);
      else if (missed_valid_i && own_row == R_BITS'(r)) tags_q[r] <= sought_next;
      else if (notes && old_row == R_BITS'(r)) tags_q[r] <= noted;
      else if (stored_valid_i && in_set)
        for (int c = 0; c < VICTIM_WAYS; c++) if (holds[r][c]) tags_q[r][c*CELL+CELL-1] <= 0;
  end
  for (genvar s = 0; s < SETS; s++) begin : g_set
    for (genvar w = 0; w < WAYS; w++) begin : g_way
      always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) owners_q[s][w*O_BITS+:O_BITS] <= '0;
        else if (clear_i) owners_q[s][w*O_BITS+:O_BITS] <= '0;
        else if (missed_valid_i && set_index_i == S_BITS'(s) && way_i == W_BITS'(w)) owners_q[s][w*O_BITS+:O_BITS] <= warp_i;
    end
  end
endmodule
