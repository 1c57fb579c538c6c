use isa::program::Program;
use proptest::prelude::*;
use ptx::Source;

use super::*;
use crate::index::Function;
use crate::l1::cache::{self, Cache};
use crate::l1::event::{
    Event, FailOrder, Load as L1Load, LoadOutcome, Outcome, Sectors, Space as L1Space, WriteOutcome,
};
use crate::l2::bank::{self as l2, Bank, Banks};

const BASE: u64 = 0x10_0000;

/// Compiles a kernel `k(p)` with the given body. `%rd0` holds the parameter `p`, `%r0` the thread number,
/// `%rd1` the address of the thread's word, and `%rd2` the address of the thread's line.
fn kernel(body: &str) -> Program {
    let text = format!(
        ".version 7.1\n.target sm_35\n.address_size 64\n.entry k(.param .u64 p) {{\n\
         .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n\
         ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x;\n\
         mul.wide.u32 %rd1, %r0, 4; add.s64 %rd1, %rd0, %rd1; mul.wide.u32 %rd2, %r0, 128; add.s64 %rd2, %rd0, %rd2;\n\
         {body}\n}}"
    );
    match Source::new("k.ptx", &text).kernel("k") {
        Ok(program) => program,
        Err(error) => panic!("{error}\n{text}"),
    }
}

fn geometry(bits: u32, ways: usize) -> Geometry {
    Geometry { index: SetIndex::new(Function::Linear { bits }, 7, 32).unwrap(), ways }
}

/// Creates caches for one SM. The L1 has a single set of `l1_ways` lines. Each of the two L2 banks has a
/// single set of `l2_ways` lines.
fn caches(l1_ways: usize, l2_ways: usize) -> Caches {
    let (l1, l2) = (geometry(0, l1_ways), geometry(0, l2_ways));
    let banks = Banks { count: 2, run: 1 };
    Caches::new(Config { num_sms: 1, line_bytes: 128, l1, bypass: false, l2, l2_line_bytes: 128, banks })
}

fn profile(caches: &mut Caches, body: &str) -> Profile {
    with_launch(body, |launch, memory| caches.run(launch, 1, memory).unwrap())
}

