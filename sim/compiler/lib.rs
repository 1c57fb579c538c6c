//! # Selection of the loads that the L1 caches
//! Selects the loads of a kernel that the L1 should cache, as the compiler of xie2013 does. The input is the
//! number of hits and bytes of each load, cached alone and in pairs. The output is PTX in which a cache
//! operator marks each load as cached or bypassed.
//!
//! | module           | contents                                                                   |
//! |------------------|----------------------------------------------------------------------------|
//! | [`characterise`] | metrics of each load and of each pair (section 4.3)                        |
//! | [`graph`]        | traffic reduction graph: bytes of L2 traffic that caching saves            |
//! | [`solve`]        | which loads to cache: heuristic, integer programming, or exhaustive search |
//! | [`rewrite`]      | finds the loads of a PTX text and changes their cache operators            |
//!
//! This crate runs no simulation. The caller measures the loads with a model of the caches and passes the
//! results in a [`KernelMetrics`](characterise::KernelMetrics).

pub mod characterise;
pub mod graph;
pub mod rewrite;
pub mod solve;
mod triangle;

pub use triangle::Triangle;
