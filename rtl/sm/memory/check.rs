//! What a memory instruction may touch, and the fault of one that touches something else.

use isa::program::{Inst, MemOp, Op};
use isa::types::Space;

use crate::l1::access::LANES;
use crate::sm::KernelImage;
use crate::sm::host::fault::{AccessFault, Fault, FaultKind};

/// The bytes that an access of the space of `mem` near `address` may touch: those of the buffer
/// there, in device memory.
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

/// True if an access of `bytes` bytes in all lanes is sure to be right, which nearly all that are right are:
/// its addresses, of which `first` is one and which are alike but for the bits `differing`, lie in an aligned
/// block, the smallest that holds them, which seldom reaches beyond a buffer if they do not.
#[inline]
pub(in crate::sm) fn is_plain(image: &KernelImage, space: Space, bytes: u8, first: u64, differing: u64) -> bool {
    let block = u64::MAX.checked_shr(differing.leading_zeros()).unwrap_or(0);
    let within = u64::from(bytes) - 1;
    let (start, end) = bounds(image, space, first);
    // The lowest byte that a lane can touch, and what is left of the buffer from there on.
    let lowest = (first & !block).wrapping_sub(start);
    let room = (end - start).saturating_sub(lowest);
    block.checked_add(within).is_some_and(|reach| reach < room) && (first | differing) & within == 0
}

/// What is wrong with an access in the lanes of `mask`, and the lowest lane in which it is.
#[inline(never)]
pub(in crate::sm) fn check(
    image: &KernelImage,
    mem: &MemOp,
    address: &[u64; LANES],
    mask: u32,
) -> Result<(), (u8, AccessFault)> {
    let bytes = mem.bytes();
    // Nearly always all lanes lie in the buffer of the first.
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

/// What is wrong with an access of one lane.
pub(in crate::sm) fn check_lane(image: &KernelImage, space: Space, address: u64, bytes: u32) -> Option<AccessFault> {
    if address & u64::from(bytes - 1) != 0 {
        return Some(AccessFault::Misaligned { bytes });
    }
    let (what, size) = match space {
        Space::Param => ("kernel parameters", image.params.len() as u32),
        Space::Shared => ("shared memory of its CTA", image.shared_bytes()),
        Space::Const => ("constants of its file", image.program.const_bytes),
        Space::Local => ("local memory of its thread", image.program.local_bytes),
        Space::Global | Space::Generic => {
            let unmapped = || AccessFault::Unmapped { nearest: image.map.nearest(address).cloned() };
            return (!image.map.holds(address, bytes)).then(unmapped);
        }
    };
    let beyond = address.checked_add(bytes.into()).is_none_or(|end| end > u64::from(size));
    beyond.then_some(AccessFault::Beyond { what, size })
}

/// The fault of lane `lane` of `inst`.
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

/// What an access of `bytes` bytes at `address` did wrong.
pub(in crate::sm) fn illegal(op: &Op, address: u64, bytes: u32, wrong: AccessFault) -> FaultKind {
    let verb = match op {
        Op::Store(_) => "store",
        Op::Atomic(..) => "atomic",
        Op::Texture(_) => "texture fetch",
        _ => "load",
    };
    FaultKind::Access { verb, address, bytes, wrong }
}
