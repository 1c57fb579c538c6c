// # CCWS victim tags of an L1D
// Records the evicted lines of each warp. If a warp misses a line that it fetched before, it has lost
// locality (khairy2015 section 5, Table 4).
//
// One operation per cycle:
//
// | port     | contract                                                                                                                                                                    |
// |----------|-----------------------------------------------------------------------------------------------------------------------------------------------------------------------------|
// | `missed` | an accepted miss of `line` by `warp`, which fills `way` of `set_index`; with `old_valid` another line, `old`, is evicted there. `lost` is set if the warp had lost the line |
// | `stored` | a global store removes `line` from the tags of all warps                                                                                                                    |
// | `clear`  | a kernel has ended: removes all tags                                                                                                                                        |
//
// A miss first inserts the evicted line into the tags of the warp that fetched it. A line that is already
// there keeps its cell. Otherwise it takes the lowest free cell of its set, else the least recently used one.
// Then the miss searches the tags of its own warp for its line, including the tag just inserted. A tag that
// is found stays, and becomes the most recently used. `lost` is valid with `missed_valid`.
// Latency: none.
// The set index of a tag is the low bits of the line. A row of `tags` is a set of a warp, with one cell
// {valid, line, lru} per tag, cell 0 in the lowest bits; `lru` is its rank, with 0 for the most recently
// used. A row of `owners` has, for each way of a set of the L1D, the warp that fetched its line.
module victims #(
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
    input  logic                 clk,
    input  logic                 rst,
    input  logic                 missed_valid,
    input  logic [S_BITS-1:0]    set_index,
    input  logic [W_BITS-1:0]    way,
    input  logic                 old_valid,
    input  logic [LINE_BITS-1:0] old,
    input  logic [O_BITS-1:0]    warp,
    input  logic [LINE_BITS-1:0] line,
    output logic                 lost,
    input  logic                 stored_valid,
    input  logic                 clear
);
  localparam int LRU = $clog2(VICTIM_WAYS), CELL = 1 + LINE_BITS + LRU, ROW = VICTIM_WAYS * CELL;
  localparam int ROWS = WARPS * VICTIM_SETS, R_BITS = ROWS < 2 ? 1 : $clog2(ROWS);

  logic [ROW-1:0]         tags   [ROWS];
  logic [WAYS*O_BITS-1:0] owners [SETS];

  function automatic [R_BITS-1:0] row_of(input [O_BITS-1:0] of, input [LINE_BITS-1:0] at);
    row_of = R_BITS'(32'(of) * VICTIM_SETS + 32'(at) % VICTIM_SETS);
  endfunction

  // Returns one bit per cell; the bit of the cell that has the line is set.
  function automatic [VICTIM_WAYS-1:0] holder(input [ROW-1:0] row, input [LINE_BITS-1:0] of);
    for (int c = 0; c < VICTIM_WAYS; c++) holder[c] = row[c*CELL+LRU+:LINE_BITS+1] == {1'b1, of};
  endfunction

  // Returns the row after a use of the selected cell: cells used more recently move back by one rank.
  function automatic [ROW-1:0] used(input [ROW-1:0] row, input [VICTIM_WAYS-1:0] cell_oh);
    logic [LRU-1:0] rank;
    rank = '0;
    for (int c = 0; c < VICTIM_WAYS; c++) if (cell_oh[c]) rank |= row[c*CELL+:LRU];
    used = row;
    for (int c = 0; c < VICTIM_WAYS; c++)
      if (cell_oh[c]) used[c*CELL+:LRU] = '0;
      else if (row[c*CELL+:LRU] < rank) used[c*CELL+:LRU] = row[c*CELL+:LRU] + 1'b1;
  endfunction

  // 1: the evicted line.
  wire              notes = missed_valid && old_valid;
  wire [O_BITS-1:0] owner = owners[set_index][32'(way)*O_BITS+:O_BITS];
  wire [R_BITS-1:0] old_row = row_of(owner, old);
  wire [ROW-1:0]    was = tags[old_row];
  logic [VICTIM_WAYS-1:0] place, free, oldest;
  logic [ROW-1:0]         noted;
  always_comb begin
    for (int c = 0; c < VICTIM_WAYS; c++) begin
      free[c] = !was[c*CELL+CELL-1];
      oldest[c] = was[c*CELL+:LRU] == LRU'(VICTIM_WAYS - 1);
    end
    place = holder(was, old);
    if (place == '0) place = free & (~free + 1'b1);
    if (place == '0) place = oldest;
    noted = used(was, place);
    for (int c = 0; c < VICTIM_WAYS; c++) if (place[c]) noted[c*CELL+LRU+:LINE_BITS+1] = {1'b1, old};
  end

  // 2: the missed line, which is searched in every row. The inserted tag replaces the line that its cell had.
  logic [VICTIM_WAYS-1:0] holds [ROWS];
  wire [R_BITS-1:0]      own_row = row_of(warp, line);
  wire                   is_noted = notes && own_row == old_row;
  wire [ROW-1:0]         sought = is_noted ? noted : tags[own_row];
  wire [VICTIM_WAYS-1:0] found = is_noted ? holds[own_row] & ~place : holds[own_row];
  wire [ROW-1:0]         sought_next = used(sought, found);
  assign lost = found != '0;

  for (genvar r = 0; r < ROWS; r++) begin : g_row
    assign holds[r] = holder(tags[r], line);
    wire in_set = r % VICTIM_SETS == 32'(line) % VICTIM_SETS;
    always_ff @(posedge clk)
      if (rst || clear) for (int c = 0; c < VICTIM_WAYS; c++) tags[r][c*CELL+:CELL] <= CELL'(c);
      else if (missed_valid && own_row == R_BITS'(r)) tags[r] <= sought_next;
      else if (notes && old_row == R_BITS'(r)) tags[r] <= noted;
      else if (stored_valid && in_set)
        for (int c = 0; c < VICTIM_WAYS; c++) if (holds[r][c]) tags[r][c*CELL+CELL-1] <= 0;
  end
  for (genvar s = 0; s < SETS; s++) begin : g_set
    for (genvar w = 0; w < WAYS; w++) begin : g_way
      always_ff @(posedge clk)
        if (rst || clear) owners[s][w*O_BITS+:O_BITS] <= '0;
        else if (missed_valid && set_index == S_BITS'(s) && way == W_BITS'(w)) owners[s][w*O_BITS+:O_BITS] <= warp;
    end
  end
endmodule
