//! # Nothing is kept
//! Every read and every write goes past (khairy2015 section 3.1, no caches).

use serde::{Deserialize, Serialize};

/// It has no keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct All {}

impl All {
    pub(super) fn lets_past(self) -> bool {
        true
    }
}
