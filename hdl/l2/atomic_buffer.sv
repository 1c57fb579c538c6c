// # Atomic buffer
// Holds the line that the last atomic accessed, exclusively (anssari2012 section 3.4). The atomic unit works
// on the buffer and leaves the data memory free for other accesses. The line is identified by its set and way
// in the bank.
//
// In one cycle, in this order; the second port sees the result of the first:
//
// | port     | contract                                                                                                          |
// |----------|-------------------------------------------------------------------------------------------------------------------|
// | 1 `op`   | one operation per cycle, on the line at `op_set` and `op_way`                                                     |
// | 2 `fill` | a burst from memory for the line at a set and way; with `is_filled` it goes to the buffer, not to the data memory |
//
// - access (1): an atomic (`op_atomic`) or another access. It is acknowledged (`op_acked`), or its line is
//   returned in a reply, which needs `has_room`. An atomic that is performed sets `is_done`. Otherwise
//   `stall` has the reason: PORT (1), the write port of the data memory is busy; REPLY (2), no room for a
//   reply; BUFFER (3), the buffered line is written back in this cycle, and the access must retry. An access
//   that is neither atomic nor to the buffered line `passes`: the bank serves it as without a buffer.
// - leave (2): the line is evicted. If it `is_here`, the evicted data are `held`, not those in the data
//   memory.
// - take back (3): the line is evicted from the data memory. If it is in the buffer, it is written back there
//   first, unless `stall` is PORT.
// - end (4): a kernel ends, and the buffered line is written back.
//
// With `back_valid`, the line `held` is written to `back_set` and `back_way` of the data memory. `memory` is
// the line of `op` in the data memory. An atomic that `is_done` reads `old_line`, which it returns, and
// leaves `new_line`; the atomic unit computes one from the other. A fill writes the bytes selected by
// `fill_mask`.
// Latency: none.
module atomic_buffer #(
    parameter int SETS = 64,
    parameter int WAYS = 16,
    parameter int LINE_BYTES = 128,
    localparam int S_BITS = SETS < 2 ? 1 : $clog2(SETS),
    localparam int W_BITS = WAYS < 2 ? 1 : $clog2(WAYS),
    localparam int LINE = LINE_BYTES * 8
) (
    input  logic                  clk,
    input  logic                  rst,

    input  logic [2:0]            op,
    input  logic [S_BITS-1:0]     op_set,
    input  logic [W_BITS-1:0]     op_way,
    input  logic                  op_atomic,
    input  logic                  op_acked,
    input  logic                  can_write,
    input  logic                  has_room,
    output logic                  is_here,
    output logic                  passes,
    output logic                  is_done,
    output logic [1:0]            stall,
    input  logic [LINE-1:0]       memory,
    output logic [LINE-1:0]       old_line,
    input  logic [LINE-1:0]       new_line,
    output logic                  back_valid,
    output logic [S_BITS-1:0]     back_set,
    output logic [W_BITS-1:0]     back_way,
    output logic [LINE-1:0]       held,

    input  logic                  fill_valid,
    input  logic [S_BITS-1:0]     fill_set,
    input  logic [W_BITS-1:0]     fill_way,
    input  logic [LINE_BYTES-1:0] fill_mask,
    input  logic [LINE-1:0]       fill_line,
    output logic                  is_filled
);
  localparam logic [2:0] ACCESS = 1, LEAVE = 2, TAKE_BACK = 3, END = 4;
  localparam logic [1:0] NONE = 0, PORT = 1, REPLY = 2, BUFFER = 3;

  logic              valid;
  logic [S_BITS-1:0] set;
  logic [W_BITS-1:0] way;
  logic [LINE-1:0]   data;

  // 1: the operation.
  assign is_here = valid && set == op_set && way == op_way;
  wire atomic = op == ACCESS && op_atomic;
  assign passes = op == ACCESS && !op_atomic && !is_here;
  assign is_done = atomic && stall == NONE;
  always_comb begin
    stall = NONE;
    if (atomic) begin
      if (valid && !is_here && !can_write) stall = PORT;
      else if (!op_acked && !has_room) stall = REPLY;
    end else if (op == ACCESS && is_here) stall = can_write ? BUFFER : PORT;
    else if (op == TAKE_BACK && is_here && !can_write) stall = PORT;
  end
  wire comes = is_done && !is_here;
  assign back_valid = comes && valid || stall == BUFFER || op == TAKE_BACK && is_here && can_write || op == END && valid;
  assign {back_set, back_way, held} = {set, way, data};
  assign old_line = is_here ? data : memory;

  wire              valid_1 = is_done || valid && !back_valid && !(op == LEAVE && is_here);
  wire [S_BITS-1:0] set_1 = comes ? op_set : set;
  wire [W_BITS-1:0] way_1 = comes ? op_way : way;

  // 2: a burst from memory.
  assign is_filled = fill_valid && valid_1 && set_1 == fill_set && way_1 == fill_way;
  for (genvar b = 0; b < LINE_BYTES; b++) begin : g_byte
    always_ff @(posedge clk)
      if (is_filled && fill_mask[b]) data[b*8+:8] <= fill_line[b*8+:8];
      else if (is_done) data[b*8+:8] <= new_line[b*8+:8];
  end
  always_ff @(posedge clk)
    if (rst) valid <= 0;
    else {valid, set, way} <= {valid_1, set_1, way_1};
endmodule
