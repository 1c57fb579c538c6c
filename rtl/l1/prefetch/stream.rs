//! # Stream prefetching
//! Follows accesses that run through memory in one direction, and prefetches ahead of them (Srinath et al.,
//! "Feedback directed prefetching", HPCA 2007, section 2.1). A miss to a new region allocates a stream. Two
//! further misses nearby determine the direction, and the second of them prefetches the next lines. From then
//! on, each load in the monitored region prefetches lines beyond the end of the region, and moves the region.
//!
//! | port        | dir | payload | contract                                                            |
//! |-------------|-----|---------|---------------------------------------------------------------------|
//! | `on_access` | in  | load    | compares the line with all streams, and changes at most one          |
//! | `next`      | out | target  | one line of the run that the last monitored load started            |
//!
//! Among matching streams, the most recently used one is selected; a new stream replaces the least recently
//! used one. A stream ends where its region would leave the page of the load. In the paper, a region begins
//! at a start-up distance ahead of the third miss, and prefetching begins at the end of the region. Here the
//! third miss also prefetches the lines within the start-up distance, which equals the degree.
//!
//! Simplified from the paper: distance and degree are fixed. The paper's feedback from accuracy, lateness and
//! pollution, which adapts them (section 3), is not modeled. Insertion of prefetched lines by pollution is
//! not modeled either. The paper trains the prefetcher by the L2 misses of a core with one thread; here it is
//! trained by the L1D misses of an SM.
//!
//! `cells/prefetch/streams` contains the table of streams, which the L2 banks use too.
//!
//! Part of `rtl/l1/cache.rs`.
//! Bench: its own tests and `tb/l1/prefetch.rs`.

use serde::{Deserialize, Serialize};

use super::{DemandLoad, Hooks, PrefetchPlace, Run, Scheme, Target};
pub use crate::cells::prefetch::streams::StreamConfig;
use crate::cells::prefetch::streams::Streams;
use crate::config::Rules;
use crate::kernel::{Describe, Edge};

#[typetag::serde(name = "stream")]
impl Scheme for StreamConfig {
    fn hardware(&self, place: &PrefetchPlace<'_>) -> Option<Box<dyn Hooks>> {
        let streams = Streams::new(self, place.line_bits, place.page_bits);
        Some(Box::new(Stream { streams, run: Run::default() }))
    }

    fn validate(&self, rules: &mut Rules) {
        Self::validate(self, rules);
    }
}

/// Hardware of the stream prefetcher.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stream {
    streams: Streams,
    run: Run,
}

#[typetag::serde]
impl Hooks for Stream {
    fn on_access(&mut self, _at: &Edge<'_>, load: &DemandLoad) {
        if let Some(run) = self.streams.observe(load.line, load.missed) {
            self.run = run;
        }
    }

    fn next(&mut self, _at: &Edge<'_>) -> Option<Target> {
        self.run.next()
    }

    fn clear(&mut self) {
        self.streams.clear();
        self.run = Run::default();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { streams, run } = self;
        streams.describe(to, |shape, to| run.describe(shape, to));
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;

    fn bench(streams: u32, distance: u32, degree: u32) -> Bench {
        Bench::new(StreamConfig { streams, window: 16, distance, degree })
    }

    fn miss(bench: &mut Bench, line: u64) -> Vec<u64> {
        bench.access(DemandLoad { line, missed: true, ..DemandLoad::default() })
    }

    fn hit(bench: &mut Bench, line: u64) -> Vec<u64> {
        bench.access(DemandLoad { line, ..DemandLoad::default() })
    }

    #[test]
    fn three_misses_in_one_direction_start_a_stream_that_loads_of_its_region_move() {
        let mut bench = bench(4, 6, 2);
        assert!([100, 103].iter().all(|line| miss(&mut bench, *line).is_empty()));
        assert_eq!(miss(&mut bench, 104), [105, 106]);
        assert_eq!(hit(&mut bench, 105), [107, 108]);
        assert!(hit(&mut bench, 109).is_empty(), "beyond the end of the region");
        assert!(hit(&mut bench, 101).is_empty(), "the region has moved on");
        assert_eq!(hit(&mut bench, 102), [109, 110]);
    }

    #[test]
    fn a_stream_may_descend_and_a_change_of_direction_begins_anew() {
        let mut bench = bench(4, 16, 1);
        for line in [100, 97, 99, 98] {
            assert!(miss(&mut bench, line).is_empty());
        }
        assert!(hit(&mut bench, 98).is_empty(), "99 and 98 are the first two misses");
        assert_eq!(miss(&mut bench, 95), [94]);
        assert_eq!(hit(&mut bench, 94), [93]);
        assert_eq!(hit(&mut bench, 93), [92]);
    }

    #[test]
    fn hits_train_nothing_and_misses_outside_of_the_window_have_streams_of_their_own() {
        let mut bench = bench(2, 16, 1);
        for line in [100, 101, 102, 103] {
            assert!(hit(&mut bench, line).is_empty());
        }
        for line in [100, 130, 101, 131] {
            assert!(miss(&mut bench, line).is_empty());
        }
        assert_eq!(miss(&mut bench, 102), [103]);
        // The miss of line 500 allocates a third stream in a table of two entries. The new stream replaces
        // the stream of lines 130 and 131, which is the least recently used one.
        assert!(miss(&mut bench, 500).is_empty());
        assert_eq!(hit(&mut bench, 102), [104]);
        assert!([132, 133].iter().all(|line| miss(&mut bench, *line).is_empty()));
        assert!(hit(&mut bench, 132).is_empty());
    }

    #[test]
    fn a_stream_ends_with_its_page() {
        let mut bench = bench(4, 16, 1);
        assert!([60, 61].iter().all(|line| miss(&mut bench, *line).is_empty()));
        assert_eq!(miss(&mut bench, 62), [63]);
        // Line 64 lies on the next page. The prefetcher may propose a line on another page, because the
        // prefetch unit drops such lines.
        assert_eq!(hit(&mut bench, 63), [64]);
        assert!(hit(&mut bench, 63).is_empty());
    }
}
