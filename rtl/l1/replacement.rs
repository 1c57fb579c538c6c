//! # Replacement policy of a cache of the LSU
//! Which line of a set makes room: LRU (li2015 section 2.2), or one of the policies that li2015
//! section 4.2 names for the data store: static, bimodal and dynamic re-reference interval
//! prediction, and signature-based prediction on top of the static one.
//!
//! Every policy keeps a rank a line and gives up the line of the highest rank, of equals the one in
//! the lowest way. They differ in what becomes of the ranks; re-reference ranks are two bits wide:
//!
//! | policy  | a use sets           | a new line starts at                                          |
//! |---------|----------------------|---------------------------------------------------------------|
//! | `lru`   | rank 0, others move  | 0, others move                                                |
//! | `srrip` | 0                    | 2                                                             |
//! | `brrip` | 0                    | 3, every 32nd 2                                               |
//! | `drrip` | 0                    | as the better of the two, found out in sets that lead         |
//! | `ship`  | 0, trains its source | 3 if nothing from its source was used lately, otherwise 2     |
//!
//! Before a line gives way, the lines that might have gone instead rise as far as it had left to the
//! top; lines on their way neither go nor rise. A refused access changes nothing. What `drrip` and
//! `ship` have learnt outlives a kernel, for it belongs to no line.
//!
//! | port     | dir | payload           | contract                                                 |
//! |----------|-----|-------------------|----------------------------------------------------------|
//! | `touch`  | in  | set, way          | an accepted access used the line                         |
//! | `start`  | in  | set, way, source  | an accepted miss takes the way; gives the line's rank    |
//! | `insert` | in  | ranks of the set  | makes room in the order and puts the line there          |
//!
//! Part of `rtl/l1/cache.rs`.
//! Bench: its own tests and `tb/l1/streams.rs`.

use serde::{Deserialize, Serialize};

use crate::config::Rules;
use crate::kernel::{
    Array, ArraySpec, Collide, Describe, DescribeExt, Edge, Fields, FieldsExt, Logic, Payload, Storage,
};

/// Which line makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ReplacementConfig {
    /// The one used longest ago.
    Lru,
    /// Static re-reference interval prediction.
    Srrip,
    /// Bimodal re-reference interval prediction.
    Brrip,
    /// The better of the two.
    Drrip,
    /// Static, with new lines ranked by how lines from the same source fared.
    Ship {
        /// What tells sources apart.
        signature: Signature,
        /// Bits of a signature: so many counters, two to its power, of three bits.
        bits: u32,
    },
}

/// What tells the sources of lines apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signature {
    /// The load instruction.
    Pc,
    /// The 16 KB of memory that the line lies in.
    Region,
}

impl ReplacementConfig {
    /// Checks the policy against the cache that it serves.
    pub fn validate(&self, sets: u32, rules: &mut Rules) {
        match self {
            Self::Lru | Self::Srrip | Self::Brrip => {}
            Self::Drrip => rules.expect(
                sets >= 8,
                "kind",
                format!("drrip with {sets} sets"),
                "8 sets or more",
                "two sets lead for each of the two policies, and others follow",
            ),
            Self::Ship { signature: _, bits } => {
                rules.range("bits", u64::from(*bits), 1..=16, "each signature has a counter");
            }
        }
    }

    /// What a rank looks like in a set of `ways`.
    #[must_use]
    pub fn rank(&self, ways: u32) -> RankShape {
        match self {
            Self::Lru => RankShape { name: "lru", bits: ways.next_power_of_two().ilog2() },
            Self::Srrip | Self::Brrip | Self::Drrip | Self::Ship { .. } => RankShape { name: "rrpv", bits: 2 },
        }
    }
}

/// Name and width of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankShape {
    /// What it counts: uses of other lines since, or a predicted interval.
    pub name: &'static str,
    /// Bits, none if a set has a single line.
    pub bits: u32,
}

impl RankShape {
    /// Gives the rank to a reader of fields.
    pub fn field<F: Fields + ?Sized>(self, rank: u8, to: &mut F) {
        if self.bits > 0 {
            to.sized(self.name, u64::from(rank), self.bits);
        }
    }
}

/// What stands for a line in a set.
pub trait Ranked {
    /// Its rank.
    fn rank(&mut self) -> &mut u8;
}

/// Where a new line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Line address.
    pub line: u64,
    /// Program counter of the load.
    pub pc: u32,
}

