//! # Long streams through an L1D of realistic size
//! Runs tens of thousands of line requests: to hot lines, to lines touched a few times, and to lines touched
//! once. The L1D has any tag organization and any replacement policy, and both core and memory stall at
//! random. Every event is compared with the golden model. Every byte is checked against the order in which
//! accesses pass the tags.
//!
//! | testpoint                                                    | test                   |
//! |--------------------------------------------------------------|------------------------|
//! | tags, counts, data ways and victims equal the golden model's | `a_hundred_thousand_*` |
//! | threshold 0 takes exactly the cycles of a plain L1D          | `with_threshold_0_*`   |
//! | evict-first lines leave first, evict-last lines last, under every policy | `hints_order_*` |
//! | results are equal if idle blocks sleep or are evaluated      | `streams_go_alike_*`   |
//! | a two-stage probe costs a cycle of latency but no throughput | `a_longer_probe_*`     |

use std::sync::Arc;

use rtl::cells::line::LINE_BYTES;
use rtl::index::linear::Linear;
use rtl::kernel::Mode;
use rtl::l1::access::{AccessKind, LANES, MemorySpace, WarpAccess};
use rtl::l1::bypass::contention::Warps;
use rtl::l1::config::{CacheConfig, Fetch, L1Config, LsuConfig, Organisation, StoreHit};
use rtl::l1::decoupled::{AgeMode, Comparison, DecoupledConfig, TagVictim};
use rtl::l1::dueling::Leaders;
use rtl::l1::stats::L1Stats;
use rtl::replacement::lru::Lru;
use rtl::replacement::priority::{EvictionHints, EvictionPriority};

use super::rig::{self, Rig, RigBehavior, Stalls};
use super::schemes::Scheme;
use super::scoreboard::Scoreboard;
use super::statuses;
use crate::kit::Random;
use crate::kit::coverage::is_collecting;
use crate::replacement;
use warpsieve::check::l1::Lockstep;

const PRIORITIES: [EvictionPriority; 3] = [EvictionPriority::First, EvictionPriority::Normal, EvictionPriority::Last];

/// Number of the first line of local memory. Lines of global memory have lower numbers.
const FIRST_LOCAL: u64 = 1 << 24;
/// Number of the first cold line. Cold lines are touched only once or a few times. Hot lines have lower
/// numbers.
const FIRST_COLD: u64 = 1 << 12;
/// Returns the configuration of the constant cache and the texture cache, which the streams do not use.
fn read_only() -> CacheConfig {
    CacheConfig {
        sets: 1,
        ways: 1,
        mshr_entries: 1,
        mshr_merges: 1,
        index: Linear {}.into(),
        replacement: Lru {}.into(),
    }
}
/// Maximum number of cycles per instruction. A run that takes longer counts as hung.
const MAX_CYCLES: u64 = 100_000;

/// Test case: an L1D, a program for it, and the behavior of the core and the memory.
pub(crate) struct Stream {
    /// Name of the scheme of the L1D; `None` if its configuration was not made from a named scheme.
    scheme: Option<&'static str>,
    l1: L1Config,
    program: Vec<WarpAccess>,
    manners: RigBehavior,
}

/// Results of a stream after its run.
#[derive(Debug, PartialEq)]
pub(crate) struct StreamResult {
    stats: L1Stats,
    pub cycles: u64,
    /// Hash of all messages, and hash of the final state.
    digests: (u64, u64),
}

impl Stream {
    /// Generates a random L1D, and a program of `instructions` instructions for it.
    pub fn draw(seed: u64, instructions: usize) -> Self {
        let mut random = Random::new(seed);
        let l1 = l1(&mut random);
        let mix = Mix::draw(&mut random, u64::from(l1.sets * l1.ways));
        let program = program(&mut random, &l1, mix, instructions);
        let stalls = |random: &mut Random| Stalls { cycles: random.below(5), spells: random.below(4) };
        let manners = RigBehavior {
            seed,
            pause: [0, 0, 3][random.below(3) as usize],
            periods: [[1, 1], [2, 3]][random.below(2) as usize],
            latency: (1 + random.below(100), 1 + random.below(100)),
            replies: stalls(&mut random),
            requests: stalls(&mut random),
            recalls: random.below(3),
            modes: 0,
        };
        Self { scheme: None, l1, program, manners }
    }

