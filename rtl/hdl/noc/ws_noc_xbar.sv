// SPDX-License-Identifier: MIT OR Apache-2.0
// # Crossbar of one direction
// Transfers packets from INPUTS inputs to OUTPUTS outputs in flits of FLIT_BYTES bytes, one flit per cycle on every
// input and output, as `rtl/noc/xbar.rs` does. Wormhole switching: an output that is granted to an input stays with
// it until the tail of the packet has passed. Requests and replies have separate crossbars (REPLIES).
//
// | port   | contract                                                                                        |
// |--------|-------------------------------------------------------------------------------------------------|
// | `from` | a packet is taken with `valid` and `ready`, in the cycle in which its header arrives            |
// | `to`   | `ready` is read when the output is granted, and stays set until the packet is sent, by `valid`  |
//
// One `valid`, `ready` and packet per input or output, the first in the lowest bits. The fields of a packet, the
// first highest, are those of the link in `ws_l2_bank`. A request goes to output `partition`, a reply to output
// `sm`. There is no packet for an output that does not exist.
//
// Sizes: 8 bytes of control. A reply has 32 bytes per sector in addition. A request that writes has 4 bytes for
// each word that its mask touches, twice as many if it is a compare-and-swap, and an 8-byte mask if the bytes to
// write are not whole sectors.
//
// In one cycle, in this order:
// 1. A packet is taken if the wires of its input are free and its buffer has room for all its flits. It then
//    occupies the wires for as many cycles as it has flits.
// 2. Each output that is free, and whose receiver has room, is granted to an input whose first packet asked for it
//    before this cycle, round robin.
// 3. An output whose tail flit passes sends the packet, which leaves the buffer. The next packet of this input
//    asks for its output from the next cycle on.
//
// Latency: a packet of F flits that is taken in cycle c is sent in c + F or later.
// The buffer of an input stores up to BUFFER_FLITS packets, each as one word, oldest first, where hardware would
// store BUFFER_FLITS flits; unused words are 0. Ends of transfers are counters, because the module has no cycle
// number: `gone_q`, `wires_q` and `left_q`.
// Not covered: fields for a sharing tracker and for eviction priorities.
module ws_noc_xbar #(
    parameter bit REPLIES = 0,
    parameter int INPUTS = 15,
    parameter int OUTPUTS = 6,
    parameter int FLIT_BYTES = 32,
    parameter int BUFFER_FLITS = 8,
    parameter int LINE_BITS = 25,
    parameter int LINE_BYTES = 128,
    parameter int SM_BITS = 4,
    parameter int PARTITION_BITS = 3,
    localparam int WIDTH = LINE_BITS + SM_BITS + 8 * LINE_BYTES + (REPLIES ? 85 : 94 + PARTITION_BITS + LINE_BYTES)
) (
    input  logic                     clk_i,
    input  logic                     rst_ni,

    input  logic [INPUTS-1:0]        from_valid_i,
    output logic [INPUTS-1:0]        from_ready_o,
    input  logic [INPUTS*WIDTH-1:0]  from_packet_i,

    output logic [OUTPUTS-1:0]       to_valid_o,
    input  logic [OUTPUTS-1:0]       to_ready_i,
    output logic [OUTPUTS*WIDTH-1:0] to_packet_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (INPUTS < 1 || INPUTS > 64) begin : g_refuse_inputs
    $error("INPUTS is %0d, expected 1 to 64", INPUTS);
  end
  if (OUTPUTS < 1 || OUTPUTS > 64) begin : g_refuse_outputs
    $error("OUTPUTS is %0d, expected 1 to 64", OUTPUTS);
  end
  if (FLIT_BYTES < 32 || FLIT_BYTES > 256) begin : g_refuse_flit_bytes
    $error("FLIT_BYTES is %0d, expected 32 to 256", FLIT_BYTES);
  end
  if (BUFFER_FLITS < (143 + FLIT_BYTES) / FLIT_BYTES || BUFFER_FLITS > 64) begin : g_refuse_buffer_flits
    $error("BUFFER_FLITS is %0d, expected room for 144 bytes, and at most 64 flits", BUFFER_FLITS);
  end
  if (LINE_BITS < 1) begin : g_refuse_line_bits
    $error("LINE_BITS is %0d, expected 1 or more", LINE_BITS);
  end
  if (LINE_BYTES != 32 && LINE_BYTES != 64 && LINE_BYTES != 128) begin : g_refuse_line_bytes
    $error("LINE_BYTES is %0d, expected 32, 64 or 128", LINE_BYTES);
  end
  if (SM_BITS < 1) begin : g_refuse_sm_bits
    $error("SM_BITS is %0d, expected 1 or more", SM_BITS);
  end
  if (PARTITION_BITS < 1) begin : g_refuse_partition_bits
    $error("PARTITION_BITS is %0d, expected 1 or more", PARTITION_BITS);
  end
`endif

  localparam int I_BITS = INPUTS < 2 ? 1 : $clog2(INPUTS);
  localparam int L_BITS = $clog2(BUFFER_FLITS + 1);
  localparam logic [1:0] READ = 0;
  localparam logic [3:0] SWAP = 7;
  // Lowest bits of the fields of a packet below the kind: byte mask and function of a request, sectors of a reply, and the
  // number of the output. The fields of the other kind of packet are not used.
  localparam int MASK = REPLIES ? 0 : 8 * LINE_BYTES;
  localparam int FUNCTION = REPLIES ? 0 : 9 * LINE_BYTES + 8;
  localparam int SECTORS = 8 * LINE_BYTES;
  localparam int TO = REPLIES ? 52 + 8 * LINE_BYTES : 60 + 9 * LINE_BYTES;
  localparam int TO_BITS = REPLIES ? SM_BITS : PARTITION_BITS;

  // Number of flits of a packet.
  function automatic [2:0] flits_of(input [WIDTH-1:0] packet);
    logic [9:0] bytes;
    logic is_whole;
    bytes = '0;
    is_whole = 1;
    if (REPLIES) begin
      for (int s = 0; s < 4; s++) if (packet[SECTORS+s]) bytes = bytes + 10'd32;
      if (packet[WIDTH-1]) bytes = '0;
    end else begin
      for (int w = 0; w < LINE_BYTES / 4; w++) if (packet[MASK+4*w+:4] != 0) bytes = bytes + 10'd4;
      for (int s = 0; s < LINE_BYTES / 32; s++)
        if (packet[MASK+32*s+:32] != 0 && packet[MASK+32*s+:32] != '1) is_whole = 0;
      if (packet[WIDTH-1] && packet[FUNCTION+:4] == SWAP) bytes = bytes << 1;
      if (!is_whole) bytes = bytes + 10'd8;
      if (packet[WIDTH-2+:2] == READ) bytes = '0;
    end
    flits_of = 3'((bytes + 10'(7 + FLIT_BYTES)) / 10'(FLIT_BYTES));
  endfunction

  // Inputs. `takes` and `pops` are steps 1 and 3, and `asks` is the output that the first packet asks for after
  // this cycle, if it has not asked before.
  wire [INPUTS-1:0]         takes, pops, grants, asks;
  wire [INPUTS*WIDTH-1:0]   heads;
  wire [INPUTS*3-1:0]       head_flits;
  wire [INPUTS*TO_BITS-1:0] asked;
  for (genvar i = 0; i < INPUTS; i++) begin : from
    if (1) begin : unit
      localparam int N = BUFFER_FLITS;
      // Flits that are reserved for the packets in the buffer, number of these packets, number of flits of the
      // first one that have left, and number of cycles until the wires are free.
      logic [L_BITS-1:0] level_q, packets_q;
      logic              leaving_q;
      logic [2:0]        gone_q, wires_q;
      logic [WIDTH-1:0]  slot_q [N];
      wire  [WIDTH-1:0]  packet = from_packet_i[i*WIDTH+:WIDTH];
      wire  [WIDTH-1:0]  head = slot_q[0];
      wire  [2:0]        flits = flits_of(packet);
      wire  [2:0]        own = flits_of(head);
      wire               fits = 32'(level_q) + 32'(flits) <= N + 32'(gone_q);
      assign from_ready_o[i] = wires_q == 0 && fits;
      assign takes[i] = from_valid_i[i] && from_ready_o[i];
      assign heads[i*WIDTH+:WIDTH] = head;
      assign head_flits[i*3+:3] = own;
      wire [L_BITS-1:0] packets_1 = packets_q - L_BITS'(pops[i]);
      wire is_next = pops[i] && packets_q > 1;
      assign asks[i] = is_next || takes[i] && packets_1 == 0;
      assign asked[i*TO_BITS+:TO_BITS] = is_next ? slot_q[1][TO+:TO_BITS] : packet[TO+:TO_BITS];

      always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) {level_q, packets_q, leaving_q, gone_q, wires_q} <= '0;
        else begin
          level_q <= level_q + (takes[i] ? L_BITS'(flits) : '0) - (pops[i] ? L_BITS'(own) : '0);
          packets_q <= packets_1 + L_BITS'(takes[i]);
          leaving_q <= (leaving_q || grants[i]) && !pops[i];
          gone_q <= pops[i] ? '0 : gone_q + 3'(leaving_q || grants[i]);
          wires_q <= takes[i] ? flits - 1'b1 : wires_q - 3'(wires_q != 0);
        end
      for (genvar s = 0; s < N; s++) begin : g_slot
        wire [WIDTH-1:0] behind;
        if (s + 1 < N) assign behind = slot_q[s+1];
        else assign behind = '0;
        always_ff @(posedge clk_i or negedge rst_ni)
          if (!rst_ni) slot_q[s] <= '0;
          else if (takes[i] && packets_1 == L_BITS'(s)) slot_q[s] <= packet;
          else if (pops[i]) slot_q[s] <= behind;
      end
    end
  end

  // Outputs. `requests_q` has the inputs whose first packet asks for an output, and `input_q` the input to which
  // the output was granted last.
  logic [OUTPUTS-1:0] busy_q;
  logic [INPUTS-1:0]  requests_q [OUTPUTS];
  logic [I_BITS-1:0]  input_q    [OUTPUTS];
  logic [2:0]         left_q     [OUTPUTS];
  if (1) begin : arbiter
    // Input with the highest priority.
    logic [I_BITS-1:0] next_q [OUTPUTS];
    wire [OUTPUTS*I_BITS-1:0] next;
    for (genvar o = 0; o < OUTPUTS; o++) begin : g_next
      assign next[o*I_BITS+:I_BITS] = next_q[o];
    end
  end
  wire [OUTPUTS*INPUTS-1:0] granted, sent;
  for (genvar o = 0; o < OUTPUTS; o++) begin : g_output
    wire [INPUTS-1:0] behind = requests_q[o] & {INPUTS{1'b1}} << arbiter.next[o*I_BITS+:I_BITS];
    wire [INPUTS-1:0] among = behind == 0 ? requests_q[o] : behind;
    wire              is_free = !busy_q[o] && to_ready_i[o];
    wire [INPUTS-1:0] grant = is_free ? among & ~(among - 1'b1) : '0;
    wire              starts = grant != 0;
    logic [I_BITS-1:0] number;
    logic [2:0]        flits;
    logic [WIDTH-1:0]  packet;
    always_comb begin
      number = '0;
      flits = '0;
      for (int i = 0; i < INPUTS; i++)
        if (grant[i]) begin
          number |= I_BITS'(i);
          flits |= head_flits[i*3+:3];
        end
    end
    wire [I_BITS-1:0] sender = busy_q[o] ? input_q[o] : number;
    wire              ends = busy_q[o] ? left_q[o] == 0 : starts && flits == 3'd1;
    always_comb begin
      packet = '0;
      for (int i = 0; i < INPUTS; i++) if (sender == I_BITS'(i)) packet = heads[i*WIDTH+:WIDTH];
    end
    assign granted[o*INPUTS+:INPUTS] = grant;
    assign sent[o*INPUTS+:INPUTS] = ends ? INPUTS'(1) << sender : '0;
    assign to_valid_o[o] = ends;
    assign to_packet_o[o*WIDTH+:WIDTH] = packet;

    wire [INPUTS-1:0] new_requests;
    for (genvar i = 0; i < INPUTS; i++) begin : g_asks
      assign new_requests[i] = asks[i] && 32'(asked[i*TO_BITS+:TO_BITS]) == o;
    end
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) begin
        busy_q[o] <= 0;
        requests_q[o] <= '0;
        {input_q[o], left_q[o], arbiter.next_q[o]} <= '0;
      end else begin
        busy_q[o] <= (busy_q[o] || starts) && !ends;
        requests_q[o] <= requests_q[o] & ~grant | new_requests;
        if (starts) begin
          input_q[o] <= number;
          arbiter.next_q[o] <= 32'(number) == INPUTS - 1 ? '0 : number + 1'b1;
        end
        if (starts) left_q[o] <= flits - 3'd2;
        else if (busy_q[o]) left_q[o] <= left_q[o] - 1'b1;
      end
  end
  for (genvar i = 0; i < INPUTS; i++) begin : g_input
    wire [OUTPUTS-1:0] grant, pop;
    for (genvar o = 0; o < OUTPUTS; o++) begin : g_of
      assign grant[o] = granted[o*INPUTS+i];
      assign pop[o] = sent[o*INPUTS+i];
    end
    assign grants[i] = grant != 0;
    assign pops[i] = pop != 0;
  end
endmodule
