//! # Testbench of the prefetchers of an L2 bank
//! Runs accesses with strides and streams on a bank, with each prefetcher in turn, and compares every
//! transfer with the golden bank and the golden prefetchers. The test with random stalls in `contents.rs`
//! also uses random prefetchers, with sectors, byte masks and split lines.
//!
//! | testpoint                                                                              | test                      |
//! |----------------------------------------------------------------------------------------|---------------------------|
//! | fetches, victims, requesters and uses equal the golden model's, one request at a time   | `one_request_*`           |
//! | a prefetcher alone returns the golden model's lines                                     | `prefetchers_alone_*`     |
//! | a prefetcher whose keys differ from those of its golden model is caught                 | `a_prefetcher_with_*`     |
//! | a prefetched line saves its latency, or a part of it if it is late                      | `a_prefetched_line_*`     |
//! | a prefetch is dropped for each reason                                                   | `a_prefetch_is_dropped_*` |
//! | a kernel that ends drops queued lines and counts unused ones                            | `a_kernel_that_ends_*`    |
//! | the shares limit the prefetches in flight and in the miss queue                         | `prefetches_keep_*`       |
//! | a request for one sector waits for all bursts of a prefetch, which are fetched once     | `a_sector_of_a_line_*`    |
//! | a prefetch fetches nothing that does not exist                                          | `no_prefetch_leaves_*`    |

use std::collections::{BTreeMap, VecDeque};

use super::flat::{golden_atomic, requests};
use super::memory::Memory;
use super::partial;
use super::sectors::by_sector;
use super::{LIMIT, ONE_CLOCK, Rig, fermi_place, line, place, read, small_config};
use crate::kit::{Bench, BenchSimulator, Random, Sink, Source, Stall, run_in_all_modes};
use golden::index::{Function, SetIndex};
use golden::l2::bank::{Access, Bank, Banks, Outcome, Victim, Write};
use golden::l2::prefetch::unit::{Counts, Pages, Unit};
use golden::l2::prefetch::{BankInfo, Scheme as TwinScheme, Seen};
use rtl::dram::message::DramRequest;
use rtl::kernel::{Edge, Mode, Wake};
use rtl::l2::bypass::none::NoBypass;
use rtl::l2::prefetch::next_line::{NextLineConfig, PrefetchTrigger};
use rtl::l2::prefetch::stream::StreamConfig;
use rtl::l2::prefetch::stride::SmStrideConfig;
use rtl::l2::prefetch::{DemandAccess, DropReason, PrefetchLimits, PrefetchPlace, PrefetchStats, Target};
use rtl::l2::{BankPlace, FlowConfig, L2Config, L2Prefetch, OverlappedConfig};
use rtl::noc::packet::{Request, RequestKind};
use warpsieve::check::twin::twin;

/// Generates a random prefetcher, with parameters that take effect in short programs.
fn draw(random: &mut Random) -> L2Prefetch {
    let degree = 1 + random.below(2) as u32;
    let triggers = [PrefetchTrigger::Always, PrefetchTrigger::Miss, PrefetchTrigger::Tagged];
    match random.below(3) {
        0 => NextLineConfig { degree, trigger: triggers[random.below(3) as usize] }.into(),
        1 => SmStrideConfig { confidence: 1 + random.below(2) as u32, degree }.into(),
        _ => {
            let [streams, window] = [4, 8].map(|most| 1 + random.below(most) as u32);
            StreamConfig { streams, window, distance: degree + random.below(6) as u32, degree }.into()
        }
    }
}

/// Adds a random prefetcher to 40 percent of the banks with the overlapped flow. The bypass scheme of such a
/// bank is removed, and its MSHR and miss queue get at least two entries: one for a request and one for a
/// prefetch.
pub(super) fn added(config: L2Config, random: &mut Random) -> L2Config {
    let FlowConfig::Overlapped(flow) = config.flow.clone() else { return config };
    if random.percent(60) {
        return config;
    }
    let (mshr_entries, miss_queue) = (config.mshr_entries.max(2), flow.miss_queue.max(2));
    let share = |most: u32, random: &mut Random| 1 + random.below(u64::from(most - 1)) as u32;
    let prefetch_limits = PrefetchLimits {
        queue: 1 + random.below(6) as u32,
        mshr_share: share(mshr_entries, random),
        miss_queue_share: share(miss_queue, random),
        page_bytes: 4096 << random.below(4),
    };
    L2Config {
        bypass: NoBypass {}.into(),
        mshr_entries,
        flow: OverlappedConfig { miss_queue, ..flow }.into(),
        prefetch: draw(random),
        prefetch_limits,
        ..config
    }
}

