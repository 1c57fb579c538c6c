//! Formatting of numbers for human readers.

pub use input::{counted, grouped, noun};
