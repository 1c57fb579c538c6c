//! Counters of a bank of the sharing tracker.

use serde::{Deserialize, Serialize};

use crate::kernel::Counted;

/// Counters of one bank of the sharing tracker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Counted)]
pub struct TrackerStats {
    /// Number of loads that reached the tracker, including those that are counted in `unnoted`.
    pub lookups: u64,
    /// Number of loads forwarded to an L1.
    pub forwards: u64,
    /// Number of forwarded loads whose line was supplied.
    pub supplied: u64,
    /// Number of forwarded loads that the supplier refused, because it did not have the line.
    pub refused: u64,
    /// Number of refused loads, included in `refused`, whose line was still in flight to the supplier.
    pub too_early: u64,
    /// Number of lines whose requesting L1 was listed as a sharer when the line was sent to it.
    pub listed: u64,
    /// Number of lines whose requesting L1 was not listed because the line was written while in flight.
    pub poisoned: u64,
    /// Number of loads sent to the L2 without a table lookup, because the table of in-flight loads was full.
    pub unnoted: u64,
    /// Number of stores and coherent operations.
    pub writes: u64,
    /// Number of eviction notices from L1s.
    pub notices: u64,
    /// Number of cycles in which a store or a coherent operation waited for a forwarded load of the same SM.
    #[counted(cycles)]
    pub held: u64,
}

impl TrackerStats {
    /// Checks that every forward was answered exactly once.
    ///
    /// # Errors
    /// Returns an error that describes the difference if the counts differ.
    pub fn check_conservation(&self) -> Result<(), String> {
        let Self { forwards, supplied, refused, .. } = self;
        if *forwards == supplied + refused {
            return Ok(());
        }
        Err(format!("{forwards} forwards, but {supplied} were supplied and {refused} refused"))
    }
}
