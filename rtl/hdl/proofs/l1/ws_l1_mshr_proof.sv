// SPDX-License-Identifier: MIT OR Apache-2.0
// # Proof: every waiter of the MSHR leaves once, after the fill of its line
// The proof tracks one request, which is accepted in an arbitrary cycle, among other requests. The tracked
// request has slot 1, and all others have slot 0. The solver chooses the inputs of every port in every cycle.
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
// Assumptions about the caller follow the contract of the module: a miss is to an untracked line, and
// reserves a place that no line in flight will fill.
module ws_l1_mshr_proof #(
    parameter int ENTRIES = 2,
    parameter int MERGES = 2,
    parameter int LINE_BITS = 2,
    parameter int PLACE_BITS = 2,
    parameter bit RECALLS = 1,
    localparam int E_BITS = ENTRIES < 2 ? 1 : $clog2(ENTRIES)
) (
    input logic                  clk_i,
    input logic                  rst_ni,
    input logic                  fill_valid_i,
    input logic [LINE_BITS-1:0]  fill_line_i,
    input logic                  recall_valid_i,
    input logic [LINE_BITS-1:0]  recall_line_i,
    input logic                  pop_ready_i,
    input logic [1:0]            acc_op_i,
    input logic                  acc_go_i,
    input logic [LINE_BITS-1:0]  acc_line_i,
    input logic [PLACE_BITS-1:0] acc_place_i,
    input logic                  is_followed_i,
    input logic                  lane_i
);
  logic                  fill_hit_o, fill_blocked_o, recall_hit_o;
  logic [PLACE_BITS-1:0] fill_place_o;
  logic                  pop_valid_o, pop_last_o, has_ready_o;
  logic [LINE_BITS-1:0]  pop_line_o;
  logic [PLACE_BITS-1:0] pop_place_o;
  logic [5:0]            pop_slot_o;
  logic [31:0]           pop_lanes_o;
  logic                  acc_open_o, acc_full_o, acc_draining_o, acc_free_o, acc_drains_o;
  logic [E_BITS-1:0]     acc_entry_o;
  wire [5:0]             acc_slot_i = 6'(is_followed_i);
  wire [31:0]            acc_lanes_i = 32'(lane_i);
  ws_l1_mshr #(
      .ENTRIES(ENTRIES), .MERGES(MERGES), .LINE_BITS(LINE_BITS), .PLACE_BITS(PLACE_BITS), .RECALLS(RECALLS)
  ) dut (.*);

  wire fills = fill_valid_i && fill_hit_o && !fill_blocked_o;
  wire pops = pop_ready_i && pop_valid_o;
  wire joins = acc_op_i == 2'd1 && acc_open_o;
  wire misses = acc_op_i == 2'd2 && acc_go_i && acc_free_o;

  // State of the tracked request: not accepted yet, waiting for its fill, waiting to leave, or gone.
  localparam logic [1:0] NOT_YET = 0, PENDING = 1, FILLED = 2, GONE = 3;
  logic [1:0]            state;
  logic [LINE_BITS-1:0]  line;
  logic [PLACE_BITS-1:0] place;
  logic                  lanes;
  logic [$clog2(ENTRIES*MERGES+1)-1:0] left_since;
  wire accepted = (joins || misses) && is_followed_i;
  wire is_filled = state == FILLED || state == PENDING && fills && fill_line_i == line;
  wire leaves = pops && pop_slot_o[0];

  // Places (set and way) that lines in flight will fill, and the place of each line.
  logic [(1<<PLACE_BITS)-1:0] taken;
  logic [PLACE_BITS-1:0]      place_of [1<<LINE_BITS];
  // Number of MSHR entries in use, computed from the ports: allocations minus freed entries.
  logic [$clog2(ENTRIES+2)-1:0] in_use;

  always_ff @(posedge clk_i)
    if (!rst_ni) begin
      state <= NOT_YET;
      taken <= '0;
      in_use <= 0;
      left_since <= 0;
    end else begin
      if (accepted) begin
        state <= PENDING;
        line <= acc_line_i;
        place <= misses ? acc_place_i : place_of[acc_line_i];
        lanes <= lane_i;
      end else if (leaves) state <= GONE;
      else if (is_filled) state <= FILLED;
      if (is_filled && pops) left_since <= left_since + 1'b1;
      if (fills) taken[fill_place_o] <= 0;
      if (misses) begin
        taken[acc_place_i] <= 1;
        place_of[acc_line_i] <= acc_place_i;
      end
      in_use <= in_use + misses - (pops && pop_last_o);
    end

  logic started = 0;
  always_ff @(posedge clk_i) started <= 1;
  always_comb begin
    assume (rst_ni == started);
    if (acc_op_i == 2'd2) assume (!acc_open_o && !acc_full_o);
    if (misses) assume (!taken[acc_place_i] || fills && fill_place_o == acc_place_i);
    if (is_followed_i) assume (state == NOT_YET);
    if (rst_ni) begin
      once : assert (!(pop_valid_o && pop_slot_o[0]) || is_filled);
      if (leaves) filled : assert (pop_line_o == line && pop_place_o == place && pop_lanes_o == 32'(lanes));
      if (acc_line_i == line && state == PENDING && !is_filled) tracked_before : assert (acc_open_o || acc_full_o);
      if (acc_line_i == line && is_filled && !leaves) tracked_behind : assert (acc_draining_o);
      if (is_filled) in_time : assert (pop_valid_o && left_since < ENTRIES * MERGES);
      if (state == FILLED && fills) unread : assert (fill_place_o != place);
      room : assert (in_use <= ENTRIES);
    end
  end
endmodule
