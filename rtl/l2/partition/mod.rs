//! # Way partitioning of an L2 bank
//! A partition restricts the ways in which the miss of a requester may replace a line, so that requesters
//! cannot evict all of each other's lines. A requester is an SM. Each scheme is one file in this folder, with
//! its parameters, its state and its hooks.
//!
//! | kind           | ways in which a miss of an SM may choose its victim | source                              |
//! |----------------|-----------------------------------------------------|-------------------------------------|
//! | `none`         | all                                                 |                                     |
//! | `by-requester` | those of its group of SMs, a constant number        | column caching (Chiou et al., DAC 2000) |
//! | `utility`      | those of its group, or of groups with too many lines | UCP (Qureshi and Patt, MICRO 2006) |
//!
//! | hook          | when                                                                              |
//! |---------------|-----------------------------------------------------------------------------------|
//! | `reach`       | time has advanced to this cycle, ahead of the look-up of a request                |
//! | `ways`        | a miss, or a prefetch for the SM that triggered it, selects its way               |
//! | `on_insert`   | a line takes the selected way                                                     |
//! | `on_access`   | a request was served, or was accepted by an MSHR entry or the bypass buffer       |
//! | `next_choice` | the bank is about to sleep with a stalled request                                 |
//! | `record`, `describe` | for digests; for waveforms and area counts                                 |
//! | `counters`     | when statistics are read: counters of the scheme's own                          |
//!
//! Hits are allowed in every way: the scheme restricts only the choice of the victim. A miss takes the lowest
//! empty way among its allowed ways, or else the victim that the replacement policy selects among them. If no
//! line in these ways can be evicted, the request stalls for a way (`line_alloc`). Without a partition, it
//! stalls in the same way if no line of the set can be evicted.
//!
//! Only the overlapped flow has partitions. The partition applies to every request that allocates a way:
//! misses of reads, writes and atomics, reads that bypass the bank and keep a tag, and prefetches. There is
//! one exception: if the tag of a bypassed line was kept, the line is later fetched into the way of that tag.
//! `on_access` does not report prefetches.
//!
//! No deadlock: every SM has at least one way in each set. The lines in flight in its ways arrive without any
//! further lookup, and their ways then become evictable.
//!
//! The state of a scheme survives the end of a kernel, as the lines of the bank do.
//!
//! Part of `rtl/l2/bank.rs`.
//! Bench: `tb/l2/partition.rs`.

automod::dir!(pub "l2/partition");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use derive::watched;

use crate::choice::Choice;
use crate::config::Rules;
use crate::kernel::{CounterReader, Describe, Edge};

/// Configuration of a partition: its parameters are the keys of `l2.partition` other than `kind`.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Returns the partition of one bank; `None` if a miss may replace a line in any way.
    fn hardware(&self, bank: &BankInfo<'_>) -> Option<Box<dyn Hooks>>;

    /// Checks the parameters of the partition, and that it fits the banks.
    fn validate(&self, _bank: &BankInfo<'_>, _rules: &mut Rules) {}
}

/// Properties of an L2 bank that determine which partitions it can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BankInfo<'a> {
    /// Hierarchical path of the bank, such as `l2.bank2`.
    pub path: &'a str,
    /// Number of sets of the bank.
    pub sets: u32,
    /// Number of ways per set, at most 32.
    pub ways: u32,
    /// Width of a tag in bits.
    pub tag_bits: u32,
    /// Number of SMs of the machine, which are the requesters.
    pub sms: u32,
}

/// Partition selected for the L2 banks.
pub type L2Partition = Choice<dyn Scheme>;

impl L2Partition {
    /// True if a partition restricts the ways of some requester.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.typetag_name() != "none"
    }

    /// Returns the partition of one bank, in a wrapper that records each call of a hook.
    pub(super) fn watched_hooks(&self, bank: &BankInfo<'_>) -> Option<Box<dyn Hooks>> {
        self.hardware(bank).map(|hooks| Watched::of(self.typetag_name(), hooks))
    }

    /// Lists the counters of all partitions that are linked into the program, each with its default
    /// parameters, for the dictionary of counters.
    pub fn list_counters(to: &mut dyn CounterReader) {
        let bank = BankInfo { path: "", sets: 64, ways: 16, tag_bits: 20, sms: 16 };
        for hooks in Self::linked().iter().filter_map(|scheme| scheme.watched_hooks(&bank)) {
            hooks.counters(to);
        }
    }
}

