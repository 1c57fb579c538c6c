//! # Front end of the core
//! Fetches, decodes and issues at most one instruction per scheduler and cycle, and attributes stalls to
//! reasons.
//!
//! | file         | holds                                            |
//! |--------------|--------------------------------------------------|
//! | `fetch`      | instruction buffers and the fetch stage          |
//! | `icache`     | instruction cache                                |
//! | `cached`     | fetch through the instruction cache              |
//! | `decode`     | per-pc table: pipe, latency, register masks      |
//! | `scoreboard` | pending writes and hazard masks                  |
//! | `scheduler`  | selection of a ready warp by the scheme          |
//! | `throttle`   | warps that a throttle keeps from issuing         |
//! | `issue`      | selection of a warp per scheduler                |
//! | `dispatch`   | execution of the selected instruction at issue   |
//! | `stall`      | exactly one stall reason per scheduler and cycle |

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
