//! # Testbench of the LSU with its caches
//! Runs random programs of loads, stores and atomics on small caches, with random stalls of the core and the
//! memory. The memory runs on the core clock or on another clock, and replies to different lines in any
//! order. Every event is compared with the golden model. Every loaded byte must have the value that follows
//! from the order in which the accesses are looked up in the tags.
//!
//! | testpoint                                                                                      | test |
//! |------------------------------------------------------------------------------------------------|-----|
//! | every load and atomic returns the bytes that were current when it passed the tags              | `random_programs_*` |
//! | every instruction gets one reply, and nothing stays in flight                                  | `random_programs_*` |
//! | hits, misses, victims, refusals, fills and waiters equal the golden model's                    | `random_programs_*` |
//! | counters agree with the events, and every access is counted in one status                      | `random_programs_*` |
//! | every evaluation mode of the simulator gives the same messages in the same cycles              | `random_programs_*` |
//! | the final memory contents are those that the program wrote                                     | `random_programs_*` |
//! | all of the above with decoupled tags and other replacement policies                            | `decoupled_tags_*` |
//! | recalled lines are dropped, at once or on arrival, unless modified                             | `random_programs_*` |
//! | the same instructions contend as in the golden model, and contending loads bypass if they miss | `random_programs_*` |
//! | all of the above with up to four lines of a load served per cycle, and word banks              | `random_programs_on_several_*` |
//! | all of the above with a prefetcher, whose lines and lookups equal the golden model's           | `prefetchers_*` |
//! | all of the above with a victim cache, with or without a prefetcher                             | `victim_caches_*` |
//! | each outcome, refusal and combination of failing conditions occurs                             | `random_programs_reach_*` |
//! | each status occurs with each kind of arrival, under every L1D scheme                           | `soak::coverage::random_l1ds_*` |

use arbitrary_int::u2;
use std::collections::BTreeSet;

use isa::lanes::AtomicFn;
use isa::types::Type;
use proptest::prelude::*;
use rtl::cells::atomic::AtomicOp;
use rtl::cells::line::{SECTOR_BYTES, SECTORS};
use rtl::cells::streaming::{Reopen, StreamingConfig};
use rtl::config::Rules;
use rtl::index::i_poly::IPoly;
use rtl::index::linear::Linear;
use rtl::kernel::Mode;
use rtl::l1::access::{AccessKind, LANES, MemorySpace, WarpAccess};
use rtl::l1::bypass::BypassConfig;
use rtl::l1::bypass::all::All;
use rtl::l1::bypass::contention::{Contentious, Warps};
use rtl::l1::bypass::none::NoScheme;
use rtl::l1::bypass::pdp::PdpConfig;
use rtl::l1::cache::CacheId;
use rtl::l1::config::{
    BanksConfig, CacheConfig, FailOrder, Fetch, L1Config, LsuConfig, Organisation, StoreHit, WordBanksConfig,
};
use rtl::l1::decoupled::{AgeMode, Comparison, DecoupledConfig, TagVictim};
use rtl::l1::mrpb::{DrainOrder, MrpbConfig, StallBypass};
use rtl::l1::prefetch::PrefetchLimits;
use rtl::l1::prefetch::none::NoPrefetcher;
use rtl::l1::stats::L1Stats;
use rtl::l1::watch::{Access, Fail, NUM_FAILS, Outcome, RecallEffect, Watch};
use rtl::replacement::lru::Lru;
use rtl::replacement::priority::EvictionHints;
use rtl::replacement::srrip::Srrip;

use super::prefetch;
use super::rig::{self, Rig, RigBehavior, Stalls, mix};
use super::scoreboard::Scoreboard;
use super::victim;
use crate::kit::coverage::{Axis, Cross, collect, hit};
use crate::{mshr_policy, replacement};
use warpsieve::check::l1::Lockstep;

/// Number of the first line of local memory. Lines of global memory have lower numbers.
const FIRST_LOCAL: u64 = 1 << 24;
/// First line of constant memory and of textures, which share the same lines in this test.
const FIRST_READ_ONLY: u64 = 3 << 23;
const MAX_CYCLES: u64 = 100_000;

