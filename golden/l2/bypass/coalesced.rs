//! # Bypass of lines that an L1 keeps
//! A read miss whose line will be allocated in an L1 bypasses the bank and leaves not even a tag (anssari2012
//! section 3.3).

use serde::Deserialize;

use super::{Access, Bypass, Scheme};

/// Configuration and model of the scheme, which has neither parameters nor state.
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
