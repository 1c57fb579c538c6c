// SPDX-License-Identifier: MIT OR Apache-2.0
// Logic units that hardware blocks list in their descriptions, with one module per unit. They are synthesized
// to standard cells to measure their area.
module xor_tree #(parameter int N = 10) (input logic [N-1:0] a, output logic y);
  assign y = ^a;
endmodule
module equal #(parameter int N = 16) (input logic [N-1:0] a, b, output logic y);
  assign y = a == b;
endmodule
module less #(parameter int N = 16) (input logic [N-1:0] a, b, output logic y);
  assign y = a < b;
endmodule
module first #(parameter int N = 16) (input logic [N-1:0] a, output logic [N-1:0] y);
  assign y = a & (~a + 1'b1);
endmodule
module select #(parameter int N = 16) (input logic [8*N-1:0] a, input logic [N-1:0] s, output logic [7:0] y);
  always_comb begin
    y = '0;
    for (int i = 0; i < N; i++) y |= {8{s[i]}} & a[i*8+:8];
  end
endmodule
module decode #(parameter int N = 16) (input logic [$clog2(N)-1:0] a, input logic valid, output logic [N-1:0] y);
  assign y = N'(valid) << a;
endmodule
module add #(parameter int N = 16) (input logic [N-1:0] a, b, output logic [N-1:0] y);
  assign y = a + b;
endmodule
module count #(parameter int N = 16) (input logic [N-1:0] a, input logic up, output logic [N-1:0] y);
  assign y = a + N'(up);
endmodule
module population #(parameter int N = 16) (input logic [N-1:0] a, output logic [$clog2(N+1)-1:0] y);
  always_comb begin
    y = '0;
    for (int i = 0; i < N; i++) y += $bits(y)'(a[i]);
  end
endmodule
module times #(parameter int N = 8) (input logic [N-1:0] a, b, output logic [2*N-1:0] y);
  assign y = a * b;
endmodule
module times_100 #(parameter int N = 14) (input logic [N-1:0] a, output logic [N+6:0] y);
  assign y = (N+7)'(a) * (N+7)'(100);
endmodule
module hold #(parameter int N = 16) (input logic clk, go, input logic [N-1:0] a, output logic [N-1:0] y);
  always_ff @(posedge clk) if (go) y <= a;
endmodule
