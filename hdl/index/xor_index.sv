// # XOR index unit
// Turns a line address into a set index: index bit j is the exclusive or of the line-address bits that row j of H
// selects. Any set index that is linear over GF(2) is such a matrix: the low bits, the hash of Fermi's L1, a remainder
// modulo a polynomial.
//
// | port    | dir | contract                                        |
// |---------|-----|-------------------------------------------------|
// | `line`  | in  | any                                             |
// | `index` | out | combinational, below the number of sets          |
//
// Row j of H stands in bits j*LINE_BITS and up. Latency: none. No registers.
module xor_index #(
    parameter int LINE_BITS = 25,
    parameter int INDEX_BITS = 5,
    parameter logic [INDEX_BITS*LINE_BITS-1:0] H = '0
) (
    input  logic [LINE_BITS-1:0]  line,
    output logic [INDEX_BITS-1:0] index
);
  for (genvar j = 0; j < INDEX_BITS; j++) begin : g_bit
    assign index[j] = ^(line & H[j*LINE_BITS+:LINE_BITS]);
  end
endmodule
