//! # Testbench of the SM core and the CTA dispatcher
//! Runs PTX kernels on two cores and a dispatcher. A memory that accepts, delays and reorders at random
//! stands in for the LSU. Results are compared with the functional interpreter.
//!
//! Every run is repeated with every block evaluated at every edge, with a shuffled order of evaluation, and
//! with the lint for missed wake-ups. Cycles, beats, state, instruction counts and stall cycles must be
//! equal. Every kernel runs once more on warps of 64 lanes.
//!
//! | testpoint     | intent                                                           |
//! |---------------|------------------------------------------------------------------|
//! | `control::*`  | nested branches, loops of unequal trip counts, exits, guards     |
//! | `random::*`   | random structured kernels agree with the interpreter             |
//! | `data::*`     | every access width, vectors, extension, parameters, 64 bits      |
//! | `atomics::*`  | atomics in shared and global memory, fences                      |
//! | `spaces::*`   | constants, local memory, generic addresses, textures             |
//! | `warp_ops::*` | shuffles and votes, carries, barriers with operands              |
//! | `tensor::*`   | matrix products and loads, their timing, partial warps           |
//! | `shared::*`   | exchange through shared memory, barriers, conflicts              |
//! | `throttle::*` | a warp limit admits the oldest warps and never blocks a barrier  |
//! | `timing::*`   | issue tables: latency, scheduling order, ports, barriers         |
//! | `halves::*`   | warps of 64 lanes: issue in halves, pipes of 16 lanes            |
//! | `icache::*`   | instruction cache: latency of a miss, pairs, waiting warps, twin |
//! | `limits::*`   | occupancy, launch errors, faults, reports of a core that hangs   |

mod bench;
mod lines;
pub(crate) mod random;

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
