//! # Accel-Sim traces
//! What a GPU did, instruction by instruction, as the tracer of Accel-Sim wrote it down: a list of
//! commands (`kernelslist.g`), and for each kernel a text (`kernel-N.traceg`, also compressed with xz
//! or zstd) of its CTAs. `docs/traces.md` describes both as this reader understands them. What is read
//! is a kernel of [`isa::recorded`].
//!
//! | module          | holds                                                                 |
//! |-----------------|-----------------------------------------------------------------------|
//! | [`list`]        | the commands of a `kernelslist.g`                                      |
//! | [`kernel`]      | one kernel's text: header, then CTA by CTA                             |
//! | [`mod@write`]   | back to text, addresses shortened as the tracer does                   |
//! | [`pack`]        | xz and zstd for what is written                                        |
//! | [`error`]       | what is wrong with a trace, and where                                  |
//!
//! A text may have any length: a [`kernel::KernelTrace`] holds one line, the distinct instructions,
//! and the CTA being read. A CTA belongs to whoever asked for it; dropping it frees its memory.
//! Lines, CTAs and distinct instructions have a largest size, so that text from anywhere can at worst
//! be refused.

pub mod error;
mod fields;
mod header;
mod instruction;
pub mod kernel;
mod known;
mod lines;
pub mod list;
mod opcode;
pub mod pack;
mod source;
pub mod write;

pub use error::{TraceError, Warning};
pub use kernel::{KernelTrace, Limits};
pub use list::{Command, KernelsList};
pub use pack::{Packer, Packing};
pub use write::TraceWriter;

#[cfg(test)]
mod tests;
