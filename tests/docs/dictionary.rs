//! Checks that the dictionary of counters and stall reasons matches the statistics that runs produce.

use std::collections::BTreeSet;
use std::fs;

use rtl::sm::StallReason;
use serde_json::Value;
use warpsieve_cli::dictionary::{Counter, counters, stalls};

/// Command-line arguments of runs that together produce every counter. The first run has only the counters
/// that every machine has.
const RUNS: [&[&str]; 18] = [
    &[],
    &["--check"],
    &["--design", "decoupled"],
    &["--design", "frc", "--machine", "southern-islands"],
    &["--design", "tracker"],
    &["--design", "ideal-operands"],
    &["--design", "icache"],
    &["--design", "sub-cores"],
    &["--design", "l1-sectored"],
    &["--design", "next-line"],
    &["--design", "victim-cache"],
    &["--machine", "volta"],
    &["--design", "l2-sectored"],
    &["--design", "streaming-l2"],
    &["--design", "l2-next-line"],
    &["--design", "l2-utility"],
    &["--design", "mshr-by-warp", "--set", "l2.mshr_policy={ kind = \"by-requester\" }"],
    &["--machine", "hybrid", "--design", "hybrid-policy"],
];

fn statistics(options: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stats.json");
    let run = ["run", "kernels/vadd/small", "--quiet", "--stats", file.to_str().unwrap()];
    super::print(&[&run[..], options].concat());
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

fn entry(key: &str) -> Option<&'static Counter> {
    counters().iter().find(|counter| counter.key == key)
}

/// Records the dictionary entries of all keys at or below `path` whose value is not `null`.
fn note(path: &str, value: &Value, seen: &mut BTreeSet<&'static str>) {
    match value {
        Value::Object(keys) => {
            for (key, value) in keys {
                let key = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let entry = entry(&key).unwrap_or_else(|| panic!("`{key}` is not in the dictionary"));
                if !value.is_null() {
                    seen.insert(&entry.key);
                    // A dictionary entry may state that its nested keys are described by another entry. These
                    // keys are then looked up under the other entry.
                    let inside = match (entry.like.as_deref(), value.is_array()) {
                        (Some(like), true) => like.trim_end_matches("[]"),
                        (Some(like), false) => like,
                        (None, _) => &key,
                    };
                    note(inside, value, seen);
                }
            }
        }
        Value::Array(elements) if elements.iter().any(Value::is_object) => {
            let is_listed_alone = !counters().iter().any(|counter| counter.key.starts_with(&format!("{path}[]")));
            let inside = if is_listed_alone { path.to_owned() } else { format!("{path}[]") };
            elements.iter().for_each(|element| note(&inside, element, seen));
        }
        _ => {}
    }
}

/// True if the dictionary states the condition under which a key is present in the statistics. The statement
/// is in the description of the key itself or of a key that encloses it.
fn says_when(key: &str) -> bool {
    let around = (0..key.len()).filter(|&at| key[at..].starts_with('.')).map(|at| key[..at].trim_end_matches("[]"));
    around.chain([key]).filter_map(entry).any(|counter| counter.meaning.contains("only "))
}

#[test]
fn every_key_of_the_statistics_is_in_the_dictionary_and_what_is_there_is_counted() {
    let mut seen = BTreeSet::new();
    for (at, options) in RUNS.iter().enumerate() {
        note("", &statistics(options), &mut seen);
        if at == 0 {
            for Counter { key, .. } in counters().iter().filter(|counter| !seen.contains(&*counter.key)) {
                assert!(
                    says_when(key),
                    "`{key}` is missing or null in an ordinary run, and does not say when it is not"
                );
            }
        }
    }
    let unseen: Vec<_> = counters().iter().filter(|counter| !seen.contains(&*counter.key)).collect();
    // Three keys never occur in these runs. The kernel is too short for a throttle to find a warp limit. Block
    // copies (opcodes such as `UBLKCP`) and operations in tensor memory occur only in traces, which are not
    // replayed here.
    let expected = ["kernels[].warp_limit", "block_copies", "engine_operations"];
    assert_eq!(unseen.iter().map(|counter| &*counter.key).collect::<Vec<_>>(), expected);
}

#[test]
fn every_entry_has_a_sentence_and_every_key_one_entry() {
    for Counter { key, meaning, like, .. } in counters() {
        assert!(meaning.len() > 3 && meaning.ends_with('.') && !meaning.contains("[`"), "{key}: {meaning}");
        assert_eq!(counters().iter().filter(|counter| counter.key == *key).count(), 1, "{key}");
        assert!(like.as_ref().is_none_or(|like| entry(like.trim_end_matches("[]")).is_some()), "{key}: {like:?}");
    }
}

#[test]
fn every_stall_reason_has_its_counter() {
    let counted: Vec<_> = stalls().iter().map(|stall| &*stall.counted).collect();
    for reason in StallReason::ALL.into_iter().filter(|reason| *reason != StallReason::Issued) {
        assert!(counted.contains(&&*format!("stalls.{}", reason.name())), "{}", reason.name());
    }
    for counter in counted {
        assert!(counters().iter().any(|c| c.key.ends_with(counter)), "{counter}");
    }
}
