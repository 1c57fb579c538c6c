//! # Reuse in a stream of accesses
//! How often lines are asked for, and how many other accesses lie between two of one line, counted over
//! accesses and not over what a cache holds: in A B C A the distance is 2 (li2015 Figures 3, 4 and 11).
//! The stream of an SM ends with its kernel.

use std::collections::BTreeMap;

/// Classes of distances: 0, then up to 1, 3, 7, 15 and so on; the last holds all longer ones.
pub const DISTANCES: usize = 16;
/// Classes of reuses: 0, 1, 2 and so on; the last holds all more frequent lines.
pub const REUSES: usize = 16;

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histograms {
    /// Accesses to a line asked for before, by the number of accesses in between.
    pub distances: [u64; DISTANCES],
    /// Lines, by how often they were asked for again.
    pub reuses: [u64; REUSES],
}

impl Histograms {
    /// Lines asked for, however often.
    #[must_use]
    pub fn footprint(&self) -> u64 {
        self.reuses.iter().sum()
    }

    /// Adds what another stream showed.
    pub fn add(&mut self, other: &Self) {
        let Self { distances, reuses } = other;
        self.distances.iter_mut().zip(distances).for_each(|(sum, count)| *sum += count);
        self.reuses.iter_mut().zip(reuses).for_each(|(sum, count)| *sum += count);
    }
}

/// A stream that goes on.
#[derive(Clone, Debug, Default)]
pub struct Reuse {
    accesses: u64,
    /// Of each line: the number of its last access, and how many came after its first.
    lines: BTreeMap<u64, (u64, usize)>,
    seen: Histograms,
}

impl Reuse {
    /// A line is asked for.
    pub fn see(&mut self, line: u64) {
        let now = self.accesses;
        self.accesses += 1;
        self.lines
            .entry(line)
            .and_modify(|(last, reuses)| {
                let between = now - *last - 1;
                let class = (u64::BITS - between.leading_zeros()) as usize;
                self.seen.distances[class.min(DISTANCES - 1)] += 1;
                (*last, *reuses) = (now, *reuses + 1);
            })
            .or_insert((now, 0));
    }

    /// The stream ends. Returns what it showed, and starts anew.
    pub fn end(&mut self) -> Histograms {
        let Self { lines, mut seen, .. } = std::mem::take(self);
        for (_, reuses) in lines.into_values() {
            seen.reuses[reuses.min(REUSES - 1)] += 1;
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(text: &str) -> Histograms {
        let mut reuse = Reuse::default();
        text.bytes().for_each(|line| reuse.see(line.into()));
        reuse.end()
    }

    #[test]
    fn the_distance_is_the_number_of_accesses_in_between() {
        let distances = stream("ABCA").distances;
        assert_eq!((distances.iter().sum::<u64>(), distances[2]), (1, 1));
        assert_eq!(stream("AA").distances[0], 1);
        assert_eq!(stream("ABA").distances[1], 1);
        // Repeated accesses count each.
        assert_eq!(stream("ABBBA").distances[2], 1);
    }

    #[test]
    fn lines_are_counted_by_how_often_they_come_again() {
        assert_eq!(stream("ABACA").reuses[..4], [2, 0, 1, 0]);
        assert_eq!(stream("ABACA").footprint(), 3);
        assert_eq!(stream(&"A".repeat(100)).reuses[REUSES - 1], 1);
    }

    #[test]
    fn long_distances_share_the_last_class() {
        let far = (0..1u32 << 16).map(u64::from).chain([0]);
        let mut reuse = Reuse::default();
        far.for_each(|line| reuse.see(line));
        assert_eq!(reuse.end().distances[DISTANCES - 1], 1);
    }

    #[test]
    fn a_kernel_starts_a_new_stream() {
        let mut reuse = Reuse::default();
        reuse.see(1);
        reuse.end();
        reuse.see(1);
        assert_eq!(reuse.end().reuses[0], 1);
    }
}
