//! # Stride prefetching by instruction and warp
//! Keeps a history of the lines that each instruction loads in each warp, and derives strides from it (Chen
//! and Baer, IEEE Transactions on Computers 44(5), 1995; warps as in Lee et al., MICRO 2010). A table slot
//! holds the history of one pair of instruction and warp at a time. Only a repeated stride triggers
//! prefetches. Two features of the paper are not modeled: states that predict without a repeated stride, and
//! the lookahead program counter.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{CacheInfo, Prefetcher, Scheme, Seen};

/// Configuration of the stride prefetcher.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Number of slots in the table of histories.
    pub entries: u64,
    /// Number of times that a stride must repeat before prefetching starts.
    pub confidence: usize,
    /// Prefetch degree: number of lines to prefetch per trigger event.
    pub degree: i64,
}

#[typetag::deserialize(name = "stride")]
impl Scheme for Config {
    fn twin(&self, place: &CacheInfo) -> Option<Box<dyn Prefetcher>> {
        Some(Box::new(Histories { config: *self, page_lines: place.page_lines, slots: BTreeMap::new() }))
    }
}

/// Histories by table slot: an instruction and a warp, and the lines that they loaded, oldest first.
/// Immediate repeats of a line are not stored.
#[derive(Clone, Debug)]
struct Histories {
    config: Config,
    page_lines: i64,
    slots: BTreeMap<u64, ((u32, u8), Vec<i64>)>,
}

impl Histories {
    /// Returns the table slot for an instruction and a warp. Both are combined into one number; the slot is
    /// the XOR of the digits of this number in base `entries`.
    fn slot(&self, pc: u32, warp: u8) -> u64 {
        let mut number = u64::from(pc) * 64 + u64::from(warp);
        let mut slot = 0;
        while number > 0 {
            slot ^= number % self.config.entries;
            number /= self.config.entries;
        }
        slot
    }
}

impl Prefetcher for Histories {
    fn on_access(&mut self, seen: &Seen) -> Option<Vec<i64>> {
        if !seen.load.first {
            return None;
        }
        let who = (seen.load.pc, seen.load.warp);
        let slot = self.slot(who.0, who.1);
        let (owner, lines) = self.slots.entry(slot).or_insert_with(|| (who, Vec::new()));
        if *owner != who {
            *owner = who;
            lines.clear();
        }
        if lines.last() == Some(&seen.line()) {
            return None;
        }
        lines.push(seen.line());
        // A stride that repeats `confidence` times consists of `confidence + 1` equal distances between
        // `confidence + 2` lines.
        let needed = self.config.confidence + 2;
        lines.drain(..lines.len().saturating_sub(needed));
        let strides: Vec<i64> = lines.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let stride = *strides.last()?;
        let is_steady = strides.len() == needed - 1 && strides.iter().all(|other| *other == stride);
        let is_short = stride.abs() < self.page_lines;
        (is_steady && is_short).then(|| (1..=self.config.degree).map(|times| seen.line() + times * stride).collect())
    }

    fn clear(&mut self) {
        self.slots.clear();
    }
}
