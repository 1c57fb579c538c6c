// SPDX-License-Identifier: MIT OR Apache-2.0
// # Assertions of the L2 bank with its FRC
// Checks the contract in the header of `ws_l2_bank` at its ports. What the caller guarantees is assumed, and
// what the module guarantees is asserted. Atomics for which the module has no hardware are refused here.
//
// | property           | what holds                                                                    |
// |--------------------|-------------------------------------------------------------------------------|
// | `atomic_is_whole`  | assumed: no atomic computes with floating-point numbers                       |
// | `reply_stable`     | a reply is offered without a change until it is accepted                      |
// | `dram_req_stable`  | a burst for memory is offered without a change until it is accepted           |
`ifdef YOSYS  // Yosys reads no concurrent assertions.
`define WS_ASSERT(NAME, PROPERTY) always_comb if (rst_ni) NAME : assert (PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) always_comb if (rst_ni) NAME : assume (PROPERTY);
`else
`define WS_ASSERT(NAME, PROPERTY) NAME : assert property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) NAME : assume property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`endif
module ws_l2_bank_sva #(
    parameter int BURST_BITS = 26
) (
    input logic                  clk_i,
    input logic                  rst_ni,
    input logic                  req_valid_i,
    input logic [1:0]            req_kind_i,
    input logic [3:0]            req_type_i,
    input logic                  rsp_valid_o,
    input logic                  rsp_ready_i,
    input logic                  rsp_kind_o,
    input logic [31:0]           rsp_id_o,
    input logic [47:0]           rsp_ticket_o,
    input logic                  dram_req_valid_o,
    input logic                  dram_req_ready_i,
    input logic                  dram_req_write_o,
    input logic [BURST_BITS-1:0] dram_req_burst_o,
    input logic [15:0]           dram_req_tag_o,
    input logic [63:0]           dram_req_byte_mask_o
);
  wire [80:0] reply = {rsp_kind_o, rsp_id_o, rsp_ticket_o};
  wire [BURST_BITS+80:0] burst = {dram_req_write_o, dram_req_burst_o, dram_req_tag_o, dram_req_byte_mask_o};

  // Reply and burst that were offered in the last cycle and not accepted.
  logic had_reply, had_burst;
  logic [80:0] last_reply;
  logic [BURST_BITS+80:0] last_burst;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      {had_reply, had_burst} <= '0;
      last_reply <= '0;
      last_burst <= '0;
    end else begin
      had_reply <= rsp_valid_o && !rsp_ready_i;
      had_burst <= dram_req_valid_o && !dram_req_ready_i;
      last_reply <= reply;
      last_burst <= burst;
    end

  // The types of `ws_cells_atomic`: U32 (2), U64 (3), S32 (6), S64 (7), B32 (10) and B64 (11).
  wire is_32_bits = req_type_i == 4'd2 || req_type_i == 4'd6 || req_type_i == 4'd10;
  wire is_64_bits = req_type_i == 4'd3 || req_type_i == 4'd7 || req_type_i == 4'd11;
  wire is_whole = is_32_bits || is_64_bits;

  // `disable iff` reads the asynchronous reset at a clock edge, of which Verilator warns.
  // verilator lint_off SYNCASYNCNET
  `WS_ASSUME(atomic_is_whole, !req_valid_i || req_kind_i <= 2'd1 || is_whole)
  `WS_ASSERT(reply_stable, !had_reply || rsp_valid_o && reply == last_reply)
  `WS_ASSERT(dram_req_stable, !had_burst || dram_req_valid_o && burst == last_burst)
  // verilator lint_on SYNCASYNCNET
endmodule
bind ws_l2_bank ws_l2_bank_sva #(
    .BURST_BITS(BURST_BITS)
) i_sva (.*);
`undef WS_ASSERT
`undef WS_ASSUME
