//! # Hawkeye
//! Learns which loads use lines that are worth keeping (Jain and Lin, ISCA 2016). To this end, it applies
//! Belady's optimal policy (OPT) to the past accesses of a few sampled sets. Each sampled set has a list of
//! the intervals during which OPT keeps a line. Such an interval begins with a use of the line and ends with
//! its next use.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::places::WayMap;
use super::ship::Signature;
use super::{InsertedLine, Replacement, Scheme};

/// Prediction value of a line that was predicted to be cache-averse at its last use.
const AVERSE: u8 = 7;

/// Configuration of the Hawkeye replacement policy.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    signature: Signature,
    bits: u32,
    sampled_sets: usize,
    history: u64,
    tag_bits: u32,
}

#[typetag::deserialize(name = "hawkeye")]
impl Scheme for Keys {
    fn twin(&self, sets: usize, ways: usize) -> Box<dyn Replacement> {
        Box::new(Hawkeye {
            keys: *self,
            sets,
            ways,
            scores: BTreeMap::new(),
            samples: BTreeMap::new(),
            lines: BTreeMap::new(),
            places: WayMap::default(),
        })
    }
}

/// Use of a line: its time, counted in accesses to the set, and its signature.
#[derive(Clone, Copy, Debug)]
struct Use {
    time: u64,
    signature: u64,
}

/// History of the accesses to a sampled set.
#[derive(Clone, Debug, Default)]
struct Past {
    now: u64,
    /// Last use of each line, by partial tag.
    uses: BTreeMap<u64, Use>,
    /// Intervals during which OPT (Belady's optimal policy) keeps a line: start (inclusive) and end
    /// (exclusive), counted in accesses to the set.
    kept: Vec<(u64, u64)>,
}

impl Past {
    /// Records an access to a line. If the line was used within the last `span` accesses, returns the
    /// signature of that use, and whether OPT keeps the line in a set of `ways` ways.
    fn access(&mut self, tag: u64, signature: u64, (span, ways): (u64, usize)) -> Option<(u64, bool)> {
        let now = self.now;
        self.now += 1;
        let last = self.uses.insert(tag, Use { time: now, signature });
        let last = last.filter(|last| now - last.time <= span)?;
        self.kept.retain(|(_, end)| *end + span > now);
        // The number of lines that OPT keeps rises only where an interval begins, so only these times are
        // checked.
        let begins = self.kept.iter().map(|(begin, _)| *begin).filter(|begin| (last.time..now).contains(begin));
        let crowd = |time: u64| self.kept.iter().filter(|(begin, end)| (*begin..*end).contains(&time)).count();
        let is_kept = begins.chain([last.time]).all(|time| crowd(time) < ways);
        if is_kept {
            self.kept.push((last.time, now));
        }
        Some((last.signature, is_kept))
    }
}

/// Line in the cache: its set, its prediction value, and the signature of its last use.
#[derive(Clone, Copy, Debug)]
struct Held {
    set: usize,
    value: u8,
    signature: u64,
}

/// Reference model of Hawkeye.
#[derive(Clone, Debug)]
struct Hawkeye {
    keys: Keys,
    sets: usize,
    ways: usize,
    /// Score of each signature, from 0 to 7, initially 4. Lines whose signature has a score of 4 or more are
    /// cache-friendly.
    scores: BTreeMap<u64, i32>,
    samples: BTreeMap<usize, Past>,
    lines: BTreeMap<u64, Held>,
    places: WayMap,
}

impl Hawkeye {
    fn is_sampled(&self, set: usize) -> bool {
        set.is_multiple_of(self.sets / self.keys.sampled_sets)
    }

    fn add(&mut self, signature: u64, is_kept: bool) {
        let score = self.scores.entry(signature).or_insert(4);
        *score = (*score + if is_kept { 1 } else { -1 }).clamp(0, 7);
    }

    /// Learns from a use of a line, and records this use. `evicted` is the line that the cache evicts to make
    /// room. Returns true if the used line is predicted to be cache-friendly.
    fn learn(&mut self, line: u64, pc: u32, set: usize, evicted: Option<Held>) -> bool {
        let signature = match self.keys.signature {
            Signature::Pc => folded(u64::from(pc), self.keys.bits),
            Signature::Region => folded(line / 128, self.keys.bits),
        };
        if self.is_sampled(set) {
            let tag = folded(line / self.sets as u64, self.keys.tag_bits);
            let span = self.keys.history * self.ways as u64;
            let reuse = self.samples.entry(set).or_default().access(tag, signature, (span, self.ways));
            if let Some((last, is_kept)) = reuse {
                self.add(last, is_kept);
            }
            if let Some(evicted) = evicted.filter(|evicted| evicted.value < AVERSE) {
                self.add(evicted.signature, false);
            }
        }
        let is_friendly = self.scores.get(&signature).is_none_or(|score| *score >= 4);
        self.lines.insert(line, Held { set, value: if is_friendly { 0 } else { AVERSE }, signature });
        is_friendly
    }
}

impl Replacement for Hawkeye {
    fn victim(&self, lines: &mut dyn Iterator<Item = u64>) -> Option<u64> {
        lines.max_by_key(|line| self.lines.get(line).map(|held| (held.value, Reverse(self.places.of(*line)))))
    }

    fn on_hit(&mut self, line: u64, pc: u32) {
        if let Some(held) = self.lines.get(&line) {
            self.learn(line, pc, held.set, None);
        }
    }

    fn on_insert(&mut self, inserted: InsertedLine, victim: Option<u64>, stay: &[(u64, bool)]) {
        let InsertedLine { line, pc, set, first_way } = inserted;
        let evicted = victim.and_then(|victim| self.lines.remove(&victim));
        self.places.on_insert((line, first_way), victim, stay);
        if self.learn(line, pc, set, evicted) {
            for (other, _) in stay {
                if let Some(held) = self.lines.get_mut(other).filter(|held| held.value < AVERSE) {
                    held.value = (held.value + 1).min(AVERSE - 1);
                }
            }
        }
    }

    fn on_invalidate(&mut self, line: u64) {
        self.lines.remove(&line);
        self.places.on_invalidate(line);
    }

    fn forget_lines(&mut self) {
        self.lines.clear();
        self.places.clear();
    }
}

/// XOR-folds a value to `bits` bits.
fn folded(value: u64, bits: u32) -> u64 {
    let (mut sum, mut rest) = (0, value);
    while rest > 0 {
        sum ^= rest % (1 << bits);
        rest >>= bits;
    }
    sum
}
