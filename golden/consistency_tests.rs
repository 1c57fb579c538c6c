use super::*;

const X: u64 = 0x40;

fn returned(checker: &mut Checker, cu: usize, value: u64) -> Result<(), Rule> {
    let load = checker.begin(cu, X);
    checker.end(load, value).map_err(|violation| violation.rule)
}

#[test]
fn a_compute_unit_sees_its_own_store_before_it_reaches_memory_and_after() {
    let mut checker = Checker::new();
    checker.store(0, X, 1);
    assert_eq!(returned(&mut checker, 0, 0), Err(Rule::OwnStore));
    assert_eq!(returned(&mut checker, 0, 1), Ok(()));
    checker.perform(0, X);
    assert_eq!(returned(&mut checker, 0, 0), Err(Rule::OwnStore));
    assert_eq!(returned(&mut checker, 0, 1), Ok(()));
}

#[test]
fn others_may_see_either_value_until_the_kernel_ends() {
    let mut checker = Checker::new();
    checker.store(0, X, 1);
    assert_eq!(returned(&mut checker, 1, 1), Ok(()), "an L1 may supply what its compute unit has written");
    assert_eq!(returned(&mut checker, 1, 2), Err(Rule::NeverWritten));
    checker.perform(0, X);
    assert_eq!(returned(&mut checker, 1, 1), Ok(()));
    assert_eq!(returned(&mut checker, 1, 0), Ok(()));
    checker.end_kernel();
    assert_eq!(returned(&mut checker, 1, 0), Err(Rule::KernelEnd));
    assert_eq!(returned(&mut checker, 1, 1), Ok(()));
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
    assert_eq!(returned(&mut checker, 0, 2), Err(Rule::OwnStore));
    assert_eq!(returned(&mut checker, 0, 3), Ok(()));
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
    assert_eq!(checker.coherent(1, X, Some(0), None).unwrap_err().rule, Rule::Coherent);
    assert_eq!(checker.coherent(1, X, Some(1), Some(5)), Ok(()));
    assert_eq!(returned(&mut checker, 1, 1), Err(Rule::Coherent));
    assert_eq!(returned(&mut checker, 2, 1), Ok(()));
    assert_eq!(returned(&mut checker, 2, 0), Ok(()));
}

#[test]
fn a_load_may_see_a_coherent_write_that_was_issued_before_it_but_none_issued_after_it() {
    let mut checker = Checker::new();
    let before = checker.begin(0, X);
    let issue = checker.issue();
    let after = checker.begin(0, X);
    checker.coherent_from(issue, 0, X, Some(0), Some(1)).unwrap();
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