#[derive(Clone, Debug)]
struct Case {
    l1: L1Config,
    read_only: [CacheConfig; 2],
    lsu: LsuConfig,
    seed: u64,
    length: usize,
}

/// Generates a random configuration of an LSU and its caches from a seed.
fn case(seed: u64, length: usize) -> Case {
    let mut draws = 0..;
    let mut pick = |least: u64, most: u64| least + mix(seed, draws.next().unwrap_or(0)) % (most - least + 1);
    let sets = 1 << pick(0, 2);
    let polynomial = [0, 3, 7][(sets as u32).ilog2() as usize];
    let index = if polynomial != 0 && pick(0, 1) == 1 {
        IPoly { polynomial, addr_bits: rig::ADDR_BITS, reversed: pick(0, 1) == 1 }.into()
    } else {
        Linear {}.into()
    };
    let streaming = || {
        let (period, miss_percent) = (40 + (mix(seed, 81) % 361) as u32, 30 + (mix(seed, 82) % 61) as u32);
        let reopen = if mix(seed, 84).is_multiple_of(2) { Reopen::Miss } else { Reopen::Flush };
        StreamingConfig { period, miss_percent, min_accesses: 1 + (mix(seed, 83) % 8) as u32, reopen }
    };
    let bypass: BypassConfig = match pick(0, 8) {
        0 => All {}.into(),
        1 | 2 => streaming().into(),
        3 | 4 => NoScheme {}.into(),
        5 | 6 => Contentious {}.into(),
        _ => PdpConfig { distance: [1, 3, 6][mix(seed, 70) as usize % 3] }.into(),
    };
    let mut mrpb = mrpb(seed);
    if bypass.keeps_tags() {
        mrpb.bypass = StallBypass::None;
    }
    let l1 = L1Config {
        sets: sets as u32,
        ways: pick(1, 4) as u32,
        line_bytes: 64 << pick(0, 1) as u32,
        mshr_entries: pick(1, 4) as u32,
        mshr_merges: [1, 2, 3, 8][pick(0, 3) as usize],
        miss_queue: pick(2, 4) as u32,
        fail_order: if pick(0, 1) == 0 { FailOrder::MshrFirst } else { FailOrder::QueueFirst },
        bypass,
        bypass_sectors: 32 * pick(0, 1) as u32,
        fetch: if pick(0, 1) == 0 { Fetch::Line } else { Fetch::Sectors },
        store_hit: if pick(0, 1) == 0 { StoreHit::Evict } else { StoreHit::Update },
        index,
        mrpb,
        ..rig::l1()
    };
    let lsu =
        LsuConfig { slots: pick(1, 8) as u32, access_queue: pick(1, 4) as u32, request_latency: 1, reply_latency: 1 };
    let read_only = [50, 60].map(|first| {
        let pick = |n: u64, least: u64, most: u64| (least + mix(seed, first + n) % (most - least + 1)) as u32;
        CacheConfig {
            sets: 1 << pick(0, 0, 1),
            ways: pick(1, 1, 3),
            mshr_entries: pick(2, 1, 3),
            mshr_merges: pick(3, 1, 3),
            index: Linear {}.into(),
            replacement: if pick(4, 0, 1) == 0 { Srrip {}.into() } else { Lru {}.into() },
        }
    });
    Case { l1, read_only, lsu, seed, length }
}

/// Generates a random configuration in which the L1D makes several lookups per cycle.
fn wide_case(seed: u64, length: usize) -> Case {
    let mut case = case(seed, length);
    let pick = |n: u64, choices: [u32; 3]| choices[mix(seed, 2000 + n) as usize % 3];
    let l1 = &mut case.l1;
    (l1.fetch, l1.line_bytes, l1.mrpb.queues) = (Fetch::Sectors, 128, 0);
    (l1.ways, l1.mshr_entries) = (pick(0, [1, 2, 4]), pick(1, [1, 4, 8]));
    if !l1.bypass.supports_multiple_lookups() {
        l1.bypass = NoScheme {}.into();
    }
    l1.lookups = pick(2, [2, 4, 4]);
    let tag_bank_bits = if l1.lookups == 2 { vec![vec![7, 9]] } else { WordBanksConfig::default().tag_bank_bits };
    if pick(4, [0, 0, 1]) == 1 {
        l1.banks = BanksConfig::Words(WordBanksConfig { tag_bank_bits });
    }
    case.lsu.access_queue = pick(3, [2, 4, 8]);
    case
}

