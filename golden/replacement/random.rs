//! # Random replacement
//! Draws the next victim way of a set with each insertion, from a linear feedback shift register. Each bit of
//! its sequence is the XOR of the bits 16, 14, 13 and 11 positions earlier. Eight bits form a number n below
//! 256, which selects way `n * ways / 256`, rounded down.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::places::WayMap;
use super::{InsertedLine, Replacement, Scheme};

/// Configuration of the policy, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Random {}

#[typetag::deserialize(name = "random")]
impl Scheme for Random {
    fn twin(&self, _sets: usize, ways: usize) -> Box<dyn Replacement> {
        let (set_of, places) = (BTreeMap::new(), WayMap::default());
        Box::new(Draws { ways, bits: vec![true; 16], set_of, places, next: BTreeMap::new() })
    }
}

/// State of the policy.
#[derive(Debug)]
struct Draws {
    ways: usize,
    /// The last 16 bits of the sequence, oldest first.
    bits: Vec<bool>,
    set_of: BTreeMap<u64, usize>,
    places: WayMap,
    /// Way drawn for each set; way 0 before the first draw.
    next: BTreeMap<usize, usize>,
}

impl Draws {
    fn draw(&mut self) -> usize {
        for _ in 0..8 {
            let before = |count: usize| self.bits[self.bits.len() - count];
            let bit = [16, 14, 13, 11].map(before).into_iter().filter(|bit| *bit).count() % 2 == 1;
            self.bits.push(bit);
        }
        self.bits.drain(..8);
        let number = self.bits[8..].iter().fold(0, |number, bit| 2 * number + usize::from(*bit));
        number * self.ways / 256
    }
}

impl Replacement for Draws {
    fn victim(&self, lines: &mut dyn Iterator<Item = u64>) -> Option<u64> {
        lines.min_by_key(|line| {
            let next = self.set_of.get(line).and_then(|set| self.next.get(set)).copied().unwrap_or(0);
            let way = self.places.of(*line).unwrap_or(0);
            // The search starts at the drawn way and wraps around after the last way.
            if way < next { way + self.ways } else { way }
        })
    }

    fn on_insert(&mut self, newcomer: InsertedLine, victim: Option<u64>, stay: &[(u64, bool)]) {
        self.places.on_insert(newcomer.line, victim, stay);
        self.set_of.insert(newcomer.line, newcomer.set);
        let next = self.draw();
        self.next.insert(newcomer.set, next);
    }

    fn on_invalidate(&mut self, line: u64) {
        self.places.on_invalidate(line);
    }

    fn forget_lines(&mut self) {
        self.places.clear();
    }
}
