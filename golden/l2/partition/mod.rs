//! # Partitions of an L2 bank by lines
//! A partition divides each set of a bank among groups of SMs. A group owns the lines that its SMs have
//! inserted. A line belongs to its group until it is evicted, even if SMs of other groups use it. Each group
//! has a share: a number of lines per set. There are two kinds of partitions:
//!
//! - Each group has ways of its own. It never owns more lines of a set than its share. If it owns as many, an
//!   insertion replaces one of these; otherwise it replaces none. So lines of one group never replace lines
//!   of another. This has the same effect as way partitioning with a constant number of ways per group.
//! - Groups take lines of others ([`Partition::takes_lines_of_others`]). Any group may insert a line into a
//!   set with an empty way. In a full set, a group that owns fewer lines than its share replaces a line of a
//!   group that owns more than its own share. Otherwise it replaces one of its own lines. Shares may change,
//!   so a group may own more lines than its share.
//!
//! The model counts lines and has no ways. Only [`Owners::first_way`] refers to ways, for replacement
//! policies whose papers use way numbers. If groups have ways of their own, these are assigned to the groups
//! in ascending order of group number.

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

    /// Returns the share of a group. If each group has ways of its own, this is the number of lines of a set
    /// that the group may own. Otherwise a group may own more, until other groups take lines of it.
    fn share(&self, group: usize) -> usize;

    /// True if a group that owns too few lines takes lines of groups that own too many; false if each group
    /// has ways of its own.
    fn takes_lines_of_others(&self) -> bool {
        false
    }

    /// Observes an access of an SM to a line of a set, after the line was inserted if it was absent.
    fn on_access(&mut self, _sm: usize, _set: usize, _line: u64) {}
}

/// Returns the group of each of `sms` SMs, as given by `list`. If `list` is empty, each of `groups` groups
/// has an equal share of consecutive SMs.
fn groups_of_sms(list: &[usize], groups: usize, sms: usize) -> Vec<usize> {
    if !list.is_empty() {
        return list.to_vec();
    }
    // Group g starts at SM number g * sms / groups, rounded up.
    let first = |group: usize| (group * sms).div_ceil(groups);
    (0..groups).flat_map(|group| (first(group)..first(group + 1)).map(move |_| group)).collect()
}

/// Owners of the lines of a partitioned bank.
#[derive(Debug)]
pub struct Owners {
    partition: Box<dyn Partition>,
    /// Group that owns each line.
    group_of: BTreeMap<u64, usize>,
}

impl Owners {
    /// Creates the record of owners for an empty bank.
    pub fn new(partition: Box<dyn Partition>) -> Self {
        Self { partition, group_of: BTreeMap::new() }
    }

    /// Returns the lines of which an insertion by an SM may replace one. The set has `ways` ways and holds
    /// the lines `set`. The flag is true if the insertion takes an empty way instead.
    pub fn replaceable(&self, sm: usize, set: &[u64], ways: usize) -> (bool, Vec<u64>) {
        let group = self.partition.group(sm);
        let owner = |line: &u64| self.group_of.get(line).copied();
        let owned = |group| set.iter().filter(|line| owner(line) == Some(group)).count();
        let of = |is_meant: &dyn Fn(usize) -> bool| {
            set.iter().copied().filter(|line| owner(line).is_some_and(is_meant)).collect()
        };
        let has_too_few = owned(group) < self.partition.share(group);
        if !self.partition.takes_lines_of_others() {
            (has_too_few, of(&|owner| owner == group))
        } else if set.len() < ways {
            (true, Vec::new())
        } else if has_too_few {
            (false, of(&|owner| owned(owner) > self.partition.share(owner)))
        } else {
            (false, of(&|owner| owner == group))
        }
    }

    /// Returns the lowest way that an SM may use for a line that replaces no other. If groups have ways of
    /// their own, these are numbered in the order of the groups.
    pub fn first_way(&self, sm: usize) -> usize {
        if self.partition.takes_lines_of_others() {
            return 0;
        }
        (0..self.partition.group(sm)).map(|group| self.partition.share(group)).sum()
    }

    /// Observes an access of an SM to a line of a set.
    pub fn on_access(&mut self, sm: usize, set: usize, line: u64) {
        self.partition.on_access(sm, set, line);
    }

    /// Records that an SM has inserted a line, possibly in place of `victim`.
    pub fn replace(&mut self, sm: usize, line: u64, victim: Option<u64>) {
        victim.into_iter().for_each(|victim| {
            self.group_of.remove(&victim);
        });
        self.group_of.insert(line, self.partition.group(sm));
    }
}
