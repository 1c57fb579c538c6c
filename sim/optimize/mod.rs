//! # Choosing the loads that the L1 caches
//! Applies the compiler method of xie2013 to this model. A launch file is executed once by the functional
//! interpreter, which records the requests of all loads. From this recording, the untimed golden L1 computes
//! the hits for any set of cached loads ([`Subject`]), and [`compiler`] decides which loads to cache.
//! Alternatively, the clocked machine measures each set of cached loads in a separate run ([`Clocked`]).

mod clocked;
mod decide;
mod report;
mod subject;
#[cfg(test)]
mod tests;

pub use clocked::Clocked;
pub use decide::{Decision, Optimization, Solution};
pub use report::Report;
pub use subject::Subject;
