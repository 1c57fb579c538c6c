//! # Protecting distances of the L1D
//! PDP: a line is protected for so many accesses to its set after its last one. A miss takes the place of
//! a line whose time is up; where there is none, the load goes past the cache (li2015 section 3.1).
//!
//! | port           | dir | payload  | contract                                                        |
//! |----------------|-----|----------|-----------------------------------------------------------------|
//! | `sends_past`   | in  | line     | reads the set, once a cycle                                     |
//! | `is_free`      | out | set, way | the way's line is not protected from the access under way       |
//! | `age`          | in  | set, way | an access was accepted: all lines age, that of `way` is renewed |
//!
//! An access is a load that the cache accepts or sends past; stores are none, for they allocate nothing,
//! and a refused load changes nothing. One cycle: the set is read, then it ages, each at most once.
//!
//! Part of `rtl/l1/cache.rs`.

use serde::{Deserialize, Serialize};

use super::super::access::MemorySpace;
use super::super::coalescer::LineAccess;
use super::super::tag_store::TagStore;
use super::super::tags::Victim;
use super::super::watch::Outcome;
use super::{Hooks, Past, Place, Scheme, View};
use crate::config::Rules;
use crate::kernel::{Array, ArraySpec, Collide, Describe, DescribeExt, Edge, Logic, Payload, Storage, bits_of};

/// A distance in accesses to a set.
type Distance = u8;

/// How long lines are protected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PdpConfig {
    /// Accesses to its set for which a line is protected: 1 to 255.
    pub distance: u32,
}

/// li2015 section 6.1 seeks the best distance for each kernel; this is a middle one.
impl Default for PdpConfig {
    fn default() -> Self {
        Self { distance: 16 }
    }
}

#[typetag::serde(name = "pdp")]
impl Scheme for PdpConfig {
    fn hardware(&self, place: &Place<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Pdp::new(place, self)))
    }

    fn validate(&self, rules: &mut Rules) {
        rules.range("distance", u64::from(self.distance), 1..=u64::from(Distance::MAX), "a line counts in 8 bits");
    }

    fn needs_lru(&self) -> bool {
        true
    }
}

/// Accesses for which a line is still protected, the next one included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
struct Left(#[payload(name = "left")] Distance);

/// The distances of all lines.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pdp {
    distance: Distance,
    left: Array<Left>,
}

impl Pdp {
    /// Distances of a cache at `path`; every line begins unprotected.
    #[must_use]
    pub fn new(&Place { path, sets, ways }: &Place<'_>, config: &PdpConfig) -> Self {
        let spec = ArraySpec {
            path: format!("{path}.pdp"),
            storage: Storage::Sram,
            rows: sets,
            columns: ways,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        Self { distance: config.distance as Distance, left: Array::new(spec, ()) }
    }

    /// Whether a way of the set that was read may give its line away: its last access of protection is the
    /// one under way.
    #[must_use]
    pub fn is_free(&self, set: u32, way: u32) -> bool {
        self.left.row(set)[way as usize].0 <= 1
    }

    /// Ages a set by one access, which was served by `way` or by none.
    pub fn age(&mut self, at: &Edge<'_>, set: u32, way: Option<u32>) {
        let Self { distance, left } = self;
        left.update_row(at, set, |row| {
            row.iter_mut().for_each(|left| left.0 = left.0.saturating_sub(1));
            if let Some(way) = way {
                row[way as usize].0 = *distance;
            }
        });
    }
}

#[typetag::serde]
impl Hooks for Pdp {
    /// A global load goes past that is not here and finds every other line of its set protected.
    fn sends_past(&self, at: &Edge<'_>, &LineAccess { space, line, .. }: &LineAccess, view: &View<'_>) -> bool {
        let Some(tags) = view.tags().as_plain() else { return false };
        let set = tags.set_of(line);
        let _ = self.left.read(at, set);
        space == MemorySpace::Global
            && view.is_absent(line)
            && tags.victim_among(set, |way| self.is_free(set, way)).is_none()
    }

    /// A local load that finds them all protected takes the place of any.
    fn victim(&self, tags: &TagStore, set: u32) -> Option<Victim> {
        tags.as_plain()?.victim_among(set, |way| self.is_free(set, way))
    }

    fn served(&mut self, at: &Edge<'_>, _load: &LineAccess, (set, way): (u32, Option<u32>), _outcome: Outcome) {
        if way.is_some() {
            self.age(at, set, way);
        }
    }

    fn went_past(&mut self, at: &Edge<'_>, request: &LineAccess, tags: &mut TagStore) -> Past {
        self.age(at, tags.set_of(request.line), None);
        Past::default()
    }

    fn clear(&mut self) {
        self.left.clear_with(|_, _| Left::default());
    }

    fn record(&mut self) {
        self.left.record();
    }

    /// The counters and what counts them down.
    fn describe(&self, to: &mut dyn Describe) {
        let Self { distance: _, left } = self;
        to.part("pdp", |to| {
            to.array("left", left);
            for way in 0..left.spec().columns {
                to.parts("age", way, |to| {
                    let width = bits_of::<Distance>();
                    to.logic("step", Logic::Counter { width });
                    to.logic("guarded", Logic::Gates { count: width });
                    to.logic("starts", Logic::Mux { ways: 2, width });
                });
            }
        });
    }
}
