// SPDX-License-Identifier: MIT OR Apache-2.0
// # Transfers of a sharing tracker
// Table of in-flight loads that a bank of the tracker sent to the L2 or to another L1 (anssari2012 section
// 3.2). If the requesting L1 will keep the line, this L1 is listed as a sharer when the reply passes, unless
// the line was written in the meantime (`poisoned_q`). A load that was forwarded to another L1 can still go
// to the L2 if that L1 no longer has the line.
//
// The ports act in the order of their numbers within one cycle, and each port sees the results of the ports
// before it:
//
// | port         | contract                                                                                                                                                                                       |
// |--------------|------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------|
// | 1 `answer`   | another L1 answers the load of `answer_row_i`, if that was forwarded (`answer_known_o`): either the L1 supplies the line and the row is freed (`answer_here_i`), or the load must go to the L2 |
// | 2 `reply`    | finds the row of the load to which a reply of the L2 to `reply_sm_i` belongs, if it has one (`reply_known_o`); the row is freed when the reply passes (`reply_valid_i`)                        |
// | 3 `resend`   | load of the lowest row that must go to the L2, if there is one (`resend_ready_o`); `resend_valid_i` takes it, and frees the row of a load whose line is not kept                               |
// | 4 `is_own_o` | true if a load of `line_q` by `sm_q` is at another L1, or is about to return from there                                                                                                        |
// | 4 `poison`   | a write of `line_q`: its loads by the SMs of `poison_sms_i` will not be listed                                                                                                                 |
// | 4 `open`     | records a load of `line_q` by `sm_q` in `free_row_o`, if `free_valid_o`; with `open_forwarded_i` the load goes to another L1                                                                   |
//
// At most one of `poison` and `open` is used per cycle. Outputs that describe a row are its registers; each
// is valid while the `known` or `ready` output of the same port is set.
// Latency: none.
module ws_tracker_transfers #(
    parameter int ROWS = 16,
    parameter int SMS = 16,
    parameter int LINE_BITS = 25,
    parameter int TICKET_BITS = 48,
    localparam int R_BITS = ROWS < 2 ? 1 : $clog2(ROWS),
    localparam int SM_BITS = SMS < 2 ? 1 : $clog2(SMS)
) (
    input  logic                   clk_i,
    input  logic                   rst_ni,

    input  logic                   answer_valid_i,
    input  logic [R_BITS-1:0]      answer_row_i,
    input  logic                   answer_here_i,
    output logic                   answer_known_o,
    output logic [LINE_BITS-1:0]   answer_line_o,
    output logic [SM_BITS-1:0]     answer_sm_o,
    output logic                   answer_keeps_o,
    output logic                   answer_poisoned_o,
    output logic [SM_BITS-1:0]     answer_supplier_o,

    input  logic                   reply_valid_i,
    input  logic [SM_BITS-1:0]     reply_sm_i,
    input  logic [TICKET_BITS-1:0] reply_ticket_i,
    output logic                   reply_known_o,
    output logic [R_BITS-1:0]      reply_row_o,
    output logic [LINE_BITS-1:0]   reply_line_o,
    output logic                   reply_keeps_o,
    output logic                   reply_poisoned_o,

    input  logic                   resend_valid_i,
    output logic                   resend_ready_o,
    output logic [R_BITS-1:0]      resend_row_o,
    output logic [31:0]            resend_id_o,
    output logic [LINE_BITS-1:0]   resend_line_o,
    output logic [SM_BITS-1:0]     resend_sm_o,
    output logic [TICKET_BITS-1:0] resend_ticket_o,
    output logic [3:0]             resend_sectors_o,
    output logic                   resend_keeps_o,

    input  logic [LINE_BITS-1:0]   req_line_i,
    input  logic [SM_BITS-1:0]     req_sm_i,
    output logic                   is_own_o,
    input  logic                   poison_valid_i,
    input  logic [SMS-1:0]         poison_sms_i,
    output logic                   free_valid_o,
    output logic [R_BITS-1:0]      free_row_o,
    input  logic                   open_valid_i,
    input  logic [31:0]            open_id_i,
    input  logic [TICKET_BITS-1:0] open_ticket_i,
    input  logic [3:0]             open_sectors_i,
    input  logic                   open_keeps_i,
    input  logic [SM_BITS-1:0]     open_supplier_i,
    input  logic                   open_forwarded_i,
    output logic                   is_empty_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (ROWS < 1) begin : g_refuse_rows
    $error("ROWS is %0d, expected 1 or more", ROWS);
  end
  if (SMS < 2) begin : g_refuse_sms
    $error("SMS is %0d, expected 2 or more", SMS);
  end
  if (LINE_BITS < 1) begin : g_refuse_line_bits
    $error("LINE_BITS is %0d, expected 1 or more", LINE_BITS);
  end
  if (TICKET_BITS < 1) begin : g_refuse_ticket_bits
    $error("TICKET_BITS is %0d, expected 1 or more", TICKET_BITS);
  end
`endif

  logic [ROWS-1:0]        used_q, forwarded_q, refused_q;
  logic [31:0]            id_q       [ROWS];
  logic [LINE_BITS-1:0]   line_q     [ROWS];
  logic [SM_BITS-1:0]     sm_q       [ROWS];
  logic [TICKET_BITS-1:0] ticket_q   [ROWS];
  logic [3:0]             sectors_q  [ROWS];
  logic                   keeps_q    [ROWS];
  logic                   poisoned_q [ROWS];
  logic [SM_BITS-1:0]     supplier_q [ROWS];

  assign is_empty_o = used_q == '0;

  function automatic [R_BITS-1:0] first(input [ROWS-1:0] set);
    first = '0;
    for (int r = ROWS - 1; r >= 0; r--) if (set[r]) first = R_BITS'(r);
  endfunction
  function automatic [ROWS-1:0] one(input go, input [R_BITS-1:0] row);
    for (int r = 0; r < ROWS; r++) one[r] = go && row == R_BITS'(r);
  endfunction

  // Step 1, port `answer`: another L1 supplies the line of a forwarded load, or lacks it.
  wire [ROWS-1:0] answered = one(answer_valid_i, answer_row_i) & forwarded_q;
  assign answer_known_o = answered != '0;
  assign answer_line_o = line_q[answer_row_i];
  assign answer_sm_o = sm_q[answer_row_i];
  assign answer_keeps_o = keeps_q[answer_row_i];
  assign answer_poisoned_o = poisoned_q[answer_row_i];
  assign answer_supplier_o = supplier_q[answer_row_i];
  wire [ROWS-1:0] used_1 = answer_here_i ? used_q & ~answered : used_q;
  wire [ROWS-1:0] forwarded_1 = forwarded_q & ~answered;
  wire [ROWS-1:0] refused_1 = answer_here_i ? refused_q : refused_q | answered;

  // Step 2, port `reply`: finds the row of the load to which a reply of the L2 belongs.
  logic [ROWS-1:0] replied;
  always_comb
    for (int r = 0; r < ROWS; r++)
      replied[r] = used_q[r] && !forwarded_q[r] && !refused_q[r] && sm_q[r] == reply_sm_i && ticket_q[r] == reply_ticket_i;
  assign reply_known_o = replied != '0;
  assign reply_row_o = first(replied);
  assign reply_line_o = line_q[reply_row_o];
  assign reply_keeps_o = keeps_q[reply_row_o];
  assign reply_poisoned_o = poisoned_q[reply_row_o];
  wire [ROWS-1:0] used_2 = used_1 & ~one(reply_valid_i && reply_known_o, reply_row_o);

  // Step 3, port `resend`: selects a load that must go to the L2, because the other L1 lacks the line.
  assign resend_ready_o = refused_1 != '0;
  assign resend_row_o = first(refused_1);
  assign resend_id_o = id_q[resend_row_o];
  assign resend_line_o = line_q[resend_row_o];
  assign resend_sm_o = sm_q[resend_row_o];
  assign resend_ticket_o = ticket_q[resend_row_o];
  assign resend_sectors_o = sectors_q[resend_row_o];
  assign resend_keeps_o = keeps_q[resend_row_o];
  wire [ROWS-1:0] resent = one(resend_valid_i && resend_ready_o, resend_row_o);
  wire [ROWS-1:0] refused_3 = refused_1 & ~resent;
  wire [ROWS-1:0] used_3 = resend_keeps_o ? used_2 : used_2 & ~resent;

  // Step 4, ports `is_own_o`, `poison` and `open`: handles the request of this cycle.
  logic [ROWS-1:0] is_line, is_of_sm;
  always_comb
    for (int r = 0; r < ROWS; r++) begin
      is_line[r] = line_q[r] == req_line_i;
      is_of_sm[r] = sm_q[r] == req_sm_i;
    end
  assign is_own_o = ((forwarded_1 | refused_3) & is_line & is_of_sm) != '0;
  assign free_valid_o = used_3 != '1;
  assign free_row_o = first(~used_3);
  wire [ROWS-1:0] opens = one(open_valid_i && free_valid_o, free_row_o);

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) {used_q, forwarded_q, refused_q} <= '0;
    else begin
      used_q <= used_3 | opens;
      forwarded_q <= open_forwarded_i ? forwarded_1 | opens : forwarded_1;
      refused_q <= refused_3;
    end
  for (genvar r = 0; r < ROWS; r++) begin : g_row
    always_ff @(posedge clk_i)
      if (opens[r]) begin
        id_q[r] <= open_id_i;
        line_q[r] <= req_line_i;
        sm_q[r] <= req_sm_i;
        ticket_q[r] <= open_ticket_i;
        sectors_q[r] <= open_sectors_i;
        keeps_q[r] <= open_keeps_i;
        poisoned_q[r] <= 0;
        supplier_q[r] <= open_supplier_i;
      end else if (poison_valid_i && is_line[r] && poison_sms_i[sm_q[r]]) poisoned_q[r] <= 1;
  end
endmodule
