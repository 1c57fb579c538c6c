//! # Stride prefetching by instruction and warp
//! Keeps the history of the lines of each instruction and warp, and derives strides from it (Chen and Baer,
//! IEEE Transactions on Computers 44(5), 1995; warps as in Lee et al., MICRO 2010). A slot of the table holds
//! the history of one instruction and warp at a time. Only a repeated stride triggers prefetches. The states
//! in which the paper predicts without a repeat are left out, and so is the paper's lookahead program
//! counter.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{CacheInfo, Prefetcher, Scheme, Seen};

/// Configuration of the prefetcher.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Number of slots of the table.
    pub entries: u64,
    /// Number of times that a stride must repeat before the first prefetch.
    pub confidence: usize,
    /// Number of lines per prefetch.
    pub degree: i64,
}

#[typetag::deserialize(name = "stride")]
impl Scheme for Config {
    fn twin(&self, place: &CacheInfo) -> Option<Box<dyn Prefetcher>> {
        Some(Box::new(Histories { config: *self, page_lines: place.page_lines, slots: BTreeMap::new() }))
    }
}

/// Histories by slot: instruction and warp, and their lines without immediate repeats, oldest first.
#[derive(Clone, Debug)]
struct Histories {
    config: Config,
    page_lines: i64,
    slots: BTreeMap<u64, ((u32, u8), Vec<i64>)>,
}

impl Histories {
    /// Returns the slot of an instruction and warp: the digits of their number to the base `entries`, added
    /// without carry.
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
        // A history of n lines has n - 1 distances: the stride and its repeats.
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
