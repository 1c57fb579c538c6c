//! # Testbench of the prefetchers
//! Runs loads with strides and streams on an L1D, with each prefetcher in turn. Every prefetch lookup and
//! every line that a prefetcher returns is compared with the golden model. The testbench of the LSU also runs
//! random programs with all prefetchers.
//!
//! | testpoint                                                                              | test                      |
//! |----------------------------------------------------------------------------------------|---------------------------|
//! | each prefetcher sends lines that loads use, in time and late                           | `each_prefetcher_*`       |
//! | every prefetch sent is useful, late or useless once the kernel has ended               | `each_prefetcher_*`       |
//! | lines and lookups equal the golden model's, with stores, stalls and recalls            | `prefetchers_agree_*`     |
//! | a prefetcher alone returns the golden model's lines, at page limits and after a kernel | `prefetchers_alone_*`     |
//! | an LSU is busy while a prefetch is in flight                                           | `an_lsu_is_busy_*`        |
//! | a prefetch is dropped for each reason                                                  | `a_prefetch_is_dropped_*` |
//! | a prefetch that is late saves a part of the latency, and an early one all of it        | `a_prefetched_line_*`     |
//! | a prefetcher whose keys differ in any way from those of its golden model is caught     | `a_prefetcher_with_*`     |

use std::collections::{BTreeMap, VecDeque};

use golden::l1::event::Load;
use golden::l1::prefetch::{CacheInfo, Scheme as TwinScheme, Seen};
use rtl::index::linear::Linear;
use rtl::kernel::{Edge, Mode, Wake};
use rtl::l1::access::{AccessKind, LANES, WarpAccess};
use rtl::l1::config::{CacheConfig, Fetch, L1Config, LsuConfig};
use rtl::l1::lsu::Lsu;
use rtl::l1::prefetch::many_thread_aware::ManyThreadConfig;
use rtl::l1::prefetch::next_line::{NextLineConfig, PrefetchTrigger};
use rtl::l1::prefetch::stream::StreamConfig;
use rtl::l1::prefetch::stride::StrideConfig;
use rtl::l1::prefetch::{DemandLoad, DropReason, PrefetchConfig, PrefetchLimits, PrefetchPlace, PrefetchStats, Target};
use rtl::l1::stats::L1Stats;
use rtl::replacement::lru::Lru;
use warpsieve::check::l1::Lockstep;
use warpsieve::check::twin::twin;

use super::rig::{self, Rig, RigBehavior, Stalls, mix};

/// Generates a random prefetcher, with parameters that take effect in short programs. `pick` returns a random
/// number in a range.
pub(super) fn draw(pick: &mut impl FnMut(u32, u32) -> u32) -> PrefetchConfig {
    let degree = pick(1, 3);
    match pick(0, 3) {
        0 => {
            let trigger =
                [PrefetchTrigger::Always, PrefetchTrigger::Miss, PrefetchTrigger::Tagged][pick(0, 2) as usize];
            NextLineConfig { degree, trigger }.into()
        }
        1 => ManyThreadConfig { warp_entries: 2 << pick(0, 4), pc_entries: 2 << pick(0, 2), degree }.into(),
        2 => StrideConfig { entries: 2 << pick(0, 4), confidence: pick(1, 2), degree }.into(),
        _ => StreamConfig { streams: pick(1, 4), window: pick(1, 16), distance: pick(degree, 8), degree }.into(),
    }
}

/// Ends the kernel. Checks that the prefetch counters of the L1D agree with the golden model and with each
/// other, and returns them.
pub(super) fn check_counts(lsu: &mut Lsu, lockstep: &Lockstep, cycle: u64) -> PrefetchStats {
    lsu.flush();
    let stats = lsu.settle(cycle).prefetch;
    let PrefetchStats { issued, useful, late, useless, .. } = stats;
    let counts = lockstep.prefetch_counts();
    assert_eq!((issued, useful, late), (counts.issued, counts.useful, counts.late));
    assert_eq!(issued, useful + late + useless);
    stats
}

/// Returns the configuration of an L1D with 32 lines and the given prefetcher.
fn l1(prefetch: impl Into<PrefetchConfig>) -> L1Config {
    L1Config {
        sets: 8,
        ways: 4,
        mshr_entries: 8,
        mshr_merges: 4,
        prefetch: prefetch.into(),
        prefetch_limits: PrefetchLimits { queue: 4, mshr_share: 4, miss_queue_share: 2, page_bytes: 1 << 19 },
        ..rig::l1()
    }
}

