//! The L2 cache: one bank per memory partition, in front of its DRAM channel.
//!
//! | file                | holds                                                                        |
//! |---------------------|------------------------------------------------------------------------------|
//! | `config`            | parameters of a bank and its position in the machine; flow parameters are in the flow's folder |
//! | `bypass`            | bypass policies, one file per scheme                                         |
//! | `partition`         | way partitioning, one file per scheme                                        |
//! | `prefetch`          | prefetchers, one file per scheme, and the unit around them                   |
//! | `line`              | entries of the tag memory, line states, records of present bytes             |
//! | `mshr`              | in-flight lines and the accesses that wait for them                          |
//! | `lookup_pipeline`   | entries of the lookup pipeline                                               |
//! | `split`             | splits a request for an L1 line into requests for several shorter L2 lines   |
//! | `coherence`         | messages that recall copies of a line from L1s                               |
//! | `stats`             | counters                                                                     |
//! | `bank`              | the L2 bank as a hardware block, with one of two miss flows                  |
//! | `bank/core`         | state common to both flows: request and reply paths, lookup pipeline, memories |
//! | `bank/lines`        | effect of an access on its line, and the reply                               |
//! | `bank/atomic_buffer`| buffer of the line that the last atomic accessed                             |
//! | `bank/channels`     | DRAM channels behind a bank                                                  |
//! | `bank/host`         | access of the simulator (host code) to a bank between clock edges            |
//! | `bank/overlapped`   | Fermi's flow: lookup, miss and writeback queues, partial lines, sectors, bypass, prefetches |
//! | `bank/transient`    | candel2018's flow: lookup, eviction, pending queue, FRC and its swaps        |

mod bank;
pub mod bypass;
mod coherence;
pub mod config;
mod line;
mod lookup_pipeline;
mod mshr;
pub mod partition;
pub mod prefetch;
mod split;
mod stats;
pub mod watch;

pub use bank::{
    AtomicBuffer, BankAccess, BufferShape, Coherence, DirtyVictim, Eviction, FetchUnit, Frc, FrcConfig, FrcEntry,
    FrcShape, FrcState, L2Bank, L2Io, L2Ports, LinePlace, OverlappedConfig, TransientConfig, VictimBind, WriteMiss,
};
pub use bypass::L2Bypass;
pub use coherence::{Invalidate, InvalidateAck, RecallIo, RecallShape, RecalledIo};
pub use config::{BankPlace, FlowConfig, HostCopies, L2Config};
pub use line::{LineState, Tag};
pub use mshr::{Mshr, Waiter};
pub use partition::L2Partition;
pub use prefetch::L2Prefetch;
pub use stats::{Delays, L2Features, L2Stats, Stall};
