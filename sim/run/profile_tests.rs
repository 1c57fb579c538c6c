//! | testpoint     | intent                                                                          |
//! |---------------|---------------------------------------------------------------------------------|
//! | same work     | the clocked machine executes the same numbers of warp instructions and line requests |
//! | same hits     | where the order is irrelevant, hits plus pending hits equal the untimed model's hits |
//! | index, bypass | the model follows the set index function and the bypass of the configuration     |
//! | flags         | a step that repeats until a flag is zero runs equally often on machine and model |

use std::path::PathBuf;

use super::*;
use crate::config::{Request, ResolvedMachine};
use crate::run::{Counters, RunOptions, run};
use golden::untimed::Load;

fn kernels() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../kernels")
}

fn fermi(designs: &[&str], sets: &[&str]) -> MachineConfig {
    let owned = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect();
    ResolvedMachine::new(&Request { machine: "fermi".to_owned(), designs: owned(designs), sets: owned(sets) })
        .unwrap()
        .config
}

/// Runs a launch file on the untimed caches and on the clocked machine. Returns the profile of all launches,
/// and the counters of the machine.
fn both(launch: &str, config: &MachineConfig) -> (Profile, Counters) {
    let path = kernels().join(launch);
    let kernels = profile(&path, None, config).unwrap();
    let all = kernels.iter().fold(Profile::default(), |mut all, kernel| {
        all.add(&kernel.all());
        all
    });
    (all, run(&path, config, &RunOptions::default(), &mut |_| {}).unwrap().counters)
}

/// Returns three sums over all L1s: accesses, hits (including hits on lines with a pending fill), and stores.
fn l1(counters: &Counters) -> (u64, u64, u64) {
    counters.l1.iter().fold((0, 0, 0), |(accesses, hits, stores), unit| {
        (accesses + unit.accesses, hits + unit.hits + unit.hit_pending, stores + unit.store_hits + unit.store_misses)
    })
}

/// Returns three sums over all instructions of a profile: accesses, hits and stores. The program counters of
/// loads in different kernels must differ.
fn sum_accesses(profile: &Profile) -> (u64, u64, u64) {
    let Load { transactions, l1_hits, .. } = profile.all_loads();
    (transactions, l1_hits, profile.stores.transactions)
}

#[test]
fn a_stream_gives_the_same_counts_on_the_machine() {
    let (untimed, clocked) = both("vadd/small", &fermi(&[], &[]));
    assert_eq!(untimed.warp_instructions, clocked.warp_instructions());
    assert_eq!(sum_accesses(&untimed), l1(&clocked));
    let l2 = clocked.totals().l2;
    let (reads, misses) = (l2.accesses, l2.misses + l2.write_misses);
    let found = untimed.all_loads().l2_hits + untimed.stores.l2_hits;
    assert_eq!(untimed.all_loads().l2_reads(), reads);
    assert_eq!(untimed.all_loads().l2_reads() + untimed.stores.transactions - found, misses);
}

#[test]
fn an_l1_that_holds_everything_gives_the_same_hits_on_the_machine() {
    for designs in [&[][..], &["pric"]] {
        let sets = if designs.is_empty() { &["l1.sets=4096"][..] } else { &["l1.ways=256"] };
        let (untimed, clocked) = both("syrk/small", &fermi(designs, sets));
        assert_eq!(untimed.warp_instructions, clocked.warp_instructions(), "{designs:?}");
        assert_eq!(sum_accesses(&untimed), l1(&clocked), "{designs:?}");
        assert!(sum_accesses(&untimed).1 > 0);
    }
}

#[test]
fn rows_that_meet_in_one_set_hit_with_the_polynomial_index_only() {
    let hits = |designs: &[&str]| {
        let kernels = profile(&kernels().join("syrk/launch.toml"), None, &fermi(designs, &[])).unwrap();
        let loads = kernels[0].all().all_loads();
        loads.l1_hits as f64 / loads.transactions as f64
    };
    let (linear, polynomial) = (hits(&[]), hits(&["pric"]));
    assert!(polynomial > linear + 0.3, "{linear} and {polynomial}");
}

#[test]
fn a_design_that_bypasses_every_load_leaves_the_l1_without_hits() {
    let kernels = profile(&kernels().join("syrk/small"), None, &fermi(&["bypass-all"], &[])).unwrap();
    let loads = kernels[0].all().all_loads();
    assert_eq!((loads.l1_hits, loads.bypasses), (0, loads.transactions));
    assert!(loads.l2_hits > 0);
}

#[test]
fn steps_that_repeat_until_a_flag_is_zero_run_as_often_as_on_the_machine() {
    let path = kernels().join("bfs/small");
    let launches = |name: &str, count: usize| (name.to_owned(), count as u64);
    let profiled = profile(&path, None, &fermi(&[], &[])).unwrap();
    let profiled: Vec<_> = profiled.iter().map(|kernel| launches(&kernel.name, kernel.launches.len())).collect();
    assert_eq!(profiled, run(&path, &fermi(&[], &[]), &RunOptions::default(), &mut |_| {}).unwrap().kernels);
}
