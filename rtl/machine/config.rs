//! # Configuration of a whole machine
//! Groups the parameters of a machine by kind of hardware block. Presets in `machines/` state every field
//! with its source. Designs in `machines/designs/` and the option `--set` change single fields.
//! [`MachineConfig::validate`] reports all violated rules at once.

use isa::MAX_ADDRESS_BITS;
use serde::{Deserialize, Serialize};

use super::CLOCKS;
use crate::config::{Rules, Side, Violation};
use crate::dram::config::DramConfig;
use crate::dram::message::DramShape;
use crate::kernel::{Clocks, MAX_DOMAINS, MAX_PER_KIND};
use crate::l1::config::{CacheConfig, L1Config, LsuConfig, MAX_WAYS as L1_MAX_WAYS, Organisation};
use crate::l1::dueling::Leaders;
use crate::l2::config::L2Config;
use crate::noc::config::XbarConfig;
use crate::noc::interleave::{Channels, Hash, Interleave, MAX_HASH_BITS};
use crate::noc::topology::{NocConfig, Topology};
use crate::noc::xbar::MAX_PORTS;
use crate::sm::SmConfig;
use crate::throttle::{L1Place, ThrottleConfig};
use crate::tracker::TrackerConfig;

/// Maximum number of DRAM channels, and also of L2 banks, in a machine.
const MAX_CHANNELS: u32 = 128;
/// Maximum number of DRAM channels of a partition, and of partitions of a DRAM channel. The arbiters among them
/// have a 64-bit mask of requests.
const MAX_SHARED: u32 = 64;
/// Maximum number of SMs in a machine: those of a whole GH100.
const MAX_SMS: u32 = 144;

/// Machine: SMs with L1s, two crossbars, and memory partitions with an L2 bank and a DRAM channel each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineConfig {
    /// Number of SMs, each with its L1.
    pub num_sms: u32,
    /// Number of memory partitions.
    pub num_partitions: u32,
    /// Number of consecutive bytes that map to one partition before the next partition follows.
    pub interleave_bytes: u32,
    /// Number of DRAM channels per partition. Consecutive runs of `interleave_bytes` bytes in a partition are
    /// distributed round robin among its channels.
    pub channels_per_partition: u32,
    /// Number of partitions that share a DRAM channel. Consecutive runs of `interleave_bytes` bytes in the
    /// channel belong to these partitions, round robin.
    pub partitions_per_channel: u32,
    /// Function that maps a run of `interleave_bytes` consecutive bytes to a partition.
    pub partition_index: PartitionIndex,
    /// Width of a byte address in bits.
    pub addr_bits: u32,
    /// Clock frequencies of the machine's clock domains.
    pub clock: ClockConfig,
    /// Fixed delays of the links between hardware blocks.
    pub link: LinkConfig,
    /// SM core.
    pub sm: SmConfig,
    /// Scheme for warp throttling, which selects the warps that may issue.
    pub throttle: ThrottleConfig,
    /// Load-store unit.
    pub lsu: LsuConfig,
    /// L1 data cache.
    pub l1: L1Config,
    /// Constant cache.
    pub const_cache: CacheConfig,
    /// Texture cache.
    pub texture_cache: CacheConfig,
    /// Topology of the networks between SMs and partitions.
    pub noc: NocConfig,
    /// Parameters of each network between SMs and partitions.
    pub xbar: XbarConfig,
    /// Banks of the sharing tracker.
    pub tracker: TrackerConfig,
    /// L2 banks.
    pub l2: L2Config,
    /// DRAM channels.
    pub dram: DramConfig,
}

/// Function that maps a run of `interleave_bytes` consecutive bytes to a partition. A number of partitions is `2^k *
/// m` with an odd `m`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PartitionIndex {
    /// Number of the run, modulo the number of partitions.
    Modulo(ModuloIndex),
    /// The lowest `k` bits of the partition are the number of the run, modulo an irreducible polynomial over GF(2) of
    /// degree `k`, so that no power-of-two stride maps to only a few partitions. The rest is the remainder, modulo
    /// `m`, of the number of the run without its lowest `k` bits.
    IPoly(IPolyIndex),
    /// Each of the lowest bits of the partition is the XOR of given address bits. The rest is the remainder of the
    /// number of the run, without as many of its bits.
    Masks(MasksIndex),
}

/// Configuration of partitions in rotation; it has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModuloIndex {}

/// Configuration of partitions that a polynomial selects; it has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IPolyIndex {}

