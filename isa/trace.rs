//! # Accel-Sim traces
//! What a GPU did, instruction by instruction, as the tracer of Accel-Sim wrote it down: a list of
//! commands (`kernelslist.g`), and for each kernel a text (`kernel-N.traceg`, also compressed with xz
//! or zstd) of its CTAs. `docs/traces.md` describes both as this reader understands them.
//!
//! | module          | holds                                                                 |
//! |-----------------|-----------------------------------------------------------------------|
//! | [`list`]        | the commands of a `kernelslist.g`                                      |
//! | [`kernel`]      | one kernel's text: header, then CTA by CTA                             |
//! | [`header`]      | what the first lines of a kernel's text say of it                      |
//! | [`record`]      | a CTA in memory: warps, steps, lane addresses packed                   |
//! | [`code`]        | the distinct instructions that the steps refer to                      |
//! | [`opcode`]      | opcodes of each architecture and the class of each                     |
//! | [`mod@write`]   | back to text, addresses shortened as the tracer does                   |
//! | [`pack`]        | xz and zstd for what is written                                        |
//! | [`error`]       | what is wrong with a trace, and where                                  |
//!
//! A text may have any length: a [`kernel::KernelTrace`] holds one line, the distinct instructions,
//! and the CTA being read. A CTA belongs to whoever asked for it; dropping it frees its memory.
//! Lines, CTAs and distinct instructions have a largest size, so that text from anywhere can at worst
//! be refused.

pub mod code;
pub mod error;
mod fields;
pub mod header;
mod instruction;
pub mod kernel;
mod lines;
pub mod list;
pub mod opcode;
pub mod pack;
pub mod record;
mod source;
pub mod write;

pub use code::{Code, Operands, Operation, Register, RegisterFile};
pub use error::{TraceError, Warning};
pub use header::Header;
pub use kernel::{KernelTrace, Limits};
pub use list::{Command, KernelsList};
pub use opcode::{Architecture, Class, Opcode, Space};
pub use pack::{Packer, Packing};
pub use record::{Cta, LANES, Step, Warp};
pub use write::TraceWriter;

#[cfg(test)]
mod tests;
