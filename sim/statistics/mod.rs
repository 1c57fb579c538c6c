//! # Statistics
//! Statistics of a run, schema 1. Keys are added but never renamed. A quantity that the machine does not have
//! is `null`, never 0. Everything except `host` is the same on every host.
//!
//! | file     | content                                                                                      |
//! |----------|----------------------------------------------------------------------------------------------|
//! | `of_run` | the keys of a run in their order: the counters of the blocks and the values derived from them |
//! | `sheet`  | a counter reader that stores the keys as a tree, from which JSON and the dictionary follow    |

mod of_run;
mod sheet;

pub use of_run::{SCHEMA, dictionary, of_run};
pub use sheet::{Entry, StatisticsTable};
