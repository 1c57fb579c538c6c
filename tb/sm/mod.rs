//! # Testbench of the SM core and the CTA dispatcher
//! Kernels in PTX run on two cores and a dispatcher; a memory that accepts, delays and reorders
//! at random stands in for the LSU. Results are compared with the functional interpreter, and
//! every run is repeated with every block evaluated at every edge, with the order of evaluation
//! shuffled and with the lint for missed wake-ups: cycles, beats, state, instruction counts and
//! stall cycles must be the same. Every kernel runs once more on warps of 64 lanes.
//!
//! | testpoint                  | intent                                                          |
//! |----------------------------|-----------------------------------------------------------------|
//! | `control::*`               | nested branches, loops of unequal trip counts, exits, guards    |
//! | `random::*`                | random structured kernels agree with the interpreter            |
//! | `data::*`                  | every access width, vectors, extension, parameters, 64 bits     |
//! | `atomics::*`               | atomics in shared and global memory, fences                     |
//! | `spaces::*`                | constants, local memory, generic addresses, textures            |
//! | `warp_ops::*`              | exchanges between lanes, carries, barriers with operands        |
//! | `tensor::*`                | products and loads of matrices, their time, warps that are not whole |
//! | `shared::*`                | exchange through shared memory, barriers, conflicts             |
//! | `throttle::*`              | a limit leaves the oldest warps and stands in no barrier's way   |
//! | `timing::*`                | issue tables: latency, scheduling order, ports, barriers        |
//! | `halves::*`                | warps of 64 lanes: issue in halves, pipes of 16 lanes           |
//! | `icache::*`                | instruction cache: latency of a miss, pairs, who waits, twin    |
//! | `limits::*`                | occupancy, launch errors, faults, reports of a core that hangs  |

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
