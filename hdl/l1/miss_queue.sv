// # Miss queue
// Holds the requests of all caches of the LSU to memory, in order: line reads, stores, writebacks of local
// lines, atomics and eviction notices. FIFO order keeps a load behind the SM's own earlier store to the same
// line.
//
// In one cycle, in this order; each port is used at most once, and sees the results of those before it:
//
// | port       | contract                                                                                   |
// |------------|--------------------------------------------------------------------------------------------|
// | 1 `search` | true if a store, writeback or atomic to `search_line` is in the queue, including the head  |
// | 2 `pop`    | removes the oldest entry, which `head` shows; only with `head_valid`                       |
// | 3 `push`   | appends `first`, and with `push_second` also `second`; only while there is `room` for them |
//
// An entry is {kind, id, line, ticket, function, type, byte_mask, data}, with kind in the highest bits.
// Kinds: 0 read, 1 write, 2 writeback, 3 atomic, 4 reduction, 5 notice. Entries shift when the head leaves:
// the oldest is always in slot 0, and a free slot holds EMPTY.
// Latency: an entry pushed into an empty queue is at the head in the next cycle. A popped entry makes room in
// the same cycle.
module miss_queue #(
    parameter int DEPTH = 8,
    parameter int LINE_BITS = 25,
    parameter int LINE_BYTES = 128,
    parameter int TICKET_BITS = 48,
    localparam int L_BITS = $clog2(DEPTH + 1),
    localparam int LINE = TICKET_BITS + 8 + 9 * LINE_BYTES,
    localparam int BITS = LINE + LINE_BITS + 32 + 3
) (
    input  logic                 clk,
    input  logic                 rst,

    input  logic [LINE_BITS-1:0] search_line,
    output logic                 holds_write,

    input  logic                 pop,
    output logic                 head_valid,
    output logic [BITS-1:0]      head,

    output logic [L_BITS-1:0]    room,
    input  logic                 push,
    input  logic                 push_second,
    input  logic [BITS-1:0]      first,
    input  logic [BITS-1:0]      second
);
  // Value of a free slot: an entry of kind read and type 2 (unsigned 32-bit word), otherwise 0.
  localparam logic [BITS-1:0] EMPTY = BITS'(2) << 9 * LINE_BYTES;
  localparam logic [2:0] READ = 0, NOTICE = 5;

  logic [BITS-1:0]   slot [DEPTH];
  logic [L_BITS-1:0] level;

  // 1: search. A free slot never matches, because it has kind read.
  logic [DEPTH-1:0] writes;
  always_comb
    for (int s = 0; s < DEPTH; s++)
      writes[s] = slot[s][BITS-1-:3] != READ && slot[s][BITS-1-:3] != NOTICE && slot[s][LINE+:LINE_BITS] == search_line;
  assign holds_write = |writes;

  // 2: pop.
  assign head_valid = level != 0;
  assign head = slot[0];
  wire [L_BITS-1:0] level_2 = level - L_BITS'(pop);
  assign room = L_BITS'(DEPTH) - level_2;

  // 3: push.
  always_ff @(posedge clk)
    if (rst) level <= '0;
    else level <= level_2 + L_BITS'(push) + L_BITS'(push && push_second);

  for (genvar s = 0; s < DEPTH; s++) begin : g_slot
    wire [BITS-1:0] behind;
    if (s + 1 < DEPTH) assign behind = slot[s+1];
    else assign behind = EMPTY;
    always_ff @(posedge clk)
      if (rst) slot[s] <= EMPTY;
      else if (push && level_2 == L_BITS'(s)) slot[s] <= first;
      else if (push && push_second && level_2 + 1'b1 == L_BITS'(s)) slot[s] <= second;
      else if (pop) slot[s] <= behind;
  end
endmodule
