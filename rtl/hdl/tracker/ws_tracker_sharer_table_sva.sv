// SPDX-License-Identifier: MIT OR Apache-2.0
// # Assertions of the table of a sharing tracker
// Checks the contract in the header of `ws_tracker_sharer_table` at its ports. What the caller guarantees is
// assumed, and what the module guarantees is asserted.
//
// | property           | what holds                                                                |
// |--------------------|---------------------------------------------------------------------------|
// | `op_known`         | assumed: `op_i` is one of the five operations, or none                    |
// | `sm_exists`        | assumed: `sm_i` is the number of an L1                                    |
// | `supplier_exists`  | a supplier is the number of an L1                                         |
// | `supplier_another` | a supplier is not the L1 that requests the line                           |
// | `added_supplies`   | an L1 added in the previous cycle makes its line available to all others  |
// | `removed_is_not`   | the L1 removed last supplies its line to no L1 until it is added again    |
// | `forgotten_is_not` | the line forgotten last has no supplier until an L1 is added to it        |
// | `cleared_is_not`   | a table that was cleared has no supplier of any line until an L1 is added |
`ifdef YOSYS  // Yosys reads no concurrent assertions.
`define WS_ASSERT(NAME, PROPERTY) always_comb if (rst_ni) NAME : assert (PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) always_comb if (rst_ni) NAME : assume (PROPERTY);
`else
`define WS_ASSERT(NAME, PROPERTY) NAME : assert property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) NAME : assume property (@(posedge clk_i) disable iff (!rst_ni) PROPERTY);
`endif
module ws_tracker_sharer_table_sva #(
    parameter int SMS = 16,
    parameter int LINE_BITS = 22,
    localparam int SM_BITS = SMS < 2 ? 1 : $clog2(SMS)
) (
    input logic                 clk_i,
    input logic                 rst_ni,
    input logic [2:0]           op_i,
    input logic [LINE_BITS-1:0] line_i,
    input logic [SM_BITS-1:0]   sm_i,
    input logic                 supplier_valid_o,
    input logic [SM_BITS-1:0]   supplier_o
);
  localparam logic [2:0] ADD = 2, REMOVE = 3, FORGET = 4, CLEAR = 5;

  // L1 added in the previous cycle, the last removal and the last line forgotten, unless an L1 was added
  // since then, and whether the table is still empty.
  logic                 was_added, is_removed, is_forgotten, is_empty;
  logic [LINE_BITS-1:0] added_line, removed_line, forgotten_line;
  logic [SM_BITS-1:0]   added_sm, removed_sm;
  wire added_again = op_i == ADD && line_i == removed_line && sm_i == removed_sm;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      {was_added, is_removed, is_forgotten} <= '0;
      {added_line, removed_line, forgotten_line, added_sm, removed_sm} <= '0;
      is_empty <= 1;
    end else begin
      was_added <= op_i == ADD;
      {added_line, added_sm} <= {line_i, sm_i};
      is_removed <= op_i == REMOVE || is_removed && !added_again;
      if (op_i == REMOVE) {removed_line, removed_sm} <= {line_i, sm_i};
      is_forgotten <= op_i == FORGET || is_forgotten && !(op_i == ADD && line_i == forgotten_line);
      if (op_i == FORGET) forgotten_line <= line_i;
      is_empty <= op_i == CLEAR || is_empty && op_i != ADD;
    end
  wire finds_added = was_added && line_i == added_line && sm_i != added_sm;
  wire finds_removed = is_removed && line_i == removed_line && supplier_valid_o;

  // `disable iff` reads the asynchronous reset at a clock edge, of which Verilator warns.
  // verilator lint_off SYNCASYNCNET
  `WS_ASSUME(op_known, op_i <= CLEAR)
  `WS_ASSUME(sm_exists, 32'(sm_i) < SMS)
  `WS_ASSERT(supplier_exists, !supplier_valid_o || 32'(supplier_o) < SMS)
  `WS_ASSERT(supplier_another, !supplier_valid_o || supplier_o != sm_i)
  `WS_ASSERT(added_supplies, !finds_added || supplier_valid_o)
  `WS_ASSERT(removed_is_not, !finds_removed || supplier_o != removed_sm)
  `WS_ASSERT(forgotten_is_not, !is_forgotten || line_i != forgotten_line || !supplier_valid_o)
  `WS_ASSERT(cleared_is_not, !is_empty || !supplier_valid_o)
  // verilator lint_on SYNCASYNCNET
endmodule
bind ws_tracker_sharer_table ws_tracker_sharer_table_sva #(
    .SMS(SMS), .LINE_BITS(LINE_BITS)
) i_sva (.*);
`undef WS_ASSERT
`undef WS_ASSUME
