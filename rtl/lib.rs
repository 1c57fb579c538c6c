//! The hardware: clocked, bit-width-accurate blocks of a GPU cache hierarchy.
//!
//! Every block is a state machine that reads what its neighbours committed before this clock
//! edge and talks to them through registered channels only, so that the order in which blocks
//! are evaluated can never change a result. [`kernel`] holds that contract; everything else is
//! hardware written on top of it, one block a file, listed here from the SMs to memory.
//!
//! | module      | holds                                                                  |
//! |-------------|------------------------------------------------------------------------|
//! | [`sm`]      | CTA dispatcher and SM core                                             |
//! | [`throttle`]| which warps may issue, for the sake of the L1D                       |
//! | [`l1`]      | LSU with its caches                                                    |
//! | [`noc`]     | crossbars and their packets                                            |
//! | [`tracker`] | which L1s hold a line, and supply it to others                        |
//! | [`l2`]      | L2 bank                                                                |
//! | [`dram`]    | GDDR5 or HBM channel                                                   |
//! | [`cells`]   | FIFO, arbiter, LRU, atomic unit                                        |
//! | [`index`]   | set index functions as XOR trees                                       |
//! | [`kernel`]  | clocks, registers, arrays, channels, `describe`, the evaluation loop   |
//! | [`machine`] | the wiring of all blocks, and what a host may do with them             |
//! | [`recorded`]| the values that memory holds behind a trace                            |
//! | [`hook`]    | the hook of a scheme that is under way, for one that never returns     |
//! | [`config`]  | how broken rules of a configuration are collected                      |

// Derived code names this crate from outside.
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
pub mod noc;
pub mod recorded;
pub mod sm;
pub mod throttle;
pub mod tracker;
