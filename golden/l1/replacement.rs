//! # Replacement policies by lines
//! Which line makes room, for the policies that li2015 section 4.2 names for the data store. What a
//! policy remembers of a line goes by the line, and what it has learnt about its sources by
//! signature; a line's place in its set only breaks ties.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Which line makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The one used longest ago.
    Lru,
    /// Re-reference interval prediction, static.
    Srrip,
    /// The same, bimodal.
    Brrip,
    /// The better of the two.
    Drrip,
    /// Static, with lines judged by the instruction that loads them.
    ShipByPc {
        /// Bits of a signature.
        bits: u32,
    },
    /// Static, with lines judged by the 16 KB of memory that they lie in.
    ShipByRegion {
        /// Bits of a signature.
        bits: u32,
    },
}

/// A line that comes in.
#[derive(Clone, Copy, Debug)]
pub struct Newcomer {
    /// Line number.
    pub line: u64,
    /// Instruction that loads it.
    pub pc: u32,
    /// Its set.
    pub set: usize,
}

#[derive(Clone, Copy, Debug)]
struct Memory {
    place: usize,
    interval: u8,
    signature: u64,
    reused: bool,
}

/// The policy with all it remembers.
#[derive(Clone, Debug)]
pub struct Replacement {
    policy: Policy,
    sets: usize,
    lines: BTreeMap<u64, Memory>,
    bimodal: u64,
    /// Misses of static leaders less those of bimodal ones, from -512 to 511.
    balance: i32,
    /// Reuse less disuse of each signature, 1 if nothing is known.
    fates: BTreeMap<u64, i32>,
}

const FAR: u8 = 3;
const LONG: u8 = 2;

impl Replacement {
    /// A policy that knows nothing yet, for a cache of so many sets.
    pub fn new(policy: Policy, sets: usize) -> Self {
        Self { policy, sets, lines: BTreeMap::new(), bimodal: 0, balance: 0, fates: BTreeMap::new() }
    }

    /// The line that makes room, of those that may; they come with the one used longest ago first.
    pub fn victim(&self, oldest_first: impl Iterator<Item = u64>) -> Option<u64> {
        let mut lines = oldest_first;
        if self.policy == Policy::Lru {
            return lines.next();
        }
        lines.max_by_key(|line| self.lines.get(line).map(|memory| (memory.interval, Reverse(memory.place))))
    }

    /// A line was used.
    pub fn used(&mut self, line: u64) {
        if let Some(memory) = self.lines.get_mut(&line) {
            memory.interval = 0;
            memory.reused = true;
            let fate = self.fates.entry(memory.signature).or_insert(1);
            *fate = (*fate + 1).min(7);
        }
    }

    /// A line comes in, perhaps for another; `stay` are the other lines of its set, and whether
    /// they could have gone instead.
    pub fn came(&mut self, newcomer: Newcomer, victim: Option<u64>, stay: &[(u64, bool)]) {
        if self.policy == Policy::Lru {
            return;
        }
        let gone = victim.and_then(|victim| self.lines.remove(&victim));
        if let Some(gone) = gone {
            for (line, _) in stay.iter().filter(|(_, could)| *could) {
                if let Some(memory) = self.lines.get_mut(line) {
                    memory.interval += FAR - gone.interval;
                }
            }
            if !gone.reused {
                let fate = self.fates.entry(gone.signature).or_insert(1);
                *fate = (*fate - 1).max(0);
            }
        }
        let taken =
            |place: &usize| stay.iter().any(|(line, _)| self.lines.get(line).is_some_and(|m| m.place == *place));
        let place = gone.map_or_else(|| (0..).find(|place| !taken(place)).unwrap_or(0), |gone| gone.place);
        let signature = self.signature(newcomer);
        let interval = self.first_interval(newcomer.set, signature);
        self.lines.insert(newcomer.line, Memory { place, interval, signature, reused: false });
    }

    /// A line is gone without another in its place; nobody learns from it.
    pub fn left(&mut self, line: u64) {
        self.lines.remove(&line);
    }

    /// No line is left; what was learnt stays.
    pub fn forget_lines(&mut self) {
        self.lines.clear();
    }

    fn signature(&self, newcomer: Newcomer) -> u64 {
        let (value, bits) = match self.policy {
            Policy::ShipByPc { bits } => (u64::from(newcomer.pc), bits),
            Policy::ShipByRegion { bits } => (newcomer.line / 128, bits),
            _ => return 0,
        };
        let (mut folded, mut rest) = (0, value);
        while rest > 0 {
            folded ^= rest % (1 << bits);
            rest >>= bits;
        }
        folded
    }

    fn first_interval(&mut self, set: usize, signature: u64) -> u8 {
        match self.policy {
            Policy::Lru => 0,
            Policy::Srrip => LONG,
            Policy::Brrip => self.bimodal(),
            Policy::Drrip => {
                let turn = set % (self.sets / 2);
                if turn == 0 {
                    self.balance = (self.balance + 1).min(511);
                    LONG
                } else if turn == self.sets / 4 {
                    self.balance = (self.balance - 1).max(-512);
                    self.bimodal()
                } else if self.balance >= 0 {
                    self.bimodal()
                } else {
                    LONG
                }
            }
            Policy::ShipByPc { .. } | Policy::ShipByRegion { .. } => {
                if self.fates.get(&signature).is_some_and(|fate| *fate == 0) { FAR } else { LONG }
            }
        }
    }

    fn bimodal(&mut self) -> u8 {
        self.bimodal += 1;
        if self.bimodal.is_multiple_of(32) { LONG } else { FAR }
    }
}
