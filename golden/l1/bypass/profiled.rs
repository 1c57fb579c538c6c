//! # Loads of lines that a profile keeps out
//! A set of lines that are worth a place (li2015 section 6.1, Profiled-BYPASS); which ones is the host's knowledge.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::super::event::{Load, Space};
use super::{Bypass, Contents, Place, Scheme, Way};

/// Its keys say which lines the host admits: the twin is told of them.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Profile {}

#[typetag::deserialize(name = "profiled")]
impl Scheme for Profile {
    fn twin(&self, _place: &Place) -> Option<Box<dyn Bypass>> {
        Some(Box::new(Profiled { admitted: None }))
    }
}

/// The twin.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// All lines, until it is told.
    admitted: Option<BTreeSet<u64>>,
}

impl Bypass for Profiled {
    fn way(&self, load: &Load, _contents: &dyn Contents) -> Way {
        let admits = self.admitted.as_ref().is_none_or(|lines| lines.contains(&load.line));
        if load.space == Space::Global && !admits { Way::Past } else { Way::Through }
    }

    fn admit(&mut self, lines: &[u64]) {
        self.admitted = Some(lines.iter().copied().collect());
    }
}
