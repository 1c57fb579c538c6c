//! Counters of all hardware blocks of a machine at the end of a run.

use isa::recorded::opcode::{Class, UNMODELED};
use rtl::dram::counts::Counts;
use rtl::kernel::{Counted, CounterReader, Key, ScopeKind, count_group};
use rtl::l1::cache::CacheId;
use rtl::l1::config::{Fetch, Organisation};
use rtl::l1::stages::Stages;
use rtl::l1::stats::{L1Features, L1Stats};
use rtl::l2::{Delays, L2Features, L2Stats};
use rtl::machine::{Machine, MachineConfig};
use rtl::noc::xbar::OutputStats;
use rtl::scheme_counts::SchemeCounts;
use rtl::sm::{
    Counters as CoreCounters, InstructionStats, InstructionStore, OptionalHardware, StallCycles, StallReason,
};
use rtl::tracker::TrackerStats;

use super::schemes::{PerUnit, SchemeUnits};

/// Explanation for messages: if a cache has evicted no line, its results say nothing about the benefit of a
/// cache scheme.
pub const NO_EVICTIONS: &str =
    "every fill found an empty way, so no replacement, index or bypass scheme can save a miss there";

/// Evictions and bypasses, summed over all caches of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evictions {
    /// Name of this kind of cache in summaries.
    pub cache: &'static str,
    /// Key of this kind of cache in the statistics.
    pub key: &'static str,
    /// Number of lines evicted from these caches.
    pub evictions: u64,
    /// Number of accesses that bypassed the caches: loads, and in the L2 also writes.
    pub bypasses: u64,
    /// Optional hardware of a machine. It determines which counters the machine has.
    pub has_none: bool,
}

/// Optional hardware of a machine, which determines which counters exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineFeatures {
    /// Optional hardware of an SM core.
    pub core: OptionalHardware,
    /// True if the machine has instruction caches, so that instruction fetches can miss.
    pub icache: bool,
    /// Optional hardware of an L1D.
    pub l1: L1Features,
    /// Optional hardware of an L2 bank.
    pub l2: L2Features,
    /// True if the machine has a sharing tracker.
    pub tracker: bool,
}

impl MachineFeatures {
    /// Determines the optional hardware from a configuration.
    #[must_use]
    pub fn of(config: &MachineConfig) -> Self {
        Self {
            core: config.sm.has(),
            icache: matches!(config.sm.icache, InstructionStore::Cache(_)),
            l1: L1Features {
                stores: true,
                sectors: config.l1.fetch == Fetch::Sectors,
                decoupled: config.l1.organisation == Organisation::Decoupled,
                recalls: config.l2.recalls(),
                prefetches: config.l1.prefetch.is_on(),
                victims: config.l1.victim.is_on(),
                mshr_policy: config.l1.mshr_policy.is_on(),
            },
            l2: config.l2.has(),
            tracker: config.tracker.is_on(),
        }
    }

    /// Optional hardware of a read-only cache (constant or texture cache) of the load-store unit.
    #[must_use]
    pub fn read_only(&self) -> L1Features {
        L1Features { stores: false, mshr_policy: false, ..self.l1 }
    }
}

/// Counters of a machine, summed over all hardware units of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Counters summed over all SM cores.
    pub cores: CoreCounters,
    /// Counters summed over all instruction caches.
    pub icache: InstructionStats,
    /// Counters summed over all L1Ds.
    pub l1: L1Stats,
    /// Time that loads spent in each stage of the machine, summed over the loads of all L1s.
    pub stages: Stages,
    /// Counters summed over all constant caches.
    pub const_cache: L1Stats,
    /// Counters summed over all texture caches.
    pub texture_cache: L1Stats,
    /// Counters summed over all L2 banks.
    pub l2: L2Stats,
    /// Counters summed over all banks of the sharing tracker.
    pub tracker: TrackerStats,
    /// Counters summed over all output ports of the request network from the SMs to the L2.
    pub request: OutputStats,
    /// Counters summed over all output ports of the reply network from the L2 to the SMs.
    pub reply: OutputStats,
    /// Counters summed over all output ports of the recall network from the L2 to the SMs.
    pub recall: OutputStats,
    /// Counters summed over all output ports of the network for recall acknowledgments.
    pub recall_ack: OutputStats,
    /// Counters summed over all output ports of the network for loads that a sharing tracker forwards.
    pub forward: OutputStats,
    /// Counters summed over all output ports of the network for answers to forwarded loads.
    pub forward_answer: OutputStats,
    /// Counters summed over all DRAM channels.
    pub dram: Counts,
    /// Counters that schemes declare themselves, summed over all hardware units of each kind.
    pub schemes: PerUnit<SchemeCounts>,
}

