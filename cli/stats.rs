//! Statistics as JSON, schema 1. Keys are added, never renamed; a quantity that is not modelled is
//! `null`, never 0. Everything but `host` is the same on every host.
//!
//! The doc comments of the fields are what `list counters` prints (`cli/build/dictionary.rs`): one without a sentence has
//! that of the counter of the same name in the type that its structure links.

use std::slice::from_ref;

use serde::Serialize;
use serde_json::{Map, Value};

use golden::l1::reuse::{DISTANCES, Histograms, REUSES};
use rtl::dram::counts::{Counts, LATENCY_CLASSES};
use rtl::l1::config::{Fetch, Organisation};
use rtl::l1::loads::{LOAD_LATENCIES, LoadStats};
use rtl::l1::stages::Stages;
use rtl::l1::stats::L1Stats;
use rtl::l1::watch::{Fail, NUM_FAILS};
use rtl::l2::{L2Config, L2Stats, Stall};
use rtl::machine::MachineConfig;
use rtl::noc::xbar::OutputStats;
use rtl::sm::{Counters as CoreCounters, InstructionStats, Pipe, StallReason};
use rtl::tracker::TrackerStats;

use warpsieve::config::Resolved;
use warpsieve::estimate::Energy;
use warpsieve::run::{Counters, LoadCounters, Outcome, RunReport, Verdict};

/// Version of the keys.
pub(super) const SCHEMA: u32 = 1;

/// Everything a run says about itself.
#[derive(Debug, Serialize)]
pub struct Stats<'a> {
    /// Version of the keys.
    schema: u32,
    /// How the run ended: `finished`, `no-progress`, `cycle-limit` or `interrupted`.
    outcome: &'static str,
    /// Name of the machine.
    machine: &'a str,
    /// Names of the designs on it, in order.
    designs: &'a [String],
    /// Hash of the values of all fields of the configuration.
    config_hash: String,
    /// The kernels that ran.
    kernels: Vec<Kernel<'a>>,
    /// Core cycles from the first launch up to the end of the last: until the dispatcher has heard of the end of every CTA
    /// and no LSU has an access in flight. The time until memory is at rest counts after each launch but the last.
    cycles: u64,
    /// Warp schedulers of an SM.
    schedulers: u32,
    /// Clock of the cores.
    core_mhz: f64,
    /// Instructions issued, one for all lanes of a warp.
    warp_instructions: u64,
    /// Instructions executed, one for each lane.
    thread_instructions: u64,
    /// Warp instructions by the pipe that they went to, over all SMs.
    pipes: Pipes,
    /// Thread instructions a core cycle.
    ipc: f64,
    /// What candel2018 section 5 measures.
    candel2018: Candel2018,
    /// All instruction caches together; only where there are any.
    icache: Option<Icache>,
    /// All L1Ds together.
    l1: L1,
    /// All constant caches together.
    const_cache: ReadOnly,
    /// All texture caches together.
    texture_cache: ReadOnly,
    /// All banks of the L2 together.
    l2: L2,
    /// All banks of the sharing tracker together; only where there is one.
    tracker: Option<TrackerStats>,
    /// Kinds of caches that kept every line that they were asked for: no bypass and no eviction, so that no replacement,
    /// index or bypass scheme can save a miss there.
    no_evictions: Vec<&'static str>,
    /// The crossbars, each with all its outputs together.
    noc: Noc,
    /// All DRAM channels together.
    dram: Dram,
    /// In pJ, by block; an estimate, only where structures were counted.
    energy: Option<&'a Energy>,
    /// Scheduler cycles in which an instruction was issued, over all SMs; a warp of 64 lanes may take one for each half.
    issued: u64,
    /// Scheduler cycles in which nothing was issued, by reason, over all SMs: with `issued`, they are `cycles` of each
    /// scheduler.
    stalls: Stalls,
    /// Block copies of a trace that were issued, by opcode, whose traffic is not modelled; only where there are any.
    block_copies: Option<BlockCopies>,
    /// Each load instruction with its line requests; only of kernels in PTX.
    loads: Vec<Load<'a>>,
    /// How long loads and the reads that they made were in each part of the machine, over all SMs.
    stages: Stages,
    /// How lines of the L1Ds were asked for again; only with `--check`.
    reuse: Option<Reuse>,
    /// What `--check` found: `passed`, `failed`, `order-dependent`, `undefined`, or `off` if there was nothing to compare
    /// with.
    check: &'static str,
    /// The run on this host.
    host: Host,
    /// The same counters, one element a unit.
    units: Units,
}

