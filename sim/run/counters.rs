//! Everything the blocks of a machine counted in a run.

use isa::recorded::opcode::BLOCK_COPIES;
use rtl::dram::channel::DramChannel;
use rtl::dram::counts::Counts;
use rtl::l1::cache::CacheId;
use rtl::l1::stages::Stages;
use rtl::l1::stats::L1Stats;
use rtl::l2::L2Stats;
use rtl::machine::Machine;
use rtl::noc::xbar::OutputStats;
use rtl::sm::{Counters as CoreCounters, InstructionStats, StallReason};
use rtl::tracker::TrackerStats;

/// Why a cache without evictions is no evidence for or against a scheme.
pub const NO_EVICTIONS: &str =
    "every fill found an empty way, so no replacement, index or bypass scheme can save a miss there";

/// Lines that all caches of a kind gave up for others, and accesses that they did not keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evictions {
    /// Name in summaries.
    pub cache: &'static str,
    /// Key in the statistics.
    pub key: &'static str,
    /// Lines evicted.
    pub evictions: u64,
    /// Loads, and for the L2 writes, that bypassed the caches.
    pub bypasses: u64,
}

impl Evictions {
    /// True if the caches kept every line that they were asked for: a bypass may only have moved the evictions elsewhere.
    #[must_use]
    pub fn has_none(&self) -> bool {
        self.evictions == 0 && self.bypasses == 0
    }
}

/// Counters of every unit, settled at the end of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Counters {
    /// Core cycles of the run: the edges of the core clock from the first launch up to the end of the last, without the
    /// edge at which it ends. A launch ends at the edge at which the dispatcher has heard of the end of every CTA and no
    /// LSU has an access in flight. The time until memory is at rest counts after each launch but the last.
    pub cycles: u64,
    /// Warp schedulers of an SM.
    pub schedulers: u32,
    /// Core clock in kHz.
    pub core_khz: u32,
    /// DRAM clock in kHz.
    pub dram_khz: u32,
    /// One a core.
    pub cores: Vec<CoreCounters>,
    /// Scheduler cycles of each core by reason, in the order of [`StallReason::ALL`]: for each scheduler all of `cycles`.
    pub stalls: Vec<Vec<u64>>,
    /// One an instruction cache; none where every instruction is there.
    pub icache: Vec<InstructionStats>,
    /// One an L1.
    pub l1: Vec<L1Stats>,
    /// How long loads were where, one an L1.
    pub stages: Vec<Stages>,
    /// One a constant cache.
    pub const_cache: Vec<L1Stats>,
    /// One a texture cache.
    pub texture_cache: Vec<L1Stats>,
    /// One an L2 bank.
    pub l2: Vec<L2Stats>,
    /// One a DRAM channel.
    pub dram: Vec<Counts>,
    /// Outputs of the request crossbar.
    pub requests: Vec<OutputStats>,
    /// Outputs of the reply crossbar.
    pub replies: Vec<OutputStats>,
    /// Outputs of the crossbar of recalls; none where the L1s are not recalled from.
    pub recalls: Vec<OutputStats>,
    /// Outputs of the crossbar of their answers.
    pub recall_acks: Vec<OutputStats>,
    /// One a bank of the sharing tracker; none without one.
    pub trackers: Vec<TrackerStats>,
    /// Outputs of the crossbar of its forwards.
    pub forwards: Vec<OutputStats>,
    /// Outputs of the crossbar of their answers.
    pub answers: Vec<OutputStats>,
}

