//! Entries of the three arrays of the decoupled tag store: a tag, the replacement state of a data line, and
//! the number of free data ways of a set.

use arbitrary_int::u6;
use serde::{Deserialize, Serialize};

use crate::kernel::{Encoding, Fields, FieldsExt, Payload};
use crate::replacement::{HasRank, RankShape};

/// State of a tag in the decoupled tag store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(3)]
pub(super) enum Status {
    #[default]
    Empty,
    Candidate,
    /// The tag's line has a data way and is in flight.
    Reserved,
    /// The tag's line has a data way and is present.
    Valid,
    /// The tag's line has a data way, is present, and is modified: it must be written back when it is
    /// evicted.
    Modified,
}

impl Status {
    pub fn is_committed(self) -> bool {
        matches!(self, Self::Reserved | Self::Valid | Self::Modified)
    }

    pub fn is_evictable(self) -> bool {
        matches!(self, Self::Valid | Self::Modified)
    }
}

/// Type of a reference count, which saturates (li2015 section 4.1).
pub(super) type Count = u6;

/// Entry of the tag array of the decoupled tag store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = TagShape)]
pub(super) struct Tag {
    #[payload(state)]
    pub status: Status,
    #[payload(width = shape.tag_bits)]
    pub tag: u64,
    /// Position of the tag in the LRU order of its set; 0 is the most recently used tag.
    #[payload(only(shape.tlru_bits > 0), width = shape.tlru_bits)]
    pub tlru: u16,
    /// Reference count: number of loads of the tag's line, reduced by aging.
    pub rc: Count,
    /// Data way that holds the tag's line; meaningful only if the line has a data way.
    #[payload(only(shape.pos_bits > 0), width = shape.pos_bits)]
    pub pos: u8,
}

/// Field widths of a tag entry.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct TagShape {
    pub tag_bits: u32,
    pub tlru_bits: u32,
    pub pos_bits: u32,
}

/// Replacement state of a line in the data array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Line {
    pub rank: u8,
    /// True if the line in flight was stored to or recalled after its request, and is therefore invalidated
    /// on arrival.
    pub inv_on_fill: bool,
}

impl HasRank for Line {
    fn rank(&mut self) -> &mut u8 {
        &mut self.rank
    }
}

impl Payload for Line {
    type Shape = RankShape;
    fn fields<F: Fields + ?Sized>(&self, rank: &RankShape, to: &mut F) {
        let Self { rank: value, inv_on_fill } = self;
        rank.field(*value, to);
        to.flag("inv_on_fill", *inv_on_fill);
    }
}

/// Number of free data ways of a set. Its width in bits depends on the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
pub(super) struct Free(#[payload(name = "lines", width = *shape)] pub u16);

/// Returns the reference count after one more load.
pub(super) fn next(count: Count) -> Count {
    count.saturating_add(Count::new(1))
}

/// Makes a tag the most recently used one of its set.
pub(super) fn promote(row: &mut [Tag], way: usize) {
    let last = row[way].tlru;
    for tag in row.iter_mut() {
        tag.tlru += u16::from(tag.tlru < last);
    }
    row[way].tlru = 0;
}

/// Ages the tags of a set: subtracts `steps` from all reference counts, except those of the tags at the
/// positions in `concerned`.
pub(super) fn age(row: &mut [Tag], concerned: &[usize], steps: Count) {
    for (way, tag) in row.iter_mut().enumerate() {
        if !concerned.contains(&way) {
            tag.rc = tag.rc.saturating_sub(steps);
        }
    }
}
