//! # Choosing the loads that go through the L1
//! The compiler of xie2013 on this model: a launch file runs once on the functional interpreter, the
//! golden L1 without time answers for every set of cached loads that is asked about ([`Subject`]), and
//! [`compiler`] turns what was measured into decisions. The clocked machine answers the same questions
//! run by run ([`Clocked`]).

mod clocked;
mod decide;
mod report;
mod subject;
#[cfg(test)]
mod tests;

pub use clocked::Clocked;
pub use decide::{Decision, Optimised, Solution};
pub use report::Report;
pub use subject::Subject;