/// Configuration of partitions that XORs of address bits select.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MasksIndex {
    /// For each of the lowest bits of a partition number, the byte-address bits that are XORed to form it.
    pub bits: Vec<Vec<u32>>,
}

/// The default value is measured on an H100 (`machines/silicon/README.md`): 80 slices in 16 classes of five.
impl Default for MasksIndex {
    fn default() -> Self {
        Self { bits: vec![vec![11, 13, 17], vec![14, 18, 19], vec![11, 12, 16, 19], vec![13, 15, 19, 20]] }
    }
}

impl PartitionIndex {
    /// Returns the hash of the partition number, for runs of `run_bytes` bytes; `None` for partitions in rotation.
    /// The configuration must have been validated.
    fn hash(&self, num_partitions: u32, run_bytes: u32) -> Option<Hash> {
        match self {
            Self::Modulo(_) => None,
            Self::IPoly(_) => Hash::of_polynomial(num_partitions),
            Self::Masks(masks) => Hash::of_masks(&masks.of_runs(run_bytes.ilog2())),
        }
    }
}

impl MasksIndex {
    /// Returns the masks as masks of the bits of a run number. A run has `1 << run_log2` bytes.
    fn of_runs(&self, run_log2: u32) -> Vec<u64> {
        let mask = |bits: &Vec<u32>| bits.iter().fold(0, |mask, bit| mask | 1 << (bit - run_log2));
        self.bits.iter().map(mask).collect()
    }

    fn validate(&self, partitions: u32, run_bytes: u32, addr_bits: u32, rules: &mut Rules) {
        let most = (partitions.max(1).trailing_zeros() as usize).min(MAX_HASH_BITS);
        rules.expect(
            (1..=most).contains(&self.bits.len()),
            "bits",
            format!("a list of {}", self.bits.len()),
            &format!("a list of 1 to {most} with num_partitions = {partitions}"),
            "each mask selects one of two halves of the partitions",
        );
        let lowest = run_bytes.max(1).ilog2();
        for bits in &self.bits {
            let is_set = bits.iter().enumerate().all(|(place, bit)| !bits[..place].contains(bit));
            let is_of_run = bits.iter().all(|bit| (lowest..addr_bits).contains(bit));
            rules.expect(
                !bits.is_empty() && is_set && is_of_run,
                "bits",
                format!("{bits:?}"),
                &format!("different numbers from {lowest} to {}, at least one", addr_bits.saturating_sub(1)),
                "all `interleave_bytes` bytes of a run are in the same partition",
            );
        }
        if !rules.is_broken("bits") {
            let is_one_to_one = Hash::of_masks(&self.of_runs(lowest)).is_some();
            let legal = "lists of which none is the XOR of others";
            let why = "each line has a place of its own";
            rules.expect(is_one_to_one, "bits", format!("{:?}", self.bits), legal, why);
        }
    }
}

/// Clock frequencies in kHz.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockConfig {
    /// Clock of the SMs and L1s.
    pub core_khz: u32,
    /// Clock of the crossbars, which transfer one flit per cycle and port.
    pub xbar_khz: u32,
    /// Clock of the L2 banks.
    pub l2_khz: u32,
    /// DRAM command clock.
    pub dram_khz: u32,
}

/// Fixed delays of the links between hardware blocks [core cycles]. A credit takes as long as a message in
/// the same direction: a credit for a link from an SM has the delay of links to that SM. If links in all
/// directions have delays, SMs, crossbars and partitions affect each other only after these delays. They can
/// then be simulated in parallel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// Delay from an SM to the request crossbar, and from an SM to the CTA dispatcher when a CTA has ended.
    /// With 0, a message is visible at the next clock edge.
    pub inject: u32,
    /// Delay from the request crossbar to the L2 bank.
    pub request: u32,
    /// Delay from the L2 bank to the reply crossbar.
    pub reply: u32,
    /// Delay from the reply crossbar to an SM, and from the CTA dispatcher to an SM. With 0, a message is
    /// visible at the next clock edge.
    pub deliver: u32,
    /// Delay from the DRAM channel to the L2 bank.
    pub dram_return: u32,
}

