//! # Topology
//! Defines the kinds of networks. For networks of routers, also defines the links between the routers and the
//! route of each packet. SMs and memory partitions are called sites. In a mesh or a ring, every site has its
//! own router, and partitions are distributed evenly among the SMs.
//!
//! Mesh: rows of equal length. A packet first moves along its row to the column of its destination, then
//! along the column. This is XY routing (Dally and Towles, *Principles and Practices of Interconnection
//! Networks*, section 8.4.2). No packet turns from a column into a row, so deadlock is impossible. The
//! virtual channel is the number of the destination modulo the number of channels.
//!
//! Ring: a packet takes the direction with fewer hops, or the forward direction if both have equally many. A
//! packet that still has to cross the wrap-around link, between the highest and the lowest router, uses the
//! lower half of the virtual channels; any other packet uses the upper half. This prevents deadlock (Dally
//! and Seitz, *Deadlock-Free Message Routing in Multiprocessor Interconnection Networks*, section 3). Within
//! a half, the destination selects the channel, as in the mesh.
//!
//! Two-level network: SMs are grouped into clusters, as in the GPCs (graphics processing clusters) of
//! NVIDIA's GPUs. One router per cluster concentrates the packets of its SMs on a few links to the center.
//! The center is a crossbar that is divided into slices, one central router per slice. Link `l` of every
//! cluster leads to central router `l`. A partition is attached to the central router whose number is the
//! partition number modulo the number of links. So a link carries only packets for the partitions of one
//! slice.
//!
//! * Bandwidth: each site and each link transfers one flit per cycle and direction. A cluster with `n` links
//!   can thus send up to `n` flits per cycle to the rest of the network, and receive up to `n`. Packets
//!   between SMs of one cluster use no link.
//! * Route between an SM and a partition: one link, which the number of the partition selects.
//! * Route between SMs of different clusters: two links, which the number of the destination selects. Within
//!   a cluster, packets use no link. Partitions send no packets to each other.
//! * Deadlock is impossible: a packet first moves from its cluster to the center, then from the center to a
//!   cluster. A link to the center thus waits only for links to clusters, and those wait only for sites.
//! * The virtual channel is the number of the destination divided by the number of links, modulo the number
//!   of channels, so that the packets of one slice use all channels.
//!
//! Each link has wires in both directions. If a network carries packets only from SMs to partitions, or only
//! from partitions to SMs, one direction stays unused, but its area is counted.
//!
//! No paper gives the links and buffers of these routers. The slices of the center, and the rule by which
//! packets choose a link, are assumptions of this model.
//!
//! All packets from one site to another use the same links and channels, and therefore keep their order.

use serde::{Deserialize, Serialize};

use crate::config::{Rules, Side};

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
    /// Two-level network: one router per cluster of SMs, and links from each router to a central crossbar, to
    /// which the memory partitions are connected.
    TwoLevel(TwoLevelConfig),
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

/// Parameters of a two-level network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct TwoLevelConfig {
    /// Number of clusters of SMs. SMs with consecutive numbers form a cluster. The numbers of SMs in two
    /// clusters differ by at most one. A GTX 480 has four clusters.
    pub clusters: u32,
    /// Number of links in each direction between a cluster and the central crossbar. The memory partitions
    /// are divided among these links: partition `p` uses link `p` modulo this number.
    pub links: u32,
    /// Number of virtual channels per link between routers, each with a separate buffer.
    pub virtual_channels: u32,
    /// Latency from router to router in cycles of the network clock.
    pub hop_latency: u32,
}

impl Default for TwoLevelConfig {
    fn default() -> Self {
        let RoutedConfig { virtual_channels, hop_latency } = RoutedConfig::default();
        Self { clusters: 4, links: 2, virtual_channels, hop_latency }
    }
}

