module \$_DFF_PN0_ (input D, C, R, output Q);
  wire next = D & R;
  \$_DFF_P_ _TECHMAP_REPLACE_ (.D(next), .C(C), .Q(Q));
endmodule
module \$_DFF_PN1_ (input D, C, R, output Q);
  wire next = D | ~R;
  \$_DFF_P_ _TECHMAP_REPLACE_ (.D(next), .C(C), .Q(Q));
endmodule