#[derive(Debug, Serialize)]
struct Kernel<'a> {
    /// Its name.
    name: &'a str,
    /// How often it was launched.
    launches: u64,
    /// Warps of a scheduler that a throttle found best for it; only with `dwt-cs`.
    warp_limit: Option<u8>,
}

/// A load instruction: its line requests and what they found, as [`LoadStats`] has it.
#[derive(Debug, Serialize)]
struct Load<'a> {
    /// Kernel.
    kernel: &'a str,
    /// Program counter.
    pc: u32,
    /// Line in the PTX file.
    line: u32,
    accesses: u64,
    hits: u64,
    hit_pending: u64,
    misses: u64,
    bypasses: u64,
    answers: u64,
    latency: u64,
    latencies: [u64; LOAD_LATENCIES],
}

impl<'a> Load<'a> {
    fn of(load: &'a LoadCounters) -> Self {
        let &LoadCounters { ref kernel, pc, line, column: _, stats } = load;
        let LoadStats { accesses, hits, hit_pending, misses, bypasses, answers, latency, latencies } = stats;
        Self { kernel, pc, line, accesses, hits, hit_pending, misses, bypasses, answers, latency, latencies }
    }
}

/// Histograms over the loads of all SMs.
#[derive(Debug, Serialize)]
struct Reuse {
    /// Loads of a line asked for before, by the accesses in between: 0, up to 1, 3, 7 and so on.
    distances: [u64; DISTANCES],
    /// Lines by how often they were asked for again: 0, 1, 2 and so on.
    reuses: [u64; REUSES],
}

impl Reuse {
    fn of(seen: Histograms) -> Self {
        let Histograms { distances, reuses } = seen;
        Self { distances, reuses }
    }
}

/// What candel2018 section 5 measures.
#[derive(Debug, Serialize)]
struct Candel2018 {
    /// Scalar operations a core cycle.
    opc: f64,
    /// L2 misses a thousand scalar operations.
    mpko: f64,
    /// Cycles from the look-up that missed to the departure of the fetch, on average.
    miss_delay: f64,
    /// Part of the misses that was fetched into the FRC at once; only with an FRC.
    frc_share: Option<f64>,
}

impl Candel2018 {
    fn of(counters: &Counters, l2: &L2Config) -> Self {
        Self {
            opc: counters.opc(),
            mpko: counters.mpko(),
            miss_delay: counters.miss_delay(),
            frc_share: (l2.frc_entries() > 0).then(|| counters.frc_share()),
        }
    }
}

/// Accesses are loads; stores are counted apart, as in [`L1Stats`].
#[derive(Debug, Serialize)]
struct L1 {
    accesses: u64,
    hits: u64,
    hit_pending: u64,
    misses: u64,
    sector_misses: Option<u64>,
    bypasses: u64,
    store_hits: u64,
    store_misses: u64,
    atomics: u64,
    evictions: u64,
    promotions: Option<u64>,
    demotions: Option<u64>,
    /// Lines dropped, here or on their way, because the L2 recalled them; only where it does.
    recalls: Option<u64>,
    /// Cycles in which the oldest access was refused, by reason.
    reservation_fails: ReservationFails,
    /// Cycles in which the oldest access was refused, by every condition that failed, whichever was the reason.
    failing: ReservationFails,
}

/// A cache that only loads: part of [`L1Stats`].
#[derive(Debug, Serialize)]
struct ReadOnly {
    accesses: u64,
    hits: u64,
    hit_pending: u64,
    misses: u64,
    evictions: u64,
    /// Lines dropped, here or on their way, because the L2 recalled them; only where it does.
    recalls: Option<u64>,
    /// Cycles in which the oldest access was refused, by reason.
    reservation_fails: ReservationFails,
    /// Cycles in which the oldest access was refused, by every condition that failed, whichever was the reason.
    failing: ReservationFails,
}