pub(super) fn load(warp: u8, pc: u32, line: u64) -> WarpAccess {
    let address = std::array::from_fn::<_, LANES, _>(|lane| line * 128 + 4 * lane as u64);
    WarpAccess { warp, pc, size_log2: 2, mask: u32::MAX, address, ..WarpAccess::default() }
}

/// Returns loads of four warps with constant strides: +3 lines in warps with even numbers, and -1 line in
/// warps with odd numbers.
fn strides() -> Vec<WarpAccess> {
    let steps = 0..40;
    steps
        .flat_map(|step| {
            (0..4).map(move |warp| {
                let first = 1000 * (1 + u64::from(warp));
                let line = if warp % 2 == 0 { first + 3 * step } else { first - step };
                load(warp, 7 + u32::from(warp % 2), line)
            })
        })
        .collect()
}

/// Returns the loads of [`strides`], with each load executed twice.
fn twice() -> Vec<WarpAccess> {
    strides().into_iter().flat_map(|load| [load.clone(), load]).collect()
}

pub(super) fn manners(seed: u64, pause: u64) -> RigBehavior {
    let stalls = |n: u64| Stalls { cycles: mix(seed, n) % 2, spells: 0 };
    RigBehavior {
        seed,
        pause,
        periods: [1, 1],
        latency: (20, 10),
        replies: stalls(1),
        requests: stalls(2),
        recalls: 0,
        modes: 0,
    }
}

/// Runs a program in lockstep with a golden model that has the configuration `twin`. Returns the counters of
/// the L1D and of its prefetches.
pub(super) fn play(
    l1: &L1Config,
    twin: &L1Config,
    program: Vec<WarpAccess>,
    manners: RigBehavior,
) -> Result<(L1Stats, PrefetchStats, Vec<u64>), String> {
    let (index, replacement) = (Linear {}.into(), Lru {}.into());
    let read_only = CacheConfig { sets: 1, ways: 1, mshr_entries: 1, mshr_merges: 1, index, replacement };
    let lsu = LsuConfig { slots: 8, access_queue: 4, request_latency: 1, reply_latency: 1 };
    let mut rig = Rig::new(rig::lsu(l1, [&read_only; 2], &lsu), program, manners, l1.line_bytes);
    let mut lockstep = Lockstep::new("sm3.l1", 3, twin, [&read_only; 2], true)?;
    let mut sim = rig.simulator(Mode::default());
    while let Some(cycle) = sim.step(&mut rig) {
        let watch = rig.lsu.take_watch().expect("the rig observes");
        rig.taken(cycle).into_iter().for_each(|access| lockstep.take(access));
        lockstep.step(cycle, &watch).map_err(|mismatch| mismatch.to_string())?;
    }
    assert!(rig.is_idle(), "hangs at cycle {}: {l1:?}", sim.tick());
    let answers = rig.answers().iter().map(|(cycle, _)| *cycle).collect();
    let stats = rig.lsu.settle(sim.tick() + 1);
    Ok((stats, check_counts(&mut rig.lsu, &lockstep, sim.tick() + 1), answers))
}

fn run_checked(l1: &L1Config, program: Vec<WarpAccess>, manners: RigBehavior) -> (L1Stats, PrefetchStats, Vec<u64>) {
    play(l1, l1, program, manners).unwrap_or_else(|mismatch| panic!("{mismatch}\n{l1:?}"))
}

fn all() -> [PrefetchConfig; 4] {
    [
        NextLineConfig { degree: 3, trigger: PrefetchTrigger::Tagged }.into(),
        StrideConfig { entries: 16, confidence: 1, degree: 1 }.into(),
        StreamConfig { streams: 4, window: 8, distance: 8, degree: 2 }.into(),
        ManyThreadConfig { warp_entries: 16, pc_entries: 4, degree: 1 }.into(),
    ]
}

#[test]
fn each_prefetcher_sends_lines_that_loads_use_in_time_or_late() {
    for prefetch in all() {
        let l1 = l1(prefetch);
        let [(useful, _), (_, late)] = [40, 12].map(|pause| {
            let (stats, of_prefetches, _) = run_checked(&l1, strides(), manners(1, pause));
            assert_eq!(stats.accesses, stats.hits + stats.hit_pending + stats.misses);
            (of_prefetches.useful, of_prefetches.late)
        });
        assert!(useful > 30 && late > 2, "{:?}: {useful} useful, {late} late", l1.prefetch);
    }
    // The prefetcher detects each of the four strides after three loads.
    let (stats, prefetches, _) = run_checked(&l1(all()[1].clone()), strides(), manners(1, 40));
    assert_eq!((stats.misses, prefetches.issued), (4 * 3, 4 * 38));
    assert_eq!(prefetches.useful + prefetches.late, 4 * 37);
}