/// Returns the configuration of a bank of 12 lines with the given prefetcher.
fn config(prefetch: impl Into<L2Prefetch>) -> L2Config {
    L2Config { sets: 4, ways: 3, prefetch: prefetch.into(), ..small_config() }
}

/// Returns the configuration of a bank that is large enough for all lines of a test, with next-line
/// prefetching.
fn wide(degree: u32, trigger: PrefetchTrigger) -> L2Config {
    L2Config { sets: 64, ..config(NextLineConfig { degree, trigger }) }
}

/// Generates requests of all kinds in phases. In each phase, one SM walks through memory with a constant
/// stride, while other SMs occasionally send requests in between.
fn walks(random: &mut Random, place: BankPlace, count: u64) -> Vec<Request> {
    let mut script = requests(random, place, 1, count);
    let (mut base, mut step, mut sm) = (0, 1, 0);
    for (n, request) in (0..).zip(&mut script) {
        if n % 16 == 0 {
            (base, step) = (300 + random.below(100), [1, 1, 2, -1, 3][random.below(5) as usize]);
            sm = random.below(15) as u8;
        }
        let is_other = random.percent(15);
        let local = if is_other { 300 + random.below(100) } else { base.wrapping_add_signed(step * (n % 16)) };
        request.line = line(local);
        request.sm = if is_other { request.sm } else { sm };
    }
    script
}

/// Transfer between the bank and memory: a flag (true for a writeback, false for a fetch), the line number
/// within the bank, and the requester of a fetch.
type Transfer = (bool, u64, u16);

/// Returns the transfers that the golden models predict if each request completes before the next one begins.
/// Also returns the models' counts of prefetches.
fn predict(config: &L2Config, place: BankPlace, script: &[Request]) -> (Vec<Transfer>, Counts) {
    let page_lines = u64::from(config.prefetch_limits.page_bytes / place.line_bytes);
    let scheme: Box<dyn TwinScheme> = twin(&config.prefetch).unwrap();
    let info = BankInfo { page_lines: page_lines.div_ceil(6).next_power_of_two().max(4) as i64 };
    let pages = Pages { banks: Banks { count: 6, run: 1 }, bank: 2, page_lines };
    let mut unit = Unit::new(scheme.twin(&info).unwrap(), pages);
    let index = SetIndex::new(Function::Linear { bits: 2 }, place.line_bytes.ilog2(), 32).unwrap();
    let mut bank: Bank<u64> = Bank::new(index, 3);
    let line_bytes = place.line_bytes as usize;
    let mut transfers = Vec::new();
    for request in script {
        let (line, requester) = (request.line / 6, u16::from(request.sm) + 1);
        let is_write = request.kind == RequestKind::Write;
        let access = match request.kind {
            RequestKind::Read => Access::Read(request.ticket),
            RequestKind::Write => {
                Access::Write(Write { byte_mask: request.byte_mask, bytes: request.data[..line_bytes].to_vec() })
            }
            RequestKind::Atomic | RequestKind::Reduce => Access::Atomic(golden_atomic(request, place)),
        };
        let mut replace = |unit: &mut Unit, victim: Option<Victim>, fetches: bool, by: u64| {
            if let Some(victim) = victim {
                unit.on_evict(&victim);
                transfers.extend(victim.write_back.map(|_| (true, victim.line, 0)));
            }
            transfers.extend(fetches.then_some((false, by, requester)));
        };
        let mut missed = false;
        if let Outcome::Miss { victim } = bank.access_by(request.sm.into(), line, access) {
            missed = true;
            let is_whole = is_write && request.byte_mask == u128::MAX >> (128 - line_bytes);
            replace(&mut unit, victim, !is_whole, line);
        }
        for next in unit.on_access(Seen { line, sm: request.sm, is_write, missed, is_first_use: false }) {
            let outcome = bank.prefetch(request.sm.into(), next);
            unit.on_prefetch(next, &outcome);
            match outcome {
                Outcome::Miss { victim } => replace(&mut unit, victim, true, next),
                Outcome::Refused => panic!("no way for line {next}"),
                Outcome::Hit(_) | Outcome::HitPending => {}
            }
        }
        for line in bank.pending_lines().collect::<Vec<_>>() {
            bank.fill(line, vec![0; line_bytes]).unwrap();
        }
    }
    unit.clear();
    (transfers, unit.counts)
}