impl NocConfig {
    /// Constructors of the configurations of all networks that consist of routers.
    pub const ROUTED: [fn(RoutedConfig) -> Self; 3] = [Self::Mesh, Self::Ring, Self::two_level];

    /// Returns a two-level network with the default numbers of clusters and links.
    #[must_use]
    pub fn two_level(RoutedConfig { virtual_channels, hop_latency }: RoutedConfig) -> Self {
        Self::TwoLevel(TwoLevelConfig { virtual_channels, hop_latency, ..TwoLevelConfig::default() })
    }

    /// Returns the name of the kind of network.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Crossbar(_) => "crossbar",
            Self::Mesh(_) => "mesh",
            Self::Ring(_) => "ring",
            Self::TwoLevel(_) => "two-level",
        }
    }

    /// Returns the parameters of a network of routers; `None` for a crossbar.
    #[must_use]
    pub fn as_routed(&self) -> Option<RoutedConfig> {
        match *self {
            Self::Crossbar(_) => None,
            Self::Mesh(routed) | Self::Ring(routed) => Some(routed),
            Self::TwoLevel(TwoLevelConfig { virtual_channels, hop_latency, .. }) => {
                Some(RoutedConfig { virtual_channels, hop_latency })
            }
        }
    }

    /// Checks that each field has a legal value in a machine with the given numbers of SMs and partitions.
    pub fn validate(&self, sms: u32, partitions: u32, rules: &mut Rules) {
        let Some(RoutedConfig { virtual_channels, hop_latency }) = self.as_routed() else { return };
        rules.range("virtual_channels", virtual_channels.into(), 1..=4, TOO_MANY_INPUTS);
        let crosses = !matches!(self, Self::Ring(_)) || virtual_channels.is_multiple_of(2);
        let why =
            "packets of a ring switch to the other half of the channels, so that no cycle of waiting packets forms";
        rules.expect(crosses, "virtual_channels", virtual_channels, "2 or 4 in a ring", why);
        rules.range("hop_latency", hop_latency.into(), 1..=64, "a registered link takes one cycle");
        if let &Self::TwoLevel(two_level) = self {
            two_level.validate(sms, partitions, rules);
        }
    }
}

/// Maximum number of inputs of a router; the model stores one bit per input in a 64-bit word.
const MAX_INPUTS: usize = 64;
const TOO_MANY_INPUTS: &str = "the arbiter of a router has at most 64 inputs";

impl TwoLevelConfig {
    /// Checks that every cluster has at least one SM, that every link leads to at least one partition, and
    /// that no router has too many inputs.
    fn validate(self, sms: u32, partitions: u32, rules: &mut Rules) {
        let Self { clusters, links, virtual_channels, .. } = self;
        rules.range("clusters", clusters.into(), 1..=sms.max(1).into(), "each cluster has at least one SM");
        let why = "each link of a cluster leads to memory partitions of its own";
        rules.range("links", links.into(), 1..=partitions.max(1).into(), why);
        if ["clusters", "links", "virtual_channels"].iter().any(|field| rules.is_broken(field)) {
            return;
        }
        let inputs = |of: Self| {
            Topology::new(&NocConfig::TwoLevel(of), sms, partitions).map_or(0, |topology| topology.most_inputs())
        };
        if inputs(self) <= MAX_INPUTS {
            return;
        }
        let side = |field: &str, value: u32, most: u32, with: fn(Self, u32) -> Self| {
            let legal: Vec<u32> = (1..=most).filter(|&number| inputs(with(self, number)) <= MAX_INPUTS).collect();
            let (first, last) = (legal.first()?, legal.last()?);
            let legal = if first == last { first.to_string() } else { format!("{first} to {last}") };
            Some(Side::new(field, value, format!("{legal} with the other fields of noc")))
        };
        let sides = [
            side("clusters", clusters, sms, |of, clusters| Self { clusters, ..of }),
            side("links", links, partitions, |of, links| Self { links, ..of }),
            side("virtual_channels", virtual_channels, 4, |of, virtual_channels| Self { virtual_channels, ..of }),
        ];
        let none = Side::new("kind", "two-level", "crossbar, mesh or ring with so many SMs and partitions");
        let sides = sides.into_iter().flatten().chain([none]);
        rules.expect_relation(false, sides, TOO_MANY_INPUTS);
    }
}

