// # Proof: no L1 is listed whose copy may be older than what the tracker has seen written
// The proof tracks one line, chosen arbitrarily, among loads, writes and notices of all lines. The table is
// connected to `transfers`, which has a row for each load in flight. Through its row, the L1 is listed when
// the line passes, unless a write of the line poisons the row (anssari2012 section 3.2). No load is forwarded
// to another L1 here.
//
// | property  | what holds                                                                                                  |
// |-----------|-------------------------------------------------------------------------------------------------------------|
// | `fresh`   | the L1 that shall supply the line has no copy, in the cache or in flight, that was requested before a write |
// | `another` | the supplier is not the requesting L1                                                                       |
//
// Possible events of a cycle, selected by `event_`, for `line` and `sm`:
// - a load that misses in its L1: it searches the table, and takes a free row, if there is one
// - the line of a row passes, and is in its L1 from then on; the line also serves as the ticket of the load
// - a line without a row arrives
// - a store or a coherent operation of any L1: no L1 may supply the line, and its rows are poisoned
// - a notice that an L1 has dropped a line, at any time, whether true or not
// - the end of the kernel, once no load is in flight
//
// An L1 has at most one load of a line in flight, and requests only lines that it does not hold. It may drop
// a line in any cycle. A copy is stale once the line has been written after the load that fetched it.
module sharer_table_proof #(
    parameter int SETS = 1,
    parameter int WAYS = 2,
    parameter int SMS = 2,
    parameter int LINE_BITS = 2,
    parameter bit LAST = 0,
    parameter int ROWS = 2,
    localparam int SM_BITS = SMS < 2 ? 1 : $clog2(SMS)
) (
    input logic                 clk,
    input logic                 rst,
    input logic [2:0]           event_,
    input logic [LINE_BITS-1:0] line,
    input logic [SM_BITS-1:0]   sm,
    input logic [SMS-1:0]       drops
);
  localparam logic [2:0] NOTHING = 0, LOAD = 1, PASSES = 2, ARRIVES = 3, WRITE = 4, NOTICE = 5, ENDS = 6;
  localparam logic [2:0] SUPPLIER = 1, ADD = 2, REMOVE = 3, FORGET = 4, CLEAR = 5;

  (* anyconst *) logic [LINE_BITS-1:0] FOLLOWED;

  // Tracked line: copies in L1s, and its loads in flight.
  logic [SMS-1:0] copy, copy_stale, asked, asked_stale, has_row;

  wire is_followed = line == FOLLOWED;
  wire loads = event_ == LOAD;
  logic reply_known, reply_poisoned, free_valid, is_empty;
  wire passes = event_ == PASSES && reply_known;
  wire arrives = event_ == ARRIVES && is_followed && asked[sm] && !has_row[sm];
  wire writes = event_ == WRITE;
  wire ends = event_ == ENDS && is_empty && asked == '0;
  wire lists = passes && !reply_poisoned;

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

  wire opens = loads && free_valid;
  transfers #(
      .ROWS(ROWS), .SMS(SMS), .LINE_BITS(LINE_BITS), .TICKET_BITS(LINE_BITS)
  ) transfers (
      .clk, .rst, .is_empty,
      .answer_valid(1'b0), .answer_row('0), .answer_here(1'b0), .answer_known(), .answer_line(), .answer_sm(),
      .answer_keeps(), .answer_poisoned(), .answer_supplier(),
      .reply_valid(passes), .reply_sm(sm), .reply_ticket(line), .reply_known, .reply_row(), .reply_line(), .reply_keeps(), .reply_poisoned,
      .resend_valid(1'b0), .resend_ready(), .resend_row(), .resend_id(), .resend_line(), .resend_sm(), .resend_ticket(),
      .resend_sectors(), .resend_keeps(),
      .req_line(line), .req_sm(sm), .is_own(), .poison_valid(writes), .poison_sms('1), .free_valid, .free_row(),
      .open_valid(loads), .open_id('0), .open_ticket(line), .open_sectors('0), .open_keeps(1'b1), .open_supplier('0),
      .open_forwarded(1'b0)
  );

  wire [SMS-1:0] self = SMS'(1) << sm;
  always_ff @(posedge clk)
    if (rst || ends) begin
      {copy, asked} <= '0;
    end else begin
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
    assume (32'(sm) < SMS);
    if (loads && is_followed) assume (!copy[sm] && !asked[sm]);
    if (!rst && is_followed && supplier_valid) begin
      fresh : assert (!(copy[supplier] && copy_stale[supplier]) && !(asked[supplier] && asked_stale[supplier]));
      another : assert (supplier != sm);
    end
  end
endmodule
