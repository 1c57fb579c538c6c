//! # Bypass by the counts of decoupled tags
//! Makes a load bypass the L1D if the reference count of its line is still too low (li2015 section 4). The
//! decoupled tags hold the counts. This scheme reads them, and reports each bypassing load to the tags, which
//! count it.

use serde::{Deserialize, Serialize};

use super::super::coalescer::LineAccess;
use super::super::tag_store::TagStore;
use super::{BypassProbe, Hooks, View};
use crate::kernel::Edge;

/// Bypass scheme that reads the reference counts in the decoupled tags.
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