impl MachineConfig {
    /// Returns all rules that the configuration violates.
    #[must_use]
    pub fn validate(&self) -> Vec<Violation> {
        let mut rules = Rules::default();
        let why = "a whole GH100 has 144 SMs";
        rules.range("num_sms", u64::from(self.num_sms), 1..=MAX_SMS.into(), why);
        let why = "a clock domain has 128 hardware blocks";
        rules.range("num_partitions", u64::from(self.num_partitions), 1..=MAX_CHANNELS.into(), why);
        let least = u64::from(self.l1.line_bytes.max(self.dram.burst_bytes()));
        let why = "a line, and hence a request, belongs to one partition";
        rules.power_of_two("interleave_bytes", u64::from(self.interleave_bytes), least..=65_536, why);
        let (channels, partitions) = (self.channels_per_partition, self.num_partitions);
        let why = "low line address bits select the channel; a 64-bit mask has one bit per channel";
        rules.power_of_two("channels_per_partition", channels.into(), 1..=MAX_SHARED.into(), why);
        if !rules.is_broken("channels_per_partition") && !rules.is_broken("num_partitions") {
            let most = (MAX_CHANNELS / partitions).min(MAX_SHARED);
            let legal =
                if most < 2 { "1".to_owned() } else { format!("a power of two from 1 to {}", 1 << most.ilog2()) };
            let fewer = format!("1 to {} with channels_per_partition = {channels}", MAX_CHANNELS / channels);
            let sides =
                [Side::new("channels_per_partition", channels, legal), Side::new("num_partitions", partitions, fewer)];
            rules.expect_relation(channels <= most, sides, why);
        }
        let (sharers, partitions) = (self.partitions_per_channel, self.num_partitions.max(1));
        let why = "address bits select the partition of a burst, in the same way for all channels";
        let fits = sharers.is_power_of_two() && sharers <= MAX_SHARED && partitions.is_multiple_of(sharers);
        let legal = format!("a power of two that divides `num_partitions`, at most {MAX_SHARED}");
        rules.expect(fits, "partitions_per_channel", sharers, &legal, why);
        let why = "either a channel serves several partitions or a partition has several channels";
        rules.expect(sharers == 1 || channels == 1, "partitions_per_channel", sharers, "1 with several channels", why);
        rules.range(
            "addr_bits",
            u64::from(self.addr_bits),
            20..=MAX_ADDRESS_BITS.into(),
            "current GPUs have addresses of at most 49 bits",
        );
        self.validate_partition_index(&mut rules);
        rules.group("clock", |rules| {
            let ClockConfig { core_khz, xbar_khz, l2_khz, dram_khz } = &self.clock;
            let all = [("core_khz", core_khz), ("xbar_khz", xbar_khz), ("l2_khz", l2_khz), ("dram_khz", dram_khz)];
            for (field, khz) in all {
                rules.range(field, u64::from(*khz), 1_000..=10_000_000, "a clock between 1 MHz and 10 GHz");
            }
            let why = "all clocks must divide one tick exactly";
            let is_simple = all.iter().any(|(field, _)| rules.is_broken(field)) || self.clocks().is_some();
            rules.expect(is_simple, "core_khz", core_khz, "in a simple ratio to the other clocks", why);
        });
        rules.group("link", |rules| {
            let LinkConfig { inject, request, reply, deliver, dram_return } = &self.link;
            for (field, cycles) in [("request", request), ("reply", reply), ("dram_return", dram_return)] {
                rules.range(field, u64::from(*cycles), 1..=1000, "a registered link takes one cycle");
            }
            for (field, cycles) in [("inject", inject), ("deliver", deliver)] {
                rules.range(field, u64::from(*cycles), 0..=1000, "an on-chip link takes fewer cycles");
            }
        });
        rules.group("sm", |rules| self.sm.validate(self.l1.line_bytes, rules));
        self.validate_carve_outs(&mut rules);
        if self.throttle.validate(self.num_sms, &mut rules) {
            self.sm.validate_throttle(self.throttle.typetag_name(), &mut rules);
            self.validate_losses(&mut rules);
        }
        rules.group("lsu", |rules| self.lsu.validate(rules));
        rules.group("l1", |rules| self.validate_l1(rules));
        rules.group("const_cache", |rules| self.const_cache.validate(self.l1.line_bytes, rules));
        rules.group("texture_cache", |rules| self.texture_cache.validate(self.l1.line_bytes, rules));
        rules.group("noc", |rules| self.validate_noc(rules));
        rules.group("xbar", |rules| self.xbar.validate(rules));
        rules.group("tracker", |rules| self.validate_tracker(rules));
        rules.group("l2", |rules| {
            self.l2.validate(self.l1.line_bytes, self.dram.burst_bytes(), rules);
            self.l2.validate_requesters(self.num_sms, rules);
            rules.expect(
                !self.l2.bypass.needs_tracker() || self.tracker.is_on(),
                "bypass",
                "coalesced",
                "another with tracker.scheme = \"off\"",
                "the sharing tracker is notified of lines that stay in an L1, and without it L1s supply no lines",
            );
        });
        rules.group("dram", |rules| self.dram.validate(rules));
        rules.into_violations()
    }

