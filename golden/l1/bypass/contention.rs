//! # Loads that contend
//! An instruction contends that touches as many lines as each resident warp has of the cache, or more; its loads go
//! past unless their line is here (anssari2012 section 3.3).

use serde::Deserialize;

use super::super::event::Load;
use super::{Bypass, Contents, Place, Scheme, Way};
use crate::hybrid::is_contentious;

/// It has no keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Contentious {}

#[typetag::deserialize(name = "contentious")]
impl Scheme for Contentious {
    fn twin(&self, place: &Place) -> Option<Box<dyn Bypass>> {
        Some(Box::new(Contention { lines: place.lines }))
    }
}

/// The twin.
#[derive(Clone, Copy, Debug)]
pub struct Contention {
    lines: usize,
}

impl Bypass for Contention {
    fn way(&self, load: &Load, contents: &dyn Contents) -> Way {
        if load.contends && !contents.knows(load.line) { Way::Past } else { Way::Through }
    }

    fn contends(&self, touched: usize, resident: usize) -> Option<bool> {
        Some(is_contentious(self.lines, touched, resident))
    }
}
