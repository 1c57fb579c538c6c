//! Configuration of the networks between SMs and memory partitions.

use serde::{Deserialize, Serialize};

use super::packet::LONGEST_PACKET;
use crate::config::Rules;

/// Topology of the networks. Each direction and kind of message has a network of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum NocConfig {
    /// One crossbar: every input reaches every output in one step.
    Crossbar(CrossbarConfig),
    /// Mesh of routers, one for each SM and each partition; packets use XY routing: along their row first.
    Mesh(RoutedConfig),
    /// Ring of routers with links in both directions; packets take the shorter direction.
    Ring(RoutedConfig),
}

/// Parameters of a crossbar in addition to those of all networks: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct CrossbarConfig {}

/// Parameters of a network of routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct RoutedConfig {
    /// Number of virtual channels per link between routers, each with a buffer of its own.
    pub virtual_channels: u32,
    /// Latency from router to router in cycles of the network's clock.
    pub hop_latency: u32,
}

impl Default for RoutedConfig {
    fn default() -> Self {
        Self { virtual_channels: 2, hop_latency: 1 }
    }
}

impl NocConfig {
    /// Parameters of a network of routers; `None` for crossbars.
    #[must_use]
    pub fn as_routed(&self) -> Option<&RoutedConfig> {
        match self {
            Self::Crossbar(_) => None,
            Self::Mesh(routed) | Self::Ring(routed) => Some(routed),
        }
    }

    /// Checks all fields.
    pub fn validate(&self, rules: &mut Rules) {
        let Some(RoutedConfig { virtual_channels, hop_latency }) = self.as_routed() else { return };
        rules.range(
            "virtual_channels",
            (*virtual_channels).into(),
            1..=4,
            "the arbiter of a router has at most 64 inputs",
        );
        let crosses = !matches!(self, Self::Ring(_)) || virtual_channels.is_multiple_of(2);
        let why =
            "packets of a ring switch to the other half of the channels, so that no cycle of waiting packets forms";
        rules.expect(crosses, "virtual_channels", virtual_channels, "2 or 4 in a ring", why);
        rules.range("hop_latency", (*hop_latency).into(), 1..=64, "a registered link takes one cycle");
    }
}

/// Parameters of all networks.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct XbarConfig {
    /// Bytes per flit, which a port transfers in one cycle (khairy2015 Table 1: 32).
    pub flit_bytes: u32,
    /// Flits per input buffer (khairy2015 Table 1: 8); between routers, flits per virtual channel.
    pub buffer_flits: u32,
}

impl XbarConfig {
    /// Checks all fields.
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

    #[test]
    fn a_ring_of_one_channel_is_refused() {
        let one = RoutedConfig { virtual_channels: 1, ..RoutedConfig::default() };
        assert_eq!(refusals(|rules| NocConfig::Mesh(one).validate(rules)), [""; 0]);
        assert_eq!(
            refusals(|rules| NocConfig::Ring(one).validate(rules)),
            ["virtual_channels is 1, expected 2 or 4 in a ring: packets of a ring switch to the other half of the \
                 channels, so that no cycle of waiting packets forms"]
        );
        assert_eq!(refusals(|rules| NocConfig::Ring(RoutedConfig::default()).validate(rules)), [""; 0]);
    }
}
