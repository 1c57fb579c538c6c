//! # Loads that would have to wait
//! A load goes past instead of being refused, for some of the reasons or for all (li2015 section 6.1, khairy2015
//! Table 4).

use serde::{Deserialize, Serialize};

use super::super::access::MemorySpace;
use super::super::coalescer::LineAccess;
use super::super::mrpb::StallBypass;
use super::{Hooks, View};
use crate::kernel::Edge;

/// The scheme.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct GiveWay {
    /// For what a load goes past.
    covered: StallBypass,
}

impl GiveWay {
    /// For these reasons.
    pub fn new(covered: StallBypass) -> Self {
        Self { covered }
    }
}

#[typetag::serde]
impl Hooks for GiveWay {
    fn sends_past(&self, _at: &Edge<'_>, head: &LineAccess, view: &View<'_>) -> bool {
        head.space == MemorySpace::Global && self.covered.covers(view.fails(head))
    }
}