/// Runs requests one at a time. Compares transfers and counts with those that the golden models predict for a
/// bank with the configuration `twin`. Returns the counts of the bank.
fn follow(
    config: &L2Config,
    twin: &L2Config,
    place: BankPlace,
    script: &[Request],
) -> Result<PrefetchStats, Vec<Transfer>> {
    let mut rig = partial::play(config, place, script);
    rig.bank.end_kernel();
    let of_line = place.bursts() as usize;
    let bursts: Vec<_> = rig.memory.taken().iter().map(|(_, request)| request).collect();
    let whole = |bursts: &[&DramRequest]| (bursts[0].write, bursts[0].burst / of_line as u64, bursts[0].requester);
    let transfers: Vec<_> = bursts.chunks(of_line).map(whole).collect();
    let (expected, counts) = predict(twin, place, script);
    let stats = rig.bank.stats().prefetch;
    let PrefetchStats { issued, useful, late, useless, dropped } = stats;
    let of = |reason: DropReason| dropped[reason as usize];
    let counted = Counts {
        issued,
        useful,
        useless,
        present: of(DropReason::Present),
        in_flight: of(DropReason::InFlight),
        other_page: of(DropReason::OtherPage),
    };
    let is_same = transfers == expected && counted == counts && late == 0;
    if is_same { Ok(stats) } else { Err(transfers) }
}

#[test]
fn one_request_at_a_time_prefetches_as_the_golden_bank_predicts() {
    let mut used = BTreeMap::new();
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let place = [fermi_place(), place(64, 64), place(32, 32)][seed as usize % 3];
        let page_bytes = 4096 << random.below(4);
        let limits = PrefetchLimits { queue: 4, mshr_share: 3, miss_queue_share: 2, page_bytes };
        let config = L2Config { prefetch_limits: limits, ..config(draw(&mut random)) };
        let script = walks(&mut random, place, 300);
        let stats = follow(&config, &config, place, &script).unwrap_or_else(|transfers| {
            panic!("seed {seed}: {:?}: {transfers:?}\n{:?}", config.prefetch, predict(&config, place, &script))
        });
        *used.entry(config.prefetch.typetag_name()).or_insert(0) += stats.useful;
    }
    assert!(used.len() == 3 && used.values().all(|useful| *useful > 20), "{used:?}");
}

#[test]
fn a_prefetcher_with_any_other_key_than_its_twin_is_caught() {
    let next_line = NextLineConfig { degree: 2, trigger: PrefetchTrigger::Tagged };
    let stride = SmStrideConfig { confidence: 1, degree: 2 };
    let stream = StreamConfig { streams: 4, window: 8, distance: 4, degree: 2 };
    let mistakes: [(L2Prefetch, L2Prefetch); 9] = [
        (next_line.into(), NextLineConfig { degree: 1, ..next_line }.into()),
        (next_line.into(), NextLineConfig { trigger: PrefetchTrigger::Always, ..next_line }.into()),
        (next_line.into(), NextLineConfig { trigger: PrefetchTrigger::Miss, ..next_line }.into()),
        (stride.into(), SmStrideConfig { confidence: 2, ..stride }.into()),
        (stride.into(), SmStrideConfig { degree: 1, ..stride }.into()),
        (stream.into(), StreamConfig { streams: 1, ..stream }.into()),
        (stream.into(), StreamConfig { window: 1, ..stream }.into()),
        (stream.into(), StreamConfig { distance: 2, ..stream }.into()),
        (stream.into(), StreamConfig { degree: 1, ..stream }.into()),
    ];
    let script = walks(&mut Random::new(5), fermi_place(), 300);
    for (right, wrong) in mistakes {
        let [right, wrong] = [right, wrong].map(config);
        assert!(follow(&right, &right, fermi_place(), &script).is_ok(), "{:?}", right.prefetch);
        assert!(follow(&wrong, &right, fermi_place(), &script).is_err(), "{:?}", wrong.prefetch);
    }
    let right = config(next_line);
    let limits = PrefetchLimits { page_bytes: 4096, ..right.prefetch_limits };
    let wrong = L2Config { prefetch_limits: limits, ..right.clone() };
    assert!(follow(&wrong, &right, fermi_place(), &script).is_err(), "the page");
}

