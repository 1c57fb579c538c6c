// SPDX-License-Identifier: MIT OR Apache-2.0
// # Assertions of the L1 data cache with the LSU around it
// Checks the contract in the header of `ws_l1_cache` at its ports. What the caller guarantees is assumed, and
// what the module guarantees is asserted. Instructions for which the module has no hardware are refused here.
//
// | property         | what holds                                                               |
// |------------------|--------------------------------------------------------------------------|
// | `has_lane`       | assumed: an instruction has at least one lane                            |
// | `space_cached`   | assumed: no instruction loads constants or texels                        |
// | `atomic_legal`   | assumed: atomics and reductions access words of 4 or 8 bytes, globally   |
// | `fill_awaited`   | assumed: a line arrives only if the cache has requested it               |
// | `flush_idle`     | assumed: at a flush, every instruction has its reply                     |
// | `request_stable` | a request to memory is offered without a change until it is accepted     |
// | `reply_stays`    | a reply is offered until one is accepted                                 |
// | `reply_owed`     | there is a reply only while an instruction has none                      |
`ifdef YOSYS  // Yosys reads no concurrent assertions.
`define WS_ASSERT(NAME, PROPERTY) always_comb if (rst_ni) NAME : assert (PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) always_comb if (rst_ni) NAME : assume (PROPERTY);
`else
`define WS_ASSERT(NAME, PROPERTY) NAME : assert property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) NAME : assume property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`endif
module ws_l1_cache_sva #(
    parameter int LINE_BITS = 25,
    parameter int LINE_LOG2 = 7,
    localparam int LINE_BYTES = 1 << LINE_LOG2
) (
    input logic                    clk_i,
    input logic                    rst_ni,
    input logic                    flush_i,
    input logic                    core_req_ready_o,
    input logic                    core_req_valid_i,
    input logic [1:0]              core_req_kind_i,
    input logic [1:0]              core_req_space_i,
    input logic [1:0]              core_req_size_log2_i,
    input logic [31:0]             core_req_mask_i,
    input logic                    core_rsp_ready_i,
    input logic                    core_rsp_valid_o,
    input logic                    mem_req_ready_i,
    input logic                    mem_req_valid_o,
    input logic [1:0]              mem_req_kind_o,
    input logic [31:0]             mem_req_id_o,
    input logic [LINE_BITS-1:0]    mem_req_line_o,
    input logic [47:0]             mem_req_ticket_o,
    input logic [LINE_BYTES-1:0]   mem_req_byte_mask_o,
    input logic [8*LINE_BYTES-1:0] mem_req_data_o,
    input logic                    mem_rsp_valid_i,

    input logic rsp_fills,
    input logic fill_hit
);
  localparam int BITS = 2 + 32 + LINE_BITS + 48 + 9 * LINE_BYTES;
  wire [BITS-1:0] request =
      {mem_req_kind_o, mem_req_id_o, mem_req_line_o, mem_req_ticket_o, mem_req_byte_mask_o, mem_req_data_o};

  // Request and reply that were offered in the last cycle and not accepted, and the number of instructions
  // without a reply.
  logic            had_request, had_reply;
  logic [BITS-1:0] last_request;
  logic [31:0]     count;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      {had_request, had_reply} <= '0;
      last_request <= '0;
      count <= '0;
    end else begin
      had_request <= mem_req_valid_o && !mem_req_ready_i;
      had_reply <= core_rsp_valid_o && !core_rsp_ready_i;
      last_request <= request;
      count <= count + 32'(core_req_valid_i && core_req_ready_o) - 32'(core_rsp_valid_o && core_rsp_ready_i);
    end

  // `disable iff` reads the asynchronous reset at a clock edge, of which Verilator warns.
  // verilator lint_off SYNCASYNCNET
  `WS_ASSUME(has_lane, !core_req_valid_i || core_req_mask_i != '0)
  `WS_ASSUME(space_cached, !core_req_valid_i || core_req_space_i <= 2'd1)
  wire atomic_legal_now = core_req_space_i == 2'd0 && core_req_size_log2_i >= 2'd2;
  `WS_ASSUME(atomic_legal, !core_req_valid_i || core_req_kind_i <= 2'd1 || atomic_legal_now)
  `WS_ASSUME(fill_awaited, !mem_rsp_valid_i || !rsp_fills || fill_hit)
  wire no_reply_due = count == 32'(core_rsp_valid_o && core_rsp_ready_i);
  `WS_ASSUME(flush_idle, !flush_i || no_reply_due)
  `WS_ASSERT(request_stable, !had_request || mem_req_valid_o && request == last_request)
  `WS_ASSERT(reply_stays, !had_reply || core_rsp_valid_o)
  `WS_ASSERT(reply_owed, !core_rsp_valid_o || count != '0)
  // verilator lint_on SYNCASYNCNET
endmodule
bind ws_l1_cache ws_l1_cache_sva #(
    .LINE_BITS(LINE_BITS), .LINE_LOG2(LINE_LOG2)
) i_sva (.*);
`undef WS_ASSERT
`undef WS_ASSUME
