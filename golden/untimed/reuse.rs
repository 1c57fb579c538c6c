//! # Reuse counts and distances of line requests
//! Measures reuse counts and reuse distances in the stream of line requests of each SM (li2015 figures 3, 4
//! and 5b). They depend only on this stream, not on a cache. Loads, stores and atomic operations all count.
//! Each launch starts a new stream, since its L1 starts empty.

use std::collections::BTreeMap;

use super::Recording;

/// Number of bins for the request counts of lines: one, two, three, and four or more requests.
pub const REFERENCES: usize = 4;
/// Number of bins for reuse distances: 0, 1, 2 to 3, 4 to 7 and so on; the last bin holds all longer
/// distances.
pub const DISTANCES: usize = 16;

/// Reuse statistics of one or more launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reuse {
    /// Number of lines in each bin of the request count. A line that several SMs request counts once for each
    /// SM.
    pub lines: [u64; REFERENCES],
    /// Number of requests for all lines together.
    pub requests: u64,
    /// Number of requests for lines that were requested only once.
    pub once: u64,
    /// Histogram of reuse distances: number of repeated requests in each bin. The reuse distance is the
    /// number of requests since the previous request for the same line. In A B C A, the distance is 2.
    pub distances: [u64; DISTANCES],
}

impl Reuse {
    /// Adds the statistics of another launch to these statistics.
    pub fn add(&mut self, other: &Self) {
        let Self { lines, requests, once, distances } = other;
        self.lines.iter_mut().zip(lines).for_each(|(sum, more)| *sum += more);
        self.requests += requests;
        self.once += once;
        self.distances.iter_mut().zip(distances).for_each(|(sum, more)| *sum += more);
    }
}

impl Recording {
    /// Returns the reuse statistics of the recorded requests.
    #[must_use]
    pub fn reuse(&self) -> Reuse {
        let mut reuse = Reuse::default();
        // For each SM and line: number of requests, and position of the last request in the request stream of
        // the SM.
        let mut lines: BTreeMap<(u32, u64), (u64, u64)> = BTreeMap::new();
        let mut places: BTreeMap<u32, u64> = BTreeMap::new();
        for (sm, line) in self.requests() {
            let place = places.entry(sm).or_default();
            let (count, last) = lines.entry((sm, line)).or_default();
            if *count > 0 {
                reuse.distances[class(*place - *last - 1).min(DISTANCES - 1)] += 1;
            }
            (*count, *last) = (*count + 1, *place);
            *place += 1;
        }
        reuse.requests = places.values().sum();
        for (count, _) in lines.values() {
            reuse.lines[(*count as usize).min(REFERENCES) - 1] += 1;
            reuse.once += u64::from(*count == 1);
        }
        reuse
    }
}

/// Returns the bin of a reuse distance: the number of significant bits of the distance.
fn class(distance: u64) -> usize {
    (u64::BITS - distance.leading_zeros()) as usize
}
