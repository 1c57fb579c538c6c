//! # Statistics
//! Statistics of a run, schema 1. Keys may be added but are never renamed. A quantity that the machine does
//! not have is `null`, never 0. Everything except `host` is the same on every computer.
//!
//! | file     | content                                                                                      |
//! |----------|----------------------------------------------------------------------------------------------|
//! | `of_run` | the keys of a run in their order: hardware counters, and the values derived from them         |
//! | `table`  | a counter reader that stores the keys as a tree, from which JSON and the dictionary follow    |

mod of_run;
mod table;

pub use of_run::{SCHEMA, dictionary, of_run};
pub use table::{Entry, StatisticsTable};
