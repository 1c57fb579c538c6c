//! The L2 cache: one bank per memory partition, in front of its DRAM channel.
//!
//! | file     | holds                                                                 |
//! |----------|-----------------------------------------------------------------------|
//! | `config` | parameters of a bank and its place in the machine                     |
//! | `line`   | what tag and data memory hold                                         |
//! | `mshr`   | lines on their way and the accesses that wait for them                |
//! | `queues` | what the bank's queues hold                                           |
//! | `split`  | requests for L1 lines of which each has several lines of the bank     |
//! | `stats`  | counters                                                              |
//! | `bank`   | the block, in two flows of replacement over the same memories         |
//!
//! The overlapped flow is in `bank/serve`, what goes past a bank in it in `bank/passing`, lines
//! of which only parts are here in `bank/partial`, the line of the last atomic
//! in `bank/atomic_buffer`. The transient flow, which is candel2018's, has more parts:
//!
//! | file             | holds                                                         |
//! |------------------|---------------------------------------------------------------|
//! | `pending`        | requests that wait for a way                                  |
//! | `evictions`      | lines on their way out                                        |
//! | `frc`            | Fetch and Replacement Cache                                   |
//! | `coherence`      | messages by which copies are recalled from L1s                |
//! | `bank/transient` | the flow's registers, and a cycle of it                       |
//! | `bank/attend`    | how it serves one access                                      |
//! | `bank/evict`     | how a line leaves                                             |
//! | `bank/swap`      | how a line gets from the FRC to its way                       |

mod bank;
mod coherence;
pub mod config;
mod evictions;
mod frc;
mod line;
mod mshr;
mod pending;
mod queues;
mod split;
mod stats;

pub use bank::{L2Bank, L2Io};
pub use coherence::{Invalidate, InvalidateAck, RecallIo, RecallShape, RecalledIo};
pub use config::{BankPlace, Coherence, FrcConfig, L2Bypass, L2Config, ReplacementFlow, VictimBind, WriteMiss};
pub use line::{LineState, Tag};
pub use mshr::{Mshr, Waiter};
pub use stats::{L2Stats, Stall};
