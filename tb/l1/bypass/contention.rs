//! # Testbench of the contention test
//! Checks which load instructions contend for the L1D. A load contends if it touches at least as many lines
//! as a warp's share of the cache has (anssari2012 section 3.3). The expected result follows from the rule in
//! `golden/hybrid`, applied to the lines that the golden coalescer finds.
//!
//! | testpoint                                                                           | test                     |
//! |-------------------------------------------------------------------------------------|--------------------------|
//! | scattered, strided and neighboring lanes touch lines, under any mask                | `a_hundred_thousand_*`   |
//! | caches of any size, any number of warps; at the limit and one line below it         | `a_hundred_thousand_*`   |
//! | all requests of an instruction carry the same verdict                               | `a_hundred_thousand_*`   |
//! | stores, atomics, other spaces and coherent loads never contend                      | `a_hundred_thousand_*`   |
//! | a contending load waits for its line in flight, and bypasses if the fill is dropped | `a_load_that_contends_*` |
//! | a bypassing load takes no way, no MSHR entry and no miss-queue entry                | `a_load_that_contends_*` |

use golden::hybrid::is_contentious;
use isa::lanes::AtomicFn;
use isa::types::Type;
use rtl::cells::atomic::AtomicOp;
use rtl::l1::access::{AccessKind, LANES, MemorySpace, WarpAccess};
use rtl::l1::bypass::contention::{Contention, Contentious, Warps};
use rtl::l1::coalescer::{Coalescer, LineAccess};
use rtl::l1::config::L1Config;

use crate::kit::Random;
use crate::l1::cycles::Act::{Answer, Load, Spread, Store};
use crate::l1::cycles::outcomes;
use crate::l1::rig::{l1, line_bits};
use crate::l1::scoreboard::golden_lines;

const INSTRUCTIONS: usize = 100_000;
/// Number of instructions that are tested on each randomly generated cache.
const RUN: usize = 100;

/// Generates a random instruction whose lanes touch few or many lines, close together or far apart.
fn instruction(random: &mut Random, line_bytes: u32) -> WarpAccess {
    let (kind, space) = match random.below(20) {
        0 => (AccessKind::Store, MemorySpace::Global),
        1 => (AccessKind::Atomic, MemorySpace::Global),
        2 => (AccessKind::Load, MemorySpace::Local),
        3 => (AccessKind::Load, MemorySpace::Const),
        4 => (AccessKind::Load, MemorySpace::Texture),
        _ => (AccessKind::Load, MemorySpace::Global),
    };
    let size_log2 = if kind.is_atomic() { 2 } else { random.below(3) as u32 };
    let stride = [1 << size_log2, 4 * u64::from(line_bytes), u64::from(line_bytes) / 2, 24][random.below(4) as usize];
    let base = random.below(1 << 30);
    let (lines, apart) = (1 + random.below(LANES as u64), [1, 7, 1 << 33][random.below(3) as usize]);
    let scattered = random.percent(60);
    let address = std::array::from_fn(|lane| {
        let address = if scattered {
            base + random.below(lines) * apart * u64::from(line_bytes) + random.below(line_bytes.into())
        } else {
            base + stride * lane as u64
        };
        address >> size_log2 << size_log2
    });
    let mask = match random.below(3) {
        0 => u32::MAX,
        1 => 1 << random.below(LANES as u64),
        _ => 1 + random.below(u32::MAX.into()) as u32,
    };
    WarpAccess {
        kind,
        space,
        uncached: kind.is_atomic() || random.percent(5),
        resident: Warps::new(1 + random.below(64) as u8),
        size_log2: size_log2 as u8,
        mask,
        atomic: AtomicOp { f: AtomicFn::Add, ty: Type::U32 },
        address,
        ..WarpAccess::default()
    }
}

