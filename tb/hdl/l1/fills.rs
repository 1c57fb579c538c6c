//! Random stimulus for the fill port of an L1 tag store.

use crate::{Ports, Random};

/// Set, way and line address of a reserved way that waits for its fill.
pub(super) type Reservation = (u32, u32, u64);

/// Drives the fill port. While ways are reserved, a random one is filled in `often` percent of the cycles.
/// The function `fill` performs the fill in the Rust model, and returns true if the line stays valid. Returns
/// the filled reservation and the result of `fill`, or `None` without a fill.
pub(super) fn drive(
    ports: &mut Ports,
    (set_bits, way_bits): (u32, u32),
    reserved: &mut Vec<Reservation>,
    random: &mut Random,
    often: u64,
    fill: impl FnOnce(u32, u32) -> bool,
) -> Option<(Reservation, bool)> {
    let fills = !reserved.is_empty() && random.percent(often);
    let filled = fills.then(|| reserved.swap_remove(random.below(reserved.len() as u64) as usize));
    let (set, way, _) = filled.unwrap_or_default();
    let kept = filled.map(|_| fill(set, way));
    ports.input("fill_valid", 1, fills);
    ports.input("fill_set", set_bits, set);
    ports.input("fill_way", way_bits, way);
    ports.output_if("fill_kept", 1, kept);
    filled.zip(kept)
}
