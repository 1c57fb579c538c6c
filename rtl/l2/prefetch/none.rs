//! # No prefetching
//! The bank fetches lines only for requests.

use serde::{Deserialize, Serialize};

use super::{Hooks, PrefetchPlace, Scheme};

/// Configuration without a prefetcher; it has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoPrefetcher {}

#[typetag::serde(name = "none")]
impl Scheme for NoPrefetcher {
    fn hardware(&self, _place: &PrefetchPlace<'_>) -> Option<Box<dyn Hooks>> {
        None
    }
}
