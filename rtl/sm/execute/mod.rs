//! # Execution
//! From operand read to writeback.
//!
//! | file            | holds                                                           |
//! |-----------------|-----------------------------------------------------------------|
//! | `register_file` | words and predicates                                            |
//! | `collectors`    | register file banks, and who waits for them                     |
//! | `operands`      | operand read: registers, constants, special registers           |
//! | `alu`           | execution on 32 lanes                                           |
//! | `exchange`      | exchanges between lanes, and who must take part in them         |
//! | `matrix`        | steps of products, loads of matrices                            |
//! | `pipes`         | initiation intervals, results on their way, result bus calendar |
//! | `retire`        | result bus, load replies, exits of warps and CTAs               |

pub(super) mod alu;
pub(super) mod collectors;
pub(super) mod exchange;
pub(super) mod matrix;
pub(super) mod operands;
pub(super) mod pipes;
pub(super) mod register_file;
pub(super) mod retire;
