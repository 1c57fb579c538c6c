//! | testpoint      | intent                                                                            |
//! |----------------|-----------------------------------------------------------------------------------|
//! | protocol       | for a set of cached loads, the recording gives the same hits as a run of the      |
//! |                | rewritten PTX                                                                     |
//! | objective      | without interaction between loads, graph and caches give the same savings         |
//! | decisions      | each load has a decision with a reason; loads that did not run stay unchanged     |

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use compiler::characterise::BypassTrafficModel;
use compiler::rewrite::{Operator, rewrite};
use compiler::solve::Method;
use rtl::machine::MachineConfig;

use super::*;
use crate::config::{Request, ResolvedMachine};
use crate::run::{open, profile};

fn kernels() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../kernels")
}

fn fermi() -> MachineConfig {
    let request = Request { machine: "fermi".to_owned(), designs: Vec::new(), sets: Vec::new() };
    ResolvedMachine::new(&request).unwrap().config
}

fn subject(launch: &str) -> Subject {
    Subject::new(open(&kernels().join(launch), None).unwrap(), &fermi()).unwrap()
}

/// Runs a launch file with the given PTX text. Returns the hits and the bytes requested from the L2 for each
/// load, by its line in the PTX text.
fn run(launch: &Path, text: &str) -> BTreeMap<u32, (u64, u64)> {
    let folder = tempfile::tempdir().unwrap();
    let ptx = folder.path().join("rewritten.ptx");
    std::fs::write(&ptx, text).unwrap();
    let mut found: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for kernel in profile(launch, Some(&ptx), &fermi()).unwrap() {
        for (pc, load) in kernel.all().loads {
            let of_line = found.entry(kernel.lines[pc as usize]).or_default();
            of_line.0 += load.l1_hits;
            of_line.1 += load.l2_bytes(128);
        }
    }
    found
}

/// Measures hits and L2 traffic in bytes with the protocol of the paper: rewrites the PTX file, runs it and
/// reads the counters.
fn hits_of_rewritten(subject: &Subject, launch: &Path, cached: &[usize]) -> (u64, u64) {
    let operator = |number| if cached.contains(&number) { Operator::Ca } else { Operator::Cg };
    let operators: Vec<_> = (0..subject.loads.len()).map(|number| Some(operator(number))).collect();
    let found = run(launch, &rewrite(&subject.source, &operators).unwrap());
    let hits = cached.iter().filter_map(|&number| found.get(&subject.loads[number].line)).map(|(hits, _)| hits).sum();
    (hits, found.values().map(|(_, bytes)| bytes).sum())
}

#[test]
fn metrics_are_those_of_running_the_rewritten_ptx() {
    for launch in ["kmeans/small", "srad1/small"] {
        let (subject, path) = (subject(launch), kernels().join(launch));
        for kernel in subject.characterise(&|| {}) {
            let loads = &kernel.loads;
            for (i, &load) in loads.iter().enumerate() {
                assert_eq!(hits_of_rewritten(&subject, &path, &[load]).0, kernel.alone[i].hits, "{launch}: {load}");
            }
            for j in 1..loads.len().min(4) {
                let pair = [loads[0], loads[j]];
                let hits = hits_of_rewritten(&subject, &path, &pair).0;
                assert_eq!(hits, kernel.pair_hits.get(0, j), "{launch}: {pair:?}");
            }
        }
    }
}

#[test]
fn the_traffic_of_a_choice_is_that_of_running_the_rewritten_ptx() {
    let launch = "kmeans/small";
    let (subject, path) = (subject(launch), kernels().join(launch));
    let all: Vec<usize> = (0..subject.loads.len()).collect();
    for cached in [&all[..], &[], &all[1..], &all[..2]] {
        let bytes = subject.l2_bytes(&cached.iter().copied().collect());
        assert_eq!(bytes, hits_of_rewritten(&subject, &path, cached).1, "{cached:?}");
    }
}

#[test]
fn with_exact_traffic_the_graph_says_what_one_cached_load_saves() {
    let subject = subject("kmeans/small");
    let optimised = Optimization::new(&subject, subject.characterise(&|| {}), BypassTrafficModel::Exact);
    assert!(optimised.graph.len() > 1);
    for (node, &load) in optimised.graph.loads().iter().enumerate() {
        let saved = optimised.bypass_all_bytes as f64 - subject.l2_bytes(&BTreeSet::from([load])) as f64;
        assert_eq!(optimised.graph.node(node), saved, "load {load}");
    }
}

#[test]
fn every_load_has_a_decision_with_its_reason() {
    let subject = subject("vadd/small");
    let optimised = Optimization::new(&subject, subject.characterise(&|| {}), BypassTrafficModel::Uniform);
    for method in Method::ALL {
        let decisions = optimised.decisions(method).unwrap();
        // A streaming load has no hits in the L1. For a complete line, caching and bypassing cost the same
        // traffic. The stream ends after an eighth of a line; for this line, caching fetches three sectors
        // (96 bytes) more than bypassing.
        assert_eq!(decisions.iter().map(|d| d.operator).collect::<Vec<_>>(), [Some(Operator::Cg); 2]);
        assert!(decisions.iter().all(|d| d.reason.contains("saves -96 bytes")), "{decisions:?}");
    }
}

#[test]
fn methods_agree_on_what_the_graph_is_worth() {
    for launch in ["bfs/small", "kmeans/small", "backprop/small"] {
        let subject = subject(launch);
        let optimised = Optimization::new(&subject, subject.characterise(&|| {}), BypassTrafficModel::Uniform);
        let [heuristic, ilp, exhaustive] =
            Method::ALL.map(|method| optimised.solution(method).choice.as_ref().unwrap().value);
        assert!((ilp - exhaustive).abs() <= 1e-9 * exhaustive.abs(), "{launch}: {ilp} and {exhaustive}");
        assert!(heuristic <= exhaustive, "{launch}");
    }
}
