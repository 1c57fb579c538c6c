// SPDX-License-Identifier: MIT OR Apache-2.0
// # Proof: no L1 is listed whose copy may be older than what the tracker has seen written
// The proof tracks one arbitrary line among loads, writes and notices of all lines. The table is connected to
// `transfers`, which has a row for each load in flight. The row causes the requesting L1 to be listed when
// the line passes the tracker, unless a write of the line poisons the row (anssari2012 section 3.2). In this
// proof, no load is forwarded to another L1.
//
// | property  | what holds                                                                                                  |
// |-----------|-------------------------------------------------------------------------------------------------------------|
// | `fresh`   | the L1 that shall supply the line has no copy, in the cache or in flight, that was requested before a write |
// | `another` | the supplier is not the requesting L1                                                                       |
//
// Possible events of a cycle, selected by `event_i`, for `line_i` and `sm_i`:
// - a load that misses in its L1: it searches the table, and allocates a row if one is free
// - the line of a row passes the tracker, and is in the L1 from then on; the line also serves as the load's
//   ticket
// - a line without a row arrives at its L1
// - a store or a coherent operation of any L1: no L1 may supply the line, and the rows of the line are
//   poisoned
// - a notice that an L1 has dropped a line, at any time, whether true or not
// - the end of the kernel, once no load is in flight
//
// An L1 has at most one load of a line in flight, and requests only lines that it does not hold. It may drop
// a line in any cycle. A copy is stale once the line has been written after the load that fetched it.
module ws_tracker_sharer_table_proof #(
    parameter int SETS = 1,
    parameter int WAYS = 2,
    parameter int SMS = 2,
    parameter int LINE_BITS = 2,
    parameter bit LAST = 0,
    parameter int ROWS = 2,
    localparam int SM_BITS = SMS < 2 ? 1 : $clog2(SMS)
) (
    input logic                 clk_i,
    input logic                 rst_ni,
    input logic [2:0]           event_i,
    input logic [LINE_BITS-1:0] line_i,
    input logic [SM_BITS-1:0]   sm_i,
    input logic [SMS-1:0]       drops_i
);
  localparam logic [2:0] NOTHING = 0, LOAD = 1, PASSES = 2, ARRIVES = 3, WRITE = 4, NOTICE = 5, ENDS = 6;
  localparam logic [2:0] SUPPLIER = 1, ADD = 2, REMOVE = 3, FORGET = 4, CLEAR = 5;

  (* anyconst *) logic [LINE_BITS-1:0] FOLLOWED;

  // State of the tracked line: the L1s with a copy and those with a load in flight. The masks `*_stale` mark
  // the copies and loads that are stale.
  logic [SMS-1:0] copy, copy_stale, asked, asked_stale, has_row;

  wire is_followed = line_i == FOLLOWED;
  wire loads = event_i == LOAD;
  logic reply_known_o, reply_poisoned_o, free_valid_o, is_empty_o;
  wire passes = event_i == PASSES && reply_known_o;
  wire arrives = event_i == ARRIVES && is_followed && asked[sm_i] && !has_row[sm_i];
  wire writes = event_i == WRITE;
  wire ends = event_i == ENDS && is_empty_o && asked == '0;
  wire lists = passes && !reply_poisoned_o;

  logic [2:0] op_i;
  always_comb begin
    op_i = 0;
    if (loads) op_i = SUPPLIER;
    if (lists) op_i = ADD;
    if (writes) op_i = FORGET;
    if (event_i == NOTICE) op_i = REMOVE;
    if (ends) op_i = CLEAR;
  end
  logic               supplier_valid_o;
  logic [SM_BITS-1:0] supplier_o;
  ws_tracker_sharer_table #(
      .SETS(SETS), .WAYS(WAYS), .SMS(SMS), .LINE_BITS(LINE_BITS), .LAST(LAST)
  ) dut (.*);

  wire opens = loads && free_valid_o;
  ws_tracker_transfers #(
      .ROWS(ROWS), .SMS(SMS), .LINE_BITS(LINE_BITS), .TICKET_BITS(LINE_BITS)
  ) transfers (
      .clk_i, .rst_ni, .is_empty_o,
      .answer_valid_i(1'b0), .answer_row_i('0), .answer_here_i(1'b0), .answer_known_o(), .answer_line_o(), .answer_sm_o(),
      .answer_keeps_o(), .answer_poisoned_o(), .answer_supplier_o(),
      .reply_valid_i(passes), .reply_sm_i(sm_i), .reply_ticket_i(line_i), .reply_known_o, .reply_row_o(), .reply_line_o(), .reply_keeps_o(), .reply_poisoned_o,
      .resend_valid_i(1'b0), .resend_ready_o(), .resend_row_o(), .resend_id_o(), .resend_line_o(), .resend_sm_o(), .resend_ticket_o(),
      .resend_sectors_o(), .resend_keeps_o(),
      .req_line_i(line_i), .req_sm_i(sm_i), .is_own_o(), .poison_valid_i(writes), .poison_sms_i('1), .free_valid_o, .free_row_o(),
      .open_valid_i(loads), .open_id_i('0), .open_ticket_i(line_i), .open_sectors_i('0), .open_keeps_i(1'b1), .open_supplier_i('0),
      .open_forwarded_i(1'b0)
  );

  wire [SMS-1:0] self = SMS'(1) << sm_i;
  always_ff @(posedge clk_i)
    if (!rst_ni || ends) begin
      {copy, asked} <= '0;
    end else begin
      copy <= copy & ~drops_i;
      if (is_followed && loads) begin
        asked <= asked | self;
        asked_stale <= asked_stale & ~self;
        has_row <= opens ? has_row | self : has_row & ~self;
      end
      if (is_followed && passes || arrives) begin
        asked <= asked & ~self;
        copy <= copy & ~drops_i | self;
        copy_stale[sm_i] <= asked_stale[sm_i];
      end
      if (is_followed && writes) begin
        asked_stale <= '1;
        copy_stale <= '1;
      end
    end

  logic started = 0;
  always_ff @(posedge clk_i) started <= 1;
  always_comb begin
    assume (rst_ni == started);
    assume (32'(sm_i) < SMS);
    if (loads && is_followed) assume (!copy[sm_i] && !asked[sm_i]);
    if (rst_ni && is_followed && supplier_valid_o) begin
      fresh : assert (!(copy[supplier_o] && copy_stale[supplier_o]) && !(asked[supplier_o] && asked_stale[supplier_o]));
      another : assert (supplier_o != sm_i);
    end
  end
endmodule
