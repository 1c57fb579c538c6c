"""PTX for accesses with a given offset per lane, asynchronous copies, matrix products of a warpgroup, and filtered textures."""

HEAD = ".version 8.0\n.target {target}\n.address_size 64\n"
# Each CTA copies from or to its own 256 KB.
OWN = "	mov.u32 %x, %ctaid.x;\n	mad.wide.u32 %p, %x, 0x40000, %base;\n"
# Each thread sums the loaded values, so that the compiler keeps the loads.
KEPT = "	.shared .align 16 .b8 kept[4096];\n"
KEEP = "	shl.b32 %y, %thread, 2;\n	mov.u32 %s, kept;\n	add.u32 %s, %s, %y;\n	st.volatile.shared.u32 [%s], %sum;"
# A barrier for one arrival, and the wait for its phase %y.
BARRIER = "	.shared .align 8 .b64 bar;\n"
BEGIN = "	mov.u32 %y, 0;\n	setp.ne.u32 %one, %thread, 0;\n	@%one bra skip;\n	mbarrier.init.shared::cta.b64 [bar], 1;\n	fence.mbarrier_init.release.cluster;\nskip:\n"
WAIT = "wait:\n	mbarrier.try_wait.parity.shared::cta.b64 %ready, [bar], %y;\n	@!%ready bra wait;\n	xor.b32 %y, %y, 1;"
DYNAMIC = ".extern .shared .align 128 .b8 room[];\n"

PARAMETERS = ".param .u64 base, .param .u64 offsets, .param .u32 turns, .param .u32 mask, .param .u64 out"
COMMON = """	.reg .b64 %base, %offsets, %out, %at, %t0, %t1, %p, %q;
	.reg .b32 %turns, %mask, %thread, %lane, %warp, %x, %y, %k, %sum, %s;
	.reg .b32 v<4>;
	.reg .pred %more, %one, %ready;
	ld.param.u64 %base, [base];
	ld.param.u64 %offsets, [offsets];
	ld.param.u32 %turns, [turns];
	ld.param.u32 %mask, [mask];
	ld.param.u64 %out, [out];
	mov.u32 %thread, %tid.x;
	and.b32 %lane, %thread, 31;
	shr.u32 %warp, %thread, 5;
	mov.u32 %sum, 0;
	mov.u32 %k, 0;
"""
# First and last cycle of each warp, read by lane 0.
REPORT = """	mov.u64 %t1, %clock64;
	setp.ne.u32 %more, %lane, 0;
	@%more bra done;
	mov.u32 %x, %ctaid.x;
	mov.u32 %y, %ntid.x;
	shr.u32 %y, %y, 5;
	mad.lo.u32 %warp, %x, %y, %warp;
	mad.wide.u32 %at, %warp, 16, %out;
	st.global.u64 [%at], %t0;
	st.global.u64 [%at+8], %t1;
done:
	ret;
"""
LOOP = """	bar.sync 0;
	mov.u64 %t0, %clock64;
again:
	.pragma "nounroll";
{body}
	add.u32 %k, %k, 8;
	sub.u32 %turns, %turns, 1;
	setp.ne.u32 %more, %turns, 0;
	@%more bra again;
{drain}
"""


def entry(name, declared, init, body, drain):
    return f".visible .entry {name}({PARAMETERS})\n{{\n{COMMON}{declared}{init}{LOOP.format(body=body, drain=drain)}{REPORT}}}\n"


ACCESSES = {
    "ld.u32": ("ld.global.u32 {0}, [%q];", 1, False),
    "ld.u64": ("ld.global.v2.u32 {{{0}, {1}}}, [%q];", 2, False),
    "ld.v4": ("ld.global.v4.u32 {{{0}, {1}, {2}, {3}}}, [%q];", 4, False),
    "st.u32": ("st.global.u32 [%q], %k;", 1, False),
    "st.v4": ("st.global.v4.u32 [%q], {{%k, %k, %k, %k}};", 4, False),
    "red.u32": ("red.global.add.u32 [%q], %k;", 1, False),
    "atom.u32": ("atom.global.add.u32 {0}, [%q], 1;", 1, False),
    "ld.shared.u32": ("ld.shared.u32 {0}, [%s];", 1, True),
    "ld.shared.v4": ("ld.shared.v4.u32 {{{0}, {1}, {2}, {3}}}, [%s];", 4, True),
    "st.shared.u32": ("st.shared.u32 [%s], %k;", 1, True),
    "atom.shared.u32": ("atom.shared.add.u32 {0}, [%s], 1;", 1, True),
}


