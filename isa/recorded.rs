//! # Recorded kernels
//! What a GPU did, instruction by instruction, in memory. The crate `trace` reads it from files and
//! writes it to them; the clocked SM runs it.
//!
//! | module     | holds                                                                      |
//! |------------|----------------------------------------------------------------------------|
//! | [`header`] | what the first lines of a kernel's text say of it                          |
//! | [`record`] | a CTA: warps, steps, lane addresses packed                                 |
//! | [`code`]   | the distinct instructions that the steps refer to                          |
//! | [`opcode`] | opcodes of each architecture and the class of each                         |
//! | [`timing`] | how long they take on its GPUs                                             |

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
