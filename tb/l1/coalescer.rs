//! # Testbench of the coalescer
//! Compares the coalescer with its golden model, which assigns bytes to lines. The clocked coalescer emits
//! line requests in the order of their lowest lanes. The requests of the golden model are therefore sorted in
//! that order first.
//!
//! | testpoint                                                                                         | test |
//! |---------------------------------------------------------------------------------------------------|-----|
//! | lines, lanes, byte masks and bytes equal those of the golden model                                | `random_accesses_*` |
//! | no two lanes in an atomic's request address the same word; operands are where the L2 expects them | `random_accesses_*` |
//! | requests come in the order of their lowest lanes, one per `emit`                                  | `random_accesses_*` |
//! | requests are numbered and carry the fields of the instruction that the tags need                  | `random_accesses_*` |

use arbitrary_int::u2;
use isa::lanes::AtomicFn;
use isa::types::Type;
use rtl::cells::atomic::AtomicOp;
use rtl::cells::line::LINE_BYTES;
use rtl::l1::access::{AccessKind, LANES, MemorySpace, WarpAccess};
use rtl::l1::bypass::contention::Warps;
use rtl::l1::coalescer::{Coalescer, LineAccess};
use rtl::replacement::priority::EvictionHints;

use super::rig::{ADDR_BITS, line_bits};
use super::scoreboard::golden_lines;
use crate::kit::Random;
use crate::kit::coverage::{Axis, Cross, Exclusion, hit};

const NAME: &str = "accesses coalesced";

const KINDS: [(AccessKind, MemorySpace, &str); 7] = [
    (AccessKind::Load, MemorySpace::Global, "load"),
    (AccessKind::Load, MemorySpace::Const, "load of constants"),
    (AccessKind::Load, MemorySpace::Texture, "load of a texture"),
    (AccessKind::Store, MemorySpace::Global, "store"),
    (AccessKind::Store, MemorySpace::Local, "store to local memory"),
    (AccessKind::Atomic, MemorySpace::Global, "atomic"),
    (AccessKind::Reduce, MemorySpace::Global, "atomic without a result"),
];
const BYTES: [&str; 4] = ["1 byte", "2 bytes", "4 bytes", "8 bytes"];
const LINES: [&str; 3] = ["1 line", "2 to 8 lines", "more lines"];
/// Line lengths under test, in bytes.
const LENGTHS: [u32; 2] = [64, 128];

/// Declares the functional coverage: each combination of kind of access, access width, number of lines, and
/// line length.
pub(crate) fn cross() -> Cross {
    let atomics = vec!["atomic", "atomic without a result"];
    let narrow =
        Exclusion { of: vec![Vec::new(), atomics, vec!["1 byte"], Vec::new()], reason: "atomics have 2, 4 or 8 bytes" };
    let axes = vec![
        Axis::new("line", LENGTHS.map(|length| format!("{length} bytes"))),
        Axis::new("kind", KINDS.map(|(.., name)| name)),
        Axis::new("each lane", BYTES),
        Axis::new("lines", LINES),
    ];
    Cross { name: NAME, axes, excluded: vec![narrow] }
}

/// Generates a random access and returns it with the name of its kind. The lanes share few lines, are
/// adjacent, or are scattered.
fn draw(random: &mut Random) -> (WarpAccess, &'static str) {
    let any = |random: &mut Random| random.below(1 << 32) as u32;
    let (kind, space, name) = KINDS[random.below(KINDS.len() as u64) as usize];
    let size_log2 = if kind.is_atomic() { 1 + random.below(3) } else { random.below(4) } as u8;
    let lines = [1, 2 + random.below(3), 1 << (ADDR_BITS - 7)][random.below(3) as usize];
    let few = any(random) & any(random) & any(random);
    let mask = [u32::MAX, any(random).max(1), few.max(1), 1 << random.below(32)][random.below(4) as usize];
    let f = [AtomicFn::Add, AtomicFn::CompareSwap][random.below(2) as usize];
    let mut words = || std::array::from_fn(|_| any(random));
    let (data, compare) = ([words(), words()], [words(), words()]);
    let access = WarpAccess {
        kind,
        space,
        uncached: random.percent(50),
        hints: EvictionHints::default(),
        warp: random.below(48) as u8,
        resident: Warps::default(),
        half: 0,
        pc: 0,
        beat: u2::default(),
        size_log2,
        mask,
        atomic: AtomicOp { f, ty: [Type::U8, Type::F16, Type::U32, Type::U64][usize::from(size_log2)] },
        address: std::array::from_fn(|_| {
            let at = random.below(lines) * LINE_BYTES as u64 + random.below(LINE_BYTES as u64);
            at >> size_log2 << size_log2
        }),
        data,
        compare,
    };
    (access, name)
}

