//! Testbench of the sharing tracker, connected to the L1s and the networks.
//!
//! | testpoint               | intent                                                                                                        | test |
//! |-------------------------|---------------------------------------------------------------------------------------------------------------|-----|
//! | section 3.2             | a unit reads its own store; under a tracker that ignores stores it reads the old value                        | `scenarios::section_3_2_*` |
//! | overtaken fill          | a line written in flight is not listed; if it were, the writer would read a stale value                       | `scenarios::a_line_that_was_written_*` |
//! | refused forward         | a load whose supplier has dropped the line is answered by the L2                                              | `scenarios::a_load_whose_supplier_*`, `scenarios::a_supplier_*` |
//! | loads that contend      | a contending load probes the tracker or skips it, by configuration, and leaves no copy                        | `scenarios::a_load_that_contends_*` |
//! | own store behind a load | a store waits for its own unit's load that was forwarded to another L1                                        | `scenarios::a_store_waits_*` |
//! | a bank alone            | cycle by cycle from request to forward, answer and reply                                                      | `cycles::*` |
//! | `random_programs_*`     | memory model and golden models agree, and every access is answered, in every evaluation mode of the simulator | `random_programs_*` |
//! | mutants                 | the memory model detects the removal of each protection                                                       | `*_is_noticed`, `*_are_noticed` |
//! | races                   | each race that `races` lists occurs in random programs                                                        | `soak::coverage::random_programs_*` |

mod judge;
pub(crate) mod races;
mod random;
mod rig;

#[cfg(test)]
mod cycles;
#[cfg(test)]
mod scenarios;

pub use random::{Case, CaseResult};

#[cfg(test)]
mod tests {
    use super::random::Case;
    use crate::kit::{for_each_seed, run_in_all_modes};
    use rtl::kernel::{Counted, Mode};
    use rtl::tracker::{Protections, TrackerScheme, TrackerStats};

    fn case(seed: u64) -> Case {
        let protections = TrackerScheme::Corrected.protections();
        let (ops, kernels) = (100, 3);
        let accesses = ops * kernels;
        Case { seed, cus: 4, ops, kernels, accesses, protections, flushes: true }
    }

    #[test]
    fn random_programs_read_only_what_the_memory_model_allows_as_the_twins_do() {
        let ops = std::cell::Cell::new(0);
        let bypasses = std::cell::Cell::new(0);
        let sum = std::cell::Cell::new(TrackerStats::default());
        for_each_seed(80, |seed| {
            let cus = [4, 8, 16][seed as usize % 3];
            let ran = Case { cus, ..case(seed) }.run(Mode::default()).unwrap_or_else(|wrong| panic!("{wrong}"));
            ops.set(ops.get() + ran.ops);
            bypasses.set(bypasses.get() + ran.bypasses);
            sum.set(TrackerStats::total(&[sum.get(), ran.tracker]));
        });
        let TrackerStats { supplied, refused, too_early, listed, poisoned, unnoted, held, .. } = sum.get();
        assert!(ops.get() >= 100_000, "{}", ops.get());
        let rare = [supplied, refused - too_early, too_early, listed, poisoned, unnoted, held, bypasses.get()];
        assert!(rare.iter().all(|count| *count > 100), "some events were too rare: {rare:?}");
    }

    #[test]
    fn random_programs_run_the_same_however_they_are_evaluated() {
        for_each_seed(6, |seed| drop(run_in_all_modes(|| case(seed).rig(), 1 << 30)));
    }

    /// Runs random test cases, in each of which the function `without` disables one protection. Returns the
    /// error of the first test case that fails.
    fn is_caught(without: impl Fn(&mut Case)) -> Option<String> {
        (1..60).find_map(|seed| {
            let mut case = case(seed);
            without(&mut case);
            case.run(Mode::default()).err()
        })
    }

    #[test]
    fn a_store_that_leaves_its_line_in_the_tracker_is_noticed() {
        let wrong = is_caught(|case| case.protections.stores = false).unwrap();
        assert!(wrong.contains("a compute unit sees its own stores"), "{wrong}");
    }

    #[test]
    fn a_coherent_operation_that_leaves_its_line_in_the_tracker_is_noticed() {
        let wrong = is_caught(|case| case.protections.coherent = false).unwrap();
        assert!(wrong.contains("coherent operations see the current memory"), "{wrong}");
    }

    #[test]
    fn a_line_that_is_listed_although_it_was_written_on_its_way_is_noticed() {
        let wrong = is_caught(|case| case.protections.fills = false).unwrap();
        let rules = ["a compute unit sees its own stores", "nothing older is seen later"];
        assert!(rules.iter().any(|rule| wrong.contains(rule)), "{wrong}");
    }

    #[test]
    fn l1s_that_are_not_emptied_between_kernels_are_noticed() {
        let wrong = is_caught(|case| case.flushes = false).unwrap();
        // The error must name one of two rules: the stale value is older than the end of the previous kernel,
        // or it is so old that the checker no longer has it.
        let rules = ["a kernel sees the memory that the previous kernel left", "a value that is read was once written"];
        assert!(rules.iter().any(|rule| wrong.contains(rule)), "{wrong}");
    }

    #[test]
    fn the_naive_tracker_is_noticed() {
        let naive: Protections = TrackerScheme::Naive.protections();
        assert!(is_caught(|case| case.protections = naive).is_some());
    }
}
