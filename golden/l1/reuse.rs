//! # Reuse in a stream of accesses
//! Measures how often each line is accessed, and the reuse distance between two accesses to the same line
//! (li2015 Figures 3, 4 and 11). The reuse distance is the number of accesses in between; several accesses to
//! one other line all count. In the accesses A B C A, the reuse distance of A is 2. The distance does not
//! depend on the contents of a cache. The stream of an SM ends with its kernel.

use std::collections::BTreeMap;

/// Number of bins for reuse distances. The upper bounds of the bins are 0, 1, 3, 7, 15 and so on; the last
/// bin holds all longer distances.
pub const DISTANCES: usize = 16;
/// Number of bins for reuse counts. The bins hold the counts 0, 1, 2 and so on; the last bin holds all higher
/// counts.
pub const REUSES: usize = 16;

/// Reuse statistics of a stream of accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histograms {
    /// Histogram of reuse distances: number of repeated accesses in each bin. The reuse distance is the
    /// number of accesses between a repeated access and the previous access to the same line.
    pub distances: [u64; DISTANCES],
    /// Histogram of reuse counts: number of lines in each bin. The reuse count of a line is the number of
    /// accesses to the line after the first.
    pub reuses: [u64; REUSES],
}

impl Histograms {
    /// Returns the number of different lines that were accessed.
    #[must_use]
    pub fn footprint(&self) -> u64 {
        self.reuses.iter().sum()
    }

    /// Adds the histograms of another stream of accesses to the histograms of this stream.
    pub fn add(&mut self, other: &Self) {
        let Self { distances, reuses } = other;
        self.distances.iter_mut().zip(distances).for_each(|(sum, count)| *sum += count);
        self.reuses.iter_mut().zip(reuses).for_each(|(sum, count)| *sum += count);
    }
}

/// Stream of the accesses of one SM during one kernel.
#[derive(Clone, Debug, Default)]
pub struct Reuse {
    accesses: u64,
    /// For each line, the sequence number of its last access and the number of its repeated accesses.
    lines: BTreeMap<u64, (u64, usize)>,
    seen: Histograms,
}

impl Reuse {
    /// Records an access to a cache line.
    pub fn record(&mut self, line: u64) {
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

    /// Ends the stream of accesses, returns its histograms, and starts a new stream.
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
        text.bytes().for_each(|line| reuse.record(line.into()));
        reuse.end()
    }

    #[test]
    fn the_distance_is_the_number_of_accesses_in_between() {
        let distances = stream("ABCA").distances;
        assert_eq!((distances.iter().sum::<u64>(), distances[2]), (1, 1));
        assert_eq!(stream("AA").distances[0], 1);
        assert_eq!(stream("ABA").distances[1], 1);
        // The distance between the two accesses to A is 3, since each access to B counts. Bin 2 holds
        // distances 2 and 3.
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
        far.for_each(|line| reuse.record(line));
        assert_eq!(reuse.end().distances[DISTANCES - 1], 1);
    }

    #[test]
    fn a_kernel_starts_a_new_stream() {
        let mut reuse = Reuse::default();
        reuse.record(1);
        reuse.end();
        reuse.record(1);
        assert_eq!(reuse.end().reuses[0], 1);
    }
}