    /// True if SM dueling selects the organization of the L1Ds at run time: each leader SM uses one
    /// organization, and their miss rates are compared. A machine with one SM has no dueling.
    #[must_use]
    pub fn has_duel(&self) -> bool {
        self.l1.organisation == Organisation::Decoupled && self.l1.dueling.leaders != Leaders::None && self.num_sms > 1
    }

    /// Checks the function that maps runs to partitions against the number of partitions, the size of a run and the
    /// width of an address.
    fn validate_partition_index(&self, rules: &mut Rules) {
        let &Self { num_partitions, interleave_bytes, addr_bits, .. } = self;
        let is_odd = num_partitions % 2 != 0;
        let legal = "modulo if `num_partitions` is odd";
        match &self.partition_index {
            PartitionIndex::Modulo(_) => {}
            PartitionIndex::IPoly(_) => {
                let why = "a polynomial of degree k has 2^k remainders";
                rules.expect(!is_odd || num_partitions == 1, "partition_index", "i-poly", legal, why);
            }
            PartitionIndex::Masks(_) if is_odd => {
                let why = "each mask selects one of two halves of the partitions";
                rules.expect(false, "partition_index", "masks", legal, why);
            }
            PartitionIndex::Masks(masks) => rules.group("partition_index", |rules| {
                masks.validate(num_partitions, interleave_bytes, addr_bits, rules);
            }),
        }
    }

    fn validate_l1(&self, rules: &mut Rules) {
        let Self { sm, l1, .. } = self;
        l1.validate(rules);
        rules.expect(
            !l1.bypass.tests_contention() || sm.halves() == 1,
            "bypass",
            "contentious",
            "another with sm.warp_lanes = 64",
            "the lines of an instruction are counted together, but a warp of 64 lanes arrives in two halves",
        );
    }

    /// Checks that a throttle which detects lost locality (misses to lines that the same warp fetched before)
    /// is not combined with a prefetcher or a victim cache.
    fn validate_losses(&self, rules: &mut Rules) {
        let place = L1Place { path: "", sets: 1, ways: 1, line_bits: 25, warps: 1 };
        rules.expect(
            !self.l1.prefetch.is_on() || self.throttle.l1(&place).is_none(),
            "l1.prefetch",
            self.l1.prefetch.typetag_name(),
            &format!(
                "none with a throttle of kind {}; the throttles none and dwt-cs go with all prefetchers",
                self.throttle.typetag_name()
            ),
            "the throttle counts the lines that each warp has lost, and a prefetched line belongs to no warp",
        );
        rules.expect(
            !self.l1.victim.is_on() || self.throttle.l1(&place).is_none(),
            "l1.victim",
            self.l1.victim.typetag_name(),
            &format!(
                "none with a throttle of kind {}; the throttles none and dwt-cs go with all victim caches",
                self.throttle.typetag_name()
            ),
            "the throttle counts the lines that each warp has lost, and a line in the victim cache is not lost",
        );
    }

    fn validate_tracker(&self, rules: &mut Rules) {
        let Self { num_sms, l1, l2, tracker, .. } = self;
        tracker.validate(*num_sms, rules);
        if !tracker.is_on() {
            return;
        }
        let inputs = num_sms.saturating_add(self.num_partitions);
        let why = "both L1s and L2 banks are inputs of the reply network";
        let legal = format!("off with num_sms + num_partitions = {inputs}, more than {MAX_PORTS}");
        rules.expect(inputs <= MAX_PORTS, "scheme", "not off", &legal, why);
        let why = "a line that the L2 recalls must be removed from every L1, including one that is being supplied";
        rules.expect(!l2.recalls(), "scheme", "not off", "off with l2.flow.coherence = \"sharers\"", why);
        let why = "with decoupled tags, lines are filled and evicted without a miss that reports it";
        rules.expect(
            l1.organisation == Organisation::Plain,
            "scheme",
            "not off",
            "off with l1.organisation = \"decoupled\"",
            why,
        );
        let why = "a load that no L1 can supply reaches the L2 without its eviction priority";
        rules.expect(!l2.hints, "scheme", "not off", "off with l2.hints = true", why);
        let why = "the tracker forwards loads to the L1s that hold the line, and looks up no victim cache";
        let legal = format!("off with l1.victim = \"{}\"", l1.victim.typetag_name());
        rules.expect(!l1.victim.is_on(), "scheme", "not off", &legal, why);
        let why = "its table records hits of its own SM and has no port for those of other SMs";
        let legal = format!("off with l1.replacement = \"{}\"", l1.replacement.typetag_name());
        rules.expect(!l1.replacement.learns(), "scheme", "not off", &legal, why);
    }

