//! # Sectors of the lines of a cache
//! Tracks the state of each 32-byte sector of a line: present, in flight or absent. A cache uses this array
//! if its misses fetch only the sectors that a warp touches. The tag of a line stays reserved while any
//! sector of the line is in flight, so no other line can take the way.
//!
//! | port     | dir | payload        | contract                                                       |
//! |----------|-----|----------------|----------------------------------------------------------------|
//! | `read`   | out | set            | in parallel with each probe of an access or a recall, and by a fill |
//! | `write`  | in  | set, way       | by fill, recall and access, in this order within a cycle; further hits of a cycle change nothing |
//!
//! A store to a sector in flight overtakes it: on arrival the sector serves the loads that wait for it, and
//! is then dropped.
//!
//! Part of `rtl/l1/cache.rs`.
//! Twin: `golden/l1/cache.rs`.

use serde::{Deserialize, Serialize};

use crate::kernel::{AnyEdge, Array, ArraySpec, Collide, Describe, Payload, Storage};

/// States of the sectors of a line, one bit per sector and state. The field widths depend on the number of
/// sectors per line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
pub(super) struct Sectors {
    /// Mask of the sectors of the line that are present.
    #[payload(width = *shape)]
    pub here: u8,
    /// Mask of the sectors that are in flight.
    #[payload(width = *shape)]
    pub coming: u8,
    /// Mask of the sectors in flight that were written or recalled after their request, and are therefore
    /// invalidated on arrival.
    #[payload(width = *shape)]
    pub overtaken: u8,
    /// True if the present sectors hold data of local memory stores that has not been written back.
    pub modified: bool,
}

impl Sectors {
    /// True if no sector is present or in flight.
    pub fn is_gone(&self) -> bool {
        self.here | self.coming == 0
    }
}

/// Array with the sector states of all lines of a cache.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SectorStore(Array<Sectors>);

impl SectorStore {
    /// Creates the array of a cache at `path`, with all sectors absent. Lines have `sectors` sectors, and up
    /// to `lookups` loads read the array per cycle. If `is_recalled` is true, the array has extra ports for
    /// recalls.
    pub fn new(path: &str, (sets, ways): (u32, u32), sectors: u32, (lookups, is_recalled): (u32, bool)) -> Self {
        let spec = ArraySpec {
            path: format!("{path}.sectors"),
            storage: Storage::Sram,
            rows: sets,
            columns: ways,
            reads: 1 + lookups + u32::from(is_recalled),
            writes: 2 + u32::from(is_recalled),
            collide: Collide::New,
        };
        Self(Array::new(spec, sectors))
    }

    /// Reads the sector states of all lines of a set.
    pub fn read(&self, at: &impl AnyEdge, set: u32) -> &[Sectors] {
        self.0.read(at, set)
    }

    /// Returns the sector states of a line in a set that is read in this cycle.
    pub fn peek(&self, set: u32, way: u32) -> Sectors {
        self.0.row(set)[way as usize]
    }

    /// Writes the sector states of one line.
    pub fn write(&mut self, at: &impl AnyEdge, (set, way): (u32, u32), sectors: Sectors) {
        self.0.update(at, set, way, |cell| *cell = sectors);
    }

    /// Marks all sectors absent, at the end of a kernel.
    pub fn clear(&mut self) {
        self.0.clear_with(|_, _| Sectors::default());
    }

    /// Starts to maintain a digest (hash) of the array contents.
    pub fn record(&mut self) {
        self.0.record();
    }

    /// Adds to the hardware description: the array of sector states.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self(sectors) = self;
        to.array("sectors", sectors);
    }
}
