//! Random warp memory instructions and the replies to them, for the testbenches of the coalescer and of the
//! blocks around it.

use arbitrary_int::u2;
use isa::lanes::AtomicFn;
use isa::types::Type;
use rtl::cells::atomic::AtomicOp;
use rtl::kernel::Encoding;
use rtl::l1::access::{AccessKind, AccessShape, LANES, MemorySpace, WarpAccess, WarpReply, WarpReplyKind};
use rtl::replacement::priority::HintShape;

use crate::{Ports, Random};

/// Returns the field widths of the messages between core and LSU in a machine without optional fields.
pub(crate) fn shape(addr_bits: u32, pc_bits: u32) -> AccessShape {
    AccessShape { addr_bits, pc_bits, halves: 1, counts_warps: false, wide: false, hints: HintShape::NONE }
}

/// Returns a random instruction. `line` draws the line of a lane; each lane accesses one of the first `reach`
/// bytes of its line. In some instructions, all lanes access the same line in the order of their numbers.
pub(super) fn draw(
    random: &mut Random,
    (kind, space): (AccessKind, MemorySpace),
    (line_log2, reach): (u32, u64),
    line: impl Fn(&mut Random) -> u64,
) -> WarpAccess {
    let f = [AtomicFn::Add, AtomicFn::CompareSwap, AtomicFn::Max][random.below(3) as usize];
    let size_log2 = random.below(4) as u8 | if kind.is_atomic() { 2 } else { 0 };
    let ty = if size_log2 == 3 { Type::U64 } else { Type::U32 };
    let common = random.percent(10).then(|| line(random));
    let address = std::array::from_fn(|lane| {
        let (line, offset) = match common {
            Some(line) => (line, 4 * lane as u64 % (1 << line_log2)),
            None => (line(random), random.below(reach)),
        };
        (line << line_log2 | offset) >> size_log2 << size_log2
    });
    let mut words = || std::array::from_fn(|_| random.below(1 << 32) as u32);
    let (data, compare) = ([words(), words()], [words(), words()]);
    let mask = if random.percent(30) { u32::MAX } else { 1 + random.below(u64::from(u32::MAX)) as u32 };
    WarpAccess {
        kind,
        space,
        uncached: random.percent(20),
        warp: random.below(48) as u8,
        size_log2,
        mask,
        atomic: AtomicOp { f, ty },
        address,
        data,
        compare,
        ..WarpAccess::default()
    }
}

/// Bounds of the random instructions of a core.
pub(crate) struct Instructions {
    /// Logarithm of the line size in bytes.
    pub line_log2: u32,
    /// Number of lines of each memory that instructions access.
    pub lines: u64,
    /// First line of local memory. Lines of global memory begin at 0.
    pub local: u64,
    pub pc_bits: u32,
}

impl Instructions {
    /// Returns a random instruction. The percentages are those of loads, of accesses to local memory, and of
    /// instructions whose lanes access one line.
    pub(crate) fn draw(&self, random: &mut Random, [loads, locals, close]: [u64; 3]) -> WarpAccess {
        let &Self { line_log2, lines, local, pc_bits } = self;
        let kind = match random.below(4) {
            _ if random.percent(loads) => AccessKind::Load,
            0 => AccessKind::Atomic,
            1 => AccessKind::Reduce,
            _ => AccessKind::Store,
        };
        let is_local = !kind.is_atomic() && random.percent(locals);
        let (space, first) = if is_local { (MemorySpace::Local, local) } else { (MemorySpace::Global, 0) };
        let (base, spread) = (random.below(lines), if random.percent(close) { 1 } else { 1 + random.below(4) });
        let line = |random: &mut Random| first + (base + random.below(spread)) % lines;
        let access = draw(random, (kind, space), (line_log2, 1 << line_log2), line);
        let (pc, beat) = (random.below(1 << pc_bits) as u32, u2::new(random.below(4) as u8));
        WarpAccess { pc, beat, uncached: access.uncached && !is_local, ..access }
    }
}

/// Records the reply that is expected at the output port `name`; `None` if there is none in this cycle. Words
/// of the data that have no meaning are not compared.
pub(crate) fn expect_reply(ports: &mut Ports, name: &str, pc_bits: u32, reply: Option<&WarpReply>) {
    let mut expect = |field: &str, width: u32, value: Option<u64>| {
        ports.output_if(&format!("{name}_{field}"), width, value);
    };
    expect("kind", 1, reply.map(|reply| reply.kind.code().into()));
    expect("warp", 6, reply.map(|reply| reply.warp.into()));
    expect("pc", pc_bits, reply.map(|reply| reply.pc.into()));
    expect("beat", 2, reply.map(|reply| reply.beat.value().into()));
    expect("size_log2", 2, reply.map(|reply| reply.size_log2.into()));
    expect("mask", LANES as u32, reply.map(|reply| reply.mask.into()));
    let has_meaning = |reply: &WarpReply, half: usize, lane: usize| {
        reply.kind == WarpReplyKind::Loaded && reply.mask >> lane & 1 != 0 && (half == 0 || reply.size_log2 == 3)
    };
    let word = |half: usize, lane: usize| {
        reply.filter(|reply| has_meaning(reply, half, lane)).map(|reply| reply.data[half][lane])
    };
    let words: Vec<_> = (0..2).flat_map(|half| (0..LANES).map(move |lane| word(half, lane))).collect();
    ports.word_outputs(&format!("{name}_data"), &words);
}