#[test]
fn prefetchers_agree_with_their_twins_on_random_loads_with_stalls_and_recalls() {
    let mut issued = BTreeMap::new();
    for seed in 0..200 {
        let mut draws = 0..;
        let mut pick =
            |least: u32, most: u32| least + (mix(seed, draws.next().unwrap_or(0)) % u64::from(most - least + 1)) as u32;
        let mut l1 = l1(draw(&mut pick));
        (l1.sets, l1.ways) = (1 << pick(0, 3), pick(1, 4));
        (l1.mshr_entries, l1.miss_queue) = (pick(2, 8), pick(2, 6));
        l1.fetch = if pick(0, 1) == 0 { Fetch::Line } else { Fetch::Sectors };
        l1.prefetch_limits = PrefetchLimits {
            queue: pick(1, 6),
            mshr_share: pick(1, l1.mshr_entries - 1),
            miss_queue_share: pick(1, l1.miss_queue - 1),
            page_bytes: 4096 << pick(0, 3),
        };
        let (warps, steps) = (pick(1, 4), [1, 2, 3, 5][pick(0, 3) as usize]);
        let program = (0..150).map(|n| {
            let drawn = mix(seed, 10_000 + n);
            let (warp, pc) = (drawn % u64::from(warps), drawn >> 8 & 1);
            let line = 2000 * (1 + warp) + steps * (n / u64::from(warps)) * (1 + pc) + u64::from(drawn >> 16 & 15 == 0);
            let kind = if drawn >> 24 & 15 == 0 { AccessKind::Store } else { AccessKind::Load };
            WarpAccess { kind, ..load(warp as u8, pc as u32, line) }
        });
        let manners = RigBehavior { recalls: pick(0, 3).into(), ..manners(seed, pick(0, 30).into()) };
        let (_, stats, _) = run_checked(&l1, program.collect(), manners);
        *issued.entry(l1.prefetch.typetag_name()).or_insert(0) += stats.useful + stats.late;
    }
    assert!(issued.len() >= 4 && issued.values().all(|used| *used > 10), "{issued:?}");
}

/// Generates the loads of a random program. In each phase of the program, the warps take turns in executing a
/// load instruction with a constant stride. The strides are either small or about as large as a page, in both
/// directions.
fn phases(pick: &mut impl FnMut(u32, u32) -> u32, page_lines: i64) -> Vec<DemandLoad> {
    let distances = [0, 1, -1, 3, page_lines - 1, page_lines, page_lines + 1, 1 - page_lines, -page_lines];
    let mut loads = Vec::new();
    for _ in 0..12 {
        let [stride, between] = [0; 2].map(|_| distances[pick(0, 8) as usize]);
        let (base, warps, pc) = (i64::from(pick(0, 1 << 12)) + (1 << 14), pick(1, 5), pick(0, 6));
        for turn in 0..pick(4, 24) {
            let warp = if pick(0, 9) == 0 { pick(0, 7) } else { turn % warps };
            let pc = if pick(0, 9) == 0 { pick(0, 6) } else { pc };
            let steps = i64::from(turn / warps) - i64::from(pick(0, 15) / 15);
            let line = (base + steps * stride + i64::from(warp) * between) as u64;
            let (is_first, missed, uses_prefetch) = (pick(0, 7) > 0, pick(0, 2) > 0, pick(0, 3) == 0);
            loads.push(DemandLoad { line, pc, warp: warp as u8, is_first, missed, uses_prefetch });
        }
    }
    loads
}

