//! # How often lines come again, and how soon
//! A property of the stream of line requests of each SM alone, whatever cache it meets (li2015 figures
//! 3, 4 and 5b). Loads, stores and atomic operations count alike; each launch begins anew, as the L1
//! does.

use std::collections::BTreeMap;

use super::Recording;

/// Classes of lines: asked for once, twice, three times, and more often.
pub const REFERENCES: usize = 4;
/// Classes of distances: 0, 1, 2 to 3, 4 to 7 and so on; the last one holds all beyond.
pub const DISTANCES: usize = 16;

/// What the requests of one or more launches were like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reuse {
    /// Lines, counted apart for each SM, by how often they were asked for.
    pub lines: [u64; REFERENCES],
    /// Requests.
    pub requests: u64,
    /// Those of a line that was asked for once.
    pub once: u64,
    /// Requests of a line that came before, by the number of requests since: two in A B C A.
    pub distances: [u64; DISTANCES],
}

impl Reuse {
    /// Adds what another launch counted.
    pub fn add(&mut self, other: &Self) {
        let Self { lines, requests, once, distances } = other;
        self.lines.iter_mut().zip(lines).for_each(|(sum, more)| *sum += more);
        self.requests += requests;
        self.once += once;
        self.distances.iter_mut().zip(distances).for_each(|(sum, more)| *sum += more);
    }
}

impl Recording {
    /// The reuse of its lines.
    #[must_use]
    pub fn reuse(&self) -> Reuse {
        let mut reuse = Reuse::default();
        // Of each SM and line: requests, and the place of the last one among those of the SM.
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

/// The class of a distance: as many bits as it has.
fn class(distance: u64) -> usize {
    (u64::BITS - distance.leading_zeros()) as usize
}
