//! Scenarios of anssari2012 section 3.2, and related races. The tests check the values that loads return, and
//! the counters.

use rtl::kernel::{Counted, Mode};
use rtl::l1::bypass::contention::Contentious;
use rtl::l1::config::{L1Config, StoreHit};
use rtl::replacement::lru::Lru;
use rtl::tracker::{Probes, Protections, SharerList, TrackerConfig, TrackerScheme, TrackerStats};

use super::judge::MemoryModelCheck;
use super::random::LSU;
use super::rig::{Op, OpKind, Rig, Setup};
use crate::kit::run;
use crate::l1::rig::l1;

/// Index of compute unit Q. The scenarios have two compute units, P (index 0) and Q (index 1).
const Q: usize = 1;
/// Line X, which the scenarios test. The lines in `OTHERS` are in the same L1 set as line X.
const X: u64 = 0;
const OTHERS: [u64; 2] = [2, 4];
const OLD: u32 = 0;
const NEW: u32 = 1;

/// Returns the configuration of a testbench with two compute units. Each has an L1 with one set of two ways.
fn setup(protections: Protections) -> Setup {
    Setup {
        cus: 2,
        banks: 2,
        periods: [1, 1, 1],
        l1: L1Config { store_hit: StoreHit::Update, ..l1() },
        lsu: LSU,
        tracker: TrackerConfig {
            scheme: TrackerScheme::Corrected,
            count: 1,
            sets: 4,
            ways: 4,
            replacement: Lru {}.into(),
            sharers: SharerList::All,
            probes: Probes::All,
            transfers: 8,
        },
        protections,
        latency: (10, 0),
        slowest_link: 0,
        slowest_answer: 0,
        buffer_flits: 8,
        seed: 1,
    }
}

fn op(not_before: u64, does: OpKind, line: u64) -> Op {
    Op { not_before, does, line, word: 0, resident: 1 }
}

/// Returns loads of other lines in the L1 set of line X, which evict line X.
fn evict(from: u64) -> [Op; 2] {
    OTHERS.map(|line| op(from + 50 * line, OpKind::Loads, line))
}

/// Runs one program on each of the two compute units. Returns the testbench and the tracker's counters.
fn ran(setup: Setup, programs: [Vec<Op>; 2]) -> (Rig, TrackerStats) {
    let mut rig = Rig::new(setup, programs.into());
    run(&mut rig, Mode::default(), 100_000);
    let stats = TrackerStats::total(rig.trackers.iter().map(|bank| bank.stats()));
    (rig, stats)
}

/// Runs one program on each of the two compute units. Returns the value that the last load of compute unit Q
/// (index 1) returned, the result of the memory-model check, and the tracker's counters.
fn last_of_q(setup: Setup, programs: [Vec<Op>; 2]) -> (Option<u32>, Result<(), String>, TrackerStats) {
    let last = programs[Q].len() - 1;
    let (mut rig, stats) = ran(setup, programs);
    let value = rig.loaded_value(Q, last);
    (value, MemoryModelCheck::default().follow(&mut rig), stats)
}

/// Returns the programs of anssari2012 section 3.2. Compute units P and Q share line X. Then Q stores to X,
/// evicts it and loads it again.
fn section_3_2() -> [Vec<Op>; 2] {
    let p = vec![op(0, OpKind::Loads, X)];
    let mut q = vec![op(200, OpKind::Loads, X), op(400, OpKind::Stores(NEW), X)];
    q.extend(evict(500));
    q.push(op(1000, OpKind::Loads, X));
    [p, q]
}

#[test]
fn section_3_2_gives_the_writer_its_own_value() {
    let (value, judged, stats) = last_of_q(setup(TrackerScheme::Corrected.protections()), section_3_2());
    assert_eq!((value, judged), (Some(NEW), Ok(())));
    // The L1 of compute unit P supplies the line X for the first load of compute unit Q. Q then evicts X, and
    // later evicts another line when it loads X again. Each of these two evictions sends a notice.
    assert_eq!((stats.supplied, stats.refused, stats.notices), (1, 0, 2));
}

