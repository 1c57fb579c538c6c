use super::*;

const X: u64 = 0x40;

fn check_load(checker: &mut Checker, cu: usize, value: u64) -> Result<(), Rule> {
    let load = checker.begin(cu, X);
    checker.end(load, value).map_err(|violation| violation.rule)
}

#[test]
fn a_compute_unit_sees_its_own_store_before_it_reaches_memory_and_after() {
    let mut checker = Checker::new();
    checker.store(0, X, 1);
    assert_eq!(check_load(&mut checker, 0, 0), Err(Rule::OwnStore));
    assert_eq!(check_load(&mut checker, 0, 1), Ok(()));
    checker.perform(0, X);
    assert_eq!(check_load(&mut checker, 0, 0), Err(Rule::OwnStore));
    assert_eq!(check_load(&mut checker, 0, 1), Ok(()));
}

#[test]
fn others_may_see_either_value_until_the_kernel_ends() {
    let mut checker = Checker::new();
    checker.store(0, X, 1);
    assert_eq!(check_load(&mut checker, 1, 1), Ok(()), "an L1 may supply what its compute unit has written");
    assert_eq!(check_load(&mut checker, 1, 2), Err(Rule::NeverWritten));
    checker.perform(0, X);
    assert_eq!(check_load(&mut checker, 1, 1), Ok(()));
    assert_eq!(check_load(&mut checker, 1, 0), Ok(()));
    checker.end_kernel();
    assert_eq!(check_load(&mut checker, 1, 0), Err(Rule::KernelEnd));
    assert_eq!(check_load(&mut checker, 1, 1), Ok(()));
}

#[test]
fn a_store_of_another_that_reached_memory_later_may_be_seen_instead_of_the_own_one() {
    let mut checker = Checker::new();
    checker.store(1, X, 2);
    checker.perform(1, X);
    checker.store(0, X, 1);
    checker.perform(0, X);
    checker.store(1, X, 3);
    checker.perform(1, X);
    assert_eq!(check_load(&mut checker, 0, 2), Err(Rule::OwnStore));
    assert_eq!(check_load(&mut checker, 0, 3), Ok(()));
}

#[test]
fn a_load_may_be_older_than_a_store_issued_after_it_but_never_see_that_store() {
    let mut checker = Checker::new();
    let load = checker.begin(0, X);
    checker.store(0, X, 1);
    assert_eq!(checker.end(load, 1).unwrap_err().rule, Rule::OwnFuture);
    checker.perform(0, X);
    assert_eq!(checker.end(load, 1).unwrap_err().rule, Rule::OwnFuture);
    assert_eq!(checker.end(load, 0), Ok(()));
}

#[test]
fn what_a_coherent_operation_saw_stays_seen_by_its_compute_unit_alone() {
    let mut checker = Checker::new();
    checker.store(0, X, 1);
    checker.perform(0, X);
    assert_eq!(checker.record_coherent(1, X, Some(0), None).unwrap_err().rule, Rule::Coherent);
    assert_eq!(checker.record_coherent(1, X, Some(1), Some(5)), Ok(()));
    assert_eq!(check_load(&mut checker, 1, 1), Err(Rule::Coherent));
    assert_eq!(check_load(&mut checker, 2, 1), Ok(()));
    assert_eq!(check_load(&mut checker, 2, 0), Ok(()));
}

#[test]
fn a_load_may_see_a_coherent_write_that_was_issued_before_it_but_none_issued_after_it() {
    let mut checker = Checker::new();
    let before = checker.begin(0, X);
    let issue = checker.issue();
    let after = checker.begin(0, X);
    checker.record_coherent_from(issue, 0, X, Some(0), Some(1)).unwrap();
    assert_eq!(checker.end(before, 1).unwrap_err().rule, Rule::OwnFuture);
    assert_eq!(checker.end(after, 1), Ok(()));
}

#[test]
fn a_violation_names_compute_unit_cell_values_and_rule() {
    let mut checker = Checker::new();
    checker.initialise(X, 7);
    checker.store(3, X, 9);
    let load = checker.begin(3, X);
    let violation = checker.end(load, 7).unwrap_err();
    let text = "compute unit 3 read 0x7 at 0x40, expected 0x9 or newer: a compute unit sees its own stores";
    assert_eq!(violation.to_string(), text);
}

fn check_coherent_load(checker: &mut Checker, cu: usize, value: u64, stays: bool) -> Result<(), Rule> {
    let load = checker.begin_coherent(cu, X, stays);
    checker.end(load, value).map_err(|violation| violation.rule)
}

#[test]
fn a_coherent_load_sees_what_memory_held_when_it_was_issued_or_later_and_nothing_under_way() {
    let mut checker = Checker::new();
    checker.store(0, X, 1);
    assert_eq!(check_coherent_load(&mut checker, 1, 1, false), Err(Rule::NeverWritten), "it has not reached memory");
    let load = checker.begin_coherent(1, X, false);
    checker.perform(0, X);
    assert_eq!(checker.end(load, 0), Ok(()), "it may have come to memory before the store");
    assert_eq!(checker.end(load, 1), Ok(()));
    assert_eq!(check_coherent_load(&mut checker, 1, 0, false), Err(Rule::Coherent));
    assert_eq!(check_load(&mut checker, 1, 0), Ok(()), "a copy may be older");
}