impl Counters {
    /// Reads a settled machine that ran for so many cycles, in which its schedulers did this.
    pub(super) fn gather(machine: &Machine, cycles: u64, stalls: Vec<Vec<u64>>) -> Self {
        let config = machine.config();
        let recall_xbars = machine.recall_xbars();
        let recalls = recall_xbars.map(|(inv, _)| (0..config.num_sms).map(|i| *inv.stats(i as usize)).collect());
        let acks = recall_xbars.map(|(_, ack)| (0..config.num_partitions).map(|i| *ack.stats(i as usize)).collect());
        let forward_xbars = machine.forward_xbars();
        let forwards = forward_xbars.map(|(out, _)| (0..config.num_sms).map(|i| *out.stats(i as usize)).collect());
        let answers =
            forward_xbars.map(|(_, back)| (0..config.num_partitions).map(|i| *back.stats(i as usize)).collect());
        let caches = |id| machine.lsus().iter().map(|lsu| *lsu.stats_of(id)).collect();
        Self {
            cycles,
            schedulers: config.sm.schedulers,
            core_khz: config.clock.core_khz,
            dram_khz: config.clock.dram_khz,
            cores: machine.cores().iter().map(|core| *core.counters()).collect(),
            stalls,
            icache: machine.cores().iter().filter_map(|core| core.instruction_stats().copied()).collect(),
            l1: caches(CacheId::L1d),
            stages: machine.lsus().iter().map(|lsu| *lsu.stages()).collect(),
            const_cache: caches(CacheId::Const),
            texture_cache: caches(CacheId::Texture),
            l2: machine.banks().iter().map(|bank| *bank.stats()).collect(),
            dram: machine.drams().iter().map(DramChannel::counts).collect(),
            requests: (0..config.num_partitions).map(|i| *machine.request_xbar().stats(i as usize)).collect(),
            replies: (0..config.num_sms).map(|i| *machine.reply_xbar().stats(i as usize)).collect(),
            recalls: recalls.unwrap_or_default(),
            recall_acks: acks.unwrap_or_default(),
            trackers: machine.trackers().iter().map(|tracker| *tracker.stats()).collect(),
            forwards: forwards.unwrap_or_default(),
            answers: answers.unwrap_or_default(),
        }
    }

    /// How long the loads of all SMs were where.
    #[must_use]
    pub fn all_stages(&self) -> Stages {
        self.stages.iter().fold(Stages::default(), |mut all, stages| {
            all.add(stages);
            all
        })
    }

    /// Warp instructions of all SMs.
    #[must_use]
    pub fn warp_instructions(&self) -> u64 {
        self.cores.iter().map(|core| core.warp_instructions).sum()
    }

    /// Thread instructions of all SMs.
    #[must_use]
    pub fn thread_instructions(&self) -> u64 {
        self.cores.iter().map(|core| core.thread_instructions).sum()
    }

    /// Block copies of a trace by opcode, those that were issued: their traffic is not modelled.
    pub fn block_copies(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = (0..)
            .zip(BLOCK_COPIES)
            .map(|(at, name): (usize, _)| (name, self.cores.iter().map(|core| core.block_copies[at]).sum::<u64>()));
        counts.filter(|(_, count)| *count > 0)
    }

    /// Thread instructions a core cycle.
    #[must_use]
    pub fn ipc(&self) -> f64 {
        ratio(self.thread_instructions(), self.cycles)
    }

    /// candel2018's OPC: scalar operations a core cycle. An instruction counts for each of its active
    /// lanes, where the paper counts all 64 of a wavefront.
    #[must_use]
    pub fn opc(&self) -> f64 {
        self.ipc()
    }

    /// L2 misses of every kind; an access to a line on its way is none.
    #[must_use]
    pub fn l2_misses(&self) -> u64 {
        self.l2.iter().map(L2Stats::all_misses).sum()
    }

    /// candel2018's MPKO: L2 misses a thousand scalar operations.
    #[must_use]
    pub fn mpko(&self) -> f64 {
        1000.0 * ratio(self.l2_misses(), self.thread_instructions())
    }

    /// candel2018's miss delaying latency: L2 cycles from the look-up that missed to the departure of the
    /// fetch, on average.
    #[must_use]
    pub fn miss_delay(&self) -> f64 {
        let sum = |count: fn(&L2Stats) -> u64| self.l2.iter().map(count).sum();
        ratio(sum(|bank| bank.miss_delay), sum(|bank| bank.fetches))
    }

    /// Its parts: until there is a way or an entry of the FRC for the line, until the line before has left it, and in the
    /// queue of the channel. Of a bank whose lines come before others leave, all of it is the last.
    #[must_use]
    pub fn miss_delays(&self) -> [f64; 3] {
        let sum = |count: fn(&L2Stats) -> u64| self.l2.iter().map(count).sum::<u64>();
        let all = sum(|bank| bank.miss_delay);
        let (way, eviction) = (sum(|bank| bank.way_delay), sum(|bank| bank.eviction_delay));
        // Those that have not left yet are in their parts only.
        [way, eviction, all.saturating_sub(way + eviction)].map(|cycles| ratio(cycles, sum(|bank| bank.fetches)))
    }

    /// DRAM channels that have requests, on average.
    #[must_use]
    pub fn dram_channels_active(&self) -> f64 {
        let waiting: u64 = self.dram.iter().map(|channel| channel.waiting_cycles).sum();
        ratio(waiting, self.cycles) * f64::from(self.core_khz) / f64::from(self.dram_khz.max(1))
    }

