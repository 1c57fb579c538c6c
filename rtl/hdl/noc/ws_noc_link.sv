// SPDX-License-Identifier: MIT OR Apache-2.0
// # Registered link
// Carries words from one block to another, as `rtl/kernel/chan.rs` does between blocks that have the same clock.
// A word is visible to the receiver LATENCY cycles after it was sent. A slot that the receiver frees counts as
// free for the sender CREDIT cycles later. Both ends therefore depend on registers only.
//
// | port   | contract                                                              |
// |--------|-----------------------------------------------------------------------|
// | `from` | a word is sent in a cycle in which `valid` and `ready` are set        |
// | `to`   | the oldest visible word; it is taken in a cycle with `valid` and `ready` |
//
// Rate: one word per cycle if DEPTH is LATENCY + CREDIT or more.
// Words are stored in a ring of DEPTH slots, a `ws_cells_ram` of which one read and one write port are used.
// Not covered: ends with different clocks.
module ws_noc_link #(
    parameter int WIDTH = 1276,
    parameter int DEPTH = 66,
    parameter int LATENCY = 60,
    parameter int CREDIT = 4
) (
    input  logic             clk_i,
    input  logic             rst_ni,

    input  logic             from_valid_i,
    output logic             from_ready_o,
    input  logic [WIDTH-1:0] from_word_i,

    output logic             to_valid_o,
    input  logic             to_ready_i,
    output logic [WIDTH-1:0] to_word_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (WIDTH < 1) begin : g_refuse_width
    $error("WIDTH is %0d, expected 1 or more", WIDTH);
  end
  if (DEPTH < 2) begin : g_refuse_depth
    $error("DEPTH is %0d, expected 2 or more", DEPTH);
  end
  if (LATENCY < 1) begin : g_refuse_latency
    $error("LATENCY is %0d, expected 1 or more", LATENCY);
  end
  if (CREDIT < 1) begin : g_refuse_credit
    $error("CREDIT is %0d, expected 1 or more", CREDIT);
  end
`endif

  localparam int BITS = WIDTH < 1 ? 1 : WIDTH;
  localparam int BYTES = (BITS + 7) / 8;
  localparam int A_BITS = $clog2(DEPTH);
  localparam int C_BITS = $clog2(DEPTH + 1);

  // Next slot to fill and next slot to free, number of slots that the sender counts as free, and number of words
  // that the receiver sees.
  logic [A_BITS-1:0] tail_q, head_q;
  logic [C_BITS-1:0] room_q, seen_q;
  wire               pushes = from_valid_i && from_ready_o;
  wire               pops = to_valid_o && to_ready_i;
  logic              arrives, returns;
  assign from_ready_o = room_q != 0;
  assign to_valid_o = seen_q != 0;

  function automatic [A_BITS-1:0] slot_after(input [A_BITS-1:0] slot);
    slot_after = slot == A_BITS'(DEPTH - 1) ? '0 : slot + 1'b1;
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      {tail_q, head_q, seen_q} <= '0;
      room_q <= C_BITS'(DEPTH);
    end else begin
      if (pushes) tail_q <= slot_after(tail_q);
      if (pops) head_q <= slot_after(head_q);
      room_q <= room_q - C_BITS'(pushes) + C_BITS'(returns);
      seen_q <= seen_q - C_BITS'(pops) + C_BITS'(arrives);
    end

  // Words and credits in flight. The lowest bit is the word or credit that was sent last.
  if (LATENCY < 2) begin : g_word_at_once
    assign arrives = pushes;
  end else begin : words
    logic [LATENCY-2:0] coming_q;
    assign arrives = coming_q[LATENCY-2];
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) coming_q <= '0;
      else coming_q <= (LATENCY - 1)'({coming_q, pushes});
  end
  if (CREDIT < 2) begin : g_credit_at_once
    assign returns = pops;
  end else begin : credits
    logic [CREDIT-2:0] coming_q;
    assign returns = coming_q[CREDIT-2];
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) coming_q <= '0;
      else coming_q <= (CREDIT - 1)'({coming_q, pops});
  end

  logic [8*BYTES-1:0] head_word, unused_word;
  assign to_word_o = head_word[BITS-1:0];
  ws_cells_ram #(
      .WORDS(DEPTH), .BYTES(BYTES)
  ) data (
      .clk_i, .read_address_i({A_BITS'(0), head_q}), .read_data_o({unused_word, head_word}),
      .write_valid_i({1'b0, pushes}), .write_address_i({A_BITS'(0), tail_q}),
      .write_data_i({(8 * BYTES)'(0), (8 * BYTES)'(from_word_i)})
  );
  wire unused = &{1'b0, unused_word, head_word};
endmodule