    /// Generates a random small L1D with the given scheme, and a program for it. The memory latency is low,
    /// so that many events occur in the same cycle.
    pub fn of_scheme(scheme: &Scheme, seed: u64, instructions: usize) -> Self {
        let mut random = Random::new(seed);
        let l1 = scheme.small(&mut random);
        let mix = Mix::dense(&mut random);
        let program = program(&mut random, &l1, mix, instructions);
        let manners = RigBehavior {
            seed,
            pause: 0,
            periods: [[1, 1], [2, 1], [2, 3]][random.below(3) as usize],
            latency: (1 + random.below(10), random.below(30)),
            replies: Stalls { cycles: random.below(2), spells: 0 },
            requests: Stalls { cycles: random.below(4), spells: random.below(3) },
            recalls: random.below(9),
            modes: if l1.dueling.leaders == Leaders::None { 0 } else { 2 },
        };
        Self { scheme: Some(scheme.name), l1, program, manners }
    }

    /// Shortens the program to its first `count` instructions.
    pub fn first(mut self, count: u64) -> Self {
        self.program.truncate(count as usize);
        self
    }

    /// Runs the stream with every check enabled.
    ///
    /// # Panics
    /// Panics if a check fails.
    pub fn run(&self, mode: Mode) -> StreamResult {
        let Self { scheme, l1, program, manners } = self;
        let lsu_config = LsuConfig { slots: 32, access_queue: 8, request_latency: 1, reply_latency: 1 };
        let mut rig = Rig::new(rig::lsu(l1, [&read_only(); 2], &lsu_config), program.clone(), *manners, l1.line_bytes);
        let lockstep = Lockstep::new("sm3.l1", 3, l1, [&read_only(); 2], true);
        let mut lockstep = lockstep.unwrap_or_else(|error| panic!("{error}\n{l1:?}"));
        let mut scoreboard = Scoreboard::new(program.clone(), l1.line_bytes as usize, l1.mrpb.queues > 1);
        if l1.bypass.profile().is_some() {
            // The bypass profile admits about two thirds of the lines below `FIRST_COLD` to the cache.
            let admits = |line: &u64| !rig::mix(manners.seed, *line).is_multiple_of(3);
            let admitted: Arc<[u64]> = (0..FIRST_COLD).filter(admits).collect();
            rig.lsu.admit(&admitted);
            lockstep.admit(&admitted);
        }
        let observed = scheme.filter(|_| is_collecting());
        let mut sim = rig.simulator(Mode { digest: true, ..mode });
        let period = u64::from(manners.periods[0]);
        let (mut answered, mut cycle) = (0, 0);
        while let Some(tick) = sim.step(&mut rig) {
            if tick % period != 0 {
                continue;
            }
            cycle = tick / period;
            assert!(cycle < MAX_CYCLES * program.len() as u64, "no end in sight: {l1:?}");
            let Some(watch) = rig.lsu.take_watch() else { panic!("the rig observes") };
            rig.taken(tick).into_iter().for_each(|access| lockstep.take(access));
            lockstep.step(cycle, &watch).unwrap_or_else(|mismatch| panic!("{mismatch}\n{l1:?}"));
            watch.accesses().for_each(|access| scoreboard.access(access));
            if let (Some(row), Some(access)) = (watch.taken, rig.taken(tick)) {
                scoreboard.take(row, access.pc as usize);
            }
            if let Some(scheme) = observed {
                statuses::observe(scheme, &watch, rig.reply_at(tick));
            }
            rig.answers()[answered..].iter().for_each(|(cycle, reply)| scoreboard.answer(*cycle, reply));
            answered = rig.answers().len();
        }
        assert!(rig.is_idle() && scoreboard.is_done(), "hangs at cycle {cycle}: {l1:?}");
        assert!(rig.lsu.is_consistent() && lockstep.is_consistent());
        for (line, bytes) in scoreboard.image().filter(|(line, _)| *line < FIRST_LOCAL) {
            assert_eq!(&rig.memory(line), bytes, "line {line:#x}");
        }
        let stats = rig.lsu.settle(cycle + 1);
        assert_eq!(stats.accesses, stats.hits + stats.hit_pending + stats.misses + stats.bypasses);
        // The duration is counted up to the last reply, since memory may go on sending recalls after it.
        let cycles = rig.answers().last().map_or(0, |(cycle, _)| *cycle);
        StreamResult { stats, cycles, digests: (rig.history(), sim.state_digest(&rig)) }
    }
}