/// Highest re-reference rank: used again, if at all, in the distant future.
const DISTANT: u8 = 3;
/// Where static prediction lets a line start.
const LONG: u8 = 2;
/// Bimodal insertions of which one starts at `LONG`.
const BIMODAL: u8 = 32;
const BIMODAL_BITS: u32 = 5;
const CHOICE_BITS: u32 = 10;
const CHOICE_MAX: u16 = (1 << CHOICE_BITS) - 1;
/// From here on the bimodal policy has missed less.
const CHOICE_MIDDLE: u16 = 1 << (CHOICE_BITS - 1);
const REGION_LINES_LOG2: u32 = 7;

/// The policy and what it has learnt.
#[derive(Clone, Debug)]
pub struct Replacement {
    config: ReplacementConfig,
    sets: u32,
    /// Bimodal insertions, modulo 32.
    bimodal: u8,
    /// Misses in sets that lead for static prediction, less those in sets that lead for bimodal.
    choice: u16,
    ship: Option<Box<Ship>>,
}

impl Replacement {
    /// The policy of a cache at `path` that has learnt nothing.
    #[must_use]
    pub fn new(config: ReplacementConfig, path: &str, sets: u32, ways: u32) -> Self {
        let ship = match config {
            ReplacementConfig::Ship { signature, bits } => Some(Box::new(Ship::new(path, signature, bits, sets, ways))),
            _ => None,
        };
        Self { config, sets, bimodal: 0, choice: CHOICE_MIDDLE, ship }
    }

    /// Rank of a way that holds nothing: any order will do.
    #[must_use]
    pub fn reset(&self, way: u32) -> u8 {
        if self.config == ReplacementConfig::Lru { way as u8 } else { DISTANT }
    }

    /// Ranks a line that was used.
    #[inline]
    pub fn touch<T: Ranked>(&self, row: &mut [T], way: usize) {
        if self.config == ReplacementConfig::Lru {
            promote(row, way);
        } else {
            *row[way].rank() = 0;
        }
    }

    /// Learns that a line was used.
    #[inline]
    pub fn learn(&mut self, at: &Edge<'_>, set: u32, way: u32) {
        if let Some(ship) = &mut self.ship {
            ship.used(at, set, way);
        }
    }

    /// Rank of a new line, which takes a way from another if `evicts`; `None` for the front of an order of uses.
    #[inline]
    pub fn start(&mut self, at: &Edge<'_>, place: (u32, u32), evicts: bool, source: Source) -> Option<u8> {
        (self.config != ReplacementConfig::Lru).then(|| self.predict(at, place, evicts, source))
    }

    #[inline(never)]
    fn predict(&mut self, at: &Edge<'_>, (set, way): (u32, u32), evicts: bool, source: Source) -> u8 {
        match self.config {
            ReplacementConfig::Lru => 0,
            ReplacementConfig::Srrip => LONG,
            ReplacementConfig::Brrip => self.bimodal(),
            ReplacementConfig::Drrip => {
                // Two sets each, a quarter of the sets apart.
                let (half, quarter) = (self.sets / 2, self.sets / 4);
                let is_static = match set % half {
                    0 => {
                        self.choice = (self.choice + 1).min(CHOICE_MAX);
                        true
                    }
                    place if place == quarter => {
                        self.choice = self.choice.saturating_sub(1);
                        false
                    }
                    _ => self.choice < CHOICE_MIDDLE,
                };
                if is_static { LONG } else { self.bimodal() }
            }
            ReplacementConfig::Ship { .. } => {
                let fared_well = self.ship.as_mut().is_none_or(|ship| ship.replace(at, (set, way), evicts, source));
                if fared_well { LONG } else { DISTANT }
            }
        }
    }

    fn bimodal(&mut self) -> u8 {
        self.bimodal = (self.bimodal + 1) % BIMODAL;
        if self.bimodal == 0 { LONG } else { DISTANT }
    }

    /// Puts a line of the rank given by [`Self::start`] into a way. If another had to go, those that
    /// `might_have_gone` with it rise.
    #[inline]
    pub fn insert<T: Ranked>(
        &self,
        row: &mut [T],
        way: usize,
        rank: Option<u8>,
        evicts: bool,
        might_have_gone: impl Fn(usize, &T) -> bool,
    ) {
        let Some(rank) = rank else { return promote(row, way) };
        let rise = if evicts { DISTANT - *row[way].rank() } else { 0 };
        for (other, line) in row.iter_mut().enumerate() {
            if might_have_gone(other, line) {
                *line.rank() += rise;
            }
        }
        *row[way].rank() = rank;
    }

