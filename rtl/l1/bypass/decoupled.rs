//! # Loads that decoupled tags have not counted often enough
//! The counts are those of the tags (li2015 section 4): the scheme asks them, and tells them who went past.

use serde::{Deserialize, Serialize};

use super::super::coalescer::LineAccess;
use super::super::tag_store::TagStore;
use super::{Hooks, Past, View};
use crate::kernel::Edge;

/// The scheme.
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
