// # Proof: every waiter of the MSHR leaves once, after the fill of its line
// The proof tracks one request among all others, accepted in an arbitrary cycle: its slot is 1, that of all
// others is 0. The solver chooses the inputs of every port in every cycle.
//
// | property  | what holds                                                                                 |
// |-----------|--------------------------------------------------------------------------------------------|
// | `once`    | its slot is offered only while it waits: not before it was accepted, and not a second time |
// | `filled`  | it is offered only after the fill of its line, with its own line, place and lanes          |
// | `tracked` | while it waits, its line is tracked: as open or full before the fill, as draining after it |
// | `in_time` | after the fill, it is among the next ENTRIES * MERGES waiters that leave                   |
// | `unread`  | no line fills a place that it has yet to read                                              |
// | `room`    | at most ENTRIES entries are in use: allocations minus freed entries                        |
//
// Assumptions about the caller follow the contract of the module: a miss is to an untracked line, and takes a
// place that no line in flight fills. Only the tracked request has slot 1.
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

  // State of the tracked request: not accepted yet, waiting for its fill, waiting to leave, or gone.
  localparam logic [1:0] NOT_YET = 0, PENDING = 1, FILLED = 2, GONE = 3;
  logic [1:0]            state;
  logic [LINE_BITS-1:0]  line;
  logic [PLACE_BITS-1:0] place;
  logic                  lanes;
  logic [$clog2(ENTRIES*MERGES+1)-1:0] left_since;
  wire accepted = (joins || misses) && is_followed;
  wire is_filled = state == FILLED || state == PENDING && fills && fill_line == line;
  wire leaves = pops && pop_slot[0];

  // Lines in flight, and the places that they will fill.
  logic [(1<<PLACE_BITS)-1:0] taken;
  logic [PLACE_BITS-1:0]      place_of [1<<LINE_BITS];
  // Number of entries in use, counted at the ports.
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
