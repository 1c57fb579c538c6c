// SPDX-License-Identifier: MIT OR Apache-2.0
// # Distances between DRAM banks
// Tracks the minimum distances that a command in one bank imposes on commands to its bank group and to the
// channel. These distances result from the data bus, the charge pumps (tRRD and the windows of 4 and 32
// activates) and the precharge spacing. `bank` tracks the distances within a bank.
//
// In one cycle, `now_i`:
//
// | port  | contract                                                                        |
// |-------|---------------------------------------------------------------------------------|
// | `row` | ACT (1) in bank `row_bank_i`, PRE (2) in any or all banks, REF (3) of all banks |
// | `col` | RD (1) or WR (2) in bank `col_bank_i`                                           |
//
// With a single command bus, at most one of the two ports is used per cycle. Neither port sees the effect of
// the other in the same cycle. The outputs `may_*` show which commands are allowed in this cycle; the caller
// sends no others. `may_act_o`, `may_rd_o` and `may_wr_o` have one bit per bank group: the group and the
// channel allow the command there.
// Latency: none from the registers to `may_*`; a command takes effect in the next cycle.
// The scope `groups` contains the registers of each bank group; the scope `channel` contains registers of the
// same names for all banks.
module ws_dram_timing #(
    parameter int GROUPS = 4,
    parameter int BANKS_PER_GROUP = 4,
    parameter int RRD_S = 6,
    parameter int RRD_L = 6,
    parameter int FAW = 23,
    parameter int AW32 = 184,
    parameter int RC = 40,
    parameter int CCD_S = 2,
    parameter int CCD_L = 3,
    parameter int RD_TO_WR = 12,
    parameter int WR_TO_RD_S = 11,
    parameter int WR_TO_RD_L = 11,
    parameter int PPD = 1,
    parameter int RP = 12,
    parameter int RFC = 61,
    localparam int BANKS = GROUPS * BANKS_PER_GROUP,
    localparam int B_BITS = BANKS < 2 ? 1 : $clog2(BANKS)
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic [63:0]       now_i,
    input  logic [1:0]        row_op_i,
    input  logic [B_BITS-1:0] row_bank_i,
    output logic [GROUPS-1:0] may_act_o,
    output logic              may_pre_o,
    output logic              may_ref_o,
    input  logic [1:0]        col_op_i,
    input  logic [B_BITS-1:0] col_bank_i,
    output logic [GROUPS-1:0] may_rd_o,
    output logic [GROUPS-1:0] may_wr_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (GROUPS < 1) begin : g_refuse_groups
    $error("GROUPS is %0d, expected 1 or more", GROUPS);
  end
  if (BANKS_PER_GROUP < 1) begin : g_refuse_banks_per_group
    $error("BANKS_PER_GROUP is %0d, expected 1 or more", BANKS_PER_GROUP);
  end
  if (RRD_S < 0) begin : g_refuse_rrd_s
    $error("RRD_S is %0d, expected 0 or more", RRD_S);
  end
  if (RRD_L < 0) begin : g_refuse_rrd_l
    $error("RRD_L is %0d, expected 0 or more", RRD_L);
  end
  if (FAW < 0) begin : g_refuse_faw
    $error("FAW is %0d, expected 0 or more", FAW);
  end
  if (AW32 < 0) begin : g_refuse_aw32
    $error("AW32 is %0d, expected 0 or more", AW32);
  end
  if (RC < 0) begin : g_refuse_rc
    $error("RC is %0d, expected 0 or more", RC);
  end
  if (CCD_S < 0) begin : g_refuse_ccd_s
    $error("CCD_S is %0d, expected 0 or more", CCD_S);
  end
  if (CCD_L < 0) begin : g_refuse_ccd_l
    $error("CCD_L is %0d, expected 0 or more", CCD_L);
  end
  if (RD_TO_WR < 0) begin : g_refuse_rd_to_wr
    $error("RD_TO_WR is %0d, expected 0 or more", RD_TO_WR);
  end
  if (WR_TO_RD_S < 0) begin : g_refuse_wr_to_rd_s
    $error("WR_TO_RD_S is %0d, expected 0 or more", WR_TO_RD_S);
  end
  if (WR_TO_RD_L < 0) begin : g_refuse_wr_to_rd_l
    $error("WR_TO_RD_L is %0d, expected 0 or more", WR_TO_RD_L);
  end
  if (PPD < 0) begin : g_refuse_ppd
    $error("PPD is %0d, expected 0 or more", PPD);
  end
  if (RP < 0) begin : g_refuse_rp
    $error("RP is %0d, expected 0 or more", RP);
  end
  if (RFC < 0) begin : g_refuse_rfc
    $error("RFC is %0d, expected 0 or more", RFC);
  end
