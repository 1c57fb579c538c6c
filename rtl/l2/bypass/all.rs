//! # Bypass of all misses
//! Every read or write miss bypasses the bank, but atomics do not (khairy2015 section 3.1, no caches).

use serde::{Deserialize, Serialize};

use super::{Hooks, Request, Scheme};

/// Bypass policy without parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeepNothing {}

#[typetag::serde(name = "all")]
impl Scheme for KeepNothing {
    fn hardware(&self) -> Option<Box<dyn Hooks>> {
        Some(Box::new(*self))
    }

    fn keeps_tags(&self) -> bool {
        true
    }
}

#[typetag::serde]
impl Hooks for KeepNothing {
    fn bypasses(&self, _request: &Request) -> bool {
        true
    }
}
