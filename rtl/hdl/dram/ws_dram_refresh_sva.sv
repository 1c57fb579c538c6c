// SPDX-License-Identifier: MIT OR Apache-2.0
// # Assertions of the all-bank refresh
// Checks the contract in the header of `ws_dram_refresh` at its ports. What the caller guarantees is assumed,
// and what the module guarantees is asserted.
//
// | property         | what holds                                                                          |
// |------------------|-------------------------------------------------------------------------------------|
// | `time_passes`    | assumed: the cycle number rises                                                     |
// | `served_is_last` | assumed: while requests wait, only one of `columns_o` gets its command              |
// | `done_allowed`   | assumed: REF is sent only when requests wait, `columns_o` is 0, and the step is REF |
// | `stops_until`    | requests wait until REF is sent                                                     |
// | `not_too_early`  | requests wait no earlier than REFI after the refresh before was due                 |
// | `columns_hit`    | only row hits and hits of earlier cycles of the same refresh are still served       |
// | `columns_left`   | a hit that was served or left out is not served again before the refresh            |
// | `ref_if_closed`  | the step is REF exactly if all banks are closed                                     |
// | `step_allowed`   | PREA needs all open banks to allow PRE, and REF needs `may_ref_i`                   |
`ifdef YOSYS  // Yosys reads no concurrent assertions.
`define WS_ASSERT(NAME, PROPERTY) always_comb if (rst_ni) NAME : assert (PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) always_comb if (rst_ni) NAME : assume (PROPERTY);
`else
`define WS_ASSERT(NAME, PROPERTY) NAME : assert property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) NAME : assume property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`endif
module ws_dram_refresh_sva #(
    parameter int ENTRIES = 16,
    parameter int BANKS = 16,
    parameter int REFI = 3604,
    parameter bit OFF = 0,
    localparam int E_BITS = ENTRIES < 2 ? 1 : $clog2(ENTRIES)
) (
    input logic               clk_i,
    input logic               rst_ni,
    input logic [63:0]        now_i,
    input logic [ENTRIES-1:0] hits_i,
    input logic               stops_o,
    input logic [ENTRIES-1:0] columns_o,
    input logic [BANKS-1:0]   open_i,
    input logic [BANKS-1:0]   may_pre_i,
    input logic               may_ref_i,
    input logic               step_valid_o,
    input logic               step_is_ref_o,
    input logic               served_valid_i,
    input logic [E_BITS-1:0]  served_slot_i,
    input logic               done_i
);
  // Number of refreshes sent, and what the refresh in progress may still serve.
  logic               has_run, is_draining;
  logic [63:0]        previous, num_done;
  logic [ENTRIES-1:0] last;
  wire  [ENTRIES-1:0] served = served_valid_i ? ENTRIES'(1) << served_slot_i : '0;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      {has_run, is_draining, previous, num_done, last} <= '0;
    end else begin
      {has_run, previous} <= {1'b1, now_i};
      num_done <= num_done + 64'(done_i);
      is_draining <= stops_o && !done_i;
      last <= columns_o & ~served;
    end
  wire is_due = !OFF && now_i >= (num_done + 64'd1) * 64'(REFI);

  // `disable iff` reads the asynchronous reset at a clock edge, of which Verilator warns.
  // verilator lint_off SYNCASYNCNET
  `WS_ASSUME(time_passes, !has_run || now_i > previous)
  `WS_ASSUME(served_is_last, !stops_o || (served & ~columns_o) == '0)
  `WS_ASSUME(done_allowed, !done_i || stops_o && columns_o == '0 && step_valid_o && step_is_ref_o)
  `WS_ASSERT(stops_until, !is_draining || stops_o)
  `WS_ASSERT(not_too_early, !stops_o || is_due)
  `WS_ASSERT(columns_hit, !stops_o || is_draining || (columns_o & ~hits_i) == '0)
  `WS_ASSERT(columns_left, !is_draining || (columns_o & ~last) == '0)
  `WS_ASSERT(ref_if_closed, step_is_ref_o == (open_i == '0))
  `WS_ASSERT(step_allowed, !step_valid_o || (open_i == '0 ? may_ref_i : (open_i & ~may_pre_i) == '0))
  // verilator lint_on SYNCASYNCNET
endmodule
bind ws_dram_refresh ws_dram_refresh_sva #(
    .ENTRIES(ENTRIES), .BANKS(BANKS), .REFI(REFI), .OFF(OFF)
) i_sva (.*);
`undef WS_ASSERT
`undef WS_ASSUME
