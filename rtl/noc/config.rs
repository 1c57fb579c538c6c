//! Configuration of the networks between SMs and memory partitions.

use serde::{Deserialize, Serialize};

use super::packet::LONGEST_PACKET;
use crate::config::Rules;

/// Topology of the networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NocKind {
    /// One crossbar of each direction: every input reaches every output in one step.
    Crossbar,
    /// Routers in rows and columns, a site each; packets go along their row first (XY routing).
    Mesh,
    /// Routers in a circle with links in both directions; packets take the shorter way.
    Ring,
}

/// Parameters of the networks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NocConfig {
    /// Topology of all networks of the machine, each direction and kind of message with one of its own.
    pub kind: NocKind,
    /// Bytes of a flit, what a port passes in a cycle (khairy2015 Table 1: 32).
    pub flit_bytes: u32,
    /// Flits of each input buffer (khairy2015 Table 1: 8); in a mesh or ring, of each virtual channel.
    pub buffer_flits: u32,
    /// Virtual channels of a link between routers, each with a buffer of its own; of no effect in a crossbar.
    pub virtual_channels: u32,
    /// Cycles of the network's clock from router to router; of no effect in a crossbar.
    pub hop_latency: u32,
}

impl NocConfig {
    /// Crossbars.
    #[must_use]
    pub fn crossbar(flit_bytes: u32, buffer_flits: u32) -> Self {
        Self { kind: NocKind::Crossbar, flit_bytes, buffer_flits, virtual_channels: 1, hop_latency: 1 }
    }

    /// Checks the fields.
    pub fn validate(&self, rules: &mut Rules) {
        rules.range("flit_bytes", self.flit_bytes.into(), 32..=256, "no packet has more than five flits");
        let longest = LONGEST_PACKET.div_ceil(self.flit_bytes.max(1)).min(64).into();
        rules.range("buffer_flits", self.buffer_flits.into(), longest..=64, "a packet enters only as a whole");
        let why = "a router has an arbiter of up to 64 inputs";
        rules.range("virtual_channels", self.virtual_channels.into(), 1..=4, why);
        let crosses = self.kind != NocKind::Ring || self.virtual_channels.is_multiple_of(2);
        let why = "packets of a ring change from one half of the channels to the other, so that none waits in a circle";
        rules.expect(crosses, "virtual_channels", self.virtual_channels, "2 or 4 with kind = \"ring\"", why);
        rules.range("hop_latency", self.hop_latency.into(), 1..=64, "a registered link takes a cycle");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusals(config: &NocConfig) -> Vec<String> {
        let mut rules = Rules::default();
        config.validate(&mut rules);
        rules.into_violations().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_buffer_shorter_than_a_line_packet_is_refused() {
        let short = NocConfig { buffer_flits: 4, ..NocConfig::crossbar(32, 8) };
        assert_eq!(refusals(&short), ["buffer_flits is 4, expected 5 to 64: a packet enters only as a whole"]);
    }

    #[test]
    fn a_ring_of_one_channel_is_refused() {
        assert_eq!(refusals(&NocConfig { kind: NocKind::Mesh, ..NocConfig::crossbar(32, 8) }), [""; 0]);
        assert_eq!(
            refusals(&NocConfig { kind: NocKind::Ring, ..NocConfig::crossbar(32, 8) }),
            [
                "virtual_channels is 1, expected 2 or 4 with kind = \"ring\": packets of a ring change from one half of the \
              channels to the other, so that none waits in a circle"
            ]
        );
        assert_eq!(
            refusals(&NocConfig { kind: NocKind::Ring, virtual_channels: 4, ..NocConfig::crossbar(32, 8) }),
            [""; 0]
        );
    }
}
