//! # Reference model of the fate of prefetches
//! Tracks the lines that a prefetcher of an L2 bank returns: whether each line is on the same page as the
//! line that triggered it, and whether an access uses the line. The model has no queue and no clock: the
//! lines that an access triggers reach the bank at once and in order.

use std::collections::BTreeSet;

use super::{Prefetcher, Seen};
use crate::l2::bank::{Banks, Outcome, Victim};

/// Relates the lines of one L2 bank to the pages of the address space.
#[derive(Clone, Copy, Debug)]
pub struct Pages {
    /// Interleaving of the lines of memory across the banks.
    pub banks: Banks,
    /// Number of the bank.
    pub bank: u64,
    /// Number of lines per page, over all banks.
    pub page_lines: u64,
}

impl Pages {
    fn page(&self, line: u64) -> u64 {
        self.banks.line(self.bank, line) / self.page_lines
    }
}

/// Counters of prefetches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of lines that prefetches requested from memory.
    pub issued: u64,
    /// Number of prefetched lines that were present when an access first used them.
    pub useful: u64,
    /// Number of prefetched lines that no access used before their eviction or the end of the kernel.
    pub useless: u64,
    /// Number of prefetches that were dropped because the line was already present.
    pub present: u64,
    /// Number of prefetches that were dropped because the line was already in flight.
    pub in_flight: u64,
    /// Number of prefetches that were dropped because the line is on another page than the line that
    /// triggered it.
    pub other_page: u64,
}

/// Prefetcher of a bank, with the prefetched lines that no access has used.
#[derive(Debug)]
pub struct Unit {
    prefetcher: Box<dyn Prefetcher>,
    pages: Pages,
    unused: BTreeSet<u64>,
    /// Counters of prefetches since the start of the simulation.
    pub counts: Counts,
}

impl Unit {
    /// Creates a unit without prefetched lines.
    #[must_use]
    pub fn new(prefetcher: Box<dyn Prefetcher>, pages: Pages) -> Self {
        Self { prefetcher, pages, unused: BTreeSet::new(), counts: Counts::default() }
    }

    /// Records an access and returns the lines that the bank is to prefetch, in order. The field
    /// `is_first_use` of `seen` is ignored, because the model determines its value itself. An access that
    /// misses cannot be the first use of a prefetched line.
    pub fn on_access(&mut self, seen: Seen) -> Vec<u64> {
        let is_first_use = self.unused.remove(&seen.line);
        self.counts.useful += u64::from(is_first_use);
        let lines = self.prefetcher.on_access(&Seen { is_first_use, ..seen }).unwrap_or_default();
        let (on_page, others): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| {
            u64::try_from(*line).is_ok_and(|line| self.pages.page(line) == self.pages.page(seen.line))
        });
        self.counts.other_page += others.len() as u64;
        on_page.into_iter().map(|line| line as u64).collect()
    }

    /// Records the outcome of a prefetch in the bank.
    pub fn on_prefetch(&mut self, line: u64, outcome: &Outcome) {
        match outcome {
            Outcome::Hit(_) => self.counts.present += 1,
            Outcome::HitPending => self.counts.in_flight += 1,
            Outcome::Miss { .. } => {
                self.counts.issued += 1;
                self.unused.insert(line);
            }
            Outcome::Refused => {}
        }
    }

    /// Records that the bank evicted a line.
    pub fn on_evict(&mut self, victim: &Victim) {
        self.counts.useless += u64::from(self.unused.remove(&victim.line));
    }

    /// Ends a kernel, and counts as useless all prefetched lines that no access has used.
    pub fn clear(&mut self) {
        self.counts.useless += self.unused.len() as u64;
        self.unused.clear();
        self.prefetcher.clear();
    }
}
