// Replaces each asynchronous reset by a synchronous one, which is a gate in front of a flip-flop without
// reset. The standard-cell library has no flip-flops with reset.
module \$adff (CLK, ARST, D, Q);
  parameter WIDTH = 0;
  parameter CLK_POLARITY = 1;
  parameter ARST_POLARITY = 1;
  parameter ARST_VALUE = 0;
  input CLK, ARST;
  input [WIDTH-1:0] D;
  output [WIDTH-1:0] Q;
  \$sdff #(.WIDTH(WIDTH), .CLK_POLARITY(CLK_POLARITY), .SRST_POLARITY(ARST_POLARITY), .SRST_VALUE(ARST_VALUE))
    _TECHMAP_REPLACE_ (.CLK(CLK), .SRST(ARST), .D(D), .Q(Q));
endmodule
