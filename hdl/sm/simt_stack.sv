// # SIMT stack
// Tracks the program counter and active lanes of each warp, and reconverges divergent lanes at
// post-dominators. A divergent branch splits the top entry into the two paths. Each path runs until it
// reaches the immediate post-dominator of the branch, where an entry below, with all lanes, continues. An
// exited lane leaves all entries at once: its `alive` bit masks every entry read from the memory. Entries
// without lanes are skipped.
//
// In one cycle:
//
// | port    | contract                                                                                          |
// |---------|---------------------------------------------------------------------------------------------------|
// | `op`    | one of {advance, branch, exit} of a running warp, which is at `now_pc` with the lanes `now_lanes` |
// | `start` | a warp that does not run begins at pc 0 with some lanes                                           |
//
// - advance (1): continues with the next instruction.
// - branch (2): `lanes`, a subset of the active lanes, continue at `target`; the paths reconverge at
//   `reconverge`.
// - exit (3): `lanes` end, and the others continue; `exit_all` is set if no lane of the warp remains.
//
// The next entry is found and read in the cycle in which the entry above it ends: the search covers all
// entries of a warp.
// A row of `entries` has one cell {pc, rpc, mask} per entry, with the lowest entry of the stack in the lowest
// bits. At most two cells are written per cycle.
// Latency: `now_*` and `exit_all` are combinational, `now_*` from the registers of `warp`.
module simt_stack #(
    parameter int WARPS = 48,
    parameter int LANES = 32,
    localparam int W_BITS = WARPS < 2 ? 1 : $clog2(WARPS)
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [1:0]        op,
    input  logic [W_BITS-1:0] warp,
    input  logic [LANES-1:0]  lanes,
    input  logic [31:0]       target,
    input  logic [31:0]       reconverge,
    output logic [31:0]       now_pc,
    output logic [LANES-1:0]  now_lanes,
    output logic              exit_all,
    input  logic              start_valid,
    input  logic [W_BITS-1:0] start_warp,
    input  logic [LANES-1:0]  start_lanes
);
  localparam logic [1:0] BRANCH = 2, EXIT = 3;
  localparam int DEPTH = 2 * LANES - 2, D_BITS = $clog2(DEPTH + 1), CELL = 64 + LANES;

  logic [31:0]           pc      [WARPS];
  logic [31:0]           rpc     [WARPS];
  logic [LANES-1:0]      active  [WARPS];
  logic [D_BITS-1:0]     below   [WARPS];
  logic [LANES-1:0]      alive   [WARPS];
  logic [DEPTH*CELL-1:0] entries [WARPS];

  wire [31:0]           own_rpc = rpc[warp];
  wire [D_BITS-1:0]     level = below[warp];
  wire [DEPTH*CELL-1:0] row = entries[warp];
  wire [31:0]           next_pc = now_pc + 1;
  assign now_pc = pc[warp];
  assign now_lanes = active[warp];

  // Next pc of the top entry if it is not split.
  wire              exits = op == EXIT;
  wire [LANES-1:0]  left = exits ? now_lanes & ~lanes : now_lanes;
  wire [LANES-1:0]  alive_1 = exits ? alive[warp] & ~lanes : alive[warp];
  wire              splits = op == BRANCH && lanes != '0 && lanes != now_lanes && target != next_pc;
  wire [31:0]       to = op == BRANCH && lanes != '0 ? target : next_pc;
  assign exit_all = exits && alive_1 == '0;
  wire              pops = op != '0 && !splits && !exit_all && (left == '0 || to == own_rpc);

  // Highest entry below the top that has lanes and has not ended.
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

  // A split adds an entry at the reconvergence point, unless the current entry ends there anyway. It also
  // adds the path not taken, if both paths have instructions.
  wire meets = splits && reconverge != own_rpc;
  wire both = splits && next_pc != reconverge && target != reconverge;
  wire falls = splits && next_pc != reconverge && target == reconverge;
  wire [CELL-1:0] meeting = {reconverge, own_rpc, now_lanes};
  wire [CELL-1:0] not_taken = {next_pc, reconverge, now_lanes & ~lanes};
  wire [D_BITS-1:0] level_1 = level + D_BITS'(meets);

  logic [31:0]       pc_next, rpc_next;
  logic [LANES-1:0]  active_next;
  logic [D_BITS-1:0] below_next;
  always_comb begin
    {pc_next, rpc_next, active_next} = {exit_all ? now_pc : to, own_rpc, left};
    below_next = exit_all ? '0 : level;
    if (pops) begin
      {pc_next, rpc_next, active_next} = uncovered;
      active_next &= alive_1;
      below_next = found;
    end
    if (splits) begin
      {pc_next, rpc_next, active_next} = falls ? not_taken : {target, reconverge, lanes};
      below_next = level_1 + D_BITS'(both);
    end
  end

  for (genvar w = 0; w < WARPS; w++) begin : g_warp
    always_ff @(posedge clk)
      if (rst) begin
        pc[w] <= '0;
        rpc[w] <= '0;
        active[w] <= '0;
        below[w] <= '0;
        alive[w] <= '0;
        entries[w] <= '0;
      end else if (start_valid && start_warp == W_BITS'(w)) begin
        pc[w] <= '0;
        rpc[w] <= '1;
        active[w] <= start_lanes;
        below[w] <= '0;
        alive[w] <= start_lanes;
      end else if (op != '0 && warp == W_BITS'(w)) begin
        pc[w] <= pc_next;
        rpc[w] <= rpc_next;
        active[w] <= active_next;
        below[w] <= below_next;
        alive[w] <= alive_1;
        for (int d = 0; d < DEPTH; d++)
          if (both && level_1 == D_BITS'(d)) entries[w][d*CELL+:CELL] <= not_taken;
          else if (meets && level == D_BITS'(d)) entries[w][d*CELL+:CELL] <= meeting;
      end
  end
endmodule
