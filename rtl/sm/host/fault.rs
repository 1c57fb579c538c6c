//! Faults, which stop a kernel: illegal accesses or operands, lanes that fail to converge, or a `trap`.

use std::sync::Arc;

use isa::lanes::ConvergenceFault;
use thiserror::Error;

use crate::sm::NamedRange;

/// Reason for which an access is illegal.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccessFault {
    /// The address is not a multiple of the access size.
    #[error("is not aligned to {bytes} bytes")]
    Misaligned {
        /// Size of the access in bytes.
        bytes: u32,
    },
    /// The access to global memory is not entirely inside one mapped range.
    #[error("is outside every buffer{}", nearest_text(.nearest))]
    Unmapped {
        /// Mapped range closest to the address; `None` if none is mapped.
        nearest: Option<NamedRange>,
    },
    /// The access extends beyond the end of a memory whose addresses begin at 0, such as shared memory.
    #[error("is outside the {size} bytes of {what}")]
    Beyond {
        /// Name of the accessed memory.
        what: &'static str,
        /// Size of the memory in bytes.
        size: u32,
    },
    /// The top byte of a generic address selects no address space.
    #[error("is in no address space")]
    Nowhere,
    /// The access is an atomic in an address space that does not support atomics.
    #[error("is in {space} memory, expected global or shared memory")]
    NotAtomic {
        /// Name of the address space.
        space: &'static str,
    },
    /// The access writes to memory that kernels may only read.
    #[error("is in the {what}, which are read only")]
    ReadOnly {
        /// Name of the accessed memory.
        what: &'static str,
    },
}

fn nearest_text(nearest: &Option<NamedRange>) -> String {
    nearest.as_ref().map_or_else(String::new, |range| format!("; nearest is {range}"))
}

/// Cause of a fault.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FaultKind {
    /// Memory access that is illegal.
    #[error("{verb} of {bytes} bytes at {address:#x} {wrong}")]
    Access {
        /// Kind of access: `load`, `store`, `atomic` or `texture fetch`.
        verb: &'static str,
        /// Byte address that the lane accesses, within its address space.
        address: u64,
        /// Access size per lane in bytes.
        bytes: u32,
        /// Reason for which the access is illegal.
        wrong: AccessFault,
    },
    /// Handle that selects no texture or surface of the launch file.
    #[error("texture handle {handle:#x} is not a texture of the launch file")]
    Texture {
        /// Value of the handle.
        handle: u64,
    },
    /// Texture fetch with an integer result from a texture that is filtered linearly.
    #[error("an integer result from texture `{name}`, which is filtered linearly; expected `.f32`")]
    Filter {
        /// Name of the texture.
        name: String,
    },
    /// Surface access outside of the bounds of the surface.
    #[error(
        "surface access of {bytes} bytes at {at:?} is outside of `{name}`, whose extent is {row} bytes x {} x {}",
        extent[0], extent[1]
    )]
    Surface {
        /// Name of the surface.
        name: String,
        /// Coordinates of the access, in the order of the instruction.
        at: Vec<i32>,
        /// Access size per lane in bytes.
        bytes: u32,
        /// Size of a row of the surface in bytes.
        row: u64,
        /// Number of rows of a plane, and number of planes.
        extent: [u32; 2],
    },
    /// Matrix instruction that was not executed by all lanes of its warp.
    #[error("a matrix instruction in the lanes {mask:#010x} of the warp, expected all 32")]
    Lanes {
        /// Mask of the lanes that executed the instruction.
        mask: u32,
    },
    /// Barrier or exchange that the lanes of a warp failed to execute together. Either lanes are missing, or
    /// a lane is not in its own member mask, or the lanes disagree on an operand.
    #[error(transparent)]
    Convergence(ConvergenceFault),
    /// Barrier with an illegal number of threads.
    #[error("a barrier of {count} threads, expected whole warps of 32, no more than the {threads} threads of its CTA")]
    BarrierCount {
        /// Number of threads that the barrier expects.
        count: u32,
        /// Number of threads in the CTA.
        threads: u32,
    },
    /// Barrier number out of range.
    #[error("a barrier with the number {number}, expected one from 0 to 15")]
    BarrierNumber {
        /// Barrier number that the instruction gives.
        number: u32,
    },
    /// The kernel executed `trap`.
    #[error("the kernel executed `trap`")]
    Trap,
}

impl FaultKind {
    /// True if the lanes of a warp failed to execute an instruction together, for example because lanes wait
    /// for other lanes that can never arrive.
    #[must_use]
    pub fn is_wait(&self) -> bool {
        matches!(self, FaultKind::Lanes { .. } | FaultKind::Convergence(_))
    }
}

/// First fault of a core, after which the core issues nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: kernel `{kernel}`, SM {sm} warp {warp} lane {lane} pc {pc}: {kind}")]
pub struct Fault {
    /// Index of the SM.
    pub sm: u32,
    /// Slot of the warp with the fault.
    pub warp: u8,
    /// Lowest-numbered lane in which the fault occurred.
    pub lane: u8,
    /// Program counter of the instruction that caused the fault.
    pub pc: u32,
    /// PTX file of the kernel.
    pub file: Arc<str>,
    /// Line of the instruction in the PTX file.
    pub line: u32,
    /// Name of the kernel.
    pub kernel: String,
    /// Cause of the fault.
    pub kind: FaultKind,
}