fn l1(random: &mut Random) -> L1Config {
    let sets = 8 << random.below(3);
    let replacement = replacement::draw(random, sets, true);
    L1Config {
        sets,
        ways: [1, 2, 4, 4, 8][random.below(5) as usize],
        mshr_entries: [4, 32][random.below(2) as usize],
        mshr_merges: [2, 8][random.below(2) as usize],
        miss_queue: [2, 8][random.below(2) as usize],
        bypass_sectors: 32 * random.below(2) as u32,
        fetch: if random.percent(50) { Fetch::Sectors } else { Fetch::Line },
        store_hit: if random.percent(50) { StoreHit::Update } else { StoreHit::Evict },
        replacement,
        organisation: if random.percent(85) { Organisation::Decoupled } else { Organisation::Plain },
        decoupled: DecoupledConfig {
            tag_ways: 1 + random.below(16) as u32,
            threshold: [0, 1, 2, 2, 2, 3][random.below(6) as usize],
            threshold_cmp: if random.percent(80) { Comparison::AtLeast } else { Comparison::Above },
            rc_init: [0, 0, 0, 1, 3][random.below(5) as usize],
            age_mode: if random.percent(70) { AgeMode::Once } else { AgeMode::Twice },
            tag_victim: if random.percent(70) { TagVictim::Candidate } else { TagVictim::Any },
            store_evict_ages: random.percent(50),
            probe_extra: random.below(2) as u32,
        },
        ..rig::l1()
    }
}

/// Parameters of a random program: how its accesses are distributed.
struct Mix {
    /// Number of lines that are accessed again and again (`hot`), and number of lines that are accessed a few
    /// times (`cold`).
    hot: u64,
    cold: u64,
    /// Percentage of the accesses to global memory that go to hot lines.
    hot_percent: u64,
    /// Percentage of instructions that are stores. The fields `locals`, `uncached` and `atomics` are the
    /// percentages of accesses to local memory, uncached accesses and atomics.
    stores: u64,
    locals: u64,
    uncached: u64,
    atomics: u64,
}

impl Mix {
    /// Generates random parameters of a program for a cache with `lines` lines.
    fn draw(random: &mut Random, lines: u64) -> Self {
        let (hot, cold) = (1 + random.below(lines), lines * (2 + random.below(8)));
        let [hot_percent, stores, locals] = [20 + random.below(60), random.below(25), random.below(25)];
        Self { hot, cold, hot_percent, stores, locals, uncached: 3, atomics: 3 }
    }

    /// Generates random parameters of a program with few lines, for small caches. Accesses often find their
    /// line in flight.
    fn dense(random: &mut Random) -> Self {
        Self {
            hot: 1 + random.below(12),
            cold: 1 + random.below(40),
            hot_percent: 40 + random.below(60),
            stores: random.below(50),
            locals: [0, 20, 60, 90][random.below(4) as usize],
            uncached: random.below(20),
            atomics: random.below(30),
        }
    }
}