/// Topology of a network: its routers and the links between them.
#[derive(Clone, Copy, Debug)]
pub struct Topology {
    form: Form,
    sms: usize,
    partitions: usize,
    channels: usize,
}

/// Form of a network of routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Mesh {
        /// Number of routers per row.
        columns: usize,
    },
    Ring,
    /// The routers of the clusters have the lowest numbers, followed by the central routers: one for each
    /// link of a cluster.
    TwoLevel {
        clusters: usize,
        links: usize,
    },
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
        let channels = noc.as_routed()?.virtual_channels as usize;
        let (sms, partitions) = (sms as usize, partitions as usize);
        let sites = sms + partitions;
        let form = match *noc {
            NocConfig::Crossbar(_) => return None,
            NocConfig::Mesh(_) => Form::Mesh { columns: sites.isqrt() + usize::from(sites.isqrt().pow(2) < sites) },
            NocConfig::Ring(_) => Form::Ring,
            // Values outside the legal range are clamped to it here. The check of the configuration reports
            // them as errors.
            NocConfig::TwoLevel(TwoLevelConfig { clusters, links, .. }) => Form::TwoLevel {
                clusters: (clusters as usize).clamp(1, sms.max(1)),
                links: (links as usize).clamp(1, partitions.max(1)),
            },
        };
        Some(Self { form, sms, partitions, channels })
    }

    /// Returns the number of virtual channels per link.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Returns the number of routers. In a mesh, routers without a site are added if they are needed to fill
    /// the last row.
    #[must_use]
    pub fn routers(&self) -> usize {
        let sites = self.sms + self.partitions;
        match self.form {
            Form::Mesh { columns } => sites.next_multiple_of(columns),
            Form::Ring => sites,
            Form::TwoLevel { clusters, links } => clusters + links,
        }
    }

    /// Returns the largest number of inputs of a router: the channels of the links to it, and all sites that
    /// are attached to it.
    fn most_inputs(&self) -> usize {
        let mut inputs: Vec<_> =
            (0..self.routers()).map(|router| self.neighbours(router).len() * self.channels).collect();
        (0..self.sms).for_each(|sm| inputs[self.router_of_sm(sm)] += 1);
        (0..self.partitions).for_each(|partition| inputs[self.router_of_partition(partition)] += 1);
        inputs.into_iter().max().unwrap_or(0)
    }

    /// Returns the number of the router to which a memory partition is attached.
    #[must_use]
    pub fn router_of_partition(&self, partition: usize) -> usize {
        if let Form::TwoLevel { clusters, links } = self.form {
            return clusters + partition % links;
        }
        (2 * partition + 1) * (self.sms + self.partitions) / (2 * self.partitions)
    }

    /// Returns the number of the router to which an SM is attached. In a mesh or a ring, SMs occupy, in
    /// order, the routers without a memory partition.
    #[must_use]
    pub fn router_of_sm(&self, sm: usize) -> usize {
        if let Form::TwoLevel { clusters, .. } = self.form {
            return sm * clusters / self.sms;
        }
        let partitions = (0..self.partitions).map(|partition| self.router_of_partition(partition));
        partitions.fold(sm, |router, of_partition| router + usize::from(of_partition <= router))
    }

    /// Returns the neighbors of a router. For each neighbor, there is one link to it and one link back.
    #[must_use]
    pub fn neighbours(&self, router: usize) -> Vec<usize> {
        let all = self.routers();
        let columns = match self.form {
            Form::Mesh { columns } => columns,
            Form::Ring => {
                let (next, previous) = ((router + 1) % all, (router + all - 1) % all);
                return [next, previous].into_iter().take(all.saturating_sub(1)).collect();
            }
            Form::TwoLevel { clusters, .. } => {
                return if router < clusters { clusters..all } else { 0..clusters }.collect();
            }
        };
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
        let (next, channel) = match self.form {
            Form::Mesh { columns } => (next_in_mesh(columns, router, to), destination % self.channels),
            Form::Ring => {
                let all = self.routers();
                let forwards = (to + all - router) % all <= (router + all - to) % all;
                let next = if forwards { (router + 1) % all } else { (router + all - 1) % all };
                let (half, wraps) = (self.channels / 2, forwards != (to > router));
                (next, destination % half + if wraps { 0 } else { half })
            }
            Form::TwoLevel { clusters, links } => {
                let next = match (router < clusters, to < clusters) {
                    (true, true) => clusters + destination % links,
                    // No packet moves from one central router to another, because only partitions are
                    // attached to central routers.
                    (false, false) => 0,
                    (true, false) | (false, true) => to,
                };
                (next, destination / links % self.channels)
            }
        };
        let neighbour = self.neighbours(router).iter().position(|neighbour| *neighbour == next)?;
        Some(Hop { neighbour, channel })
    }
}