impl Totals {
    /// Reads the current counters of a machine. The reservation fails of accesses that are still waiting may
    /// be incomplete.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        Counters::gather(machine, 0, Vec::new(), Vec::new()).totals()
    }

    /// Passes all summed counters to a counter reader.
    pub fn list(&self, has: &MachineFeatures, to: &mut dyn CounterReader) {
        let Self { schemes, .. } = self;
        self.cores.list(&has.core, to);
        schemes.core.list(to);
        let icache = Key::plain("icache", "All instruction caches together; only where there are any.");
        count_group(to, &icache, has.icache.then_some(&self.icache), &());
        with_schemes(to, &Key::plain("l1", "All L1Ds together."), (&self.l1, &schemes.l1), &has.l1);
        let (read_only, about) = (has.read_only(), "All constant caches together.");
        let caches = (&self.const_cache, &schemes.const_cache);
        with_schemes(to, &Key::plain("const_cache", about), caches, &read_only);
        let (caches, about) = ((&self.texture_cache, &schemes.texture_cache), "All texture caches together.");
        with_schemes(to, &Key::plain("texture_cache", about), caches, &read_only);
        let about = "All banks of the L2 together.";
        with_schemes(to, &Key::plain("l2", about), (&self.l2, &schemes.l2), &has.l2);
        let tracker = Key::plain("tracker", "All banks of the sharing tracker together; only where there is one.");
        if to.enter(&tracker, if has.tracker { ScopeKind::Group } else { ScopeKind::Absent }) {
            self.tracker.list(&(), to);
            schemes.tracker.list(to);
            to.leave();
        }
        if to.enter(&Key::plain("noc", "The networks, each with all its outputs together."), ScopeKind::Group) {
            let recalls = has.l1.recalls;
            for (is_there, name, about, outputs) in [
                (true, "request", "From the SMs to the L2.", &self.request),
                (true, "reply", "From the L2 to the SMs.", &self.reply),
                (recalls, "recall", "Recalls by the L2; only where it recalls lines.", &self.recall),
                (recalls, "recall_ack", "Recall acknowledgments; only where the L2 recalls lines.", &self.recall_ack),
                (has.tracker, "forward", "Loads forwarded to other L1s; only with a sharing tracker.", &self.forward),
                (
                    has.tracker,
                    "forward_answer",
                    "Answers to forwarded loads; only with a sharing tracker.",
                    &self.forward_answer,
                ),
            ] {
                count_group(to, &Key::plain(name, about), is_there.then_some(outputs), &());
            }
            to.leave();
        }
        let about = "All DRAM channels together.";
        with_schemes(to, &Key::plain("dram", about), (&self.dram, &schemes.dram), &());
        let stages = "Time of loads and their reads in each part of the machine, summed over all SMs.";
        count_group(to, &Key::plain("stages", stages), Some(&self.stages), &());
    }
}

/// Passes a group of counters to a reader: first the counters of a kind of hardware unit, then those of the
/// unit's schemes.
fn with_schemes<C: Counted>(
    to: &mut dyn CounterReader,
    key: &Key,
    (counters, schemes): (&C, &SchemeCounts),
    has: &C::Has,
) {
    if to.enter(key, ScopeKind::Group) {
        counters.list(has, to);
        schemes.list(to);
        to.leave();
    }
}

