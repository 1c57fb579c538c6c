//! Tests instruction caches on whole machines. Misses read lines from the L2 like data, and the caches change
//! no result.

use rtl::sm::{InstructionStats, StallReason};
use warpsieve::run::Counters;

use super::replay::TraceFolder;
use super::{Setup, launch};

const ICACHE: [&str; 1] = ["icache"];

fn sum(counters: &Counters, count: fn(&InstructionStats) -> u64) -> u64 {
    counters.icache.iter().map(count).sum()
}

fn misses(counters: &Counters) -> u64 {
    sum(counters, |icache| icache.misses)
}

/// Returns the number of reads that were looked up in the L2.
fn l2_reads(counters: &Counters) -> u64 {
    counters.totals().l2.accesses
}

fn fetch_misses(counters: &Counters) -> u64 {
    counters.slots().of(StallReason::FetchMiss)
}

#[test]
fn every_machine_gives_every_result_with_an_instruction_cache() {
    for kernel in ["backprop", "bfs", "conv", "histo", "reduction", "scan", "vadd"] {
        Setup::run_checked().designs(&ICACHE).passes(&launch(kernel, "small"));
    }
    let least = ["sm.icache.sets=1", "sm.icache.ways=1", "sm.icache.mshr_entries=1", "sm.icache.instruction_bytes=16"];
    for (machine, designs) in
        [("kepler", &["icache"][..]), ("southern-islands", &["icache"]), ("hybrid", &["icache", "tracker"])]
    {
        for sets in [&[][..], &least] {
            let setup = Setup::run_checked().machine(machine).designs(designs).sets(sets);
            setup.passes(&launch("bfs", "small"));
            setup.passes(&launch("vadd", "small"));
        }
    }
}

#[test]
fn every_read_of_the_l2_is_a_miss_of_one_of_the_caches() {
    let counters = Setup::run_checked().designs(&ICACHE).passes(&launch("sgemm", "small")).counters;
    let l1s = counters.l1.iter().chain(&counters.const_cache).chain(&counters.texture_cache);
    let data: u64 = l1s.map(|l1| l1.misses + l1.bypasses).sum();
    assert!(misses(&counters) > 0);
    assert_eq!(l2_reads(&counters), data + misses(&counters));
    assert!(fetch_misses(&counters) > 0);
}

#[test]
fn a_perfect_store_has_no_counters_and_loses_no_cycle() {
    let counters = Setup::default().passes(&launch("sgemm", "small")).counters;
    assert_eq!((counters.icache.len(), fetch_misses(&counters)), (0, 0));
}

/// An instruction cache that can hold all lines of the program has one miss per line and SM, in any number of
/// launches.
#[test]
fn lines_stay_from_launch_to_launch() {
    let of = |sets: &[&str]| {
        Setup::run_checked().designs(&ICACHE).sets(sets).passes(&launch("pathfinder", "small")).counters
    };
    let large = ["sm.icache.sets=64", "sm.icache.ways=16"];
    let one = of(&[&large[..], &["num_sms=1"]].concat());
    let evictions = sum(&one, |icache| icache.evictions);
    assert_eq!(evictions, 0);
    let image_lines = misses(&one);
    assert!((1..100).contains(&image_lines), "{image_lines}");
    let all = of(&large);
    assert!(misses(&all) <= 15 * image_lines && all.cycles > 0);
}

/// The trace has instructions of 16 bytes, a few in each of three lines. At its end, the warp returns to the
/// first line.
#[test]
fn a_trace_is_fetched_at_its_own_program_counters() {
    let at = |pc: u32| format!("{pc:04x} ffffffff 1 R2 FADD 2 R2 R3 0");
    let pcs = [0, 0x10, 0x20, 0x70, 0x80, 0x90, 0x10_0000, 0x10_0010, 0x20];
    let text: Vec<_> = pcs.map(at).into_iter().chain(["0030 ffffffff 0 EXIT 0 0 0".to_owned()]).collect();
    let traced = TraceFolder::ampere(text.join("\n"));
    let replayed = |bytes: u32| {
        let sets = ["num_sms=1".to_owned(), format!("sm.icache.instruction_bytes={bytes}")];
        traced.passes(&Setup::default().designs(&ICACHE).sets(&sets.each_ref().map(String::as_str))).counters
    };
    let counters = replayed(8);
    // Each access fetches a pair of consecutive instructions, or a single one before a jump or at the end of
    // a line. The six accesses fetch the hexadecimal addresses 0 and 10, 20, 70, 80 and 90, 100000 and
    // 100010, 20 and 30.
    assert_eq!((misses(&counters), sum(&counters, |icache| icache.accesses)), (3, 6));
    // The configured instruction size is used for programs only, so it must not affect a trace.
    assert_eq!(counters, replayed(16));
}
