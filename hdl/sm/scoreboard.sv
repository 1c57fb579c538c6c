// # Scoreboard
// Tracks the registers of each warp that have a pending write, and detects hazards. The head instruction of a
// warp's buffer has a hazard while it reads or writes a register with a pending write. The hazard bits are
// registers, so that schedulers see all warps in one mask. A warp's bits are updated only when it gets a
// result or a new head.
//
// In one cycle, in this order; each port is used at most once, and sees the results of those before it:
//
// | port        | contract                                                                                                            |
// |-------------|---------------------------------------------------------------------------------------------------------------------|
// | 1 `reserve` | the head of a warp, which had no hazard, is issued and will write registers; `reserve_memory` if from device memory |
// | 2 `release` | registers of a warp were written; `release_uses` are the registers of its head, if it has one                       |
// | 3 `show`    | a warp without a head gets one, which uses registers                                                                |
//
// A core that writes several results per cycle has several `release` ports. If the successor of an issued
// head is already there, it is shown in the same cycle. The bits are the same whether it is shown before or
// after a release.
// A set of registers has one bit for each of 256 words in its lowest bits, and one for each of 32 predicates
// above.
// Latency: `hazard` and `hazard_memory` are registers.
module scoreboard #(
    parameter int WARPS = 48,
    localparam int W_BITS = WARPS < 2 ? 1 : $clog2(WARPS)
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              reserve_valid,
    input  logic [W_BITS-1:0] reserve_warp,
    input  logic [287:0]      reserve_writes,
    input  logic              reserve_memory,
    input  logic              release_valid,
    input  logic [W_BITS-1:0] release_warp,
    input  logic [287:0]      release_writes,
    input  logic              release_memory,
    input  logic [287:0]      release_uses,
    input  logic              show_valid,
    input  logic [W_BITS-1:0] show_warp,
    input  logic [287:0]      show_uses,
    output logic [WARPS-1:0]  must_wait,
    output logic [WARPS-1:0]  wait_for_memory,
    output logic [WARPS-1:0]  is_clear
);
  logic [WARPS-1:0] hazard, hazard_memory;
  assign must_wait = hazard;
  assign wait_for_memory = hazard_memory;

  // Registers with a pending write, before and after the updates of the cycle.
  logic [287:0] on_their_way [WARPS], of_memory [WARPS], on_their_way_2 [WARPS], of_memory_2 [WARPS];
  if (1) begin : pending
    logic [63:0] words0 [WARPS], words1 [WARPS], words2 [WARPS], words3 [WARPS];
    logic [31:0] preds  [WARPS];
    for (genvar w = 0; w < WARPS; w++) begin : g_warp
      assign on_their_way[w] = {preds[w], words3[w], words2[w], words1[w], words0[w]};
      always_ff @(posedge clk)
        {preds[w], words3[w], words2[w], words1[w], words0[w]} <= rst ? '0 : on_their_way_2[w];
    end
  end
  if (1) begin : memory
    logic [63:0] words0 [WARPS], words1 [WARPS], words2 [WARPS], words3 [WARPS];
    logic [31:0] preds  [WARPS];
    for (genvar w = 0; w < WARPS; w++) begin : g_warp
      assign of_memory[w] = {preds[w], words3[w], words2[w], words1[w], words0[w]};
      always_ff @(posedge clk)
        {preds[w], words3[w], words2[w], words1[w], words0[w]} <= rst ? '0 : of_memory_2[w];
    end
  end

  for (genvar w = 0; w < WARPS; w++) begin : g_warp
    wire reserves = reserve_valid && reserve_warp == W_BITS'(w);
    wire releases = release_valid && release_warp == W_BITS'(w);
    wire shows = show_valid && show_warp == W_BITS'(w);
    assign is_clear[w] = on_their_way[w] == '0;

    // 1: reserve. 2: release.
    wire [287:0] all_1 = on_their_way[w] | (reserves ? reserve_writes : '0);
    wire [287:0] memory_1 = of_memory[w] | (reserves && reserve_memory ? reserve_writes : '0);
    assign on_their_way_2[w] = all_1 & ~(releases ? release_writes : '0);
    assign of_memory_2[w] = memory_1 & ~(releases && release_memory ? release_writes : '0);

    // Registers of the head. A release can only clear its hazard; only a new head can have a new one.
    wire [287:0] uses = shows ? show_uses : release_uses;
    wire         waits = (on_their_way_2[w] & uses) != '0;
    wire         waits_for_memory = (of_memory_2[w] & uses) != '0;
    always_ff @(posedge clk)
      if (rst) begin
        hazard[w] <= 0;
        hazard_memory[w] <= 0;
      end else if (shows) begin
        hazard[w] <= waits;
        hazard_memory[w] <= waits && waits_for_memory;
      end else if (releases) begin
        hazard[w] <= hazard[w] && waits;
        hazard_memory[w] <= hazard_memory[w] && waits_for_memory;
      end
  end
endmodule
