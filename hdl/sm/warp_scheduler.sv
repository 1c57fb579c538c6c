// # Warp scheduler
// Selects one of the warps that are ready to issue. Greedy-then-oldest keeps issuing the warp issued last
// while it is ready, else takes the one launched first. An age matrix, with one row of "is older" bits per
// warp, finds that warp without sorting. Loose round robin takes the next slot after the one issued last.
//
// In one cycle, in this order:
//
// | port       | contract                                                                                                 |
// |------------|----------------------------------------------------------------------------------------------------------|
// | 1 `pick`   | first warp of `ready` in the order of the policy, if there is one; it issues if `issues`                 |
// | 2 `launch` | one bit per slot: a warp begins there, and becomes the youngest; of several, the one in the highest slot |
//
// A warp in `ready` was launched in an earlier cycle. `ready` excludes warps whose pipe or result bus is
// busy, because the order of the other warps does not depend on them. It also excludes throttled warps.
// Several schedulers of a core, each with the `ready` of its own warps, could share `older`.
// Latency: `pick` is combinational.
module warp_scheduler #(
    parameter int WARPS = 48,
    parameter bit GREEDY_THEN_OLDEST = 1
) (
    input  logic             clk,
    input  logic             rst,
    input  logic [WARPS-1:0] ready,
    input  logic             issues,
    output logic             pick_valid,
    output logic [5:0]       pick,
    input  logic [WARPS-1:0] launch
);
  logic [5:0]       last;
  logic             greedy;
  // Bit v of row w: warp v is older than warp w.
  logic [WARPS-1:0] older [WARPS];

  // 1: pick.
  logic [WARPS-1:0] first;
  if (GREEDY_THEN_OLDEST) begin : g_oldest
    always_comb
      for (int w = 0; w < WARPS; w++)
        if (greedy && (ready & WARPS'(1) << last) != '0) first[w] = last == 6'(w);
        else first[w] = ready[w] && (older[w] & ready) == '0;
  end else begin : g_next
    wire [WARPS-1:0] behind = ready & ({WARPS{1'b1}} << last << 1);
    wire [WARPS-1:0] among = behind != '0 ? behind : ready;
    assign first = among & (~among + 1'b1);
  end
  always_comb begin
    pick = '0;
    for (int w = 0; w < WARPS; w++) if (first[w]) pick |= 6'(w);
  end
  assign pick_valid = ready != '0;
  wire issued = pick_valid && issues;
  wire [5:0] last_1 = issued ? pick : last;
  wire greedy_1 = issued || greedy;

  always_ff @(posedge clk)
    if (rst) begin
      last <= '0;
      greedy <= 0;
    end else begin
      last <= last_1;
      // A new warp in the slot issued last gets no greedy preference.
      greedy <= greedy_1 && (launch & WARPS'(1) << last_1) == '0;
    end

  // 2: launch.
  for (genvar w = 0; w < WARPS; w++) begin : g_age
    localparam logic [WARPS-1:0] OTHERS = ~(WARPS'(1) << w);
    localparam logic [WARPS-1:0] ABOVE = {WARPS{1'b1}} << w << 1;
    always_ff @(posedge clk)
      if (rst || !GREEDY_THEN_OLDEST) older[w] <= '0;
      else if (launch[w]) older[w] <= OTHERS & ~(launch & ABOVE);
      else older[w] <= older[w] & ~launch;
  end
endmodule