#[test]
fn what_a_coherent_load_saw_stays_seen_where_copies_are_given_up_for_it() {
    for (stays, then) in [(false, Ok(())), (true, Err(Rule::Coherent))] {
        let mut checker = Checker::new();
        checker.store(0, X, 1);
        checker.perform(0, X);
        assert_eq!(check_coherent_load(&mut checker, 1, 1, stays), Ok(()));
        assert_eq!(check_load(&mut checker, 1, 0), then);
        assert_eq!(check_load(&mut checker, 2, 0), Ok(()));
    }
}

#[test]
fn a_coherent_load_sees_its_own_store() {
    let mut checker = Checker::new();
    checker.store(0, X, 1);
    let load = checker.begin_coherent(0, X, true);
    checker.perform(0, X);
    assert_eq!(checker.end(load, 0).unwrap_err().rule, Rule::OwnStore);
    assert_eq!(checker.end(load, 1), Ok(()));
}

/// Identifier of the atomic operation "add 1" in these tests.
const ADD: u64 = 1;

fn add(checker: &mut Checker, cu: usize) {
    let write = checker.memory_value(X).unwrap_or(0) + 1;
    checker.change(cu, X, Some(ADD), write);
}

#[test]
fn each_atomic_returns_what_the_one_before_it_left() {
    let mut checker = Checker::new();
    for cu in [0, 1, 0] {
        add(&mut checker, cu);
    }
    let mut rule = |cu, value| checker.check_atomic_result(cu, X, ADD, value).map_err(|violation| violation.rule);
    assert_eq!(rule(1, 0), Err(Rule::Atomic), "compute unit 0 found that");
    assert_eq!(rule(1, 1), Ok(()));
    assert_eq!(rule(0, 2), Ok(()), "two that do the same may come in either order");
    assert_eq!(rule(0, 2), Err(Rule::Atomic), "one of them only");
    assert_eq!(rule(0, 3), Err(Rule::Atomic), "what it left is not what it found");
    assert_eq!(rule(0, 0), Ok(()));
}

#[test]
fn results_of_different_atomics_are_not_exchanged() {
    let mut checker = Checker::new();
    add(&mut checker, 0);
    checker.change(0, X, Some(2), 7);
    assert_eq!(checker.check_atomic_result(0, X, 2, 0).unwrap_err().expected, 1);
    assert_eq!(checker.check_atomic_result(0, X, 2, 1), Ok(()));
    assert_eq!(checker.check_atomic_result(0, X, ADD, 0), Ok(()));
}

#[test]
fn a_compute_unit_does_not_unsee_what_its_atomic_left() {
    let mut checker = Checker::new();
    add(&mut checker, 0);
    assert_eq!(check_load(&mut checker, 0, 0), Err(Rule::Coherent));
    assert_eq!(check_load(&mut checker, 1, 0), Ok(()));
}

#[test]
fn a_load_of_some_bits_is_judged_by_these_alone() {
    let mut checker = Checker::new();
    checker.store(0, X, 0x1234);
    checker.perform(0, X);
    let load = checker.begin(0, X);
    assert_eq!(checker.end_masked(load, 0x1200, 0xff00), Ok(()));
    let violation = checker.end_masked(load, 0x3400, 0xff00).unwrap_err();
    assert_eq!((violation.rule, violation.expected), (Rule::NeverWritten, 0x1200));
    assert_eq!(checker.end_masked(load, 0, 0xff00).unwrap_err().rule, Rule::OwnStore);
}

#[test]
fn parts_of_a_cell_that_is_split_keep_its_history_and_go_their_own_ways() {
    let mut checker = Checker::new();
    checker.store(0, X, 0x1122);
    let load = checker.begin(0, X);
    add(&mut checker, 1);
    checker.split(X, 2, 2, 8);
    // After the split of the cell into two bytes, both bytes have the pending store, load and atomic of the
    // cell.
    assert!(checker.has_pending_store(0, X) && checker.has_pending_store(0, X + 1));
    assert_eq!(checker.end(load.part(1), 0x11), Ok(()));
    assert_eq!(checker.end(load.part(1), 0).unwrap_err().rule, Rule::OwnStore);
    assert_eq!(checker.check_atomic_result(1, X, ADD, 1).unwrap_err().rule, Rule::Atomic);
    assert_eq!(
        (checker.check_atomic_result(1, X, ADD, 0), checker.check_atomic_result(1, X + 1, ADD, 0)),
        (Ok(()), Ok(()))
    );
    for cell in [X, X + 1] {
        checker.perform(0, cell);
    }
    assert_eq!((checker.memory_value(X), checker.memory_value(X + 1)), (Some(0x22), Some(0x11)));
    checker.store(0, X + 1, 0x33);
    checker.perform(0, X + 1);
    assert_eq!(check_load(&mut checker, 0, 0x22), Ok(()));
    let other = checker.begin(0, X + 1);
    assert_eq!(checker.end(other, 0x11).unwrap_err().rule, Rule::OwnStore);
    assert_eq!(checker.end(other, 0x33), Ok(()));
}
