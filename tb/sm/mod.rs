//! # Testbench of the SM core and the CTA dispatcher
//! Runs PTX kernels on two cores and a dispatcher. In place of the LSU, there is a memory that stalls, delays
//! and reorders at random. Results are compared with the functional interpreter.
//!
//! Every run is repeated in all evaluation modes of the simulator: with every hardware block evaluated at
//! every clock edge, with a shuffled order of evaluation, and with a check for missed wake-ups (lint).
//! Cycles, messages, state, instruction counts and stall cycles must be equal. Every kernel is also run with
//! warps of 64 lanes.
//!
//! | testpoint     | intent                                                                   |
//! |---------------|--------------------------------------------------------------------------|
//! | `control::*`  | nested branches, loops of unequal trip counts, exits, guards             |
//! | `random::*`   | random structured kernels agree with the interpreter                     |
//! | `data::*`     | every access width, vectors, extension, parameters, 64 bits              |
//! | `atomics::*`  | atomics in shared and global memory, fences                              |
//! | `spaces::*`   | constants, local memory, generic addresses, textures                     |
//! | `warp_ops::*` | shuffles and votes, carries, barriers with operands                      |
//! | `tensor::*`   | matrix products and loads, their timing, partial warps                   |
//! | `shared::*`   | exchange through shared memory, barriers, conflicts                      |
//! | `throttle::*` | a warp limit admits the oldest warps and never blocks a barrier          |
//! | `scheduler::*`| each choice of a warp is that of the scheme's golden model              |
//! | `timing::*`   | issue tables: latency, scheduling order, ports, barriers                 |
//! | `halves::*`   | warps of 64 lanes: issue in halves, pipes of 16 lanes                    |
//! | `icache::*`   | instruction cache: latency of a miss, pairs, waiting warps, golden model |
//! | `limits::*`   | occupancy, launch errors, faults, reports of a core that hangs           |

mod bench;
mod lines;
pub(crate) mod random;
pub mod scheduler;

#[cfg(test)]
mod atomics;
#[cfg(test)]
mod control;
#[cfg(test)]
mod data;
#[cfg(test)]
mod halves;
#[cfg(test)]
mod icache;
#[cfg(test)]
mod issue_log;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod shared;
#[cfg(test)]
mod spaces;
#[cfg(test)]
mod sub_cores;
#[cfg(test)]
mod tensor;
#[cfg(test)]
mod throttle;
#[cfg(test)]
mod timing;
#[cfg(test)]
mod warp_ops;
