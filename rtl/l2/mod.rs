//! The L2 cache: one bank per memory partition, in front of its DRAM channel.
//!
//! | file     | holds                                                                 |
//! |----------|-----------------------------------------------------------------------|
//! | `config` | parameters of a bank and its place in the machine                     |
//! | `line`   | what tag and data memory hold                                         |
//! | `mshr`   | lines on their way and the accesses that wait for them                |
//! | `queues` | what the bank's queues hold                                           |
//! | `stats`  | counters                                                              |
//! | `bank`   | the block; `bank/serve` how it serves one access                      |

mod bank;
pub mod config;
mod line;
mod mshr;
mod queues;
mod stats;

pub use bank::{L2Bank, L2Io};
pub use config::{BankPlace, L2Config};
pub use line::{LineState, Tag};
pub use mshr::{Mshr, Waiter};
pub use stats::{L2Stats, Stall};
