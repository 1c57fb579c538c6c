//! # Testbench of the coalescer
//! Against the golden one, which sorts bytes into lines; the clocked one names lines in the order of
//! their lowest lanes, so the requests are compared as sets.
//!
//! | testpoint                                                        | test |
//! |------------------------------------------------------------------|------|
//! | lines, lanes, byte masks and bytes are those of the golden twin   | `every_request_*` |
//! | no two lanes of an atomic's request name a word; operands lie where the L2 finds them | `every_request_*` |
//! | requests come in the order of their lowest lanes, one an `emit`   | `every_request_*` |
//! | requests carry what the tags need of the instruction, numbered    | `every_request_*` |

use arbitrary_int::u2;
use isa::lanes::AtomicFn;
use isa::types::Type;
use proptest::prelude::*;
use rtl::cells::atomic::AtomicOp;
use rtl::l1::access::{AccessKind, LANES, MemorySpace, WarpAccess};
use rtl::l1::bypass::contention::Warps;
use rtl::l1::coalescer::{Coalescer, LineAccess};
use rtl::noc::packet::LINE_BYTES;

use super::rig::{ADDR_BITS, line_bits};
use super::scoreboard::golden_lines;

/// Lanes that share few lines, lie side by side, or lie anywhere.
fn access() -> impl Strategy<Value = WarpAccess> {
    let lines = prop_oneof![Just(1u64), 2u64..5, Just(1 << (ADDR_BITS - 7))];
    let words = || prop::collection::vec(any::<u32>(), LANES);
    let lanes = prop::collection::vec((any::<u64>(), 0..LINE_BYTES as u64), LANES);
    let kind = prop_oneof![
        Just((AccessKind::Load, MemorySpace::Global)),
        Just((AccessKind::Load, MemorySpace::Const)),
        Just((AccessKind::Load, MemorySpace::Texture)),
        Just((AccessKind::Store, MemorySpace::Global)),
        Just((AccessKind::Store, MemorySpace::Local)),
        Just((AccessKind::Atomic, MemorySpace::Global)),
        Just((AccessKind::Reduce, MemorySpace::Global)),
    ];
    let function = prop_oneof![Just(AtomicFn::Add), Just(AtomicFn::CompareSwap)];
    let mask = prop_oneof![Just(u32::MAX), 1..=u32::MAX, (0u32..32).prop_map(|lane| 1 << lane)];
    let operands = (words(), words(), words(), words());
    (kind, function, any::<bool>(), 0u8..48, 0u8..4, mask, lines, lanes, operands).prop_map(
        |((kind, space), f, uncached, warp, size_log2, mask, lines, lanes, (low, high, compare, above))| {
            let size_log2 = if kind.is_atomic() { size_log2 | 2 } else { size_log2 };
            let by_lane = |words: &[u32]| std::array::from_fn(|lane| words[lane]);
            WarpAccess {
                kind,
                space,
                uncached,
                warp,
                resident: Warps::default(),
                half: 0,
                pc: 0,
                beat: u2::default(),
                size_log2,
                mask,
                atomic: AtomicOp { f, ty: if size_log2 == 3 { Type::U64 } else { Type::U32 } },
                address: std::array::from_fn(|lane| {
                    let (line, offset) = lanes[lane];
                    (line % lines * LINE_BYTES as u64 + offset) >> size_log2 << size_log2
                }),
                data: [by_lane(&low), by_lane(&high)],
                compare: [by_lane(&compare), by_lane(&above)],
            }
        },
    )
}

/// The bytes of a lane's operand.
fn operand(words: &[[u32; LANES]; 2], lane: usize, bytes: usize) -> Vec<u8> {
    let [low, high] = [words[0][lane], words[1][lane]].map(u32::to_le_bytes);
    [low, high].concat()[..bytes].to_vec()
}

proptest! {
    #[test]
    fn every_request_is_one_of_the_golden_coalescer_in_lane_order(
        instructions in prop::collection::vec((access(), 0u8..64), 1..4),
        line_bytes in prop_oneof![Just(64u32), Just(128)],
    ) {
        let mut coalescer = Coalescer::new(line_bytes, line_bits(line_bytes), true);
        let line_bytes = line_bytes as usize;
        let mut next_id = 0;
        for (access, slot) in instructions {
            let mut due = golden_lines(&access, line_bytes);
            due.sort_by_key(|store| store.request.lanes.trailing_zeros());
            coalescer.take(&access, slot);
            for expected in due {
                prop_assert!(coalescer.busy());
                let mut seen = LineAccess::default();
                coalescer.emit(&mut seen);
                prop_assert_eq!((seen.line, seen.lanes), (expected.request.line, expected.request.lanes));
                match access.kind {
                    AccessKind::Load => {
                        let touched = |sector: &u32| expected.request.byte_mask >> (32 * sector) & 0xffff_ffff != 0;
                        let sectors = (0..4).filter(touched).fold(0, |sectors, sector| sectors | 1 << sector);
                        prop_assert_eq!((seen.byte_mask, seen.sectors), (0, sectors));
                    }
                    AccessKind::Store => {
                        prop_assert_eq!(seen.byte_mask, expected.request.byte_mask);
                        prop_assert_eq!(&seen.data[..line_bytes], expected.bytes);
                    }
                    AccessKind::Atomic | AccessKind::Reduce => {
                        prop_assert_eq!(seen.atomic, access.atomic);
                        prop_assert_eq!(seen.byte_mask, expected.request.byte_mask);
                        for lane in (0..LANES).filter(|lane| seen.lanes >> lane & 1 != 0) {
                            let at = access.address[lane] as usize % line_bytes;
                            let bytes = 1 << access.size_log2;
                            prop_assert_eq!(&seen.data[at..at + bytes], operand(&access.data, lane, bytes));
                            if access.atomic.f == AtomicFn::CompareSwap {
                                let at = (at + line_bytes / 2) % line_bytes;
                                prop_assert_eq!(&seen.data[at..at + bytes], operand(&access.compare, lane, bytes));
                            }
                        }
                    }
                }
                let instruction = (access.kind, access.space, access.uncached, access.warp);
                prop_assert_eq!((seen.kind, seen.space, seen.uncached, seen.warp), instruction);
                prop_assert_eq!((seen.id, seen.slot), (next_id, slot));
                next_id += 1;
            }
            prop_assert!(!coalescer.busy());
        }
    }
}