/// Calls `run` with a launch of one warp that executes `body`, and with the memory of that launch.
fn with_launch<T>(body: &str, run: impl FnOnce(&Launch<'_>, &mut FlatMemory) -> T) -> T {
    let program = kernel(body);
    let mut memory = FlatMemory::new();
    memory.place("p", BASE, vec![0; 1 << 16]).unwrap();
    let launch = Launch {
        program: &program,
        grid: [1; 3],
        block: [32, 1, 1],
        dynamic_shared: 0,
        params: &BASE.to_le_bytes(),
        max_instructions: 100_000,
    };
    run(&launch, &mut memory)
}

fn loads(profile: &Profile) -> Vec<Load> {
    profile.loads.values().copied().collect()
}

#[test]
fn a_word_a_lane_is_one_line_and_a_line_a_lane_is_thirty_two() {
    let body = "ld.global.u32 %r1, [%rd1]; ld.global.u32 %r1, [%rd2]; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0];";
    let profile = profile(&mut caches(64, 64), body);
    let counts: Vec<_> =
        loads(&profile).iter().map(|load| (load.warps, load.lanes, load.transactions, load.most)).collect();
    assert_eq!(counts, [(1, 32, 1, 1), (1, 32, 32, 32), (1, 32, 1, 1)]);
    // The second and the third load hit line 0 in the L1, which the first load has filled.
    assert_eq!(loads(&profile).iter().map(|load| load.l1_hits).collect::<Vec<_>>(), [0, 1, 1]);
    assert_eq!(profile.all_loads().l2_reads(), 1 + 31);
    assert_eq!(profile.warp_instructions, 10);
}

#[test]
fn the_least_recently_used_line_gives_way() {
    // Lines 0, 1, 0, 2, 0, 1 are loaded into a set of two ways. Line 2 evicts line 1, so the second load of
    // line 1 misses.
    let at = |line: u32| format!("ld.global.u32 %r1, [%rd0+{}];", 128 * line);
    let body: String = [0, 1, 0, 2, 0, 1].map(at).concat();
    let profile = profile(&mut caches(2, 64), &body);
    let found: Vec<_> = loads(&profile).iter().map(|load| (load.l1_hits, load.l2_hits)).collect();
    assert_eq!(found, [(0, 0), (0, 0), (1, 0), (0, 0), (1, 0), (0, 1)]);
}

#[test]
fn a_store_throws_the_line_out_of_the_l1_and_stays_in_the_l2() {
    let body = "ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd1], %r1; ld.global.u32 %r1, [%rd1];";
    let profile = profile(&mut caches(4, 64), body);
    assert_eq!(profile.stores, Stores { warps: 1, transactions: 1, l1_evictions: 1, l2_hits: 1 });
    assert_eq!(loads(&profile).iter().map(|load| (load.l1_hits, load.l2_hits)).collect::<Vec<_>>(), [(0, 0), (0, 1)]);
}

#[test]
fn a_load_that_says_so_passes_by_the_l1() {
    let body = "ld.global.u32 %r1, [%rd1]; ld.global.cg.u32 %r1, [%rd1]; ld.volatile.global.u32 %r1, [%rd1];";
    let profile = profile(&mut caches(4, 64), body);
    let found: Vec<_> = loads(&profile).iter().map(|load| (load.bypasses, load.l1_hits, load.l2_hits)).collect();
    assert_eq!(found, [(0, 0, 0), (1, 0, 1), (1, 0, 1)]);
}

#[test]
fn what_passes_by_the_l1_moves_sectors_and_what_misses_moves_lines() {
    // The first load reads one word per lane, which covers a whole line of 4 sectors. The second and third
    // read one word per line, which touches one sector each. The last reads 16 bytes within one sector.
    let body = "ld.global.cg.u32 %r1, [%rd1]; ld.global.cg.u32 %r1, [%rd2]; ld.global.u32 %r1, [%rd2]; \
                ld.global.cg.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0];";
    let profile = profile(&mut caches(64, 64), body);
    assert_eq!(loads(&profile).iter().map(|load| load.bypassed_sectors).collect::<Vec<_>>(), [4, 32, 0, 1]);
    assert_eq!(loads(&profile).iter().map(|load| load.l2_bytes(128)).collect::<Vec<_>>(), [128, 1024, 4096, 32]);
}

/// Runs `body` in one warp on one SM, and returns its recorded requests.
fn recording(body: &str) -> Recording {
    with_launch(body, |launch, memory| Recording::new(launch, Sms { count: 1, ctas: 1 }, 128, memory).unwrap())
}

#[test]
fn a_recording_holds_bytes_lines_and_sectors_of_each_load() {
    let recording = recording("ld.global.u32 %r1, [%rd1]; ld.global.cg.u32 %r1, [%rd2]; st.global.u32 [%rd1], %r1;");
    let asked = recording.loads().iter().map(|a| (a.bytes, a.transactions, a.sectors, a.is_cached));
    assert_eq!(asked.collect::<Vec<_>>(), [(128, 1, 4, true), (128, 32, 32, false)]);
}

#[test]
fn a_recording_answers_as_caches_do_whatever_its_loads_say() {
    // The L1 has one set of two ways. The loads reuse lines within one instruction and across instructions,
    // and evict each other's lines; a store evicts a line too.
    let at = |operators: [bool; 4]| {
        let [a, b, c, d] = operators.map(|cached| if cached { "ca" } else { "cg" });
        format!(
            "ld.global.{a}.u32 %r1, [%rd0]; ld.global.{b}.u32 %r1, [%rd0+128]; ld.global.{c}.u32 %r1, [%rd0]; \
             st.global.u32 [%rd0+128], %r1; ld.global.{d}.u32 %r1, [%rd2];"
        )
    };
    let recorded = recording(&at([true; 4]));
    let l1 = geometry(0, 2);
    for cached in (0..16).map(|bits: u32| [0, 1, 2, 3].map(|i| bits >> i & 1 != 0)) {
        let run = profile(&mut caches(2, 64), &at(cached));
        let expected: Vec<_> = loads(&run).iter().map(|load| load.l1_hits).collect();
        assert_eq!(recorded.hits(l1, &cached), expected, "{cached:?}");
    }
    assert_eq!(recorded.hits(l1, &[true; 4]), [0, 0, 1, 1]);
}

#[test]
fn reuse_counts_requests_between_two_of_one_line() {
    // Lines A, B, C, A, A are requested, the last time by a store. The reuse distances of A are 2 and 0. B
    // and C are requested once.
    let body = "ld.global.u32 %r1, [%rd0]; ld.global.u32 %r1, [%rd0+128]; ld.global.u32 %r1, [%rd0+256]; \
                ld.global.u32 %r1, [%rd0]; st.global.u32 [%rd0], %r1;";
    let reuse = recording(body).reuse();
    assert_eq!((reuse.lines, reuse.requests, reuse.once), ([2, 0, 1, 0], 5, 2));
    assert_eq!((reuse.distances[0], reuse.distances[2], reuse.distances.iter().sum::<u64>()), (1, 1, 2));
    let mut twice = reuse;
    twice.add(&reuse);
    assert_eq!((twice.lines, twice.requests, twice.distances[2]), ([4, 0, 2, 0], 10, 2));
}

#[test]
fn lines_are_admitted_by_the_requests_of_an_sm_or_of_all() {
    // Lines A, A, B are requested on one SM: two requests for A, and one for B.
    let body = "ld.global.u32 %r1, [%rd0]; ld.global.u32 %r1, [%rd0]; ld.global.u32 %r1, [%rd0+128];";
    let one = recording(body);
    let lines: Vec<u64> = one.admitted_lines(CountScope::Local, 1).concat();
    let [a, b] = lines[..] else { panic!("{lines:?}") };
    assert_eq!(one.admitted_lines(CountScope::Local, 2), [[a]]);
    assert_eq!(one.admitted_lines(CountScope::Global, 2), [[a]]);
    assert_eq!(one.admitted_lines(CountScope::Either, 3), [[0_u64; 0]]);
    assert_eq!(one.admitted_lines(CountScope::Either, 1), [[a, b]]);
}

#[test]
fn the_l1_forgets_between_launches_and_the_l2_does_not() {
    let mut caches = caches(4, 64);
    let body = "ld.global.u32 %r1, [%rd1];";
    let found = [(); 2].map(|()| profile(&mut caches, body).all_loads());
    assert_eq!(found.map(|load| (load.l1_hits, load.l2_hits)), [(0, 0), (0, 1)]);
}

#[test]
fn an_l1_line_is_found_in_an_l2_of_shorter_lines_only_if_all_of_it_is_there() {
    let geometry = |bits| Geometry { index: SetIndex::new(Function::Linear { bits }, 5, 32).unwrap(), ways: 64 };
    let mut caches = caches(4, 64);
    caches = Caches::new(Config { l2: geometry(0), l2_line_bytes: 32, ..caches.config });
    // The loads request the first sector of an L1 line, the second sector, the first sector again, and then
    // the whole line. The L2 has lines of one sector.
    let body = "ld.global.cg.u32 %r1, [%rd0]; ld.global.cg.u32 %r1, [%rd0+32]; ld.global.cg.u32 %r1, [%rd0]; \
                ld.global.u32 %r1, [%rd1];";
    let found: Vec<_> = loads(&profile(&mut caches, body)).iter().map(|load| load.l2_hits).collect();
    assert_eq!(found, [0, 0, 1, 0]);
}

#[test]
fn a_dirty_line_that_gives_way_is_written_back_once() {
    // Each of the two L2 banks holds one line: lines 0 and 2 conflict in bank 0, and line 1 is alone in bank
    // 1.
    let body = "st.global.u32 [%rd0], %r0; st.global.u32 [%rd0+128], %r0; ld.global.u32 %r1, [%rd0+256]; ld.global.u32 %r1, [%rd0];";
    assert_eq!(profile(&mut caches(4, 1), body).write_backs, 1);
}

#[test]
fn profiles_of_launches_add_up() {
    let one = profile(&mut caches(64, 64), "ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd1], %r1;");
    let other = profile(&mut caches(64, 64), "ld.global.u32 %r1, [%rd2]; st.global.u32 [%rd1], %r1;");
    let mut both = one.clone();
    both.add(&other);
    let [load] = loads(&both)[..] else { panic!("{both:?}") };
    assert_eq!((load.warps, load.transactions, load.most), (2, 33, 32));
    assert_eq!((both.stores.transactions, both.warp_instructions), (2, 18));
}

proptest! {
    #[test]
    fn lines_are_those_of_an_l1_whose_fills_come_at_once(
        ways in 1usize..=4,
        steps in prop::collection::vec((0u64..24, any::<bool>()), 1..200),
    ) {
        let geometry = geometry(2, ways);
        let mut lines = Lines::new(geometry);
        let mut twin = Cache::new(cache::Config {
            index: geometry.index,
            ways,
            mshr_entries: 1,
            mshr_slots: 1,
            miss_queue: 8,
            fail_order: FailOrder::MshrFirst,
            filter: None,
            updates: false,
            notifies: false,
        });
        for (line, store) in steps {
            if store {
                let event = Event::Store { line, parts: Sectors::WHOLE, space: L1Space::Global, queue_used: 0 };
                let evicted = twin.step(event).unwrap() == Outcome::Write(WriteOutcome::Evicted);
                prop_assert_eq!(lines.remove(line).is_some(), evicted);
                continue;
            }
            let outcome = twin.step(Event::Load { load: L1Load::of(line), waiter: (), queue_used: 0 }).unwrap();
            if let Outcome::Load(LoadOutcome::Miss { victim }) = outcome {
                let is_clean = victim.is_none_or(|victim| !victim.modified);
                prop_assert!(is_clean);
                twin.step(Event::Fill { line, parts: Sectors::WHOLE }).unwrap();
                twin.step(Event::Drain).unwrap();
            }
            prop_assert_eq!(lines.reach(line, false).hit, outcome == Outcome::Load(LoadOutcome::Hit));
        }
    }

    #[test]
    fn lines_are_those_of_an_l2_bank_whose_fills_come_at_once(
        ways in 1usize..=4,
        steps in prop::collection::vec((0u64..24, any::<bool>()), 1..200),
    ) {
        let geometry = geometry(2, ways);
        let mut lines = Lines::new(geometry);
        let mut twin = Bank::new(geometry.index, ways);
        for (line, store) in steps {
            let write = l2::Write { byte_mask: 1, bytes: vec![1; 128] };
            let access = if store { l2::Access::Write(write) } else { l2::Access::Read(()) };
            let outcome = twin.access(line, access);
            let wrote_back = matches!(&outcome, l2::Outcome::Miss { victim: Some(l2::Victim { write_back: Some(_), .. }) });
            if matches!(outcome, l2::Outcome::Miss { .. }) {
                twin.fill(line, vec![0; 128]).unwrap();
            }
            let reached = lines.reach(line, store);
            prop_assert_eq!(reached.hit, matches!(outcome, l2::Outcome::Hit(_)));
            prop_assert_eq!(reached.wrote_back, wrote_back);
        }
    }
}

/// Runs `ctas` CTAs of `block` threads on `sms` SMs and returns the locality counts. Each SM has an L1 with a
/// single line.
fn count_locality(body: &str, ctas: u32, block: u32, sms: usize, launches: usize) -> LocalityCounts {
    let config = Config { num_sms: sms, ..caches(1, 64).config };
    let mut locality = Locality::new(config);
    let program = kernel(body);
    let mut memory = FlatMemory::new();
    memory.place("p", BASE, vec![0; 1 << 16]).unwrap();
    let params = BASE.to_le_bytes();
    let launch = Launch {
        program: &program,
        grid: [ctas, 1, 1],
        block: [block, 1, 1],
        dynamic_shared: 0,
        params: &params,
        max_instructions: 100_000,
    };
    for _ in 0..launches {
        locality.run(&launch, 1, &mut memory).unwrap();
    }
    *locality.counts()
}

#[test]
fn a_line_found_again_is_told_by_who_used_it_last() {
    // Lane 0 reads the line twice (intra-thread locality), and then lane 1 reads it (inter-thread locality).
    let body = "setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r0, 1; @%p1 ld.global.u32 %r1, [%rd0]; \
                @%p1 ld.global.u32 %r1, [%rd0]; @%p2 ld.global.u32 %r1, [%rd0];";
    let one = count_locality(body, 1, 32, 1, 1);
    assert_eq!((one.l1.requests, one.l1.found), (3, [1, 1, 0, 0, 0, 0]));
    let read = "ld.global.u32 %r1, [%rd0];";
    assert_eq!(count_locality(read, 1, 64, 1, 1).l1.found, [0, 0, 1, 0, 0, 0]);
    assert_eq!(count_locality(read, 2, 32, 1, 1).l1.found, [0, 0, 0, 1, 0, 0]);
    let others = count_locality(read, 2, 32, 2, 1);
    assert_eq!((others.l1.found, others.l2.found), ([0; 6], [0, 0, 0, 0, 1, 0]));
    let again = count_locality(read, 1, 32, 1, 2);
    assert_eq!((again.l1_unbounded.found, again.l2.found), ([0; 6], [0, 0, 0, 0, 0, 1]));
}

#[test]
fn an_unbounded_cache_loses_lines_to_stores_alone() {
    // The L1 holds one line. The accesses are: load A, load B, load A, store A, load A. Every load misses in
    // this L1. In the L1 without capacity limit, only the second load of A hits.
    let body = "ld.global.u32 %r1, [%rd0]; ld.global.u32 %r1, [%rd0+128]; ld.global.u32 %r1, [%rd0]; \
                st.global.u32 [%rd0], %r1; ld.global.u32 %r1, [%rd0];";
    let LocalityCounts { l1, l1_unbounded, l2, l2_unbounded } = count_locality(body, 1, 32, 1, 1);
    assert_eq!((l1.found[0], l1_unbounded.found[0]), (0, 1));
    // The L2 receives five requests, because all four loads miss in the L1 and the store goes to the L2.
    assert_eq!((l2.requests, l2.found[0], l2_unbounded.found[0]), (5, 3, 3));
}
