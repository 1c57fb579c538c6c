#!/usr/bin/env python3
"""Records the results of single PTX instructions on a GPU, as a reference for implementations of PTX.

usage: forms.py [--out FOLDER] [--budget SECONDS]     on a GPU: FOLDER/forms.jsonl.xz
       forms.py --list                                the statements
       forms.py --write FOLDER                        without a GPU: one PTX file per form

A form is one or more PTX statements with operands {a}, {b}, {c} and a result {d}. Each of 512 threads has its own operands. The first are pairs of
values at which the arithmetic of the type changes (zeros, subnormals, ends of ranges, infinities, NaN), then random bits, then random values of medium
size. forms.jsonl.xz has one line with the PTX around a form, one for each class of operands (three columns of 512), and one for each form: its
statements, the type of its result, the classes of its operands, and the 512 results (as 64-bit numbers), or the message with which the driver's
compiler rejects it.
"""

import argparse
import ctypes
import itertools
import json
import lzma
import os
import sys
import time
from pathlib import Path

THREADS = 512
PAIRS = 256

HEAD = ".version 8.7\n.target {target}\n.address_size 64\n"
BODY = """.visible .entry form(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 out)
{{
	.reg .b64 %at, %pa, %pb, %pc, %po, %a64, %b64, %c64, %d64, u0, u1;
	.reg .b32 %i, %j, %k, %a32, %b32, %c32, %d32, t0, t1, t2, t3;
	.reg .b16 %a16, %b16, %c16, %d16, h0, h1;
	.reg .pred %dp, p, q;
	.shared .align 16 .b8 room[4096];
	ld.param.u64 %pa, [a];
	ld.param.u64 %pb, [b];
	ld.param.u64 %pc, [c];
	ld.param.u64 %po, [out];
	mov.u32 %i, %ctaid.x;
	mov.u32 %j, %ntid.x;
	mov.u32 %k, %tid.x;
	mad.lo.s32 %i, %i, %j, %k;
	mul.wide.u32 %at, %i, 8;
	add.s64 %pa, %pa, %at;
	add.s64 %pb, %pb, %at;
	add.s64 %pc, %pc, %at;
	add.s64 %po, %po, %at;
	ld.global.b64 %a64, [%pa];
	ld.global.b64 %b64, [%pb];
	ld.global.b64 %c64, [%pc];
	cvt.u32.u64 %a32, %a64;
	cvt.u32.u64 %b32, %b64;
	cvt.u32.u64 %c32, %c64;
	cvt.u16.u64 %a16, %a64;
	cvt.u16.u64 %b16, %b64;
	cvt.u16.u64 %c16, %c64;
	mov.b64 %d64, 0;
	mov.b32 %d32, 0;
	mov.b16 %d16, 0;
	{statement}
	{widen}
	st.global.b64 [%po], %d64;
	ret;
}}
"""
WIDEN = {64: "", 32: "cvt.u64.u32 %d64, %d32;", 16: "cvt.u64.u16 %d64, %d16;", 1: "selp.b64 %d64, 1, 0, %dp;"}
RESULT = {64: "%d64", 32: "%d32", 16: "%d16", 1: "%dp"}

# Bits of a type, and the class of values for its operands.
TYPES = {
    "u8": (16, "i8"), "s8": (16, "i8"), "u16": (16, "i16"), "s16": (16, "i16"), "u32": (32, "i32"), "s32": (32, "i32"), "u64": (64, "i64"), "s64": (64, "i64"),
    "b16": (16, "i16"), "b32": (32, "i32"), "b64": (64, "i64"), "f16": (16, "f16"), "bf16": (16, "bf16"), "f32": (32, "f32"), "f64": (64, "f64"),
    "f16x2": (32, "f16x2"), "bf16x2": (32, "bf16x2"), "shift": (32, "shift"), "e4m3x2": (16, "i16"), "e5m2x2": (16, "i16"),
}  # fmt: skip
INTEGERS = ["u16", "u32", "u64", "s16", "s32", "s64"]
WIDE = ["u32", "s32", "u64", "s64"]
ROUND = [".rn", ".rz", ".rm", ".rp"]
VIDEO = ["u32", "s32"]
COMPARE = {
    "s": ["eq", "ne", "lt", "le", "gt", "ge"],
    "u": ["eq", "ne", "lo", "ls", "hi", "hs"],
    "b": ["eq", "ne"],
    "f": ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"],
}


def options(*groups):
    return ["".join(words) for words in itertools.product(*groups)]


