//! # Random replacement
//! Evicts a way that a linear-feedback shift register (LFSR) selects. The register has 16 bits and the
//! polynomial x^16 + x^14 + x^13 + x^11 + 1, which gives the longest period, 65535. Each insertion shifts the
//! register by eight bits. The new bits are a number `n` from 0 to 255, and the next victim of the set is way
//! `n * ways / 256`. If the line of that way is in flight, the next higher eligible way is the victim
//! instead; way 0 follows the last way.
//!
//! The next victim of a set is selected when a line is inserted into the set, so that a waiting miss sees the
//! same victim in every cycle. State: the LFSR, and one way number per set. The ranks follow from the way
//! number and are not stored.

use serde::{Deserialize, Serialize};

use super::{Hooks, InsertedLine, RankShape, Scheme, Source, Ways};
use crate::choice::CacheGeometry;
use crate::kernel::{Array, ArraySpec, Collide, Describe, Edge, Fields, FieldsExt, Logic, Payload, Storage};

/// Number of bits by which the LFSR is shifted for each random number.
const SHIFTS: u32 = 8;

/// Configuration of random replacement; it has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Random {}

#[typetag::serde(name = "random")]
impl Scheme for Random {
    fn rank(&self, _ways: u32) -> RankShape {
        RankShape { name: "distance", bits: 0 }
    }

    fn hardware(&self, place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        let spec = ArraySpec {
            path: format!("{}.next_victim", place.path),
            storage: Storage::Sram,
            rows: place.sets,
            columns: 1,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        Some(Box::new(Draws { ways: place.ways, lfsr: Lfsr::default(), next: Array::new(spec, place.ways) }))
    }
}

/// Linear-feedback shift register (LFSR) of 16 bits that generates the random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Lfsr(u16);

impl Default for Lfsr {
    fn default() -> Self {
        Self(u16::MAX)
    }
}

impl Lfsr {
    fn shift(self) -> Self {
        let Self(bits) = self;
        let new = (bits >> 15 ^ bits >> 13 ^ bits >> 12 ^ bits >> 10) & 1;
        Self(bits << 1 | new)
    }
}

/// Way number of the next victim of a set. The number of ways determines the width of the field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct NextVictim(u8);

impl Payload for NextVictim {
    type Shape = u32;
    fn fields<F: Fields + ?Sized>(&self, ways: &u32, to: &mut F) {
        if *ways > 1 {
            to.sized("way", u64::from(self.0), ways.next_power_of_two().ilog2());
        }
    }
}

/// State of random replacement in one cache: the random number generator, and the next victim of each set.
#[derive(Debug, Serialize, Deserialize)]
struct Draws {
    ways: u32,
    lfsr: Lfsr,
    next: Array<NextVictim>,
}

#[typetag::serde(name = "random")]
impl Hooks for Draws {
    /// Returns the initial rank of `way`. Way 0 has the highest rank, because the reset value of the victim
    /// table selects way 0.
    fn reset(&self, way: u32) -> u8 {
        u8::MAX - way as u8
    }

    fn on_hit(&mut self, _at: &Edge<'_>, _place: (u32, u32), _source: Source, _ranks: &mut [u8]) {}

    fn on_insert(&mut self, at: &Edge<'_>, inserted: &InsertedLine, _may_go: &Ways, ranks: &mut [u8]) {
        self.lfsr = (0..SHIFTS).fold(self.lfsr, |lfsr, _| lfsr.shift());
        let number = u32::from(self.lfsr.0) & ((1 << SHIFTS) - 1);
        let next = (number * self.ways) >> SHIFTS;
        self.next.write(at, inserted.set, 0, NextVictim(next as u8));
        for (way, rank) in (0..).zip(ranks) {
            *rank = u8::MAX - ((way + self.ways - next) % self.ways) as u8;
        }
    }

    fn record(&mut self) {
        self.next.record();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { ways, lfsr, next } = self;
        // A set with one way has no choice of victim.
        if *ways > 1 {
            to.sized("lfsr", u64::from(lfsr.0), u16::BITS);
            to.array("next_victim", next);
            for _ in 0..SHIFTS {
                to.logic("shifted", Logic::XorTree { fan_in: 4 });
            }
            to.logic("first", Logic::PriorityEncoder { inputs: 2 * ways });
            to.logic("scaled", Logic::ConstantMultiplier { width: SHIFTS, factor: *ways });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ANY, Bench};
    use super::*;

    #[test]
    fn the_register_takes_every_value_but_zero() {
        let mut lfsr = Lfsr::default().shift();
        let mut period = 1;
        while lfsr != Lfsr::default() {
            (lfsr, period) = (lfsr.shift(), period + 1);
        }
        assert_eq!(period, 65_535);
    }

    #[test]
    fn victims_are_spread_evenly_and_the_next_higher_way_follows() {
        let mut bench = Bench::new(Random {}, 2);
        let inserted = InsertedLine { set: 1, way: 0, evicts: true, source: ANY };
        let mut drawn = [0; 4];
        for _ in 0..4000 {
            let ranks = bench.on_insert(inserted, None, [0; 4]);
            let first = (0..4).max_by_key(|&way| ranks[way]).unwrap();
            assert_eq!([0, 1, 2, 3].map(|step| ranks[(first + step) % 4]), [255, 254, 253, 252]);
            drawn[first] += 1;
        }
        assert!(drawn.iter().all(|count| (900..1100).contains(count)), "{drawn:?}");
    }
}
