// # SIMT stack
// Knows where each warp runs and where its lanes meet again. A divergent branch splits the top entry into the two paths; each
// runs until it reaches the branch's immediate post-dominator, below which an entry with all lanes waits there. A lane that
// has exited is taken out of every entry by its `alive` bit, which masks whatever leaves the memory; entries without lanes are
// passed over.
//
// One cycle:
//
// | port    | contract                                                                                         |
// |---------|--------------------------------------------------------------------------------------------------|
// | `op`    | one of {advance, branch, exit} of a warp that runs: it is at `now_pc` in the lanes of `now_lanes`     |
// | `start` | a warp that does not run begins at pc 0 in some lanes                                              |
//
// * advance (1): goes on to the next instruction.
// * branch (2): `lanes`, part of those it is at, go to `target`; the paths meet at `reconverge`.
// * exit (3): `lanes` end, the others go on; `exit_all` if no lane of the warp is left.
//
// The next entry is found and read in the cycle in which the one above it ends: the search goes over all entries of a warp.
// A row of `entries` has a cell {pc, rpc, mask} an entry, the lowest of the stack in the lowest bits; two are written at most.
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

  // Where the top goes if it is not split.
  wire              exits = op == EXIT;
  wire [LANES-1:0]  left = exits ? now_lanes & ~lanes : now_lanes;
  wire [LANES-1:0]  alive_1 = exits ? alive[warp] & ~lanes : alive[warp];
  wire              splits = op == BRANCH && lanes != '0 && lanes != now_lanes && target != next_pc;
  wire [31:0]       to = op == BRANCH && lanes != '0 ? target : next_pc;
  assign exit_all = exits && alive_1 == '0;
  wire              pops = op != '0 && !splits && !exit_all && (left == '0 || to == own_rpc);

  // The highest entry below the top that has lanes and has not ended.
  logic [D_BITS-1:0] found;
  logic [CELL-1:0]   uncovered;
  always_comb begin
    found = '0;
    uncovered = '0;
    for (int d = 0; d < DEPTH; d++)
      if (D_BITS'(d) < level && (row[d*CELL+:LANES] & alive_1) != '0
          && row[d*CELL+LANES+:32] != row[d*CELL+LANES+32+:32]) begin
        found = D_BITS'(d);
        uncovered = row[d*CELL+:CELL];
      end
  end

  // A split: where the paths meet, unless this one ends there anyway; the path not taken, if both have instructions.
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
