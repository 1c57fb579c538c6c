//! # What an L1 keeps, the L2 need not
//! A read of a line that will stay in an L1 goes past (anssari2012 section 3.3, the second element of its policy): the
//! sharing tracker finds it there.

use serde::{Deserialize, Serialize};

use super::{Hooks, Request, RequestKind, Scheme, Sharing};

/// It has no keys.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coalesced {}

#[typetag::serde(name = "coalesced")]
impl Scheme for Coalesced {
    fn hardware(&self) -> Option<Box<dyn Hooks>> {
        Some(Box::new(*self))
    }

    fn needs_tracker(&self) -> bool {
        true
    }
}

#[typetag::serde]
impl Hooks for Coalesced {
    fn lets_past(&self, request: &Request) -> bool {
        request.kind == RequestKind::Read && request.sharing == Sharing::Keeps
    }
}