/// Generates a random configuration with a replacement policy other than the default. Most have decoupled
/// tags.
fn decoupled_case(seed: u64, length: usize) -> Case {
    let mut case = case(seed, length);
    let pick = |n: u64, most: u64| mix(seed, 1000 + n) % (most + 1);
    let l1 = &mut case.l1;
    l1.bypass = match pick(0, 9) {
        0 => All {}.into(),
        1 | 2 => PdpConfig { distance: 1 + pick(13, 5) as u32 }.into(),
        _ => NoScheme {}.into(),
    };
    if pick(2, 1) == 0 {
        let policies = replacement::policies(8, true);
        l1.replacement = policies[pick(3, policies.len() as u64 - 1) as usize].clone();
        if ["drrip", "dip", "hawkeye"].contains(&l1.replacement.typetag_name()) {
            (l1.sets, l1.index) = (8, Linear {}.into());
        }
    }
    let is_decoupled = pick(4, 3) != 0;
    if l1.bypass.needs_lru() && (is_decoupled || l1.replacement != Lru {}.into()) {
        l1.bypass = NoScheme {}.into();
    }
    if !is_decoupled {
        return case;
    }
    l1.organisation = Organisation::Decoupled;
    l1.mrpb.bypass = StallBypass::None;
    l1.decoupled = DecoupledConfig {
        tag_ways: l1.ways + pick(5, 5) as u32,
        threshold: pick(6, 3) as u32,
        threshold_cmp: if pick(7, 3) == 0 { Comparison::Above } else { Comparison::AtLeast },
        rc_init: pick(8, 4).saturating_sub(2) as u32,
        age_mode: if pick(9, 1) == 0 { AgeMode::Twice } else { AgeMode::Once },
        tag_victim: if pick(10, 2) == 0 { TagVictim::Any } else { TagVictim::Candidate },
        store_evict_ages: pick(11, 1) == 0,
        probe_extra: pick(12, 1) as u32,
    };
    case
}

/// Generates a random configuration with a prefetcher. In some configurations, the L1D makes several lookups
/// per cycle.
fn prefetch_case(seed: u64, length: usize) -> Case {
    let mut case = if mix(seed, 3000).is_multiple_of(4) { wide_case(seed, length) } else { case(seed, length) };
    let mut draws = 3001..;
    let mut pick =
        |least: u32, most: u32| least + (mix(seed, draws.next().unwrap_or(0)) % u64::from(most - least + 1)) as u32;
    let l1 = &mut case.l1;
    if !l1.bypass.supports_prefetch() && !l1.bypass.sends_all() {
        l1.bypass = NoScheme {}.into();
    }
    (l1.mshr_entries, l1.miss_queue) = (pick(2, 6), pick(2, 5));
    l1.prefetch = prefetch::draw(&mut pick);
    l1.prefetch_limits = PrefetchLimits {
        queue: pick(1, 4),
        mshr_share: pick(1, l1.mshr_entries - 1),
        miss_queue_share: pick(1, l1.miss_queue - 1),
        page_bytes: 4096 << pick(0, 2),
    };
    if !l1.prefetch.supports_multiple_lookups() {
        l1.lookups = 1;
    }
    case
}

/// Generates a random configuration with a victim cache. Most configurations also have an MSHR policy, and
/// every second one has a prefetcher.
fn victim_case(seed: u64, length: usize) -> Case {
    let mut case = prefetch_case(seed, length);
    let mut draws = 4001..;
    let mut pick =
        |least: u32, most: u32| least + (mix(seed, draws.next().unwrap_or(0)) % u64::from(most - least + 1)) as u32;
    case.l1.victim = victim::draw(&mut pick);
    case.l1.mshr_policy = mshr_policy::draw(case.l1.mshr_entries, case.l1.mshr_merges, &mut pick);
    if pick(0, 1) == 0 {
        case.l1.prefetch = NoPrefetcher {}.into();
    }
    case
}

