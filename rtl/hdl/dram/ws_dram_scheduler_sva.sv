// SPDX-License-Identifier: MIT OR Apache-2.0
// # Assertions of the command arbitration
// Checks the contract in the header of `ws_dram_scheduler` at its ports. What the caller guarantees is
// assumed, and what the module guarantees is asserted. The module has no clock, so the assertions are
// deferred ones, which hold at the end of every time step.
//
// | property       | what holds                                                                           |
// |----------------|--------------------------------------------------------------------------------------|
// | `age_ordered`  | assumed: of two requests, at most one is older than the other                        |
// | `col_legal`    | a column command goes to a request in turn that hits, and is legal and not blocked   |
// | `col_uncapped` | a capped bank serves no request until its row is closed, while rows may be closed    |
// | `col_oldest`   | no older request could have its column command; with FCFS, none is older             |
// | `row_legal`    | a row command goes to a request in turn, whose bank allows it, while rows may change |
// | `row_oldest`   | no older request could have a row command; with FCFS, none is older                  |
// | `row_kind`     | the row command of an open bank is PRE, and of a closed bank ACT                     |
// | `hit_keeps`    | a row that a request in turn hits stays open, unless its bank is capped (not FCFS)   |
// | `one_bus`      | without DUAL, a cycle has one command                                                |
// | `col_first`    | a row command does not displace a column command that is legal                       |
`ifdef YOSYS  // Yosys reads no deferred assertions.
`define WS_ASSERT(NAME, PROPERTY) always_comb NAME : assert (PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) always_comb NAME : assume (PROPERTY);
`else
`define WS_ASSERT(NAME, PROPERTY) always_comb NAME : assert final (PROPERTY);
`define WS_ASSUME(NAME, PROPERTY) always_comb NAME : assume final (PROPERTY);
`endif
module ws_dram_scheduler_sva #(
    parameter int ENTRIES = 16,
    parameter int BANKS = 16,
    parameter bit FCFS = 0,
    parameter bit DUAL = 0,
    localparam int E_BITS = ENTRIES < 2 ? 1 : $clog2(ENTRIES),
    localparam int B_BITS = BANKS < 2 ? 1 : $clog2(BANKS)
) (
    input logic [ENTRIES-1:0]         occupied_i,
    input logic [ENTRIES-1:0]         writes_i,
    input logic [ENTRIES-1:0]         hits_i,
    input logic [ENTRIES-1:0]         blocked_i,
    input logic [ENTRIES*ENTRIES-1:0] older_i,
    input logic [ENTRIES*B_BITS-1:0]  bank_i,
    input logic [ENTRIES-1:0]         turn_i,
    input logic [ENTRIES-1:0]         columns_i,
    input logic                       reads_i,
    input logic                       rows_i,
    input logic [BANKS-1:0]           capped_i,
    input logic [BANKS-1:0]           open_i,
    input logic [ENTRIES-1:0]         col_legal_i,
    input logic [BANKS-1:0]           row_legal_i,
    input logic                       col_valid_o,
    input logic [E_BITS-1:0]          col_slot_o,
    input logic                       row_valid_o,
    input logic [E_BITS-1:0]          row_slot_o,
    input logic                       row_is_pre_o
);
  // Requests in turn, those whose column command is legal, those that could have a command, and those that
  // are older than the request of each command. A row that is hit is kept open, unless its bank is capped.
  logic [ENTRIES-1:0] in_turn, legal_col, could_col, could_row, before_col, before_row;
  logic [BANKS-1:0]   kept;
  logic               is_ordered;
  wire  [B_BITS-1:0]  col_bank = bank_i[32'(col_slot_o)*B_BITS+:B_BITS];
  wire  [B_BITS-1:0]  row_bank = bank_i[32'(row_slot_o)*B_BITS+:B_BITS];
  always_comb begin
    is_ordered = 1;
    kept = '0;
    in_turn = occupied_i & turn_i;
    legal_col = in_turn & hits_i & columns_i & col_legal_i & ~blocked_i & (reads_i ? '1 : writes_i);
    could_col = legal_col;
    before_col = older_i[32'(col_slot_o)*ENTRIES+:ENTRIES];
    before_row = older_i[32'(row_slot_o)*ENTRIES+:ENTRIES];
    for (int a = 0; a < ENTRIES; a++) begin
      if (rows_i && capped_i[bank_i[a*B_BITS+:B_BITS]]) could_col[a] = 0;
      else if (in_turn[a] && hits_i[a]) kept[bank_i[a*B_BITS+:B_BITS]] = 1;
      for (int b = 0; b < ENTRIES; b++)
        if (occupied_i[a] && occupied_i[b] && older_i[a*ENTRIES+b] && older_i[b*ENTRIES+a]) is_ordered = 0;
    end
    for (int a = 0; a < ENTRIES; a++)
      could_row[a] = in_turn[a] && row_legal_i[bank_i[a*B_BITS+:B_BITS]] && !kept[bank_i[a*B_BITS+:B_BITS]];
    if (FCFS) could_col = in_turn;
    if (FCFS) could_row = in_turn;
  end

  `WS_ASSUME(age_ordered, is_ordered)
  `WS_ASSERT(col_legal, !col_valid_o || legal_col[col_slot_o])
  `WS_ASSERT(col_uncapped, !col_valid_o || !rows_i || !capped_i[col_bank])
  `WS_ASSERT(col_oldest, !col_valid_o || (could_col & before_col) == '0)
  `WS_ASSERT(row_legal, !row_valid_o || rows_i && in_turn[row_slot_o] && row_legal_i[row_bank])
  `WS_ASSERT(row_kind, !row_valid_o || row_is_pre_o == open_i[row_bank])
  `WS_ASSERT(hit_keeps, FCFS || !row_valid_o || !row_is_pre_o || !kept[row_bank])
  `WS_ASSERT(row_oldest, !row_valid_o || (could_row & before_row) == '0)
  `WS_ASSERT(one_bus, DUAL || !col_valid_o || !row_valid_o)
  `WS_ASSERT(col_first, FCFS || could_col == '0 || col_valid_o)
endmodule
bind ws_dram_scheduler ws_dram_scheduler_sva #(
    .ENTRIES(ENTRIES), .BANKS(BANKS), .FCFS(FCFS), .DUAL(DUAL)
) i_sva (.*);
`undef WS_ASSERT
`undef WS_ASSUME
