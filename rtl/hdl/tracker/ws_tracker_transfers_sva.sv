// SPDX-License-Identifier: MIT OR Apache-2.0
// # Assertions of the transfers of a sharing tracker
// Checks the contract in the header of `ws_tracker_transfers`, at the ports and at some of its registers.
// What the caller guarantees is assumed, and what the module guarantees is asserted.
//
// | property           | what holds                                                              |
// |--------------------|-------------------------------------------------------------------------|
// | `one_use`          | assumed: a cycle does not both poison rows and open one                 |
// | `rows_used`        | only a row in use is at another L1 or must go to the L2, and never both |
// | `answer_forwarded` | an answer is known only for a row that is at another L1                 |
// | `reply_at_l2`      | a reply is known only for a row in use whose load is at the L2          |
// | `resend_refused`   | a row is resent only after the other L1 has lacked its line             |
// | `opens_free`       | a load gets a row that is not in use                                    |
// | `opened_is_used`   | a row opened in the previous cycle is in use                            |
// | `forwarded_is_own` | a load opened as forwarded in the previous cycle counts as the SM's own |
// | `poisoned_stays`   | a reply to a load that the previous cycle has poisoned is marked        |
`ifdef YOSYS  // Yosys reads no concurrent assertions.
`define WS_ASSERT(NAME, PROPERTY) always_comb if (rst_ni) NAME : assert (PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) always_comb if (rst_ni) NAME : assume (PROPERTY);
`else
`define WS_ASSERT(NAME, PROPERTY) NAME : assert property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) NAME : assume property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`endif
module ws_tracker_transfers_sva #(
    parameter int ROWS = 16,
    parameter int SMS = 16,
    parameter int LINE_BITS = 25,
    localparam int R_BITS = ROWS < 2 ? 1 : $clog2(ROWS),
    localparam int SM_BITS = SMS < 2 ? 1 : $clog2(SMS)
) (
    input logic                 clk_i,
    input logic                 rst_ni,
    input logic                 answer_valid_i,
    input logic [R_BITS-1:0]    answer_row_i,
    input logic                 answer_known_o,
    input logic [SM_BITS-1:0]   reply_sm_i,
    input logic                 reply_known_o,
    input logic [R_BITS-1:0]    reply_row_o,
    input logic [LINE_BITS-1:0] reply_line_o,
    input logic                 reply_poisoned_o,
    input logic                 resend_ready_o,
    input logic [R_BITS-1:0]    resend_row_o,
    input logic [LINE_BITS-1:0] req_line_i,
    input logic [SM_BITS-1:0]   req_sm_i,
    input logic                 is_own_o,
    input logic                 poison_valid_i,
    input logic [SMS-1:0]       poison_sms_i,
    input logic                 free_valid_o,
    input logic [R_BITS-1:0]    free_row_o,
    input logic                 open_valid_i,
    input logic                 open_forwarded_i,

    input logic [ROWS-1:0]      used_q,
    input logic [ROWS-1:0]      forwarded_q,
    input logic [ROWS-1:0]      refused_q,
    input logic [ROWS-1:0]      refused_1,
    input logic [ROWS-1:0]      used_3
);
  wire opens = open_valid_i && free_valid_o;

  // Row opened and loads poisoned in the previous cycle.
  logic                 was_opened, was_forwarded, was_poisoned;
  logic [R_BITS-1:0]    row;
  logic [LINE_BITS-1:0] line;
  logic [SM_BITS-1:0]   sm;
  logic [SMS-1:0]       sms;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      {was_opened, was_forwarded, was_poisoned} <= '0;
      {row, line, sm, sms} <= '0;
    end else begin
      was_opened <= opens;
      was_forwarded <= opens && open_forwarded_i;
      was_poisoned <= poison_valid_i;
      {row, line, sm, sms} <= {free_row_o, req_line_i, req_sm_i, poison_sms_i};
    end
  wire [ROWS-1:0] at_l2 = used_q & ~forwarded_q & ~refused_q;
  wire answers_it = answer_valid_i && answer_row_i == row;
  wire requests_it = req_line_i == line && req_sm_i == sm;
  wire replies_it = reply_known_o && reply_line_o == line;

  // `disable iff` reads the asynchronous reset at a clock edge, of which Verilator warns.
  // verilator lint_off SYNCASYNCNET
  `WS_ASSUME(one_use, !(poison_valid_i && open_valid_i))
  `WS_ASSERT(rows_used, ((forwarded_q | refused_q) & ~used_q) == '0 && (forwarded_q & refused_q) == '0)
  `WS_ASSERT(answer_forwarded, !answer_known_o || answer_valid_i && forwarded_q[answer_row_i])
  `WS_ASSERT(reply_at_l2, !reply_known_o || at_l2[reply_row_o])
  `WS_ASSERT(resend_refused, !resend_ready_o || refused_1[resend_row_o])
  `WS_ASSERT(opens_free, !opens || !used_3[free_row_o])
  `WS_ASSERT(opened_is_used, !was_opened || used_q[row])
  `WS_ASSERT(forwarded_is_own, !was_forwarded || answers_it || !requests_it || is_own_o)
  `WS_ASSERT(poisoned_stays, !was_poisoned || !replies_it || !sms[reply_sm_i] || reply_poisoned_o)
  // verilator lint_on SYNCASYNCNET
endmodule
bind ws_tracker_transfers ws_tracker_transfers_sva #(
    .ROWS(ROWS), .SMS(SMS), .LINE_BITS(LINE_BITS)
) i_sva (.*);
`undef WS_ASSERT
`undef WS_ASSUME