fn program(random: &mut Random, l1: &L1Config, mix: Mix, instructions: usize) -> Vec<WarpAccess> {
    const DIVERGENT: u64 = 5;
    let Mix { hot, cold, hot_percent, stores, locals, uncached, atomics } = mix;
    let stride = [1, u64::from(l1.sets), 3][random.below(3) as usize];
    let mut next_once = FIRST_COLD * 2;
    let instruction = |pc: usize| {
        let space = if random.percent(locals) { MemorySpace::Local } else { MemorySpace::Global };
        let kind = match space {
            MemorySpace::Global if random.percent(atomics) => {
                [AccessKind::Reduce, AccessKind::Atomic][random.below(2) as usize]
            }
            _ if random.percent(stores) => AccessKind::Store,
            _ => AccessKind::Load,
        };
        let count = if random.percent(DIVERGENT) { 32 } else { 1 + random.below(2) };
        let mut lines = [0; LANES];
        for line in lines.iter_mut().take(count as usize) {
            *line = if space == MemorySpace::Local {
                FIRST_LOCAL + random.below(hot)
            } else if random.percent(hot_percent) {
                random.below(hot)
            } else if random.percent(50) {
                FIRST_COLD + random.below(cold) * stride
            } else {
                next_once += 1;
                next_once
            };
        }
        let line = |lane: usize| lines[lane % count as usize];
        // Some warps access single sectors of their lines, and some access single words.
        let mask = match random.below(10) {
            0..6 => u32::MAX,
            6..9 => (0..1 + random.below(3)).fold(0, |mask, _| mask | 0xff << (8 * random.below(4))),
            _ => 1 << random.below(32),
        };
        WarpAccess {
            kind,
            space,
            uncached: random.percent(uncached),
            // An L1D that does not support eviction priorities ignores this field.
            hints: EvictionHints { l1: PRIORITIES[random.below(3) as usize], ..EvictionHints::default() },
            warp: (pc % 48) as u8,
            resident: if l1.bypass.tests_contention() {
                Warps::new((rig::mix(pc as u64, 1) % 9) as u8)
            } else {
                Warps::default()
            },
            pc: pc as u32,
            size_log2: 2,
            mask,
            address: std::array::from_fn(|lane| line(lane) * LINE_BYTES as u64 + 4 * lane as u64),
            data: [[random.below(1 << 32) as u32; LANES], [0; LANES]],
            ..WarpAccess::default()
        }
    };
    (0..instructions).map(instruction).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of line requests that the L1D served.
    fn accesses(ended: &StreamResult) -> u64 {
        let L1Stats { accesses, store_hits, store_misses, atomics, .. } = ended.stats;
        accesses + store_hits + store_misses + atomics
    }

    /// Returns a copy of a stream in which the core and the memory never stall.
    fn without_stalls(stream: &Stream) -> Stream {
        let none = Stalls::default();
        let manners = RigBehavior { pause: 0, periods: [1, 1], replies: none, requests: none, ..stream.manners };
        Stream { scheme: None, l1: stream.l1.clone(), program: stream.program.clone(), manners }
    }

    #[test]
    fn a_hundred_thousand_accesses_of_random_streams_go_as_the_twin_says() {
        let (mut served, mut promotions, mut demotions, mut seed) = (0, 0, 0, 0);
        while served < 100_000 {
            let ended = Stream::draw(seed, 2_000).run(Mode::default());
            served += accesses(&ended);
            promotions += ended.stats.promotions;
            demotions += ended.stats.demotions;
            seed += 1;
        }
        assert!(promotions > 1_000 && demotions > 1_000, "{promotions} and {demotions} lines moved");
    }

    #[test]
    fn hints_order_the_victims_of_every_policy_as_the_twin_says() {
        let (mut differ, mut all) = (0, 0);
        for policy in replacement::policies(16, true) {
            for seed in 0..2 {
                let mut stream = Stream::draw(seed, 600);
                stream.l1 = L1Config {
                    sets: 16,
                    ways: [4, 8][seed as usize],
                    organisation: Organisation::Plain,
                    replacement: policy.clone(),
                    ..stream.l1
                };
                let hits = [false, true].map(|hints| {
                    stream.l1.hints = hints;
                    stream.run(Mode::default()).stats.hits
                });
                differ += i32::from(hits[0] != hits[1]);
                all += 1;
            }
        }
        // The loads of a stream have random hints, so other lines are evicted than without them.
        assert!(differ > all / 2, "{differ} of {all}");
    }

    #[test]
    fn streams_go_alike_in_every_mode() {
        for seed in 0..4 {
            let stream = Stream::draw(seed, 150);
            let asleep = stream.run(Mode::default());
            for mode in [Mode { evaluate_all: true, ..Mode::default() }, Mode { lint: true, ..Mode::default() }] {
                assert_eq!(stream.run(mode), asleep, "seed {seed}, {mode:?}");
            }
        }
    }

    /// With a reuse threshold of 0, every loaded line gets a data way, so the tags that have no data way have
    /// no effect. A real cache could power-gate these tags (li2015 section 4.3).
    #[test]
    fn with_threshold_0_an_l1d_takes_the_cycles_of_an_ordinary_one() {
        for seed in 0..6 {
            let mut stream = Stream::draw(seed, 2_000);
            stream.l1.organisation = Organisation::Plain;
            let plain = stream.run(Mode::default());
            stream.l1.organisation = Organisation::Decoupled;
            stream.l1.decoupled =
                DecoupledConfig { tag_ways: 2 * stream.l1.ways, threshold: 0, ..DecoupledConfig::LI2015 };
            let StreamResult { stats, cycles, digests } = stream.run(Mode::default());
            let stats = L1Stats { promotions: 0, demotions: 0, ..stats };
            assert_eq!((stats, cycles, digests.0), (plain.stats, plain.cycles, plain.digests.0), "seed {seed}");
        }
    }

    /// Returns the duration of a stream in cycles, with a one-stage and with a two-stage tag probe.
    fn with_probes(stream: &mut Stream) -> [u64; 2] {
        stream.l1.organisation = Organisation::Decoupled;
        [0, 1].map(|probe_extra| {
            stream.l1.decoupled = DecoupledConfig { probe_extra, ..DecoupledConfig::LI2015 };
            stream.run(Mode::default()).cycles
        })
    }

    #[test]
    fn a_longer_probe_takes_a_cycle_but_no_throughput() {
        let [short, long] = with_probes(&mut without_stalls(&Stream::draw(2, 1)));
        assert_eq!(long, short + 1);
        let [short, long] = with_probes(&mut without_stalls(&Stream::draw(2, 2_000)));
        assert!(long.abs_diff(short) * 50 < short, "{long} and {short}");
    }
}
