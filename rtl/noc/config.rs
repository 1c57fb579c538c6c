//! Parameters common to all networks between SMs and memory partitions. `topology` defines the kinds of
//! networks.

use serde::{Deserialize, Serialize};

use super::packet::LONGEST_PACKET;
use crate::config::Rules;

/// Parameters common to all networks between SMs and memory partitions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct XbarConfig {
    /// Size of a flit in bytes; a port transfers one flit per cycle (khairy2015 Table 1: 32).
    pub flit_bytes: u32,
    /// Size of an input buffer in flits (khairy2015 Table 1: 8); between routers, the size of the buffer of
    /// each virtual channel.
    pub buffer_flits: u32,
}

impl XbarConfig {
    /// Checks that each field is in its legal range.
    pub fn validate(&self, rules: &mut Rules) {
        rules.range("flit_bytes", self.flit_bytes.into(), 32..=256, "no packet has more than five flits");
        let longest = LONGEST_PACKET.div_ceil(self.flit_bytes.max(1)).min(64).into();
        rules.range(
            "buffer_flits",
            self.buffer_flits.into(),
            longest..=64,
            "a packet enters only if all its flits fit",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusals(validate: impl FnOnce(&mut Rules)) -> Vec<String> {
        let mut rules = Rules::default();
        validate(&mut rules);
        rules.into_violations().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_buffer_shorter_than_a_line_packet_is_refused() {
        let short = XbarConfig { flit_bytes: 32, buffer_flits: 4 };
        let expected = ["buffer_flits is 4, expected 5 to 64: a packet enters only if all its flits fit"];
        assert_eq!(refusals(|rules| short.validate(rules)), expected);
    }
}
