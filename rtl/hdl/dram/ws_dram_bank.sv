// SPDX-License-Identifier: MIT OR Apache-2.0
// # One DRAM bank
// Tracks the open row of a bank, if any, and the earliest cycle in which each command to the bank is legal.
// `timing` tracks the distances between commands to different banks.
//
// The bank accepts one command per cycle, `op_i`, in cycle `now_i`:
// - ACT (1) opens `act_row_i`; RD (2) and WR (3) use the open row; PRE (4) closes it; REF (5) refreshes the
//   closed bank.
//
// `overtakes_i` is set if a column command overtakes an older request to another row of the bank. Such
// commands are counted until the row closes.
// The outputs from `is_open_o` to `num_overtaken_o` are the registers; `open_row_o` is 0 while the bank is
// closed. The outputs `may_*` show which commands this bank allows in this cycle. The caller sends only
// allowed commands: ACT and REF only to a closed bank, RD and WR only to an open bank. PRE may also go to a
// closed bank, as part of a precharge of all banks. It then only delays the next ACT.
// Latency: none from the registers to `may_*`; a command takes effect in the next cycle.
// Cycles are compared as 64-bit numbers, as in the Rust block; for a single bank, counters would suffice.
module ws_dram_bank #(
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
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic [63:0]         now_i,
    input  logic [2:0]          op_i,
    input  logic [ROW_BITS-1:0] act_row_i,
    input  logic                overtakes_i,
    output logic                is_open_o,
    output logic [ROW_BITS-1:0] open_row_o,
    output logic                is_served_o,
    output logic [15:0]         num_overtaken_o,
    output logic                may_act_o,
    output logic                may_rd_o,
    output logic                may_wr_o,
    output logic                may_pre_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (ROW_BITS < 1) begin : g_refuse_row_bits
    $error("ROW_BITS is %0d, expected 1 or more", ROW_BITS);
  end
  if (RCD_RD < 0) begin : g_refuse_rcd_rd
    $error("RCD_RD is %0d, expected 0 or more", RCD_RD);
  end
  if (RCD_WR < 0) begin : g_refuse_rcd_wr
    $error("RCD_WR is %0d, expected 0 or more", RCD_WR);
  end
  if (RAS < 0) begin : g_refuse_ras
    $error("RAS is %0d, expected 0 or more", RAS);
  end
  if (RC < 0) begin : g_refuse_rc
    $error("RC is %0d, expected 0 or more", RC);
  end
  if (RTP < 0) begin : g_refuse_rtp
    $error("RTP is %0d, expected 0 or more", RTP);
  end
  if (WR_TO_PRE < 0) begin : g_refuse_wr_to_pre
    $error("WR_TO_PRE is %0d, expected 0 or more", WR_TO_PRE);
  end
  if (RP < 0) begin : g_refuse_rp
    $error("RP is %0d, expected 0 or more", RP);
  end
  if (RFC < 0) begin : g_refuse_rfc
    $error("RFC is %0d, expected 0 or more", RFC);
  end
`endif

  localparam logic [2:0] ACT = 1, RD = 2, WR = 3, PRE = 4, REF = 5;

  logic                open_q, served_q;
  logic [ROW_BITS-1:0] row_q;
  logic [15:0]         overtaken_q;
  logic [63:0]         act_from_q, rd_from_q, wr_from_q, pre_from_q;

  assign {is_open_o, open_row_o} = {open_q, row_q};
  assign {is_served_o, num_overtaken_o} = {served_q, overtaken_q};
  assign may_act_o = now_i >= act_from_q;
  assign may_rd_o = now_i >= rd_from_q;
  assign may_wr_o = now_i >= wr_from_q;
  assign may_pre_o = now_i >= pre_from_q;

  function automatic [63:0] later(input [63:0] a, input [63:0] b);
    later = a > b ? a : b;
  endfunction

  wire is_column = op_i == RD || op_i == WR;
  wire [31:0] keeps_open = op_i == ACT ? RAS : op_i == RD ? RTP : WR_TO_PRE;

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      {open_q, served_q, row_q, overtaken_q} <= '0;
      {act_from_q, rd_from_q, wr_from_q, pre_from_q} <= '0;
    end else begin
      case (op_i)
        ACT: begin
          {open_q, row_q} <= {1'b1, act_row_i};
          {served_q, overtaken_q} <= '0;
          rd_from_q <= now_i + 64'(RCD_RD);
          wr_from_q <= now_i + 64'(RCD_WR);
          act_from_q <= now_i + 64'(RC);
        end
        PRE: begin
          {open_q, row_q} <= '0;
          act_from_q <= later(act_from_q, now_i + 64'(RP));
        end
        REF: act_from_q <= now_i + 64'(RFC);
        default: ;
      endcase
      if (op_i == ACT || is_column) pre_from_q <= later(pre_from_q, now_i + 64'(keeps_open));
      if (is_column) begin
        served_q <= 1;
        if (overtakes_i && overtaken_q != '1) overtaken_q <= overtaken_q + 1'b1;
      end
    end
endmodule