/// Generates a random configuration of the memory request prioritization buffer (MRPB): either no buffer, or
/// one with a single queue, so that requests keep their order.
fn mrpb(seed: u64) -> MrpbConfig {
    let pick = |n: u64, of: u64| mix(seed, 71 + n) % of;
    MrpbConfig {
        queues: pick(0, 2) as u32,
        depth: 1 + pick(1, 4) as u32,
        order: [DrainOrder::Fixed, DrainOrder::RoundRobin, DrainOrder::LongestFirst][pick(2, 3) as usize],
        greedy: pick(3, 2) == 0,
        bypass: [StallBypass::None, StallBypass::None, StallBypass::Associativity, StallBypass::All]
            [pick(4, 4) as usize],
        latency: pick(5, 2) as u32,
    }
}

const ATOMICS: [(AtomicFn, Type); 11] = [
    (AtomicFn::Add, Type::U32),
    (AtomicFn::Add, Type::F32),
    (AtomicFn::Add, Type::U64),
    (AtomicFn::Min, Type::S32),
    (AtomicFn::Max, Type::U64),
    (AtomicFn::Xor, Type::B32),
    (AtomicFn::Exchange, Type::B32),
    (AtomicFn::Exchange, Type::B64),
    (AtomicFn::CompareSwap, Type::B32),
    (AtomicFn::CompareSwap, Type::B64),
    (AtomicFn::Increment, Type::U32),
];

/// Generates a random program that touches few lines, so that accesses often find their line in flight.
fn program(case: &Case) -> Vec<WarpAccess> {
    let seed = case.seed ^ 0x5eed;
    let line_bytes = u64::from(case.l1.line_bytes);
    let stride = [1, u64::from(case.l1.sets), 3, 0x1001][mix(seed, 0) as usize % 4];
    let (num_global, num_local) = (2 + mix(seed, 1) % 6, 1 + mix(seed, 2) % 4);
    let locals = mix(seed, 3) % 3;
    let stores = 1 + mix(seed, 4) % 4;
    let (atomics, read_only) = (mix(seed, 5) % 4, mix(seed, 6) % 4);
    (0..case.length)
        .map(|i| {
            // Eight consecutive instructions have the same random base line, near which most of them access
            // memory. Many of them therefore wait for the same line.
            let run = mix(seed, (i as u64 / 8) << 32);
            let seed = mix(seed, i as u64 + 16);
            let space = if mix(seed, 10) % 8 < read_only {
                [MemorySpace::Const, MemorySpace::Texture][mix(seed, 11) as usize % 2]
            } else if mix(seed, 0) % 8 < 2 * locals {
                MemorySpace::Local
            } else {
                MemorySpace::Global
            };
            let kind = match space {
                MemorySpace::Const | MemorySpace::Texture => AccessKind::Load,
                MemorySpace::Global if mix(seed, 12) % 8 < atomics => {
                    [AccessKind::Atomic, AccessKind::Reduce][mix(seed, 13) as usize % 2]
                }
                _ if mix(seed, 6) % 8 < stores => AccessKind::Store,
                _ => AccessKind::Load,
            };
            let (first, count) = match space {
                MemorySpace::Global => (0, num_global),
                MemorySpace::Local => (FIRST_LOCAL, num_local),
                MemorySpace::Const | MemorySpace::Texture => (FIRST_READ_ONLY, num_local + 2),
            };
            let line = |n: u64| first + (n % count) * stride;
            let (f, ty) = ATOMICS[mix(seed, 14) as usize % ATOMICS.len()];
            // If the L1D has word banks, the core sends a load of 16 bytes per lane as a single access.
            let can_be_wide = kind == AccessKind::Load && space == MemorySpace::Global;
            let is_wide = can_be_wide && case.l1.banks.as_words().is_some() && mix(seed, 18).is_multiple_of(4);
            let size_log2 = match mix(seed, 1) % 4 {
                _ if kind.is_atomic() => ty.bytes().ilog2() as u8,
                _ if is_wide => 4,
                size_log2 => size_log2 as u8,
            };
            let (base, spread) =
                (if mix(seed, 9).is_multiple_of(3) { mix(seed, 2) } else { run }, 1 + mix(seed, 3) % 3);
            // If the L1D makes several lookups per cycle, most accesses go to the same few lines, and each of
            // their lanes selects its sector at random.
            let apart = case.l1.lookups > 1 && mix(seed, 17) % 8 < 5;
            let (base, spread) = if apart { (0, u64::from(SECTORS)) } else { (base, spread) };
            let mask = match mix(seed, 4) % 4 {
                0 => 1 << (mix(seed, 5) % 32),
                1 => u32::MAX,
                _ => (mix(seed, 5) as u32).max(1),
            };
            let address = std::array::from_fn(|lane| {
                let random = mix(seed, 100 + lane as u64);
                // Atomics have few possible addresses in a line, so that several lanes often address the same
                // word.
                let places = if kind.is_atomic() { 5 } else { line_bytes >> size_log2 };
                let offset = ((random >> 8) % places * (line_bytes >> size_log2) / places) << size_log2;
                let sector_bytes = u64::from(SECTOR_BYTES);
                let offset = if apart { random % spread * sector_bytes + offset % sector_bytes } else { offset };
                line(base + random % spread) * line_bytes + offset
            });
            // Atomics use small operands, so that some comparisons succeed.
            let most = if kind.is_atomic() { 3 } else { u64::from(u32::MAX) };
            let word = |lane: usize, half: u64| (mix(seed, 200 + 2 * lane as u64 + half) % (most + 1)) as u32;
            let words = |first: u64| [0, 1].map(|half| std::array::from_fn::<_, LANES, _>(|l| word(l, first + half)));
            WarpAccess {
                kind,
                space,
                uncached: mix(seed, 7).is_multiple_of(6),
                hints: EvictionHints::default(),
                warp: (mix(seed, 8) % 48) as u8,
                resident: Warps::new((mix(seed, 15) % 9) as u8),
                half: 0,
                pc: i as u32,
                beat: u2::new(if is_wide { 0 } else { (mix(seed, 16) % 4) as u8 }),
                size_log2,
                mask,
                atomic: AtomicOp { f, ty },
                address,
                data: words(0),
                compare: words(100),
            }
        })
        .collect()
}

