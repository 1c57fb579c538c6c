//! Numbers as people read them.

pub use input::{counted, grouped, noun};
