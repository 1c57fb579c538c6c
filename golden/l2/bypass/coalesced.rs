//! # A bank without what L1s keep
//! What will stay in an L1 is not kept here as well, not even its tag (anssari2012 section 3.3).

use serde::Deserialize;

use super::{Access, Bypass, Scheme};

/// It knows nothing.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Coalesced {}

#[typetag::deserialize(name = "coalesced")]
impl Scheme for Coalesced {
    fn twin(&self) -> Box<dyn Bypass> {
        Box::new(*self)
    }
}

impl Bypass for Coalesced {
    fn lets_past(&self, access: Access) -> bool {
        access == Access::Read { kept: true }
    }

    fn leaves_tags(&self) -> bool {
        false
    }
}