/// Returns the next router on the route to router `to` of a mesh: first along the row, then along the column.
fn next_in_mesh(columns: usize, router: usize, to: usize) -> usize {
    match (router % columns).cmp(&(to % columns)) {
        std::cmp::Ordering::Less => router + 1,
        std::cmp::Ordering::Greater => router - 1,
        std::cmp::Ordering::Equal if router < to => router + columns,
        std::cmp::Ordering::Equal => router - columns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Tested machines, as (number of SMs, number of partitions): small and large machines, with and without
    /// empty sites in the last row of the mesh.
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

    /// Returns all pairs of routers between which packets may travel, as (first router, last router).
    fn pairs(topology: Topology) -> impl Iterator<Item = (usize, usize)> {
        let all = topology.routers();
        let all = (0..all).flat_map(move |from| (0..all).map(move |to| (from, to)));
        // Only partitions are attached to central routers, and they send no packets to each other.
        all.filter(move |&(from, to)| match topology.form {
            Form::TwoLevel { clusters, .. } => from < clusters || to < clusters,
            Form::Mesh { .. } | Form::Ring => true,
        })
    }

    #[test]
    fn every_site_of_a_mesh_or_ring_has_a_router_of_its_own() {
        each(|topology, _| {
            if matches!(topology.form, Form::TwoLevel { .. }) {
                return;
            }
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
    fn a_two_level_network_has_the_sms_in_clusters_and_the_partitions_in_the_center() {
        let two_level = TwoLevelConfig { clusters: 4, links: 2, ..TwoLevelConfig::default() };
        let topology = Topology::new(&NocConfig::TwoLevel(two_level), 15, 6).unwrap();
        let clusters: Vec<_> = (0..15).map(|sm| topology.router_of_sm(sm)).collect();
        assert_eq!(clusters, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3]);
        let partitions: Vec<_> = (0..6).map(|partition| topology.router_of_partition(partition)).collect();
        assert_eq!(partitions, [4, 5, 4, 5, 4, 5]);
        assert_eq!((topology.neighbours(1), topology.neighbours(5)), (vec![4, 5], vec![0, 1, 2, 3]));
        // Partitions 1 and 3 use the same link, but different virtual channels of it.
        let ways = [1, 3].map(|partition| way(topology, 2, 5, partition));
        assert_eq!(ways, [[(2, 5, 0)], [(2, 5, 1)]]);
        assert_eq!(way(topology, 0, 3, 14), [(0, 4, 1), (4, 3, 1)]);
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
    fn ways_are_as_short_as_the_links_allow() {
        each(|topology, channels| {
            let all = topology.routers();
            for (from, to) in pairs(topology) {
                let hops = way(topology, from, to, to % channels).len();
                let shortest = match topology.form {
                    Form::Mesh { columns } => {
                        let across = |at: usize| (at % columns, at / columns);
                        let ((x, y), (to_x, to_y)) = (across(from), across(to));
                        x.abs_diff(to_x) + y.abs_diff(to_y)
                    }
                    Form::Ring => from.abs_diff(to).min(all - from.abs_diff(to)),
                    Form::TwoLevel { .. } if from == to => 0,
                    Form::TwoLevel { clusters, .. } => 1 + usize::from(from < clusters && to < clusters),
                };
                assert_eq!(hops, shortest, "{topology:?}: from {from} to {to}");
            }
        });
    }

    #[test]
    fn no_channel_waits_for_itself() {
        each(|topology, channels| {
            let mut waits_for: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
            for (from, to) in pairs(topology) {
                // In a two-level network, the virtual channel is the destination divided by the number of
                // links, modulo the number of channels. With two links, twice as many destinations as
                // channels are needed to use all channels.
                for destination in 0..2 * channels {
                    for pair in way(topology, from, to, destination).windows(2) {
                        waits_for.entry(pair[0]).or_default().insert(pair[1]);
                    }
                }
            }
            // Repeatedly removes a virtual channel that waits for none of the remaining ones. The channels
            // that cannot be removed wait for each other in a cycle.
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
        noc.validate(15, 6, &mut rules);
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
    fn a_two_level_network_has_an_sm_per_cluster_a_partition_per_link_and_64_inputs_per_router() {
        let refusals = |clusters, links, (sms, partitions)| {
            let mut rules = Rules::default();
            let noc = TwoLevelConfig { clusters, links, ..TwoLevelConfig::default() };
            NocConfig::TwoLevel(noc).validate(sms, partitions, &mut rules);
            rules.into_violations()
        };
        let texts = |clusters, links, sites| -> Vec<String> {
            refusals(clusters, links, sites).iter().map(ToString::to_string).collect()
        };
        assert_eq!(texts(15, 6, (15, 6)), [""; 0]);
        assert_eq!(
            texts(16, 7, (15, 6)),
            [
                "clusters is 16, expected 1 to 15: each cluster has at least one SM",
                "links is 7, expected 1 to 6: each link of a cluster leads to memory partitions of its own"
            ]
        );
        // With two virtual channels, the router of the only cluster has 2 x 2 inputs from the center and 60
        // from SMs: 64, the maximum.
        assert_eq!(texts(1, 2, (60, 8)), [""; 0]);
        let violation = refusals(1, 2, (61, 8)).remove(0);
        let why = "the arbiter of a router has at most 64 inputs";
        assert_eq!(
            violation.to_string(),
            format!("clusters is 1, expected 2 to 30 with the other fields of noc: {why}")
        );
        let others: Vec<_> = violation.others.iter().map(|side| (side.path.as_str(), side.legal.as_str())).collect();
        let kinds = "crossbar, mesh or ring with so many SMs and partitions";
        let others_expected = [
            ("links", "1 with the other fields of noc"),
            ("virtual_channels", "1 with the other fields of noc"),
            ("kind", kinds),
        ];
        assert_eq!(others, others_expected);
        // With a single link, 64 partitions alone fill all 64 inputs of the central router.
        let violation = refusals(4, 1, (80, 64)).remove(0);
        assert_eq!(
            (violation.path.as_str(), violation.legal.as_str()),
            ("links", "2 to 22 with the other fields of noc")
        );
    }

    #[test]
    fn kinds_have_the_names_by_which_a_configuration_selects_them() {
        for kind in NocConfig::ROUTED {
            let noc = kind(RoutedConfig::default());
            assert_eq!(serde_json::to_value(noc).unwrap()["kind"], noc.name());
        }
    }
}
