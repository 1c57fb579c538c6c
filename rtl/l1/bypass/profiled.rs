//! # Loads of lines that a profile keeps out
//! An earlier run without time has told which lines a kernel asks for often enough (li2015 section 6.1,
//! Profiled-BYPASS). The list is knowledge of the host and no hardware.

use std::sync::Arc;

use super::super::access::MemorySpace;
use super::super::coalescer::LineAccess;
use super::{Hooks, View};
use crate::kernel::Edge;

/// The scheme.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Profiled {
    /// The lines admitted in this kernel, in order; all, until the host says which.
    admitted: Option<Arc<[u64]>>,
}

impl Hooks for Profiled {
    fn sends_past(&self, _at: &Edge<'_>, head: &LineAccess, _view: &View<'_>) -> bool {
        head.space == MemorySpace::Global && self.keeps_out(head.line)
    }

    fn keeps_out(&self, line: u64) -> bool {
        self.admitted.as_ref().is_some_and(|lines| lines.binary_search(&line).is_err())
    }

    fn admit(&mut self, lines: &Arc<[u64]>) {
        self.admitted = Some(Arc::clone(lines));
    }
}