/// The cache that fetches find their instructions in: [`InstructionStats`].
#[derive(Debug, Serialize)]
struct Icache {
    accesses: u64,
    hits: u64,
    hit_pending: u64,
    misses: u64,
    evictions: u64,
    refusals: u64,
}

/// Cycles in which the oldest access was refused, by [`Fail`].
#[derive(Debug, Serialize)]
struct ReservationFails {
    line_alloc: u64,
    mshr_entry: u64,
    mshr_merge: u64,
    miss_queue: u64,
}

/// Accesses are reads; writes and atomics are counted apart, as in [`L2Stats`].
#[derive(Debug, Serialize)]
struct L2 {
    accesses: u64,
    hits: u64,
    hit_pending: u64,
    misses: u64,
    bypasses: Option<u64>,
    write_hits: u64,
    write_pending: u64,
    write_misses: u64,
    /// Atomics and reductions, whatever they found.
    atomics: u64,
    atomic_hits: u64,
    atomic_pending: u64,
    atomic_misses: u64,
    fetches: u64,
    writebacks: u64,
    evictions: u64,
    replays: u64,
    changes: u64,
    miss_delay: u64,
    /// Requests that waited for a way or for a line on its way out; only in the transient flow.
    put_down: Option<u64>,
    /// Parts of `miss_delay`; only in the transient flow.
    delays: Option<Delays>,
    /// Cycles in which the oldest request was held up, by reason.
    stalls: BankStalls,
    /// The Fetch and Replacement Caches; only where there are any.
    frc: Option<Frc>,
    /// The buffers of the lines that atomics went to last; only where there are any.
    atomic_buffer: Option<AtomicBuffer>,
    /// What came and went by sectors; only where sectors are fetched.
    sectors: Option<Sectors>,
}

/// Cycles of banks by [`Stall`].
#[derive(Debug, Serialize)]
struct BankStalls(Map<String, Value>);

/// What misses waited for; what is left of all is in the queue of the channel.
#[derive(Debug, Serialize)]
struct Delays {
    /// Cycles until there was a way or an entry of the FRC for the line.
    way: u64,
    /// Cycles until the line before had left its way.
    eviction: u64,
}

/// The Fetch and Replacement Cache, of [`L2Stats`].
#[derive(Debug, Serialize)]
struct Frc {
    /// Misses, of reads and writes, whose line was fetched into it at once.
    misses: u64,
    /// Reads and writes that found their line in it.
    hits: u64,
    swaps: u64,
}

/// The buffers of the lines that atomics went to last.
#[derive(Debug, Serialize)]
struct AtomicBuffer {
    /// Atomics, of parts of lines, that found theirs there.
    hits: u64,
    /// Lines brought into them.
    fills: u64,
    /// Lines that went back.
    flushes: u64,
}

/// What a bank that fetches sectors brought and gave back.
#[derive(Debug, Serialize)]
struct Sectors {
    /// Misses of any kind whose line had a way, but not all sectors that they wanted.
    misses: u64,
    /// Bytes of the bursts asked of memory.
    fetched_bytes: u64,
    /// Bytes of the bursts written back.
    written_bytes: u64,
}

#[derive(Debug, Serialize)]
struct Noc {
    /// From the SMs to the L2.
    request: Crossbar,
    /// From the L2 to the SMs.
    reply: Crossbar,
    /// Recalls by the L2; only where it recalls lines.
    recall: Option<Crossbar>,
    /// Their acknowledgements; only where the L2 recalls lines.
    recall_ack: Option<Crossbar>,
    /// Loads on their way to other L1s; only with a sharing tracker.
    forward: Option<Crossbar>,
    /// What these answer; only with a sharing tracker.
    forward_answer: Option<Crossbar>,
}

/// The outputs of a crossbar: [`OutputStats`].
#[derive(Debug, Serialize)]
struct Crossbar {
    packets: u64,
    flits: u64,
    /// Bytes on the wires, those of flits that are not full included.
    bytes: u64,
    blocked: u64,
}

