//! # Recorded kernels
//! Holds in memory the kernels that were recorded on a GPU, instruction by instruction. The crate `trace`
//! reads and writes the files; the clocked SM executes the kernels.
//!
//! | module     | holds                                                                      |
//! |------------|----------------------------------------------------------------------------|
//! | [`header`] | properties of a kernel from the first lines of its text                    |
//! | [`record`] | the warps and steps of a CTA, with packed lane addresses                   |
//! | [`code`]   | the distinct instructions to which the steps refer                         |
//! | [`opcode`] | the opcodes of each architecture, and the class of each opcode             |
//! | [`timing`] | the instruction latencies of each GPU architecture                         |

pub mod code;
pub mod header;
pub mod opcode;
pub mod record;
pub mod timing;

pub use code::{Code, Operands, Operation, Register, RegisterFile};
pub use header::Header;
pub use opcode::{Architecture, Class, Opcode, OpcodeTable, Space};
pub use record::{Cta, LANES, Step, Warp, lanes_of};
pub use timing::Timing;
