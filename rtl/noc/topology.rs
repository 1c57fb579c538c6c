//! # Topology
//! Defines the kinds of networks. For networks of routers, defines the links between the routers and the
//! route of each packet. Every SM and every memory partition is a site with a router of its own. Partitions
//! are distributed evenly among the SMs.
//!
//! Mesh: rows of equal length. A packet first moves along its row to the column of its destination, then
//! along the column. This is XY routing (Dally and Towles, *Principles and Practices of Interconnection
//! Networks*, section 8.4.2). No packet turns from a column into a row, so deadlock is impossible. The
//! virtual channel is the number of the destination modulo the number of channels.
//!
//! Ring: a packet takes the direction with fewer hops, or forward if both are equal. A packet that still has
//! to cross the wrap-around link between the highest and the lowest router uses the lower half of the
//! channels. Otherwise it uses the upper half. This prevents deadlock (Dally and Seitz, *Deadlock-Free
//! Message Routing in Multiprocessor Interconnection Networks*, section 3). Within a half, the destination
//! selects the channel, as in the mesh.
//!
//! All packets from one site to another use the same links and channels, and therefore keep their order.

use serde::{Deserialize, Serialize};

use crate::config::Rules;

/// Topology of the networks. Each direction and each kind of message has a separate network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum NocConfig {
    /// One crossbar: every input reaches every output in one step.
    Crossbar(CrossbarConfig),
    /// Mesh of routers, one for each SM and each partition. Packets use XY routing: first along the row, then
    /// along the column.
    Mesh(RoutedConfig),
    /// Ring of routers with links in both directions; packets take the shorter direction.
    Ring(RoutedConfig),
}

/// Parameters that only a crossbar has; there are none at present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct CrossbarConfig {}

/// Parameters of a network of routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct RoutedConfig {
    /// Number of virtual channels per link between routers, each with a separate buffer.
    pub virtual_channels: u32,
    /// Latency from router to router in cycles of the network clock.
    pub hop_latency: u32,
}

impl Default for RoutedConfig {
    fn default() -> Self {
        Self { virtual_channels: 2, hop_latency: 1 }
    }
}

impl NocConfig {
    /// Constructors of the configurations of all networks that consist of routers.
    pub const ROUTED: [fn(RoutedConfig) -> Self; 2] = [Self::Mesh, Self::Ring];

    /// Returns the name of the kind of network.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Crossbar(_) => "crossbar",
            Self::Mesh(_) => "mesh",
            Self::Ring(_) => "ring",
        }
    }

    /// Returns the parameters of a network of routers; `None` for a crossbar.
    #[must_use]
    pub fn as_routed(&self) -> Option<&RoutedConfig> {
        match self {
            Self::Crossbar(_) => None,
            Self::Mesh(routed) | Self::Ring(routed) => Some(routed),
        }
    }

    /// Checks that each field has a legal value.
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

/// Topology of a network: its routers and the links between them.
#[derive(Clone, Copy, Debug)]
pub struct Topology {
    is_ring: bool,
    sms: usize,
    partitions: usize,
    /// Number of routers per row of a mesh.
    columns: usize,
    channels: usize,
}

/// Next hop of a packet: the neighboring router, and the virtual channel on the link to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Index of the next router in the current router's list of neighbors.
    pub neighbour: usize,
    /// Virtual channel on the link to the next router.
    pub channel: usize,
}

impl Topology {
    /// Builds the topology for the given numbers of SMs and partitions; `None` for a crossbar, which has no
    /// routers.
    #[must_use]
    pub fn new(noc: &NocConfig, sms: u32, partitions: u32) -> Option<Self> {
        let (channels, is_ring) = (noc.as_routed()?.virtual_channels as usize, matches!(noc, NocConfig::Ring(_)));
        let (sms, partitions) = (sms as usize, partitions as usize);
        let sites = sms + partitions;
        let square = sites.isqrt() + usize::from(sites.isqrt().pow(2) < sites);
        Some(Self { is_ring, sms, partitions, columns: if is_ring { sites } else { square }, channels })
    }