/// Returns the lowest `bytes` bytes of a lane's operand.
fn operand(words: &[[u32; LANES]; 2], lane: usize, bytes: usize) -> Vec<u8> {
    let [low, high] = [words[0][lane], words[1][lane]].map(u32::to_le_bytes);
    [low, high].concat()[..bytes].to_vec()
}

/// Runs the first `accesses` random accesses of a seed through a coalescer.
///
/// # Panics
/// Panics if the coalescer's requests for an access differ from those of its golden model.
pub(crate) fn run(seed: u64, accesses: u64) {
    let mut random = Random::new(seed);
    let length = LENGTHS[random.below(LENGTHS.len() as u64) as usize];
    let mut coalescer = Coalescer::new(length, line_bits(length), true);
    let mut next_id = 0;
    for number in 0..accesses {
        let (access, name) = draw(&mut random);
        let slot = random.below(64) as u8;
        let mut due = golden_lines(&access, length as usize);
        due.sort_by_key(|store| store.request.lanes.trailing_zeros());
        let lines = LINES[usize::from(due.len() > 1) + usize::from(due.len() > 8)];
        hit(NAME, &[&format!("{length} bytes"), name, BYTES[usize::from(access.size_log2)], lines]);
        coalescer.take(&access, slot);
        for expected in due {
            assert!(coalescer.is_busy(), "access {number}");
            let mut seen = LineAccess::default();
            coalescer.emit(&mut seen);
            let request = &expected.request;
            assert_eq!((seen.line, seen.lanes), (request.line, request.lanes), "access {number}");
            match access.kind {
                AccessKind::Load => {
                    let touched = |sector: &u32| request.byte_mask >> (32 * sector) & 0xffff_ffff != 0;
                    let sectors = (0..4).filter(touched).fold(0, |sectors, sector| sectors | 1 << sector);
                    assert_eq!((seen.byte_mask, seen.sectors), (0, sectors), "access {number}");
                }
                AccessKind::Store => {
                    assert_eq!(seen.byte_mask, request.byte_mask, "access {number}");
                    assert_eq!(&seen.data[..length as usize], expected.bytes, "access {number}");
                }
                AccessKind::Atomic | AccessKind::Reduce => {
                    assert_eq!((seen.atomic, seen.byte_mask), (access.atomic, request.byte_mask), "access {number}");
                    for lane in (0..LANES).filter(|lane| seen.lanes >> lane & 1 != 0) {
                        let at = access.address[lane] as usize % length as usize;
                        let bytes = 1 << access.size_log2;
                        assert_eq!(&seen.data[at..at + bytes], operand(&access.data, lane, bytes), "access {number}");
                        if access.atomic.f == AtomicFn::CompareSwap {
                            let at = (at + length as usize / 2) % length as usize;
                            let compare = operand(&access.compare, lane, bytes);
                            assert_eq!(&seen.data[at..at + bytes], compare, "access {number}");
                        }
                    }
                }
            }
            let instruction = (access.kind, access.space, access.uncached, access.warp);
            assert_eq!((seen.kind, seen.space, seen.uncached, seen.warp), instruction, "access {number}");
            assert_eq!((seen.id, seen.slot), (next_id, slot), "access {number}");
            next_id += 1;
        }
        assert!(!coalescer.is_busy(), "access {number}");
    }
}

#[cfg(test)]
mod tests {
    use crate::kit::for_each_seed;

    #[test]
    fn random_accesses_make_the_requests_of_the_golden_coalescer_in_lane_order() {
        for_each_seed(20, |seed| super::run(seed, 400));
    }
}
