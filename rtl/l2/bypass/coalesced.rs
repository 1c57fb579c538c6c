//! # What an L1 keeps, the L2 need not
//! A read of a line that will stay in an L1 goes past (anssari2012 section 3.3, the second element of its policy): the
//! sharing tracker finds it there.

use serde::{Deserialize, Serialize};

use crate::noc::packet::{Request, RequestKind, Sharing};

/// It has no keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Coalesced {}

impl Coalesced {
    pub(super) fn lets_past(self, request: &Request) -> bool {
        request.kind == RequestKind::Read && request.sharing == Sharing::Keeps
    }
}
