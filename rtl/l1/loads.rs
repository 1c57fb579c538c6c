//! What each load instruction of a kernel found in the caches of the LSU: statistics, no hardware.

use super::watch::Outcome;
use crate::kernel::Counted;

/// Classes of latencies.
pub const LOAD_LATENCIES: usize = 12;

/// The class of so many cycles.
pub(super) fn class_of(cycles: u64) -> usize {
    let class = ((cycles / 8) | 1).ilog2() as usize;
    class.min(LOAD_LATENCIES - 1)
}

/// Line requests of one instruction, and the answers to its warps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, Counted)]
pub struct LoadStats {
    /// All that were accepted.
    pub accesses: u64,
    /// Those that found their line.
    pub hits: u64,
    /// Those that joined a line in flight.
    pub hit_pending: u64,
    /// Those that asked memory.
    pub misses: u64,
    /// Those on the bypass path.
    pub bypasses: u64,
    /// Loads of a warp that were answered, those of 16 bytes a lane beat by beat.
    pub answers: u64,
    /// Cycles from their coming to the LSU to the last byte, summed over all answers.
    #[counted(cycles)]
    pub latency: u64,
    /// Answers by their latency: below 16, 32, 64 and so on to below 16,384 cycles, and longer.
    pub latencies: [u64; LOAD_LATENCIES],
}

impl LoadStats {
    /// Counts what became of a load at the tags; a refused one comes again.
    pub(super) fn count(&mut self, outcome: Outcome) {
        let of_outcome = match outcome {
            Outcome::Hit => &mut self.hits,
            Outcome::HitPending => &mut self.hit_pending,
            Outcome::Miss(_) => &mut self.misses,
            _ => return,
        };
        *of_outcome += 1;
        self.accesses += 1;
    }

    /// Counts a load that left on the bypass path.
    pub(super) fn count_bypass(&mut self) {
        self.bypasses += 1;
        self.accesses += 1;
    }

    /// Counts an answer that took so many cycles.
    pub(super) fn count_answer(&mut self, cycles: u64) {
        self.answers += 1;
        self.latency += cycles;
        self.latencies[class_of(cycles)] += 1;
    }
}