    /// Starts to keep digests of the arrays.
    pub fn record(&mut self) {
        if let Some(ship) = &mut self.ship {
            ship.counters.record();
            ship.lines.record();
        }
    }

    /// Lists what the policy has besides the ranks.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { config, sets: _, bimodal, choice, ship } = self;
        match config {
            ReplacementConfig::Lru | ReplacementConfig::Srrip => {}
            ReplacementConfig::Brrip => to.sized("bimodal", u64::from(*bimodal), BIMODAL_BITS),
            ReplacementConfig::Drrip => {
                to.sized("bimodal", u64::from(*bimodal), BIMODAL_BITS);
                to.sized("choice", u64::from(*choice), CHOICE_BITS);
                to.logic("choice_step", Logic::Adder { width: CHOICE_BITS });
            }
            ReplacementConfig::Ship { .. } => {
                if let Some(ship) = ship {
                    to.part("ship", |to| ship.describe(to));
                }
            }
        }
    }
}

/// Moves a line to the front of the order of uses.
#[inline]
fn promote<T: Ranked>(row: &mut [T], way: usize) {
    let last = *row[way].rank();
    for line in row.iter_mut() {
        let rank = line.rank();
        *rank += u8::from(*rank < last);
    }
    *row[way].rank() = 0;
}

/// Uses of lines by their sources.
#[derive(Clone, Debug)]
struct Ship {
    signature: Signature,
    bits: u32,
    counters: Array<Counter>,
    lines: Array<Origin>,
}

/// How lines of one signature fared: up with every use, down with every line that went unused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Counter(u8);

const COUNTER_BITS: u32 = 3;
const COUNTER_MAX: u8 = (1 << COUNTER_BITS) - 1;

impl Default for Counter {
    fn default() -> Self {
        Self(1)
    }
}

impl Payload for Counter {
    type Shape = ();
    fn fields<F: Fields + ?Sized>(&self, (): &(), to: &mut F) {
        let Self(count) = self;
        to.sized("count", u64::from(*count), COUNTER_BITS);
    }
}

/// Where a line came from, and whether it was used since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Origin {
    signature: u32,
    used: bool,
}

impl Payload for Origin {
    type Shape = u32;
    fn fields<F: Fields + ?Sized>(&self, bits: &u32, to: &mut F) {
        let Self { signature, used } = self;
        to.sized("signature", u64::from(*signature), *bits);
        to.flag("used", *used);
    }
}

impl Ship {
    fn new(path: &str, signature: Signature, bits: u32, sets: u32, ways: u32) -> Self {
        let spec = |name: &str, rows, columns| ArraySpec {
            path: format!("{path}.tags.ship.{name}"),
            storage: Storage::Sram,
            rows,
            columns,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        Self {
            signature,
            bits,
            counters: Array::new(spec("counters", 1 << bits, 1), ()),
            lines: Array::new(spec("lines", sets, ways), bits),
        }
    }

    fn used(&mut self, at: &Edge<'_>, set: u32, way: u32) {
        let Origin { signature, .. } = *self.lines.read_cell(at, set, way);
        self.lines.update(at, set, way, |line| line.used = true);
        self.counters.update(at, signature, 0, |counter| counter.0 = (counter.0 + 1).min(COUNTER_MAX));
    }

    /// A line takes the place of another if `evicts`; whether lines from its source fared well.
    fn replace(&mut self, at: &Edge<'_>, (set, way): (u32, u32), evicts: bool, source: Source) -> bool {
        let old = *self.lines.read_cell(at, set, way);
        if evicts && !old.used {
            self.counters.update(at, old.signature, 0, |counter| counter.0 = counter.0.saturating_sub(1));
        }
        let signature = match self.signature {
            Signature::Pc => fold(u64::from(source.pc), self.bits),
            Signature::Region => fold(source.line >> REGION_LINES_LOG2, self.bits),
        };
        self.lines.update(at, set, way, |line| *line = Origin { signature, used: false });
        self.counters.read_cell(at, signature, 0).0 != 0
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { signature: _, bits: _, counters, lines } = self;
        to.array("counters", counters);
        to.array("lines", lines);
        to.logic("count", Logic::Adder { width: COUNTER_BITS });
    }
}

/// The exclusive or of all pieces of so many bits.
fn fold(value: u64, bits: u32) -> u32 {
    let pieces = (0..u64::BITS).step_by(bits as usize);
    pieces.fold(0, |folded, shift| folded ^ (value >> shift) as u32) & ((1 << bits) - 1)
}

#[cfg(test)]
mod tests;
