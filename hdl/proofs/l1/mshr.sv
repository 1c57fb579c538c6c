// # Proof: every waiter of the MSHR leaves once, after the fill of its line
// One request is followed among all others, in whatever cycle it is accepted: its slot is 1, that of others 0. What happens
// at every port in every cycle is for the solver to choose.
//
// | property   | what holds                                                                                  |
// |------------|---------------------------------------------------------------------------------------------|
// | `once`     | its slot is offered only while it waits: neither before it was accepted nor a second time     |
// | `filled`   | it is offered after the fill of its line, with its own line, place and lanes                   |
// | `tracked`  | while it waits its line is tracked: as open or full before the fill, as draining behind it     |
// | `in_time`  | from the fill on it is among the next ENTRIES * MERGES waiters that leave                      |
// | `unread`   | no line fills the place that it still has to read                                            |
// | `room`     | entries in use are never more than ENTRIES: allocations less entries that came free            |
//
// The caller keeps the contract of the module: a miss is of a line that is not tracked, and takes a place that no line on its
// way fills. Only one request has the slot.
module mshr_proof #(
    parameter int ENTRIES = 2,
    parameter int MERGES = 2,
    parameter int LINE_BITS = 2,
    parameter int PLACE_BITS = 2,
    parameter bit RECALLS = 1,
    localparam int E_BITS = ENTRIES < 2 ? 1 : $clog2(ENTRIES)
) (
    input logic                  clk,
    input logic                  rst,
    input logic                  fill_valid,
    input logic [LINE_BITS-1:0]  fill_line,
    input logic                  recall_valid,
    input logic [LINE_BITS-1:0]  recall_line,
    input logic                  pop_ready,
    input logic [1:0]            acc_op,
    input logic                  acc_go,
    input logic [LINE_BITS-1:0]  acc_line,
    input logic [PLACE_BITS-1:0] acc_place,
    input logic                  is_followed,
    input logic                  lane
);
  logic                  fill_hit, fill_blocked, recall_hit;
  logic [PLACE_BITS-1:0] fill_place;
  logic                  pop_valid, pop_last, has_ready;
  logic [LINE_BITS-1:0]  pop_line;
  logic [PLACE_BITS-1:0] pop_place;
  logic [5:0]            pop_slot;
  logic [31:0]           pop_lanes;
  logic                  acc_open, acc_full, acc_draining, acc_free, acc_drains;
  logic [E_BITS-1:0]     acc_entry;
  wire [5:0]             acc_slot = 6'(is_followed);
  wire [31:0]            acc_lanes = 32'(lane);
  mshr #(
      .ENTRIES(ENTRIES), .MERGES(MERGES), .LINE_BITS(LINE_BITS), .PLACE_BITS(PLACE_BITS), .RECALLS(RECALLS)
  ) dut (.*);

  wire fills = fill_valid && fill_hit && !fill_blocked;
  wire pops = pop_ready && pop_valid;
  wire joins = acc_op == 2'd1 && acc_open;
  wire misses = acc_op == 2'd2 && acc_go && acc_free;

  // The request: not accepted yet, waiting for its fill, waiting to leave, gone.
  localparam logic [1:0] NOT_YET = 0, PENDING = 1, FILLED = 2, GONE = 3;
  logic [1:0]            state;
  logic [LINE_BITS-1:0]  line;
  logic [PLACE_BITS-1:0] place;
  logic                  lanes;
  logic [$clog2(ENTRIES*MERGES+1)-1:0] left_since;
  wire accepted = (joins || misses) && is_followed;
  wire is_filled = state == FILLED || state == PENDING && fills && fill_line == line;
  wire leaves = pops && pop_slot[0];

  // Lines on their way, and the places that they will fill.
  logic [(1<<PLACE_BITS)-1:0] taken;
  logic [PLACE_BITS-1:0]      place_of [1<<LINE_BITS];
  // Entries in use, counted at the ports.
  logic [$clog2(ENTRIES+2)-1:0] in_use;

  always_ff @(posedge clk)
    if (rst) begin
      state <= NOT_YET;
      taken <= '0;
      in_use <= 0;
      left_since <= 0;
    end else begin
      if (accepted) begin
        state <= PENDING;
        line <= acc_line;
        place <= misses ? acc_place : place_of[acc_line];
        lanes <= lane;
      end else if (leaves) state <= GONE;
      else if (is_filled) state <= FILLED;
      if (is_filled && pops) left_since <= left_since + 1'b1;
      if (fills) taken[fill_place] <= 0;
      if (misses) begin
        taken[acc_place] <= 1;
        place_of[acc_line] <= acc_place;
      end
      in_use <= in_use + misses - (pops && pop_last);
    end

  logic started = 0;
  always_ff @(posedge clk) started <= 1;
  always_comb begin
    assume (rst == !started);
    if (acc_op == 2'd2) assume (!acc_open && !acc_full);
    if (misses) assume (!taken[acc_place] || fills && fill_place == acc_place);
    if (is_followed) assume (state == NOT_YET);
    if (!rst) begin
      once : assert (!(pop_valid && pop_slot[0]) || is_filled);
      if (leaves) filled : assert (pop_line == line && pop_place == place && pop_lanes == 32'(lanes));
      if (acc_line == line && state == PENDING && !is_filled) tracked_before : assert (acc_open || acc_full);
      if (acc_line == line && is_filled && !leaves) tracked_behind : assert (acc_draining);
      if (is_filled) in_time : assert (pop_valid && left_since < ENTRIES * MERGES);
      if (state == FILLED && fills) unread : assert (fill_place != place);
      room : assert (in_use <= ENTRIES);
    end
  end
endmodule
