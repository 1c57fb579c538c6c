//! # Execution
//! Executes instructions, from operand read to writeback.
//!
//! | file            | holds                                                           |
//! |-----------------|-----------------------------------------------------------------|
//! | `register_file` | words and predicates                                            |
//! | `collectors`    | register file banks and operand collectors                      |
//! | `operands`      | operand read: registers, constants, special registers           |
//! | `alu`           | execution on 32 lanes                                           |
//! | `exchange`      | exchanges between lanes, and the lanes that must take part      |
//! | `matrix`        | matrix multiply steps, matrix loads                             |
//! | `pipes`         | initiation intervals, results in flight, result bus calendar    |
//! | `retire`        | result bus, load replies, exits of warps and CTAs               |

pub(super) mod alu;
pub(super) mod collectors;
pub(super) mod exchange;
pub(super) mod matrix;
pub(super) mod operands;
pub(super) mod pipes;
pub(super) mod register_file;
pub(super) mod retire;
