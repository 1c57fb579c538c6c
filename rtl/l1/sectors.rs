//! # Sectors of the lines of a cache
//! Where a miss brings the sectors of 32 bytes that a warp touches, a line may be here in part. Each sector is here, on
//! its way, or absent; the tag is reserved as long as one is on its way, so that its way cannot be given to another line.
//!
//! | port     | dir | payload        | contract                                                       |
//! |----------|-----|----------------|----------------------------------------------------------------|
//! | `read`   | out | set            | beside each probe of an access or a recall, and by a fill      |
//! | `write`  | in  | set, way       | by each of the three; in one cycle in the order of fill, recall, access; hits beside an access change nothing |
//!
//! A store to a sector on its way overtakes it: it serves those who wait for it, and is absent afterwards.
//!
//! Part of `rtl/l1/cache.rs`.
//! Twin: `golden/l1/cache.rs`.

use serde::{Deserialize, Serialize};

use crate::kernel::{AnyEdge, Array, ArraySpec, Collide, Describe, Payload, Storage};

/// The sectors of a line, a bit each; the shape is their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
pub(super) struct Sectors {
    /// Here.
    #[payload(width = *shape)]
    pub here: u8,
    /// On their way.
    #[payload(width = *shape)]
    pub coming: u8,
    /// On their way, but written since they were asked for: they must not stay.
    #[payload(width = *shape)]
    pub overtaken: u8,
    /// Those here hold bytes of local memory that are newer than memory's.
    pub modified: bool,
}

impl Sectors {
    /// Whether nothing is left of the line.
    pub fn is_gone(&self) -> bool {
        self.here | self.coming == 0
    }
}

/// Those of every line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SectorStore(Array<Sectors>);

impl SectorStore {
    /// All absent, in a cache at `path` of which a line has so many sectors, for so many lookups a cycle; `is_recalled`
    /// gives recalls ports of their own.
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

    /// Those of every line of a set.
    pub fn read(&self, at: &impl AnyEdge, set: u32) -> &[Sectors] {
        self.0.read(at, set)
    }

    /// Those of a line in a set that is read in this cycle.
    pub fn look(&self, set: u32, way: u32) -> Sectors {
        self.0.row(set)[way as usize]
    }

    /// Changes those of a line.
    pub fn write(&mut self, at: &impl AnyEdge, (set, way): (u32, u32), sectors: Sectors) {
        self.0.update(at, set, way, |cell| *cell = sectors);
    }

    /// Forgets everything (kernel end).
    pub fn clear(&mut self) {
        self.0.clear_with(|_, _| Sectors::default());
    }

    /// Starts to keep a digest.
    pub fn record(&mut self) {
        self.0.record();
    }

    /// Lists the array.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self(sectors) = self;
        to.array("sectors", sectors);
    }
}
