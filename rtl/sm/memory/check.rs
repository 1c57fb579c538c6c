//! Legality checks of memory accesses, and the faults of illegal ones.

use isa::program::{Inst, MemOp, Op};
use isa::types::Space;

use crate::l1::access::LANES;
use crate::sm::KernelImage;
use crate::sm::host::fault::{AccessFault, Fault, FaultKind};

/// Returns `(start, end)`: the byte range in which an access at `address` must lie. In device memory, the
/// range is the buffer that contains `address`, or an empty range if no buffer does.
#[inline]
fn bounds(image: &KernelImage, space: Space, address: u64) -> (u64, u64) {
    match space {
        Space::Param => (0, image.params.len() as u64),
        Space::Shared => (0, image.shared_bytes().into()),
        Space::Const => (0, image.program.const_bytes.into()),
        Space::Local => (0, image.program.local_bytes.into()),
        Space::Global | Space::Generic => {
            image.map.range_of(address).map_or((0, 0), |range| (range.start, range.end()))
        }
    }
}

/// Fast, conservative check of all lanes. Returns true only if the access is legal, but false for a few legal
/// accesses too. Tests whether the smallest aligned power-of-two range that contains all addresses lies in
/// one buffer. `first` is the address of one lane; the addresses of all lanes differ only in the bits
/// `differing`.
#[inline]
pub(in crate::sm) fn is_plain(image: &KernelImage, space: Space, bytes: u8, first: u64, differing: u64) -> bool {
    let block = u64::MAX.checked_shr(differing.leading_zeros()).unwrap_or(0);
    let within = u64::from(bytes) - 1;
    let (start, end) = bounds(image, space, first);
    // `lowest` is the offset in the buffer of the lowest byte that any lane may access. `room` is the number
    // of bytes from there to the end of the buffer.
    let lowest = (first & !block).wrapping_sub(start);
    let room = (end - start).saturating_sub(lowest);
    block.checked_add(within).is_some_and(|reach| reach < room) && (first | differing) & within == 0
}

/// Checks an access in the lanes `mask`. An error names the lowest illegal lane and its fault.
#[inline(never)]
pub(in crate::sm) fn check(
    image: &KernelImage,
    mem: &MemOp,
    address: &[u64; LANES],
    mask: u32,
) -> Result<(), (u8, AccessFault)> {
    let bytes = mem.bytes();
    // Fast path: nearly always, the addresses of all lanes lie in the buffer that contains the address of the
    // first lane.
    let (start, end) = bounds(image, mem.space, address[mask.trailing_zeros() as usize % LANES]);
    let room = (end - start).saturating_sub(u64::from(bytes) - 1);
    let within = u64::from(bytes - 1);
    let mut lanes = mask;
    while lanes != 0 {
        let lane = lanes.trailing_zeros() as usize % LANES;
        lanes &= lanes - 1;
        let outside = address[lane].wrapping_sub(start) >= room;
        if (outside || address[lane] & within != 0)
            && let Some(kind) = check_lane(image, mem.space, address[lane], bytes)
        {
            return Err((lane as u8, kind));
        }
    }
    Ok(())
}

/// Returns the fault of an access of one lane, or `None` if the access is legal.
pub(in crate::sm) fn check_lane(image: &KernelImage, space: Space, address: u64, bytes: u32) -> Option<AccessFault> {
    if address & u64::from(bytes - 1) != 0 {
        return Some(AccessFault::Misaligned { bytes });
    }
    let (what, size) = match space {
        Space::Param => ("kernel parameters", image.params.len() as u32),
        Space::Shared => ("shared memory of its CTA", image.shared_bytes()),
        Space::Const => ("constants of its file", image.program.const_bytes),
        Space::Local if image.program.stack_bytes > 0 => {
            ("local memory of its thread, with the stack of its recursive functions", image.program.local_bytes)
        }
        Space::Local => ("local memory of its thread", image.program.local_bytes),
        Space::Global | Space::Generic => {
            let unmapped = || AccessFault::Unmapped { nearest: image.map.nearest(address).cloned() };
            return (!image.map.holds(address, bytes)).then(unmapped);
        }
    };
    let beyond = address.checked_add(bytes.into()).is_none_or(|end| end > u64::from(size));
    beyond.then_some(AccessFault::Beyond { what, size })
}

/// Creates the fault of lane `lane` at an instruction, with kernel, file and line for the message.
pub(in crate::sm) fn fault(
    (sm, warp, pc): (u32, u8, u32),
    image: &KernelImage,
    inst: &Inst,
    lane: u8,
    kind: FaultKind,
) -> Fault {
    let (file, kernel) = (image.program.file.clone(), image.program.name.clone());
    Fault { sm, warp, lane, pc, file, line: inst.line, kernel, kind }
}

/// Creates the fault of an illegal access of `bytes` bytes at `address`.
pub(in crate::sm) fn illegal(op: &Op, address: u64, bytes: u32, wrong: AccessFault) -> FaultKind {
    let verb = match op {
        Op::Store(_) => "store",
        Op::Atomic(..) => "atomic",
        Op::Texture(_) => "texture fetch",
        _ => "load",
    };
    FaultKind::Access { verb, address, bytes, wrong }
}
