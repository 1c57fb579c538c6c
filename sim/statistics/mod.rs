//! # Statistics
//! What a run says about itself, schema 1: keys are added, never renamed; a quantity that the machine does not have is
//! `null`, never 0. Everything but `host` is the same on every host.
//!
//! | file     | holds                                                                                        |
//! |----------|----------------------------------------------------------------------------------------------|
//! | `of_run` | the keys of a run in their order: what the blocks counted, and what is formed of it           |
//! | `sheet`  | the reader that keeps them as a tree: JSON, paths, and the dictionary follow from it          |

mod of_run;
mod sheet;

pub use of_run::{SCHEMA, dictionary, of_run};
pub use sheet::{Entry, Sheet};
