//! The hardware model: clocked, bit-width-accurate hardware blocks of a GPU cache hierarchy.
//!
//! Every hardware block is a state machine. It reads only values that its neighbors committed before the
//! current clock edge, and sends values to them only through registered channels. The order in which hardware
//! blocks are evaluated therefore cannot change a result. [`kernel`] implements this rule. All other modules
//! are hardware built on top of `kernel`, with one hardware block per file. The table lists them from the SMs
//! to memory.
//!
//! | module      | holds                                                                  |
//! |-------------|------------------------------------------------------------------------|
//! | [`sm`]      | CTA dispatcher and SM core                                             |
//! | [`throttle`]| warp throttling: which warps may issue, to relieve the L1D             |
//! | [`l1`]      | LSU and its L1 caches                                                  |
//! | [`noc`]     | crossbars and their packets                                            |
//! | [`tracker`] | sharing tracker: which L1s hold a line, and supply it to other SMs     |
//! | [`l2`]      | L2 bank                                                                |
//! | [`dram`]    | GDDR5 or HBM channel                                                   |
//! | [`cells`]   | FIFO, arbiter, LRU, atomic unit                                        |
//! | [`index`]   | set index functions as XOR trees                                       |
//! | [`mshr_policy`] | which accesses may use the MSHR of the L1D or of an L2 bank         |
//! | [`replacement`] | replacement policies of all set-associative stores                  |
//! | [`kernel`]  | clocks, registers, arrays, channels, `describe`, the evaluation loop   |
//! | [`machine`] | top level: wiring of all hardware blocks, and the interface for the simulator (host code) |
//! | [`recorded`]| synthetic memory values for traces, which record addresses only        |
//! | [`hook`]    | calls of scheme hooks in progress, to report a hook that never returns |
//! | [`scheme_counts`] | counters that schemes declare themselves                         |
//! | [`config`]  | collection of the rules that a configuration violates                  |

// The code that derive macros generate refers to this crate by the name `rtl`, even inside the crate.
extern crate self as rtl;

pub mod cells;
pub mod choice;
pub mod config;
pub mod dram;
pub mod hook;
pub mod index;
pub mod kernel;
pub mod l1;
pub mod l2;
pub mod machine;
pub mod mshr_policy;
pub mod noc;
pub mod recorded;
pub mod replacement;
pub mod scheme_counts;
pub mod sm;
pub mod throttle;
pub mod tracker;
