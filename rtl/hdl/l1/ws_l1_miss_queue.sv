// SPDX-License-Identifier: MIT OR Apache-2.0
// # Miss queue
// Holds the requests of all caches of the LSU to memory, in order: line reads, stores, writebacks of local
// lines, atomics and eviction notices. The FIFO order keeps every load behind earlier stores of its SM to the
// same line.
//
// The ports act in the order of their numbers within one cycle. Each port is used at most once per cycle and
// sees the results of the ports before it:
//
// | port       | contract                                                                                           |
// |------------|----------------------------------------------------------------------------------------------------|
// | 1 `search` | true if a store, writeback or atomic to `search_line_i` is in the queue, including the head        |
// | 2 `pop_i`  | removes the oldest entry, which `head_o` shows; only with `head_valid_o`                           |
// | 3 `push_i` | appends `first_i`, and with `push_second_i` also `second_i`; only while there is `room_o` for them |
//
// An entry is {kind, id, line, ticket, function, type, byte_mask, data}, with kind in the highest bits.
// Kinds: 0 read, 1 write, 2 writeback, 3 atomic, 4 reduction, 5 notice. When the head is removed, all entries
// shift: the oldest entry is always in slot 0, and a free slot holds the value EMPTY.
// Latency: an entry pushed into an empty queue is at the head in the next cycle. A popped entry makes room in
// the same cycle.
module ws_l1_miss_queue #(
    parameter int DEPTH = 8,
    parameter int LINE_BITS = 25,
    parameter int LINE_BYTES = 128,
    parameter int TICKET_BITS = 48,
    localparam int L_BITS = $clog2(DEPTH + 1),
    localparam int LINE = TICKET_BITS + 8 + 9 * LINE_BYTES,
    localparam int BITS = LINE + LINE_BITS + 32 + 3
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,

    input  logic [LINE_BITS-1:0] search_line_i,
    output logic                 holds_write_o,

    input  logic                 pop_i,
    output logic                 head_valid_o,
    output logic [BITS-1:0]      head_o,

    output logic [L_BITS-1:0]    room_o,
    input  logic                 push_i,
    input  logic                 push_second_i,
    input  logic [BITS-1:0]      first_i,
    input  logic [BITS-1:0]      second_i
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (DEPTH < 2) begin : g_refuse_depth
    $error("DEPTH is %0d, expected 2 or more", DEPTH);
  end
  if (LINE_BYTES < 1) begin : g_refuse_line_bytes
    $error("LINE_BYTES is %0d, expected 1 or more", LINE_BYTES);
  end
  if (LINE_BITS < 1) begin : g_refuse_line_bits
    $error("LINE_BITS is %0d, expected 1 or more", LINE_BITS);
  end
  if (TICKET_BITS < 1) begin : g_refuse_ticket_bits
    $error("TICKET_BITS is %0d, expected 1 or more", TICKET_BITS);
  end
`endif

  // Value of a free slot: an entry of kind read and type 2 (unsigned 32-bit word), with 0 in all other
  // fields.
  localparam logic [BITS-1:0] EMPTY = BITS'(2) << 9 * LINE_BYTES;
  localparam logic [2:0] READ = 0, NOTICE = 5;

  logic [BITS-1:0]   slot_q [DEPTH];
  logic [L_BITS-1:0] level_q;

  // Step 1, port `search`: compares the line with all entries. A free slot never matches, because its kind is
  // read.
  logic [DEPTH-1:0] writes;
  always_comb
    for (int s = 0; s < DEPTH; s++)
      writes[s] = slot_q[s][BITS-1-:3] != READ && slot_q[s][BITS-1-:3] != NOTICE && slot_q[s][LINE+:LINE_BITS] == search_line_i;
  assign holds_write_o = |writes;

  // Step 2, port `pop_i`: removes the oldest entry.
  assign head_valid_o = level_q != 0;
  assign head_o = slot_q[0];
  wire [L_BITS-1:0] level_2 = level_q - L_BITS'(pop_i);
  assign room_o = L_BITS'(DEPTH) - level_2;

  // Step 3, port `push_i`: appends one or two entries behind the last one.
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) level_q <= '0;
    else level_q <= level_2 + L_BITS'(push_i) + L_BITS'(push_i && push_second_i);

  for (genvar s = 0; s < DEPTH; s++) begin : g_slot
    wire [BITS-1:0] behind;
    if (s + 1 < DEPTH) assign behind = slot_q[s+1];
    else assign behind = EMPTY;
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) slot_q[s] <= EMPTY;
      else if (push_i && level_2 == L_BITS'(s)) slot_q[s] <= first_i;
      else if (push_i && push_second_i && level_2 + 1'b1 == L_BITS'(s)) slot_q[s] <= second_i;
      else if (pop_i) slot_q[s] <= behind;
  end
endmodule
