// SPDX-License-Identifier: MIT OR Apache-2.0
// # Warp scheduler
// Selects one of the warps that are ready to issue. The greedy-then-oldest policy selects the warp that
// issued last, as long as this warp is ready; otherwise it selects the ready warp that was launched first. An
// age matrix, with one row of "is older" bits per warp, finds the oldest warp without sorting. The
// loose-round-robin policy selects the next ready warp after the slot that issued last.
//
// The ports act in the order of their numbers within one cycle:
//
// | port         | contract                                                                                                 |
// |--------------|----------------------------------------------------------------------------------------------------------|
// | 1 `pick_o`   | first warp of `ready_i` in the order of the policy, if there is one; it issues if `issues_i`             |
// | 2 `launch_i` | one bit per slot: a warp begins there, and becomes the youngest; of several, the one in the highest slot |
//
// Every warp in `ready_i` was launched in an earlier cycle. `ready_i` excludes warps whose pipe or result bus
// is busy, and throttled warps. This is possible because excluded warps do not affect the order of the other
// warps. Several schedulers of a core, each with the `ready_i` of its own warps, could share `older_q`.
// Latency: `pick_o` is combinational.
module ws_sm_warp_scheduler #(
    parameter int WARPS = 48,
    parameter bit GREEDY_THEN_OLDEST = 1
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [WARPS-1:0] ready_i,
    input  logic             issues_i,
    output logic             pick_valid_o,
    output logic [5:0]       pick_o,
    input  logic [WARPS-1:0] launch_i
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (WARPS < 1 || WARPS > 64) begin : g_refuse_warps
    $error("WARPS is %0d, expected 1 to 64", WARPS);
  end
`endif

  logic [5:0]       last_q;
  logic             greedy_q;
  // Age matrix: bit v of row w is 1 if warp v is older than warp w.
  logic [WARPS-1:0] older_q [WARPS];

  // Step 1, port `pick_o`: selects the first ready warp in the order of the policy.
  logic [WARPS-1:0] first;
  if (GREEDY_THEN_OLDEST) begin : g_oldest
    always_comb
      for (int w = 0; w < WARPS; w++)
        if (greedy_q && (ready_i & WARPS'(1) << last_q) != '0) first[w] = last_q == 6'(w);
        else first[w] = ready_i[w] && (older_q[w] & ready_i) == '0;
  end else begin : g_next
    wire [WARPS-1:0] behind = ready_i & ({WARPS{1'b1}} << last_q << 1);
    wire [WARPS-1:0] among = behind != '0 ? behind : ready_i;
    assign first = among & (~among + 1'b1);
  end
  always_comb begin
    pick_o = '0;
    for (int w = 0; w < WARPS; w++) if (first[w]) pick_o |= 6'(w);
  end
  assign pick_valid_o = ready_i != '0;
  wire issued = pick_valid_o && issues_i;
  wire [5:0] last_1 = issued ? pick_o : last_q;
  wire greedy_1 = issued || greedy_q;

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      last_q <= '0;
      greedy_q <= 0;
    end else begin
      last_q <= last_1;
      // If a new warp starts in the slot that issued last, it gets no greedy preference.
      greedy_q <= greedy_1 && (launch_i & WARPS'(1) << last_1) == '0;
    end

  // Step 2, port `launch_i`: makes the launched warps the youngest ones in the age matrix.
  for (genvar w = 0; w < WARPS; w++) begin : g_age
    localparam logic [WARPS-1:0] OTHERS = ~(WARPS'(1) << w);
    localparam logic [WARPS-1:0] ABOVE = {WARPS{1'b1}} << w << 1;
    always_ff @(posedge clk_i or negedge rst_ni)
      if (!rst_ni) older_q[w] <= '0;
      else if (!GREEDY_THEN_OLDEST) older_q[w] <= '0;
      else if (launch_i[w]) older_q[w] <= OTHERS & ~(launch_i & ABOVE);
      else older_q[w] <= older_q[w] & ~launch_i;
  end
endmodule
