// SPDX-License-Identifier: MIT OR Apache-2.0
// # Line address modulo an irreducible polynomial
// Computes the pseudo-random interleaved cache index (PRIC) of khairy2015 section 4.3. It is an XOR index
// unit whose matrix follows from the polynomial alone. Column k of H is x^k modulo the polynomial, computed
// during elaboration.
//
// | port      | dir | contract                                |
// |-----------|-----|-----------------------------------------|
// | `line_i`  | in  | any line address                        |
// | `index_o` | out | combinational, below the number of sets |
//
// POLYNOMIAL has degree INDEX_BITS; its bit k is the coefficient of x^k. The line address is the byte address
// without its lowest OFFSET_BITS bits. The index ignores the bits of the byte address from bit ADDR_BITS on.
// Latency: none. The module has no registers.
module ws_index_i_poly #(
    parameter int LINE_BITS = 25,
    parameter int OFFSET_BITS = 7,
    parameter int ADDR_BITS = 32,
    parameter int INDEX_BITS = 5,
    parameter int POLYNOMIAL = 37,
    parameter bit REVERSED = 0
) (
    input  logic [LINE_BITS-1:0]  line_i,
    output logic [INDEX_BITS-1:0] index_o
);
`ifndef __ICARUS__  // Icarus 11 has no elaboration tasks.
  if (INDEX_BITS < 1 || INDEX_BITS > 30) begin : g_refuse_index_bits
    $error("INDEX_BITS is %0d, expected 1 to 30", INDEX_BITS);
  end
  if (POLYNOMIAL >> INDEX_BITS != 1) begin : g_refuse_polynomial
    $error("POLYNOMIAL is %0d, expected a polynomial of degree INDEX_BITS", POLYNOMIAL);
  end
  if (LINE_BITS < 1) begin : g_refuse_line_bits
    $error("LINE_BITS is %0d, expected 1 or more", LINE_BITS);
  end
  if (OFFSET_BITS < 0) begin : g_refuse_offset_bits
    $error("OFFSET_BITS is %0d, expected 0 or more", OFFSET_BITS);
  end
  if (ADDR_BITS <= OFFSET_BITS) begin : g_refuse_addr_bits
    $error("ADDR_BITS is %0d, expected more than OFFSET_BITS", ADDR_BITS);
  end
`endif

  function automatic [INDEX_BITS*LINE_BITS-1:0] rows();
    logic [INDEX_BITS:0] power;
    rows = '0;
    power = 1;
    for (int k = 0; k < LINE_BITS; k++) begin
      for (int j = 0; j < INDEX_BITS; j++)
        rows[(REVERSED ? INDEX_BITS-1-j : j)*LINE_BITS+k] = power[j] & (k + OFFSET_BITS < ADDR_BITS);
      power = power << 1;
      if (power[INDEX_BITS]) power = power ^ POLYNOMIAL[INDEX_BITS:0];
    end
  endfunction

  ws_index_xor_index #(
      .LINE_BITS(LINE_BITS), .INDEX_BITS(INDEX_BITS), .H(rows())
  ) unit (
      .line_i, .index_o
  );
endmodule
