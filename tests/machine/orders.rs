//! Tests programs whose results depend on the execution order of lanes or warps. A program may rely on the
//! order of lanes, but not on the order of warps.

use std::path::PathBuf;

use warpsieve::run::{Outcome, Verdict};

use super::{Setup, root};

fn ptx(file: &str) -> PathBuf {
    root().join("tests/machine/ptx").join(file)
}

#[test]
fn programs_that_need_no_barrier_within_a_warp_are_right() {
    Setup::run_checked().passes(&ptx("within.toml"));
    Setup::run_checked().machine("southern-islands").passes(&ptx("within.toml"));
}

/// The program loses an update in a race between warps. This is a bug of the program, not an error of the
/// machine. The values in the machine's memory are the reference for later launches.
#[test]
fn a_result_that_depends_on_the_order_of_warps_is_called_so() {
    let report = Setup::run_checked().run(&ptx("race.toml"));
    assert_eq!((&report.outcome, &report.verdict), (&Outcome::Finished, &Verdict::OrderDependent));
    let note = "after kernel `race`, buffer `out` depends on the order of warps in 1 element, [0] at offset 0: \
                1 on the machine, 2 in another order";
    assert_eq!(report.notes, [note]);
}
