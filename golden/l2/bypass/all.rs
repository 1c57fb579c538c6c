//! # Bypass of the L2 bank by all misses
//! Every read and write of an absent line bypasses the bank (khairy2015 section 3.1). Only atomics allocate
//! lines.

use serde::Deserialize;

use super::{Access, Bypass, Scheme};

/// Configuration and model of the scheme in which all misses bypass the L2 bank. The scheme has neither
/// parameters nor state.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct All {}

#[typetag::deserialize(name = "all")]
impl Scheme for All {
    fn twin(&self) -> Box<dyn Bypass> {
        Box::new(*self)
    }
}

impl Bypass for All {
    fn bypasses(&self, _access: Access) -> bool {
        true
    }
}