/// Channels of the DRAM, with the [`Counts`] of each.
#[derive(Debug, Serialize)]
struct Dram {
    reads: u64,
    writes: u64,
    row_hits: u64,
    activates: u64,
    precharges: u64,
    refreshes: u64,
    bytes: u64,
    bus_busy_cycles: u64,
    queue_occupancy: u64,
    banks_waiting: u64,
    /// Cycles in which a request waited; `banks_waiting` over it is the bank-level parallelism.
    waiting_cycles: u64,
    read_latency: u64,
    read_latencies: [u64; LATENCY_CLASSES],
}

#[derive(Debug, Serialize)]
struct Host {
    /// Time that the simulation took.
    wall_seconds: f64,
    /// Time of the processor, of all threads together.
    cpu_seconds: f64,
    /// Core cycles simulated in a second of `cpu_seconds`.
    cycles_per_cpu_second: f64,
}

/// The same counters, one element a unit.
#[derive(Debug, Serialize)]
struct Units {
    /// Each SM.
    sm: Vec<Sm>,
    /// Each instruction cache.
    icache: Vec<Icache>,
    /// Each L1D.
    l1: Vec<L1>,
    /// Each constant cache.
    const_cache: Vec<ReadOnly>,
    /// Each texture cache.
    texture_cache: Vec<ReadOnly>,
    /// Each bank of the L2.
    l2: Vec<L2>,
    /// Each channel.
    dram: Vec<Dram>,
}

#[derive(Debug, Serialize)]
struct Sm {
    /// Instructions issued, one for all lanes of a warp.
    warp_instructions: u64,
    /// Instructions executed, one for each lane.
    thread_instructions: u64,
    /// Warp instructions by the pipe that they went to.
    pipes: Pipes,
    /// Branches whose lanes disagreed.
    divergent_branches: u64,
    /// Cycles that shared memory accesses took beyond one each.
    shared_conflicts: u64,
    /// Cycles by which the last operands of instructions came later than they do without banks; only where the
    /// register file has banks.
    operand_conflicts: Option<u64>,
    /// Stores to shared memory, and atomics that left another value there than they found.
    shared_changes: u64,
    /// Cycles in which its schedulers issued an instruction, or a half of one.
    issued: u64,
    /// Cycles in which its schedulers issued nothing, by reason.
    stalls: Stalls,
}

/// Warp instructions by [`Pipe`].
#[derive(Debug, Serialize)]
struct Pipes(Map<String, Value>);

/// Scheduler cycles by [`StallReason`], but for those in which one issued.
#[derive(Debug, Serialize)]
struct Stalls(Map<String, Value>);

/// Warp instructions by opcode.
#[derive(Debug, Serialize)]
struct BlockCopies(Map<String, Value>);

impl BlockCopies {
    fn if_any(counters: &Counters) -> Option<Self> {
        let counts: Map<_, _> = counters.block_copies().map(|(name, count)| (name.to_owned(), count.into())).collect();
        (!counts.is_empty()).then_some(Self(counts))
    }
}

