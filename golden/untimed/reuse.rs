//! # Reuse counts and distances of line requests
//! Measures reuse counts and reuse distances in the stream of line requests of each SM (li2015 figures 3, 4
//! and 5b). These depend on the stream only, not on a cache. Loads, stores and atomic operations count alike.
//! Each launch starts a new stream, as it starts with an empty L1.

use std::collections::BTreeMap;

use super::Recording;

/// Number of reference bins: lines requested once, twice, three times, and more often.
pub const REFERENCES: usize = 4;
/// Number of distance bins: 0, 1, 2 to 3, 4 to 7 and so on; the last bin holds all longer distances.
pub const DISTANCES: usize = 16;

/// Reuse statistics of one or more launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reuse {
    /// Number of lines, counted separately per SM, binned by their number of requests.
    pub lines: [u64; REFERENCES],
    /// Number of requests of all lines.
    pub requests: u64,
    /// Number of requests for lines that were requested only once.
    pub once: u64,
    /// Number of repeated requests, binned by the requests since the previous one of the line: two in A B C
    /// A.
    pub distances: [u64; DISTANCES],
}

impl Reuse {
    /// Adds the counts of another launch.
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
        // Number of requests per SM and line, and the position of the last one in the stream of the SM.
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

/// Returns the bin of a distance: the number of its significant bits.
fn class(distance: u64) -> usize {
    (u64::BITS - distance.leading_zeros()) as usize
}