    /// Part of the time in which a DRAM channel has requests for which its data bus is busy.
    #[must_use]
    pub fn dram_bus_use(&self) -> f64 {
        let sum = |of: fn(&Counts) -> u64| self.dram.iter().map(of).sum();
        ratio(sum(|channel| channel.bus_busy_cycles), sum(|channel| channel.waiting_cycles))
    }

    /// Part of the L2 misses that were fetched into the FRC at once (candel2018 section 5.2).
    #[must_use]
    pub fn frc_share(&self) -> f64 {
        ratio(self.l2.iter().map(|bank| bank.frc_misses).sum(), self.l2_misses())
    }

    /// Every reason's part of all scheduler cycles, in the order of [`StallReason::ALL`]; an issued
    /// instruction is one of them, a miss of an instruction cache where there is any.
    #[must_use]
    pub fn scheduler_shares(&self) -> Vec<(StallReason, f64)> {
        let cycles = |idx: usize| self.stalls.iter().filter_map(|unit| unit.get(idx)).sum::<u64>();
        let all = (0..StallReason::ALL.len()).map(cycles).sum();
        let reasons = StallReason::ALL.into_iter().enumerate();
        let reasons = reasons.filter(|(_, reason)| !self.icache.is_empty() || *reason != StallReason::FetchMiss);
        reasons.map(|(idx, reason)| (reason, ratio(cycles(idx), all))).collect()
    }

    /// Evictions by kind of cache; constant and texture caches only if they were used.
    #[must_use]
    pub fn evictions(&self) -> Vec<Evictions> {
        let fetches = self.icache.iter().map(|unit| unit.evictions).sum();
        let l1 = |cache, key, units: &[L1Stats]| {
            let sum = |count: fn(&L1Stats) -> u64| units.iter().map(count).sum();
            Evictions { cache, key, evictions: sum(|unit| unit.evictions), bypasses: sum(|unit| unit.bypasses) }
        };
        let read_only = |cache, key, units: &[L1Stats]| Evictions { bypasses: 0, ..l1(cache, key, units) };
        let is_used = |units: &[L1Stats]| units.iter().any(|unit| unit.accesses > 0);
        let sum = |count: fn(&L2Stats) -> u64| self.l2.iter().map(count).sum();
        let (evictions, bypasses) = (sum(|unit| unit.evictions), sum(|unit| unit.bypasses));
        let all = [
            (!self.icache.is_empty(), Evictions { cache: "L1I", key: "icache", evictions: fetches, bypasses: 0 }),
            (true, l1("L1D", "l1", &self.l1)),
            (is_used(&self.const_cache), read_only("constants", "const_cache", &self.const_cache)),
            (is_used(&self.texture_cache), read_only("texels", "texture_cache", &self.texture_cache)),
            (true, Evictions { cache: "L2", key: "l2", evictions, bypasses }),
        ];
        all.into_iter().filter(|(is_there, _)| *is_there).map(|(_, evictions)| evictions).collect()
    }

    /// Sums that must hold at the end of every run: a request counted twice or not at all is a
    /// mistake of the machine, not a result.
    #[must_use]
    pub(super) fn unconserved(&self) -> Vec<String> {
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
            let (issued, spent) = (stalls[StallReason::Issued as usize], stalls.iter().sum::<u64>());
            // A warp of 64 lanes may take a slot for each half.
            if spent != slots || issued < core.warp_instructions {
                broken.push(format!(
                    "sm{i}: {slots} issue slots and {} instructions, but {spent} reasons and {issued} issued",
                    core.warp_instructions
                ));
            }
        }
        let packets = |outputs: &[OutputStats]| outputs.iter().map(|output| output.packets).sum::<u64>();
        // What a sharing tracker is told of is not answered.
        let notices: u64 = self.trackers.iter().map(|tracker| tracker.notices).sum();
        let (requests, replies) = (packets(&self.requests) - notices, packets(&self.replies));
        if requests != replies {
            broken.push(format!("{requests} requests reached the partitions, but {replies} replies reached the SMs"));
        }
        let (recalls, answers) = (packets(&self.recalls), packets(&self.recall_acks));
        if recalls != answers {
            broken.push(format!("{recalls} recalls reached the SMs, but {answers} answers reached the partitions"));
        }
        for (i, tracker) in self.trackers.iter().enumerate() {
            if let Err(sum) = tracker.conserved() {
                broken.push(format!("partition{i}.tracker: {sum}"));
            }
        }
        broken
    }
}

/// A quotient, 0 where there is nothing to divide.
#[must_use]
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
