//! # Signature-based hit prediction (SHiP)
//! Works like static RRIP, but inserts a line at rank 3 (evicted first) if no line with the same signature
//! was reused recently (Wu et al., MICRO 2011). The signature of a line is a property of the access that
//! inserts it.

use arbitrary_int::u3;
use serde::{Deserialize, Serialize};

use super::rrip::{DISTANT, Insertion, LONG, RANK, Rrip, Rrpv};
use super::{Hooks, InsertedLine, RankShape, Scheme, Source, StoreInfo};
use crate::choice::CacheGeometry;
use crate::config::Rules;
use crate::kernel::{Array, ArraySpec, Collide, Describe, DescribeExt, Edge, Logic, Payload, Storage, bits_of};

/// log2 of the number of lines in a region: 128 lines, which is 16 KB with 128-byte lines.
const REGION_LINES_LOG2: u32 = 7;

/// Property of the source of a line from which the signature of the line is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signature {
    /// Program counter of the load; only in the caches of an SM, whose accesses carry it.
    Pc,
    /// Aligned region of 128 lines that contains the line: 16 KB with 128-byte lines.
    Region,
}

impl Signature {
    /// Returns the signature of a source, folded to `bits` bits.
    pub(super) fn of(self, source: Source, bits: u32) -> u32 {
        match self {
            Self::Pc => fold(u64::from(source.pc), bits),
            Self::Region => fold(source.line >> REGION_LINES_LOG2, bits),
        }
    }

    /// Checks that the accesses to the cache include the property from which the signature is computed. Also
    /// checks the width of a signature.
    pub(super) fn validate(self, bits: u32, store: &StoreInfo, rules: &mut Rules) {
        rules.expect(
            self != Self::Pc || store.has_pc,
            "signature",
            "pc",
            "region",
            "the requests to this store carry no program counter",
        );
        rules.range("bits", u64::from(bits), 1..=16, "each signature has a counter");
    }
}

/// Configuration of SHiP.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShipConfig {
    /// Property of an access from which its signature is computed.
    pub signature: Signature,
    /// Width of a signature in bits; the table has one 3-bit counter for each of the 2^`bits` signatures.
    pub bits: u32,
}

#[typetag::serde(name = "ship")]
impl Scheme for ShipConfig {
    fn rank(&self, _ways: u32) -> RankShape {
        RANK
    }

    fn hardware(&self, place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Rrip::new(Ship::new(self, place))))
    }

    fn validate(&self, store: &StoreInfo, rules: &mut Rules) {
        self.signature.validate(self.bits, store, rules);
    }

    fn reads_pc(&self) -> bool {
        self.signature == Signature::Pc
    }

    fn learns(&self) -> bool {
        true
    }
}

/// SHiP predictor of a cache, with its reuse counters and the signature of each line.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Ship {
    signature: Signature,
    bits: u32,
    counters: Array<Counter>,
    lines: Array<Origin>,
}

/// Reuse counter of a signature: incremented by every hit on a line with this signature, decremented when
/// such a line is evicted without a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
struct Counter(#[payload(name = "count")] u3);

impl Default for Counter {
    fn default() -> Self {
        Self(u3::new(1))
    }
}

/// Predictor state of a cache line: the signature of its source, and whether the line was hit since its
/// insertion. The width of a signature in bits depends on the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
struct Origin {
    #[payload(width = *shape)]
    signature: u32,
    used: bool,
}

impl Ship {
    fn new(
        &ShipConfig { signature, bits }: &ShipConfig,
        &CacheGeometry { path, sets, ways, .. }: &CacheGeometry<'_>,
    ) -> Self {
        let spec = |name: &str, rows, columns| ArraySpec {
            path: format!("{path}.ship.{name}"),
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
}

#[typetag::serde]
impl Insertion for Ship {
    fn on_hit(&mut self, at: &Edge<'_>, (set, way): (u32, u32)) {
        let Origin { signature, .. } = *self.lines.read_cell(at, set, way);
        self.lines.update(at, set, way, |line| line.used = true);
        self.counters.update(at, signature, 0, |counter| counter.0 = counter.0.saturating_add(u3::new(1)));
    }

    fn start(&mut self, at: &Edge<'_>, inserted: &InsertedLine) -> Rrpv {
        let &InsertedLine { set, way, evicts, source } = inserted;
        let old = *self.lines.read_cell(at, set, way);
        if evicts && !old.used {
            self.counters.update(at, old.signature, 0, |counter| counter.0 = counter.0.saturating_sub(u3::new(1)));
        }
        let signature = self.signature.of(source, self.bits);
        self.lines.update(at, set, way, |line| *line = Origin { signature, used: false });
        if self.counters.read_cell(at, signature, 0).0 != u3::default() { LONG } else { DISTANT }
    }

    fn record(&mut self) {
        self.counters.record();
        self.lines.record();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { signature: _, bits: _, counters, lines } = self;
        to.part("ship", |to| {
            to.array("counters", counters);
            to.array("lines", lines);
            to.logic("count", Logic::Counter { width: bits_of::<u3>() });
        });
    }
}

/// Folds a value to `bits` bits by XORing its `bits`-bit pieces.
pub(super) fn fold(value: u64, bits: u32) -> u32 {
    let pieces = (0..u64::BITS).step_by(bits as usize);
    pieces.fold(0, |folded, shift| folded ^ (value >> shift) as u32) & u32::MAX >> (u32::BITS - bits)
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::super::bench::Bench;
    use super::*;

    #[test]
    fn ship_starts_lines_of_an_instruction_far_once_one_went_unused() {
        let mut bench = Bench::new(ShipConfig { signature: Signature::Pc, bits: 8 }, 1);
        let from = |pc: u32| Source { pc, ..Source::of_line(0) };
        assert_eq!((bench.start((0, 0), false, from(7)), bench.start((0, 1), false, from(9))), (2, 2));
        // Hits the line loaded at PC 9. The line loaded at PC 7 will be evicted without a hit.
        bench.on_hit(0, 1, [0; 4]);
        assert_eq!(bench.start((0, 0), true, from(7)), 3);
        assert_eq!(bench.start((0, 1), true, from(9)), 2);
    }

    #[test]
    fn ship_by_region_tells_16_kilobytes_apart() {
        let mut bench = Bench::new(ShipConfig { signature: Signature::Region, bits: 8 }, 1);
        let from = |line: u64| Source::of_line(line);
        bench.start((0, 0), false, from(0));
        assert_eq!(bench.start((0, 0), true, from(127)), 3);
        assert_eq!(bench.start((0, 0), false, from(128)), 2);
    }

    #[test]
    fn a_signature_folds_all_bits() {
        assert_eq!(fold(0x1_02ff, 8), 0x01 ^ 0x02 ^ 0xff);
        assert_eq!(fold(u64::MAX, 16), 0);
        assert_eq!(fold(0xffff_ffff_0000_00ff, 32), 0xffff_ff00);
    }
}
