// SPDX-License-Identifier: MIT OR Apache-2.0
// # All-bank refresh
// Controls the refresh of all banks, which is due every REFI cycles. Determines when requests must wait for
// the refresh, which row hits are still served before it, and whether its next command may be sent.
//
// The ports act in the order of their numbers within one cycle, `now_i`. Each port sees the results of the
// ports before it:
//
// | port        | contract                                                                                               |
// |-------------|--------------------------------------------------------------------------------------------------------|
// | 1 `stops_o` | requests must wait: no row is opened or closed for them, and only `columns_o` get column commands      |
// | 2 `step`    | once there are no `columns_o`: PREA or REF may be sent, selected by `step_is_ref_o`, if `step_valid_o` |
// | 3 `served`  | one of the `columns_o` got its command                                                                 |
// | 4 `done_i`  | the REF of this cycle was sent                                                                         |
//
// When a refresh falls due, the waiting row hits are still served, if the policy would serve them before it
// needs another row (`eligible_i`). In a cycle without `reads_i`, there is no room for the data of a read.
// All reads are then removed from the row hits that are served before the refresh. Requests that must wait
// for an older request to the same burst (`blocked_i`) are removed in such a cycle, too. Removed requests
// wait until after the refresh.
// PREA is sent while any bank is open (`open_i`), once all open banks allow it (`may_pre_i`). REF is sent
// once no bank is open and `may_ref_i` is set.
// `columns_o` is valid while `stops_o` is set. `step_valid_o` is valid while `stops_o` is set and no bit of
// `columns_o` is set. With OFF, no refresh is ever due.
// Latency: none.
// Cycles are compared as 64-bit numbers, as in `bank`.
module ws_dram_refresh #(
    parameter int ENTRIES = 16,
    parameter int BANKS = 16,
    parameter int REFI = 3604,
    parameter bit OFF = 0,
    localparam int E_BITS = ENTRIES < 2 ? 1 : $clog2(ENTRIES)
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic [63:0]        now_i,
    input  logic               reads_i,
    input  logic [ENTRIES-1:0] hits_i,
    input  logic [ENTRIES-1:0] eligible_i,
    input  logic [ENTRIES-1:0] writes_i,
    input  logic [ENTRIES-1:0] blocked_i,
    output logic               stops_o,
    output logic [ENTRIES-1:0] columns_o,
    input  logic [BANKS-1:0]   open_i,
    input  logic [BANKS-1:0]   may_pre_i,
    input  logic               may_ref_i,
    output logic               step_valid_o,
    output logic               step_is_ref_o,
    input  logic               served_valid_i,
    input  logic [E_BITS-1:0]  served_slot_i,
    input  logic               done_i
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (ENTRIES < 1) begin : g_refuse_entries
    $error("ENTRIES is %0d, expected 1 or more", ENTRIES);
  end
  if (BANKS < 1) begin : g_refuse_banks
    $error("BANKS is %0d, expected 1 or more", BANKS);
  end
  if (REFI < 1) begin : g_refuse_refi
    $error("REFI is %0d, expected 1 or more", REFI);
  end
`endif

  logic [63:0]        due_q;
  logic               draining_q;
  logic [ENTRIES-1:0] last_q;

  assign stops_o = now_i >= due_q;
  wire [ENTRIES-1:0] waiting = draining_q ? last_q : hits_i & eligible_i;
  assign columns_o = reads_i ? waiting : waiting & writes_i & ~blocked_i;

  assign step_is_ref_o = open_i == '0;
  assign step_valid_o = step_is_ref_o ? may_ref_i : (open_i & ~may_pre_i) == '0;

  wire [ENTRIES-1:0] served = served_valid_i ? ENTRIES'(1) << served_slot_i : '0;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      due_q <= OFF ? '1 : 64'(REFI);
      draining_q <= 0;
      last_q <= '0;
    end else begin
      if (stops_o) begin
        draining_q <= !done_i;
        last_q <= columns_o & ~served;
      end
      if (done_i) due_q <= due_q + 64'(REFI);
    end
endmodule