    /// Returns the number of virtual channels per link.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Returns the number of routers. A mesh has additional routers without a site where needed to make all
    /// rows full.
    #[must_use]
    pub fn routers(&self) -> usize {
        (self.sms + self.partitions).next_multiple_of(self.columns)
    }

    /// Returns the number of the router to which a memory partition is attached.
    #[must_use]
    pub fn router_of_partition(&self, partition: usize) -> usize {
        (2 * partition + 1) * (self.sms + self.partitions) / (2 * self.partitions)
    }

    /// Returns the number of the router to which an SM is attached. SMs occupy, in order, the routers without
    /// a memory partition.
    #[must_use]
    pub fn router_of_sm(&self, sm: usize) -> usize {
        let partitions = (0..self.partitions).map(|partition| self.router_of_partition(partition));
        partitions.fold(sm, |router, of_partition| router + usize::from(of_partition <= router))
    }

    /// Returns the neighbors of a router. One link leads to each neighbor, and another link leads back.
    #[must_use]
    pub fn neighbours(&self, router: usize) -> Vec<usize> {
        let (all, columns) = (self.routers(), self.columns);
        if self.is_ring {
            let (next, previous) = ((router + 1) % all, (router + all - 1) % all);
            return [next, previous].into_iter().take(all.saturating_sub(1)).collect();
        }
        let column = router % columns;
        let [east, west] = [(column + 1 < columns).then_some(router + 1), (column > 0).then(|| router - 1)];
        let [south, north] = [Some(router + columns).filter(|below| *below < all), router.checked_sub(columns)];
        [east, west, south, north].into_iter().flatten().collect()
    }

    /// Returns the next hop from router `router` toward router `to`, for a packet to destination
    /// `destination`. `None` if `router` is `to`.
    #[must_use]
    pub fn hop(&self, router: usize, to: usize, destination: usize) -> Option<Hop> {
        if router == to {
            return None;
        }
        let (next, channel) = if self.is_ring {
            let all = self.routers();
            let forwards = (to + all - router) % all <= (router + all - to) % all;
            let next = if forwards { (router + 1) % all } else { (router + all - 1) % all };
            let (half, wraps) = (self.channels / 2, forwards != (to > router));
            (next, destination % half + if wraps { 0 } else { half })
        } else {
            (self.next_in_mesh(router, to), destination % self.channels)
        };
        let neighbour = self.neighbours(router).iter().position(|neighbour| *neighbour == next)?;
        Some(Hop { neighbour, channel })
    }

