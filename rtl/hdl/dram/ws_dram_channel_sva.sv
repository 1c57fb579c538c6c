// SPDX-License-Identifier: MIT OR Apache-2.0
// # Assertions of a DRAM channel
// Checks the contract in the header of `ws_dram_channel` at its ports. What the caller guarantees is assumed,
// and what the module guarantees is asserted. Open rows and outstanding reads follow from the commands seen
// at the port `command`. The checkers of the parts check the distances between commands.
//
// | property       | what holds                                                                    |
// |----------------|-------------------------------------------------------------------------------|
// | `time_passes`  | assumed: the cycle number rises                                               |
// | `req_kept`     | assumed: a request that is not accepted is offered again                      |
// | `burst_exists` | assumed: requests access bursts of the memory                                 |
// | `data_kept`    | read data that are not accepted are offered again                             |
// | `ack_at_once`  | an acknowledgment leaves in the cycle in which its request is accepted        |
// | `data_of_read` | data leave only for an RD that was sent, once for each                        |
// | `reads_fit`    | no more reads are outstanding than the reply buffer has entries               |
// | `column_open`  | RD and WR access the open row of their bank                                   |
// | `act_closed`   | ACT goes to a closed bank                                                     |
`ifdef YOSYS  // Yosys reads no concurrent assertions.
`define WS_ASSERT(NAME, PROPERTY) always_comb if (rst_ni) NAME : assert (PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) always_comb if (rst_ni) NAME : assume (PROPERTY);
`else
`define WS_ASSERT(NAME, PROPERTY) NAME : assert property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) NAME : assume property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`endif
module ws_dram_channel_sva #(
    parameter int REPLIES = 16,
    parameter int BANKS = 16,
    parameter int B_BITS = 4,
    parameter int ROW_BITS = 12,
    parameter int BURST_BITS = 22,
    parameter int MEM_BURSTS = 4096
) (
    input logic                  clk_i,
    input logic                  rst_ni,
    input logic [63:0]           now_i,
    input logic                  req_valid_i,
    input logic                  req_ready_o,
    input logic                  req_write_i,
    input logic [31:0]           req_id_i,
    input logic [BURST_BITS-1:0] req_burst_i,
    input logic [15:0]           req_tag_i,
    input logic                  req_acknowledged_i,
    input logic [63:0]           req_byte_mask_i,
    input logic [511:0]          req_data_i,
    input logic                  rsp_valid_o,
    input logic                  rsp_ready_i,
    input logic [31:0]           rsp_id_o,
    input logic [BURST_BITS-1:0] rsp_burst_o,
    input logic [15:0]           rsp_tag_o,
    input logic                  rsp_is_ack_o,
    input logic [511:0]          rsp_data_o,
    input logic [2:0]            command_kind_o,
    input logic [B_BITS-1:0]     command_bank_o,
    input logic [ROW_BITS-1:0]   command_row_o
);
  localparam logic [2:0] ACT = 1, RD = 2, WR = 3, PRE = 4, PREA = 5;

  wire [BURST_BITS+625:0] request =
      {req_id_i, req_burst_i, req_tag_i, req_write_i, req_acknowledged_i, req_byte_mask_i, req_data_i};
  wire [BURST_BITS+559:0] reply = {rsp_id_o, rsp_burst_o, rsp_tag_o, rsp_data_o};
  wire has_data = rsp_valid_o && !rsp_is_ack_o;
  wire acknowledges = rsp_valid_o && rsp_ready_i && rsp_is_ack_o;

  // Beats that were offered and not accepted in the previous cycle, open rows, and reads without their data.
  logic                     has_run, waits, offers;
  logic [63:0]              previous;
  logic [BURST_BITS+625:0]  waiting;
  logic [BURST_BITS+559:0]  offered;
  logic [BANKS-1:0]         open;
  logic [BANKS*ROW_BITS-1:0] rows;
  logic [31:0]              reads;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      {has_run, waits, offers, previous, waiting, offered, open, rows, reads} <= '0;
    end else begin
      {has_run, previous} <= {1'b1, now_i};
      {waits, waiting} <= {req_valid_i && !req_ready_o, request};
      {offers, offered} <= {has_data && !rsp_ready_i, reply};
      reads <= reads + 32'(command_kind_o == RD) - 32'(has_data && rsp_ready_i);
      case (command_kind_o)
        ACT: begin
          open[command_bank_o] <= 1;
          rows[32'(command_bank_o)*ROW_BITS+:ROW_BITS] <= command_row_o;
        end
        PRE: open[command_bank_o] <= 0;
        PREA: open <= '0;
        default: ;
      endcase
    end
  wire is_column = command_kind_o == RD || command_kind_o == WR;
  wire is_in_row = open[command_bank_o] && rows[32'(command_bank_o)*ROW_BITS+:ROW_BITS] == command_row_o;

  // `disable iff` reads the asynchronous reset at a clock edge, of which Verilator warns.
  // verilator lint_off SYNCASYNCNET
  `WS_ASSUME(time_passes, !has_run || now_i > previous)
  `WS_ASSUME(req_kept, !waits || req_valid_i && request == waiting)
  `WS_ASSUME(burst_exists, !req_valid_i || 64'(req_burst_i) < 64'(MEM_BURSTS))
  `WS_ASSERT(data_kept, !offers || has_data && reply == offered)
  `WS_ASSERT(ack_at_once, !acknowledges || req_valid_i && req_ready_o && req_acknowledged_i)
  `WS_ASSERT(data_of_read, !has_data || reads != 0)
  `WS_ASSERT(reads_fit, reads + 32'(command_kind_o == RD) <= 32'(REPLIES))
  `WS_ASSERT(column_open, !is_column || is_in_row)
  `WS_ASSERT(act_closed, command_kind_o != ACT || !open[command_bank_o])
  // verilator lint_on SYNCASYNCNET
endmodule
bind ws_dram_channel ws_dram_channel_sva #(
    .REPLIES(REPLIES), .BANKS(BANKS), .B_BITS(B_BITS), .ROW_BITS(ROW_BITS), .BURST_BITS(BURST_BITS),
    .MEM_BURSTS(MEM_BURSTS)
) i_sva (.*);
`undef WS_ASSERT
`undef WS_ASSUME
