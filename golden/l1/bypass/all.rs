//! # Bypass of the L1D by every global load

use serde::Deserialize;

use super::super::event::{Load, Space};
use super::{Bypass, CacheInfo, Contents, Path, Scheme};

/// Configuration of the scheme in which every global load bypasses the L1D. It has neither parameters nor
/// state.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct All {}

#[typetag::deserialize(name = "all")]
impl Scheme for All {
    fn twin(&self, _place: &CacheInfo) -> Option<Box<dyn Bypass>> {
        Some(Box::new(*self))
    }
}

impl Bypass for All {
    fn way(&self, load: &Load, _contents: &dyn Contents) -> Path {
        if load.space == Space::Global { Path::Bypass } else { Path::Lookup }
    }
}
