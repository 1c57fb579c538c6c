//! # Throttling of warps
//! Fewer warps at a time leave each more of the L1D. Three schemes say which warps may issue what; the
//! schedulers of a core find the answer in their pools and know nothing of where it comes from.
//!
//! ```text
//!   sm i   l1 ──misses──▶ core ──report──▶ coordinator
//!             ◀──period──      ◀──order───
//! ```
//!
//! | scheme    | source                       | what is held back                              | parts                |
//! |-----------|------------------------------|------------------------------------------------|----------------------|
//! | limit     | khairy2015 section 5 (SWT)   | all but the oldest warps of a scheduler        | `sm.warp_limit` only |
//! | `dwt-cs`  | khairy2015 section 4.2       | the same, with a limit found while it runs     | [`monitor`], [`coordinator`] |
//! | `ccws`    | khairy2015 section 5, Table 4| loads of warps that have not lost locality     | [`victims`], [`scores`] |
//!
//! A warp at a barrier or at its end takes no place among the oldest: the warps that it waits for
//! might be those held back.

pub mod config;
pub mod coordinator;
mod memo;
pub mod message;
pub mod monitor;
pub mod scores;
pub mod side;
pub mod victims;
