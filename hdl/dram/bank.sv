// # One DRAM bank
// Tracks the open row of a bank, if any, and the cycles from which its next commands are legal. Distances
// between banks are tracked by `timing`.
//
// One command per cycle, `op`, in cycle `now`:
// - ACT (1) opens `act_row`; RD (2) and WR (3) use the open row; PRE (4) closes it; REF (5) refreshes the
//   closed bank.
//
// A column command that `overtakes` an older request to another row of the bank is counted until the row
// closes.
// `is_open` to `num_overtaken` show the registers; `open_row` is 0 while the bank is closed. `may_*` show the
// commands that this bank allows in this cycle. The caller sends only allowed commands: ACT and REF only to a
// closed bank, the others only to an open one.
// Latency: none from the registers to `may_*`; a command takes effect in the next cycle.
// Cycles are compared as 64-bit numbers, as in the Rust block; counters would suffice for a single bank.
module bank #(
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
    input  logic                clk,
    input  logic                rst,
    input  logic [63:0]         now,
    input  logic [2:0]          op,
    input  logic [ROW_BITS-1:0] act_row,
    input  logic                overtakes,
    output logic                is_open,
    output logic [ROW_BITS-1:0] open_row,
    output logic                is_served,
    output logic [15:0]         num_overtaken,
    output logic                may_act,
    output logic                may_rd,
    output logic                may_wr,
    output logic                may_pre
);
  localparam logic [2:0] ACT = 1, RD = 2, WR = 3, PRE = 4, REF = 5;

  logic                open, served;
  logic [ROW_BITS-1:0] row;
  logic [15:0]         overtaken;
  logic [63:0]         act_from, rd_from, wr_from, pre_from;

  assign {is_open, open_row} = {open, row};
  assign {is_served, num_overtaken} = {served, overtaken};
  assign may_act = now >= act_from;
  assign may_rd = now >= rd_from;
  assign may_wr = now >= wr_from;
  assign may_pre = now >= pre_from;

  function automatic [63:0] later(input [63:0] a, input [63:0] b);
    later = a > b ? a : b;
  endfunction

  wire is_column = op == RD || op == WR;
  wire [31:0] keeps_open = op == ACT ? RAS : op == RD ? RTP : WR_TO_PRE;

  always_ff @(posedge clk)
    if (rst) begin
      {open, served, row, overtaken} <= '0;
      {act_from, rd_from, wr_from, pre_from} <= '0;
    end else begin
      case (op)
        ACT: begin
          {open, row} <= {1'b1, act_row};
          {served, overtaken} <= '0;
          rd_from <= now + 64'(RCD_RD);
          wr_from <= now + 64'(RCD_WR);
          act_from <= now + 64'(RC);
        end
        PRE: begin
          {open, row} <= '0;
          act_from <= later(act_from, now + 64'(RP));
        end
        REF: act_from <= now + 64'(RFC);
        default: ;
      endcase
      if (op == ACT || is_column) pre_from <= later(pre_from, now + 64'(keeps_open));
      if (is_column) begin
        served <= 1;
        if (overtakes && overtaken != '1) overtaken <= overtaken + 1'b1;
      end
    end
endmodule