/// Counters of every hardware unit of a machine at the end of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Counters {
    /// Number of core cycles of the run: clock edges from the start of the first launch to the end of the
    /// last launch, excluding the edge at which the last launch ends. A launch ends when the dispatcher has
    /// been notified of the end of every CTA and no LSU has an access in flight. After every launch except
    /// the last, the time until memory is idle is included.
    pub cycles: u64,
    /// Number of warp schedulers per SM.
    pub schedulers: u32,
    /// Frequency of the core clock, in kHz.
    pub core_khz: u32,
    /// Frequency of the DRAM clock, in kHz.
    pub dram_khz: u32,
    /// Counters of each SM core.
    pub cores: Vec<CoreCounters>,
    /// Scheduler cycles of each core by stall reason. The counts of a core add up to `cycles` times the
    /// number of its schedulers.
    pub stalls: Vec<StallCycles>,
    /// Scheduler cycles of each core during launches in which the core had no warp at all. These cycles are
    /// included in `stalls` under the reason `NoWarp`.
    pub idle: Vec<u64>,
    /// Counters of each instruction cache; empty if instruction fetch is ideal.
    pub icache: Vec<InstructionStats>,
    /// Counters of each L1D.
    pub l1: Vec<L1Stats>,
    /// For each L1, the time that its loads spent in each stage of the machine.
    pub stages: Vec<Stages>,
    /// Counters of each constant cache.
    pub const_cache: Vec<L1Stats>,
    /// Counters of each texture cache.
    pub texture_cache: Vec<L1Stats>,
    /// Counters of each L2 bank.
    pub l2: Vec<L2Stats>,
    /// Counters of each DRAM channel.
    pub dram: Vec<Counts>,
    /// Counters of each output port of the request network.
    pub requests: Vec<OutputStats>,
    /// Counters of each output port of the reply network.
    pub replies: Vec<OutputStats>,
    /// Counters of each output port of the recall network; empty if the L2 does not recall lines.
    pub recalls: Vec<OutputStats>,
    /// Counters of each output port of the network for recall acknowledgments; empty if the L2 does not
    /// recall lines.
    pub recall_acks: Vec<OutputStats>,
    /// Counters of each sharing-tracker bank; empty without a tracker.
    pub trackers: Vec<TrackerStats>,
    /// Counters of each output port of the network for loads that a sharing tracker forwards.
    pub forwards: Vec<OutputStats>,
    /// Counters of each output port of the network for answers to forwarded loads.
    pub answers: Vec<OutputStats>,
    /// Counters that the schemes of each unit declare themselves. If there are none, the key is omitted. The
    /// digests of counters in the tests are then the same with and without this field.
    #[serde(default, skip_serializing_if = "SchemeUnits::is_empty")]
    pub schemes: SchemeUnits,
}

impl Counters {
    /// Reads the counters of a machine that ran for `cycles` core cycles. For each core, `stalls` holds the
    /// scheduler cycles by reason, and `idle` the scheduler cycles during launches in which the core had no
    /// warp.
    pub(super) fn gather(machine: &Machine, cycles: u64, stalls: Vec<StallCycles>, idle: Vec<u64>) -> Self {
        let config = machine.config();
        let recall_networks = machine.recall_networks();
        let recalls = recall_networks.map(|(inv, _)| (0..config.num_sms).map(|i| inv.stats(i as usize)).collect());
        let acks = recall_networks.map(|(_, ack)| (0..config.num_partitions).map(|i| ack.stats(i as usize)).collect());
        let forward_networks = machine.forward_networks();
        let forwards = forward_networks.map(|(out, _)| (0..config.num_sms).map(|i| out.stats(i as usize)).collect());
        let answers =
            forward_networks.map(|(_, back)| (0..config.num_partitions).map(|i| back.stats(i as usize)).collect());
        let caches = |id| machine.lsus().iter().map(|lsu| *lsu.stats_of(id)).collect();
        Self {
            cycles,
            schedulers: config.sm.schedulers,
            core_khz: config.clock.core_khz,
            dram_khz: config.clock.dram_khz,
            cores: machine.cores().iter().map(|core| *core.counters()).collect(),
            stalls,
            idle,
            icache: machine.cores().iter().filter_map(|core| core.instruction_stats().copied()).collect(),
            l1: caches(CacheId::L1d),
            stages: machine.lsus().iter().map(|lsu| *lsu.stages()).collect(),
            const_cache: caches(CacheId::Const),
            texture_cache: caches(CacheId::Texture),
            l2: machine.banks().iter().map(|bank| *bank.stats()).collect(),
            dram: machine.drams().iter().map(|channel| channel.counts()).collect(),
            requests: (0..config.num_partitions).map(|i| machine.request_network().stats(i as usize)).collect(),
            replies: (0..config.num_sms).map(|i| machine.reply_network().stats(i as usize)).collect(),
            recalls: recalls.unwrap_or_default(),
            recall_acks: acks.unwrap_or_default(),
            trackers: machine.trackers().iter().map(|tracker| *tracker.stats()).collect(),
            forwards: forwards.unwrap_or_default(),
            answers: answers.unwrap_or_default(),
            schemes: SchemeUnits::gather(machine),
        }
    }

