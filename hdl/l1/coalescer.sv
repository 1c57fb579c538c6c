// # Coalescer
// Splits one warp memory instruction into line requests, one per cycle. The lowest waiting lane selects the
// line, and all other waiting lanes in that line join. The module implements l1.lookups = 1; with more
// lookups, several requests of a load would leave per cycle.
//
// In one cycle, in this order; each port is used at most once, and the second sees the result of the first:
//
// | port     | contract                                                                                                   |
// |----------|------------------------------------------------------------------------------------------------------------|
// | 1 `emit` | the next line request, while lanes wait; it leaves if `emit_ready`                                         |
// | 2 `take` | an instruction with at least one lane, accepted if `take_ready`: no lane of the previous instruction waits |
//
// Latency: an instruction accepted in one cycle emits its first request in the next.
//
// If two lanes of one store write the same byte, the higher lane wins. No two lanes of an atomic request name
// the same word: the lowest lane joins the request, the others wait. A compare-and-swap has two operands per
// lane. Its request serves lanes of one half of the line, and carries their comparison values in the other
// half. Constants: lanes that name the same 4-byte or 8-byte word join.
//
// `emit_sectors` is valid for loads with BY_SECTOR, `emit_function` and `emit_type` for atomics and
// reductions.
// Kinds: 0 load, 1 store, 2 atomic, 3 reduction. Space 2 is constant memory; function 7 is compare-and-swap.
// `take_data` and `take_compare` hold the low words of all lanes, then the high words, with lane 0 in the
// lowest bits.
module coalescer #(
    parameter int LINE_BITS = 25,
    parameter int LINE_LOG2 = 7,
    parameter bit BY_SECTOR = 0,
    localparam int LANES = 32,
    localparam int ADDR_BITS = LINE_BITS + LINE_LOG2,
    localparam int LINE_BYTES = 1 << LINE_LOG2
) (
    input  logic                       clk,
    input  logic                       rst,

    input  logic                       emit_ready,
    output logic                       emit_valid,
    output logic [1:0]                 emit_kind,
    output logic [1:0]                 emit_space,
    output logic                       emit_uncached,
    output logic [31:0]                emit_id,
    output logic [5:0]                 emit_warp,
    output logic [5:0]                 emit_slot,
    output logic [LINE_BITS-1:0]       emit_line,
    output logic [LANES-1:0]           emit_lanes,
    output logic [3:0]                 emit_sectors,
    output logic [3:0]                 emit_function,
    output logic [3:0]                 emit_type,
    output logic [LINE_BYTES-1:0]      emit_byte_mask,
    output logic [8*LINE_BYTES-1:0]    emit_data,

    output logic                       take_ready,
    input  logic                       take_valid,
    input  logic [1:0]                 take_kind,
    input  logic [1:0]                 take_space,
    input  logic                       take_uncached,
    input  logic [5:0]                 take_warp,
    input  logic [5:0]                 take_slot,
    input  logic [1:0]                 take_size_log2,
    input  logic [LANES-1:0]           take_mask,
    input  logic [3:0]                 take_function,
    input  logic [3:0]                 take_type,
    input  logic [LANES*ADDR_BITS-1:0] take_address,
    input  logic [64*LANES-1:0]        take_data,
    input  logic [64*LANES-1:0]        take_compare
);
  localparam logic [1:0] LOAD = 0, CONST = 2;
  localparam logic [3:0] SWAP = 7;
  // Number of 8-byte words in a line, and width of a word index.
  localparam int WORDS = LINE_BYTES / 8, WORD_BITS = LINE_LOG2 - 3;

  logic [1:0]           kind, space, size_log2;
  logic                 uncached;
  logic [5:0]           warp, slot;
  logic [LANES-1:0]     waiting;
  logic [31:0]          next_id;
  logic [ADDR_BITS-1:0] address [LANES];
  logic [31:0]          data    [2*LANES];
  logic [3:0]           function_, type_;
  logic [31:0]          compare [2*LANES];

  // 1: the first waiting lane, and the lanes that join its request.
  wire is_atomic = kind[1];
  wire swaps = is_atomic && function_ == SWAP;
  logic [ADDR_BITS-1:0] first, differs [LANES];
  logic [LANES-1:0]     joins, lanes;
  for (genvar l = 0; l < LANES; l++) begin : g_differs
    assign differs[l] = address[l] ^ first;
  end
  always_comb begin
    first = '0;
    for (int l = LANES - 1; l >= 0; l--) if (waiting[l]) first = address[l];
    for (int l = 0; l < LANES; l++)
      if (space == CONST && !is_atomic) joins[l] = waiting[l] && differs[l][ADDR_BITS-1:2] == 0;
      else joins[l] = waiting[l] && differs[l][ADDR_BITS-1:LINE_LOG2] == 0 && !(swaps && differs[l][LINE_LOG2-1]);
    if (is_atomic)
      for (int l = 1; l < LANES; l++)
        for (int j = 0; j < l; j++)
          if (waiting[j] && address[j][LINE_LOG2-1:0] == address[l][LINE_LOG2-1:0] && joins[j]) joins[l] = 0;
    lanes = joins;
  end

  // Bytes of the line. Each lane contributes a word index, byte enables and values to an 8-byte word.
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
  wire  [LANES-1:0]     stores = kind == LOAD ? '0 : lanes;
  for (genvar l = 0; l < LANES; l++) begin : g_bytes
    assign at[l] = address[l][LINE_LOG2-1:3];
    assign enable[l] = ((8'd1 << (4'd1 << size_log2)) - 8'd1) << address[l][2:0];
    for (genvar b = 0; b < 8; b++) begin : g_byte
      assign bits[l][b*8+:8] = {8{enable[l][b]}};
    end
    assign operand[l] = repeated({data[LANES+l], data[l]}, size_log2) & bits[l];
    assign compared[l] = repeated({compare[LANES+l], compare[l]}, size_log2) & bits[l];
  end
  for (genvar w = 0; w < WORDS; w++) begin : g_word
    logic [7:0]  enabled;
    logic [63:0] word;
    // Comparison values of a compare-and-swap are in the other half of the line.
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
    assign emit_byte_mask[w*8+:8] = enabled;
    assign emit_data[w*64+:64] = word;
  end
  always_comb begin
    emit_sectors = '0;
    for (int l = 0; l < LANES; l++)
      for (int s = 0; s < LINE_BYTES / 32; s++)
        if (BY_SECTOR && lanes[l] && address[l][LINE_LOG2-1:5] == (LINE_LOG2 - 5)'(s)) emit_sectors[s] = 1;
  end

  assign emit_valid = waiting != '0;
  assign {emit_kind, emit_space, emit_uncached, emit_id} = {kind, space, uncached, next_id};
  assign {emit_warp, emit_slot, emit_function, emit_type} = {warp, slot, function_, type_};
  assign emit_line = first[ADDR_BITS-1:LINE_LOG2];
  assign emit_lanes = lanes;
  wire emits = emit_valid && emit_ready;
  wire [LANES-1:0] waiting_1 = emits ? waiting & ~lanes : waiting;

  // 2: accepts an instruction. Loads do not overwrite the data registers. Only atomics and reductions
  // overwrite the function, the type and the comparison values.
  assign take_ready = waiting_1 == '0;
  wire takes = take_valid && take_ready;
  always_ff @(posedge clk) begin
    if (rst) begin
      waiting <= '0;
      next_id <= '0;
      type_ <= 4'd2;
    end else begin
      waiting <= takes ? take_mask : waiting_1;
      next_id <= next_id + 32'(emits);
      if (takes && take_kind[1]) type_ <= take_type;
    end
    if (takes) {kind, space, uncached, warp, slot, size_log2} <= {take_kind, take_space, take_uncached, take_warp, take_slot, take_size_log2};
    if (takes && take_kind[1]) function_ <= take_function;
  end
  for (genvar l = 0; l < LANES; l++) begin : g_lane
    always_ff @(posedge clk) if (takes) address[l] <= take_address[l*ADDR_BITS+:ADDR_BITS];
  end
  for (genvar w = 0; w < 2 * LANES; w++) begin : g_operand
    always_ff @(posedge clk) begin
      if (takes && take_kind != LOAD) data[w] <= take_data[w*32+:32];
      if (takes && take_kind[1]) compare[w] <= take_compare[w*32+:32];
    end
  end
endmodule
