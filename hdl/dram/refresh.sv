// # All-bank refresh
// Controls the refresh of all banks, due every REFI cycles. Determines when requests must wait for it, which
// row hits are served before it, and whether its next command may be sent.
//
// In one cycle, `now`, in this order; each port sees the results of those before it:
//
// | port       | contract                                                                                         |
// |------------|--------------------------------------------------------------------------------------------------|
// | 1 `stops`  | requests must wait: no row is opened or closed for them, and only `columns` get column commands  |
// | 2 `step`   | once there are no `columns`: PREA or REF may be sent, selected by `step_is_ref`, if `step_valid` |
// | 3 `served` | one of the `columns` got its command                                                             |
// | 4 `done`   | the REF of this cycle was sent                                                                   |
//
// The row hits that wait when a refresh falls due are still served, if the policy would serve them before it
// needs another row (`eligible`). Without `reads`, there is no room for the data of a read. In such a cycle,
// reads are permanently removed from the hits to serve. So are requests `blocked` by an older one to their
// burst.
// PREA is sent while any bank is `open`, once all open banks allow it (`may_pre`). REF is sent once no bank
// is open and `may_ref`.
// `columns` and `step_valid` are valid with `stops`, `step_valid` only once there are no `columns`. With OFF
// no refresh is ever due.
// Latency: none.
// Cycles are compared as 64-bit numbers, as in `bank`.
module refresh #(
    parameter int ENTRIES = 16,
    parameter int BANKS = 16,
    parameter int REFI = 3604,
    parameter bit OFF = 0,
    localparam int E_BITS = ENTRIES < 2 ? 1 : $clog2(ENTRIES)
) (
    input  logic               clk,
    input  logic               rst,
    input  logic [63:0]        now,
    input  logic               reads,
    input  logic [ENTRIES-1:0] hits,
    input  logic [ENTRIES-1:0] eligible,
    input  logic [ENTRIES-1:0] writes,
    input  logic [ENTRIES-1:0] blocked,
    output logic               stops,
    output logic [ENTRIES-1:0] columns,
    input  logic [BANKS-1:0]   open,
    input  logic [BANKS-1:0]   may_pre,
    input  logic               may_ref,
    output logic               step_valid,
    output logic               step_is_ref,
    input  logic               served_valid,
    input  logic [E_BITS-1:0]  served_slot,
    input  logic               done
);
  logic [63:0]        due;
  logic               draining;
  logic [ENTRIES-1:0] last;

  assign stops = now >= due;
  wire [ENTRIES-1:0] waiting = draining ? last : hits & eligible;
  assign columns = reads ? waiting : waiting & writes & ~blocked;

  assign step_is_ref = open == '0;
  assign step_valid = step_is_ref ? may_ref : (open & ~may_pre) == '0;

  wire [ENTRIES-1:0] served = served_valid ? ENTRIES'(1) << served_slot : '0;
  always_ff @(posedge clk)
    if (rst) begin
      due <= OFF ? '1 : 64'(REFI);
      draining <= 0;
      last <= '0;
    end else begin
      if (stops) begin
        draining <= !done;
        last <= columns & ~served;
      end
      if (done) due <= due + 64'(REFI);
    end
endmodule