    fn next_in_mesh(&self, router: usize, to: usize) -> usize {
        let columns = self.columns;
        match (router % columns).cmp(&(to % columns)) {
            std::cmp::Ordering::Less => router + 1,
            std::cmp::Ordering::Greater => router - 1,
            std::cmp::Ordering::Equal if router < to => router + columns,
            std::cmp::Ordering::Equal => router - columns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Tested machines, as (number of SMs, number of partitions): small and large ones, whose mesh rows are
    /// all full or not.
    const SITES: [(u32, u32); 7] = [(1, 1), (1, 2), (2, 1), (15, 6), (16, 8), (13, 7), (80, 32)];

    fn each(mut check: impl FnMut(Topology, usize)) {
        for kind in NocConfig::ROUTED {
            for (sms, partitions) in SITES {
                for virtual_channels in [2, 4] {
                    let noc = kind(RoutedConfig { virtual_channels, hop_latency: 1 });
                    check(Topology::new(&noc, sms, partitions).unwrap(), virtual_channels as usize);
                }
            }
        }
    }

    /// Returns the hops of a route, each as (sending router, receiving router, virtual channel).
    fn way(topology: Topology, from: usize, to: usize, destination: usize) -> Vec<(usize, usize, usize)> {
        let (mut at, mut way) = (from, Vec::new());
        while let Some(hop) = topology.hop(at, to, destination) {
            let next = topology.neighbours(at)[hop.neighbour];
            way.push((at, next, hop.channel));
            assert!(way.len() <= topology.routers(), "{topology:?}: from {from} to {to} round and round");
            at = next;
        }
        assert_eq!(at, to);
        way
    }

    #[test]
    fn every_site_has_a_router_of_its_own() {
        each(|topology, _| {
            let sms = (0..topology.sms).map(|sm| topology.router_of_sm(sm));
            let partitions = (0..topology.partitions).map(|partition| topology.router_of_partition(partition));
            let routers: BTreeSet<_> = sms.chain(partitions).collect();
            assert_eq!(routers, (0..topology.sms + topology.partitions).collect(), "{topology:?}");
        });
    }

    #[test]
    fn partitions_are_spread_among_the_sms() {
        let topology = Topology::new(&NocConfig::Mesh(RoutedConfig::default()), 15, 6).unwrap();
        let partitions: Vec<_> = (0..6).map(|partition| topology.router_of_partition(partition)).collect();
        assert_eq!(partitions, [1, 5, 8, 12, 15, 19]);
        assert_eq!((topology.router_of_sm(0), topology.router_of_sm(1), topology.router_of_sm(14)), (0, 2, 20));
    }

    #[test]
    fn links_lead_there_and_back() {
        each(|topology, _| {
            for router in 0..topology.routers() {
                for neighbour in topology.neighbours(router) {
                    assert!(topology.neighbours(neighbour).contains(&router), "{topology:?}: {router} and {neighbour}");
                }
            }
        });
    }

    #[test]
    fn ways_are_as_short_as_rows_and_columns_or_the_circle_allow() {
        each(|topology, channels| {
            let all = topology.routers();
            for (from, to) in (0..all).flat_map(|from| (0..all).map(move |to| (from, to))) {
                let hops = way(topology, from, to, to % channels).len();
                let across = |at: usize| (at % topology.columns, at / topology.columns);
                let ((x, y), (to_x, to_y)) = (across(from), across(to));
                let round = from.abs_diff(to).min(all - from.abs_diff(to));
                let shortest = if topology.is_ring { round } else { x.abs_diff(to_x) + y.abs_diff(to_y) };
                assert_eq!(hops, shortest, "{topology:?}: from {from} to {to}");
            }
        });
    }

    #[test]
    fn no_channel_waits_for_itself() {
        each(|topology, channels| {
            let all = topology.routers();
            let mut waits_for: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
            for (from, to) in (0..all).flat_map(|from| (0..all).map(move |to| (from, to))) {
                for destination in 0..channels {
                    for pair in way(topology, from, to, destination).windows(2) {
                        waits_for.entry(pair[0]).or_default().insert(pair[1]);
                    }
                }
            }
            // Removes, one by one, the virtual channels that wait for none of the remaining ones. Channels
            // that cannot be removed form a cyclic wait.
            while let Some(free) = waits_for
                .iter()
                .find_map(|(&channel, next)| next.iter().all(|next| !waits_for.contains_key(next)).then_some(channel))
            {
                waits_for.remove(&free);
            }
            assert!(waits_for.is_empty(), "{topology:?}: {:?}", waits_for.keys().next());
        });
    }

    fn refusals(noc: NocConfig) -> Vec<String> {
        let mut rules = Rules::default();
        noc.validate(&mut rules);
        rules.into_violations().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_ring_of_one_channel_is_refused() {
        let one = RoutedConfig { virtual_channels: 1, ..RoutedConfig::default() };
        assert_eq!(refusals(NocConfig::Mesh(one)), [""; 0]);
        assert_eq!(
            refusals(NocConfig::Ring(one)),
            ["virtual_channels is 1, expected 2 or 4 in a ring: packets of a ring switch to the other half of the \
                 channels, so that no cycle of waiting packets forms"]
        );
        assert_eq!(refusals(NocConfig::Ring(RoutedConfig::default())), [""; 0]);
    }

    #[test]
    fn kinds_have_the_names_by_which_a_configuration_selects_them() {
        for kind in NocConfig::ROUTED {
            let noc = kind(RoutedConfig::default());
            assert_eq!(serde_json::to_value(noc).unwrap()["kind"], noc.name());
        }
    }
}