#[test]
fn prefetchers_alone_return_the_lines_of_their_twins() {
    let mut returned = BTreeMap::new();
    for seed in 0..600 {
        let mut draws = 0..;
        let mut pick =
            |least: u32, most: u32| least + (mix(seed, draws.next().unwrap_or(0)) % u64::from(most - least + 1)) as u32;
        let (prefetch, page_bits) = (draw(&mut pick), pick(2, 6));
        let place = PrefetchPlace { path: "prefetch", line_bits: 25, pc_bits: 8, page_bits };
        let mut hardware = prefetch.hardware(&place).unwrap();
        let scheme: Box<dyn TwinScheme> = twin(&prefetch).unwrap();
        let mut twin = scheme.twin(&CacheInfo { page_lines: 1 << page_bits }).unwrap();
        let (mut wake, mut pending) = (Wake::new(&[1]), VecDeque::new());
        for (cycle, load) in (1..).zip(phases(&mut pick, 1 << page_bits)) {
            let at = Edge::new(cycle, cycle, &mut wake);
            let DemandLoad { line, pc, warp, is_first, missed, uses_prefetch } = load;
            let seen = Load { pc, warp, first: is_first, ..Load::of(line) };
            hardware.on_access(&at, &load);
            if let Some(lines) = twin.on_access(&Seen { load: seen, missed, is_first_use: uses_prefetch }) {
                pending = lines.into_iter().map(|next| Target { line: next as u64, trigger: line }).collect();
            }
            for _ in 0..pick(0, 4) {
                let expected = pending.pop_front();
                assert_eq!(hardware.next(&at), expected, "seed {seed}, cycle {cycle}: {load:?}, {prefetch:?}");
                *returned.entry(prefetch.typetag_name()).or_insert(0) += u32::from(expected.is_some());
            }
            if pick(0, 80) == 0 {
                hardware.clear();
                twin.clear();
                pending.clear();
            }
        }
    }
    assert!(returned.len() >= 4 && returned.values().all(|lines| *lines > 500), "{returned:?}");
}

#[test]
fn an_lsu_is_busy_while_a_prefetch_is_in_flight() {
    let next_line = NextLineConfig { degree: 1, trigger: PrefetchTrigger::Always };
    let (index, replacement) = (Linear {}.into(), Lru {}.into());
    let read_only = CacheConfig { sets: 1, ways: 1, mshr_entries: 1, mshr_merges: 1, index, replacement };
    let lsu = LsuConfig { slots: 8, access_queue: 4, request_latency: 1, reply_latency: 1 };
    let mut rig = Rig::new(rig::lsu(&l1(next_line), [&read_only; 2], &lsu), vec![load(0, 0, 5)], manners(4, 0), 128);
    let mut sim = rig.simulator(Mode::default());
    let (mut replies, mut busy_after_the_answer) = (0, 0);
    while let Some(cycle) = sim.step(&mut rig) {
        replies += u64::from(rig.reply_at(cycle).is_some());
        if rig.lsu.settle(cycle + 1).prefetch.issued == 1 && replies < 2 {
            assert!(!rig.lsu.is_idle(), "cycle {cycle}");
            busy_after_the_answer += usize::from(!rig.answers().is_empty());
        }
    }
    assert!(rig.is_idle() && busy_after_the_answer > 0);
}

#[test]
fn a_prefetch_is_dropped_for_each_reason() {
    let next_line = |degree, queue| {
        let mut l1 = l1(NextLineConfig { degree, trigger: PrefetchTrigger::Always });
        l1.prefetch_limits.queue = queue;
        l1
    };
    let program = |lines: &[u64]| lines.iter().map(|line| load(0, 0, *line)).collect::<Vec<_>>();
    let after = |pause: u64, l1: &L1Config, lines: &[u64]| run_checked(l1, program(lines), manners(3, pause)).1.dropped;
    let dropped = |l1: &L1Config, lines: &[u64]| after(0, l1, lines);
    let of = |dropped: [u64; DropReason::ALL.len()], reason: DropReason| dropped[reason as usize];
    assert!(of(after(400, &next_line(1, 4), &[1, 2, 1, 2, 1]), DropReason::Present) > 0);
    assert!(of(dropped(&next_line(1, 4), &[2, 1]), DropReason::InFlight) > 0);
    // A page has 4096 lines, so some prefetches after line 4094 would cross into the next page and are
    // dropped.
    assert_eq!(of(dropped(&next_line(4, 4), &[4094]), DropReason::OtherPage), 3);
    assert!(of(dropped(&next_line(16, 1), &[0]), DropReason::QueueFull) > 0);
}