def access_module(kind):
    """Entry `access`: each lane accesses base + offsets[lane] (bytes) eight times per iteration. `mask` is 0, which the compiler cannot know."""
    statement, words, shared = ACCESSES[kind]
    result = [[f"%r{i}_{j}" for j in range(words)] for i in range(8)]
    declared = "	.reg .b32 " + ", ".join(r for each in result for r in each) + ";\n"
    if shared:
        declared += "	.shared .align 128 .b8 room[40960];\n"
    init = "	mad.wide.u32 %at, %lane, 4, %offsets;\n	ld.global.u32 %x, [%at];\n	cvt.u64.u32 %p, %x;\n	add.u64 %p, %base, %p;\n"
    if shared:
        init += "	mov.u32 %y, room;\n	add.u32 %x, %x, %y;\n"
    body = []
    for i in range(8):
        body.append(f"	add.u32 %y, %k, {i}; and.b32 %y, %y, %mask;")
        body.append("	add.u32 %s, %x, %y;" if shared else "	cvt.u64.u32 %q, %y; add.u64 %q, %q, %p;")
        body.append("	" + statement.format(*result[i]))
    drain = "	membar.gl;"
    if not kind.startswith(("st.", "red.")):
        body += [f"	add.u32 %sum, %sum, {r};" for each in result for r in each]
        drain = KEEP
    return HEAD.format(target="sm_90") + entry("access", declared + KEPT, init, "\n".join(body), drain)


def async_module():
    """`cp_<kind>_<bytes>`: copies by a warp. The copies of consecutive iterations are `offsets` bytes apart, and `mask` groups stay in flight at a wait. `bulk_load`, `bulk_store`: copies by one thread."""
    text = HEAD.format(target="sm_90") + DYNAMIC
    for kind, size in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)):
        for depth in (0, 3, 7):
            declared = "	.shared .align 128 .b8 place[16384];\n"
            # Each warp has 8 places of 32 copies.
            init = f"	mov.u32 %s, place;\n	shl.b32 %x, %lane, {size.bit_length() - 1};\n	mad.lo.u32 %s, %warp, {min(4096, 8 * 32 * size)}, %s;\n	add.u32 %s, %s, %x;\n	cvt.u64.u32 %p, %x;\n	add.u64 %p, %p, %base;\n	mul.lo.u64 %q, %offsets, 64;\n	cvt.u64.u32 %at, %warp;\n	mad.lo.u64 %p, %at, %q, %p;\n"
            body = "\n".join(
                f"	cp.async.{kind}.shared.global [%s+{i * 32 * size % 4096}], [%p], {size};\n	cp.async.commit_group;\n	add.u64 %p, %p, %offsets;\n	cp.async.wait_group {depth};" for i in range(8)
            )
            text += entry(f"cp_{kind}_{size}_{depth}", declared, init, body, "	cp.async.wait_group 0;")
    # mask: bytes of a copy; offsets: bytes from one copy to the next. One copy at a time, including its wait.
    for many in (1, 2, 4, 8):
        body = "	@%one bra other;\n	mul.lo.u32 %x, %mask, " + str(many) + ";\n	mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %x;\n	mov.u32 %s, room;\n"
        for _ in range(many):
            body += "	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%p], %mask, [bar];\n	add.u64 %p, %p, %offsets;\n	add.u32 %s, %s, %mask;\n"
        body += "other:\n" + WAIT
        text += entry(f"bulk_load_{many}", BARRIER, BEGIN + OWN, body, "")
        body = "	@%one bra other;\n	mov.u32 %s, room;\n"
        for _ in range(many):
            body += "	cp.async.bulk.global.shared::cta.bulk_group [%p], [%s], %mask;\n	add.u64 %p, %p, %offsets;\n	add.u32 %s, %s, %mask;\n"
        body += "	cp.async.bulk.commit_group;\n	cp.async.bulk.wait_group 0;\nother:\n"
        text += entry(f"bulk_store_{many}", "", "	setp.ne.u32 %one, %thread, 0;\n" + OWN, body, "")
    # An arrival of one thread, and the wait that it ends.
    body = "	@%one bra other;\n	mbarrier.arrive.shared::cta.b64 _, [bar];\nother:\n" + WAIT
    text += entry("mbarrier", BARRIER, BEGIN, body, "")
    return text


def tensor_module():
    """`tensor_load`: two-dimensional boxes of the tensor map at `base`, one at a time; mask: bytes of a box; offsets: rows of a box."""
    begin = BEGIN + "	mov.u32 %row, 0;\n	cvt.u32.u64 %sum, %offsets;\n	mov.u32 %x, 0;\n"
    body = "	@%one bra other;\n	mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %mask;\n	mov.u32 %s, room;\n	cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%base, {%x, %row}], [bar];\n	add.u32 %row, %row, %sum;\nother:\n" + WAIT
    return HEAD.format(target="sm_90") + DYNAMIC + entry("tensor_load", BARRIER + "	.reg .b32 %row;\n", begin, body, "")


