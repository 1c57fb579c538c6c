//! # Bypass of lines that an L1 keeps
//! A read miss bypasses the bank if its line will stay in an L1 (anssari2012 section 3.3, second element of
//! the paper's policy). The sharing tracker can supply the line from that L1.

use serde::{Deserialize, Serialize};

use super::{Hooks, Request, RequestKind, Scheme, Sharing};

/// Bypass policy without parameters.
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
    fn bypasses(&self, request: &Request) -> bool {
        request.kind == RequestKind::Read && request.sharing == Sharing::Keeps
    }
}
