//! # Which loads go through the L1
//! Selects the loads of a kernel that the L1 should cache, as the compiler of xie2013 does. The input is how
//! the loads use the L1, alone and in pairs. The output is PTX in which a cache operator marks each load as
//! cached or bypassed.
//!
//! | module           | holds                                                                      |
//! |------------------|----------------------------------------------------------------------------|
//! | [`characterise`] | metrics of each load and of each pair (section 4.3)                        |
//! | [`graph`]        | traffic reduction graph: bytes of L2 traffic that caching saves            |
//! | [`solve`]        | which loads to cache: heuristic, integer programming, or exhaustive search |
//! | [`rewrite`]      | the loads of a PTX text, and the text with other cache operators           |
//!
//! This crate measures nothing: a caller that has a model of the caches fills in a
//! [`KernelMetrics`](characterise::KernelMetrics).

pub mod characterise;
pub mod graph;
pub mod rewrite;
pub mod solve;
mod triangle;

pub use triangle::Triangle;
