// SPDX-License-Identifier: MIT OR Apache-2.0
// Testbench that drives {module} for {cycles} cycles. Each row of {file} holds the data of one cycle. The
// inputs are in the lowest bits, then come the expected outputs, then a mask of the output bits to compare.
module bench;
  logic [{in}+2*{out}-1:0] rows [{cycles}];
  logic [{in}-1:0]  in = '0;
  wire  [{out}-1:0] out;
  logic [{out}-1:0] expected, looked_at;
  logic clk = 0, rst_n = 0;
  int   cycle = 0, wrong = 0;

  {module} #(
      {parameters}
  ) dut (
      {pins}
  );

  task check(input string name, input int at, input int width);
    for (int bit_at = at; bit_at < at + width; bit_at++)
      if (looked_at[bit_at] && out[bit_at] !== expected[bit_at]) begin
        $display("cycle %0d: bit %0d of %s is %b, expected %b", cycle, bit_at - at, name, out[bit_at], expected[bit_at]);
        wrong++;
      end
  endtask

  initial begin
    $readmemh("{file}", rows);
    if (^rows[0] === 1'bx) $fatal(1, "{file} cannot be read");
{contents}    #5 clk = 1;
    #5 clk = 0;
    rst_n = 1;
    for (cycle = 0; cycle < {cycles}; cycle++) begin
      {looked_at, expected, in} = rows[cycle];
      #5;
{checks}
      clk = 1;
      #5 clk = 0;
    end
    if (wrong != 0) $fatal(1, "%0d bits differ", wrong);
    $display("%0d cycles agree", cycle);
    $finish;
  end
endmodule
