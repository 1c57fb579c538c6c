//! What stops a kernel: an access that no hardware could carry out, or the kernel's own word.

use std::sync::Arc;

use isa::lanes::ConvergenceFault;
use thiserror::Error;

use crate::sm::NamedRange;

/// What is wrong with an access.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccessFault {
    /// The address is no multiple of the access size.
    #[error("is not aligned to {bytes} bytes")]
    Misaligned {
        /// Size of the access, in bytes.
        bytes: u32,
    },
    /// Global memory outside every mapped range.
    #[error("is outside every buffer{}", nearest_text(.nearest))]
    Unmapped {
        /// The mapped range closest to the address, if any is mapped.
        nearest: Option<NamedRange>,
    },
    /// Beyond the end of a memory that is addressed from 0.
    #[error("is outside the {size} bytes of {what}")]
    Beyond {
        /// The memory.
        what: &'static str,
        /// Its size.
        size: u32,
    },
    /// A generic address whose top byte names no space.
    #[error("is in no address space")]
    Nowhere,
    /// An atomic in a space that has none.
    #[error("is in {space} memory, expected global or shared memory")]
    NotAtomic {
        /// The space.
        space: &'static str,
    },
    /// A store or an atomic to memory that kernels only read.
    #[error("is in the {what}, which are read only")]
    ReadOnly {
        /// The memory.
        what: &'static str,
    },
}

fn nearest_text(nearest: &Option<NamedRange>) -> String {
    nearest.as_ref().map_or_else(String::new, |range| format!("; nearest is {range}"))
}

/// What stops a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FaultKind {
    /// An access that no hardware could carry out.
    #[error("{verb} of {bytes} bytes at {address:#x} {wrong}")]
    Access {
        /// `load`, `store`, `atomic` or `texture fetch`.
        verb: &'static str,
        /// Byte address of the lane, in its space.
        address: u64,
        /// Bytes moved per lane.
        bytes: u32,
        /// What is wrong.
        wrong: AccessFault,
    },
    /// A texture handle that means none.
    #[error("texture handle {handle:#x} stands for no texture of the launch file")]
    Texture {
        /// The handle.
        handle: u64,
    },
    /// An instruction for all lanes of a warp at once, in some of them.
    #[error("a matrix instruction in the lanes {mask:#010x} of the warp, expected all 32")]
    Lanes {
        /// Lanes in which it acts.
        mask: u32,
    },
    /// Lanes that need others of their warp, which are elsewhere.
    #[error(transparent)]
    Convergence(ConvergenceFault),
    /// A barrier that cannot expect this number of threads.
    #[error("a barrier of {count} threads, expected whole warps of 32, no more than the {threads} threads of its CTA")]
    BarrierCount {
        /// Threads expected.
        count: u32,
        /// Threads of the CTA.
        threads: u32,
    },
    /// A number that no barrier has.
    #[error("a barrier with the number {number}, expected one from 0 to 15")]
    BarrierNumber {
        /// The number.
        number: u32,
    },
    /// The kernel itself says that something went wrong.
    #[error("the kernel executed `trap`")]
    Trap,
}

impl FaultKind {
    /// True if lanes wait for others of their warp that cannot come.
    #[must_use]
    pub fn is_wait(&self) -> bool {
        matches!(self, FaultKind::Lanes { .. } | FaultKind::Convergence(_))
    }
}

/// The first fault of a core, after which it issues nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: kernel `{kernel}`, SM {sm} warp {warp} lane {lane} pc {pc}: {kind}")]
pub struct Fault {
    /// Number of the SM.
    pub sm: u32,
    /// Warp slot.
    pub warp: u8,
    /// Lowest lane at fault.
    pub lane: u8,
    /// Program counter.
    pub pc: u32,
    /// PTX file.
    pub file: Arc<str>,
    /// Line in it.
    pub line: u32,
    /// Name of the kernel.
    pub kernel: String,
    /// What is wrong.
    pub kind: FaultKind,
}
