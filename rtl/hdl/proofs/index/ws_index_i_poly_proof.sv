// SPDX-License-Identifier: MIT OR Apache-2.0
// # Proof: the index is the remainder of a long division
// Holds for every line address. The division works as on paper, from the top bit down: if the leading bit of
// the remainder is set, the polynomial is subtracted. The proof computes no masks and no powers of x. `clk_i`
// is used only for waveforms.
module ws_index_i_poly_proof #(
    parameter int LINE_BITS = 25,
    parameter int OFFSET_BITS = 7,
    parameter int ADDR_BITS = 32,
    parameter int INDEX_BITS = 5,
    parameter int POLYNOMIAL = 37,
    parameter bit REVERSED = 0
) (
    input logic                 clk_i,
    input logic [LINE_BITS-1:0] line_i
);
  logic [INDEX_BITS-1:0] index_o;
  ws_index_i_poly #(
      .LINE_BITS(LINE_BITS), .OFFSET_BITS(OFFSET_BITS), .ADDR_BITS(ADDR_BITS), .INDEX_BITS(INDEX_BITS),
      .POLYNOMIAL(POLYNOMIAL), .REVERSED(REVERSED)
  ) dut (.*);

  // Number of upper line-address bits that the index ignores: the bits of the byte address from bit ADDR_BITS
  // on.
  localparam int OVER = OFFSET_BITS + LINE_BITS > ADDR_BITS ? OFFSET_BITS + LINE_BITS - ADDR_BITS : 0;
  logic [LINE_BITS-1:0]  left;
  logic [INDEX_BITS-1:0] remainder;
  always_comb begin
    left = line_i << OVER >> OVER;
    for (int k = LINE_BITS - 1; k >= INDEX_BITS; k--)
      if (left[k]) left = left ^ LINE_BITS'(POLYNOMIAL) << (k - INDEX_BITS);
    for (int j = 0; j < INDEX_BITS; j++)
      remainder[REVERSED ? INDEX_BITS-1-j : j] = left[j];
    is_remainder : assert (index_o == remainder);
  end
endmodule