#[test]
fn section_3_2_under_the_naive_tracker_gives_the_writer_what_was_before() {
    let (value, judged, stats) = last_of_q(setup(TrackerScheme::Naive.protections()), section_3_2());
    assert_eq!((value, stats.supplied), (Some(OLD), 2));
    let text = "compute unit 1 read 0x0 at 0x0, expected 0x1 or newer: a compute unit sees its own stores";
    assert_eq!(judged, Err(text.to_owned()));
}

/// Runs two groups of two compute units, each with a tracker of its own. Compute unit 2 loads X before compute
/// unit 1 stores to it. Then one compute unit of each group loads X for the first time.
#[test]
fn a_store_leaves_its_line_in_the_tracker_of_another_group_which_supplies_what_was_before() {
    let one = setup(TrackerScheme::Corrected.protections());
    let two = Setup { cus: 4, tracker: TrackerConfig { count: 2, ..one.tracker.clone() }, ..one };
    let late = || vec![op(600, OpKind::Loads, X)];
    let programs = vec![late(), vec![op(300, OpKind::Stores(NEW), X)], vec![op(0, OpKind::Loads, X)], late()];
    let mut rig = Rig::new(two, programs);
    run(&mut rig, Mode::default(), 100_000);
    assert_eq!([0, 2, 3].map(|cu| rig.loaded_value(cu, 0)), [Some(NEW), Some(OLD), Some(OLD)]);
    assert_eq!(TrackerStats::total(rig.trackers.iter().map(|bank| bank.stats())).supplied, 1);
    assert_eq!(MemoryModelCheck::default().follow(&mut rig), Ok(()));
}

/// Runs a scenario with compute units P and Q. A load of P reads memory before a store of Q, but the line
/// arrives in P's L1 after the store. Then Q loads the same line.
fn overtaken_fill(protections: Protections) -> (Option<u32>, Result<(), String>, TrackerStats) {
    let slow = Setup { latency: (300, 0), ..setup(protections) };
    let p = vec![op(0, OpKind::Loads, X)];
    let q = vec![op(20, OpKind::Stores(NEW), X), op(1000, OpKind::Loads, X)];
    last_of_q(slow, [p, q])
}

#[test]
fn a_line_that_was_written_on_its_way_is_not_listed() {
    let (value, judged, stats) = overtaken_fill(TrackerScheme::Corrected.protections());
    assert_eq!((value, judged, stats.poisoned), (Some(NEW), Ok(()), 1));
}

#[test]
fn a_line_that_was_written_on_its_way_and_is_listed_misleads_the_writer() {
    let (value, judged, stats) = overtaken_fill(Protections { stores: true, coherent: true, fills: false });
    assert_eq!((value, stats.supplied), (Some(OLD), 1));
    assert!(judged.unwrap_err().ends_with("a compute unit sees its own stores"));
}

#[test]
fn a_load_whose_supplier_has_dropped_the_line_is_answered_by_memory() {
    let mut setup = setup(TrackerScheme::Corrected.protections());
    (setup.slowest_link, setup.slowest_answer) = (400, 400);
    let refused = (1..40).find_map(|seed| {
        let mut p = vec![op(0, OpKind::Loads, X)];
        p.extend(evict(1400));
        let q = vec![op(1500 + 10 * seed, OpKind::Loads, X)];
        let (value, judged, stats) = last_of_q(Setup { seed, ..setup.clone() }, [p, q]);
        assert_eq!((value, judged), (Some(OLD), Ok(())));
        (stats.refused > 0).then_some(stats)
    });
    let stats = refused.expect("in one of the cases the notice is late");
    assert_eq!((stats.forwards, stats.supplied, stats.refused), (1, 0, 1));
}

