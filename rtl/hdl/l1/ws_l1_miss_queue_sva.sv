// SPDX-License-Identifier: MIT OR Apache-2.0
// # Assertions of the miss queue
// Checks the contract in the header of `ws_l1_miss_queue` at its ports. What the caller guarantees is
// assumed, and what the module guarantees is asserted.
//
// | property         | what holds                                                           |
// |------------------|----------------------------------------------------------------------|
// | `pop_has_head`   | assumed: only a queue with an oldest entry is popped                 |
// | `push_has_room`  | assumed: there is room for every entry that is pushed                |
// | `level_counted`  | `level_q` is the number of entries pushed minus entries popped       |
// | `pop_makes_room` | a popped entry makes room in the same cycle                          |
// | `push_is_head`   | an entry pushed into an empty queue is at the head in the next cycle |
// | `head_stable`    | the head is the same in the next cycle, unless it is popped          |
// | `search_queued`  | a search finds nothing in an empty queue                             |
// | `free_is_empty`  | the head of an empty queue is the value of a free slot               |
`ifdef YOSYS  // Yosys reads no concurrent assertions.
`define WS_ASSERT(NAME, PROPERTY) always_comb if (rst_ni) NAME : assert (PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) always_comb if (rst_ni) NAME : assume (PROPERTY);
`else
`define WS_ASSERT(NAME, PROPERTY) NAME : assert property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) NAME : assume property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`endif
module ws_l1_miss_queue_sva #(
    parameter int DEPTH = 8,
    parameter int LINE_BITS = 25,
    parameter int LINE_BYTES = 128,
    parameter int TICKET_BITS = 48,
    localparam int L_BITS = $clog2(DEPTH + 1),
    localparam int BITS = TICKET_BITS + 8 + 9 * LINE_BYTES + LINE_BITS + 32 + 3
) (
    input logic              clk_i,
    input logic              rst_ni,
    input logic              holds_write_o,
    input logic              pop_i,
    input logic              head_valid_o,
    input logic [BITS-1:0]   head_o,
    input logic [L_BITS-1:0] room_o,
    input logic              push_i,
    input logic              push_second_i,
    input logic [BITS-1:0]   first_i,

    input logic [L_BITS-1:0] level_q
);
  wire [31:0] num_pushed = push_i ? 32'd1 + 32'(push_second_i) : 32'd0;

  // Number of entries as seen at the ports, and the head expected in the next cycle.
  logic [31:0]     count;
  logic            was_first, had_head;
  logic [BITS-1:0] first, head;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      count <= '0;
      {was_first, had_head} <= '0;
      {first, head} <= '0;
    end else begin
      count <= count + num_pushed - 32'(pop_i);
      was_first <= push_i && count == 32'(pop_i);
      first <= first_i;
      had_head <= head_valid_o && !pop_i;
      head <= head_o;
    end

  // `disable iff` reads the asynchronous reset at a clock edge, of which Verilator warns.
  // verilator lint_off SYNCASYNCNET
  `WS_ASSUME(pop_has_head, !pop_i || head_valid_o)
  `WS_ASSUME(push_has_room, num_pushed <= 32'(room_o))
  `WS_ASSERT(level_counted, 32'(level_q) == count)
  `WS_ASSERT(pop_makes_room, !pop_i || room_o != '0)
  `WS_ASSERT(push_is_head, !was_first || head_valid_o && head_o == first)
  `WS_ASSERT(head_stable, !had_head || head_valid_o && head_o == head)
  `WS_ASSERT(search_queued, head_valid_o || !holds_write_o)
  `WS_ASSERT(free_is_empty, head_valid_o || head_o == BITS'(2) << 9 * LINE_BYTES)
  // verilator lint_on SYNCASYNCNET
endmodule
bind ws_l1_miss_queue ws_l1_miss_queue_sva #(
    .DEPTH(DEPTH), .LINE_BITS(LINE_BITS), .LINE_BYTES(LINE_BYTES), .TICKET_BITS(TICKET_BITS)
) i_sva (.*);
`undef WS_ASSERT
`undef WS_ASSUME
