//! # Choosing the loads that use the L1
//! Applies the compiler method of xie2013 to this model. A launch file runs once on the functional
//! interpreter. From this recording, the untimed golden L1 computes the hits for any set of cached loads
//! ([`Subject`]), and [`compiler`] derives decisions from these measurements. Alternatively, the clocked
//! machine measures each set in a separate run ([`Clocked`]).

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
