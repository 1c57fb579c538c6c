//! # Bypass by the counts of decoupled tags
//! Makes loads bypass whose lines decoupled tags have not counted often enough (li2015 section 4). The counts
//! are in the tags: the scheme reads them, and reports the loads that bypassed.

use serde::{Deserialize, Serialize};

use super::super::coalescer::LineAccess;
use super::super::tag_store::TagStore;
use super::{Hooks, Past, View};
use crate::kernel::Edge;

/// Bypass scheme of decoupled tags.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Uncounted;

#[typetag::serde]
impl Hooks for Uncounted {
    fn sends_past(&self, at: &Edge<'_>, head: &LineAccess, view: &View<'_>) -> bool {
        view.tags().decoupled().is_some_and(|tags| tags.sends_past(at, head.line))
    }

    fn went_past(&mut self, at: &Edge<'_>, request: &LineAccess, tags: &mut TagStore) -> Past {
        if let Some(tags) = tags.decoupled_mut() {
            tags.went_past(at, request.line);
        }
        Past::default()
    }
}
