//! # Bypass of contentious loads
//! Loads of contentious instructions bypass the L1D unless their line is present (anssari2012 section 3.3).
//! An instruction is contentious if it touches at least `lines / warps` lines, where `lines` is the number of
//! lines in the cache and `warps` the number of resident warps.

use serde::Deserialize;

use super::super::event::Load;
use super::{Bypass, CacheInfo, Contents, Path, Scheme};
use crate::hybrid::is_contentious;

/// Configuration of the bypass of contentious loads, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Contentious {}

#[typetag::deserialize(name = "contentious")]
impl Scheme for Contentious {
    fn twin(&self, place: &CacheInfo) -> Option<Box<dyn Bypass>> {
        Some(Box::new(Contention { lines: place.lines }))
    }
}

/// Reference model of the bypass of contentious loads.
#[derive(Clone, Copy, Debug)]
pub struct Contention {
    lines: usize,
}

impl Bypass for Contention {
    fn way(&self, load: &Load, contents: &dyn Contents) -> Path {
        if load.contends && !contents.has_tag(load.line) { Path::Bypass } else { Path::Lookup }
    }

    fn needs_contention(&self) -> bool {
        true
    }

    fn contends(&self, touched: usize, resident: usize) -> bool {
        is_contentious(self.lines, touched, resident)
    }
}