def forms():
    """name: (statement, bits of the result, classes of a, b, c, type of the result)"""
    found = {}

    def add(statement, result, *operands, name=None):
        """`statement`: the text; {d}, {a}, {b}, {c} are replaced by registers of the types given."""
        places = {"d": RESULT[result if isinstance(result, int) else TYPES[result][0]]}
        classes = []
        for letter, kind in zip("abc", operands):
            bits, values = TYPES[kind]
            places[letter] = f"%{letter}{bits}"
            classes.append(values)
        text = statement.format(**places)
        bits = result if isinstance(result, int) else TYPES[result][0]
        name = name or statement.split(" ")[0]
        assert found.get(name, (text,))[0] == text, name
        found[name] = (text, bits, classes, "b64" if result == 64 else "pred" if result == 1 else result)

    def plain(words, kind, operands, result=None, types=None, suffix=""):
        letters = ", ".join("{" + letter + "}" for letter in "abc"[:operands])
        for word in words:
            add(f"{word}.{kind} {{d}}, {letters};", result or kind, *(types or [kind] * operands), name=f"{word}.{kind}{suffix}")

    zero = ["", ".ftz"]
    for t in INTEGERS:
        plain(["add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"], t, 2)
        plain(["mad.lo", "mad.hi", "sad"], t, 3)
    for t, to in (("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")):
        plain(["mul.wide"], t, 2, to)
        plain(["mad.wide"], t, 3, to, [t, t, to])
    plain(["add.sat", "sub.sat"], "s32", 2)
    plain(["mad.hi.sat"], "s32", 3)
    for t in VIDEO:
        plain(["mul24.lo", "mul24.hi"], t, 2)
        plain(["mad24.lo", "mad24.hi"], t, 3)
    plain(["mad24.hi.sat"], "s32", 3)
    for t in ("s16", "s32", "s64"):
        plain(["abs", "neg"], t, 1)
    for t in ("b16", "b32", "b64"):
        plain(["and", "or", "xor"], t, 2)
        plain(["not", "cnot"], t, 1)
        plain(["shl"], t, 2, t, [t, "shift"])
    for t in INTEGERS:
        plain(["shr"], t, 2, t, [t, "shift"])
    for t in ("b32", "b64"):
        plain(["popc", "clz"], t, 1, "b32")
        plain(["brev"], t, 1)
    for t in WIDE:
        plain(["bfind", "bfind.shiftamt"], t, 1, "b32")
        plain(["bfe"], t, 3, t, [t, "shift", "shift"])
    for t in ("b32", "b64"):
        add(f"bfi.{t} {{d}}, {{a}}, {{b}}, {{c}}, 9;", t, t, t, "shift")
        add(f"bfi.{t} {{d}}, {{a}}, {{b}}, 5, {{c}};", t, t, t, "shift", name=f"bfi.{t}.length")
    plain(["bmsk.clamp", "bmsk.wrap"], "b32", 2, "b32", ["shift", "shift"])
    for t in VIDEO:
        plain(["szext.clamp", "szext.wrap"], t, 2, t, [t, "shift"])
    plain(["fns"], "b32", 3, "b32", ["b32", "shift", "shift"])
    plain(options(["shf"], [".l", ".r"], [".clamp", ".wrap"]), "b32", 3, "b32", ["b32", "b32", "shift"])
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        add(f"prmt.b32{mode} {{d}}, {{a}}, {{b}}, {{c}};", "b32", "b32", "b32", "b32")
    for table in (0, 0x80, 0xE8, 0x96, 0xCA, 0x1B, 0xFE):
        add(f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table};", "b32", "b32", "b32", "b32", name=f"lop3.{table:#x}")
    for ta, tb in itertools.product(VIDEO, VIDEO):
        add(f"dp4a.{ta}.{tb} {{d}}, {{a}}, {{b}}, {{c}};", "b32", "b32", "b32", "b32")
        for half in ("lo", "hi"):
            add(f"dp2a.{half}.{ta}.{tb} {{d}}, {{a}}, {{b}}, {{c}};", "b32", "b32", "b32", "b32")
    for t in WIDE:
        bits = TYPES[t][0]
        for first, then, last in (("add.cc", "addc", "{c}"), ("sub.cc", "subc", "{c}"), ("mad.lo.cc", "madc.hi", "{b}, {c}"), ("mad.hi.cc", "madc.lo", "{b}, {c}")):
            scratch = "t0" if bits == 32 else "u0"
            third = ", {c}" if first.startswith("mad") else ""
            add(f"{first}.{t} {scratch}, {{a}}, {{b}}{third}; {then}.{t} {{d}}, {{a}}, {last};", t, t, t, t, name=f"{first}.{t}+{then}")

    # Video instructions, with selected bytes and halves.
    for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
        for td, ta, tb in itertools.product(VIDEO, VIDEO, VIDEO):
            for sat in ("", ".sat"):
                add(f"{op}.{td}.{ta}.{tb}{sat} {{d}}, {{a}}.b1, {{b}}.h1;", td, ta, tb)
                add(f"{op}.{td}.{ta}.{tb}{sat}.add {{d}}, {{a}}, {{b}}.b2, {{c}};", td, ta, tb, td, name=f"{op}.{td}.{ta}.{tb}{sat}.add")
    for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg"):
        for lanes in (2, 4):
            for td, ta, tb in itertools.product(VIDEO, VIDEO, VIDEO):
                for tail in (["", ".add"] if op == "vavrg" else ["", ".sat", ".add"]):
                    add(f"{op}{lanes}.{td}.{ta}.{tb}{tail} {{d}}, {{a}}, {{b}}, {{c}};", td, ta, tb, td)
    for ta, tb in itertools.product(VIDEO, VIDEO):
        for cmp in COMPARE["s"]:
            add(f"vset.{ta}.{tb}.{cmp} {{d}}, {{a}}.b0, {{b}}.h0;", "u32", ta, tb)
            add(f"vset4.{ta}.{tb}.{cmp} {{d}}, {{a}}, {{b}}, {{c}};", "u32", ta, tb, "u32")

    # Floating point.
    for op in ("add", "sub", "mul"):
        plain(options([op], ["", *ROUND], zero, ["", ".sat"]), "f32", 2)
        plain(options([op], ["", *ROUND]), "f64", 2)
        for t in ("f16", "f16x2"):
            plain(options([op], ["", ".rn"], zero, ["", ".sat"]), t, 2)
        for t in ("bf16", "bf16x2"):
            plain(options([op], ["", ".rn"]), t, 2)
    plain(options(["fma"], ROUND, zero, ["", ".sat"]), "f32", 3)
    plain(options(["mad"], ROUND, zero, ["", ".sat"]), "f32", 3)
    plain(options(["fma"], ROUND), "f64", 3)
    for t in ("f16", "f16x2"):
        plain(options(["fma.rn"], zero, ["", ".sat", ".relu"]), t, 3)
    for t in ("bf16", "bf16x2"):
        plain(options(["fma.rn"], ["", ".relu"]), t, 3)
    for op in ("min", "max"):
        plain(options([op], zero, ["", ".NaN"], ["", ".xorsign.abs"]), "f32", 2)
        plain(options([op], zero, ["", ".NaN"]), "f32", 3, suffix=" of three")
        plain([op], "f64", 2)
        for t in ("f16", "f16x2"):
            plain(options([op], zero, ["", ".NaN"], ["", ".xorsign.abs"]), t, 2)
        for t in ("bf16", "bf16x2"):
            plain(options([op], ["", ".NaN"], ["", ".xorsign.abs"]), t, 2)
    for op in ("abs", "neg"):
        plain(options([op], zero), "f32", 1)
        plain([op], "f64", 1)
        for t in ("f16", "f16x2"):
            plain(options([op], zero), t, 1)
        for t in ("bf16", "bf16x2"):
            plain([op], t, 1)
    plain(["copysign"], "f32", 2)
    plain(["copysign"], "f64", 2)
    for t, kind in itertools.product(("f32", "f64"), ("finite", "infinite", "number", "notanumber", "normal", "subnormal")):
        add(f"testp.{kind}.{t} {{d}}, {{a}};", 1, t)
    plain(options(["div"], [".approx", ".full", *ROUND], zero), "f32", 2)
    plain(options(["div"], ROUND), "f64", 2)
    for op in ("rcp", "sqrt"):
        plain(options([op], [".approx", *ROUND], zero), "f32", 1)
        plain(options([op], ROUND), "f64", 1)
    plain(["rcp.approx.ftz", "rsqrt.approx.ftz", "rsqrt.approx"], "f64", 1)
    for op in ("rsqrt", "sin", "cos", "ex2", "lg2"):
        plain(options([op], [".approx"], zero), "f32", 1)
    for t in ("f16", "f16x2"):
        plain(options(["ex2.approx"], zero), t, 1)
    for t in ("bf16", "bf16x2"):
        plain(["ex2.approx.ftz"], t, 1)
    for t in ("f32", "f16", "f16x2", "bf16", "bf16x2"):
        plain(["tanh.approx"], t, 1)

    # Comparisons.
    for t in (*INTEGERS, "b16", "b32", "b64", "f16", "bf16", "f32", "f64"):
        for cmp in COMPARE["f" if "f" in t else t[0]]:
            add(f"setp.{cmp}.{t} {{d}}, {{a}}, {{b}};", 1, t, t)
        if t in ("f32", "f16"):
            for cmp in COMPARE["f"]:
                add(f"setp.{cmp}.ftz.{t} {{d}}, {{a}}, {{b}};", 1, t, t)
    for logic in ("and", "or", "xor"):
        add(f"setp.lt.s32 p, {{b}}, {{c}}; setp.gt.{logic}.s32 {{d}}, {{a}}, {{b}}, !p;", 1, "s32", "s32", "s32", name=f"setp.gt.{logic}.s32")
    for t in ("f16x2", "bf16x2"):
        for cmp in ("eq", "lt", "geu", "nan"):
            add(f"setp.{cmp}.{t} p|q, {{a}}, {{b}}; selp.b32 t0, 1, 0, p; selp.b32 t1, 2, 0, q; or.b32 {{d}}, t0, t1;", "b32", t, t)
    for td in ("u32", "s32", "f32", "u16", "f16", "bf16"):
        for t in ("s32", "u64", "f32", "f64", "f16", "bf16"):
            for cmp in ("lt", "ne") + (("geu", "nan") if "f" in t else ()):
                add(f"set.{cmp}.{td}.{t} {{d}}, {{a}}, {{b}};", td, t, t)
    for t in ("b16", "b32", "b64", "f32", "f64"):
        add(f"slct.{t}.s32 {{d}}, {{a}}, {{b}}, {{c}};", t, t, t, "s32")
        for z in zero:
            add(f"slct{z}.{t}.f32 {{d}}, {{a}}, {{b}}, {{c}};", t, t, t, "f32")

    # Conversions.
    whole = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
    real = ["f16", "bf16", "f32", "f64"]
    for to, of in itertools.product(whole, whole):
        for sat in ("", ".sat"):
            add(f"cvt{sat}.{to}.{of} {{d}}, {{a}};", to, of)
    for to, of in itertools.product(whole, real):
        for mode, z, sat in itertools.product((".rni", ".rzi", ".rmi", ".rpi"), zero if of == "f32" else [""], ("", ".sat")):
            add(f"cvt{mode}{z}{sat}.{to}.{of} {{d}}, {{a}};", to, of)
    for to, of in itertools.product(real, whole):
        for mode, sat in itertools.product(ROUND, ("", ".sat")):
            add(f"cvt{mode}{sat}.{to}.{of} {{d}}, {{a}};", to, of)
    for to, of in itertools.product(real, real):
        modes = [".rni", ".rzi", ".rmi", ".rpi", ""] if to == of else ["", *ROUND]
        for mode, z, sat in itertools.product(modes, zero, ("", ".sat")):
            add(f"cvt{mode}{z}{sat}.{to}.{of} {{d}}, {{a}};", to, of)
    for to, mode, relu, sat in itertools.product(("f16", "bf16"), (".rn", ".rz"), ("", ".relu"), ("", ".satfinite")):
        add(f"cvt{mode}{relu}{sat}.{to}.f32 {{d}}, {{a}};", to, "f32")
        add(f"cvt{mode}{relu}{sat}.{to}x2.f32 {{d}}, {{a}}, {{b}};", f"{to}x2", "f32", "f32")
    for to, relu in itertools.product(("e4m3x2", "e5m2x2"), ("", ".relu")):
        add(f"cvt.rn.satfinite{relu}.{to}.f32 {{d}}, {{a}}, {{b}};", to, "f32", "f32")
        add(f"cvt.rn.satfinite{relu}.{to}.f16x2 {{d}}, {{a}};", to, "f16x2")
        add(f"cvt.rn{relu}.f16x2.{to} {{d}}, {{a}};", "f16x2", to)

    # Between the lanes of a warp.
    for mode in ("up", "down", "bfly", "idx"):
        for clamp in (0, 31, 0x1C1F, 0x1800):
            add(
                f"shfl.sync.{mode}.b32 t0|p, {{a}}, {{b}}, {clamp}, -1; selp.b64 u0, 0x100000000, 0, p; cvt.u64.u32 u1, t0; or.b64 {{d}}, u0, u1;",
                64, "b32", "shift", name=f"shfl.sync.{mode}.{clamp:#x}",
            )  # fmt: skip
    for mode in ("all", "any", "uni"):
        add(f"setp.lt.s32 p, {{a}}, {{b}}; vote.sync.{mode}.pred {{d}}, p, -1;", 1, "s32", "s32", name=f"vote.sync.{mode}")
    add("setp.lt.s32 p, {a}, {b}; vote.sync.ballot.b32 {d}, p, -1;", "b32", "s32", "s32", name="vote.sync.ballot")
    for t in ("b32", "b64"):
        add(f"match.any.sync.{t} {{d}}, {{a}}, -1;", "b32", t)
        add(f"match.all.sync.{t} t0|p, {{a}}, -1; selp.b32 t1, 1, 0, p; xor.b32 {{d}}, t0, t1;", "b32", t)
    for t, op in [*itertools.product(VIDEO, ("add", "min", "max")), *itertools.product(("b32",), ("and", "or", "xor"))]:
        add(f"redux.sync.{op}.{t} {{d}}, {{a}}, -1;", t, t)

    # Atomics on a word of each thread that holds b.
    place = "mov.u32 t2, room; and.b32 t3, %k, 255; mad.lo.u32 t2, t3, 8, t2; st.shared.{bits} [t2], {{b}}; {op} {{d}}, [t2], {{a}}; ld.shared.{bits} {old}, [t2];"
    for t, op in [
        *itertools.product(("u32", "s32", "u64"), ("add",)), ("f32", "add"), ("f64", "add"), *itertools.product(WIDE, ("min", "max")),
        *itertools.product(("b32", "b64"), ("and", "or", "xor", "exch")), ("u32", "inc"), ("u32", "dec"),
    ]:  # fmt: skip
        bits = TYPES[t][0]
        for order in ("old", "new"):
            text = f"mov.u32 t2, room; and.b32 t3, %k, 255; mad.lo.u32 t2, t3, 8, t2; st.shared.b{bits} [t2], {{b}}; atom.shared.{op}.{t} {{d}}, [t2], {{a}};"
            if order == "new":
                text += f" ld.shared.b{bits} {{d}}, [t2];"
            add(text, t, t, t, name=f"atom.shared.{op}.{t}.{order}")
            text = text.replace("mov.u32 t2, room; and.b32 t3, %k, 255; mad.lo.u32 t2, t3, 8, t2;", "").replace("shared", "global").replace("[t2]", "[%po]")
            add(text, t, t, t, name=f"atom.global.{op}.{t}.{order}")
    for t in ("f16", "f16x2", "bf16", "bf16x2"):
        for order in ("old", "new"):
            bits = TYPES[t][0]
            text = f"st.global.b{bits} [%po], {{b}}; atom.global.add.noftz.{t} {{d}}, [%po], {{a}};"
            if order == "new":
                text += f" ld.global.b{bits} {{d}}, [%po];"
            add(text, t, t, t, name=f"atom.global.add.noftz.{t}.{order}")
    for bits in (16, 32, 64):
        add(f"st.global.b{bits} [%po], {{b}}; atom.global.cas.b{bits} {{d}}, [%po], {{c}}, {{a}};", f"b{bits}", f"b{bits}", f"b{bits}", f"b{bits}", name=f"atom.global.cas.b{bits}")

    # Matrices: the operands of the lanes are pieces of half-precision matrices with elements of medium size.
    for shape, na, nb in (("m16n8k8", 2, 1), ("m16n8k16", 4, 2)):
        for kind, cls in (("f16", "mid16"), ("bf16", "midb16")):
            for acc in ("f32", "f16") if kind == "f16" else ("f32",):
                a = ", ".join(["%a32", "%b32", "%c32", "t1"][:na])
                b = ", ".join(["%b32", "t1"][:nb])
                init = "shr.u64 u0, %a64, 32; cvt.u32.u64 t1, u0; "
                if acc == "f32":
                    regs = "{t0, t2, t3, %d32}"
                    init += "mov.b32 t0, 0; mov.b32 t2, 0f3F800000; mov.b32 t3, 0fBF000000; mov.b32 %d32, 0f40490FDB; "
                    out = "xor.b32 t0, t0, t2; cvt.u64.u32 u0, t0; shl.b64 u0, u0, 32; xor.b32 t3, t3, %d32; cvt.u64.u32 %d64, t3; or.b64 %d64, %d64, u0;"
                else:
                    regs = "{t0, %d32}"
                    init += "mov.b32 t0, 0x3c003800; mov.b32 %d32, 0xb8004200; "
                    out = "cvt.u64.u32 u0, t0; shl.b64 u0, u0, 32; cvt.u64.u32 %d64, %d32; or.b64 %d64, %d64, u0;"
                name = f"mma.sync.aligned.{shape}.row.col.{acc}.{kind}.{kind}.{acc}"
                text = f"{init}{name} {regs}, {{{a}}}, {{{b}}}, {regs}; {out}"
                found[name] = (text, 64, [cls, cls, cls], "b64")
    high = "shr.u64 u0, %a64, 32; cvt.u32.u64 t1, u0; "
    mix = "xor.b32 t0, t0, t2; xor.b32 %d32, t3, %d32; "
    pack = "cvt.u64.u32 u0, t0; shl.b64 u0, u0, 32; cvt.u64.u32 %d64, %d32; or.b64 %d64, %d64, u0;"
    for shape, a, b, kinds, acc, cls, tails in (
        ("m16n8k4", 2, 1, ["tf32.tf32"], "f32", "midf32", [""]), ("m16n8k8", 4, 2, ["tf32.tf32"], "f32", "midf32", [""]),
        ("m16n8k32", 4, 2, ["e4m3.e4m3", "e5m2.e5m2", "e4m3.e5m2"], "f32", "mid8", [""]), ("m16n8k32", 4, 2, ["e4m3.e4m3", "e5m2.e5m2"], "f16", "mid8", [""]),
        ("m16n8k16", 2, 1, ["e4m3.e4m3", "e5m2.e5m2"], "f32", "mid8", [""]),
        ("m8n8k16", 1, 1, ["s8.s8", "u8.u8"], "s32", "i64", ["", ".satfinite"]),
        ("m16n8k16", 2, 1, ["s8.s8", "u8.u8", "s8.u8", "u8.s8"], "s32", "i64", ["", ".satfinite"]),
        ("m16n8k32", 4, 2, ["s8.s8", "u8.u8", "s8.u8", "u8.s8"], "s32", "i64", ["", ".satfinite"]),
        ("m16n8k32", 2, 1, ["s4.s4", "u4.u4"], "s32", "i64", ["", ".satfinite"]), ("m16n8k64", 4, 2, ["s4.s4", "u4.u4"], "s32", "i64", [""]),
        ("m16n8k128", 2, 1, ["b1.b1"], "s32", "i64", [".xor.popc", ".and.popc"]), ("m16n8k256", 4, 2, ["b1.b1"], "s32", "i64", [".xor.popc", ".and.popc"]),
    ):  # fmt: skip
        for kind, tail in itertools.product(kinds, tails):
            halves, narrow = acc == "f16", shape == "m8n8k16"
            name = f"mma.sync.aligned.{shape}.row.col{tail if tail == '.satfinite' else ''}.{acc}.{kind}.{acc}{tail if 'popc' in tail else ''}"
            left, right = ", ".join(["%a32", "%b32", "%c32", "t1"][:a]), ", ".join(["%b32", "t1"][:b])
            start = ["0", "0f3F800000", "0fBF000000", "0f40490FDB"] if acc == "f32" else ["0x3c003800", "0xb8004200"] if halves else ["0", "0x7FFFFFF0", "0x80000010", "5"]
            places = ["t0", "%d32"] if halves or narrow else ["t0", "t2", "t3", "%d32"]
            init = "".join(f"mov.b32 {place}, {value}; " for place, value in zip(places, start))
            out = pack if len(places) == 2 else mix + pack
            regs = "{" + ", ".join(places) + "}"
            found[name] = (f"{high}{init}{name} {regs}, {{{left}}}, {{{right}}}, {regs}; {out}", 64, [cls, cls, cls], "b64")
    for shape, a, b, c in (("m8n8k4", 1, 1, 2), ("m16n8k4", 2, 1, 4), ("m16n8k8", 4, 2, 4), ("m16n8k16", 8, 4, 4)):
        name = f"mma.sync.aligned.{shape}.row.col.f64.f64.f64.f64"
        left, right = ", ".join((["%a64", "%b64", "%c64", "%b64"] * 2)[:a]), ", ".join(["%b64", "%c64", "%a64", "%c64"][:b])
        places = ["u0", "u1", "%d64", "%po"][:c] if c == 2 else ["u0", "u1", "%pa", "%d64"]
        init = "".join(f"mov.b64 {place}, {value}; " for place, value in zip(places, ["0", "0d3FF0000000000000", "0dBFE0000000000000", "0d400921FB54442D18"]))
        out = "xor.b64 %d64, u0, u1; " if c == 2 else "xor.b64 u0, u0, u1; xor.b64 %d64, %d64, %pa; shl.b64 u0, u0, 1; xor.b64 %d64, %d64, u0; "
        found[name] = (f"{init}{name} {{{', '.join(places)}}}, {{{left}}}, {{{right}}}, {{{', '.join(places)}}}; {out}", 64, ["midf64"] * 3, "b64")
    for shape, a, b in (("m16n8k16", 2, 2), ("m16n8k32", 4, 4)):
        for kind, cls in (("f16", "mid16"), ("bf16", "midb16")):
            name = f"mma.sp.sync.aligned.{shape}.row.col.f32.{kind}.{kind}.f32"
            left, right = ", ".join(["%a32", "%b32", "%c32", "t1"][:a]), ", ".join(["%b32", "t1", "%c32", "%a32"][:b])
            init = "mov.b32 t0, 0; mov.b32 t2, 0f3F800000; mov.b32 t3, 0fBF000000; mov.b32 %d32, 0f40490FDB; mov.b32 %i, 0x9EC84D8C; "
            found[name] = (f"{high}{init}{name} {{t0, t2, t3, %d32}}, {{{left}}}, {{{right}}}, {{t0, t2, t3, %d32}}, %i, 0x0; {mix}{pack}", 64, [cls] * 3, "b64")
    add("movmatrix.sync.aligned.m8n8.trans.b16 {d}, {a};", "b32", "b32")
    for mode, relu in (("rna", ""), ("rn", ""), ("rz", ""), ("rn", ".relu"), ("rz", ".relu")):
        add(f"cvt.{mode}{relu}.tf32.f32 {{d}}, {{a}};", "b32", "f32")
    for mode in ("rna", "rn"):
        add(f"cvt.{mode}.satfinite.tf32.f32 {{d}}, {{a}};", "b32", "f32")
    for t in ("u16", "s16"):
        add(f"cvt.pack.sat.{t}.s32 {{d}}, {{a}}, {{b}};", "b32", "s32", "s32")
    for t in ("u8", "s8", "u4", "s4", "u2", "s2"):
        add(f"cvt.pack.sat.{t}.s32.b32 {{d}}, {{a}}, {{b}}, {{c}};", "b32", "s32", "s32", "b32")
    for t in ("f16", "bf16"):
        for sign in ("", ".relu"):
            add(f"fma.rn.oob{sign}.{t} {{d}}, {{a}}, {{b}}, {{c}};", t, t, t, t)
    return found


def operands(seed=20261127):
    """Returns 512 operands a, b, c of each class as 64-bit numbers."""
    state = seed

    def draw():
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        mixed = state ^ state >> 33
        mixed = mixed * 0xFF51AFD7ED558CCD & (1 << 64) - 1
        return mixed ^ mixed >> 29

    def floats(bits, fraction):
        sign, unit = 1 << bits - 1, 1 << fraction
        infinity = sign - unit
        one = (infinity >> 1) // unit * unit
        some = [0, 1, unit - 1, unit, one - unit // 3, one, one + 1, one + unit + unit // 2, infinity - 1, infinity, infinity + unit // 2 + 1]
        return [*some, *(x | sign for x in (0, unit - 1, one, infinity - 1, infinity))]

    def integers(bits):
        top = (1 << bits) - 1
        half = 1 << bits - 1
        return [0, 1, 2, 7, 31, 0x7F, 0x80, 0xFF, half - 1, half, half + 1, top, top - 1, top - 127, 0x5A5A5A5A5A5A5A5A & top, 0x0123456789ABCDEF & top]

    def middling(bits, fraction):
        bias = (1 << bits - fraction - 2) - 1
        exponent = bias - 6 + draw() % 13
        return (draw() & 1) << bits - 1 | exponent << fraction | draw() & (1 << fraction) - 1

    def pairs(values):
        return [values[i % 16] for i in range(PAIRS)], [values[i // 16] for i in range(PAIRS)], [values[(i * 7 + i // 16 * 3) % 16] for i in range(PAIRS)]

    kinds = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}
    found = {}
    for name, (bits, fraction) in kinds.items():
        columns = pairs(floats(bits, fraction))
        for column in columns:
            column += [draw() & (1 << bits) - 1 for _ in range((THREADS - PAIRS) // 2)]
            column += [middling(bits, fraction) for _ in range(THREADS - len(column))]
        found[name] = columns
    for name in ("f16", "bf16"):
        found[f"{name}x2"] = [[x | column[(i * 5 + 3) % THREADS] << 16 for i, x in enumerate(column)] for column in found[name]]
        found["mid16" if name == "f16" else "midb16"] = [
            [sum(middling(*kinds[name]) << 16 * k for k in range(4)) for _ in range(THREADS)] for _ in range(3)
        ]
    for bits in (8, 16, 32, 64):
        columns = pairs(integers(bits))
        for column in columns:
            column += [draw() & (1 << bits) - 1 for _ in range((THREADS - PAIRS) // 2)]
            column += [(draw() % 2001 - 1000) & (1 << bits) - 1 for _ in range(THREADS - len(column))]
        found[f"i{bits}"] = columns
    shifts = [0, 1, 2, 5, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 0xFF, 0xFFFFFFFF]
    columns = pairs(shifts)
    for column in columns:
        column += [draw() % 70 for _ in range(THREADS - PAIRS)]
    found["shift"] = columns
    found["midf32"] = [[sum(middling(32, 23) << 32 * k for k in range(2)) for _ in range(THREADS)] for _ in range(3)]
    found["midf64"] = [[middling(64, 52) for _ in range(THREADS)] for _ in range(3)]
    found["mid8"] = [[sum((draw() & 0x80 | 0x20 + draw() % 48) << 8 * k for k in range(8)) for _ in range(THREADS)] for _ in range(3)]
    return found


def ptx(form, target="sm_90"):
    text, bits, *_ = form
    return HEAD.format(target=target) + BODY.format(statement=text.replace("; ", ";\n\t"), widen=WIDEN[bits])


def measure(out, budget):
    import numpy as np

    import gpu as driver

    begin = time.time()
    gpu = driver.Gpu()
    values = operands()
    where = {}
    for name, columns in values.items():
        where[name] = []
        for column in columns:
            address = gpu.alloc(8 * THREADS)
            gpu.to_device(address, np.array(column, dtype=np.uint64))
            where[name].append(address)
    results = gpu.alloc(8 * THREADS)
    kept, refused = {}, {}
    for name, form in forms().items():
        if time.time() - begin > budget:
            refused[name] = "no time left"
            continue
        classes = (form[2] + form[2][-1:] * 3)[:3]
        try:
            module = gpu.module(ptx(form))
            gpu.fill(results, 0xEE, 8 * THREADS)
            args = [ctypes.c_uint64(where[c][i]) for i, c in enumerate(classes)] + [ctypes.c_uint64(results)]
            gpu.launch(module.function("form"), 2, THREADS // 2, args)
            gpu.synchronize()
            kept[name] = gpu.from_device(results, np.zeros(THREADS, dtype=np.uint64))
            module.unload()
        except driver.GpuError as error:
            refused[name] = str(error)[:300]
    out.mkdir(parents=True, exist_ok=True)
    write_results(out / "forms.jsonl.xz", kept, refused)
    print(f"forms: {len(kept)} measured, {len(refused)} refused, {time.time() - begin:.1f} s")


def write_results(path, results, refused):
    with lzma.open(path, "wt", encoding="utf-8") as file:

        def line(**data):
            file.write(json.dumps(data, separators=(",", ":")) + "\n")

        line(head=HEAD.format(target="sm_90"), body=BODY, widen={str(bits): text for bits, text in WIDEN.items()})
        for name, columns in operands().items():
            line(operands=name, values=columns)
        for name, (text, bits, classes, kind) in forms().items():
            said = {"results": [int(x) for x in results[name]]} if name in results else {"refused": refused.get(name, "not run")}
            line(form=name, text=text, bits=bits, type=kind, classes=classes, **said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")))
    parser.add_argument("--budget", type=float, default=60)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    if arguments.list:
        for name, (text, bits, classes, _) in forms().items():
            print(f"{name}: {text}   ({bits} bits; {', '.join(classes)})")
    elif arguments.write:
        arguments.write.mkdir(parents=True, exist_ok=True)
        for number, form in enumerate(forms().values()):
            (arguments.write / f"{number:04}.ptx").write_text(ptx(form))
    else:
        measure(arguments.out, arguments.budget)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    main()
