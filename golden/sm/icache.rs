//! Reference model of the instruction cache. Tracks the lines present, the lines in flight, and the warps
//! that wait for them.
//!
//! A set is a list of lines from least to most recently used. Events are given in the order in which they
//! occur; within a cycle, a fill precedes the fetch of a warp. The model has no notion of time and does not
//! arbitrate between warps.

use std::collections::{BTreeMap, BTreeSet};

use crate::index::SetIndex;

/// Geometry of the instruction cache.
#[derive(Clone, Debug)]
pub struct Config {
    /// Index function, which maps a line to its set.
    pub index: SetIndex,
    /// Number of ways per set.
    pub ways: usize,
    /// Maximum number of lines in flight.
    pub entries: usize,
    /// Size of a cache line in bytes.
    pub line_bytes: u64,
    /// Number of bits of a line number. Higher bits of the address are ignored.
    pub line_bits: u32,
}

/// Outcome of an instruction fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchResult {
    /// Hit: the line is present.
    Hit,
    /// Pending hit: the line is already in flight, and the warp waits for it.
    Pending,
    /// Miss: the cache requests the line, and the warp waits for it.
    Miss,
    /// Reservation fail: the line is absent, and the maximum number of lines is already in flight.
    Refused,
    /// The line for which the warp waited has arrived, and the warp receives its instruction.
    Served,
}

/// State of the instruction cache.
#[derive(Clone, Debug)]
pub struct Icache {
    config: Config,
    /// Lines of each set, from least to most recently used.
    sets: BTreeMap<usize, Vec<u64>>,
    /// For each line in flight, the warps that wait for it.
    waiting: BTreeMap<u64, BTreeSet<u8>>,
    /// Line that was filled last; `None` once all warps that waited for it have received their instruction.
    arrived: Option<u64>,
}

impl Icache {
    /// Creates an empty instruction cache.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, sets: BTreeMap::new(), waiting: BTreeMap::new(), arrived: None }
    }

    /// Returns the number of the cache line that contains an address.
    #[must_use]
    pub fn line_of(&self, address: u64) -> u64 {
        (address / self.config.line_bytes) % (1 << self.config.line_bits)
    }

    fn set_of(&self, line: u64) -> usize {
        self.config.index.set_of_line(line)
    }

    /// Fetches the instruction at an address for a warp.
    ///
    /// # Errors
    /// Returns the reason if a correct cache would not serve this warp now, for example because the warp
    /// waits for a line that is still in flight.
    pub fn fetch(&mut self, warp: u8, address: u64) -> Result<FetchResult, String> {
        let line = self.line_of(address);
        if let Some(arrived) = self.arrived {
            return self.serve(warp, line, arrived);
        }
        if let Some((other, _)) = self.waiting.iter().find(|(_, warps)| warps.contains(&warp)) {
            return Err(format!("warp {warp} is looked up, but waits for line {other:#x}"));
        }
        let uses = self.sets.entry(self.set_of(line)).or_default();
        if let Some(place) = uses.iter().position(|&other| other == line) {
            uses.remove(place);
            uses.push(line);
            return Ok(FetchResult::Hit);
        }
        let is_full = self.waiting.len() >= self.config.entries;
        match self.waiting.get_mut(&line) {
            Some(warps) => {
                warps.insert(warp);
                Ok(FetchResult::Pending)
            }
            None if is_full => Ok(FetchResult::Refused),
            None => {
                self.waiting.insert(line, BTreeSet::from([warp]));
                Ok(FetchResult::Miss)
            }
        }
    }

    fn serve(&mut self, warp: u8, line: u64, arrived: u64) -> Result<FetchResult, String> {
        let warps = self.waiting.get_mut(&arrived).filter(|_| line == arrived);
        if !warps.is_some_and(|warps| warps.remove(&warp)) {
            return Err(format!(
                "warp {warp} fetches from line {line:#x}, but others wait to be served from line {arrived:#x}"
            ));
        }
        if self.waiting.get(&arrived).is_some_and(BTreeSet::is_empty) {
            self.waiting.remove(&arrived);
            self.arrived = None;
        }
        Ok(FetchResult::Served)
    }

    /// Fills a line, and returns the line that it evicts, if any.
    ///
    /// # Errors
    /// Returns the reason if warps still wait to be served from the previously filled line, or if no warp
    /// waits for this line.
    pub fn fill(&mut self, line: u64) -> Result<Option<u64>, String> {
        if let Some(arrived) = self.arrived {
            return Err(format!("line {line:#x} is filled while warps wait to be served from line {arrived:#x}"));
        }
        if !self.waiting.contains_key(&line) {
            return Err(format!("fill of line {line:#x} without a waiter"));
        }
        self.arrived = Some(line);
        let ways = self.config.ways;
        let uses = self.sets.entry(self.set_of(line)).or_default();
        let evicted = (uses.len() == ways).then(|| uses.remove(0));
        uses.push(line);
        Ok(evicted)
    }

    /// True if no warp waits for a line, as required at the end of a kernel.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// Returns the instruction word at an address, which is rounded down to a multiple of 4 bytes. PTX and traces
