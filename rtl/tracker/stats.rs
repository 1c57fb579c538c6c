//! What a bank of the sharing tracker has done.

use serde::{Deserialize, Serialize};

use crate::kernel::Counted;

/// Counters of one bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Counted)]
pub struct TrackerStats {
    /// Loads looked up.
    pub lookups: u64,
    /// Those sent on to an L1.
    pub forwards: u64,
    /// Forwards that were supplied.
    pub supplied: u64,
    /// Forwards whose line was not there.
    pub refused: u64,
    /// Those of them whose line was still in flight to that L1.
    pub too_early: u64,
    /// Lines listed as they arrived.
    pub listed: u64,
    /// Lines that were to be listed, but were written in flight.
    pub poisoned: u64,
    /// Loads sent on to the L2 because no row was free to note them in.
    pub unnoted: u64,
    /// Stores and coherent operations.
    pub writes: u64,
    /// Lines that L1s have dropped.
    pub notices: u64,
    /// Cycles in which a store waited for a forward of its own SM.
    #[counted(cycles)]
    pub held: u64,
}

impl TrackerStats {
    /// Whether every forward was answered once.
    ///
    /// # Errors
    /// The sum that does not hold.
    pub fn conserved(&self) -> Result<(), String> {
        let Self { forwards, supplied, refused, .. } = self;
        if *forwards == supplied + refused {
            return Ok(());
        }
        Err(format!("{forwards} forwards, but {supplied} were supplied and {refused} refused"))
    }
}
