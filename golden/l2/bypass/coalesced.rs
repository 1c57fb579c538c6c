//! # Bypass of the L2 bank by lines that an L1 allocates
//! A read that misses in the L2 bypasses the bank if an L1 will allocate its line. The bank then stores
//! neither data nor a tag (anssari2012 section 3.3).

use serde::Deserialize;

use super::{Access, Bypass, Scheme};

/// Configuration and model of the scheme in which lines that an L1 allocates bypass the L2 bank. The scheme
/// has neither parameters nor state.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Coalesced {}

#[typetag::deserialize(name = "coalesced")]
impl Scheme for Coalesced {
    fn twin(&self) -> Box<dyn Bypass> {
        Box::new(*self)
    }
}

impl Bypass for Coalesced {
    fn bypasses(&self, access: Access) -> bool {
        access == Access::Read { kept: true }
    }

    fn leaves_tags(&self) -> bool {
        false
    }
}
