//! # Lockstep check of the instruction cache against its golden model
//! For each clock edge, the clocked cache reports at most one fill, followed by at most one fetch. These
//! events are replayed in the golden model, and the outcomes are compared. A fill must evict the same line in
//! the cache and in the golden model. Filled and fetched data must be the instruction bytes at their
//! addresses.

use golden::sm::icache::{Config, FetchResult, Icache, word};
use rtl::cells::line::LINE_BYTES;
use rtl::sm::{FetchOutcome, FetchWatch, InstructionCacheConfig, WatchedFetch};

use super::l1::set_index;

/// Size of an instruction word in bytes.
const WORD: usize = 4;

/// Golden model of one instruction cache, which replays the events of the clocked cache.
#[derive(Debug)]
pub struct FetchLockstep {
    path: String,
    twin: Icache,
    line_bytes: u32,
}

impl FetchLockstep {
    /// Creates an empty golden model of the instruction cache at `path`. Lines have `line_bytes` bytes, and
    /// addresses have `addr_bits` bits.
    ///
    /// # Errors
    /// Fails if the set-index function has no golden model or does not fit the cache geometry.
    pub fn new(path: &str, icache: &InstructionCacheConfig, line_bytes: u32, addr_bits: u32) -> Result<Self, String> {
        let index = set_index(&icache.index, icache.sets, line_bytes).map_err(|e| format!("sm.icache.index: {e}"))?;
        let twin = Icache::new(Config {
            index,
            ways: icache.ways as usize,
            entries: icache.mshr_entries as usize,
            line_bytes: line_bytes.into(),
            line_bits: addr_bits - line_bytes.ilog2(),
        });
        Ok(Self { path: path.to_owned(), twin, line_bytes })
    }

    /// Checks the events of the instruction cache after the edge of `cycle`.
    ///
    /// # Errors
    /// Fails at the first event with different outcomes in the cache and in the golden model.
    pub fn step(&mut self, cycle: u64, seen: &FetchWatch) -> Result<(), String> {
        let FetchWatch { fill, fetch } = seen;
        let filled = fill.as_ref().map_or(Ok(()), |(line, evicted, data)| self.fill(*line, *evicted, data));
        let followed = filled.and_then(|()| fetch.as_ref().map_or(Ok(()), |fetch| self.fetch(fetch)));
        followed.map_err(|text| format!("cycle {cycle}, {}: {text}", self.path))
    }

    /// Checks that no fetch is pending at the end of a kernel.
    ///
    /// # Errors
    /// Fails if a warp still waits for an instruction cache line.
    pub fn end(&self) -> Result<(), String> {
        if self.twin.is_idle() { Ok(()) } else { Err(format!("{}: warps wait for instructions", self.path)) }
    }

    fn fill(&mut self, line: u64, evicted: Option<u64>, data: &[u8; LINE_BYTES]) -> Result<(), String> {
        let expected = self.twin.fill(line)?;
        if evicted != expected {
            return Err(format!("the fill of line {line:#x} evicts {evicted:x?}, the twin has {expected:x?}"));
        }
        let first = line * u64::from(self.line_bytes);
        let (words, _) = data[..self.line_bytes as usize].as_chunks::<WORD>();
        let wrong = (first..).step_by(WORD).zip(words).find(|(at, bytes)| u32::from_le_bytes(**bytes) != word(*at));
        wrong.map_or(Ok(()), |(at, _)| Err(format!("the fill of line {line:#x} has wrong bytes at {at:#x}")))
    }

    fn fetch(&mut self, &WatchedFetch { warp, address, outcome, word: found }: &WatchedFetch) -> Result<(), String> {
        let expected = match self.twin.fetch(warp, address)? {
            FetchResult::Hit => FetchOutcome::Hit,
            FetchResult::Pending => FetchOutcome::HitPending,
            FetchResult::Miss => FetchOutcome::Miss,
            FetchResult::Refused => FetchOutcome::Refused,
            FetchResult::Served => FetchOutcome::Served,
        };
        let brings = matches!(expected, FetchOutcome::Hit | FetchOutcome::Served).then(|| {
            // Addresses beyond the machine's address range wrap around, so that the range is followed by
            // address 0.
            let (line, offset) = (self.twin.line_of(address), address % u64::from(self.line_bytes));
            word(line * u64::from(self.line_bytes) + offset)
        });
        if (outcome, found) != (expected, brings) {
            return Err(format!(
                "warp {warp} fetches {address:#x}: {outcome:?} {found:x?}, the twin has {expected:?} {brings:x?}"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(events: &[FetchWatch]) -> Result<(), String> {
        let mut lockstep = FetchLockstep::new("sm0.core.icache", &InstructionCacheConfig::default(), 128, 32)?;
        (1..).zip(events).try_for_each(|(cycle, seen)| lockstep.step(cycle, seen)).and_then(|()| lockstep.end())
    }

    fn fetch(outcome: FetchOutcome, word: Option<u32>) -> FetchWatch {
        FetchWatch { fill: None, fetch: Some(WatchedFetch { warp: 3, address: 0x1008, outcome, word }) }
    }

    fn fill(evicted: Option<u64>, change: u8) -> FetchWatch {
        let mut data: [u8; LINE_BYTES] = std::array::from_fn(|at| word(0x1000 + at as u64).to_le_bytes()[at % WORD]);
        data[77] ^= change;
        let served = fetch(FetchOutcome::Served, Some(word(0x1008)));
        FetchWatch { fill: Some((0x20, evicted, data)), ..served }
    }

    #[test]
    fn what_the_cache_should_have_done_passes() {
        let hit = fetch(FetchOutcome::Hit, Some(word(0x1008)));
        assert_eq!(follow(&[fetch(FetchOutcome::Miss, None), fill(None, 0), hit]), Ok(()));
    }

    #[test]
    fn a_wrong_outcome_victim_or_byte_is_named() {
        let errors = [
            vec![fetch(FetchOutcome::Hit, Some(0))],
            vec![fetch(FetchOutcome::Miss, None), fill(Some(7), 0)],
            vec![fetch(FetchOutcome::Miss, None), fill(None, 1)],
            vec![fetch(FetchOutcome::Miss, None), fill(None, 0), fetch(FetchOutcome::Hit, Some(1))],
            vec![fetch(FetchOutcome::Miss, None)],
        ];
        let errors = errors.map(|events| follow(&events).unwrap_err());
        assert_eq!(
            errors,
            [
                "cycle 1, sm0.core.icache: warp 3 fetches 0x1008: Hit Some(0), the twin has Miss None",
                "cycle 2, sm0.core.icache: the fill of line 0x20 evicts Some(7), the twin has None",
                "cycle 2, sm0.core.icache: the fill of line 0x20 has wrong bytes at 0x104c",
                &format!(
                    "cycle 3, sm0.core.icache: warp 3 fetches 0x1008: Hit Some(1), the twin has Hit Some({:x})",
                    word(0x1008)
                ),
                "sm0.core.icache: warps wait for instructions",
            ]
        );
    }
}
