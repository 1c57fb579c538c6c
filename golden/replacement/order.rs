//! # Sets of lines under a replacement policy
//! Lists the lines of each set of a cache, from least to most recently used, and lets the replacement policy
//! select victims. Used by models that store the contents of the lines themselves, such as those of the L2
//! banks.

use std::collections::BTreeMap;

use super::lru::Lru;
use super::{Eviction, InsertedLine, Replacement};
use crate::index::SetIndex;
use crate::l2::partition::{Owners, Partition};

/// Lines of a cache by set, with a replacement policy.
#[derive(Debug)]
pub struct LineSets {
    index: SetIndex,
    ways: usize,
    /// Lines of each set, from least to most recently used.
    sets: Vec<Vec<u64>>,
    policy: Box<dyn Replacement>,
    /// Partition of each set among groups of requesters, and the group that owns each line; `None` if the
    /// requesters share all lines of a set.
    owners: Option<Owners>,
    /// Eviction priority of the last access to each line; normal for lines that are not listed.
    hints: BTreeMap<u64, Eviction>,
}

/// Error: a set is full, and none of its lines may be evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoVictim;

impl LineSets {
    /// Creates empty sets with `ways` ways each and LRU replacement.
    pub fn new(index: SetIndex, ways: usize) -> Self {
        Self {
            index,
            ways,
            sets: vec![Vec::new(); index.sets()],
            policy: Box::new(Lru {}),
            owners: None,
            hints: BTreeMap::new(),
        }
    }

    /// Sets the replacement policy; the default is LRU.
    pub fn replace_by(&mut self, policy: Box<dyn Replacement>) {
        self.policy = policy;
    }

    /// Divides each set among groups of requesters; by default, they share it.
    pub fn partition_by(&mut self, partition: Box<dyn Partition>) {
        self.owners = Some(Owners::new(partition));
    }

    /// True if a line is in its set.
    pub fn holds(&self, line: u64) -> bool {
        self.sets[self.index.set_of_line(line)].contains(&line)
    }

    /// Records an access to a line that is in its set.
    pub fn on_hit(&mut self, line: u64) {
        let set = &mut self.sets[self.index.set_of_line(line)];
        set.retain(|other| *other != line);
        set.push(line);
        self.policy.on_hit(line, 0);
    }

    /// Gives a line in its set the eviction priority of its last access. Call it after the access itself.
    pub fn hint(&mut self, line: u64, eviction: Eviction) {
        self.hints.insert(line, eviction);
    }

    /// Informs the partition, if there is one, that a requester has accessed a line. Call it after all other
    /// effects of the access.
    pub fn on_access(&mut self, requester: usize, line: u64) {
        if let Some(owners) = &mut self.owners {
            owners.on_access(requester, self.index.set_of_line(line), line);
        }
    }

    /// Removes a line that is invalidated rather than replaced.
    pub fn remove(&mut self, line: u64) {
        self.sets[self.index.set_of_line(line)].retain(|other| *other != line);
        self.hints.remove(&line);
        self.policy.on_invalidate(line);
    }

    /// Removes all lines. What the policy has learned is retained.
    pub fn clear(&mut self) {
        self.sets.iter_mut().for_each(Vec::clear);
        self.hints.clear();
        self.policy.forget_lines();
    }

    /// Inserts a line. If its set was full, returns the line that it replaces. Only a line for which `is_evictable`
    /// returns true may be replaced.
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if the set is full and none of its lines may be replaced.
    pub fn insert(&mut self, line: u64, is_evictable: impl Fn(u64) -> bool) -> Result<Option<u64>, NoVictim> {
        self.insert_by(0, line, is_evictable)
    }

    /// Inserts a line for a requester. In a partitioned set, [`Owners::replaceable`] says whether the line
    /// takes an empty way, and otherwise which lines may be replaced. If groups have ways of their own, the
    /// set counts as full if the requester's group owns as many of its lines as its share. Then only lines of
    /// this group may be replaced. If groups take lines of others, the set is full if it has no empty way.
    /// Then the line replaces one of a group that owns too many lines, or one of the requester's group. Of the
    /// lines that may be replaced, only those that are to be evicted first are considered.
    ///
    /// # Errors
    /// Returns the same error as [`Self::insert`].
    pub fn insert_by(
        &mut self,
        requester: usize,
        line: u64,
        is_evictable: impl Fn(u64) -> bool,
    ) -> Result<Option<u64>, NoVictim> {
        let number = self.index.set_of_line(line);
        let set = &mut self.sets[number];
        let owners = self.owners.as_ref();
        let replaceable = owners.map(|owners| owners.replaceable(requester, set, self.ways));
        let has_room = replaceable.as_ref().map_or(set.len() < self.ways, |(has_room, _)| *has_room);
        let is_replaceable = |other| replaceable.as_ref().is_none_or(|(_, lines)| lines.contains(&other));
        let is_evictable = |other| is_replaceable(other) && is_evictable(other);
        let eviction = |other| self.hints.get(&other).copied().unwrap_or_default();
        let first =
            if has_room { None } else { set.iter().copied().filter(|&other| is_evictable(other)).map(eviction).min() };
        let is_evictable = |other| is_evictable(other) && first.is_none_or(|first| eviction(other) == first);
        let first_way = owners.map_or(0, |owners| owners.first_way(requester));
        let victim = if has_room {
            None
        } else {
            Some(self.policy.victim(&mut set.iter().copied().filter(|other| is_evictable(*other))).ok_or(NoVictim)?)
        };
        set.retain(|other| Some(*other) != victim);
        let stay: Vec<_> = set.iter().map(|&other| (other, is_evictable(other))).collect();
        self.policy.on_insert(InsertedLine { line, pc: 0, set: number, first_way }, victim, &stay);
        set.push(line);
        victim.and_then(|victim| self.hints.remove(&victim));
        if let Some(owners) = &mut self.owners {
            owners.replace(requester, line, victim);
        }
        Ok(victim)
    }
}
