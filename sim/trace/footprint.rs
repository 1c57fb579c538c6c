//! Counts the distinct lines that a kernel accesses, and the accesses to each line.
//!
//! Each line has a one-byte counter that saturates at 255. The counters of 64 consecutive lines form a group,
//! so that a large array costs little more than one byte per line. If the maximum number of groups is
//! reached, further lines are not counted, and the results are marked as incomplete.

use rustc_hash::FxHashMap;

/// Number of lines in a group.
const GROUP: u64 = 64;
/// Maximum number of groups, enough for 128 million consecutive lines, in about 200 MB of memory.
const MAX_GROUPS: usize = 2 << 20;

/// Lines that a kernel has accessed so far, with the number of accesses to each line.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    groups: FxHashMap<u64, Box<[u8; GROUP as usize]>>,
    accesses: u64,
    is_cut: bool,
}

/// Bin of a histogram: the number of lines that were accessed a certain number of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reuse {
    /// Minimum number of accesses to a line.
    pub from: u32,
    /// Maximum number of accesses to a line; `None` if there is no maximum.
    pub to: Option<u32>,
    /// Number of lines whose number of accesses is between `from` and `to`.
    pub lines: u64,
}

/// Bins of the histogram [`Footprint::reuse`], each given by the smallest and the largest number of accesses
/// to a line.
const REUSES: [(u8, Option<u8>); 6] =
    [(1, Some(1)), (2, Some(3)), (4, Some(7)), (8, Some(15)), (16, Some(31)), (32, None)];

impl Footprint {
    /// Counts an access to a line.
    pub fn touch(&mut self, line: u64) {
        self.accesses += 1;
        let (group, at) = (line / GROUP, (line % GROUP) as usize);
        let is_full = self.groups.len() >= MAX_GROUPS;
        match self.groups.get_mut(&group) {
            Some(counts) => counts[at] = counts[at].saturating_add(1),
            None if is_full => self.is_cut = true,
            None => {
                let mut counts = Box::new([0; GROUP as usize]);
                counts[at] = 1;
                self.groups.insert(group, counts);
            }
        }
    }

    /// Number of line accesses: an instruction makes one line access for each line of which it accesses a
    /// part.
    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Number of distinct lines accessed.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.counts().filter(|&count| count > 0).count() as u64
    }

    /// True if the kernel accessed more distinct lines than can be counted.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns a histogram: for each range of the number of accesses, the number of lines that were accessed
    /// that often.
    #[must_use]
    pub fn reuse(&self) -> Vec<Reuse> {
        let bounds = REUSES.iter().map(|&(from, to)| {
            let is_within = |count: &u8| *count >= from && to.is_none_or(|to| *count <= to);
            Reuse { from: from.into(), to: to.map(u32::from), lines: self.counts().filter(is_within).count() as u64 }
        });
        bounds.collect()
    }

    fn counts(&self) -> impl Iterator<Item = u8> {
        self.groups.values().flat_map(|counts| counts.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_their_accesses_are_counted() {
        let mut footprint = Footprint::default();
        for line in [5, 70, 5, 5, 1 << 50] {
            footprint.touch(line);
        }
        assert_eq!((footprint.lines(), footprint.accesses(), footprint.is_cut()), (3, 5, false));
        let reuse: Vec<_> = footprint.reuse().iter().map(|reuse| reuse.lines).collect();
        assert_eq!(reuse, [2, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn a_line_may_be_accessed_any_number_of_times() {
        let mut footprint = Footprint::default();
        (0..1000).for_each(|_| footprint.touch(9));
        assert_eq!((footprint.lines(), footprint.reuse()[5].lines), (1, 1));
    }
}