# K of one product, operands in PTX, arguments behind the scale of the sum: signs and transpositions
WGMMA = {"f32.f16": (16, "f32.f16.f16", ", 1, 1, 0, 0"), "f32.bf16": (16, "f32.bf16.bf16", ", 1, 1, 0, 0"), "f16.f16": (16, "f16.f16.f16", ", 1, 1, 0, 0"),
         "f32.tf32": (8, "f32.tf32.tf32", ", 1, 1"), "f32.e4m3": (32, "f32.e4m3.e4m3", ", 1, 1"), "s32.s8": (32, "s32.s8.s8", "")}  # fmt: skip


def wgmma_module(kind, n, from_registers, together):
    """`product`: a group of `together` products of shape m64 n `n`, then a wait, eight times per iteration."""
    k, types, tail = WGMMA[kind]
    accumulator = "f32" if kind.startswith("f32") else "b32"
    count = n // 2 if not kind.startswith("f16") else n // 4
    d = ", ".join(f"d{i}" for i in range(count))
    declared = f"	.reg .{accumulator} d<{count}>;\n	.reg .b32 a<4>;\n	.reg .b64 %da, %db;\n	.reg .pred scale;\n	.shared .align 1024 .b8 room[45056];\n"
    init = "	mov.u32 %s, room;\n	shr.u32 %x, %s, 4;\n	and.b32 %x, %x, 0x3FFF;\n	cvt.u64.u32 %da, %x;\n	or.b64 %da, %da, 0x4000004000010000;\n	add.u64 %db, %da, 512;\n	setp.ne.u32 scale, %turns, 0;\n"
    zero = "0f00000000" if accumulator == "f32" else "0"
    init += "".join(f"	mov.{accumulator} d{i}, {zero};\n" for i in range(count)) + "".join(f"	mov.b32 a{i}, %thread;\n" for i in range(4))
    a = "{a0, a1, a2, a3}" if from_registers else "%da"
    if from_registers and tail.endswith("0, 0"):
        tail = ", 1, 1, 0"
    one = f"	wgmma.mma_async.sync.aligned.m64n{n}k{k}.{types} {{{d}}}, {a}, %db, scale{tail};\n"
    body = ("	wgmma.fence.sync.aligned;\n" + one * together + "	wgmma.commit_group.sync.aligned;\n	wgmma.wait_group.sync.aligned 0;\n") * 8
    drain = "".join(f"	mov.b32 %x, d{i};\n	xor.b32 %sum, %sum, %x;\n" for i in range(count)) + KEEP
    return HEAD.format(target="sm_90a") + entry("product", declared + KEPT, init, body, drain)


FETCH = """.visible .entry {name}(.param .u64 texture, .param .u64 where, .param .u64 out)
{{
	.reg .b64 %t, %w, %o, %at;
	.reg .b32 %i, %j, %k;
	.reg .f32 {at}, r<4>;
	ld.param.u64 %t, [texture];
	ld.param.u64 %w, [where];
	ld.param.u64 %o, [out];
	mov.u32 %i, %ctaid.x; mov.u32 %j, %ntid.x; mov.u32 %k, %tid.x;
	mad.lo.u32 %i, %i, %j, %k;
	mad.wide.u32 %at, %i, 8, %w;
	{load}, [%at];
	{fetch}.v4.f32.f32 {{r0, r1, r2, r3}}, [%t, {{{at}}}];
	mad.wide.u32 %at, %i, 16, %o;
	st.global.v4.f32 [%at], {{r0, r1, r2, r3}};
	ret;
}}
"""
# Entries `fetch1`, `fetch2`, `gather2`: thread i fetches at pair i of coordinates.
TEXTURE = HEAD.format(target="sm_90") + "".join(
    FETCH.format(name=name, at=at, load=load, fetch=fetch)
    for name, at, load, fetch in (
        ("fetch1", "%x", "ld.global.f32 %x", "tex.1d"),
        ("fetch2", "%x, %y", "ld.global.v2.f32 {%x, %y}", "tex.2d"),
        ("gather2", "%x, %y", "ld.global.v2.f32 {%x, %y}", "tld4.r.2d"),
    )
)


def all_modules():
    found = {f"access {kind}": access_module(kind) for kind in ACCESSES}
    found |= {"async": async_module(), "tensor": tensor_module(), "texture": TEXTURE}
    for kind in WGMMA:
        for n in (8, 16, 32, 64, 128, 256):
            for registers in (False, True):
                found[f"wgmma {kind} {n} {registers}"] = wgmma_module(kind, n, registers, 4)
    return found


if __name__ == "__main__":
    # PTX files for ptxas, to check without a GPU.
    import sys
    from pathlib import Path

    for name, text in all_modules().items():
        (Path(sys.argv[1]) / (name.replace(" ", "_") + ".ptx")).write_text(text)
