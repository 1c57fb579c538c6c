// SPDX-License-Identifier: MIT OR Apache-2.0
// # Assertions of a DRAM bank
// Checks the contract in the header of `ws_dram_bank` at its ports. What the caller guarantees is assumed,
// and what the module guarantees is asserted. Distances between commands are measured from the commands seen
// at the ports.
//
// | property      | what holds                                                                     |
// |---------------|--------------------------------------------------------------------------------|
// | `op_known`    | assumed: `op_i` is one of the five commands, or none                           |
// | `time_passes` | assumed: the cycle number rises                                                |
// | `act_allowed` | assumed: ACT and REF go to a closed bank that allows ACT                       |
// | `rd_allowed`  | assumed: RD goes to an open row that allows it                                 |
// | `wr_allowed`  | assumed: WR goes to an open row that allows it                                 |
// | `pre_allowed` | assumed: PRE goes to an open row that allows it, or to a closed bank           |
// | `act_opens`   | ACT opens its row in the next cycle, without column commands so far            |
// | `pre_closes`  | PRE closes the bank in the next cycle                                          |
// | `closed_row`  | the open row of a closed bank is 0                                             |
// | `rd_waits`    | RD is allowed no earlier than RCD_RD after ACT                                 |
// | `wr_waits`    | WR is allowed no earlier than RCD_WR after ACT                                 |
// | `pre_waits`   | PRE is allowed no earlier than RAS after ACT, RTP after RD, WR_TO_PRE after WR |
// | `act_waits`   | ACT is allowed no earlier than RC after ACT, RP after PRE, RFC after REF       |
`ifdef YOSYS  // Yosys reads no concurrent assertions.
`define WS_ASSERT(NAME, PROPERTY) always_comb if (rst_ni) NAME : assert (PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) always_comb if (rst_ni) NAME : assume (PROPERTY);
`else
`define WS_ASSERT(NAME, PROPERTY) NAME : assert property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) NAME : assume property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`endif
module ws_dram_bank_sva #(
    parameter int ROW_BITS = 12,
    parameter int RCD_RD = 12,
    parameter int RCD_WR = 10,
    parameter int RAS = 28,
    parameter int RC = 40,
    parameter int RTP = 2,
    parameter int WR_TO_PRE = 18,
    parameter int RP = 12,
    parameter int RFC = 61
) (
    input logic                clk_i,
    input logic                rst_ni,
    input logic [63:0]         now_i,
    input logic [2:0]          op_i,
    input logic [ROW_BITS-1:0] act_row_i,
    input logic                is_open_o,
    input logic [ROW_BITS-1:0] open_row_o,
    input logic                is_served_o,
    input logic [15:0]         num_overtaken_o,
    input logic                may_act_o,
    input logic                may_rd_o,
    input logic                may_wr_o,
    input logic                may_pre_o
);
  localparam logic [2:0] NONE = 0, ACT = 1, RD = 2, WR = 3, PRE = 4, REF = 5;

  // Command of the previous cycle, and the cycle of the last command of each kind.
  logic [2:0]          op;
  logic [ROW_BITS-1:0] row;
  logic                has_run;
  logic [63:0]         previous;
  logic [5:0]          seen;
  logic [63:0]         act_at, rd_at, wr_at, pre_at, ref_at;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      {op, row, has_run, previous} <= '0;
      seen <= '0;
      {act_at, rd_at, wr_at, pre_at, ref_at} <= '0;
    end else begin
      {op, row, has_run, previous} <= {op_i, act_row_i, 1'b1, now_i};
      if (op_i != NONE) seen[op_i] <= 1;
      case (op_i)
        ACT: act_at <= now_i;
        RD: rd_at <= now_i;
        WR: wr_at <= now_i;
        PRE: pre_at <= now_i;
        REF: ref_at <= now_i;
        default: ;
      endcase
    end

  // True once the distance to the last command of a kind has passed, or without such a command.
  function automatic passed(input was_seen, input [63:0] at, input [31:0] distance, input [63:0] now);
    passed = !was_seen || now - at >= 64'(distance);
  endfunction
  wire after_act = passed(seen[ACT], act_at, RC, now_i);
  wire after_pre = passed(seen[PRE], pre_at, RP, now_i);
  wire after_ref = passed(seen[REF], ref_at, RFC, now_i);
  wire after_ras = passed(seen[ACT], act_at, RAS, now_i);
  wire after_rd = passed(seen[RD], rd_at, RTP, now_i);
  wire after_wr = passed(seen[WR], wr_at, WR_TO_PRE, now_i);
  wire rcd_rd = passed(seen[ACT], act_at, RCD_RD, now_i);
  wire rcd_wr = passed(seen[ACT], act_at, RCD_WR, now_i);

  // `disable iff` reads the asynchronous reset at a clock edge, of which Verilator warns.
  // verilator lint_off SYNCASYNCNET
  `WS_ASSUME(op_known, op_i <= REF)
  `WS_ASSUME(time_passes, !has_run || now_i > previous)
  `WS_ASSUME(act_allowed, op_i != ACT && op_i != REF || !is_open_o && may_act_o)
  `WS_ASSUME(rd_allowed, op_i != RD || is_open_o && may_rd_o)
  `WS_ASSUME(wr_allowed, op_i != WR || is_open_o && may_wr_o)
  `WS_ASSUME(pre_allowed, op_i != PRE || !is_open_o || may_pre_o)
  `WS_ASSERT(act_opens, op != ACT || is_open_o && open_row_o == row && !is_served_o && num_overtaken_o == '0)
  `WS_ASSERT(pre_closes, op != PRE || !is_open_o)
  `WS_ASSERT(closed_row, is_open_o || open_row_o == '0)
  `WS_ASSERT(rd_waits, !is_open_o || !may_rd_o || rcd_rd)
  `WS_ASSERT(wr_waits, !is_open_o || !may_wr_o || rcd_wr)
  `WS_ASSERT(pre_waits, !is_open_o || !may_pre_o || after_ras && after_rd && after_wr)
  `WS_ASSERT(act_waits, is_open_o || !may_act_o || after_act && after_pre && after_ref)
  // verilator lint_on SYNCASYNCNET
endmodule
bind ws_dram_bank ws_dram_bank_sva #(
    .ROW_BITS(ROW_BITS), .RCD_RD(RCD_RD), .RCD_WR(RCD_WR), .RAS(RAS), .RC(RC), .RTP(RTP),
    .WR_TO_PRE(WR_TO_PRE), .RP(RP), .RFC(RFC)
) i_sva (.*);
`undef WS_ASSERT
`undef WS_ASSUME
