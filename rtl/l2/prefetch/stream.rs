//! # Stream prefetching
//! Follows accesses that run through the lines of the bank in one direction, and prefetches ahead of them
//! (Srinath et al., "Feedback directed prefetching", HPCA 2007, section 2.1), with the same table of streams
//! and the same configuration keys as the stream prefetcher of the L1D. As in the paper, misses of the L2
//! train the streams; here, the misses of all SMs train one common table. Writes do not change the streams.
//!
//! A stream ends where its region would leave the aligned group of 2^`page_bits` lines in which the access lies.
//!
//! Part of `rtl/l2/bank.rs`.
//! Bench: its own tests and `tb/l2/prefetch.rs`.

use serde::{Deserialize, Serialize};

use super::{DemandAccess, Hooks, PrefetchPlace, Scheme, SmRun, Target};
pub use crate::cells::prefetch::streams::StreamConfig;
use crate::cells::prefetch::streams::Streams;
use crate::config::Rules;
use crate::kernel::{Describe, Edge};

#[typetag::serde(name = "stream")]
impl Scheme for StreamConfig {
    fn hardware(&self, place: &PrefetchPlace<'_>) -> Option<Box<dyn Hooks>> {
        let streams = Streams::new(self, place.line_bits, place.page_bits);
        Some(Box::new(Stream { streams, run: SmRun::default(), sm_bits: place.sm_bits }))
    }

    fn validate(&self, rules: &mut Rules) {
        Self::validate(self, rules);
    }
}

/// Hardware of the stream prefetcher.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stream {
    streams: Streams,
    run: SmRun,
    sm_bits: u32,
}

#[typetag::serde]
impl Hooks for Stream {
    fn on_access(&mut self, _at: &Edge<'_>, access: &DemandAccess) {
        if access.is_write {
            return;
        }
        if let Some(run) = self.streams.observe(access.line, access.missed) {
            self.run.start(run, access.sm);
        }
    }

    fn next(&mut self, _at: &Edge<'_>) -> Option<Target> {
        self.run.next()
    }

    fn clear(&mut self) {
        self.streams.clear();
        self.run = SmRun::default();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { streams, run, sm_bits } = self;
        streams.describe(to, |shape, to| run.describe(shape, *sm_bits, to));
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;

    #[test]
    fn misses_of_all_sms_train_a_stream_and_its_lines_are_read_for_the_last_of_them() {
        let mut bench = Bench::new(StreamConfig { streams: 2, window: 16, distance: 4, degree: 2 });
        let miss = |line, sm| DemandAccess { line, sm, missed: true, ..DemandAccess::default() };
        assert!([miss(8, 1), miss(9, 2)].into_iter().all(|access| bench.access(access).is_empty()));
        assert!(bench.access(DemandAccess { is_write: true, ..miss(10, 5) }).is_empty());
        assert_eq!(bench.access(miss(10, 3)), [(11, 3), (12, 3)]);
    }
}