    /// Returns the differences between these counters and `earlier` counters of the same machine.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        fn units<C: Counted>(now: &[C], earlier: &[C]) -> Vec<C> {
            let mut counts = now.to_vec();
            counts.iter_mut().zip(earlier).for_each(|(now, earlier)| now.subtract(earlier));
            counts
        }
        let idle = self.idle.iter().enumerate().map(|(i, idle)| idle - earlier.idle.get(i).copied().unwrap_or(0));
        Self {
            cycles: self.cycles - earlier.cycles,
            schedulers: self.schedulers,
            core_khz: self.core_khz,
            dram_khz: self.dram_khz,
            cores: units(&self.cores, &earlier.cores),
            stalls: units(&self.stalls, &earlier.stalls),
            idle: idle.collect(),
            icache: units(&self.icache, &earlier.icache),
            l1: units(&self.l1, &earlier.l1),
            stages: units(&self.stages, &earlier.stages),
            const_cache: units(&self.const_cache, &earlier.const_cache),
            texture_cache: units(&self.texture_cache, &earlier.texture_cache),
            l2: units(&self.l2, &earlier.l2),
            dram: units(&self.dram, &earlier.dram),
            requests: units(&self.requests, &earlier.requests),
            replies: units(&self.replies, &earlier.replies),
            recalls: units(&self.recalls, &earlier.recalls),
            recall_acks: units(&self.recall_acks, &earlier.recall_acks),
            trackers: units(&self.trackers, &earlier.trackers),
            forwards: units(&self.forwards, &earlier.forwards),
            answers: units(&self.answers, &earlier.answers),
            schemes: self.schemes.since(&earlier.schemes),
        }
    }

    /// Sums the counters over all hardware units of each kind.
    #[must_use]
    pub fn totals(&self) -> Totals {
        Totals {
            cores: Counted::total(&self.cores),
            icache: Counted::total(&self.icache),
            l1: Counted::total(&self.l1),
            stages: Counted::total(&self.stages),
            const_cache: Counted::total(&self.const_cache),
            texture_cache: Counted::total(&self.texture_cache),
            l2: Counted::total(&self.l2),
            tracker: Counted::total(&self.trackers),
            request: Counted::total(&self.requests),
            reply: Counted::total(&self.replies),
            recall: Counted::total(&self.recalls),
            recall_ack: Counted::total(&self.recall_acks),
            forward: Counted::total(&self.forwards),
            forward_answer: Counted::total(&self.answers),
            dram: Counted::total(&self.dram),
            schemes: self.schemes.totals(),
        }
    }

    /// Scheduler cycles by stall reason, summed over all SMs.
    #[must_use]
    pub fn slots(&self) -> StallCycles {
        Counted::total(&self.stalls)
    }

    /// Number of executed warp instructions, summed over all SMs.
    #[must_use]
    pub fn warp_instructions(&self) -> u64 {
        CoreCounters::total(&self.cores).warp_instructions
    }

    /// Number of executed thread instructions, summed over all SMs.
    #[must_use]
    pub fn thread_instructions(&self) -> u64 {
        CoreCounters::total(&self.cores).thread_instructions
    }

    /// Number of issued bulk copy instructions (asynchronous copies of a block of memory) in a trace, by
    /// opcode. Their memory traffic is not modeled.
    pub fn block_copies(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.unmodeled(Class::Bulk)
    }

    /// Number of issued operations on memory inside the SM in a trace, by opcode, that an engine would execute
    /// which the model lacks: matrix products in tensor memory, and the like. They take no time.
    pub fn engine_operations(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.unmodeled(Class::Engine)
    }

    fn unmodeled(&self, class: Class) -> impl Iterator<Item = (&'static str, u64)> {
        let counted = UNMODELED.into_iter().zip(CoreCounters::total(&self.cores).unmodeled);
        let of_class = counted.filter(move |((_, of), count)| *of == class && *count > 0);
        of_class.map(|((name, _), count)| (name, count))
    }

    /// Number of executed thread instructions per core cycle.
    #[must_use]
    pub fn ipc(&self) -> f64 {
        ratio(self.thread_instructions(), self.cycles)
    }

    /// Scalar operations per core cycle, the OPC of candel2018. An instruction counts once per active lane,
    /// whereas the paper counts all 64 lanes of a wavefront.
    #[must_use]
    pub fn opc(&self) -> f64 {
        self.ipc()
    }

    /// Number of L2 misses of reads, writes and atomics. An access to a line with a pending fill is not a
    /// miss.
    #[must_use]
    pub fn l2_misses(&self) -> u64 {
        L2Stats::total(&self.l2).all_misses()
    }

    /// L2 misses per thousand scalar operations, the MPKO of candel2018.
    #[must_use]
    pub fn mpko(&self) -> f64 {
        1000.0 * ratio(self.l2_misses(), self.thread_instructions())
    }

    /// Average miss delay as defined by candel2018, in L2 cycles. The miss delay is the time from an L2
    /// lookup that misses until the fetch of the line is sent to DRAM.
    #[must_use]
    pub fn miss_delay(&self) -> f64 {
        let l2 = L2Stats::total(&self.l2);
        ratio(l2.miss_delay, l2.fetches)
    }

    /// Average components of the miss delay, in L2 cycles. The components are the waiting times for a free
    /// way or FRC entry, for the eviction of the victim, and in the queue of the DRAM channel. In a bank that
    /// fetches a line before it evicts the victim, the third component is the whole delay.
    #[must_use]
    pub fn miss_delays(&self) -> [f64; 3] {
        let L2Stats { miss_delay, delays: Delays { way, eviction }, fetches, .. } = L2Stats::total(&self.l2);
        // The subtraction saturates at 0, because `way` and `eviction` also include fetches that have not
        // been sent yet. The miss delay does not include them, so it may be less than the sum of `way` and
        // `eviction`.
        [way, eviction, miss_delay.saturating_sub(way + eviction)].map(|cycles| ratio(cycles, fetches))
    }

    /// Number of DRAM channels that have requests at the same time, averaged over all cycles of the run.
    #[must_use]
    pub fn dram_channels_active(&self) -> f64 {
        ratio(Counts::total(&self.dram).waiting_cycles, self.cycles) * f64::from(self.core_khz)
            / f64::from(self.dram_khz.max(1))
    }

    /// Utilization of the DRAM data buses. This is the fraction of cycles in which a channel's data bus is
    /// busy, among the cycles in which the channel has requests.
    #[must_use]
    pub fn dram_bus_use(&self) -> f64 {
        let dram = Counts::total(&self.dram);
        ratio(dram.bus_busy_cycles, dram.waiting_cycles)
    }

    /// Fraction of the L2 misses whose line was fetched into the Fetch and Replacement Cache without delay
    /// (candel2018 section 5.2).
    #[must_use]
    pub fn frc_share(&self) -> f64 {
        let l2 = L2Stats::total(&self.l2);
        ratio(l2.frc.misses, l2.all_misses())
    }

    /// Fraction of all scheduler cycles for each stall reason, in the order of [`StallReason::ALL`]. The
    /// reason `Issued` means that an instruction was issued. The reason for instruction cache misses is
    /// included only if the machine has an instruction cache.
    #[must_use]
    pub fn scheduler_shares(&self) -> Vec<(StallReason, f64)> {
        let slots = self.slots();
        let reasons =
            slots.by_reason().filter(|(reason, _)| !self.icache.is_empty() || *reason != StallReason::FetchMiss);
        reasons.map(|(reason, cycles)| (reason, ratio(cycles, slots.sum()))).collect()
    }

    /// Evictions and bypasses for each kind of cache. Constant and texture caches are included only if they
    /// were used.
    pub(super) fn evictions(&self, is_finished: bool) -> Vec<Evictions> {
        let Totals { icache, l1, const_cache, texture_cache, l2, .. } = self.totals();
        let of = |cache, key, evictions, bypasses, misses| {
            let has_none = is_finished && misses > 0 && evictions == 0 && bypasses == 0;
            Evictions { cache, key, evictions, bypasses, has_none }
        };
        let read_only = |cache, key, of_cache: &L1Stats| of(cache, key, of_cache.evictions, 0, of_cache.misses);
        let all = [
            (!self.icache.is_empty(), of("L1I", "icache", icache.evictions, 0, icache.misses)),
            (true, of("L1D", "l1", l1.evictions, l1.bypasses, l1.misses)),
            (const_cache.accesses > 0, read_only("constants", "const_cache", &const_cache)),
            (texture_cache.accesses > 0, read_only("texels", "texture_cache", &texture_cache)),
            (true, of("L2", "l2", l2.evictions, l2.bypasses, l2.all_misses())),
        ];
        all.into_iter().filter(|(is_there, _)| *is_there).map(|(_, evictions)| evictions).collect()
    }

    /// Checks sums that must hold at the end of every run, and returns a message for each that does not
    /// hold. Such a message shows a bug in the model, for example a request that was counted twice or not
    /// at all.
    #[must_use]
    pub(super) fn conservation_violations(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for (name, units) in
            [("", &self.l1), (".const_cache", &self.const_cache), (".texture_cache", &self.texture_cache)]
        {
            for (i, cache) in units.iter().enumerate() {
                let parts = cache.hits + cache.hit_pending + cache.misses + cache.bypasses;
                if cache.accesses != parts {
                    broken.push(format!(
                        "sm{i}.l1{name}: {} accesses, but {parts} hits, pending hits, misses and bypasses",
                        cache.accesses
                    ));
                }
            }
        }
        for (i, InstructionStats { accesses, hits, hit_pending, misses, .. }) in self.icache.iter().enumerate() {
            let parts = hits + hit_pending + misses;
            if *accesses != parts {
                broken
                    .push(format!("sm{i}.core.icache: {accesses} fetches, but {parts} hits, pending hits and misses"));
            }
        }
        let slots = self.cycles * u64::from(self.schedulers);
        for (i, (core, stalls)) in self.cores.iter().zip(&self.stalls).enumerate() {
            let (issued, spent) = (stalls.of(StallReason::Issued), stalls.sum());
            // The number of instructions may be less than the number of used issue slots, because a warp of
            // 64 lanes may take one slot for each half.
            if spent != slots || issued < core.warp_instructions {
                broken.push(format!(
                    "sm{i}: {slots} issue slots and {} instructions, but {spent} reasons and {issued} issued",
                    core.warp_instructions
                ));
            }
        }
        let totals = self.totals();
        // Eviction notices to a sharing tracker get no reply, so they are subtracted from the requests.
        let (requests, replies) = (totals.request.packets - totals.tracker.notices, totals.reply.packets);
        if requests != replies {
            broken.push(format!("{requests} requests reached the partitions, but {replies} replies reached the SMs"));
        }
        let (recalls, answers) = (totals.recall.packets, totals.recall_ack.packets);
        if recalls != answers {
            broken.push(format!("{recalls} recalls reached the SMs, but {answers} answers reached the partitions"));
        }
        for (i, tracker) in self.trackers.iter().enumerate() {
            if let Err(sum) = tracker.check_conservation() {
                broken.push(format!("partition{i}.tracker: {sum}"));
            }
        }
        broken
    }
}

/// Returns `part` divided by `whole`, or 0 if `whole` is 0.
#[must_use]
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
