//! # Front of the core
//! From the instruction store to the pipes: which warp goes on, and why none does.
//!
//! | file         | holds                                            |
//! |--------------|--------------------------------------------------|
//! | `fetch`      | instruction buffers and the fetch stage          |
//! | `icache`     | instruction cache                                |
//! | `cached`     | what the fetch stage does with it                |
//! | `decode`     | per-pc table: pipe, latency, register masks      |
//! | `scoreboard` | pending writes and hazard masks                  |
//! | `scheduler`  | greedy-then-oldest, loose round robin, two-level |
//! | `throttle`   | which warps a throttle keeps from issuing        |
//! | `issue`      | choice of a warp per scheduler                   |
//! | `dispatch`   | what the core does with its instruction          |
//! | `stall`      | exactly one reason per scheduler and cycle       |

mod cached;
pub(super) mod decode;
mod dispatch;
pub(super) mod fetch;
pub(super) mod icache;
pub(super) mod issue;
pub(super) mod scheduler;
pub(super) mod scoreboard;
pub(super) mod stall;
pub(super) mod throttle;
