use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::bypass::pdp::Pdp;
use super::super::mshr::Replay;
use super::*;
use crate::index::Function;

/// Creates a cache that has a single set, so that all lines compete for its ways.
fn one_set(ways: usize) -> Cache<u32> {
    let index = SetIndex::new(Function::Linear { bits: 0 }, 7, 32).unwrap();
    protecting(index, ways, 0)
}

/// Creates a cache with the protecting distance policy (PDP). `distance` is a number of accesses to the set;
/// 0 disables protection.
fn protecting(index: SetIndex, ways: usize, distance: u64) -> Cache<u32> {
    let mut cache = Cache::new(Config {
        index,
        ways,
        mshr_entries: 4,
        mshr_slots: 2,
        miss_queue: 8,
        fail_order: FailOrder::MshrFirst,
        filter: None,
        updates: false,
        notifies: false,
    });
    if distance > 0 {
        cache.bypass(Box::new(Pdp::new(distance)));
    }
    cache
}

/// Loads a line; on a miss, its fill follows immediately. Returns `-` for a bypass, `hit` for a hit, `in` for
/// a miss that evicts no line, or `for 2` for a miss that evicts line 2.
fn reach(cache: &mut Cache<u32>, line: u64) -> String {
    if cache.step(Event::Bypass { load: Load::of(line), chosen: true }).is_ok() {
        return "-".to_owned();
    }
    match load(cache, line) {
        LoadOutcome::Hit => "hit".to_owned(),
        LoadOutcome::Miss { victim } => {
            cache.step(Event::Fill { line, parts: Sectors::WHOLE }).unwrap();
            cache.step(Event::Drain).unwrap();
            victim.map_or("in".to_owned(), |victim| format!("for {}", victim.line))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_protected_line_stays_and_the_load_goes_past() {
    let index = SetIndex::new(Function::Linear { bits: 0 }, 7, 32).unwrap();
    let mut cache = protecting(index, 2, 3);
    // The test vector of the protecting distance policy (PDP) accesses lines A B C A C, which are numbered 1
    // 2 3 1 3 here.
    assert_eq!([1, 2, 3, 1, 3].map(|line| reach(&mut cache, line)), ["in", "in", "-", "hit", "for 2"]);
    // At the first load of line 4, line 1 was last accessed two accesses ago and is still protected, so the
    // load bypasses. At the second load of line 4, the protection has ended, and line 1 is evicted.
    assert_eq!([4, 4].map(|line| reach(&mut cache, line)), ["-", "for 1"]);
}

#[test]
fn a_distance_of_one_protects_nothing() {
    let index = SetIndex::new(Function::Linear { bits: 0 }, 7, 32).unwrap();
    let mut cache = protecting(index, 1, 1);
    assert_eq!([1, 2, 1].map(|line| reach(&mut cache, line)), ["in", "for 1", "for 2"]);
}

fn load_with(cache: &mut Cache<u32>, line: u64, queue_used: usize) -> LoadOutcome {
    match cache.step(Event::Load { load: Load::of(line), waiter: 0, queue_used }) {
        Ok(Outcome::Load(outcome)) => outcome,
        other => panic!("a load gave {other:?}"),
    }
}

fn load(cache: &mut Cache<u32>, line: u64) -> LoadOutcome {
    load_with(cache, line, 0)
}

fn store(cache: &mut Cache<u32>, line: u64, space: Space) -> Result<WriteOutcome, Breach> {
    match cache.step(Event::Store { line, parts: Sectors::WHOLE, space, queue_used: 0 })? {
        Outcome::Write(outcome) => Ok(outcome),
        other => panic!("a store gave {other:?}"),
    }
}

/// Fills a line and replays all loads that wait for it.
fn settle(cache: &mut Cache<u32>, line: u64) {
    cache.step(Event::Fill { line, parts: Sectors::WHOLE }).unwrap();
    while cache.step(Event::Drain) != Ok(Outcome::Drained(None)) {}
}

fn fetch(cache: &mut Cache<u32>, line: u64) -> LoadOutcome {
    let outcome = load(cache, line);
    if matches!(outcome, LoadOutcome::Miss { .. }) {
        settle(cache, line);
    }
    outcome
}

const COLD: LoadOutcome = LoadOutcome::Miss { victim: None };

fn evicting(line: u64, modified: bool) -> LoadOutcome {
    LoadOutcome::Miss { victim: Some(Victim { line, modified }) }
}

fn reservation_fail(first: Fail, all: Fails) -> LoadOutcome {
    LoadOutcome::Refused { first, all }
}

#[test]
fn a_load_misses_then_waits_then_hits() {
    let mut cache = one_set(4);
    assert_eq!(load(&mut cache, 1), COLD);
    assert_eq!(load(&mut cache, 1), LoadOutcome::HitPending);
    settle(&mut cache, 1);
    assert_eq!(load(&mut cache, 1), LoadOutcome::Hit);
}

#[test]
fn the_least_recently_used_line_gives_way() {
    let mut cache = one_set(2);
    fetch(&mut cache, 1);
    fetch(&mut cache, 2);
    fetch(&mut cache, 1);
    assert_eq!(fetch(&mut cache, 3), evicting(2, false));
}

#[test]
fn waiting_for_a_line_counts_as_its_use() {
    let mut cache = one_set(2);
    load(&mut cache, 1);
    load(&mut cache, 2);
    load(&mut cache, 1);
    settle(&mut cache, 1);
    settle(&mut cache, 2);
    assert_eq!(load(&mut cache, 3), evicting(2, false));
}

#[test]
fn a_fill_does_not_count_as_a_use() {
    let mut cache = one_set(2);
    load(&mut cache, 1);
    fetch(&mut cache, 2);
    settle(&mut cache, 1);
    assert_eq!(load(&mut cache, 3), evicting(1, false));
}

#[test]
fn a_set_of_reserved_lines_refuses_a_new_line() {
    let mut cache = one_set(2);
    load(&mut cache, 1);
    load(&mut cache, 2);
    let all = Fails { line_alloc: true, ..Fails::default() };
    assert_eq!(load(&mut cache, 3), reservation_fail(Fail::LineAlloc, all));
}

#[test]
fn the_oldest_line_is_passed_over_while_it_is_reserved() {
    let mut cache = one_set(2);
    load(&mut cache, 1);
    fetch(&mut cache, 2);
    assert_eq!(load(&mut cache, 3), evicting(2, false));
}

#[test]
fn a_full_waiter_list_refuses_the_merge_whatever_the_miss_queue_holds() {
    let mut cache = one_set(4);
    load(&mut cache, 1);
    load(&mut cache, 1);
    let all = Fails { mshr_merge: true, ..Fails::default() };
    assert_eq!(load_with(&mut cache, 1, 8), reservation_fail(Fail::MshrMerge, all));
}

#[test]
fn a_merge_needs_no_miss_queue_slot() {
    let mut cache = one_set(4);
    load(&mut cache, 1);
    assert_eq!(load_with(&mut cache, 1, 8), LoadOutcome::HitPending);
}

#[test]
fn all_failing_conditions_are_listed_and_the_order_picks_the_reported_one() {
    let mut cache = one_set(4);
    (1..=4).for_each(|line| assert_eq!(load(&mut cache, line), COLD));
    let all = Fails { line_alloc: true, mshr_entry: true, mshr_merge: false, miss_queue: true, mshr_policy: false };
    assert_eq!(load_with(&mut cache, 5, 8), reservation_fail(Fail::LineAlloc, all));
    let without_line = Fails { line_alloc: false, ..all };
    assert_eq!(without_line.first(FailOrder::MshrFirst), Some(Fail::MshrEntry));
    assert_eq!(without_line.first(FailOrder::QueueFirst), Some(Fail::MissQueue));
    assert_eq!(Fails::default().first(FailOrder::MshrFirst), None);
}

#[test]
fn a_line_that_still_drains_is_not_asked_for_again() {
    let mut cache = one_set(4);
    load(&mut cache, 1);
    cache.step(Event::Fill { line: 1, parts: Sectors::WHOLE }).unwrap();
    assert_eq!(store(&mut cache, 1, Space::Global), Ok(WriteOutcome::Evicted));
    let all = Fails { mshr_entry: true, ..Fails::default() };
    assert_eq!(load(&mut cache, 1), reservation_fail(Fail::MshrEntry, all));
    cache.step(Event::Drain).unwrap();
    assert_eq!(load(&mut cache, 1), COLD);
}

#[test]
fn a_modified_victim_needs_a_second_miss_queue_slot() {
    let mut cache = one_set(1);
    fetch(&mut cache, 1);
    assert_eq!(store(&mut cache, 1, Space::Local), Ok(WriteOutcome::WrittenBack));
    let all = Fails { miss_queue: true, ..Fails::default() };
    assert_eq!(load_with(&mut cache, 2, 7), reservation_fail(Fail::MissQueue, all));
    assert_eq!(load_with(&mut cache, 2, 6), evicting(1, true));
}

#[test]
fn a_clean_victim_needs_one_miss_queue_slot() {
    let mut cache = one_set(1);
    fetch(&mut cache, 1);
    assert_eq!(load_with(&mut cache, 2, 7), evicting(1, false));
}

#[test]
fn a_global_store_evicts_its_line_and_allocates_none() {
    let mut cache = one_set(2);
    fetch(&mut cache, 1);
    assert_eq!(store(&mut cache, 1, Space::Global), Ok(WriteOutcome::Evicted));
    assert_eq!(store(&mut cache, 1, Space::Global), Ok(WriteOutcome::Missed));
    assert_eq!(load(&mut cache, 1), COLD);
}

#[test]
fn a_store_never_needs_a_line_but_a_miss_queue_slot() {
    let mut cache = one_set(1);
    load(&mut cache, 1);
    assert_eq!(store(&mut cache, 2, Space::Global), Ok(WriteOutcome::Missed));
    let all = Fails { miss_queue: true, ..Fails::default() };
    let full = Event::Store { line: 2, parts: Sectors::WHOLE, space: Space::Global, queue_used: 8 };
    let expected = WriteOutcome::Refused { first: Fail::MissQueue, all };
    assert_eq!(cache.step(full), Ok(Outcome::Write(expected)));
}

#[test]
fn a_store_to_a_line_on_its_way_dooms_it_and_closes_it_to_loads() {
    let mut cache = one_set(2);
    load(&mut cache, 1);
    assert_eq!(store(&mut cache, 1, Space::Global), Ok(WriteOutcome::Pending));
    let all = Fails { mshr_merge: true, ..Fails::default() };
    assert_eq!(load(&mut cache, 1), reservation_fail(Fail::MshrMerge, all));
    let filled = cache.step(Event::Fill { line: 1, parts: Sectors::WHOLE });
    assert_eq!(filled, Ok(Outcome::Filled { kept: Sectors(0), waiters: 1 }));
    cache.step(Event::Drain).unwrap();
    assert_eq!(load(&mut cache, 1), COLD);
}

#[test]
fn a_local_store_that_hits_needs_no_miss_queue_slot() {
    let mut cache = one_set(2);
    fetch(&mut cache, 1);
    let event = Event::Store { line: 1, parts: Sectors::WHOLE, space: Space::Local, queue_used: 8 };
    assert_eq!(cache.step(event), Ok(Outcome::Write(WriteOutcome::WrittenBack)));
}

#[test]
fn an_atomic_drops_the_copy_and_dooms_a_line_on_its_way() {
    let mut cache = one_set(2);
    fetch(&mut cache, 1);
    load(&mut cache, 2);
    let outcomes = [1, 2, 3].map(|line| cache.step(Event::Atomic { line, parts: Sectors::WHOLE, queue_used: 0 }));
    let expected = [WriteOutcome::Evicted, WriteOutcome::Pending, WriteOutcome::Missed];
    assert_eq!(outcomes, expected.map(|outcome| Ok(Outcome::Write(outcome))));
}

#[test]
fn a_bypass_of_a_modified_line_is_a_breach() {
    let mut cache = one_set(2);
    fetch(&mut cache, 1);
    assert_eq!(cache.step(Event::Bypass { load: Load::of(1), chosen: false }), Ok(Outcome::Done));
    store(&mut cache, 1, Space::Local).unwrap();
    assert_eq!(cache.step(Event::Bypass { load: Load::of(1), chosen: false }), Err(Breach::Modified(1)));
}

#[test]
fn a_flush_forgets_every_line_and_must_find_the_mshr_empty() {
    let mut cache = one_set(2);
    load(&mut cache, 1);
    assert_eq!(cache.step(Event::Flush), Err(Breach::FlushBusy(1)));
    settle(&mut cache, 1);
    assert_eq!(cache.step(Event::Flush), Ok(Outcome::Done));
    assert_eq!(load(&mut cache, 1), COLD);
}

#[test]
fn the_waiters_of_a_filled_line_leave_in_order() {
    let mut cache = one_set(2);
    for waiter in [7, 9] {
        cache.step(Event::Load { load: Load::of(1), waiter, queue_used: 0 }).unwrap();
    }
    cache.step(Event::Fill { line: 1, parts: Sectors::WHOLE }).unwrap();
    for (waiter, last) in [(7, false), (9, true)] {
        let replay = Replay { line: 1, waiter, last };
        assert_eq!(cache.step(Event::Drain), Ok(Outcome::Drained(Some(replay))));
    }
}

#[test]
fn lines_leave_by_their_last_hint_and_then_by_their_last_use() {
    let mut cache = one_set(4);
    let mut load = |line, eviction| {
        let load = Load { eviction, ..Load::of(line) };
        let outcome = cache.step(Event::Load { load, waiter: 0, queue_used: 0 });
        let Ok(Outcome::Load(LoadOutcome::Miss { victim })) = outcome else { return None };
        cache.step(Event::Fill { line, parts: Sectors::WHOLE }).unwrap();
        cache.step(Event::Drain).unwrap();
        victim.map(|victim| victim.line)
    };
    let fills = [(1, Eviction::Last), (2, Eviction::Normal), (3, Eviction::First), (4, Eviction::First)];
    assert_eq!(fills.map(|(line, eviction)| load(line, eviction)), [None; 4]);
    // A load without a hint cancels the hint that line 3 is to be evicted first.
    assert_eq!(load(3, Eviction::Normal), None);
    let evicted = [5, 6, 7].map(|line| load(line, Eviction::Last));
    assert_eq!(evicted, [Some(4), Some(2), Some(3)]);
    // All lines have the hint to be evicted last, and line 1 was used longest ago.
    assert_eq!(load(8, Eviction::First), Some(1));
    assert_eq!(load(9, Eviction::First), Some(8));
}

#[test]
fn a_wrong_outcome_is_explained_and_leaves_the_twin_as_it_was() {
    let mut cache = one_set(2);
    fetch(&mut cache, 1);
    let event = Event::Load { load: Load::of(2), waiter: 5, queue_used: 3 };
    let error = cache.check(event, &Outcome::Load(LoadOutcome::Hit)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Load { load: Load { line: 2, parts: Sectors(1), pc: 0, warp: 0, first: false, space: Global, contends: false, eviction: Normal }, waiter: 5, queue_used: 3 }: the cache says Load(Hit), the twin \
         Load(Miss { victim: None }); set 0 holds, oldest first, [0x1 Valid]; \
         0 of 4 MSHR entries in use"
    );
    assert_eq!(cache.check(event, &Outcome::Load(COLD)), Ok(()));
}

#[test]
fn a_fill_nobody_asked_for_is_explained() {
    let mut cache = one_set(2);
    let seen = Outcome::Filled { kept: Sectors::WHOLE, waiters: 1 };
    let error = cache.check(Event::Fill { line: 9, parts: Sectors::WHOLE }, &seen).unwrap_err();
    assert!(error.to_string().contains("line 0x9 is filled, but no MSHR entry waits for it"));
}

fn any_event() -> impl Strategy<Value = Event<u32>> {
    let line = 0u64..12;
    prop_oneof![
        4 => (line.clone(), any::<u32>(), 0usize..=8)
            .prop_map(|(line, waiter, queue_used)| Event::Load { load: Load::of(line), waiter, queue_used }),
        2 => (line.clone(), 0usize..=8).prop_map(|(line, queue_used)| {
            // Stores go to global memory for lines 0 to 5, and to local memory for the others, so that no
            // line is both.
            let space = if line < 6 { Space::Global } else { Space::Local };
            Event::Store { line, parts: Sectors::WHOLE, space, queue_used }
        }),
        1 => (0u64..6).prop_map(|line| Event::Atomic { line, parts: Sectors::WHOLE, queue_used: 0 }),
        3 => line.prop_map(|line| Event::Fill { line, parts: Sectors::WHOLE }),
        3 => Just(Event::Drain),
    ]
}

proptest! {
    #[test]
    fn reserved_lines_and_pending_entries_stay_one_to_one(
        events in prop::collection::vec(any_event(), 0..200),
    ) {
        let mut cache = one_set(4);
        for event in events {
            match cache.step(event) {
                Ok(_) | Err(Breach::Fill(_)) => prop_assert!(cache.is_consistent(), "after {event:?}"),
                Err(breach) => prop_assert!(false, "{event:?}: {breach}"),
            }
        }
    }

    #[test]
    fn a_load_hits_exactly_if_fewer_other_lines_of_the_set_came_in_between_than_ways(
        lines in prop::collection::vec(0u64..10, 1..120),
    ) {
        let mut cache = one_set(4);
        for (now, line) in lines.iter().enumerate() {
            let last = lines[..now].iter().rposition(|other| other == line);
            let between =
                last.map(|last| lines[last + 1..now].iter().collect::<BTreeSet<_>>().len());
            let hit = fetch(&mut cache, *line) == LoadOutcome::Hit;
            prop_assert_eq!(hit, between.is_some_and(|count| count < 4));
        }
    }
}

fn recall(cache: &mut Cache<u32>, line: u64) -> RecallOutcome {
    match cache.step(Event::Recall { line }) {
        Ok(Outcome::Recalled(outcome)) => outcome,
        other => panic!("a recall gave {other:?}"),
    }
}

#[test]
fn a_line_that_is_recalled_is_gone_at_once() {
    let mut cache = one_set(2);
    fetch(&mut cache, 1);
    assert_eq!(recall(&mut cache, 2), RecallOutcome::Missed);
    assert_eq!(recall(&mut cache, 1), RecallOutcome::Dropped);
    assert_eq!(load(&mut cache, 1), COLD);
}

#[test]
fn a_line_recalled_on_its_way_serves_those_that_wait_and_no_others() {
    let mut cache = one_set(2);
    load(&mut cache, 1);
    assert_eq!(recall(&mut cache, 1), RecallOutcome::Pending);
    assert!(matches!(load(&mut cache, 1), LoadOutcome::Refused { first: Fail::MshrMerge, .. }));
    assert_eq!(
        cache.step(Event::Fill { line: 1, parts: Sectors::WHOLE }),
        Ok(Outcome::Filled { kept: Sectors(0), waiters: 1 })
    );
    while cache.step(Event::Drain) != Ok(Outcome::Drained(None)) {}
    assert_eq!(load(&mut cache, 1), COLD);
}

#[test]
fn a_recall_leaves_a_modified_line_alone() {
    let mut cache = one_set(2);
    fetch(&mut cache, 1);
    store(&mut cache, 1, Space::Local).unwrap();
    assert_eq!(recall(&mut cache, 1), RecallOutcome::Kept);
    assert_eq!(load(&mut cache, 1), LoadOutcome::Hit);
}