impl<S: Scheme + 'static> From<S> for L2Partition {
    fn from(scheme: S) -> Self {
        Self::new(Arc::new(scheme))
    }
}

/// Subset of the ways of a set: bit n stands for way n.
pub type WayMask = u64;

/// Access to a line, as reported to the partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Number of the SM that sent the request.
    pub sm: u8,
    /// Set of the line.
    pub set: u32,
    /// Tag of the line.
    pub tag: u64,
    /// True if the line was absent: no way of the bank was allocated to it.
    pub missed: bool,
}

/// Functions (hooks) of a partition that an L2 bank calls.
#[watched("l2.partition")]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// Called in cycle `cycle`, before a request is looked up. Not called while the bank sleeps or serves a
    /// waiter.
    fn reach(&mut self, _cycle: u64) {}

    /// Returns the ways of set `set` in which a miss of SM `sm` may choose its victim: at least one.
    fn ways(&self, sm: u8, set: u32) -> WayMask;

    /// Called when a line that SM `sm` requested is inserted into the set and way `place`; the way is one of
    /// [`Self::ways`].
    fn on_insert(&mut self, _at: &Edge<'_>, _sm: u8, _place: (u32, u32)) {}

    /// Called when a request was served, or was accepted by an MSHR entry or the bypass buffer.
    fn on_access(&mut self, _at: &Edge<'_>, _access: &Access) {}

    /// Returns the next cycle in which the set of ways that a requester may use can change without an access;
    /// `None` if there is no such cycle.
    fn next_choice(&self) -> Option<u64> {
        None
    }

    /// Starts to maintain digests (hashes) of the array contents.
    fn record(&mut self) {}

    /// Lists the registers, arrays and logic of the partition, as one component, for waveforms, digests and
    /// area estimates.
    fn describe(&self, to: &mut dyn Describe);

    /// Lists the scheme's own counters, for the statistics. Every call must list the same keys, and no
    /// counter may ever decrease, not even at the end of a kernel.
    fn counters(&self, _to: &mut dyn CounterReader) {}
}

/// Returns the group of SM `sm`. `list` holds the group of each SM; if it is empty, each of `groups` groups
/// has an equal share of the `sms` SMs, in the order of their numbers.
fn group_of(list: &[u32], groups: u32, sm: u32, sms: u32) -> u32 {
    let equal = u64::from(sm) * u64::from(groups) / u64::from(sms.max(1));
    list.get(sm as usize).copied().unwrap_or(equal as u32)
}

/// Checks the list `sms`, which holds the group of each SM, given the number `groups` of groups.
fn validate_groups(sms: &[u32], groups: u64, bank: &BankInfo<'_>, rules: &mut Rules) {
    if sms.is_empty() {
        return;
    }
    // With more groups than SMs, some group has no SM. Checked first, because `groups` may be huge.
    let has_all = groups <= sms.len() as u64 && (0..groups).all(|group| sms.iter().any(|&of| u64::from(of) == group));
    rules.expect(
        sms.len() == bank.sms as usize && has_all && sms.iter().all(|&group| u64::from(group) < groups),
        "sms",
        format!("{sms:?}"),
        &format!(
            "an empty list, or the groups of {} SMs, in which each of 0 to {} occurs",
            bank.sms,
            groups.max(1) - 1
        ),
        "each SM belongs to one group, and each group has an SM",
    );
}

/// Returns the mask of `count` ways from way `first` on.
#[must_use]
pub fn ways_from(first: u32, count: u32) -> WayMask {
    (0..WayMask::BITS)
        .filter(|way| (first..first.saturating_add(count)).contains(way))
        .fold(0, |mask, way| mask | 1 << way)
}