/// The tracker forwards a load of compute unit Q to compute unit P before P has received the line. After Q
/// has evicted its copy, the tracker selects P as supplier again.
#[test]
fn a_supplier_that_is_yet_to_get_the_line_refuses_and_is_asked_again() {
    let mut setup = setup(TrackerScheme::Corrected.protections());
    (setup.slowest_link, setup.slowest_answer) = (400, 400);
    let early = (1..400).find_map(|seed| {
        let p = vec![op(0, OpKind::Loads, X)];
        let mut q = vec![op(5 * seed, OpKind::Loads, X)];
        q.extend(evict(4000));
        q.push(op(8000, OpKind::Loads, X));
        let (value, judged, stats) = last_of_q(Setup { seed, ..setup.clone() }, [p, q]);
        assert_eq!((value, judged), (Some(OLD), Ok(())));
        (stats.too_early > 0).then_some(stats)
    });
    let stats = early.expect("in one of the cases the forward is faster than the line");
    assert_eq!((stats.forwards, stats.supplied, stats.refused, stats.too_early), (2, 1, 1, 1));
}

#[test]
fn a_store_waits_for_a_load_of_its_own_unit_that_is_at_another_l1() {
    let mut setup = setup(TrackerScheme::Corrected.protections());
    (setup.slowest_link, setup.slowest_answer, setup.lsu.slots) = (400, 400, 4);
    let p = vec![op(0, OpKind::Loads, X)];
    let q = vec![op(4000, OpKind::Loads, X), op(4001, OpKind::Stores(NEW), X)];
    let (mut rig, stats) = ran(setup, [p, q]);
    assert_eq!((rig.loaded_value(Q, 0), stats.supplied), (Some(OLD), 1));
    assert!(stats.held > 0);
    assert_eq!(MemoryModelCheck::default().follow(&mut rig), Ok(()));
}

#[test]
fn a_coherent_load_takes_its_line_from_the_tracker() {
    let setup = setup(TrackerScheme::Corrected.protections());
    let p = vec![op(0, OpKind::Loads, X)];
    let q = vec![op(300, OpKind::LoadsCoherently, X), op(600, OpKind::Loads, X)];
    let (value, judged, stats) = last_of_q(setup, [p, q]);
    assert_eq!((value, judged), (Some(OLD), Ok(())));
    assert_eq!((stats.supplied, stats.writes, stats.listed), (0, 1, 2));
}

/// Runs two loads of compute unit Q that contend for its L1. The L1 has two lines and two resident warps, and
/// each load touches one line, which is a warp's whole share.
fn contending(setup: Setup) -> (Rig, TrackerStats) {
    let l1 = L1Config { bypass: Contentious {}.into(), ..setup.l1.clone() };
    let p = vec![op(0, OpKind::Loads, X)];
    let loads = [300, 600].map(|not_before| Op { resident: 2, ..op(not_before, OpKind::Loads, X) });
    let (mut rig, stats) = ran(Setup { l1, ..setup }, [p, loads.to_vec()]);
    assert_eq!([0, 1].map(|number| rig.loaded_value(Q, number)), [Some(OLD); 2]);
    assert_eq!(MemoryModelCheck::default().follow(&mut rig), Ok(()));
    (rig, stats)
}

#[test]
fn a_load_that_contends_is_supplied_by_another_l1_and_leaves_no_copy() {
    let (rig, stats) = contending(setup(TrackerScheme::Corrected.protections()));
    assert_eq!((stats.supplied, stats.listed), (2, 1));
    let l1 = rig.lsus[Q].stats();
    assert_eq!((l1.bypasses, l1.misses, l1.evictions), (2, 0, 0));
}

#[test]
fn a_load_that_contends_goes_to_memory_where_only_lines_that_stay_are_looked_up() {
    let mut setup = setup(TrackerScheme::Corrected.protections());
    setup.tracker.probes = Probes::Kept;
    let (rig, stats) = contending(setup);
    assert_eq!((stats.lookups, stats.forwards, rig.lsus[Q].stats().bypasses), (1, 0, 2));
}
