// SPDX-License-Identifier: MIT OR Apache-2.0
// # Coalescer
// Splits one warp memory instruction into line requests, one per cycle. The lowest waiting lane selects the
// line, and all other waiting lanes that access this line join the request. The module implements l1.lookups
// = 1. With more lookups, a load would send several requests per cycle.
//
// The ports act in the order of their numbers within one cycle. Each port is used at most once per cycle and
// sees the results of the ports before it:
//
// | port     | contract                                                                                                     |
// |----------|--------------------------------------------------------------------------------------------------------------|
// | 1 `emit` | the next line request, while lanes wait; it leaves if `emit_ready_i`                                         |
// | 2 `take` | an instruction with at least one lane, accepted if `take_ready_o`: no lane of the previous instruction waits |
//
// Latency: an instruction accepted in one cycle emits its first request in the next.
//
// If two lanes of one store write the same byte, the higher lane wins. If several lanes of an atomic access
// the same word, only the lowest of them joins the request; the others wait. A compare-and-swap has two
// operands per lane. Each request of a compare-and-swap serves lanes of one half of the line, and carries
// their comparison values in the other half. For constants, lanes that access the same 4-byte or 8-byte word
// join one request.
//
// `emit_sectors_o` is valid for loads with BY_SECTOR, `emit_function_o` and `emit_type_o` for atomics and
// reductions.
// Kinds: 0 load, 1 store, 2 atomic, 3 reduction. Space 2 is constant memory; function 7 is compare-and-swap.
// `take_data_i` and `take_compare_i` hold the low words of all lanes, then the high words, with lane 0 in the
// lowest bits.
module ws_l1_coalescer #(
    parameter int LINE_BITS = 25,
    parameter int LINE_LOG2 = 7,
    parameter bit BY_SECTOR = 0,
    localparam int LANES = 32,
    localparam int ADDR_BITS = LINE_BITS + LINE_LOG2,
    localparam int LINE_BYTES = 1 << LINE_LOG2
) (
    input  logic                       clk_i,
    input  logic                       rst_ni,

    input  logic                       emit_ready_i,
    output logic                       emit_valid_o,
    output logic [1:0]                 emit_kind_o,
    output logic [1:0]                 emit_space_o,
    output logic                       emit_uncached_o,
    output logic [31:0]                emit_id_o,
    output logic [5:0]                 emit_warp_o,
    output logic [5:0]                 emit_slot_o,
    output logic [LINE_BITS-1:0]       emit_line_o,
    output logic [LANES-1:0]           emit_lanes_o,
    output logic [3:0]                 emit_sectors_o,
    output logic [3:0]                 emit_function_o,
    output logic [3:0]                 emit_type_o,
    output logic [LINE_BYTES-1:0]      emit_byte_mask_o,
    output logic [8*LINE_BYTES-1:0]    emit_data_o,

    output logic                       take_ready_o,
    input  logic                       take_valid_i,
    input  logic [1:0]                 take_kind_i,
    input  logic [1:0]                 take_space_i,
    input  logic                       take_uncached_i,
    input  logic [5:0]                 take_warp_i,
    input  logic [5:0]                 take_slot_i,
    input  logic [1:0]                 take_size_log2_i,
    input  logic [LANES-1:0]           take_mask_i,
    input  logic [3:0]                 take_function_i,
    input  logic [3:0]                 take_type_i,
    input  logic [LANES*ADDR_BITS-1:0] take_address_i,
    input  logic [64*LANES-1:0]        take_data_i,
    input  logic [64*LANES-1:0]        take_compare_i
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (LINE_LOG2 < 6 || LINE_LOG2 > 7) begin : g_refuse_line_log2
    $error("LINE_LOG2 is %0d, expected 6 or 7", LINE_LOG2);
  end
  if (LINE_BITS < 1) begin : g_refuse_line_bits
    $error("LINE_BITS is %0d, expected 1 or more", LINE_BITS);
  end
`endif

  localparam logic [1:0] LOAD = 0, CONST = 2;
  localparam logic [3:0] SWAP = 7;
  // Number of 8-byte words in a line, and width of a word index.
  localparam int WORDS = LINE_BYTES / 8, WORD_BITS = LINE_LOG2 - 3;

  logic [1:0]           kind_q, space_q, size_log2_q;
  logic                 uncached_q;
  logic [5:0]           warp_q, slot_q;
  logic [LANES-1:0]     waiting_q;
  logic [31:0]          next_id_q;
  logic [ADDR_BITS-1:0] address_q [LANES];
  logic [31:0]          data_q    [2*LANES];
  logic [3:0]           function_q, type_q;
  logic [31:0]          compare_q [2*LANES];

  // Step 1, port `emit`: selects the first waiting lane, and the lanes that join its request.
  wire is_atomic = kind_q[1];
  wire swaps = is_atomic && function_q == SWAP;
  logic [ADDR_BITS-1:0] first, differs [LANES];
  logic [LANES-1:0]     joins, lanes;
  for (genvar l = 0; l < LANES; l++) begin : g_differs
    assign differs[l] = address_q[l] ^ first;
  end
  always_comb begin
    first = '0;
    for (int l = LANES - 1; l >= 0; l--) if (waiting_q[l]) first = address_q[l];
    for (int l = 0; l < LANES; l++)
      if (space_q == CONST && !is_atomic) joins[l] = waiting_q[l] && differs[l][ADDR_BITS-1:2] == 0;
      else joins[l] = waiting_q[l] && differs[l][ADDR_BITS-1:LINE_LOG2] == 0 && !(swaps && differs[l][LINE_LOG2-1]);
    if (is_atomic)
      for (int l = 1; l < LANES; l++)
        for (int j = 0; j < l; j++)
          if (waiting_q[j] && address_q[j][LINE_LOG2-1:0] == address_q[l][LINE_LOG2-1:0] && joins[j]) joins[l] = 0;
    lanes = joins;
  end

  // Merges the bytes that the lanes store to the line. Each lane stores to one 8-byte word of the line: it
  // supplies the index of the word, byte enables and byte values.
  function automatic [63:0] repeated(input [63:0] value, input [1:0] log2);
    case (log2)
      2'd0: repeated = {8{value[7:0]}};
      2'd1: repeated = {4{value[15:0]}};
      2'd2: repeated = {2{value[31:0]}};
      default: repeated = value;
    endcase
  endfunction
  logic [WORD_BITS-1:0] at       [LANES];
  logic [7:0]           enable   [LANES];
  logic [63:0]          bits     [LANES], operand [LANES], compared [LANES];
  wire  [LANES-1:0]     stores = kind_q == LOAD ? '0 : lanes;
  for (genvar l = 0; l < LANES; l++) begin : g_bytes
    assign at[l] = address_q[l][LINE_LOG2-1:3];
    assign enable[l] = ((8'd1 << (4'd1 << size_log2_q)) - 8'd1) << address_q[l][2:0];
    for (genvar b = 0; b < 8; b++) begin : g_byte
      assign bits[l][b*8+:8] = {8{enable[l][b]}};
    end
    assign operand[l] = repeated({data_q[LANES+l], data_q[l]}, size_log2_q) & bits[l];
    assign compared[l] = repeated({compare_q[LANES+l], compare_q[l]}, size_log2_q) & bits[l];
  end
  for (genvar w = 0; w < WORDS; w++) begin : g_word
    logic [7:0]  enabled;
    logic [63:0] word;
    // In a compare-and-swap, the comparison value of a lane is in the half of the line that does not contain
    // the lane's word.
    always_comb begin
      enabled = '0;
      word = '0;
      for (int l = 0; l < LANES; l++) begin
        if (stores[l] && at[l] == WORD_BITS'(w)) begin
          enabled |= enable[l];
          word = word & ~bits[l] | operand[l];
        end
        if (stores[l] && swaps && at[l] == WORD_BITS'(w ^ WORDS / 2)) word = word & ~bits[l] | compared[l];
      end
    end
    assign emit_byte_mask_o[w*8+:8] = enabled;
    assign emit_data_o[w*64+:64] = word;
  end
  always_comb begin
    emit_sectors_o = '0;
    for (int l = 0; l < LANES; l++)
      for (int s = 0; s < LINE_BYTES / 32; s++)
        if (BY_SECTOR && lanes[l] && address_q[l][LINE_LOG2-1:5] == (LINE_LOG2 - 5)'(s)) emit_sectors_o[s] = 1;
  end

  assign emit_valid_o = waiting_q != '0;
  assign {emit_kind_o, emit_space_o, emit_uncached_o, emit_id_o} = {kind_q, space_q, uncached_q, next_id_q};
  assign {emit_warp_o, emit_slot_o, emit_function_o, emit_type_o} = {warp_q, slot_q, function_q, type_q};
  assign emit_line_o = first[ADDR_BITS-1:LINE_LOG2];
  assign emit_lanes_o = lanes;
  wire emits = emit_valid_o && emit_ready_i;
  wire [LANES-1:0] waiting_1 = emits ? waiting_q & ~lanes : waiting_q;

  // Step 2, port `take`: accepts an instruction. Loads do not overwrite the data registers. Only atomics and
  // reductions overwrite the function, the type and the comparison values.
  assign take_ready_o = waiting_1 == '0;
  wire takes = take_valid_i && take_ready_o;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      waiting_q <= '0;
      next_id_q <= '0;
      {function_q, type_q} <= {4'd0, 4'd2};
    end else begin
      waiting_q <= takes ? take_mask_i : waiting_1;
      next_id_q <= next_id_q + 32'(emits);
      if (takes && take_kind_i[1]) {function_q, type_q} <= {take_function_i, take_type_i};
    end
  always_ff @(posedge clk_i)
    if (takes) {kind_q, space_q, uncached_q, warp_q, slot_q, size_log2_q} <= {take_kind_i, take_space_i, take_uncached_i, take_warp_i, take_slot_i, take_size_log2_i};
  for (genvar l = 0; l < LANES; l++) begin : g_lane
    always_ff @(posedge clk_i) if (takes) address_q[l] <= take_address_i[l*ADDR_BITS+:ADDR_BITS];
  end
  for (genvar w = 0; w < 2 * LANES; w++) begin : g_operand
    always_ff @(posedge clk_i) begin
      if (takes && take_kind_i != LOAD) data_q[w] <= take_data_i[w*32+:32];
      if (takes && take_kind_i[1]) compare_q[w] <= take_compare_i[w*32+:32];
    end
  end
endmodule
