//! Formatting of numbers for human readers.

pub use input::{format_count, format_thousands, noun};