impl<'a> Stats<'a> {
    /// The statistics of a run.
    #[must_use]
    pub fn new(resolved: &'a Resolved, report: &'a RunReport, energy: Option<&'a Energy>) -> Self {
        let counters = &report.counters;
        let [seconds, cpu_seconds] = [report.simulating.wall, report.simulating.cpu].map(|time| time.as_secs_f64());
        let rate = if cpu_seconds > 0.0 { counters.cycles as f64 / cpu_seconds } else { 0.0 };
        let limit = |name: &str| report.warp_limits.iter().find(|(known, _)| known == name).map(|(_, limit)| *limit);
        let kernels = report.kernels.iter();
        let kernels = kernels.map(|(name, launches)| Kernel { name, launches: *launches, warp_limit: limit(name) });
        Self {
            schema: SCHEMA,
            outcome: match report.outcome {
                Outcome::Finished => "finished",
                Outcome::NoProgress(_) => "no-progress",
                Outcome::CycleLimit(_) => "cycle-limit",
                Outcome::Interrupted(_) => "interrupted",
            },
            machine: &resolved.machine.name,
            designs: &resolved.designs,
            config_hash: resolved.hash(),
            kernels: kernels.collect(),
            cycles: counters.cycles,
            schedulers: counters.schedulers,
            core_mhz: f64::from(counters.core_khz) / 1000.0,
            warp_instructions: counters.warp_instructions(),
            thread_instructions: counters.thread_instructions(),
            pipes: Pipes::of(&counters.cores, &resolved.config),
            ipc: counters.ipc(),
            candel2018: Candel2018::of(counters, &resolved.config.l2),
            icache: (!counters.icache.is_empty()).then(|| Icache::of(&counters.icache)),
            l1: L1::of(&counters.l1, &resolved.config),
            const_cache: ReadOnly::of(&counters.const_cache, &resolved.config),
            texture_cache: ReadOnly::of(&counters.texture_cache, &resolved.config),
            l2: L2::of(&counters.l2, &resolved.config.l2),
            tracker: counters.trackers.iter().copied().reduce(|sum, bank| sum.plus(&bank)),
            no_evictions: counters.evictions().iter().filter(|of| of.has_none()).map(|of| of.key).collect(),
            noc: Noc {
                request: Crossbar::of(&counters.requests),
                reply: Crossbar::of(&counters.replies),
                recall: Crossbar::if_any(&counters.recalls),
                recall_ack: Crossbar::if_any(&counters.recall_acks),
                forward: Crossbar::if_any(&counters.forwards),
                forward_answer: Crossbar::if_any(&counters.answers),
            },
            dram: Dram::of(&counters.dram),
            energy,
            issued: issued(&counters.stalls),
            stalls: Stalls::of(&counters.stalls, !counters.icache.is_empty()),
            block_copies: BlockCopies::if_any(counters),
            loads: report.loads.iter().map(Load::of).collect(),
            stages: counters.all_stages(),
            reuse: report.reuse.map(|[all, _]| Reuse::of(all)),
            check: match report.verdict {
                Verdict::Off => "off",
                Verdict::Passed => "passed",
                Verdict::OrderDependent => "order-dependent",
                Verdict::Undefined => "undefined",
                Verdict::Failed(_) => "failed",
            },
            host: Host { wall_seconds: seconds, cpu_seconds, cycles_per_cpu_second: rate },
            units: Units {
                sm: Sm::all(counters, &resolved.config),
                icache: counters.icache.iter().map(|unit| Icache::of(from_ref(unit))).collect(),
                l1: counters.l1.iter().map(|unit| L1::of(from_ref(unit), &resolved.config)).collect(),
                const_cache: counters
                    .const_cache
                    .iter()
                    .map(|unit| ReadOnly::of(from_ref(unit), &resolved.config))
                    .collect(),
                texture_cache: counters
                    .texture_cache
                    .iter()
                    .map(|unit| ReadOnly::of(from_ref(unit), &resolved.config))
                    .collect(),
                l2: counters.l2.iter().map(|unit| L2::of(from_ref(unit), &resolved.config.l2)).collect(),
                dram: counters.dram.iter().map(|unit| Dram::of(from_ref(unit))).collect(),
            },
        }
    }
}

impl L1 {
    fn of(units: &[L1Stats], config: &MachineConfig) -> Self {
        let sum = |count: fn(&L1Stats) -> u64| units.iter().map(count).sum();
        let decoupled = (config.l1.organisation == Organisation::Decoupled).then_some(());
        Self {
            accesses: sum(|unit| unit.accesses),
            hits: sum(|unit| unit.hits),
            hit_pending: sum(|unit| unit.hit_pending),
            misses: sum(|unit| unit.misses),
            sector_misses: (config.l1.fetch == Fetch::Sectors).then(|| sum(|unit| unit.sector_misses)),
            bypasses: sum(|unit| unit.bypasses),
            store_hits: sum(|unit| unit.store_hits),
            store_misses: sum(|unit| unit.store_misses),
            atomics: sum(|unit| unit.atomics),
            evictions: sum(|unit| unit.evictions),
            promotions: decoupled.map(|()| sum(|unit| unit.promotions)),
            demotions: decoupled.map(|()| sum(|unit| unit.demotions)),
            recalls: (config.l2.recalls()).then(|| sum(|unit| unit.recalls)),
            reservation_fails: ReservationFails::of(units, |unit| unit.fails),
            failing: ReservationFails::of(units, |unit| unit.failing),
        }
    }
}

