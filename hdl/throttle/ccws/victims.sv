// # CCWS victim tags of an L1D
// Remembers the lines that each warp brought and others displaced, so that a miss to one of them shows that the warp has
// lost locality (khairy2015 section 5, Table 4).
//
// One thing a cycle:
//
// | port     | contract                                                                                       |
// |----------|------------------------------------------------------------------------------------------------|
// | `missed` | an accepted miss of `line` by `warp`, which comes to `way` of `set_index`; there `old`, another line, gives way if `old_valid`. The warp had lost the line if `lost` |
// | `stored` | a global store takes `line` from everyone                                                        |
// | `clear`  | a kernel has ended: everything is forgotten                                                      |
//
// A miss first notes the old line with the warp that brought it: where it is already, else in the lowest free cell of its
// set, else in that used longest ago. Then it looks for its own line among those of its warp, and sees what was noted. What it
// finds stays, as the one used last. `lost` has a meaning with `missed_valid`.
// Latency: none.
// A set of a warp is the low bits of the line. A row of `tags` is a set of a warp, with a cell {valid, line, lru} for each of its
// tags, 0 in the lowest bits; `lru` is its rank, 0 that of the one used last. A row of `owners` has the warp that brought
// each way of a set of the L1D.
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

  // A bit for the cell that has the line.
  function automatic [VICTIM_WAYS-1:0] holder(input [ROW-1:0] row, input [LINE_BITS-1:0] of);
    for (int c = 0; c < VICTIM_WAYS; c++) holder[c] = row[c*CELL+LRU+:LINE_BITS+1] == {1'b1, of};
  endfunction

  // The row in which the cell of a bit was used: those used since it was are a rank further.
  function automatic [ROW-1:0] used(input [ROW-1:0] row, input [VICTIM_WAYS-1:0] cell_oh);
    logic [LRU-1:0] rank;
    rank = '0;
    for (int c = 0; c < VICTIM_WAYS; c++) if (cell_oh[c]) rank |= row[c*CELL+:LRU];
    used = row;
    for (int c = 0; c < VICTIM_WAYS; c++)
      if (cell_oh[c]) used[c*CELL+:LRU] = '0;
      else if (row[c*CELL+:LRU] < rank) used[c*CELL+:LRU] = row[c*CELL+:LRU] + 1'b1;
  endfunction

  // 1: the old line.
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

  // 2: the line that is missed, which every row is searched for. What was noted stands where another line was.
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
