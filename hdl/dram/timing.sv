// # Distances between DRAM banks
// Tracks the minimum distances that a command in one bank imposes on its bank group and on the channel. These
// are the data bus, the charge pumps (tRRD and the windows of 4 and 32 activates) and the precharge spacing.
// Distances within a bank are tracked by `bank`.
//
// In one cycle, `now`:
//
// | port  | contract                                                                      |
// |-------|-------------------------------------------------------------------------------|
// | `row` | ACT (1) in bank `row_bank`, PRE (2) in any or all banks, REF (3) of all banks |
// | `col` | RD (1) or WR (2) in bank `col_bank`                                           |
//
// With a single command bus, at most one of the two is used per cycle; neither sees the effect of the other.
// `may_*` show the commands that the bank's group and the channel allow in this cycle; the caller sends no
// others.
// Latency: none from the registers to `may_*`; a command takes effect in the next cycle.
// `groups` has registers per bank group, under the same names as those of `channel` for all banks.
module timing #(
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
    input  logic              clk,
    input  logic              rst,
    input  logic [63:0]       now,
    input  logic [1:0]        row_op,
    input  logic [B_BITS-1:0] row_bank,
    output logic              may_act,
    output logic              may_pre,
    output logic              may_ref,
    input  logic [1:0]        col_op,
    input  logic [B_BITS-1:0] col_bank,
    output logic              may_rd,
    output logic              may_wr
);
  localparam logic [1:0] ACT = 1, PRE = 2, REF = 3;
  localparam logic [1:0] RD = 1, WR = 2;
  localparam int G_BITS = GROUPS < 2 ? 1 : $clog2(GROUPS);

  // Ring of the cycles of the last activates.
  logic [63:0] cycle [32];

  wire [G_BITS-1:0] row_group = G_BITS'(32'(row_bank) / BANKS_PER_GROUP);
  wire [G_BITS-1:0] col_group = G_BITS'(32'(col_bank) / BANKS_PER_GROUP);

  function automatic [63:0] later(input [63:0] a, input [63:0] b);
    later = a > b ? a : b;
  endfunction

  if (1) begin : groups
    logic [63:0] act_from [GROUPS];
    logic [63:0] rd_from  [GROUPS];
    logic [63:0] wr_from  [GROUPS];
    wire  [63:0] in_group = rd_from[col_group];
    always_ff @(posedge clk)
      for (int g = 0; g < GROUPS; g++)
        if (rst) {act_from[g], rd_from[g], wr_from[g]} <= '0;
        else begin
          if (row_op == ACT && row_group == G_BITS'(g)) act_from[g] <= now + 64'(RRD_L);
          if (col_group == G_BITS'(g))
            case (col_op)
              RD: rd_from[g] <= now + 64'(CCD_L);
              WR: begin
                wr_from[g] <= now + 64'(CCD_L);
                rd_from[g] <= later(in_group, now + 64'(WR_TO_RD_L));
              end
              default: ;
            endcase
        end
  end

  if (1) begin : channel
    logic [63:0] act_from, rd_from, wr_from, pre_from, ref_from;
    // Ring position of the next activate, and number of activates in the ring.
    logic [4:0]  next_act;
    logic [5:0]  num_acts;

    // Ends of the windows that contain an ACT of this cycle: the window of 4 starts three activates before
    // it, the window of 32 starts 31 before it.
    wire [5:0]  acts = num_acts == 6'd32 ? num_acts : num_acts + 1'b1;
    wire [4:0]  third = next_act - 5'd3;
    wire [4:0]  first = next_act + 5'd1;
    wire [63:0] after_four = acts >= 6'd4 ? cycle[third] + 64'(FAW) : '0;
    wire [63:0] after_all = acts == 6'd32 ? cycle[first] + 64'(AW32) : '0;

    always_ff @(posedge clk)
      if (rst) begin
        {act_from, rd_from, wr_from, pre_from, ref_from} <= '0;
        {next_act, num_acts} <= '0;
      end else begin
        case (row_op)
          ACT: begin
            next_act <= next_act + 1'b1;
            num_acts <= acts;
            act_from <= later(now + 64'(RRD_S), later(after_four, after_all));
            ref_from <= later(ref_from, now + 64'(RC));
          end
          PRE: begin
            pre_from <= now + 64'(PPD);
            ref_from <= later(ref_from, now + 64'(RP));
          end
          REF: ref_from <= now + 64'(RFC);
          default: ;
        endcase
        case (col_op)
          RD: begin
            rd_from <= now + 64'(CCD_S);
            wr_from <= later(wr_from, now + 64'(RD_TO_WR));
          end
          WR: begin
            wr_from <= now + 64'(CCD_S);
            rd_from <= later(rd_from, now + 64'(WR_TO_RD_S));
          end
          default: ;
        endcase
      end
  end
  always_ff @(posedge clk)
    if (rst) for (int i = 0; i < 32; i++) cycle[i] <= '0;
    else if (row_op == ACT) cycle[channel.next_act] <= now;

  assign may_act = now >= later(channel.act_from, groups.act_from[row_group]);
  assign may_pre = now >= channel.pre_from;
  assign may_ref = now >= channel.ref_from;
  assign may_rd = now >= later(channel.rd_from, groups.rd_from[col_group]);
  assign may_wr = now >= later(channel.wr_from, groups.wr_from[col_group]);
endmodule
