// # All-bank refresh
// Says when requests make way for a refresh of all banks, due every REFI cycles, which row hits are served before it, and
// whether its next command may go.
//
// One cycle, `now`, in this order; each sees what those before it did:
//
// | port       | contract                                                                                     |
// |------------|----------------------------------------------------------------------------------------------|
// | 1 `stops`  | requests make way: no row is opened or closed for one, and only `columns` have column commands   |
// | 2 `step`   | once there are no `columns`: PREA or REF may go, as `step_is_ref` says, if `step_valid`           |
// | 3 `served` | one of the `columns` had its command                                                           |
// | 4 `done`   | the REF of this cycle was sent                                                                |
//
// The row hits that wait as a refresh falls due are served, if the policy would serve them before it needs another row
// (`eligible`). In a cycle without `reads`, in which the data of a read have no room, reads are let go for good, and so are
// requests `blocked` by an older one to their burst.
// PREA goes while a bank is `open`, once all of these may be precharged (`may_pre`), REF once none is and `may_ref`.
// `columns` and `step_valid` have a meaning with `stops`, `step_valid` once there are no `columns`. With OFF nothing is ever due.
// Latency: none.
// Cycles are compared as numbers of 64 bits, as in `bank`.
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
