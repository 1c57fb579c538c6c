// SPDX-License-Identifier: MIT OR Apache-2.0
// # SIMT stack
// Tracks the program counter and active lanes of each warp, and reconverges divergent lanes at
// post-dominators. A divergent branch splits the top entry into its two paths. Each path is executed until it
// reaches the immediate post-dominator of the branch. There, an entry further down the stack continues with
// all lanes. If a lane exits, it is removed from all entries at once: its `alive_q` bit masks every entry
// read from the memory. Entries without lanes are skipped.
//
// In one cycle:
//
// | port    | contract                                                                                              |
// |---------|-------------------------------------------------------------------------------------------------------|
// | `op_i`  | one of {advance, branch, exit} of a running warp, which is at `now_pc_o` with the lanes `now_lanes_o` |
// | `start` | a warp that does not run begins at pc 0 with some lanes                                               |
//
// - advance (1): continues with the next instruction.
// - branch (2): `lanes_i`, a subset of the active lanes, continue at `target_i`; the paths reconverge at
//   `reconverge_i`.
// - exit (3): `lanes_i` end, and the others continue; `exit_all_o` is set if no lane of the warp remains.
//
// The next entry is found and read in the cycle in which the entry above it ends: the search covers all
// entries of a warp.
// A row of `entries_q` is the stack of a warp: {pc, rpc, mask} per stack entry, with the lowest entry in the
// lowest bits. At most two entries are written per cycle.
// Latency: `now_*` and `exit_all_o` are combinational, `now_*` from the registers of `warp_i`.
module ws_sm_simt_stack #(
    parameter int WARPS = 48,
    parameter int LANES = 32,
    localparam int W_BITS = WARPS < 2 ? 1 : $clog2(WARPS)
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic [1:0]        op_i,
    input  logic [W_BITS-1:0] warp_i,
    input  logic [LANES-1:0]  lanes_i,
    input  logic [31:0]       target_i,
    input  logic [31:0]       reconverge_i,
    output logic [31:0]       now_pc_o,
    output logic [LANES-1:0]  now_lanes_o,
    output logic              exit_all_o,
    input  logic              start_valid_i,
    input  logic [W_BITS-1:0] start_warp_i,
    input  logic [LANES-1:0]  start_lanes_i
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (WARPS < 1) begin : g_refuse_warps
    $error("WARPS is %0d, expected 1 or more", WARPS);
  end
  if (LANES < 2) begin : g_refuse_lanes
    $error("LANES is %0d, expected 2 or more", LANES);
  end
`endif

  localparam logic [1:0] BRANCH = 2, EXIT = 3;
  localparam int DEPTH = 2 * LANES - 2, D_BITS = $clog2(DEPTH + 1), CELL = 64 + LANES;

  logic [31:0]           pc_q      [WARPS];
  logic [31:0]           rpc_q     [WARPS];
  logic [LANES-1:0]      active_q  [WARPS];
  logic [D_BITS-1:0]     below_q   [WARPS];
  logic [LANES-1:0]      alive_q   [WARPS];
  logic [DEPTH*CELL-1:0] entries_q [WARPS];

  wire [31:0]           own_rpc = rpc_q[warp_i];
  wire [D_BITS-1:0]     level = below_q[warp_i];
  wire [DEPTH*CELL-1:0] row = entries_q[warp_i];
  wire [31:0]           next_pc = now_pc_o + 1;
  assign now_pc_o = pc_q[warp_i];
  assign now_lanes_o = active_q[warp_i];

  // Lanes and next pc of the top stack entry after the operation, unless a divergent branch splits the entry.
  wire              exits = op_i == EXIT;
  wire [LANES-1:0]  left = exits ? now_lanes_o & ~lanes_i : now_lanes_o;
  wire [LANES-1:0]  alive_1 = exits ? alive_q[warp_i] & ~lanes_i : alive_q[warp_i];
  wire              splits = op_i == BRANCH && lanes_i != '0 && lanes_i != now_lanes_o && target_i != next_pc;
  wire [31:0]       to = op_i == BRANCH && lanes_i != '0 ? target_i : next_pc;
  assign exit_all_o = exits && alive_1 == '0;
  wire              pops = op_i != '0 && !splits && !exit_all_o && (left == '0 || to == own_rpc);

  // Finds the highest stack entry below the top that has live lanes and has not reached its reconvergence
  // point.
  logic [D_BITS-1:0] highest, found;
  logic [CELL-1:0]   top, uncovered;
  always_comb begin
    highest = '0;
    top = '0;
    for (int d = 0; d < DEPTH; d++)
      if (D_BITS'(d) < level && (row[d*CELL+:LANES] & alive_1) != '0
          && row[d*CELL+LANES+:32] != row[d*CELL+LANES+32+:32]) begin
        highest = D_BITS'(d);
        top = row[d*CELL+:CELL];
      end
    found = highest;
    uncovered = top;
  end

  // A divergent branch adds a stack entry at its reconvergence point, unless the current entry already has
  // this reconvergence point. It adds another entry for the path not taken, if both paths contain
  // instructions.
  wire meets = splits && reconverge_i != own_rpc;
  wire both = splits && next_pc != reconverge_i && target_i != reconverge_i;
  wire falls = splits && next_pc != reconverge_i && target_i == reconverge_i;
  wire [CELL-1:0] meeting = {reconverge_i, own_rpc, now_lanes_o};
  wire [CELL-1:0] not_taken = {next_pc, reconverge_i, now_lanes_o & ~lanes_i};
  wire [D_BITS-1:0] level_1 = level + D_BITS'(meets);

  logic [31:0]       pc_d, rpc_d;
  logic [LANES-1:0]  active_d;
  logic [D_BITS-1:0] below_d;
  always_comb begin
    {pc_d, rpc_d, active_d} = {exit_all_o ? now_pc_o : to, own_rpc, left};
    below_d = exit_all_o ? '0 : level;
    if (pops) begin
      {pc_d, rpc_d, active_d} = uncovered;
      active_d &= alive_1;
      below_d = found;
    end
    if (splits) begin
      {pc_d, rpc_d, active_d} = falls ? not_taken : {target_i, reconverge_i, lanes_i};
      below_d = level_1 + D_BITS'(both);
    end
  end

  for (genvar w = 0; w < WARPS; w++) begin : g_warp
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) begin
        pc_q[w] <= '0;
        rpc_q[w] <= '0;
        active_q[w] <= '0;
        below_q[w] <= '0;
        alive_q[w] <= '0;
        entries_q[w] <= '0;
      end else if (start_valid_i && start_warp_i == W_BITS'(w)) begin
        pc_q[w] <= '0;
        rpc_q[w] <= '1;
        active_q[w] <= start_lanes_i;
        below_q[w] <= '0;
        alive_q[w] <= start_lanes_i;
      end else if (op_i != '0 && warp_i == W_BITS'(w)) begin
        pc_q[w] <= pc_d;
        rpc_q[w] <= rpc_d;
        active_q[w] <= active_d;
        below_q[w] <= below_d;
        alive_q[w] <= alive_1;
        for (int d = 0; d < DEPTH; d++)
          if (both && level_1 == D_BITS'(d)) entries_q[w][d*CELL+:CELL] <= not_taken;
          else if (meets && level == D_BITS'(d)) entries_q[w][d*CELL+:CELL] <= meeting;
      end
  end
endmodule
