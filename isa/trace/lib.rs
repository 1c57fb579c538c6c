//! # Accel-Sim traces
//! Reads and writes the traces of Accel-Sim's tracer, which record the instructions that a GPU executed. A
//! trace is a list of commands (`kernelslist.g`), and for each kernel a text of its CTAs (`kernel-N.traceg`,
//! also compressed with xz or zstd, or as `.tracez`). `docs/traces.md` describes both as this reader interprets them. A kernel
//! is read into the types of [`isa::recorded`].
//!
//! | module          | holds                                                                 |
//! |-----------------|-----------------------------------------------------------------------|
//! | [`list`]        | reader of the commands in a `kernelslist.g`                           |
//! | [`kernel`]      | reader of one kernel's text: the header, then one CTA at a time       |
//! | [`mod@write`]   | writer of kernel texts, which packs addresses as the tracer does      |
//! | [`pack`]        | xz and zstd compression of written texts                              |
//! | [`error`]       | errors and warnings, with their position in the trace                 |
//!
//! A text may have any length: a [`kernel::KernelTrace`] holds one line, the distinct instructions, and the
//! CTA being read. The caller owns the CTA; dropping it frees its memory. Lines, CTAs and distinct
//! instructions have a maximum size, so that untrusted text is rejected rather than exhausting memory.

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
mod tracez;
pub mod write;

pub use error::{TraceError, Warning};
pub use kernel::{KernelTrace, Limits};
pub use list::{Command, KernelsList};
pub use pack::{Packer, Packing};
pub use write::TraceWriter;

#[cfg(test)]
mod tests;
