//! # Protecting distances of the L1D
//! PDP: a line is protected for so many accesses to its set after its last one. A miss takes the place of
//! a line whose time is up; where there is none, the load goes past the cache (li2015 section 3.1).
//!
//! | port           | dir | payload  | contract                                                        |
//! |----------------|-----|----------|-----------------------------------------------------------------|
//! | `read`         | in  | set      | once a cycle, ahead of `is_free`                                 |
//! | `is_free`      | out | set, way | the way's line is not protected from the access under way       |
//! | `age`          | in  | set, way | an access was accepted: all lines age, that of `way` is renewed |
//!
//! An access is a load that the cache accepts or sends past; stores are none, for they allocate nothing,
//! and a refused load changes nothing.
//!
//! Part of `rtl/l1/cache.rs`.
//! Bench: `tb/l1/schemes.rs`.

use crate::kernel::{
    Array, ArraySpec, Collide, Describe, DescribeExt, Edge, Fields, FieldsExt, Logic, Payload, Storage,
};

/// Bits of a distance: up to 255 accesses.
pub const DISTANCE_BITS: u32 = 8;

/// Accesses for which a line is still protected, the next one included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Left(u8);

impl Payload for Left {
    type Shape = ();
    fn fields<F: Fields + ?Sized>(&self, (): &(), to: &mut F) {
        to.sized("left", u64::from(self.0), DISTANCE_BITS);
    }
}

/// The distances of all lines.
#[derive(Clone, Debug)]
pub struct Pdp {
    distance: u8,
    left: Array<Left>,
}

impl Pdp {
    /// Distances of a cache at `path`; every line begins unprotected.
    #[must_use]
    pub fn new(path: &str, (sets, ways): (u32, u32), distance: u8) -> Self {
        let spec = ArraySpec {
            path: format!("{path}.pdp"),
            storage: Storage::Sram,
            rows: sets,
            columns: ways,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        Self { distance, left: Array::new(spec, ()) }
    }

    /// Reads a set for the access of this cycle.
    pub fn read(&self, at: &Edge<'_>, set: u32) {
        let _ = self.left.read(at, set);
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

    /// Forgets everything (kernel end).
    pub fn clear(&mut self) {
        self.left.clear_with(|_, _| Left::default());
    }

    /// Starts to keep a digest.
    pub fn record(&mut self) {
        self.left.record();
    }

    /// Lists the counters and what counts them down.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { distance: _, left } = self;
        to.array("left", left);
        for way in 0..left.spec().columns {
            to.parts("age", way, |to| to.logic("step", Logic::Adder { width: DISTANCE_BITS }));
        }
    }
}
