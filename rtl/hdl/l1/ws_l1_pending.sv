// SPDX-License-Identifier: MIT OR Apache-2.0
// # Pending table
// Holds one row per warp memory instruction, from its first line request to its reply. A load or an atomic
// collects the bytes of its lanes as lines arrive; a store or a reduction collects acknowledgments. The
// module has no loads of 16 bytes per lane, and warps of 32 lanes.
//
// The ports act in the order of their numbers within one cycle, and each sees the results of the ports before
// it:
//
// | port      | contract                                                                                   |
// |-----------|--------------------------------------------------------------------------------------------|
// | 1 `reply` | the reply of a complete row, while there is one; `reply_ready_i` frees the row             |
// | 2 `put`   | up to PUTS times: lanes of a row get their bytes of a line, or their acknowledgment        |
// | 3 `alloc` | an instruction with at least one lane gets the row `alloc_slot_o`, if `alloc_ready_o`      |
//
// The lanes of a put must be waiting, and no two puts of a cycle have the same lane of a row. The line of a
// put to a row of a store or a reduction is not read. `alloc_offset_i` has the byte offset of each lane in its
// line, which is aligned to the access size.
//
// `reply_data_o` has the low words of all lanes, then the high words. In replies to loads and atomics, the low
// words of the lanes of `reply_mask_o` are valid, and with `reply_size_log2_o` 3 also their high words. The bits
// of a low word above an access of 1 or 2 bytes are 0.
// Kinds: 0 load, 1 store, 2 atomic, 3 reduction; of replies: 0 data, 1 acknowledgment.
// Latency: the reply of a row that is completed in one cycle can leave in the next. Replies of complete rows
// leave in round-robin order. A row that a reply frees can be allocated in the same cycle.
module ws_l1_pending #(
    parameter int ROWS = 64,
    parameter int LINE_LOG2 = 7,
    parameter int PC_BITS = 20,
    parameter int PUTS = 3,
    localparam int LANES = 32,
    localparam int LINE_BITS = 8 << LINE_LOG2
) (
    input  logic                       clk_i,
    input  logic                       rst_ni,

    input  logic                       reply_ready_i,
    output logic                       reply_valid_o,
    output logic                       reply_kind_o,
    output logic [5:0]                 reply_warp_o,
    output logic [PC_BITS-1:0]         reply_pc_o,
    output logic [1:0]                 reply_beat_o,
    output logic [1:0]                 reply_size_log2_o,
    output logic [LANES-1:0]           reply_mask_o,
    output logic [64*LANES-1:0]        reply_data_o,

    input  logic [PUTS-1:0]            put_valid_i,
    input  logic [6*PUTS-1:0]          put_slot_i,
    input  logic [LANES*PUTS-1:0]      put_lanes_i,
    input  logic [LINE_BITS*PUTS-1:0]  put_line_i,

    output logic                       alloc_ready_o,
    output logic [5:0]                 alloc_slot_o,
    input  logic                       alloc_valid_i,
    input  logic [1:0]                 alloc_kind_i,
    input  logic [5:0]                 alloc_warp_i,
    input  logic [PC_BITS-1:0]         alloc_pc_i,
    input  logic [1:0]                 alloc_beat_i,
    input  logic [1:0]                 alloc_size_log2_i,
    input  logic [LANES-1:0]           alloc_mask_i,
    input  logic [LANES*LINE_LOG2-1:0] alloc_offset_i
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (ROWS < 1 || ROWS > 64) begin : g_refuse_rows
    $error("ROWS is %0d, expected 1 to 64", ROWS);
  end
  if (LINE_LOG2 < 3) begin : g_refuse_line_log2
    $error("LINE_LOG2 is %0d, expected 3 or more", LINE_LOG2);
  end
  if (PC_BITS < 1) begin : g_refuse_pc_bits
    $error("PC_BITS is %0d, expected 1 or more", PC_BITS);
  end
  if (PUTS < 1) begin : g_refuse_puts
    $error("PUTS is %0d, expected 1 or more", PUTS);
  end
`endif

  logic [ROWS-1:0]      used_q, done_q;
  logic [5:0]           last_taken_q;
  logic [1:0]           kind_q      [ROWS];
  logic [5:0]           warp_q      [ROWS];
  logic [PC_BITS-1:0]   pc_q        [ROWS];
  logic [LANES-1:0]     mask_q      [ROWS];
  logic [LANES-1:0]     left_q      [ROWS];
  logic [1:0]           beat_q      [ROWS];
  logic [1:0]           size_log2_q [ROWS];
  logic [LINE_LOG2-1:0] offset_q    [ROWS*LANES];
  logic [31:0]          data_q      [ROWS*2*LANES];

  // Step 1, port `reply`: the first complete row after the one that left last, else the first of all.
  localparam int R_BITS = ROWS < 2 ? 1 : $clog2(ROWS);
  logic [R_BITS-1:0] first, behind, taken_row;
  logic              has_behind;
  logic [ROWS-1:0]   taken;
  always_comb begin
    first = '0;
    behind = '0;
    has_behind = 0;
    for (int r = ROWS - 1; r >= 0; r--)
      if (done_q[r]) begin
        first = R_BITS'(r);
        if (6'(r) > last_taken_q) begin
          behind = R_BITS'(r);
          has_behind = 1;
        end
      end
  end
  assign taken_row = has_behind ? behind : first;
  assign reply_valid_o = done_q != '0;
  wire replies = reply_valid_o && reply_ready_i;
  always_comb for (int r = 0; r < ROWS; r++) taken[r] = replies && taken_row == R_BITS'(r);
  wire [ROWS-1:0] used_1 = used_q & ~taken;
  assign reply_kind_o = kind_q[taken_row][0];
  assign reply_warp_o = warp_q[taken_row];
  assign reply_pc_o = pc_q[taken_row];
  assign reply_beat_o = beat_q[taken_row];
  assign reply_size_log2_o = size_log2_q[taken_row];
  assign reply_mask_o = mask_q[taken_row];
  for (genvar w = 0; w < 2 * LANES; w++) begin : g_reply
    assign reply_data_o[w*32+:32] = data_q[32'(taken_row)*2*LANES+w];
  end

  // Step 2, port `put`: selects the bytes of each lane in the line.
  logic [31:0] low [PUTS*LANES], high [PUTS*LANES];
  for (genvar p = 0; p < PUTS; p++) begin : g_put
    wire [R_BITS-1:0]    row = R_BITS'(put_slot_i[p*6+:6]);
    wire [LINE_BITS-1:0] line = put_line_i[p*LINE_BITS+:LINE_BITS];
    wire [1:0]           log2 = size_log2_q[row];
    for (genvar l = 0; l < LANES; l++) begin : g_lane
      wire [LINE_LOG2-1:0] at = offset_q[32'(row)*LANES+l];
      wire [63:0]          words = line[32'(at[LINE_LOG2-1:3])*64+:64];
      wire [31:0]          word = at[2] ? words[63:32] : words[31:0];
      wire [15:0]          half = at[1] ? word[31:16] : word[15:0];
      wire [7:0]           narrow = at[0] ? half[15:8] : half[7:0];
      assign low[p*LANES+l] = log2[1] ? word : log2[0] ? 32'(half) : 32'(narrow);
      assign high[p*LANES+l] = words[63:32];
    end
  end

  // Step 3, port `alloc`: the lowest free row.
  always_comb begin
    alloc_slot_o = '0;
    for (int r = ROWS - 1; r >= 0; r--) if (!used_1[r]) alloc_slot_o = 6'(r);
  end
  assign alloc_ready_o = !(&used_1);
  wire [R_BITS-1:0] new_row = R_BITS'(alloc_slot_o);
  wire              allocates = alloc_valid_i && alloc_ready_o;
  logic [ROWS-1:0]  allocated, completed;
  always_comb for (int r = 0; r < ROWS; r++) allocated[r] = allocates && new_row == R_BITS'(r);

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      used_q <= '0;
      done_q <= '0;
      last_taken_q <= '0;
    end else begin
      used_q <= used_1 | allocated;
      done_q <= done_q & ~taken | completed;
      if (replies) last_taken_q <= 6'(taken_row);
    end
  always_ff @(posedge clk_i)
    if (allocates) begin
      kind_q[new_row] <= alloc_kind_i;
      warp_q[new_row] <= alloc_warp_i;
      pc_q[new_row] <= alloc_pc_i;
      mask_q[new_row] <= alloc_mask_i;
      beat_q[new_row] <= alloc_beat_i;
      size_log2_q[new_row] <= alloc_size_log2_i;
    end
  for (genvar r = 0; r < ROWS; r++) begin : g_row
    logic [PUTS-1:0]  here;
    logic [LANES-1:0] arrived;
    logic [31:0]      low_next [LANES], high_next [LANES];
    for (genvar p = 0; p < PUTS; p++) begin : g_here
      assign here[p] = put_valid_i[p] && put_slot_i[p*6+:6] == 6'(r);
    end
    always_comb begin
      arrived = '0;
      for (int p = 0; p < PUTS; p++) if (here[p]) arrived |= put_lanes_i[p*LANES+:LANES];
    end
    for (genvar l = 0; l < LANES; l++) begin : g_lane
      always_comb begin
        low_next[l] = low[l];
        high_next[l] = high[l];
        for (int p = 1; p < PUTS; p++)
          if (here[p] && put_lanes_i[p*LANES+l]) begin
            low_next[l] = low[p*LANES+l];
            high_next[l] = high[p*LANES+l];
          end
      end
      always_ff @(posedge clk_i) begin
        if (arrived[l] && !kind_q[r][0]) begin
          data_q[r*2*LANES+l] <= low_next[l];
          if (size_log2_q[r] == 2'd3) data_q[r*2*LANES+LANES+l] <= high_next[l];
        end
        if (allocated[r]) offset_q[r*LANES+l] <= alloc_offset_i[l*LINE_LOG2+:LINE_LOG2];
      end
    end
    wire [LANES-1:0] left_2 = left_q[r] & ~arrived;
    assign completed[r] = arrived != '0 && left_2 == '0;
    always_ff @(posedge clk_i) left_q[r] <= allocated[r] ? alloc_mask_i : left_2;
  end
endmodule
