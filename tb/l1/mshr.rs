//! # Testbench of the MSHR
//! Random sequences of loads, overtaking stores, fills and departures against the golden map.
//!
//! | testpoint                                                                | test |
//! |--------------------------------------------------------------------------|------|
//! | a load is primary, joins or is refused as in the twin                     | `any_sequence_*` |
//! | waiters leave in order of fills, then of arrival, with their place        | `any_sequence_*` |
//! | a place is in use exactly while a line filled into it has waiters         | `any_sequence_*` |
//! | a fill of a line that is not pending is told                              | `any_sequence_*` |

use std::collections::BTreeMap;

use golden::l1::mshr as twin;
use golden::l1::mshr::Verdict;
use proptest::prelude::*;
use rtl::l1::mshr::{Lookup, Mshr, Waiter};

#[derive(Clone, Copy, Debug)]
enum Step {
    Load(u64),
    Overtake(u64),
    Fill(u64),
    Leave,
}

const PLACES: u32 = 8;

fn steps(lines: u64, most: usize) -> impl Strategy<Value = Vec<Step>> {
    let line = move || 0..lines;
    let step = prop_oneof![
        6 => line().prop_map(Step::Load),
        1 => line().prop_map(Step::Overtake),
        2 => line().prop_map(Step::Fill),
        3 => Just(Step::Leave),
    ];
    prop::collection::vec(step, 1..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_sequence_of_events_leads_to_what_the_golden_map_says(
        entries in 1u32..=5,
        merges in 1u32..=4,
        steps in steps(6, 200),
    ) {
        compare(entries, merges, steps)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_sequence_of_events_with_hundreds_of_entries_does_too(
        entries in 60u32..=512,
        merges in 1u32..=8,
        steps in steps(700, 1500),
    ) {
        compare(entries, merges, steps)?;
    }
}

/// Takes the steps with the registers and with the map.
fn compare(entries: u32, merges: u32, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut dut = Mshr::new(entries, merges, 25, PLACES.ilog2());
    let mut golden = twin::Mshr::new(entries as usize, merges as usize);
    let mut places = BTreeMap::new();
    for (i, step) in (0u32..).zip(steps) {
        let waiter = Waiter { slot: (i % 64) as u8, lanes: i };
        match step {
            Step::Load(line) => {
                let draining = golden.is_draining(line);
                let verdict = golden.alloc(line, waiter);
                match (dut.lookup(line), verdict) {
                    (Lookup::Free(entry), Verdict::Primary) => {
                        dut.alloc(entry, line, i % PLACES, waiter);
                        places.insert(line, i % PLACES);
                    }
                    (Lookup::Open(entry), Verdict::Merged) => dut.merge(entry, waiter),
                    (Lookup::Full(_), Verdict::RefusedMerge) => {}
                    (Lookup::Draining, Verdict::RefusedEntry) if draining => {}
                    (Lookup::None, Verdict::RefusedEntry) if !draining => {}
                    (seen, expected) => prop_assert!(false, "line {line}: {seen:?}, the twin {expected:?}"),
                }
            }
            Step::Overtake(line) => {
                let closed = golden.close(line);
                match dut.lookup(line) {
                    Lookup::Open(entry) | Lookup::Full(entry) => {
                        prop_assert!(closed);
                        dut.close(entry);
                    }
                    Lookup::Draining | Lookup::Free(_) | Lookup::None => prop_assert!(!closed),
                }
            }
            Step::Fill(line) => {
                let expected = golden.fill(line).ok().map(|_| places[&line]);
                prop_assert_eq!(dut.set_way_of(line), expected);
                prop_assert_eq!(dut.fill(line), expected);
            }
            Step::Leave => {
                let expected = golden.pop().map(|replay| (replay.line, places[&replay.line], replay.waiter));
                prop_assert_eq!(dut.pop(), expected);
            }
        }
        for place in 0..PLACES {
            let draining = places.iter().any(|(line, at)| *at == place && golden.is_draining(*line));
            prop_assert_eq!(dut.drains(place), draining, "place {}", place);
        }
        prop_assert_eq!(dut.has_ready(), golden.head().is_some());
        prop_assert_eq!(dut.is_empty(), golden.used() == 0);
        prop_assert_eq!(dut.pending_lines() as usize, golden.pending_lines().count());
    }
    Ok(())
}
