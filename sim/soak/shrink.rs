//! # Shrinking of failing test cases
//! Removes elements of a failing test case, many at a time at first, as long as the remaining case fails in
//! the same way. Two failures are the same if their messages agree except for numbers, and if a panic has the
//! same location (A. Zeller, R. Hildebrandt, *Simplifying and Isolating Failure-Inducing Input*, IEEE
//! Transactions on Software Engineering 28(2), 2002).

use std::time::{Duration, Instant};

use super::{Case, run_caught};

/// Search for a smaller test case: the kind of failure to reproduce, and the time limit.
pub struct Search {
    kind: String,
    until: Instant,
}

impl Search {
    /// Creates a search for smaller test cases. It looks for failures of the same kind as the failure with
    /// the message `wrong`, for at most the given time.
    #[must_use]
    pub fn new(wrong: &str, time: Duration) -> Self {
        Self { kind: kind(wrong), until: Instant::now() + time }
    }

    /// True if a test case fails in the same way as the original one. Always false after the time limit.
    #[must_use]
    pub fn fails(&self, case: &dyn Case) -> bool {
        !self.is_over() && run_caught(case).is_err_and(|wrong| kind(&wrong) == self.kind)
    }

    /// Returns the kind of failure that the search must reproduce.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Returns a subsequence of `all` that fails, but no longer fails if any further element is removed.
    /// `all` itself must fail.
    #[must_use]
    pub fn minimize<T: Clone>(&self, all: &[T], fails: impl Fn(&[T]) -> bool) -> Vec<T> {
        let mut left = all.to_vec();
        let mut part = left.len().div_ceil(2);
        while part > 0 {
            let before = left.len();
            let mut at = 0;
            while at < left.len() && !self.is_over() {
                let end = (at + part).min(left.len());
                let without = [&left[..at], &left[end..]].concat();
                if fails(&without) {
                    left = without;
                } else {
                    at = end;
                }
            }
            // Passes over the elements are repeated until nothing changes, because an element may become
            // unnecessary after another one has been removed.
            let is_last = part == 1 && (left.len() == before || self.is_over());
            part = if is_last { 0 } else { (part / 2).max(1) };
        }
        left
    }

    /// Searches by bisection for a small number of steps with which the test case still fails, and returns
    /// it. The case must fail with `all` steps.
    #[must_use]
    pub fn bisect(&self, all: u64, fails: impl Fn(u64) -> bool) -> u64 {
        let (mut passes, mut least) = (0, all);
        while least - passes > 1 && !self.is_over() {
            let half = passes + (least - passes) / 2;
            if fails(half) {
                least = half;
            } else {
                passes = half;
            }
        }
        least
    }
}

/// Returns the kind of a failure, that is, its message without numbers, and its source location.
fn kind(wrong: &str) -> String {
    let lines = wrong.lines();
    let place = lines.clone().find(|line| line.trim_start().starts_with("at "));
    let text = [lines.clone().next(), place].into_iter().flatten().collect::<Vec<_>>().join("\n");
    let mut kind = String::new();
    let mut word = String::new();
    for letter in text.chars().chain(['\n']) {
        if letter.is_ascii_alphanumeric() {
            word.push(letter);
            continue;
        }
        let is_number = word.starts_with(|first: char| first.is_ascii_digit());
        kind.push_str(if is_number { "#" } else { word.trim_end_matches(|last: char| last.is_ascii_digit()) });
        kind.push(letter);
        word.clear();
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::super::{ShrunkCase, Work};
    use super::*;

    fn search() -> Search {
        Search::new("x", Duration::from_secs(60))
    }

    #[test]
    fn of_a_list_what_the_failure_needs_is_left_in_its_order() {
        let all: Vec<u32> = (0..1000).collect();
        let tries = std::cell::Cell::new(0);
        let left = search().minimize(&all, |some| {
            tries.set(tries.get() + 1);
            [17, 400, 999].iter().all(|needed| some.contains(needed))
        });
        assert_eq!(left, [17, 400, 999]);
        assert!(tries.get() < 200, "{} tries", tries.get());
        assert_eq!(search().minimize(&all, |_| true), [0; 0]);
    }

    #[test]
    fn an_element_that_only_another_one_needed_goes_with_it() {
        // In this test, a sequence fails if it contains 7, except if it contains 6 without 5. Element 5 can
        // therefore be removed only after element 6.
        let left = search().minimize(&[5, 6, 7], |some| some.contains(&7) && (some.contains(&5) || !some.contains(&6)));
        assert_eq!(left, [7]);
    }

    #[test]
    fn steps_are_halved_down_to_the_first_that_fails() {
        assert_eq!(search().bisect(10_000, |steps| steps >= 417), 417);
        assert_eq!(search().bisect(1, |_| true), 1);
    }

    #[test]
    fn when_the_time_is_up_what_is_left_is_kept() {
        let over = Search::new("x", Duration::ZERO);
        assert_eq!((over.minimize(&[1, 2], |_| true), over.bisect(9, |_| true)), (vec![1, 2], 9));
    }

    #[test]
    fn failures_are_of_one_kind_if_they_differ_in_numbers_alone() {
        let said =
            |cycle, sm, place| format!("internal error: cycle {cycle}, sm{sm}.l1: sent\n  at rtl/a.rs:{place}\nmore");
        assert_eq!(kind(&said(118, 3, 7)), kind(&said(9, 12, 7)));
        assert_ne!(kind(&said(118, 3, 7)), kind(&said(118, 3, 7).replace("sent", "lost")));
        assert_ne!(kind(&said(118, 3, 7)), kind(&said(118, 3, 7).replace("a.rs", "b.rs")));
        assert_eq!(kind("line 0x1f is lost"), kind("line 77 is lost"));
    }

    /// Test case that panics with the given message, or passes if there is none.
    struct Fragile(Option<&'static str>);

    impl Case for Fragile {
        fn reproduce(&self) -> String {
            String::new()
        }
        fn run(&self) -> Result<Work, String> {
            assert!(self.0.is_none(), "{}", self.0.unwrap_or_default());
            Ok(Work::default())
        }
        fn shrink(&self, _: &Search) -> Option<ShrunkCase> {
            None
        }
    }

    #[test]
    fn a_case_fails_like_another_if_it_panics_with_the_same_words() {
        let wrong = run_caught(&Fragile(Some("way 3 is gone"))).unwrap_err();
        let search = Search::new(&wrong, Duration::from_secs(60));
        assert!(search.fails(&Fragile(Some("way 4 is gone"))));
        assert!(!search.fails(&Fragile(Some("line 4 is gone"))) && !search.fails(&Fragile(None)));
    }
}
