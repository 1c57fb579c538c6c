//! # SM core and CTA dispatcher
//! Models a streaming multiprocessor (SM): fetches, issues and executes the warps of cooperative thread
//! arrays (CTAs).
//! ```text
//! fetch -> decode -> issue -> operand read -> execute -> writeback
//!   |        |         |  scheduler, scoreboard, SIMT stack, barriers
//!   |        |         |
//! L1I  instruction     +-> SP / SFU / DP / tensor -+-> result bus -> register file
//!      buffers         +-> shared memory, params --+
//!                      +-> address unit -> LSU -> load writeback -> register file
//! ```
//! [`SmCore`] is one hardware block; its components have files of their own, in folders by pipeline stage.
//! [`Dispatcher`] distributes the CTAs of a grid to the cores.
//!
//! | file         | holds                                                       |
//! |--------------|-------------------------------------------------------------|
//! | `core`       | the hardware block: ports, order of the stages, sleep       |
//! | `dispatcher` | distribution of CTAs to SMs, in linear order                |
//! | `message`    | messages between dispatcher and cores                       |
//! | `front`      | fetch, decode, scoreboard, schedulers, issue, stall reasons |
//! | `scheduler`  | schemes that determine which ready warp issues              |
//! | `warp`       | warp and CTA slots, SIMT stacks, halves, barriers           |
//! | `execute`    | register file, operands, pipes, writeback                   |
//! | `memory`     | address unit, shared memory, textures, access checks        |
//! | `trace`      | replay of traced kernels                                    |
//! | `host`       | kernel images, address maps, faults, warp snapshots         |

mod config;
mod core;
mod dispatcher;
mod execute;
mod front;
mod host;
mod memory;
mod message;
pub mod scheduler;
mod trace;
mod warp;

pub use self::core::{Counters, OptionalHardware, SmCore, SmExtraPorts, SmIo, SmPorts, WaitingWarp};
pub use config::{
    ClassTiming, InstructionCacheConfig, InstructionStore, OpTiming, OperandConfig, PipeConfig, SharedConfig, SmConfig,
    TraceTiming,
};
pub use dispatcher::{Dispatcher, DispatcherIo, DispatcherPorts};
pub use front::decode::Pipe;
pub use front::icache::{FetchOutcome, FetchWatch, InstructionStats, WatchedFetch};
pub use front::scheduler::{Ages, Scheduler};
pub use front::scoreboard::Scoreboard;
pub use front::stall::{StallCycles, StallReason};
pub use host::fault::{AccessFault, Fault, FaultKind};
pub use host::image::{KernelImage, LaunchError, occupancy};
pub use host::map::{AddressMap, MapError, NamedRange};
pub use host::snapshot::WarpState;
pub use message::{CtaDone, CtaLaunch};
pub use trace::stream::CtaSource;
pub use warp::simt_stack::{SimtStacks, StackEntry};

/// Maximum number of warp slots per SM: masks of warps are 64 bits wide.
pub const MAX_WARPS: usize = 64;
/// Maximum number of CTA slots per SM: masks of CTAs are 32 bits wide.
pub const MAX_CTAS: usize = 32;
