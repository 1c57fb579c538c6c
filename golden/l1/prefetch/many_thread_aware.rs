//! # Many-thread-aware prefetching
//! Follows Lee et al. (MICRO 2010). Predicts strides per warp, and promotes a stride to all warps once three
//! warps agree on it. Also predicts strides between warps. The tables are maps. At any time, a table slot
//! holds the history of one instruction, or of one pair of instruction and warp. The prefetch cache and the
//! adaptive throttling of the paper are not modeled.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{CacheInfo, Prefetcher, Scheme, Seen};

/// Configuration of the many-thread-aware prefetcher.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Number of slots in the table that is indexed by instruction and warp.
    pub warp_entries: u64,
    /// Number of slots in each table that is indexed by the instruction alone.
    pub pc_entries: u64,
    /// Prefetch degree: number of lines to prefetch per trigger event.
    pub degree: i64,
}

#[typetag::deserialize(name = "many-thread-aware")]
impl Scheme for Config {
    fn twin(&self, place: &CacheInfo) -> Option<Box<dyn Prefetcher>> {
        Some(Box::new(Tables {
            config: *self,
            page_lines: place.page_lines,
            warps: BTreeMap::new(),
            votes: BTreeMap::new(),
            neighbors: BTreeMap::new(),
        }))
    }
}

#[derive(Clone, Debug)]
struct Tables {
    config: Config,
    page_lines: i64,
    /// For each table slot: an instruction and a warp, and the last four lines that they loaded. Immediate
    /// repeats of a line are not stored.
    warps: BTreeMap<u64, ((u32, u8), Vec<i64>)>,
    /// For each table slot: an instruction, its stride in lines, and the number of times that a warp has
    /// found this stride.
    votes: BTreeMap<u64, (u32, i64, usize)>,
    /// For each table slot: history of the loads of one instruction by successive warps.
    neighbors: BTreeMap<u64, Neighbors>,
}

/// Loads of one instruction by successive warps, from which the stride between warps is predicted.
#[derive(Clone, Debug)]
struct Neighbors {
    pc: u32,
    last_warp: u8,
    last_line: i64,
    /// Up to three most recent distances between the loads of neighboring warps, in lines. A distance of a
    /// page or more is stored as 0.
    distances: Vec<i64>,
}

/// Returns the table slot for `number`: the XOR of the digits of `number` in base `base`.
fn slot(mut number: u64, base: u64) -> u64 {
    let mut slot = 0;
    while number > 0 {
        slot ^= number % base;
        number /= base;
    }
    slot
}

impl Tables {
    /// Returns the distance between two lines in lines, or 0 if it is a page or more.
    fn distance(&self, from: i64, to: i64) -> i64 {
        if (to - from).abs() < self.page_lines { to - from } else { 0 }
    }

    /// Records a load and returns the stride between warps, in lines. `None` unless the last three distances
    /// between neighboring warps are equal and not 0.
    fn between(&mut self, pc: u32, warp: u8, line: i64) -> Option<i64> {
        let slot = slot(pc.into(), self.config.pc_entries);
        let known = self.neighbors.get(&slot).filter(|known| known.pc == pc).cloned();
        let mut distances = Vec::new();
        if let Some(known) = known {
            distances = known.distances;
            if warp == known.last_warp + 1 {
                distances.push(self.distance(known.last_line, line));
            }
        }
        distances.drain(..distances.len().saturating_sub(3));
        let stride = match distances[..] {
            [one, two, three] if one == two && two == three && one != 0 => Some(one),
            _ => None,
        };
        self.neighbors.insert(slot, Neighbors { pc, last_warp: warp, last_line: line, distances });
        stride
    }

    /// Records a load. Returns `(stride, is_new)` if the last two distances between lines are equal and not
    /// 0, and otherwise `None`. `stride` is that distance, in lines, within the warp. `is_new` is true if the
    /// distance before these two differs from them or is unknown.
    fn within(&mut self, pc: u32, warp: u8, line: i64) -> Option<(i64, bool)> {
        let slot = slot(u64::from(pc) * 64 + u64::from(warp), self.config.warp_entries);
        let (owner, lines) = self.warps.entry(slot).or_insert_with(|| ((pc, warp), Vec::new()));
        if *owner != (pc, warp) {
            *owner = (pc, warp);
            lines.clear();
        }
        if lines.last() == Some(&line) {
            return None;
        }
        lines.push(line);
        lines.drain(..lines.len().saturating_sub(4));
        let lines = lines.clone();
        let distances: Vec<_> = lines.windows(2).map(|pair| self.distance(pair[0], pair[1])).collect();
        match distances[..] {
            [.., one, two, three] if two == three && three != 0 => Some((three, one != two)),
            [two, three] if two == three && three != 0 => Some((three, true)),
            _ => None,
        }
    }
}

impl Prefetcher for Tables {
    fn on_access(&mut self, seen: &Seen) -> Option<Vec<i64>> {
        if !seen.load.first {
            return None;
        }
        let (pc, warp, line) = (seen.load.pc, seen.load.warp, seen.line());
        let between = self.between(pc, warp, line);
        let slot = slot(pc.into(), self.config.pc_entries);
        let (owner, promoted, votes) = self.votes.get(&slot).copied().unwrap_or_default();
        let stride = if owner == pc && votes >= 3 {
            promoted
        } else {
            let within = self.within(pc, warp, line);
            if let Some((stride, true)) = within {
                let agrees = (owner, promoted) == (pc, stride) && votes > 0;
                self.votes.insert(slot, (pc, stride, if agrees { votes + 1 } else { 1 }));
            }
            between.or(within.map(|(stride, _)| stride))?
        };
        Some((1..=self.config.degree).map(|times| line + times * stride).collect())
    }

    fn clear(&mut self) {
        self.warps.clear();
        self.votes.clear();
        self.neighbors.clear();
    }
}
