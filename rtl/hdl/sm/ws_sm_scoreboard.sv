// SPDX-License-Identifier: MIT OR Apache-2.0
// # Scoreboard
// Tracks the registers of each warp that have a pending write, and detects hazards. The head instruction of a
// warp's instruction buffer has a hazard if it reads or writes a register with a pending write. The hazard
// bits are registers, so that schedulers see all warps in one mask. The bits of a warp are updated only when
// one of its results is written or when it gets a new head instruction.
//
// The ports act in the order of their numbers within one cycle. Each port is used at most once per cycle and
// sees the results of the ports before it:
//
// | port        | contract                                                                                                              |
// |-------------|-----------------------------------------------------------------------------------------------------------------------|
// | 1 `reserve` | the head of a warp, which had no hazard, is issued and will write registers; `reserve_memory_i` if from device memory |
// | 2 `release` | registers of a warp were written; `release_uses_i` are the registers of its head, if it has one                       |
// | 3 `show`    | a warp without a head gets one, which uses registers                                                                  |
//
// A core that writes several results per cycle has several `release` ports. If the next instruction is
// already in the buffer when the head is issued, `show` presents it in the same cycle. The hazard bits are
// the same whether `show` comes before or after a release. In a set of registers, the lowest 256 bits stand
// for words, and the 32 bits above them for predicates.
// Latency: `hazard_q` and `hazard_memory_q` are registers.
module ws_sm_scoreboard #(
    parameter int WARPS = 48,
    localparam int W_BITS = WARPS < 2 ? 1 : $clog2(WARPS)
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic              reserve_valid_i,
    input  logic [W_BITS-1:0] reserve_warp_i,
    input  logic [287:0]      reserve_writes_i,
    input  logic              reserve_memory_i,
    input  logic              release_valid_i,
    input  logic [W_BITS-1:0] release_warp_i,
    input  logic [287:0]      release_writes_i,
    input  logic              release_memory_i,
    input  logic [287:0]      release_uses_i,
    input  logic              show_valid_i,
    input  logic [W_BITS-1:0] show_warp_i,
    input  logic [287:0]      show_uses_i,
    output logic [WARPS-1:0]  must_wait_o,
    output logic [WARPS-1:0]  wait_for_memory_o,
    output logic [WARPS-1:0]  is_clear_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (WARPS < 1) begin : g_refuse_warps
    $error("WARPS is %0d, expected 1 or more", WARPS);
  end
`endif

  logic [WARPS-1:0] hazard_q, hazard_memory_q;
  assign must_wait_o = hazard_q;
  assign wait_for_memory_o = hazard_memory_q;

  // For each warp, set of the registers with a pending write: before the updates of this cycle, and after
  // them (`_2`).
  logic [287:0] on_their_way [WARPS], of_memory [WARPS], on_their_way_2 [WARPS], of_memory_2 [WARPS];
  if (1) begin : pending
    logic [63:0] words0_q [WARPS], words1_q [WARPS], words2_q [WARPS], words3_q [WARPS];
    logic [31:0] preds_q  [WARPS];
    for (genvar w = 0; w < WARPS; w++) begin : g_warp
      assign on_their_way[w] = {preds_q[w], words3_q[w], words2_q[w], words1_q[w], words0_q[w]};
      always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) {preds_q[w], words3_q[w], words2_q[w], words1_q[w], words0_q[w]} <= '0;
        else {preds_q[w], words3_q[w], words2_q[w], words1_q[w], words0_q[w]} <= on_their_way_2[w];
    end
  end
  if (1) begin : memory
    logic [63:0] words0_q [WARPS], words1_q [WARPS], words2_q [WARPS], words3_q [WARPS];
    logic [31:0] preds_q  [WARPS];
    for (genvar w = 0; w < WARPS; w++) begin : g_warp
      assign of_memory[w] = {preds_q[w], words3_q[w], words2_q[w], words1_q[w], words0_q[w]};
      always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) {preds_q[w], words3_q[w], words2_q[w], words1_q[w], words0_q[w]} <= '0;
        else {preds_q[w], words3_q[w], words2_q[w], words1_q[w], words0_q[w]} <= of_memory_2[w];
    end
  end

  for (genvar w = 0; w < WARPS; w++) begin : g_warp
    wire reserves = reserve_valid_i && reserve_warp_i == W_BITS'(w);
    wire releases = release_valid_i && release_warp_i == W_BITS'(w);
    wire shows = show_valid_i && show_warp_i == W_BITS'(w);
    assign is_clear_o[w] = on_their_way[w] == '0;

    // Step 1, port `reserve`: adds the registers that the issued head will write. Step 2, port `release`:
    // removes the registers that were written.
    wire [287:0] all_1 = on_their_way[w] | (reserves ? reserve_writes_i : '0);
    wire [287:0] memory_1 = of_memory[w] | (reserves && reserve_memory_i ? reserve_writes_i : '0);
    assign on_their_way_2[w] = all_1 & ~(releases ? release_writes_i : '0);
    assign of_memory_2[w] = memory_1 & ~(releases && release_memory_i ? release_writes_i : '0);

    // Registers that the head instruction of the warp uses. A release can only clear the hazard of a head;
    // only a new head can create a hazard.
    wire [287:0] uses = shows ? show_uses_i : release_uses_i;
    wire         waits = (on_their_way_2[w] & uses) != '0;
    wire         waits_for_memory = (of_memory_2[w] & uses) != '0;
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) begin
        hazard_q[w] <= 0;
        hazard_memory_q[w] <= 0;
      end else if (shows) begin
        hazard_q[w] <= waits;
        hazard_memory_q[w] <= waits && waits_for_memory;
      end else if (releases) begin
        hazard_q[w] <= hazard_q[w] && waits;
        hazard_memory_q[w] <= hazard_memory_q[w] && waits_for_memory;
      end
  end
endmodule
