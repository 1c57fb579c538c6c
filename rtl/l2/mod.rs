//! The L2 cache: one bank per memory partition, in front of its DRAM channel.
//!
//! | file                | holds                                                                        |
//! |---------------------|------------------------------------------------------------------------------|
//! | `config`            | parameters of a bank and its place in the machine; a flow's are in its folder |
//! | `bypass`            | which misses are not kept: a scheme a file                                   |
//! | `line`              | what tag and data memory hold                                                |
//! | `mshr`              | lines on their way and the accesses that wait for them                       |
//! | `looking`           | what the look-up pipeline holds                                              |
//! | `split`             | requests for L1 lines of which each has several lines of the bank            |
//! | `coherence`         | messages by which copies are recalled from L1s                               |
//! | `stats`             | counters                                                                     |
//! | `bank`              | the block: either of two flows                                               |
//! | `bank/core`         | what both have: doors, look-up pipeline, memories                            |
//! | `bank/lines`        | what an access does to its line, and the reply                               |
//! | `bank/atomic_buffer`| the line of the last atomic                                                  |
//! | `bank/channels`     | the DRAM channels behind a bank                                              |
//! | `bank/host`         | what a host asks between edges                                               |
//! | `bank/overlapped`   | Fermi's flow: access, queues to memory, lines in part, by sectors, past a bank |
//! | `bank/transient`    | candel2018's: access, eviction, pending queue, FRC and its swaps             |

mod bank;
pub mod bypass;
mod coherence;
pub mod config;
mod line;
mod looking;
mod mshr;
mod split;
mod stats;

pub use bank::{
    Asked, AtomicBuffer, BufferShape, Coherence, FetchUnit, Frc, FrcConfig, FrcEntry, FrcShape, FrcState, L2Bank, L2Io,
    L2Ports, Leaving, OverlappedConfig, Place, TransientConfig, VictimBind, WriteMiss,
};
pub use bypass::L2Bypass;
pub use coherence::{Invalidate, InvalidateAck, RecallIo, RecallShape, RecalledIo};
pub use config::{BankPlace, FlowConfig, L2Config};
pub use line::{LineState, Tag};
pub use mshr::{Mshr, Waiter};
pub use stats::{Delays, L2Has, L2Stats, Stall};