#[test]
fn a_hundred_thousand_random_instructions_contend_as_the_golden_rule_says() {
    let mut random = Random::new(2012);
    // Numbers of instructions: `at` counts those that touch exactly as many lines as a warp's share of the
    // cache, `below` those that touch one line fewer, and `others` those that are exempt from the contention
    // test.
    let (mut at, mut below, mut others) = (0, 0, 0);
    for _ in 0..INSTRUCTIONS / RUN {
        let line_bytes = [64, 128][random.below(2) as usize];
        let lines = [512, 128, 1 + random.below(2048)][random.below(3) as usize] as u32;
        let mut coalescer = Coalescer::new(line_bytes, line_bits(line_bytes), false);
        coalescer.test_contention(Contention::new(lines, line_bits(line_bytes)));
        for _ in 0..RUN {
            let access = instruction(&mut random, line_bytes);
            let &WarpAccess { kind, space, uncached, resident, .. } = &access;
            let resident = resident.value();
            let touched = golden_lines(&access, line_bytes as usize).len();
            let is_judged = (kind, space, uncached) == (AccessKind::Load, MemorySpace::Global, false);
            let expected = is_judged && is_contentious(lines as usize, touched, resident.into());
            coalescer.take(&access, 0);
            assert_eq!(coalescer.contends(), Some(expected), "{lines} lines, {touched} touched: {access:?}");
            while coalescer.is_busy() {
                let mut request = LineAccess::default();
                coalescer.emit(&mut request);
                assert_eq!(request.contends, expected);
            }
            let part = lines as usize / usize::from(resident);
            at += u32::from(is_judged && touched == part);
            below += u32::from(is_judged && touched + 1 == part);
            others += u32::from(!is_judged);
        }
    }
    assert!([at, below, others].iter().all(|count| *count > 1000), "{at} {below} {others}");
}

#[test]
fn a_coalescer_that_does_not_judge_has_nothing_contend() {
    let mut coalescer = Coalescer::new(128, line_bits(128), false);
    let address = std::array::from_fn(|lane| 128 * lane as u64);
    coalescer.take(&WarpAccess { resident: Warps::new(64), mask: u32::MAX, address, ..WarpAccess::default() }, 0);
    let mut request = LineAccess::default();
    coalescer.emit(&mut request);
    assert_eq!((coalescer.contends(), request.contends), (None, false));
}

#[test]
fn a_load_that_contends_waits_for_a_line_on_its_way_and_goes_past_if_that_does_not_stay() {
    let l1 = L1Config { bypass: Contentious {}.into(), mshr_merges: 1, ..l1() };
    // The cache has two lines, and two warps are resident, so each warp's share is one line. A load of one
    // line uses the whole share and therefore contends.
    let script = [(16, Load(1)), (17, Spread(1, 1, 2)), (20, Answer(1, 0))];
    let refused = "1:MSHR_MERGE[..M.]";
    assert_eq!(outcomes(&l1, &script), ["1:miss", refused, refused, refused, "1:hit"]);
    let merges = L1Config { mshr_merges: 2, ..l1.clone() };
    assert_eq!(outcomes(&merges, &script), ["1:miss", "1:hit-pending"]);
    let script = [(16, Load(1)), (17, Store(1, 9)), (18, Spread(1, 1, 2)), (21, Answer(1, 0)), (25, Answer(1, 0))];
    let seen = outcomes(&l1, &script);
    assert_eq!(seen.first().map(String::as_str), Some("1:miss"));
    assert_eq!(seen.last().map(String::as_str), Some("1:bypass"), "{seen:?}");
}

#[test]
fn a_load_that_contends_takes_no_way_no_mshr_entry_and_no_place_in_the_miss_queue() {
    let l1 = L1Config { bypass: Contentious {}.into(), ways: 1, mshr_entries: 1, ..l1() };
    let script = [(16, Load(1)), (17, Spread(2, 3, 1)), (28, Answer(1, 0))];
    assert_eq!(outcomes(&l1, &script), ["1:miss", "2:bypass", "3:bypass", "4:bypass"]);
}