impl Icache {
    fn of(units: &[InstructionStats]) -> Self {
        let sum = |count: fn(&InstructionStats) -> u64| units.iter().map(count).sum();
        Self {
            accesses: sum(|unit| unit.accesses),
            hits: sum(|unit| unit.hits),
            hit_pending: sum(|unit| unit.hit_pending),
            misses: sum(|unit| unit.misses),
            evictions: sum(|unit| unit.evictions),
            refusals: sum(|unit| unit.refusals),
        }
    }
}

impl ReadOnly {
    fn of(units: &[L1Stats], config: &MachineConfig) -> Self {
        let sum = |count: fn(&L1Stats) -> u64| units.iter().map(count).sum();
        Self {
            accesses: sum(|unit| unit.accesses),
            hits: sum(|unit| unit.hits),
            hit_pending: sum(|unit| unit.hit_pending),
            misses: sum(|unit| unit.misses),
            evictions: sum(|unit| unit.evictions),
            recalls: (config.l2.recalls()).then(|| sum(|unit| unit.recalls)),
            reservation_fails: ReservationFails::of(units, |unit| unit.fails),
            failing: ReservationFails::of(units, |unit| unit.failing),
        }
    }
}

impl ReservationFails {
    fn of(units: &[L1Stats], cycles: fn(&L1Stats) -> [u64; NUM_FAILS]) -> Self {
        let sum = |reason: Fail| units.iter().map(|unit| cycles(unit)[reason as usize]).sum();
        Self {
            line_alloc: sum(Fail::LineAlloc),
            mshr_entry: sum(Fail::MshrEntry),
            mshr_merge: sum(Fail::MshrMerge),
            miss_queue: sum(Fail::MissQueue),
        }
    }
}

impl L2 {
    fn of(units: &[L2Stats], config: &L2Config) -> Self {
        let sum = |count: fn(&L2Stats) -> u64| units.iter().map(count).sum();
        Self {
            accesses: sum(|unit| unit.accesses),
            hits: sum(|unit| unit.hits),
            hit_pending: sum(|unit| unit.hit_pending),
            misses: sum(|unit| unit.misses),
            bypasses: config.bypass.hardware().map(|_| sum(|unit| unit.bypasses)),
            write_hits: sum(|unit| unit.write_hits),
            write_pending: sum(|unit| unit.write_pending),
            write_misses: sum(|unit| unit.write_misses),
            atomics: sum(L2Stats::atomics),
            atomic_hits: sum(|unit| unit.atomic_hits),
            atomic_pending: sum(|unit| unit.atomic_pending),
            atomic_misses: sum(|unit| unit.atomic_misses),
            fetches: sum(|unit| unit.fetches),
            writebacks: sum(|unit| unit.writebacks),
            evictions: sum(|unit| unit.evictions),
            replays: sum(|unit| unit.replays),
            changes: sum(|unit| unit.changes),
            miss_delay: sum(|unit| unit.miss_delay),
            stalls: BankStalls::of(units, config),
            put_down: config.is_transient().then(|| sum(|unit| unit.put_down)),
            delays: config
                .is_transient()
                .then(|| Delays { way: sum(|unit| unit.way_delay), eviction: sum(|unit| unit.eviction_delay) }),
            frc: (config.frc_entries() > 0).then(|| Frc {
                misses: sum(|unit| unit.frc_misses),
                hits: sum(|unit| unit.frc_hits),
                swaps: sum(|unit| unit.swaps),
            }),
            atomic_buffer: config.atomic_buffer.then(|| AtomicBuffer {
                hits: sum(|unit| unit.buffer_hits),
                fills: sum(|unit| unit.buffer_fills),
                flushes: sum(|unit| unit.buffer_flushes),
            }),
            sectors: config.fetches_sectors().then(|| Sectors {
                misses: sum(|unit| unit.sector_misses),
                fetched_bytes: sum(|unit| unit.fetched_bytes),
                written_bytes: sum(|unit| unit.written_bytes),
            }),
        }
    }
}

