//! # Partitions of an L2 bank by lines
//! A partition divides each set of a bank among groups of SMs. A group owns the lines that its SMs have
//! inserted, up to a number of lines per set. A line belongs to its group until it is evicted, even if SMs of
//! other groups use it. When a group owns its maximum number of lines of a set, an insertion replaces one of
//! these.
//!
//! These rules have the same effect as way partitioning with a constant number of ways per group: each group
//! inserts only into its own ways, so lines of one group never replace lines of another. The model counts
//! lines and has no ways. Only [`Owners::first_way`] refers to ways, for replacement policies whose papers
//! use way numbers. Ways are assigned to the groups in ascending order of group number.

automod::dir!(pub "l2/partition");

use std::collections::BTreeMap;
use std::fmt::Debug;

/// Configuration of a partition. It can create the reference model of the partition.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug {
    /// Creates the reference model of the partition of sets of `ways` lines, in a machine with `sms` SMs;
    /// `None` if the SMs share all lines of a set.
    fn twin(&self, sms: usize, ways: usize) -> Option<Box<dyn Partition>>;
}

/// Partition of the sets of a bank among groups of SMs.
pub trait Partition: Debug + Send {
    /// Returns the number of the group to which an SM belongs.
    fn group(&self, sm: usize) -> usize;

    /// Returns the number of lines of a set that a group may own.
    fn share(&self, group: usize) -> usize;
}

/// Owners of the lines of a partitioned bank.
#[derive(Debug)]
pub struct Owners {
    partition: Box<dyn Partition>,
    /// Group that owns each line.
    group_of: BTreeMap<u64, usize>,
}

impl Owners {
    /// Creates the record of an empty bank.
    pub fn new(partition: Box<dyn Partition>) -> Self {
        Self { partition, group_of: BTreeMap::new() }
    }

    /// True if the group of an SM owns a line.
    pub fn is_own(&self, sm: usize, line: u64) -> bool {
        self.group_of.get(&line) == Some(&self.partition.group(sm))
    }

    /// True if the group of an SM may own one more line of a set. `set` lists the lines in this set.
    pub fn has_room(&self, sm: usize, set: &[u64]) -> bool {
        let owned = set.iter().filter(|line| self.is_own(sm, **line)).count();
        owned < self.partition.share(self.partition.group(sm))
    }

    /// Returns the lowest way of the group of an SM: the number of ways that all groups with lower numbers
    /// have together.
    pub fn first_way(&self, sm: usize) -> usize {
        (0..self.partition.group(sm)).map(|group| self.partition.share(group)).sum()
    }

    /// Records that an SM has inserted a line, possibly in place of `victim`.
    pub fn replace(&mut self, sm: usize, line: u64, victim: Option<u64>) {
        victim.into_iter().for_each(|victim| {
            self.group_of.remove(&victim);
        });
        self.group_of.insert(line, self.partition.group(sm));
    }
}
