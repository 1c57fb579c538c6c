//! # A bank that keeps nothing
//! Every read and write goes past (khairy2015 section 3.1).

use super::{Access, Bypass};

/// It knows nothing.
#[derive(Clone, Copy, Debug)]
pub struct All;

impl Bypass for All {
    fn lets_past(&self, _access: Access) -> bool {
        true
    }
}