impl BankStalls {
    fn of(units: &[L2Stats], config: &L2Config) -> Self {
        let mut cycles = Map::new();
        for (reason, here) in units.iter().flat_map(L2Stats::refusals) {
            let is_modelled = match reason {
                _ if reason == Stall::PendingQueue.name() => config.is_transient(),
                _ if reason == Stall::AtomicBuffer.name() => config.atomic_buffer,
                _ => true,
            };
            let before = cycles.get(reason).and_then(Value::as_u64).unwrap_or(0);
            cycles.insert(reason.to_owned(), is_modelled.then_some(before + here).into());
        }
        Self(cycles)
    }
}

impl Crossbar {
    fn if_any(outputs: &[OutputStats]) -> Option<Self> {
        (!outputs.is_empty()).then(|| Self::of(outputs))
    }

    fn of(outputs: &[OutputStats]) -> Self {
        let sum = |count: fn(&OutputStats) -> u64| outputs.iter().map(count).sum();
        Self {
            packets: sum(|output| output.packets),
            flits: sum(|output| output.flits),
            bytes: sum(|output| output.bytes),
            blocked: sum(|output| output.blocked),
        }
    }
}

impl Dram {
    fn of(units: &[Counts]) -> Self {
        let sum = |count: fn(&Counts) -> u64| units.iter().map(count).sum();
        Self {
            reads: sum(|unit| unit.reads),
            writes: sum(|unit| unit.writes),
            row_hits: sum(|unit| unit.row_hits),
            activates: sum(|unit| unit.activates),
            precharges: sum(|unit| unit.precharges),
            refreshes: sum(|unit| unit.refreshes),
            bytes: sum(|unit| unit.bytes),
            bus_busy_cycles: sum(|unit| unit.bus_busy_cycles),
            queue_occupancy: sum(|unit| unit.queue_occupancy),
            banks_waiting: sum(|unit| unit.banks_waiting),
            waiting_cycles: sum(|unit| unit.waiting_cycles),
            read_latency: sum(|unit| unit.read_latency),
            read_latencies: std::array::from_fn(|class| units.iter().map(|unit| unit.read_latencies[class]).sum()),
        }
    }
}

impl Sm {
    fn all(counters: &Counters, config: &MachineConfig) -> Vec<Self> {
        let has_banks = config.sm.operands.banks > 0;
        let units = counters.cores.iter().zip(&counters.stalls);
        let sm = units.map(|(core, cycles)| Self {
            warp_instructions: core.warp_instructions,
            thread_instructions: core.thread_instructions,
            pipes: Pipes::of(from_ref(core), config),
            divergent_branches: core.divergent_branches,
            shared_conflicts: core.shared_conflicts,
            operand_conflicts: has_banks.then_some(core.operand_conflicts),
            shared_changes: core.shared_changes,
            issued: issued(from_ref(cycles)),
            stalls: Stalls::of(from_ref(cycles), !counters.icache.is_empty()),
        });
        sm.collect()
    }
}

impl Pipes {
    /// Over the given SMs.
    fn of(units: &[CoreCounters], config: &MachineConfig) -> Self {
        let count = |pipe: Pipe| units.iter().map(|core| core.per_pipe[pipe as usize]).sum::<u64>();
        let value = |pipe: Pipe| pipe.exists(&config.sm.pipes).then(|| count(pipe)).into();
        Self(Pipe::ALL.into_iter().map(|pipe| (pipe.name().to_owned(), value(pipe))).collect())
    }
}

/// Scheduler cycles in which the given SMs issued.
fn issued(units: &[Vec<u64>]) -> u64 {
    units.iter().filter_map(|unit| unit.get(StallReason::Issued as usize)).sum()
}

impl Stalls {
    /// Over the given SMs; `caches` if fetches can miss.
    fn of(units: &[Vec<u64>], caches: bool) -> Self {
        let reasons = StallReason::ALL.iter().enumerate().filter(|(_, reason)| **reason != StallReason::Issued);
        let cycles = |idx: usize| units.iter().filter_map(|unit| unit.get(idx)).sum::<u64>();
        let is_modelled = |reason| caches || reason != StallReason::FetchMiss;
        let value = |idx, reason| if is_modelled(reason) { cycles(idx).into() } else { Value::Null };
        Self(reasons.map(|(idx, reason)| (reason.name().to_owned(), value(idx, *reason))).collect())
    }
}
