//! # Protecting distance prediction (PDP)
//! Protects each line for a number of accesses to its set after its last access. A miss evicts a line whose
//! protection has expired; if there is none, the load bypasses the cache (li2015 section 3.1).
//!
//! | port           | dir | payload  | contract                                                        |
//! |----------------|-----|----------|-----------------------------------------------------------------|
//! | `bypasses`     | in  | line     | reads the set, once per cycle                                   |
//! | `is_free`      | out | set, way | true if the way's line is unprotected for the current access    |
//! | `age`          | in  | set, way | an access was accepted: all lines age, the protection of `way` restarts |
//!
//! Only loads that the cache accepts or that bypass count as accesses. Stores do not count, since they
//! allocate nothing. A refused load changes nothing.
//!
//! In one cycle, in this order:
//! 1. The set is read, at most once.
//! 2. The set ages, at most once.
//!
//! Part of `rtl/l1/cache.rs`.

use serde::{Deserialize, Serialize};

use super::super::access::MemorySpace;
use super::super::coalescer::LineAccess;
use super::super::tag_store::TagStore;
use super::super::tags::Victim;
use super::super::watch::Outcome;
use super::{BypassProbe, CacheGeometry, Hooks, Scheme, View};
use crate::config::Rules;
use crate::kernel::{Array, ArraySpec, Collide, Describe, DescribeExt, Edge, Logic, Payload, Storage, bits_of};

/// Protecting distance, as a number of accesses to a set.
type Distance = u8;

/// Configuration of protecting distance prediction (PDP).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PdpConfig {
    /// Protecting distance, 1 to 255: number of accesses to a set for which each line of the set stays
    /// protected after its last access.
    pub distance: u32,
}

/// The default is a medium distance; li2015 section 6.1 searches for the best distance of each kernel.
impl Default for PdpConfig {
    fn default() -> Self {
        Self { distance: 16 }
    }
}

#[typetag::serde(name = "pdp")]
impl Scheme for PdpConfig {
    fn hardware(&self, place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Pdp::new(place, self)))
    }

    fn validate(&self, rules: &mut Rules) {
        rules.range(
            "distance",
            u64::from(self.distance),
            1..=u64::from(Distance::MAX),
            "the counter of a line has 8 bits",
        );
    }

    fn needs_lru(&self) -> bool {
        true
    }
}

/// Remaining protection of a line: the number of accesses to its set, including the next one, for which the
/// line stays protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
struct RemainingDistance(#[payload(name = "left")] Distance);

/// PDP state of a cache: the remaining protection of each line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pdp {
    distance: Distance,
    left: Array<RemainingDistance>,
}

impl Pdp {
    /// Creates the state of a cache at `path`; all lines start unprotected.
    #[must_use]
    pub fn new(&CacheGeometry { path, sets, ways, .. }: &CacheGeometry<'_>, config: &PdpConfig) -> Self {
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

    /// True if the line of a way can be evicted: it is unprotected, or the current access to the set is the
    /// last one for which it is protected. The set must have been read in this cycle.
    #[must_use]
    pub fn is_free(&self, set: u32, way: u32) -> bool {
        self.left.row(set)[way as usize].0 <= 1
    }

    /// Decrements the remaining protection of all lines of a set after one access, and restarts the
    /// protection of the line in `way`, which served the access. `way` is `None` if the access bypassed.
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
    /// True for a global load whose line is absent, if all lines of its set are protected.
    fn bypasses(&self, at: &Edge<'_>, &LineAccess { space, line, .. }: &LineAccess, view: &View<'_>) -> bool {
        let Some(tags) = view.tags().as_plain() else { return false };
        let set = tags.set_of(line);
        let _ = self.left.read(at, set);
        space == MemorySpace::Global
            && view.is_absent(line)
            && tags.victim_among(set, |way| self.is_free(set, way)).is_none()
    }

    /// Returns an unprotected victim way. Returns `None` if all lines are protected; a local load, which
    /// cannot bypass, then evicts the victim of the replacement policy.
    fn victim(&self, tags: &TagStore, set: u32) -> Option<Victim> {
        tags.as_plain()?.victim_among(set, |way| self.is_free(set, way))
    }

    fn on_lookup(&mut self, at: &Edge<'_>, _load: &LineAccess, (set, way): (u32, Option<u32>), _outcome: Outcome) {
        if way.is_some() {
            self.age(at, set, way);
        }
    }

    fn on_bypass(&mut self, at: &Edge<'_>, request: &LineAccess, tags: &mut TagStore) -> BypassProbe {
        self.age(at, tags.set_of(request.line), None);
        BypassProbe::default()
    }

    fn clear(&mut self) {
        self.left.clear_with(|_, _| RemainingDistance::default());
    }

    fn record(&mut self) {
        self.left.record();
    }

    /// Adds to the hardware description: the counters and the logic that decrements them.
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