`endif

  localparam logic [1:0] ACT = 1, PRE = 2, REF = 3;
  localparam logic [1:0] RD = 1, WR = 2;
  localparam int G_BITS = GROUPS < 2 ? 1 : $clog2(GROUPS);

  // Ring buffer with the cycles of the last 32 activates.
  logic [63:0] cycle_q [32];

  wire [G_BITS-1:0] row_group = G_BITS'(32'(row_bank_i) / BANKS_PER_GROUP);
  wire [G_BITS-1:0] col_group = G_BITS'(32'(col_bank_i) / BANKS_PER_GROUP);

  function automatic [63:0] later(input [63:0] a, input [63:0] b);
    later = a > b ? a : b;
  endfunction

  if (1) begin : groups
    logic [63:0] act_from_q [GROUPS];
    logic [63:0] rd_from_q  [GROUPS];
    logic [63:0] wr_from_q  [GROUPS];
    wire  [63:0] in_group = rd_from_q[col_group];
    for (genvar g = 0; g < GROUPS; g++) begin : g_group
      always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) {act_from_q[g], rd_from_q[g], wr_from_q[g]} <= '0;
        else begin
          if (row_op_i == ACT && row_group == G_BITS'(g)) act_from_q[g] <= now_i + 64'(RRD_L);
          if (col_group == G_BITS'(g))
            case (col_op_i)
              RD: rd_from_q[g] <= now_i + 64'(CCD_L);
              WR: begin
                wr_from_q[g] <= now_i + 64'(CCD_L);
                rd_from_q[g] <= later(in_group, now_i + 64'(WR_TO_RD_L));
              end
              default: ;
            endcase
        end
    end
  end

  if (1) begin : channel
    logic [63:0] act_from_q, rd_from_q, wr_from_q, pre_from_q, ref_from_q;
    // Position of the next activate in the ring buffer `cycle_q`, and number of activates in the buffer.
    logic [4:0]  next_act_q;
    logic [5:0]  num_acts_q;

    // Earliest cycles for the next ACT, if an ACT is sent in this cycle. The window of 4 activates (FAW)
    // starts at the third activate before this one, and the window of 32 activates starts at the 31st before
    // this one.
    wire [5:0]  acts = num_acts_q == 6'd32 ? num_acts_q : num_acts_q + 1'b1;
    wire [4:0]  third = next_act_q - 5'd3;
    wire [4:0]  first = next_act_q + 5'd1;
    wire [63:0] after_four = acts >= 6'd4 ? cycle_q[third] + 64'(FAW) : '0;
    wire [63:0] after_all = acts == 6'd32 ? cycle_q[first] + 64'(AW32) : '0;

    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) begin
        {act_from_q, rd_from_q, wr_from_q, pre_from_q, ref_from_q} <= '0;
        {next_act_q, num_acts_q} <= '0;
      end else begin
        case (row_op_i)
          ACT: begin
            next_act_q <= next_act_q + 1'b1;
            num_acts_q <= acts;
            act_from_q <= later(now_i + 64'(RRD_S), later(after_four, after_all));
            ref_from_q <= later(ref_from_q, now_i + 64'(RC));
          end
          PRE: begin
            pre_from_q <= now_i + 64'(PPD);
            ref_from_q <= later(ref_from_q, now_i + 64'(RP));
          end
          REF: ref_from_q <= now_i + 64'(RFC);
          default: ;
        endcase
        case (col_op_i)
          RD: begin
            rd_from_q <= now_i + 64'(CCD_S);
            wr_from_q <= later(wr_from_q, now_i + 64'(RD_TO_WR));
          end
          WR: begin
            wr_from_q <= now_i + 64'(CCD_S);
            rd_from_q <= later(rd_from_q, now_i + 64'(WR_TO_RD_S));
          end
          default: ;
        endcase
      end
  end
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) for (int i = 0; i < 32; i++) cycle_q[i] <= '0;
    else if (row_op_i == ACT) cycle_q[channel.next_act_q] <= now_i;

  assign may_pre_o = now_i >= channel.pre_from_q;
  assign may_ref_o = now_i >= channel.ref_from_q;
  for (genvar g = 0; g < GROUPS; g++) begin : g_may
    assign may_act_o[g] = now_i >= later(channel.act_from_q, groups.act_from_q[g]);
    assign may_rd_o[g] = now_i >= later(channel.rd_from_q, groups.rd_from_q[g]);
    assign may_wr_o[g] = now_i >= later(channel.wr_from_q, groups.wr_from_q[g]);
  end
endmodule
