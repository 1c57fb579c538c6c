// # Proof: no L1 is listed whose copy may be older than what the tracker has seen written
// One line is followed, any line at all, among loads, writes and notices of all lines. Around the table stands what
// `rtl/tracker/transfers.rs` remembers: a row for each load on its way, by which the L1 is listed as the line passes, and
// which a write of the line poisons (anssari2012 section 3.2).
//
// | property   | what holds                                                                             |
// |------------|----------------------------------------------------------------------------------------|
// | `fresh`    | the L1 that is to supply the line has no copy, and none on its way, asked for before a write |
// | `another`  | it is not the L1 that asks                                                                |
//
// What may happen in a cycle, as `event` says, to `line` and `sm`:
// * a load that misses in its L1: it asks the table, and takes a free row, if there is one
// * the line of a row passes, and is in its L1 from there on
// * a line that has no row arrives
// * a store or a coherent operation of any L1: nobody may supply the line, and rows of it are poisoned
// * a notice that an L1 has dropped a line, at any time, whether or not it has
// * the kernel ends, once no load is on its way
//
// An L1 has one load of a line on its way at most, asks only for what it does not hold, and may drop a line in any
// cycle. A copy is stale once the line has been written behind the load that brought it.
module sharer_table_proof #(
    parameter int SETS = 1,
    parameter int WAYS = 2,
    parameter int SMS = 2,
    parameter int LINE_BITS = 2,
    parameter bit LAST = 0,
    parameter int ROWS = 2,
    localparam int SM_BITS = SMS < 2 ? 1 : $clog2(SMS),
    localparam int R_BITS = ROWS < 2 ? 1 : $clog2(ROWS)
) (
    input logic                 clk,
    input logic                 rst,
    input logic [2:0]           event_,
    input logic [LINE_BITS-1:0] line,
    input logic [SM_BITS-1:0]   sm,
    input logic [R_BITS-1:0]    row,
    input logic [SMS-1:0]       drops
);
  localparam logic [2:0] NOTHING = 0, LOAD = 1, PASSES = 2, ARRIVES = 3, WRITE = 4, NOTICE = 5, ENDS = 6;
  localparam logic [2:0] SUPPLIER = 1, ADD = 2, REMOVE = 3, FORGET = 4, CLEAR = 5;

  (* anyconst *) logic [LINE_BITS-1:0] FOLLOWED;

  // Loads on their way.
  logic [ROWS-1:0]      used, poisoned;
  logic [LINE_BITS-1:0] line_of [ROWS];
  logic [SM_BITS-1:0]   sm_of   [ROWS];

  // The followed line: copies in L1s, and loads of it on their way.
  logic [SMS-1:0] copy, copy_stale, asked, asked_stale, has_row;

  wire is_followed = line == FOLLOWED;
  wire loads = event_ == LOAD;
  wire passes = event_ == PASSES && used[row] && sm_of[row] == sm && line_of[row] == line;
  wire arrives = event_ == ARRIVES && is_followed && asked[sm] && !has_row[sm];
  wire writes = event_ == WRITE;
  wire ends = event_ == ENDS && used == '0 && asked == '0;
  wire lists = passes && !poisoned[row];

  logic [2:0] op;
  always_comb begin
    op = 0;
    if (loads) op = SUPPLIER;
    if (lists) op = ADD;
    if (writes) op = FORGET;
    if (event_ == NOTICE) op = REMOVE;
    if (ends) op = CLEAR;
  end
  logic               supplier_valid;
  logic [SM_BITS-1:0] supplier;
  sharer_table #(
      .SETS(SETS), .WAYS(WAYS), .SMS(SMS), .LINE_BITS(LINE_BITS), .LAST(LAST)
  ) dut (.*);

  wire [SMS-1:0] self = SMS'(1) << sm;
  wire opens = loads && !used[row];
  always_ff @(posedge clk)
    if (rst || ends) begin
      used <= '0;
      {copy, asked} <= '0;
    end else begin
      if (opens) begin
        used[row] <= 1;
        poisoned[row] <= 0;
        line_of[row] <= line;
        sm_of[row] <= sm;
      end
      if (passes) used[row] <= 0;
      for (int r = 0; r < ROWS; r++) begin
        if (writes && line_of[r] == line) poisoned[r] <= 1;
      end

      copy <= copy & ~drops;
      if (is_followed && loads) begin
        asked <= asked | self;
        asked_stale <= asked_stale & ~self;
        has_row <= opens ? has_row | self : has_row & ~self;
      end
      if (is_followed && passes || arrives) begin
        asked <= asked & ~self;
        copy <= copy & ~drops | self;
        copy_stale[sm] <= asked_stale[sm];
      end
      if (is_followed && writes) begin
        asked_stale <= '1;
        copy_stale <= '1;
      end
    end

  logic started = 0;
  always_ff @(posedge clk) started <= 1;
  always_comb begin
    assume (rst == !started);
    assume (32'(sm) < SMS && 32'(row) < ROWS);
    if (loads && is_followed) assume (!copy[sm] && !asked[sm]);
    if (!rst && is_followed && supplier_valid) begin
      fresh : assert (!(copy[supplier] && copy_stale[supplier]) && !(asked[supplier] && asked_stale[supplier]));
      another : assert (supplier != sm);
    end
  end
endmodule
