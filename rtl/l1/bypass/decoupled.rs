//! # Bypass by the counts of decoupled tags
//! Makes loads bypass whose lines decoupled tags have not counted often enough (li2015 section 4). The counts
//! are in the tags: the scheme reads them, and reports the loads that bypassed.

use serde::{Deserialize, Serialize};

use super::super::coalescer::LineAccess;
use super::super::tag_store::TagStore;
use super::{BypassProbe, Hooks, View};
use crate::kernel::Edge;

/// Bypass scheme of decoupled tags.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct BelowThreshold;

#[typetag::serde]
impl Hooks for BelowThreshold {
    fn bypasses(&self, at: &Edge<'_>, head: &LineAccess, view: &View<'_>) -> bool {
        view.tags().as_decoupled().is_some_and(|tags| tags.bypasses(at, head.line))
    }

    fn on_bypass(&mut self, at: &Edge<'_>, request: &LineAccess, tags: &mut TagStore) -> BypassProbe {
        if let Some(tags) = tags.decoupled_mut() {
            tags.on_bypass(at, request.line);
        }
        BypassProbe::default()
    }
}