/// have no binary encoding. The upper 24 bits of the word are therefore a hash of the address, and the lower
/// 8 bits are 0.
#[must_use]
pub fn word(address: u64) -> u32 {
    let number = address >> 2;
    let seed = (number & 0xffff_ffff) ^ (number >> 32 << 16);
    let shifts: [fn(u64) -> u64; 3] = [|bits| bits << 13, |bits| bits >> 17, |bits| bits << 5];
    let mixed = shifts.iter().fold(seed & 0xffff_ffff, |bits, shift| (bits ^ shift(bits)) & 0xffff_ffff);
    (mixed & 0xffff_ff00) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Function;

    fn cache(ways: usize, entries: usize) -> Icache {
        let index = SetIndex::new(Function::Linear { bits: 1 }, 7, 32).unwrap();
        Icache::new(Config { index, ways, entries, line_bytes: 128, line_bits: 25 })
    }

    #[test]
    fn warps_wait_for_a_line_and_are_served_before_anything_else() {
        let mut cache = cache(1, 2);
        assert_eq!(cache.fetch(3, 0x100), Ok(FetchResult::Miss));
        assert_eq!(cache.fetch(5, 0x17f), Ok(FetchResult::Pending));
        assert_eq!(cache.fetch(6, 0x180), Ok(FetchResult::Miss));
        assert_eq!(cache.fetch(7, 0x200), Ok(FetchResult::Refused));
        assert_eq!(cache.fill(2), Ok(None));
        assert!(cache.fetch(7, 0x100).is_err() && cache.fill(3).is_err());
        assert_eq!(cache.fetch(5, 0x100), Ok(FetchResult::Served));
        assert_eq!(cache.fetch(3, 0x100), Ok(FetchResult::Served));
        assert_eq!(cache.fetch(7, 0x100), Ok(FetchResult::Hit));
        assert!(!cache.is_idle() && cache.fetch(6, 0x100).is_err() && cache.fill(2).is_err());
    }

    #[test]
    fn the_line_used_least_recently_gives_way() {
        let mut cache = cache(2, 1);
        let mut bring = |line: u64| {
            assert_eq!(cache.fetch(0, line * 128), Ok(FetchResult::Miss));
            let evicted = cache.fill(line);
            assert_eq!(cache.fetch(0, line * 128), Ok(FetchResult::Served));
            if line == 4 {
                assert_eq!(cache.fetch(0, 2 * 128), Ok(FetchResult::Hit));
            }
            evicted
        };
        assert_eq!([2, 4, 6, 2 + 1].map(&mut bring), [Ok(None), Ok(None), Ok(Some(4)), Ok(None)]);
    }

    #[test]
    fn words_differ_from_their_neighbours_and_say_so_in_24_bits() {
        let words: BTreeSet<u32> = (0..64).map(|at| word(0x7000_0000_0000 + 4 * at)).collect();
        assert_eq!(words.len(), 64);
        assert!(words.iter().all(|word| word & 0xff == 0));
        assert_eq!(word(0x1003), word(0x1000));
    }
}