#[test]
fn prefetchers_alone_return_the_lines_of_their_twins() {
    let mut returned = BTreeMap::new();
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let (prefetch, page_bits) = (draw(&mut random), 2 + random.below(5) as u32);
        let place = PrefetchPlace { path: "prefetch", line_bits: 25, sm_bits: 4, page_bits };
        let mut hardware = prefetch.hardware(&place).unwrap();
        let scheme: Box<dyn TwinScheme> = twin(&prefetch).unwrap();
        let mut twin = scheme.twin(&BankInfo { page_lines: 1 << page_bits }).unwrap();
        let (mut wake, mut pending) = (Wake::new(&[1]), VecDeque::new());
        let page = 1i64 << page_bits;
        let distances = [0, 1, -1, 3, page - 1, page, page + 1, 1 - page, -page];
        let (mut at_line, mut step, mut sm) = (1 << 20, 1, 0);
        for cycle in 1..200 {
            if random.percent(8) {
                (step, sm) = (distances[random.below(9) as usize], random.below(4) as u8);
            }
            at_line += step;
            let at = Edge::new(cycle, cycle, &mut wake);
            let (is_write, missed, uses_prefetch) = (random.percent(10), random.percent(66), random.percent(25));
            let access = DemandAccess { line: at_line as u64, sm, is_write, missed, uses_prefetch };
            let DemandAccess { line, .. } = access;
            hardware.on_access(&at, &access);
            if let Some(lines) = twin.on_access(&Seen { line, sm, is_write, missed, is_first_use: uses_prefetch }) {
                pending = lines.into_iter().map(|next| Target { line: next as u64, trigger: line, sm }).collect();
            }
            for _ in 0..random.below(4) {
                let expected = pending.pop_front();
                assert_eq!(hardware.next(&at), expected, "seed {seed}, cycle {cycle}: {access:?}, {prefetch:?}");
                *returned.entry(prefetch.typetag_name()).or_insert(0) += u32::from(expected.is_some());
            }
            if random.percent(1) {
                hardware.clear();
                twin.clear();
                pending.clear();
            }
        }
    }
    assert!(returned.len() == 3 && returned.values().all(|lines| *lines > 500), "{returned:?}");
}

/// Creates a testbench that sends requests at the given cycles to a bank. Its memory accepts the first burst
/// in cycle `opens`.
fn rig(config: &L2Config, place: BankPlace, script: &[(u64, Request)], latency: u64, opens: u64) -> Rig {
    let (cycles, requests): (Vec<_>, Vec<_>) = script.iter().cloned().unzip();
    let memory = Memory::new(1, latency..latency + 1, opens);
    Rig::new(ONE_CLOCK, config, place, Source::new(requests, Stall::NotBefore(cycles)), Sink::new(Stall::Never), memory)
}

/// Runs reads of the given lines at the given cycles, and ends the kernel. Returns the cycles of the replies
/// and the counts of prefetches.
fn reads(config: &L2Config, lines: &[(u64, u64)]) -> (Vec<u64>, PrefetchStats) {
    let script: Vec<_> = (0..).zip(lines).map(|(ticket, &(cycle, local))| (cycle, read(local, ticket))).collect();
    let mut rig = run_in_all_modes(|| rig(config, fermi_place(), &script, 60, 0), LIMIT);
    rig.bank.end_kernel();
    assert_eq!(rig.bank.stats().check_conservation(), Ok(()));
    (rig.sink.received().iter().map(|(cycle, _)| *cycle).collect(), rig.bank.stats().prefetch)
}

#[test]
fn a_prefetched_line_saves_its_latency_or_a_part_of_it() {
    let with = wide(1, PrefetchTrigger::Miss);
    let without = L2Config { prefetch: small_config().prefetch, ..with.clone() };
    let latency = |config: &L2Config, begins: u64| {
        let (answers, stats) = reads(config, &[(0, 1), (begins, 2)]);
        (answers[1] - begins, stats)
    };
    let (whole, _) = latency(&without, 300);
    let (early, of_early) = latency(&with, 300);
    let (late, of_late) = latency(&with, 30);
    assert!(early + 60 <= whole && early < late && late + 20 <= whole, "{early}, {late} and {whole} cycles");
    // Line 3 would be prefetched only if line 2 missed.
    assert_eq!((of_early.issued, of_early.useful, of_early.late), (1, 1, 0));
    assert_eq!((of_late.issued, of_late.useful, of_late.late), (1, 0, 1));
}

#[test]
fn a_prefetch_is_dropped_for_each_reason() {
    let of =
        |config: &L2Config, lines: &[(u64, u64)], reason: DropReason| reads(config, lines).1.dropped[reason as usize];
    let always = wide(1, PrefetchTrigger::Always);
    assert_eq!(of(&always, &[(0, 1), (200, 2), (400, 1)], DropReason::Present), 1);
    assert_eq!(of(&always, &[(0, 2), (1, 1)], DropReason::InFlight), 1);
    let mut many = wide(4, PrefetchTrigger::Always);
    many.prefetch_limits.page_bytes = 4096;
    // A page has 32 lines. In bank 2 of 6, lines 0 to 4 of the bank are in the first page: they are lines 2,
    // 8, 14, 20 and 26 of memory.
    assert_eq!(of(&many, &[(0, 3)], DropReason::OtherPage), 3);
    let mut short = wide(16, PrefetchTrigger::Always);
    (short.prefetch_limits.queue, short.prefetch_limits.mshr_share) = (1, 1);
    assert!(of(&short, &[(0, 3)], DropReason::QueueFull) > 5);
}

