//! # Which loads go through the L1
//! The compiler of xie2013: from what the loads of a kernel ask of the L1, alone and in pairs, to PTX in
//! which each of them says whether it is cached.
//!
//! | module           | holds                                                                    |
//! |------------------|--------------------------------------------------------------------------|
//! | [`characterise`] | what was measured of each load and of each pair (section 4.3)            |
//! | [`graph`]        | the traffic reduction graph: bytes of L2 traffic that caching saves      |
//! | [`solve`]        | which loads to cache: by a heuristic, by integer programming, by trying  |
//! | [`rewrite`]      | the loads of a PTX text, and the text with other cache operators         |
//!
//! Nothing is measured here: whoever has a model of the caches fills in a
//! [`Characterisation`](characterise::Characterisation).

pub mod characterise;
pub mod graph;
pub mod rewrite;
pub mod solve;
mod triangle;

pub use triangle::Triangle;
