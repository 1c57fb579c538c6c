//! # Replacement by predicted reuse distances
//! A reuse distance is counted in accesses to the set. A table has a predicted distance for each load
//! instruction, indexed by a hash of the program counter. The rank of a line is the number of accesses to the
//! set left until the predicted next use of the line. The victim is the line with the highest rank, because
//! its next use is farthest in the future. If a line of rank 0 is not used at the next access to the set, it
//! gets rank 15, the highest rank.
//!
//! | port        | dir | payload         | contract                                                       |
//! |-------------|-----|-----------------|----------------------------------------------------------------|
//! | `on_hit`    | in  | set, way, source, ranks | trains the instruction with this reuse distance; all lines age |
//! | `on_insert` | in  | line, ranks     | trains the instruction of an unused victim; all lines age      |

pub mod twin;

use rtl::choice::CacheGeometry;
use rtl::config::Rules;
use rtl::kernel::{Array, ArraySpec, Collide, Describe, DescribeExt, Edge, Fields, FieldsExt, Logic, Payload, Storage};
use rtl::replacement::{Hooks, InsertedLine, RankShape, Scheme, Source, StoreInfo, Ways};
use serde::{Deserialize, Serialize};

use crate::fold;

/// Configuration keys of this replacement policy by reuse distances, which a machine or design selects in
/// `l1.replacement`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReuseDistance {
    /// Width of the hash in bits. The table has 2 to the power of `bits` predictions.
    pub bits: u32,
}

impl Default for ReuseDistance {
    fn default() -> Self {
        Self { bits: 6 }
    }
}

#[typetag::serde(name = "reuse-distance")]
impl Scheme for ReuseDistance {
    fn rank(&self, _ways: u32) -> RankShape {
        RankShape { name: "left", bits: DISTANCE_BITS }
    }

    fn hardware(&self, place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        let spec = |name: &str, rows, columns| ArraySpec {
            path: format!("{}.reuse_distance.{name}", place.path),
            storage: Storage::Sram,
            rows,
            columns,
            reads: 2,
            writes: 2,
            collide: Collide::New,
        };
        Some(Box::new(Predictor {
            bits: self.bits,
            predictions: Array::new(spec("predictions", 1 << self.bits, 1), ()),
            lines: Array::new(spec("lines", place.sets, place.ways), self.bits),
        }))
    }

    fn validate(&self, _store: &StoreInfo, rules: &mut Rules) {
        rules.range("bits", u64::from(self.bits), 1..=16, "each value of the hash has a prediction");
    }

    fn reads_pc(&self) -> bool {
        true
    }

    fn learns(&self) -> bool {
        true
    }
}

const DISTANCE_BITS: u32 = 4;
/// Maximum reuse distance, in accesses to the set; all longer distances are represented by it.
const FAR: u8 = (1 << DISTANCE_BITS) - 1;

/// Predicted reuse distance of the lines that an instruction fetches, in accesses to the set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Prediction(u8);

impl Payload for Prediction {
    type Shape = ();
    fn fields<F: Fields + ?Sized>(&self, (): &(), to: &mut F) {
        to.sized("distance", u64::from(self.0), DISTANCE_BITS);
    }
}

/// State of a line: hash of the instruction that fetched it, number of accesses to the set since its last
/// use, and a flag that is true if it has been used since it was fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Line {
    source: u32,
    age: u8,
    used: bool,
}

impl Payload for Line {
    type Shape = u32;
    fn fields<F: Fields + ?Sized>(&self, bits: &u32, to: &mut F) {
        let Self { source, age, used } = self;
        to.sized("source", u64::from(*source), *bits);
        to.sized("age", u64::from(*age), DISTANCE_BITS);
        to.flag("used", *used);
    }
}

/// Hardware model of the replacement policy.
#[derive(Debug, Serialize, Deserialize)]
struct Predictor {
    bits: u32,
    predictions: Array<Prediction>,
    lines: Array<Line>,
}

impl Predictor {
    /// Moves the prediction of an instruction halfway toward a measured reuse distance.
    fn train(&mut self, at: &Edge<'_>, source: u32, distance: u8) {
        self.predictions.update(at, source, 0, |prediction| prediction.0 = (prediction.0 + distance).div_ceil(2));
    }

    /// Updates a set after an access to the line in `way`. The new state of this line is `renewed`, and its
    /// rank becomes the predicted distance to its next use. Every other line of the set ages by one access.
    fn pass(&mut self, at: &Edge<'_>, (set, way): (u32, u32), renewed: Line, ranks: &mut [u8]) {
        self.lines.update_row(at, set, |row| {
            row.iter_mut().for_each(|line| line.age = (line.age + 1).min(FAR));
            row[way as usize] = renewed;
        });
        let closer = |rank: u8| if rank == 0 || rank == FAR { FAR } else { rank - 1 };
        ranks.iter_mut().for_each(|rank| *rank = closer(*rank));
        ranks[way as usize] = self.predictions.read_cell(at, renewed.source, 0).0;
    }
}

#[typetag::serde(name = "reuse-distance")]
impl Hooks for Predictor {
    fn reset(&self, _way: u32) -> u8 {
        FAR
    }

    fn on_hit(&mut self, at: &Edge<'_>, (set, way): (u32, u32), _source: Source, ranks: &mut [u8]) {
        let Line { source, age, .. } = *self.lines.read_cell(at, set, way);
        self.train(at, source, age);
        self.pass(at, (set, way), Line { source, age: 0, used: true }, ranks);
    }

    fn on_insert(&mut self, at: &Edge<'_>, inserted: &InsertedLine, _may_go: &Ways, ranks: &mut [u8]) {
        let &InsertedLine { set, way, evicts, source } = inserted;
        let gone = *self.lines.read_cell(at, set, way);
        if evicts && !gone.used {
            self.train(at, gone.source, FAR);
        }
        let line = Line { source: fold(source.pc, self.bits), age: 0, used: false };
        self.pass(at, (set, way), line, ranks);
    }

    fn record(&mut self) {
        self.predictions.record();
        self.lines.record();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { bits: _, predictions, lines } = self;
        to.part("reuse_distance", |to| {
            to.array("predictions", predictions);
            to.array("lines", lines);
            to.logic("train", Logic::Adder { width: DISTANCE_BITS + 1 });
            for way in 0..lines.spec().columns {
                to.parts("age", way, |to| to.logic("step", Logic::Adder { width: DISTANCE_BITS }));
            }
        });
    }
}
