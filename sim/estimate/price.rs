//! Converts the structures of a hardware block into memories and logic whose cost the technology model can
//! estimate.

use area::{Kind, Memory, Node, Ports, Technology};
use rtl::kernel::{Access, Storage};

use super::{Array, Piece};
use crate::readers::{ArrayCount, Counts};

/// Name of the memory array that holds the beats of a channel.
const BEATS: &str = "beats";

/// Converts an array that a scope declares into a memory of the technology model. One access through a port
/// reads or writes one word of this memory.
fn memory(array: &ArrayCount) -> Memory {
    let &ArrayCount { name: _, storage, rows, columns, cell_bits, reads, writes, access, accesses: _ } = array;
    let (entries, width, banks) = match access {
        Access::Row => (rows, columns * cell_bits, 1),
        Access::Cell => (rows * columns, cell_bits, 1),
        Access::Banks => (rows, cell_bits, columns),
    };
    let kind = match storage {
        Storage::Sram | Storage::RegisterFile => Kind::Sram,
        Storage::Cam => Kind::Cam,
        Storage::Flops => Kind::Flops,
    };
    Memory { kind, entries, width, ports: Ports { shared: 0, reads, writes }, banks }
}

/// Computes the cost of each memory array of a scope, including the buffers of its channels.
pub(super) fn arrays(counts: &Counts, technology: &Technology, node: Node) -> Vec<Array> {
    let memories = counts.arrays.iter().map(|array| (array.name, memory(array)));
    let channels = counts.channels.iter().map(|channel| {
        let ports = Ports::READ_AND_WRITE;
        let (entries, width) = (channel.depth, channel.beat_bits);
        (BEATS, Memory { kind: Kind::Sram, entries, width, ports, banks: 1 })
    });
    let priced = memories.chain(channels).map(|(name, memory)| {
        let memory = Memory { kind: technology.implementation(&memory), ..memory };
        Array { name, bits: memory.bits(), cost: technology.memory(node, &memory), memory }
    });
    priced.collect()
}

/// Computes the cost of each logic structure of a scope.
pub(super) fn logic(counts: &Counts, technology: &Technology, node: Node) -> Vec<Piece> {
    let priced = counts.logic.iter().map(|count| {
        let cost = technology.logic(node, count.logic);
        Piece {
            name: count.name,
            logic: count.logic,
            um2: cost.um2,
            um2_error: cost.um2 * cost.error,
            leakage_mw: cost.leakage_mw,
        }
    });
    priced.collect()
}
