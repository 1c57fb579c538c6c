//! What stops a kernel: an access that no hardware could carry out.

use std::sync::Arc;

use thiserror::Error;

use super::NamedRange;

/// What is wrong with the address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FaultKind {
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
    /// Shared memory beyond what the CTA has.
    #[error("is outside the {size} bytes of shared memory of its CTA")]
    Shared {
        /// Shared bytes of the CTA.
        size: u32,
    },
    /// Parameters beyond what the kernel has.
    #[error("is outside the {size} bytes of kernel parameters")]
    Param {
        /// Bytes of the parameter block.
        size: u32,
    },
}

fn nearest_text(nearest: &Option<NamedRange>) -> String {
    nearest.as_ref().map_or_else(String::new, |range| format!("; nearest is {range}"))
}

/// The first illegal access of a core, after which it issues nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{file}:{line}: SM {sm} warp {warp} lane {lane} pc {pc}: {} of {bytes} bytes at {address:#x} {kind}",
    if *.store { "store" } else { "load" }
)]
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
    /// Whether it is a store.
    pub store: bool,
    /// Byte address of that lane.
    pub address: u64,
    /// Bytes moved per lane.
    pub bytes: u32,
    /// What is wrong.
    pub kind: FaultKind,
}