    /// Returns the routers of each network and their connections; `None` if the networks are crossbars.
    #[must_use]
    pub fn topology(&self) -> Option<Topology> {
        let (sms, partitions) = (self.num_sms.clamp(1, MAX_SMS), self.num_partitions.clamp(1, MAX_CHANNELS));
        Topology::new(&self.noc, sms, partitions)
    }

    /// Returns the numbers of extra clock domains for SMs, for routers and for L2 banks. The scheduler of the
    /// simulator (timing wheels) supports at most 128 hardware blocks per domain. Extra domains hold the blocks
    /// that do not fit into the first domain of their clock.
    fn more_domains(&self) -> [usize; 3] {
        let more = |blocks: usize, kinds: usize| {
            let all = blocks.div_ceil(MAX_PER_KIND).max((blocks * kinds).div_ceil(2 * MAX_PER_KIND));
            all.saturating_sub(1)
        };
        let networks = 2 * (1 + usize::from(self.l2.recalls()) + usize::from(self.tracker.is_on()));
        let routers = self.topology().map_or(0, |topology| topology.routers());
        let banks = self.num_partitions.min(MAX_CHANNELS) as usize;
        // Without trackers, the first domain has room for all L2 banks.
        let banks = if self.tracker.is_on() && banks > MAX_PER_KIND { more(banks, 2) } else { 0 };
        [more(self.num_sms.min(MAX_SMS) as usize, 2), more(routers, networks), banks]
    }

    fn validate_noc(&self, rules: &mut Rules) {
        let (sms, partitions) = (self.num_sms.clamp(1, MAX_SMS), self.num_partitions.clamp(1, MAX_CHANNELS));
        self.noc.validate(sms, partitions, rules);
        let domains = CLOCKS.len() + self.more_domains().iter().sum::<usize>();
        let (sms, partitions) = (self.num_sms, self.num_partitions);
        rules.expect(
            domains <= MAX_DOMAINS,
            "kind",
            self.noc.name(),
            &format!("crossbar with num_sms = {sms} and num_partitions = {partitions}"),
            "each SM and each partition has a router per network, and the simulator supports 8 x 128 blocks in total",
        );
    }

    /// Returns the clocks, with their periods in ticks of a common time base; `None` if a frequency is 0, or
    /// if a period does not fit in 32 bits of ticks.
    #[must_use]
    pub fn clocks(&self) -> Option<Clocks> {
        let ClockConfig { core_khz, xbar_khz, l2_khz, dram_khz } = self.clock;
        let extra = std::iter::zip([core_khz, xbar_khz, l2_khz], self.more_domains());
        let more = extra.flat_map(|(khz, count)| std::iter::repeat_n(khz, count));
        Clocks::new(&[core_khz, xbar_khz, l2_khz, dram_khz].into_iter().chain(more).collect::<Vec<_>>()).ok()
    }