fn manners(seed: u64) -> RigBehavior {
    let stalls = |n: u64| Stalls { cycles: mix(seed, n) % 6, spells: mix(seed, n + 1) % 5 };
    RigBehavior {
        seed,
        pause: [0, 0, 3, 40][mix(seed, 40) as usize % 4],
        periods: [[1, 1], [2, 1], [2, 3]][mix(seed, 47) as usize % 3],
        latency: ([1, 1, 20][mix(seed, 41) as usize % 3], [0, 8, 60][mix(seed, 42) as usize % 3]),
        replies: stalls(43),
        requests: stalls(45),
        recalls: mix(seed, 48) % 5,
        modes: 0,
    }
}

/// Results that must be equal in all runs of a test case.
#[derive(Debug, PartialEq)]
struct Summary {
    answers: Vec<u64>,
    /// Events at each clock edge at which the tags accepted an access, with the cycle of the edge.
    events: Vec<(u64, Watch)>,
    stats: [L1Stats; 3],
    history: u64,
    state: u64,
}

/// Runs a test case with all checks on, and passes the events of every clock edge to `look`.
fn run(case: &Case, mode: Mode, mut look: impl FnMut(&Watch)) -> Summary {
    let (program, manners) = (program(case), manners(case.seed));
    let period = u64::from(manners.periods[0]);
    let lsu = rig::lsu(&case.l1, case.read_only.each_ref(), &case.lsu);
    let mut rig = Rig::new(lsu, program.clone(), manners, case.l1.line_bytes);
    let mut lockstep = Lockstep::new("sm3.l1", 3, &case.l1, case.read_only.each_ref(), true).unwrap();
    let mut scoreboard = Scoreboard::new(program, case.l1.line_bytes as usize, false);
    let mut sim = rig.simulator(Mode { digest: true, ..mode });
    let (mut answered, mut refusals, mut recalls, mut events) = (0, [[0; NUM_FAILS]; 3], [0; 3], Vec::new());
    while let Some(tick) = sim.step(&mut rig) {
        if tick % period != 0 {
            continue;
        }
        let cycle = tick / period;
        assert!(cycle < MAX_CYCLES, "no end in sight: {case:?}");
        let watch = rig.lsu.take_watch().expect("the rig observes");
        rig.taken(tick).into_iter().for_each(|access| lockstep.take(access));
        lockstep.step(cycle, &watch).unwrap_or_else(|mismatch| panic!("{mismatch}\n{case:?}"));
        for (count, found) in recalls.iter_mut().zip(watch.recall.iter().flat_map(|(_, found)| found)) {
            *count += u64::from(matches!(found, RecallEffect::Dropped | RecallEffect::Overtook));
        }
        watch.accesses().for_each(|access| scoreboard.access(access));
        if let (Some(row), Some(access)) = (watch.taken, rig.taken(tick)) {
            scoreboard.take(row, access.pc as usize);
        }
        if let Some(access) = &watch.access {
            if let Access::Load { outcome: Outcome::Refused(fail, _), .. }
            | Access::Store { outcome: Outcome::Refused(fail, _), .. }
            | Access::Atomic { outcome: Outcome::Refused(fail, _), .. } = access
            {
                let cache = if let Access::Load { cache, .. } = access { *cache } else { CacheId::L1d };
                refusals[cache as usize][*fail as usize] += 1;
            } else {
                events.push((cycle, watch));
            }
        }
        for (cycle, reply) in &rig.answers()[answered..] {
            scoreboard.answer(*cycle, reply);
        }
        answered = rig.answers().len();
        assert!(rig.lsu.is_consistent(), "cycle {cycle}: reserved ways and pending lines differ\n{case:?}");
        look(&watch);
    }
    assert!(rig.is_idle() && scoreboard.is_done(), "hangs at tick {}: {case:?}", sim.tick());
    assert!(lockstep.is_consistent());
    rig.lsu.settle(sim.tick() / period + 1);
    let stats = [CacheId::L1d, CacheId::Const, CacheId::Texture].map(|cache| *rig.lsu.stats_of(cache));
    for (stats, (loads, refusals)) in stats.iter().zip(scoreboard.loads.iter().zip(&refusals)) {
        assert_eq!(stats.accesses, *loads);
        assert_eq!(stats.accesses, stats.hits + stats.hit_pending + stats.misses + stats.bypasses);
        if mode.evaluate_all {
            assert_eq!(stats.fails, *refusals);
        }
    }
    assert_eq!(stats.map(|stats| stats.recalls), recalls);
    assert_eq!(stats[0].store_hits + stats[0].store_misses, scoreboard.stores);
    assert_eq!(stats[0].atomics, scoreboard.atomics);
    // Only lines of global memory are compared. A modified line of local memory may be newer in the cache
    // than in memory.
    for (line, bytes) in scoreboard.image().filter(|(line, _)| *line < FIRST_LOCAL) {
        assert_eq!(&rig.memory(line), bytes, "line {line:#x}");
    }
    let answers = rig.answers().iter().map(|(cycle, _)| *cycle).collect();
    let summary = Summary { answers, events, stats, history: rig.history(), state: sim.state_digest(&rig) };
    prefetch::check_counts(&mut rig.lsu, &lockstep, sim.tick() / period + 1);
    summary
}