#[test]
fn a_kernel_that_ends_drops_the_lines_that_wait() {
    let l1 = l1(NextLineConfig { degree: 16, trigger: PrefetchTrigger::Always });
    let (index, replacement) = (Linear {}.into(), Lru {}.into());
    let read_only = CacheConfig { sets: 1, ways: 1, mshr_entries: 1, mshr_merges: 1, index, replacement };
    let lsu = LsuConfig { slots: 8, access_queue: 4, request_latency: 1, reply_latency: 1 };
    let mut rig = Rig::new(rig::lsu(&l1, [&read_only; 2], &lsu), vec![load(0, 0, 5); 2], manners(4, 4000), 128);
    let mut sim = rig.simulator(Mode::default());
    while let Some(cycle) = sim.step(&mut rig) {
        if rig.lsu.is_idle() && rig.answers().len() == 2 {
            let before = rig.lsu.settle(cycle + 1).prefetch.dropped[DropReason::KernelEnd as usize];
            rig.lsu.flush();
            let after = rig.lsu.settle(cycle + 1).prefetch.dropped[DropReason::KernelEnd as usize];
            assert!(before == 0 && after > 0, "{before} and {after}");
            return;
        }
    }
    panic!("the LSU is never idle with lines in the prefetch queue");
}

#[test]
fn a_prefetched_line_saves_its_latency() {
    let latency = |prefetch: PrefetchConfig, pause: u64| {
        let program = vec![load(0, 0, 5), load(0, 0, 6)];
        let answers = run_checked(&l1(prefetch), program, RigBehavior { latency: (50, 0), ..manners(3, pause) }).2;
        answers[1] - answers[0]
    };
    let next_line = || NextLineConfig { degree: 1, trigger: PrefetchTrigger::Miss }.into();
    let none = || rig::l1().prefetch;
    for pause in [0, 30, 200] {
        let (with, without) = (latency(next_line(), pause), latency(none(), pause));
        assert!(with <= without, "pause {pause}: {with} and {without} cycles between the answers");
    }
    assert!(latency(none(), 200) >= latency(next_line(), 200) + 40);
}

#[test]
fn a_prefetcher_with_any_other_key_than_its_twin_is_caught() {
    let next_line = NextLineConfig { degree: 3, trigger: PrefetchTrigger::Tagged };
    let stride = StrideConfig { entries: 16, confidence: 2, degree: 2 };
    let stream = StreamConfig { streams: 4, window: 8, distance: 8, degree: 2 };
    let threads = ManyThreadConfig { warp_entries: 16, pc_entries: 4, degree: 2 };
    let mistakes: [(PrefetchConfig, PrefetchConfig); 11] = [
        (next_line.into(), NextLineConfig { degree: 2, ..next_line }.into()),
        (next_line.into(), NextLineConfig { trigger: PrefetchTrigger::Always, ..next_line }.into()),
        (next_line.into(), NextLineConfig { trigger: PrefetchTrigger::Miss, ..next_line }.into()),
        (stride.into(), StrideConfig { entries: 2, ..stride }.into()),
        (stride.into(), StrideConfig { confidence: 3, ..stride }.into()),
        (stride.into(), StrideConfig { degree: 1, ..stride }.into()),
        (stream.into(), StreamConfig { streams: 2, ..stream }.into()),
        (stream.into(), StreamConfig { window: 2, ..stream }.into()),
        (stream.into(), StreamConfig { degree: 1, ..stream }.into()),
        (threads.into(), ManyThreadConfig { warp_entries: 2, ..threads }.into()),
        (threads.into(), ManyThreadConfig { degree: 1, ..threads }.into()),
    ];
    for (right, wrong) in mistakes {
        let is_caught = play(&l1(wrong.clone()), &l1(right.clone()), twice(), manners(2, 20)).is_err();
        assert!(is_caught, "{wrong:?} passes for {right:?}");
    }
    let right = l1(stride);
    let limits = right.prefetch_limits;
    for limits in [
        PrefetchLimits { queue: 1, ..limits },
        PrefetchLimits { mshr_share: 1, ..limits },
        PrefetchLimits { miss_queue_share: 1, ..limits },
        PrefetchLimits { page_bytes: 4096, ..limits },
    ] {
        let mut wrong = l1(StrideConfig { confidence: 1, degree: 8, ..stride });
        let mut right = wrong.clone();
        (wrong.prefetch_limits, right.prefetch_limits) = (limits, right.prefetch_limits);
        // The network often accepts no requests, so that several prefetches wait in the miss queue at once.
        let requests = Stalls { cycles: 5, spells: 4 };
        let stalled = |seed| RigBehavior { requests, ..manners(seed, 0) };
        let is_caught = (0..4).any(|seed| play(&wrong, &right, strides(), stalled(seed)).is_err());
        assert!(is_caught, "{limits:?}");
    }
}
