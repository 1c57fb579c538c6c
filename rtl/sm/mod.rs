//! # SM core and CTA dispatcher
//! ```text
//! fetch -> decode -> issue -> operand read -> execute -> writeback
//!   |        |         |  scheduler, scoreboard, SIMT stack, barriers
//!   |        |         |
//! L1I  instruction     +-> SP / SFU / DP / tensor -+-> result bus -> register file
//!      buffers         +-> shared memory, params --+
//!                      +-> address unit -> LSU -> load writeback -> register file
//! ```
//! One block, [`SmCore`], whose parts are files of their own, in folders by what they hold; [`Dispatcher`]
//! feeds the cores with CTAs.
//!
//! | file         | holds                                                       |
//! |--------------|-------------------------------------------------------------|
//! | `core`       | the block: ports, order of the stages, sleep                |
//! | `dispatcher` | CTAs to SMs in linear order                                 |
//! | `message`    | what dispatcher and cores send each other                   |
//! | `front`      | fetch, decode, scoreboard, schedulers, issue, stall reasons |
//! | `warp`       | warp and CTA slots, SIMT stacks, halves, barriers           |
//! | `execute`    | register file, operands, pipes, writeback                   |
//! | `memory`     | address unit, shared memory, textures, checks of accesses   |
//! | `trace`      | kernels of a trace                                          |
//! | `host`       | what the host loads, and what it is told                    |

mod config;
mod core;
mod dispatcher;
mod execute;
mod front;
mod host;
mod memory;
mod message;
mod trace;
mod warp;

pub use self::core::{CoreHas, Counters, SmCore, SmExtraPorts, SmIo, SmPorts, Waiting};
pub use config::{
    ClassTiming, InstructionCacheConfig, InstructionStore, OpTiming, OperandConfig, PipeConfig, SchedulerPolicy,
    SharedConfig, SmConfig, TraceTiming,
};
pub use dispatcher::{Dispatcher, DispatcherIo, DispatcherPorts};
pub use front::decode::Pipe;
pub use front::icache::{FetchOutcome, FetchWatch, InstructionStats, WatchedFetch};
pub use front::scheduler::{Ages, Scheduler};
pub use front::scoreboard::Scoreboard;
pub use front::stall::{Slots, StallReason};
pub use host::fault::{AccessFault, Fault, FaultKind};
pub use host::image::{KernelImage, LaunchError, occupancy};
pub use host::map::{AddressMap, MapError, NamedRange};
pub use host::snapshot::WarpState;
pub use message::{CtaDone, CtaLaunch};
pub use trace::stream::CtaSource;
pub use warp::simt_stack::{Entry as StackEntry, SimtStacks};

/// Most warp slots of an SM: one bit each in the masks of the core.
pub const MAX_WARPS: usize = 64;
/// Most CTA slots of an SM.
pub const MAX_CTAS: usize = 32;