/// Runs a random program in every evaluation mode of the simulator.
fn check_in_every_mode(seed: u64, length: usize) {
    let case = case(seed, length);
    let asleep = run(&case, Mode::default(), |_| ());
    let all = Mode { evaluate_all: true, ..Mode::default() };
    let shuffled = Mode { shuffle: Some(seed), ..Mode::default() };
    let lint = Mode { lint: true, shuffle: Some(!seed), ..Mode::default() };
    for mode in [all, shuffled, lint] {
        assert_eq!(run(&case, mode, |_| ()), asleep, "{mode:?}");
    }
}

#[test]
fn the_random_program_of_one_instruction_that_once_failed_is_served_right() {
    check_in_every_mode(2_488_170_854_237_564_737, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn random_programs_are_served_right_and_alike_in_every_mode(seed: u64, length in 1usize..120) {
        check_in_every_mode(seed, length);
    }

    #[test]
    fn prefetchers_serve_random_programs_right_and_alike(seed: u64, length in 1usize..120) {
        let case = prefetch_case(seed, length);
        let asleep = run(&case, Mode::default(), |_| ());
        for mode in [Mode { evaluate_all: true, ..Mode::default() }, Mode { lint: true, ..Mode::default() }] {
            prop_assert_eq!(&run(&case, mode, |_| ()), &asleep, "{:?}", mode);
        }
    }

    #[test]
    fn victim_caches_serve_random_programs_right_and_alike(seed: u64, length in 1usize..120) {
        let case = victim_case(seed, length);
        let asleep = run(&case, Mode::default(), |_| ());
        for mode in [Mode { evaluate_all: true, ..Mode::default() }, Mode { lint: true, ..Mode::default() }] {
            prop_assert_eq!(&run(&case, mode, |_| ()), &asleep, "{:?}", mode);
        }
    }

    #[test]
    fn decoupled_tags_and_other_policies_serve_random_programs_right_and_alike(seed: u64, length in 1usize..120) {
        let case = decoupled_case(seed, length);
        let asleep = run(&case, Mode::default(), |_| ());
        for mode in [Mode { evaluate_all: true, ..Mode::default() }, Mode { lint: true, ..Mode::default() }] {
            prop_assert_eq!(&run(&case, mode, |_| ()), &asleep, "{:?}", mode);
        }
    }
}

#[test]
fn random_programs_on_several_lookups_are_served_right_and_alike_up_to_four_lines_a_cycle() {
    let mut cycles_of = [0; 5];
    for seed in 0..100 {
        let case = wide_case(seed, 120);
        let asleep = run(&case, Mode::default(), |watch| cycles_of[watch.accesses().count()] += 1);
        for mode in [Mode { evaluate_all: true, ..Mode::default() }, Mode { lint: true, ..Mode::default() }] {
            assert_eq!(run(&case, mode, |_| ()), asleep, "seed {seed}, {mode:?}");
        }
    }
    assert!(cycles_of[2..].iter().all(|cycles| *cycles > 20), "{cycles_of:?}");
}

const OUTCOMES: &str = "outcomes of the LSU's caches";

/// Returns the names of the access outcomes that occurred at one clock edge.
fn names(watch: &Watch) -> Vec<String> {
    let mut names = Vec::new();
    names.extend(watch.fill.map(|(_, _, _, kept)| format!("fill kept {}", kept != 0)));
    if let Some((_, found)) = watch.recall {
        names.extend(
            ["L1d", "Const", "Texture"].iter().zip(found).map(|(cache, found)| format!("{cache} recall {found:?}")),
        );
    }
    names.extend(match watch.access {
        None => None,
        Some(Access::Bypass { .. }) => Some("bypass".to_owned()),
        Some(Access::Load { cache: cache @ (CacheId::Const | CacheId::Texture), outcome, .. }) => Some(match outcome {
            Outcome::Refused(fail, _) => format!("{cache:?} load {fail:?}"),
            Outcome::Miss(victim) => {
                format!("{cache:?} load, victim modified {:?}", victim.map(|(_, modified)| modified))
            }
            other => format!("{cache:?} load {other:?}"),
        }),
        Some(Access::Atomic { outcome, .. }) => Some(format!("atomic {outcome:?}")),
        Some(Access::Load { outcome, .. }) => Some(match outcome {
            Outcome::Miss(victim) => format!("load, victim modified {:?}", victim.map(|(_, modified)| modified)),
            other => format!("load {other:?}"),
        }),
        Some(Access::Store { outcome, space, .. }) => Some(format!("{space:?} store {outcome:?}")),
    });
    names
}

#[test]
fn random_programs_reach_every_outcome_and_every_combination_of_failing_conditions() {
    let mut expected = BTreeSet::new();
    let mut expect = |name: String| expected.insert(name);
    for name in ["fill kept true", "fill kept false", "bypass", "load Hit", "load HitPending"] {
        expect(name.to_owned());
    }
    for modified in [None, Some(false), Some(true)] {
        expect(format!("load, victim modified {modified:?}"));
    }
    let full = 1 << Fail::MissQueue as u8;
    for outcome in [Outcome::StoreMissed, Outcome::Overtook, Outcome::Refused(Fail::MissQueue, full)] {
        expect(format!("Global store {outcome:?}"));
        expect(format!("atomic {outcome:?}"));
        expect(format!("Local store {outcome:?}"));
    }
    for outcome in [Outcome::Evicted, Outcome::Updated] {
        expect(format!("Global store {outcome:?}"));
    }
    expect(format!("atomic {:?}", Outcome::Evicted));
    for found in [RecallEffect::Absent, RecallEffect::Dropped, RecallEffect::Overtook] {
        for cache in ["L1d", "Const", "Texture"] {
            expect(format!("{cache} recall {found:?}"));
        }
    }
    expect(format!("L1d recall {:?}", RecallEffect::Kept));
    for cache in [CacheId::Const, CacheId::Texture] {
        for outcome in [Outcome::Hit, Outcome::HitPending] {
            expect(format!("{cache:?} load {outcome:?}"));
        }
        for modified in [None, Some(false)] {
            expect(format!("{cache:?} load, victim modified {modified:?}"));
        }
        for fail in [Fail::LineAlloc, Fail::MshrEntry, Fail::MshrMerge, Fail::MissQueue] {
            expect(format!("{cache:?} load {fail:?}"));
        }
    }
    expect(format!("Local store {:?}", Outcome::WrittenBack));
    expect(format!("load {:?}", Outcome::Refused(Fail::MshrMerge, 1 << Fail::MshrMerge as u8)));
    // A load is refused if no way, no MSHR entry or no miss-queue entry is free. Several of these conditions
    // may fail at once. If a way is free, the reported reason depends on the order of the checks.
    let (line, entry, merge) = (1 << Fail::LineAlloc as u8, 1 << Fail::MshrEntry as u8, 1 << Fail::MshrMerge as u8);
    for (fail, all) in [
        (Fail::LineAlloc, line),
        (Fail::LineAlloc, line | entry),
        (Fail::LineAlloc, line | full),
        (Fail::LineAlloc, line | entry | full),
        (Fail::MshrEntry, entry),
        (Fail::MshrEntry, entry | full),
        (Fail::MissQueue, entry | full),
        (Fail::MissQueue, full),
        // The next three combinations of failed conditions occur if some sectors of a load are in flight and
        // others must be requested. A test in the file `sectors.rs` checks each combination.
        (Fail::MshrMerge, merge | entry),
        (Fail::MshrMerge, merge | full),
        (Fail::MissQueue, merge | full),
    ] {
        expect(format!("load {:?}", Outcome::Refused(fail, all)));
    }
    let outcomes = Cross { name: OUTCOMES, axes: vec![Axis::new("outcome", expected)], excluded: Vec::new() };
    let ((), coverage) = collect(vec![outcomes], || {
        for seed in 0..150 {
            run(&case(seed, 120), Mode::default(), |watch| names(watch).iter().for_each(|name| hit(OUTCOMES, &[name])));
        }
    });
    coverage.assert_complete();
}

#[test]
fn every_case_is_a_legal_configuration() {
    for seed in 0..2000 {
        let draw = [case, decoupled_case, prefetch_case, victim_case][seed as usize % 4];
        let Case { l1, read_only, lsu, .. } = draw(seed, 1);
        let mut rules = Rules::default();
        l1.validate(&mut rules);
        lsu.validate(&mut rules);
        read_only.iter().for_each(|cache| cache.validate(l1.line_bytes, &mut rules));
        assert_eq!(rules.into_violations(), []);
    }
}

#[test]
fn a_miss_queue_that_can_never_take_a_modified_victim_is_refused() {
    let mut l1 = case(0, 1).l1;
    l1.miss_queue = 1;
    let mut rules = Rules::default();
    l1.validate(&mut rules);
    let found: Vec<String> = rules.into_violations().iter().map(ToString::to_string).collect();
    let expected =
        "miss_queue is 1, expected 2 to 64: a miss that evicts a modified line enqueues write-back and read together";
    assert_eq!(found, [expected]);
}
