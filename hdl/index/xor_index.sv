// # XOR index unit
// Maps a line address to a set index: index bit j is the XOR of the line-address bits that row j of H
// selects. Such a matrix can express any set index that is linear over GF(2): the low address bits, the hash
// of Fermi's L1, or a remainder modulo a polynomial.
//
// | port    | dir | contract                                |
// |---------|-----|-----------------------------------------|
// | `line`  | in  | any line address                        |
// | `index` | out | combinational, below the number of sets |
//
// Row j of H occupies LINE_BITS bits from bit j*LINE_BITS on. Latency: none. The module has no registers.
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
