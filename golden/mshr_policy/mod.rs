//! # MSHR policies by lists of entries
//! An MSHR policy may refuse an access although the MSHR has room for it. A reference model of a policy has
//! no state. It decides from the list of entries in use, which is in the order of allocation, and contains
//! the requesters that wait in each entry. The requester is a warp slot in the L1D and an SM in an L2 bank.
//! The `kind` key of the configuration selects a policy, with the same names as in the hardware model.

automod::dir!(pub "mshr_policy");

use std::collections::VecDeque;
use std::fmt::{self, Debug};

/// Configuration of an MSHR policy. It can create the reference model of the policy.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug {
    /// Creates the reference model of the policy; `None` if it refuses nothing.
    fn twin(&self) -> Option<Box<dyn MshrPolicy>>;
}

/// Reference model of an MSHR policy.
pub trait MshrPolicy: Debug + Send {
    /// True if a miss of a requester may allocate an MSHR entry while `free` entries are free. `used` lists
    /// the entries in use.
    fn may_allocate(&self, requester: usize, free: usize, used: &[Used]) -> bool;

    /// True if an access of a requester may wait in an entry that has room for it. `used` lists the entries
    /// in use.
    fn may_merge(&self, _requester: usize, _used: &[Used]) -> bool {
        true
    }
}

/// MSHR entry in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// Line and mask of sectors that the entry tracks.
    pub key: (u64, u8),
    /// Requester whose miss allocated the entry; `None` for a prefetch.
    pub owner: Option<usize>,
    /// Requesters of the accesses that wait in the entry, in the order of their arrival.
    pub waiting: VecDeque<usize>,
}

/// Entries of an MSHR in use, and the policy that limits their use.
#[derive(Debug)]
pub struct Ledger {
    policy: Box<dyn MshrPolicy>,
    entries: usize,
    /// Entries in use, in the order of their allocation.
    used: Vec<Used>,
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = |Used { key: (line, parts), owner, waiting }: &Used| {
            let owner = owner.map_or("a prefetch".to_owned(), |owner| owner.to_string());
            format!("{line:#x}/{parts:04b} of {owner}: {waiting:?}")
        };
        let entries: Vec<_> = self.used.iter().map(entry).collect();
        write!(f, "entries by requester, with those that wait: [{}]", entries.join(", "))
    }
}

impl Ledger {
    /// Creates the record of an MSHR with `entries` entries, all of which are free.
    pub fn new(policy: Box<dyn MshrPolicy>, entries: usize) -> Self {
        Self { policy, entries, used: Vec::new() }
    }

    /// True if the policy permits a miss of a requester to allocate a free entry.
    pub fn may_allocate(&self, requester: usize) -> bool {
        self.policy.may_allocate(requester, self.entries.saturating_sub(self.used.len()), &self.used)
    }

    /// True if the policy permits an access of a requester to wait in an entry that has room for it.
    pub fn may_merge(&self, requester: usize) -> bool {
        self.policy.may_merge(requester, &self.used)
    }

    /// Records the allocation of an entry by the miss of a requester, or by a prefetch, for which `owner` is
    /// `None`.
    pub fn allocate(&mut self, key: (u64, u8), owner: Option<usize>) {
        self.used.push(Used { key, owner, waiting: owner.into_iter().collect() });
    }

    /// Records that an access of a requester waits in the entry that tracks `key`.
    pub fn merge(&mut self, key: (u64, u8), requester: usize) {
        if let Some(used) = self.used.iter_mut().find(|used| used.key == key) {
            used.waiting.push_back(requester);
        }
    }

    /// Records that the access that has waited longest leaves the entry that tracks `key`. The last access
    /// frees the entry.
    pub fn leave(&mut self, key: (u64, u8)) {
        let Some(place) = self.used.iter().position(|used| used.key == key) else { return };
        self.used[place].waiting.pop_front();
        if self.used[place].waiting.is_empty() {
            self.used.remove(place);
        }
    }

    /// Records that the line of an entry, or some of its sectors, has arrived. If no access waits in the
    /// entry, the entry becomes free.
    pub fn fill(&mut self, key: (u64, u8)) {
        self.used.retain(|used| used.key != key || !used.waiting.is_empty());
    }
}
