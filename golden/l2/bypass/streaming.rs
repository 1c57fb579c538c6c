//! # A bank that its monitor closes
//! While most reads miss, everything goes past (khairy2015 section 4.1).

use super::{Access, Bypass};
use crate::l1::streaming::Streaming;

impl Bypass for Streaming {
    fn lets_past(&self, _access: Access) -> bool {
        self.is_closed()
    }

    fn reach(&mut self, cycle: u64) {
        Self::reach(self, cycle);
    }

    fn note(&mut self, missed: bool) {
        Self::note(self, missed);
    }
}
