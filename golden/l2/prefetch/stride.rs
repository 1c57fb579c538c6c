//! # Stride prefetching by SM
//! Keeps the lines that each SM accessed last, and derives a stride from them (Chen and Baer, IEEE
//! Transactions on Computers 44(5), 1995, with SMs in the place of instructions). Only a repeated stride
//! triggers prefetches.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{BankInfo, Prefetcher, Scheme, Seen};

/// Configuration of the stride prefetcher.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Number of times that a stride must repeat before prefetching starts.
    pub confidence: usize,
    /// Prefetch degree: number of lines to prefetch per trigger event.
    pub degree: i64,
}

#[typetag::deserialize(name = "stride")]
impl Scheme for Config {
    fn twin(&self, place: &BankInfo) -> Option<Box<dyn Prefetcher>> {
        Some(Box::new(Histories { config: *self, page_lines: place.page_lines, lines: BTreeMap::new() }))
    }
}

/// Lines that each SM accessed, oldest first, without immediate repeats.
#[derive(Clone, Debug)]
struct Histories {
    config: Config,
    page_lines: i64,
    lines: BTreeMap<u8, Vec<i64>>,
}

impl Prefetcher for Histories {
    fn on_access(&mut self, seen: &Seen) -> Option<Vec<i64>> {
        let lines = self.lines.entry(seen.sm).or_default();
        let line = seen.line as i64;
        if seen.is_write || lines.last() == Some(&line) {
            return None;
        }
        lines.push(line);
        // If a stride has repeated `confidence` times, the last `confidence + 2` lines are equally far apart.
        lines.drain(..lines.len().saturating_sub(self.config.confidence + 2));
        let strides: Vec<i64> =
            lines.iter().rev().zip(lines.iter().rev().skip(1)).map(|(to, from)| to - from).collect();
        let stride = *strides.first()?;
        let repeats = strides.iter().skip(1).take_while(|other| **other == stride).count();
        let is_steady = repeats >= self.config.confidence && stride.abs() < self.page_lines;
        is_steady.then(|| (1..=self.config.degree).map(|times| line + times * stride).collect())
    }

    fn clear(&mut self) {
        self.lines.clear();
    }
}
