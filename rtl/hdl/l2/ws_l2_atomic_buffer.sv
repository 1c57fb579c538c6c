// SPDX-License-Identifier: MIT OR Apache-2.0
// # Atomic buffer
// Holds the only valid copy of the line that the last atomic accessed (anssari2012 section 3.4). The atomic
// unit works on the buffer and leaves the data memory free for other accesses. The line is identified by its
// set and way in the bank.
//
// The ports act in the order of their numbers within one cycle. The second port sees the result of the first:
//
// | port     | contract                                                                                                            |
// |----------|---------------------------------------------------------------------------------------------------------------------|
// | 1 `op_i` | one operation per cycle, on the line at `op_set_i` and `op_way_i`                                                   |
// | 2 `fill` | a burst from memory for the line at a set and way; with `is_filled_o` it goes to the buffer, not to the data memory |
//
// - access (1): an atomic (`op_atomic_i`) or another access. It is acknowledged (`op_acked_i`), or its line
//   is returned in a reply, which needs `has_room_i`. If an atomic is performed, `is_done_o` is set.
//   Otherwise `stall_o` is the reason: PORT (1), the write port of the data memory is busy; REPLY (2), there
//   is no room for a reply; BUFFER (3), the buffered line is written back in this cycle, and the access must
//   retry. For an access that is not atomic and not to the buffered line, `passes_o` is set: the bank serves
//   it as if there were no buffer.
// - leave (2): the line is evicted. If `is_here_o` is set, the evicted data are `held_o`, not those in the
//   data memory.
// - take back (3): the line is evicted from the data memory. If the line is in the buffer, it is first
//   written back to the data memory, unless `stall_o` is PORT.
// - end (4): a kernel ends, and the buffered line is written back.
//
// If `back_valid_o` is set, the line `held_o` is written to `back_set_o` and `back_way_o` of the data memory.
// `memory_i` is the line of `op_i` in the data memory. An atomic that is performed (`is_done_o`) reads and
// returns `old_line_o`, and writes `new_line_i`; the atomic unit computes `new_line_i` from `old_line_o`. A
// fill writes the bytes selected by `fill_mask_i`.
// Latency: none.
module ws_l2_atomic_buffer #(
    parameter int SETS = 64,
    parameter int WAYS = 16,
    parameter int LINE_BYTES = 128,
    localparam int S_BITS = SETS < 2 ? 1 : $clog2(SETS),
    localparam int W_BITS = WAYS < 2 ? 1 : $clog2(WAYS),
    localparam int LINE = LINE_BYTES * 8
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,

    input  logic [2:0]            op_i,
    input  logic [S_BITS-1:0]     op_set_i,
    input  logic [W_BITS-1:0]     op_way_i,
    input  logic                  op_atomic_i,
    input  logic                  op_acked_i,
    input  logic                  can_write_i,
    input  logic                  has_room_i,
    output logic                  is_here_o,
    output logic                  passes_o,
    output logic                  is_done_o,
    output logic [1:0]            stall_o,
    input  logic [LINE-1:0]       memory_i,
    output logic [LINE-1:0]       old_line_o,
    input  logic [LINE-1:0]       new_line_i,
    output logic                  back_valid_o,
    output logic [S_BITS-1:0]     back_set_o,
    output logic [W_BITS-1:0]     back_way_o,
    output logic [LINE-1:0]       held_o,

    input  logic                  fill_valid_i,
    input  logic [S_BITS-1:0]     fill_set_i,
    input  logic [W_BITS-1:0]     fill_way_i,
    input  logic [LINE_BYTES-1:0] fill_mask_i,
    input  logic [LINE-1:0]       fill_line_i,
    output logic                  is_filled_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (SETS < 1) begin : g_refuse_sets
    $error("SETS is %0d, expected 1 or more", SETS);
  end
  if (WAYS < 1) begin : g_refuse_ways
    $error("WAYS is %0d, expected 1 or more", WAYS);
  end
  if (LINE_BYTES < 1) begin : g_refuse_line_bytes
    $error("LINE_BYTES is %0d, expected 1 or more", LINE_BYTES);
  end
`endif

  localparam logic [2:0] ACCESS = 1, LEAVE = 2, TAKE_BACK = 3, END = 4;
  localparam logic [1:0] NONE = 0, PORT = 1, REPLY = 2, BUFFER = 3;

  logic              valid_q;
  logic [S_BITS-1:0] set_q;
  logic [W_BITS-1:0] way_q;
  logic [LINE-1:0]   data_q;

  // Step 1, port `op_i`: the operation on the buffered line or on the data memory.
  assign is_here_o = valid_q && set_q == op_set_i && way_q == op_way_i;
  wire atomic = op_i == ACCESS && op_atomic_i;
  assign passes_o = op_i == ACCESS && !op_atomic_i && !is_here_o;
  assign is_done_o = atomic && stall_o == NONE;
  always_comb begin
    stall_o = NONE;
    if (atomic) begin
      if (valid_q && !is_here_o && !can_write_i) stall_o = PORT;
      else if (!op_acked_i && !has_room_i) stall_o = REPLY;
    end else if (op_i == ACCESS && is_here_o) stall_o = can_write_i ? BUFFER : PORT;
    else if (op_i == TAKE_BACK && is_here_o && !can_write_i) stall_o = PORT;
  end
  wire comes = is_done_o && !is_here_o;
  assign back_valid_o = comes && valid_q || stall_o == BUFFER || op_i == TAKE_BACK && is_here_o && can_write_i || op_i == END && valid_q;
  assign {back_set_o, back_way_o, held_o} = {set_q, way_q, data_q};
  assign old_line_o = is_here_o ? data_q : memory_i;

  wire              valid_1 = is_done_o || valid_q && !back_valid_o && !(op_i == LEAVE && is_here_o);
  wire [S_BITS-1:0] set_1 = comes ? op_set_i : set_q;
  wire [W_BITS-1:0] way_1 = comes ? op_way_i : way_q;

  // Step 2, port `fill`: a burst from memory updates the buffer if the buffer holds the line of the burst.
  assign is_filled_o = fill_valid_i && valid_1 && set_1 == fill_set_i && way_1 == fill_way_i;
  for (genvar b = 0; b < LINE_BYTES; b++) begin : g_byte
    always_ff @(posedge clk_i)
      if (is_filled_o && fill_mask_i[b]) data_q[b*8+:8] <= fill_line_i[b*8+:8];
      else if (is_done_o) data_q[b*8+:8] <= new_line_i[b*8+:8];
  end
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) valid_q <= 0;
    else valid_q <= valid_1;
  always_ff @(posedge clk_i) {set_q, way_q} <= {set_1, way_1};
endmodule
