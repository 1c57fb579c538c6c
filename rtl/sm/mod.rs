//! # SM core and CTA dispatcher
//! ```text
//! fetch -> decode -> issue -> operand read -> execute -> writeback
//!            |         |  scheduler, scoreboard, SIMT stack, barriers
//!            |         |
//!      instruction     +-> SP / SFU / DP pipes ----+-> result bus -> register file
//!      buffers         +-> shared memory, params --+
//!                      +-> address unit -> LSU -> load writeback -> register file
//! ```
//! One block, [`SmCore`], whose parts are files of their own; [`Dispatcher`] feeds the cores
//! with CTAs.
//!
//! | file             | part                                                            |
//! |------------------|-----------------------------------------------------------------|
//! | `core`           | the block: ports, order of the stages, sleep                    |
//! | `issue`          | choice of a warp per scheduler and dispatch of its instruction  |
//! | `retire`         | result bus, load replies, exits of warps and CTAs               |
//! | `decode`         | per-pc table: pipe, latency, register masks                     |
//! | `fetch`          | instruction buffers and the fetch stage                         |
//! | `scheduler`      | greedy-then-oldest, loose round robin, two-level                |
//! | `scoreboard`     | pending writes and hazard masks                                 |
//! | `halves`         | warps of 64 lanes on a data path of 32                          |
//! | `simt_stack`     | post-dominator reconvergence                                    |
//! | `barrier`        | barriers, with thread counts and reductions                     |
//! | `warps`, `cta`   | warp slots, CTA slots                                           |
//! | `register_file`  | words and predicates                                            |
//! | `operands`, `alu`| operand read and 32-lane execution                              |
//! | `collectors`     | register file banks, and who waits for them                     |
//! | `pipes`          | initiation intervals, in-flight results, result bus calendar    |
//! | `access`, `check`| loads, stores and atomics; what they may touch                  |
//! | `shared_memory`  | banked scratchpad                                               |
//! | `address_unit`   | addresses and beats to the LSU                                  |
//! | `texture`        | texture fetches                                                 |
//! | `throttle`       | which warps a throttle keeps from issuing                       |
//! | `stall`          | exactly one reason per scheduler and cycle                      |
//! | `snapshot`       | what a warp goes on from, for who looks for circles             |
//! | `image`, `map`, `fault` | what the host loads, and what it is told when it fails   |
//! | `dispatcher`     | CTAs to SMs in linear order                                     |
//! | `recorded`, `stream`, `replay` | kernels of a trace                                  |

mod access;
mod address_unit;
mod alu;
mod barrier;
mod check;
mod collectors;
mod config;
mod core;
mod cta;
mod decode;
mod dispatcher;
mod fault;
mod fetch;
mod halves;
mod image;
mod issue;
mod map;
mod message;
mod operands;
mod pipes;
mod recorded;
mod register_file;
mod replay;
mod retire;
mod scheduler;
mod scoreboard;
mod shared_memory;
mod simt_stack;
mod snapshot;
mod stall;
mod stream;
mod texture;
mod throttle;
mod warps;

pub use self::core::{Counters, SmCore, SmIo, Waiting};
pub use config::{ClassTiming, OpTiming, OperandConfig, PipeConfig, SchedulerPolicy, SharedConfig, SmConfig};
pub use dispatcher::{Dispatcher, DispatcherIo};
pub use fault::{AccessFault, Fault, FaultKind};
pub use image::{KernelImage, LaunchError, occupancy};
pub use map::{AddressMap, MapError, NamedRange};
pub use message::{CtaDone, CtaLaunch};
pub use snapshot::WarpState;
pub use stall::StallReason;
pub use stream::CtaSource;

/// Most warp slots of an SM: one bit each in the masks of the core.
pub const MAX_WARPS: usize = 64;
/// Most CTA slots of an SM.
pub const MAX_CTAS: usize = 32;
