//! Checks that every counter of every hardware block affects the statistics: if the counter changes, the
//! statistics must change.

use std::collections::BTreeSet;

use serde_json::Value;
use warpsieve::run::{Counters, RunReport};

use super::{Run, kind, runs, statistics};

/// Counters that do not affect the statistics. Each entry has groups of counters, names in these groups, and
/// the reason.
const ELSEWHERE: &[(&str, &[&str], &str)] = &[
    (
        "const_cache texture_cache",
        &["bypasses", "sector_misses", "store_hits", "store_misses", "atomics", "promotions", "demotions"],
        "a read-only cache counts none of these",
    ),
    (
        "const_cache/prefetch texture_cache/prefetch",
        &["issued", "useful", "late", "useless", "dropped"],
        "only an L1D has a prefetcher",
    ),
    ("const_cache/victim texture_cache/victim", &["hits", "swaps", "kept"], "only an L1D has a victim cache"),
    ("", &["dram_khz"], "a clock of the configuration, by which rates of the papers are formed"),
];

/// Collects the JSON pointers (paths) of all numbers inside a JSON value.
fn numbers(path: String, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(path),
        Value::Array(elements) => {
            elements.iter().enumerate().for_each(|(at, inside)| numbers(format!("{path}/{at}"), inside, found));
        }
        Value::Object(keys) => keys.iter().for_each(|(key, inside)| numbers(format!("{path}/{key}"), inside, found)),
        _ => {}
    }
}

/// True if the statistics of a run change when the counter at `pointer` is incremented by one.
fn changes_statistics(run: &Run, plain: &RunReport, before: &Value, pointer: &str) -> bool {
    let mut counters = serde_json::to_value(&plain.counters).unwrap();
    let counter = counters.pointer_mut(pointer).unwrap();
    *counter = (counter.as_u64().unwrap() + 1).into();
    let counters: Counters = serde_json::from_value(counters).unwrap();
    statistics(&run.resolved, &RunReport { counters, ..plain.clone() }, None) != *before
}

#[test]
fn no_counter_of_a_block_is_missing_in_the_statistics() {
    let (mut told, mut all) = (BTreeSet::new(), BTreeSet::new());
    let mut machines = BTreeSet::new();
    for run in runs().iter().filter(|run| machines.insert(run.resolved.hash())) {
        // Energy is left out of the statistics, since it is computed from counters that they contain anyway.
        let plain = RunReport { structures: None, ..run.report.clone() };
        let before = statistics(&run.resolved, &plain, None);
        let mut pointers = Vec::new();
        numbers(String::new(), &serde_json::to_value(&run.report.counters).unwrap(), &mut pointers);
        // For each kind of unit, such as the L1s, only the counters of the first unit are checked. The
        // statistics treat all units of a kind alike.
        let is_first = |pointer: &String| pointer.split('/').nth(2).is_none_or(|unit| ["0", ""].contains(&unit));
        for pointer in pointers.into_iter().filter(is_first) {
            let key = kind(&pointer);
            all.insert(key.clone());
            if !told.contains(&key) && changes_statistics(run, &plain, &before, &pointer) {
                told.insert(key);
            }
        }
    }
    let is_elsewhere = |key: &&String| {
        let (group, name) = key.trim_start_matches('/').rsplit_once('/').unwrap_or(("", key.trim_start_matches('/')));
        ELSEWHERE.iter().any(|(groups, names, _)| groups.split(' ').any(|of| of == group) && names.contains(&name))
    };
    let lost: Vec<_> = all.difference(&told).filter(|key| !is_elsewhere(key)).collect();
    assert!(lost.is_empty(), "counted, and in no statistics: {lost:?}");
    let excused: Vec<_> = told.iter().filter(is_elsewhere).collect();
    assert!(excused.is_empty(), "said to be in no statistics, and there: {excused:?}");
}
