//! # A closed bank
//! While nearly all reads miss, reads and writes go past; tags alone go on, and show when the bank would be of use
//! again (khairy2015 section 4.1). When to close and to open is the decision of the monitor (`cells/streaming`).

use crate::cells::streaming::{Reopen, StreamingConfig};
use crate::config::Rules;

/// Checks the keys, of which a bank knows fewer values.
pub(super) fn validate(config: &StreamingConfig, rules: &mut Rules) {
    config.validate(rules);
    let why = "the ways of a bank fill once and are never emptied";
    rules.expect(config.reopen == Reopen::Miss, "reopen", "flush", "miss", why);
}
