// # Transfers of a sharing tracker
// Table of in-flight loads that a bank of the tracker sent to the L2 or to another L1 (anssari2012 section
// 3.2). An L1 that will keep the line is listed as a sharer when the reply passes, unless the line was
// written in the meantime (`poisoned`). A load that was forwarded to another L1 can still go to the L2 if the
// line is gone there.
//
// In one cycle, in this order; each port sees the results of those before it:
//
// | port       | contract                                                                                                                                                                                 |
// |------------|------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------|
// | 1 `answer` | another L1 answers the load of `answer_row`, if that was forwarded (`answer_known`): either the L1 supplies the line and the row is freed (`answer_here`), or the load must go to the L2 |
// | 2 `reply`  | finds the row of the load to which a reply of the L2 to `reply_sm` belongs, if it has one (`reply_known`); the row is freed when the reply passes (`reply_valid`)                        |
// | 3 `resend` | load of the lowest row that must go to the L2, if there is one (`resend_ready`); `resend_valid` takes it, and frees the row of a load whose line is not kept                             |
// | 4 `is_own` | true if a load of `line` by `sm` is at another L1, or is about to return from there                                                                                                      |
// | 4 `poison` | a write of `line`: its loads by the SMs of `poison_sms` will not be listed                                                                                                               |
// | 4 `open`   | records a load of `line` by `sm` in `free_row`, if `free_valid`; with `open_forwarded` the load goes to another L1                                                                       |
//
// At most one of `poison` and `open` is used per cycle. Outputs about a row are its registers; each is valid
// with the `known` or `ready` of its port.
// Latency: none.
module transfers #(
    parameter int ROWS = 16,
    parameter int SMS = 16,
    parameter int LINE_BITS = 25,
    parameter int TICKET_BITS = 48,
    localparam int R_BITS = ROWS < 2 ? 1 : $clog2(ROWS),
    localparam int SM_BITS = SMS < 2 ? 1 : $clog2(SMS)
) (
    input  logic                   clk,
    input  logic                   rst,

    input  logic                   answer_valid,
    input  logic [R_BITS-1:0]      answer_row,
    input  logic                   answer_here,
    output logic                   answer_known,
    output logic [LINE_BITS-1:0]   answer_line,
    output logic [SM_BITS-1:0]     answer_sm,
    output logic                   answer_keeps,
    output logic                   answer_poisoned,
    output logic [SM_BITS-1:0]     answer_supplier,

    input  logic                   reply_valid,
    input  logic [SM_BITS-1:0]     reply_sm,
    input  logic [TICKET_BITS-1:0] reply_ticket,
    output logic                   reply_known,
    output logic [R_BITS-1:0]      reply_row,
    output logic [LINE_BITS-1:0]   reply_line,
    output logic                   reply_keeps,
    output logic                   reply_poisoned,

    input  logic                   resend_valid,
    output logic                   resend_ready,
    output logic [R_BITS-1:0]      resend_row,
    output logic [31:0]            resend_id,
    output logic [LINE_BITS-1:0]   resend_line,
    output logic [SM_BITS-1:0]     resend_sm,
    output logic [TICKET_BITS-1:0] resend_ticket,
    output logic [3:0]             resend_sectors,
    output logic                   resend_keeps,

    input  logic [LINE_BITS-1:0]   req_line,
    input  logic [SM_BITS-1:0]     req_sm,
    output logic                   is_own,
    input  logic                   poison_valid,
    input  logic [SMS-1:0]         poison_sms,
    output logic                   free_valid,
    output logic [R_BITS-1:0]      free_row,
    input  logic                   open_valid,
    input  logic [31:0]            open_id,
    input  logic [TICKET_BITS-1:0] open_ticket,
    input  logic [3:0]             open_sectors,
    input  logic                   open_keeps,
    input  logic [SM_BITS-1:0]     open_supplier,
    input  logic                   open_forwarded,
    output logic                   is_empty
);
  logic [ROWS-1:0]        used, forwarded, refused;
  logic [31:0]            id       [ROWS];
  logic [LINE_BITS-1:0]   line     [ROWS];
  logic [SM_BITS-1:0]     sm       [ROWS];
  logic [TICKET_BITS-1:0] ticket   [ROWS];
  logic [3:0]             sectors  [ROWS];
  logic                   keeps    [ROWS];
  logic                   poisoned [ROWS];
  logic [SM_BITS-1:0]     supplier [ROWS];

  assign is_empty = used == '0;

  function automatic [R_BITS-1:0] first(input [ROWS-1:0] set);
    first = '0;
    for (int r = ROWS - 1; r >= 0; r--) if (set[r]) first = R_BITS'(r);
  endfunction
  function automatic [ROWS-1:0] one(input go, input [R_BITS-1:0] row);
    for (int r = 0; r < ROWS; r++) one[r] = go && row == R_BITS'(r);
  endfunction

  // 1: answers.
  wire [ROWS-1:0] answered = one(answer_valid, answer_row) & forwarded;
  assign answer_known = answered != '0;
  assign answer_line = line[answer_row];
  assign answer_sm = sm[answer_row];
  assign answer_keeps = keeps[answer_row];
  assign answer_poisoned = poisoned[answer_row];
  assign answer_supplier = supplier[answer_row];
  wire [ROWS-1:0] used_1 = answer_here ? used & ~answered : used;
  wire [ROWS-1:0] forwarded_1 = forwarded & ~answered;
  wire [ROWS-1:0] refused_1 = answer_here ? refused : refused | answered;

  // 2: replies of the L2.
  logic [ROWS-1:0] replied;
  always_comb
    for (int r = 0; r < ROWS; r++)
      replied[r] = used[r] && !forwarded[r] && !refused[r] && sm[r] == reply_sm && ticket[r] == reply_ticket;
  assign reply_known = replied != '0;
  assign reply_row = first(replied);
  assign reply_line = line[reply_row];
  assign reply_keeps = keeps[reply_row];
  assign reply_poisoned = poisoned[reply_row];
  wire [ROWS-1:0] used_2 = used_1 & ~one(reply_valid && reply_known, reply_row);

  // 3: loads that must go to the L2 after all.
  assign resend_ready = refused_1 != '0;
  assign resend_row = first(refused_1);
  assign resend_id = id[resend_row];
  assign resend_line = line[resend_row];
  assign resend_sm = sm[resend_row];
  assign resend_ticket = ticket[resend_row];
  assign resend_sectors = sectors[resend_row];
  assign resend_keeps = keeps[resend_row];
  wire [ROWS-1:0] resent = one(resend_valid && resend_ready, resend_row);
  wire [ROWS-1:0] refused_3 = refused_1 & ~resent;
  wire [ROWS-1:0] used_3 = resend_keeps ? used_2 : used_2 & ~resent;

  // 4: the request.
  logic [ROWS-1:0] is_line, is_of_sm;
  always_comb
    for (int r = 0; r < ROWS; r++) begin
      is_line[r] = line[r] == req_line;
      is_of_sm[r] = sm[r] == req_sm;
    end
  assign is_own = ((forwarded_1 | refused_3) & is_line & is_of_sm) != '0;
  assign free_valid = used_3 != '1;
  assign free_row = first(~used_3);
  wire [ROWS-1:0] opens = one(open_valid && free_valid, free_row);

  always_ff @(posedge clk)
    if (rst) {used, forwarded, refused} <= '0;
    else begin
      used <= used_3 | opens;
      forwarded <= open_forwarded ? forwarded_1 | opens : forwarded_1;
      refused <= refused_3;
    end
  for (genvar r = 0; r < ROWS; r++) begin : g_row
    always_ff @(posedge clk)
      if (opens[r]) begin
        id[r] <= open_id;
        line[r] <= req_line;
        sm[r] <= req_sm;
        ticket[r] <= open_ticket;
        sectors[r] <= open_sectors;
        keeps[r] <= open_keeps;
        poisoned[r] <= 0;
        supplier[r] <= open_supplier;
      end else if (poison_valid && is_line[r] && poison_sms[sm[r]]) poisoned[r] <= 1;
  end
endmodule
