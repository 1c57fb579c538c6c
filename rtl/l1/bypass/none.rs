//! # Loads go past for their instruction alone
//! There is no scheme.

use serde::{Deserialize, Serialize};

use super::{Hooks, Place, Scheme};

/// It has no keys.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoScheme {}

#[typetag::serde(name = "none")]
impl Scheme for NoScheme {
    fn hardware(&self, _place: &Place<'_>) -> Option<Box<dyn Hooks>> {
        None
    }
}
