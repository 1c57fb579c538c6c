//! # Bypass of loads that would stall
//! Makes a load bypass the L1D instead of stalling on a reservation fail, for some or all fail reasons
//! (li2015 section 6.1, khairy2015 Table 4).

use serde::{Deserialize, Serialize};

use super::super::access::MemorySpace;
use super::super::coalescer::LineAccess;
use super::super::mrpb::StallBypass;
use super::{Hooks, View};
use crate::kernel::Edge;

/// Bypass scheme of one cache that makes loads bypass instead of stalling.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct BypassOnStall {
    /// Reservation-fail reasons for which a load bypasses the cache.
    covered: StallBypass,
}

impl BypassOnStall {
    /// Creates the bypass scheme for the given reservation-fail reasons.
    pub fn new(covered: StallBypass) -> Self {
        Self { covered }
    }
}

#[typetag::serde]
impl Hooks for BypassOnStall {
    fn bypasses(&self, _at: &Edge<'_>, head: &LineAccess, view: &View<'_>) -> bool {
        head.space == MemorySpace::Global && self.covered.covers(view.fails(head))
    }
}
