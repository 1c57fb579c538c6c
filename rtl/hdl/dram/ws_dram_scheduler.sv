// SPDX-License-Identifier: MIT OR Apache-2.0
// # Command arbitration of a DRAM channel
// Selects the request that gets the command bus, by first ready, first come, first served (FR-FCFS):
// 1. The oldest request whose column command is legal in this cycle on the open row of its bank.
// 2. Otherwise, the oldest request whose ACT or PRE is legal in this cycle. A row is closed only when no
//    request hits it anymore.
//
// With DUAL, row commands have a separate bus, and rule 2 applies independently of rule 1. With FCFS, the
// oldest request is the only candidate.
//
// | port                    | contract                                                                                |
// |-------------------------|-----------------------------------------------------------------------------------------|
// | `occupied_i` `writes_i` | one bit per slot: the slot holds a request; the request is a write                      |
// | `hits_i` `blocked_i`    | one bit per slot: its row is open; it waits for an older request to its burst           |
// | `older_i`               | ENTRIES bits per slot, slot 0 in the lowest bits: the requests accepted before it       |
// | `bank_i`                | bank of each slot's request                                                             |
// | `turn_i` `columns_i`    | one bit per slot: it may have commands at all; it may have its column command           |
// | `reads_i` `rows_i`      | there is room for the data of a read; rows may be opened and closed                     |
// | `capped_i` `open_i`     | one bit per bank: its hits have overtaken older requests up to the cap; its row is open |
// | `col_legal_i`           | one bit per slot: its column command is legal, if it hits                               |
// | `row_legal_i`           | one bit per bank: ACT of a closed bank or PRE of an open bank is legal                  |
// | `col` `row`             | command of the cycle, and its slot                                                      |
//
// A bank that has reached the cap (`capped_i`) serves no request until its row is closed. In any other bank,
// a row stays open while it is hit by a request that may have commands (its bit of `turn_i` is set).
// Latency: none. The module has no registers.
module ws_dram_scheduler #(
    parameter int ENTRIES = 16,
    parameter int BANKS = 16,
    parameter bit FCFS = 0,
    parameter bit DUAL = 0,
    localparam int E_BITS = ENTRIES < 2 ? 1 : $clog2(ENTRIES),
    localparam int B_BITS = BANKS < 2 ? 1 : $clog2(BANKS)
) (
    input  logic [ENTRIES-1:0]         occupied_i,
    input  logic [ENTRIES-1:0]         writes_i,
    input  logic [ENTRIES-1:0]         hits_i,
    input  logic [ENTRIES-1:0]         blocked_i,
    input  logic [ENTRIES*ENTRIES-1:0] older_i,
    input  logic [ENTRIES*B_BITS-1:0]  bank_i,
    input  logic [ENTRIES-1:0]         turn_i,
    input  logic [ENTRIES-1:0]         columns_i,
    input  logic                       reads_i,
    input  logic                       rows_i,
    input  logic [BANKS-1:0]           capped_i,
    input  logic [BANKS-1:0]           open_i,
    input  logic [ENTRIES-1:0]         col_legal_i,
    input  logic [BANKS-1:0]           row_legal_i,
    output logic                       col_valid_o,
    output logic [E_BITS-1:0]          col_slot_o,
    output logic                       row_valid_o,
    output logic [E_BITS-1:0]          row_slot_o,
    output logic                       row_is_pre_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (ENTRIES < 1) begin : g_refuse_entries
    $error("ENTRIES is %0d, expected 1 or more", ENTRIES);
  end
  if (BANKS < 1) begin : g_refuse_banks
    $error("BANKS is %0d, expected 1 or more", BANKS);
  end
`endif

  // All values that the functions read are arguments, because a simulator may evaluate a call again only when
  // an argument has changed.
  //
  // Selects the oldest slot of a set: the one that no other slot of the set precedes.
  function automatic [ENTRIES-1:0] oldest(input [ENTRIES-1:0] set, input [ENTRIES*ENTRIES-1:0] ages);
    for (int s = 0; s < ENTRIES; s++) oldest[s] = set[s] && (ages[s*ENTRIES+:ENTRIES] & set) == '0;
  endfunction

  function automatic [BANKS-1:0] banks_of(input [ENTRIES-1:0] set, input [ENTRIES*B_BITS-1:0] of_slot);
    banks_of = '0;
    for (int s = 0; s < ENTRIES; s++) if (set[s]) banks_of |= BANKS'(1) << of_slot[s*B_BITS+:B_BITS];
  endfunction

  function automatic [ENTRIES-1:0] slots_in(input [BANKS-1:0] set, input [ENTRIES*B_BITS-1:0] of_slot);
    for (int s = 0; s < ENTRIES; s++) slots_in[s] = set[of_slot[s*B_BITS+:B_BITS]];
  endfunction

  function automatic [E_BITS-1:0] number_of(input [ENTRIES-1:0] one);
    number_of = '0;
    for (int s = 0; s < ENTRIES; s++) if (one[s]) number_of |= E_BITS'(s);
  endfunction

  wire [ENTRIES-1:0] in_turn = occupied_i & turn_i;
  wire [ENTRIES-1:0] slots = FCFS ? oldest(in_turn, older_i) : in_turn;
  // A request whose bit of `turn_i` is 0 may not have commands, and does not keep the row of its bank open.
  wire [BANKS-1:0]   hit_banks = banks_of(slots & hits_i, bank_i);
  wire [BANKS-1:0]   stopped = rows_i ? capped_i & hit_banks : '0;
  wire [ENTRIES-1:0] served = slots & hits_i & ~slots_in(stopped, bank_i);
  wire [BANKS-1:0]   wanted = FCFS ? banks_of(slots & ~served, bank_i) : banks_of(slots, bank_i) & ~(hit_banks & ~stopped);

  // Rule 1: selects the oldest request whose column command (read or write) is legal in this cycle.
  wire [ENTRIES-1:0] may_col = served & columns_i & ~blocked_i & col_legal_i & (reads_i ? '1 : writes_i);
  assign col_valid_o = may_col != '0;
  assign col_slot_o = number_of(oldest(may_col, older_i));

  // Rule 2: selects the oldest request whose row command (ACT or PRE) is legal in this cycle.
  wire [ENTRIES-1:0] may_row = slots & slots_in(wanted & row_legal_i, bank_i);
  assign row_valid_o = rows_i && may_row != '0 && (DUAL || !col_valid_o);
  assign row_slot_o = number_of(oldest(may_row, older_i));
  assign row_is_pre_o = open_i[bank_i[32'(row_slot_o)*B_BITS+:B_BITS]];
endmodule