    /// Checks that each shared-memory carve-out (part of the L1 that a kernel uses as shared memory) is a
    /// whole number of L1 ways.
    fn validate_carve_outs(&self, rules: &mut Rules) {
        let (shared, l1) = (&self.sm.shared, &self.l1);
        let Some(&most) = shared.carve_outs.last() else { return };
        let way = |sets: u32| sets.saturating_mul(l1.line_bytes).max(1);
        let are_ways = |sets, ways| {
            let all = way(sets).saturating_mul(ways);
            shared.carve_outs.iter().all(|bytes| bytes.is_multiple_of(way(sets)) && *bytes < all)
        };
        let are_legal = shared.carve_outs.is_sorted_by(|a, b| a < b) && most >= shared.bytes;
        let (of_a_way, bytes) = (way(l1.sets), shared.bytes);
        let all = of_a_way.saturating_mul(l1.ways);
        let legal =
            format!("ascending multiples of a way's {of_a_way} bytes below the L1's {all}, the last at least {bytes}");
        let given = format!("{:?}", shared.carve_outs);
        let mut sides = vec![Side::new("sm.shared.carve_outs", &given, legal)];
        // A change of `l1.ways`, `l1.sets` or `sm.shared.bytes` alone can also make the carve-outs legal, so
        // the error message suggests these fields too.
        let with = format!("with sm.shared.carve_outs = {given}");
        if are_legal {
            if let Some(least) = (1..=L1_MAX_WAYS).find(|&ways| are_ways(l1.sets, ways)) {
                sides.push(Side::new("l1.ways", l1.ways, format!("{least} to {L1_MAX_WAYS} {with}")));
            }
            let sets = (0..13).map(|log2| 1 << log2).filter(|&sets| are_ways(sets, l1.ways));
            let sets: Vec<_> = sets.map(|sets| sets.to_string()).collect();
            if !sets.is_empty() {
                sides.push(Side::new("l1.sets", l1.sets, format!("{} {with}", sets.join(" or "))));
            }
        }
        if shared.bytes > most && are_ways(l1.sets, l1.ways) {
            sides.push(Side::new("sm.shared.bytes", bytes, format!("{most} or less {with}")));
        }
        let why = "they are whole ways of the L1, and one of them must fit any kernel";
        rules.expect_relation(are_legal && are_ways(l1.sets, l1.ways), sides, why);
    }

    /// Returns the number of L1 ways that remain for caching, if a kernel uses `shared` bytes of shared
    /// memory per SM.
    #[must_use]
    pub fn l1_ways(&self, shared: u64) -> u32 {
        self.l1.ways - self.sm.shared.carve_out(shared) / (self.l1.sets * self.l1.line_bytes)
    }

    /// Returns the interleaving of memory among the partitions. Addresses are counted in units of
    /// `unit_bytes` bytes: L1 lines, L2 lines or bursts.
    #[must_use]
    pub fn interleave(&self, unit_bytes: u32) -> Interleave {
        let hash = self.partition_index.hash(self.num_partitions, self.interleave_bytes);
        let plain = Interleave::new(self.num_partitions, self.interleave_bytes, unit_bytes);
        Interleave { sharers: self.partitions_per_channel, hash, ..plain }
    }

    /// Returns the width in bits of the address of an L1 line.
    #[must_use]
    pub fn line_bits(&self) -> u32 {
        self.addr_bits - self.l1.line_bytes.ilog2()
    }

    /// Returns the width of a burst address within a channel in bits.
    #[must_use]
    pub fn burst_bits(&self) -> u32 {
        let run_bytes = u64::from(self.interleave_bytes);
        let runs = ((1u64 << self.addr_bits) / run_bytes).div_ceil(self.num_channels().into());
        (runs * run_bytes / u64::from(self.dram.burst_bytes())).next_power_of_two().ilog2()
    }

    /// Returns the field widths of the messages between L2 banks and DRAM channels.
    #[must_use]
    pub fn bursts(&self) -> DramShape {
        DramShape {
            burst_bits: self.burst_bits(),
            acknowledges: self.l2.acknowledges(),
            requester_bits: self.dram.requester_bits(self.num_sms),
        }
    }

    /// Returns the number of DRAM channels of the whole machine.
    #[must_use]
    pub fn num_channels(&self) -> u32 {
        self.num_partitions * self.channels_per_partition / self.partitions_per_channel
    }

    /// Returns the interleaving of memory among all DRAM channels. Addresses are counted in units of
    /// `unit_bytes` bytes. The channels of a partition have consecutive numbers.
    #[must_use]
    pub fn channels(&self, unit_bytes: u32) -> Channels {
        let rounds = |count| Interleave::new(count, self.interleave_bytes, unit_bytes);
        Channels {
            partitions: self.interleave(unit_bytes),
            of_partition: rounds(self.channels_per_partition),
            of_channel: rounds(self.partitions_per_channel),
        }
    }

    /// Returns the hierarchical path of a DRAM channel, given its number among all channels of the machine.
    #[must_use]
    pub fn channel_path(&self, channel: u32) -> String {
        match self.channels_per_partition {
            1 if self.partitions_per_channel > 1 => format!("channel{channel}.dram"),
            1 => format!("partition{channel}.dram"),
            per => format!("partition{}.dram{}", channel / per, channel % per),
        }
    }

    /// Returns the total capacity of all DRAM channels in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.dram.bursts() * u64::from(self.dram.burst_bytes()) * u64::from(self.num_channels())
    }
}