#[test]
fn a_kernel_that_ends_drops_the_lines_that_wait_and_counts_unused_ones() {
    let config = wide(4, PrefetchTrigger::Always);
    let mut rig = rig(&config, fermi_place(), &[(0, read(1, 0)), (900, read(5, 1))], 20, 0);
    let mut sim = BenchSimulator::new(&rig.periods(), &rig, Mode::default());
    while sim.step(&mut rig).is_some() {
        if rig.bank.stats().accesses == 2 && rig.bank.is_idle() {
            rig.bank.end_kernel();
            let PrefetchStats { issued, useful, late, useless, dropped } = rig.bank.stats().prefetch;
            // The first read prefetches lines 2 to 5, and only line 5 is read. That read triggers four more
            // prefetches, of which one is still queued.
            assert_eq!((issued, useful, late, useless), (4, 1, 0, 3));
            assert_eq!(dropped[DropReason::KernelEnd as usize], 1);
            return;
        }
    }
    panic!("the bank is never idle after the second read");
}

#[test]
fn prefetches_keep_to_their_shares_of_the_mshr_and_of_the_miss_queue() {
    for (mshr_share, miss_queue_share, expected) in [(3, 3, 3..=3), (2, 3, 2..=2), (1, 3, 1..=1), (3, 1, 1..=2)] {
        let mut config = wide(8, PrefetchTrigger::Miss);
        config.prefetch_limits = PrefetchLimits { mshr_share, miss_queue_share, ..config.prefetch_limits };
        // Memory accepts nothing before the check. The link to memory holds four bursts: two of the miss, and
        // two of the first prefetch. Only further prefetches remain in the miss queue.
        let mut rig = rig(&config, fermi_place(), &[(0, read(1, 0))], 20, 1000);
        let mut sim = BenchSimulator::new(&rig.periods(), &rig, Mode::default());
        while sim.step(&mut rig).is_some_and(|tick| tick < 500) {}
        let issued = rig.bank.stats().prefetch.issued;
        assert!(expected.contains(&issued), "{issued} with shares {mshr_share} and {miss_queue_share}");
    }
}

#[test]
fn a_sector_of_a_line_in_flight_by_a_prefetch_waits_for_the_line_which_is_fetched_once() {
    let flow = by_sector(OverlappedConfig::default());
    let config = L2Config { flow: flow.into(), ..wide(1, PrefetchTrigger::Miss) };
    let sector = |local, ticket| Request { sectors: 0b10, ..read(local, ticket) };
    let script = [(0, sector(1, 0)), (20, sector(2, 1)), (21, sector(2, 2)), (300, read(2, 3))];
    let rig = run_in_all_modes(|| rig(&config, place(128, 32), &script, 60, 0), LIMIT);
    let bursts: Vec<_> = rig.memory.taken().iter().map(|(_, request)| request.burst).collect();
    assert_eq!(bursts, [5, 8, 9, 10, 11]);
    let stats = rig.bank.stats();
    assert_eq!((stats.misses, stats.hit_pending, stats.hits, stats.prefetch.late), (1, 2, 1, 1));
}

/// Memory has 2^25 lines of 128 bytes in 6 banks. Bank 2 contains lines 2, 8, and so on up to 33,554,426. The
/// last of them is line 5,592,404 of the bank.
#[test]
fn no_prefetch_leaves_the_address_space() {
    let last = ((1 << 25) - 1 - 2) / 6;
    for config in [wide(4, PrefetchTrigger::Miss), L2Config { sets: 64, ..config(SmStrideConfig::default()) }] {
        let (_, at_the_end) = reads(&config, &[(0, last - 2), (200, last - 1), (400, last)]);
        assert!(at_the_end.dropped[DropReason::OtherPage as usize] > 0, "{:?}: {at_the_end:?}", config.prefetch);
        let (_, at_the_start) = reads(&config, &[(0, 2), (200, 1), (400, 0)]);
        let is_stride = config.prefetch.typetag_name() == "stride";
        assert_eq!(at_the_start.dropped[DropReason::OtherPage as usize], u64::from(is_stride), "{at_the_start:?}");
    }
}
