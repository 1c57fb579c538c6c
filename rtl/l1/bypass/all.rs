//! # Every global load goes past
//! There is nothing to decide and nothing to remember (li2015 section 6.1, BALL).

use super::super::coalescer::LineAccess;
use super::{Hooks, View};
use crate::kernel::Edge;

/// The scheme.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct All;

impl Hooks for All {
    fn sends_all(&self) -> bool {
        true
    }

    fn sends_past(&self, _at: &Edge<'_>, _head: &LineAccess, _view: &View<'_>) -> bool {
        false
    }
}
