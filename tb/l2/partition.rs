//! Tests of way partitioning in the L2 bank, which compare the bank with its golden model.
//!
//! | testpoint                                                                  | test                          |
//! |----------------------------------------------------------------------------|-------------------------------|
//! | hits, misses and writebacks equal those of the golden model                | `every_partition_*`           |
//! | counts agree with lines in flight; a group stalls if all its ways wait     | `lines_in_flight_*`           |
//! | a scan of one group evicts no line of another, a hit in its ways is served | `a_scan_of_one_group_*`       |
//! | a line in a way behind an empty way is found                               | `a_line_behind_an_empty_way_*` |
//! | data and order under random stalls                                         | `contents::under_random_*`    |
//! | a prefetch of a line behind an empty way finds it, and fetches no line twice | `a_prefetch_finds_*`, `a_line_behind_an_empty_way_takes_*` |
//! | a partition in the transient flow is refused                               | `a_partition_is_refused_*`    |

use std::cell::Cell;
use std::collections::BTreeMap;

use super::flat::{check, golden_atomic, requests};
use super::memory::Memory;
use super::{LIMIT, ONE_CLOCK, Rig, fermi_place, read, small_config, transient, write};
use crate::kit::{Random, Sink, Source, Stall, for_each_seed, run, run_in_all_modes};
use crate::replacement::{policies, twin};
use golden::index::{Function, SetIndex};
use golden::l2::bank::{Access, Bank, Outcome, Victim, Write};
use golden::l2::partition;
use rtl::config::Rules;
use rtl::kernel::{CounterReader, Key, Mode, ScopeKind, Value};
use rtl::l2::partition::by_requester::ByRequester;
use rtl::l2::partition::none::NoPartition;
use rtl::l2::partition::utility::UtilityConfig;
use rtl::l2::prefetch::next_line::{NextLineConfig, PrefetchTrigger};
use rtl::l2::prefetch::{DropReason, PrefetchStats};
use rtl::l2::{FrcConfig, L2Config, L2Partition, OverlappedConfig, Stall as Reason};
use rtl::noc::packet::{Request, RequestKind};
use rtl::replacement::ReplacementConfig;
use rtl::replacement::lru::Lru;

const SETS: u32 = 8;
/// Number of SMs of the machine that contains the bank under test.
const SMS: u32 = 15;

/// Generates a random partition of a bank with `sets` sets of `ways` ways.
pub(super) fn draw(random: &mut Random, sets: u32, ways: u32) -> L2Partition {
    if ways >= 2 && random.percent(40) {
        let groups = 2 + random.below(u64::from(ways.min(8)) - 1) as u32;
        let mut sms: Vec<_> = (0..SMS).map(|sm| (sm * 7 + 3) % groups).collect();
        if random.percent(50) {
            sms.clear();
        }
        let sample_every = 1 << random.below(u64::from(sets.ilog2()) + 1);
        return UtilityConfig { groups, sms, sample_every, period: 1 + random.below(150) as u32 }.into();
    }
    let groups = 1 + random.below(u64::from(ways.min(4))) as u32;
    let mut left = ways - groups;
    let shares = (0..groups).map(|_| {
        let more = random.below(u64::from(left) + 1) as u32;
        left -= more;
        1 + more
    });
    let ways = shares.collect();
    let in_turn = (0..SMS).map(|sm| sm % groups).collect();
    match random.below(3) {
        0 => NoPartition {}.into(),
        1 => ByRequester { ways, sms: Vec::new() }.into(),
        _ => ByRequester { ways, sms: in_turn }.into(),
    }
}

fn config(partition: &L2Partition, replacement: &ReplacementConfig, ways: u32) -> L2Config {
    let flow = OverlappedConfig { miss_queue: 8, write_back_queue: 8, ..OverlappedConfig::default() };
    L2Config {
        sets: SETS,
        ways,
        mshr_entries: 8,
        // With a second data port, arriving bursts do not delay waiting writes, so a line can be evicted
        // before the next line arrives.
        data_ports: 2,
        partition: partition.clone(),
        replacement: replacement.clone(),
        flow: flow.into(),
        ..small_config()
    }
}

/// Creates the golden model of a bank with the given configuration.
fn golden(config: &L2Config) -> Bank<u64> {
    let index = SetIndex::new(Function::Linear { bits: SETS.ilog2() }, 7, 32).unwrap();
    let mut golden = Bank::new(index, config.ways as usize);
    golden.replace_by(twin(&config.replacement, SETS, config.ways));
    let scheme: Box<dyn partition::Scheme> = warpsieve::check::twin::twin(&config.partition).unwrap();
    scheme.twin(SMS as usize, config.ways as usize).into_iter().for_each(|partition| golden.partition_by(partition));
    golden
}

/// Counters of a bank, and the lines that it has written back, in order.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    hits: [u64; 3],
    misses: [u64; 3],
    evictions: u64,
    written_back: Vec<u64>,
}

impl Counts {
    fn of(rig: &Rig) -> Self {
        let stats = rig.bank.stats();
        let bursts = rig.memory.taken().iter().filter(|(_, request)| request.write).map(|(_, request)| request.burst);
        Self {
            hits: [stats.hits, stats.write_hits, stats.atomic_hits],
            misses: [stats.misses, stats.write_misses, stats.atomic_misses],
            evictions: stats.evictions,
            written_back: bursts.filter(|burst| burst % 2 == 0).map(|burst| burst / 2).collect(),
        }
    }

    /// Performs an access of the golden model and counts it. Returns false if the model refuses the access.
    fn add(&mut self, golden: &mut Bank<u64>, request: &Request) -> bool {
        let (access, kind) = match request.kind {
            RequestKind::Read => (Access::Read(request.ticket), 0),
            RequestKind::Write => {
                (Access::Write(Write { byte_mask: request.byte_mask, bytes: request.data.to_vec() }), 1)
            }
            RequestKind::Atomic | RequestKind::Reduce => (Access::Atomic(golden_atomic(request, fermi_place())), 2),
        };
        match golden.access_by(request.sm.into(), request.line / 6, access) {
            Outcome::Hit(_) => self.hits[kind] += 1,
            Outcome::Miss { victim } => {
                self.misses[kind] += 1;
                self.evictions += u64::from(victim.is_some());
                self.written_back.extend(victim.and_then(|Victim { line, write_back }| write_back.map(|_| line)));
            }
            Outcome::Refused => return false,
            Outcome::HitPending => panic!("the lines of a burst differ"),
        }
        true
    }
}

/// Runs requests that are sent in the given cycles.
fn play(config: &L2Config, script: &[Request], cycles: Vec<u64>, memory: Memory) -> Rig {
    let source = Source::new(script.to_vec(), Stall::NotBefore(cycles));
    let mut rig = Rig::new(ONE_CLOCK, config, fermi_place(), source, Sink::new(Stall::Never), memory);
    run(&mut rig, Mode::default(), LIMIT);
    check(&rig, script);
    rig
}

/// Runs requests one at a time: each request completes before the next one is sent.
fn one_by_one(config: &L2Config, script: &[Request]) -> Rig {
    play(config, script, (0..script.len() as u64).map(|n| n * 100).collect(), Memory::new(1, 1..20, 0))
}

#[test]
fn every_partition_hits_misses_and_evicts_as_its_twin_says() {
    for policy in policies(SETS, false) {
        for_each_seed(8, |seed| {
            let mut random = Random::new(seed);
            let ways = [4, 3, 16, 2, 5, 8][seed as usize % 6];
            let config = config(&draw(&mut random, SETS, ways), &policy, ways);
            let script = requests(&mut random, fermi_place(), u64::from(SETS * ways) * 3 / 2, 500);
            let (mut model, mut counts) = (golden(&config), Counts::default());
            for request in &script {
                assert!(counts.add(&mut model, request), "one request at a time, and yet it is refused");
                let pending: Vec<_> = model.pending_lines().collect();
                pending.into_iter().for_each(|line| assert!(model.fill(line, vec![0; 128]).is_ok()));
            }
            assert_eq!(Counts::of(&one_by_one(&config, &script)), counts, "{:?}, {policy:?}", config.partition);
            assert!(counts.hits[0] > 10 && counts.evictions > 20, "{counts:?}");
        });
    }
}

#[test]
fn lines_in_flight_are_no_victims_and_a_group_with_no_other_line_stalls() {
    let stalled = Cell::new(0);
    for policy in policies(SETS, false) {
        for_each_seed(8, |seed| {
            let mut random = Random::new(seed);
            let ways = [4, 3, 2, 5][seed as usize % 4];
            let config = config(&draw(&mut random, SETS, ways), &policy, ways);
            let (mut model, mut counts) = (golden(&config), Counts::default());
            let (mut script, mut cycles) = (Vec::new(), Vec::new());
            // All requests of a group are looked up before the first of their lines arrives. The lines are
            // all different, in one or two sets. A refused request is the last of its group. It is accepted
            // as soon as an arriving line provides a victim way for it.
            for burst in 0..60 {
                let (sets, mut lines) = (1 + random.below(2), Vec::new());
                let mut order = Vec::new();
                for _ in 0..6 {
                    let local = random.below(u64::from(ways) + 3) * u64::from(SETS) + random.below(sets);
                    if lines.contains(&local) {
                        continue;
                    }
                    lines.push(local);
                    let ticket = script.len() as u64;
                    let plain = if random.percent(30) { write(local, ticket, 0xff, 7) } else { read(local, ticket) };
                    let request = Request { sm: random.below(SMS.into()) as u8, ..plain };
                    script.push(request.clone());
                    cycles.push(burst * 1000);
                    let is_new = |model: &Bank<u64>| model.pending_lines().any(|line| line == local);
                    let is_accepted = counts.add(&mut model, &request);
                    order.extend(is_new(&model).then_some(local));
                    if !is_accepted {
                        for line in std::mem::take(&mut order) {
                            model.fill(line, vec![0; 128]).unwrap();
                            if counts.add(&mut model, &request) {
                                order.extend(is_new(&model).then_some(local));
                                break;
                            }
                        }
                        break;
                    }
                }
                let pending: Vec<_> = model.pending_lines().collect();
                pending.into_iter().for_each(|line| assert!(model.fill(line, vec![0; 128]).is_ok()));
            }
            let rig = play(&config, &script, cycles, Memory::new(1, 200..201, 0));
            assert_eq!(Counts::of(&rig), counts, "{:?}, {policy:?}", config.partition);
            stalled.set(stalled.get() + rig.bank.stats().stall_cycles(Reason::LineAlloc));
        });
    }
    assert!(stalled.get() > 10_000, "{stalled:?} cycles");
}

/// Returns a read of line `local` by SM `sm`.
fn read_by(sm: u8, local: u64, ticket: u64) -> Request {
    Request { sm, ..read(local, ticket) }
}

#[test]
fn a_scan_of_one_group_evicts_no_line_of_another_and_hits_in_its_ways() {
    // The partition divides the ways between two groups of SMs. SM 0 reads two lines of set 0. SM 14, which
    // is in the other group, reads the same lines, and then scans the set.
    let mut lines = vec![(0, 0), (0, 8), (14, 0), (14, 8)];
    lines.extend((2..12).map(|n| (14, n * 8)));
    lines.extend([(0, 0), (0, 8)]);
    let script: Vec<_> = (0..).zip(lines).map(|(ticket, (sm, line))| read_by(sm, line, ticket)).collect();
    let hits = |partition: &L2Partition| one_by_one(&config(partition, &Lru {}.into(), 4), &script).bank.stats().hits;
    let halves = ByRequester { ways: vec![2, 2], sms: Vec::new() };
    assert_eq!([hits(&NoPartition {}.into()), hits(&halves.into())], [2, 4]);
}

/// Visitor that reads the counters of utility-based partitioning, by name. For a histogram, it reads the list
/// of counts.
#[derive(Default)]
struct SchemeReader(BTreeMap<&'static str, Vec<u64>>);

impl CounterReader for SchemeReader {
    fn enter(&mut self, _key: &Key, _opened: ScopeKind) -> bool {
        true
    }

    fn leave(&mut self) {}

    fn counter(&mut self, key: &Key, value: Value<'_>) {
        let counts = match value {
            Value::Count(count) => vec![count],
            Value::Classes(counts) => counts.to_vec(),
            _ => panic!("{} is no count", key.name),
        };
        self.0.insert(key.name, counts);
    }
}

/// Returns the values of the bank's partitioning counter `name`: a single count, or those of a histogram.
fn counts(rig: &Rig, name: &str) -> Vec<u64> {
    let mut read = SchemeReader::default();
    rig.bank.scheme_counts().list(&mut read);
    read.0.remove(name).unwrap_or_else(|| panic!("{name} is not among {:?}", read.0))
}

#[test]
fn a_group_that_reuses_its_lines_gains_ways_from_one_that_streams() {
    // SM 0 reads six lines of a set with eight ways over and over. After each of its reads, SM 14 reads a
    // new line of the set. So SM 0 hits only with at least six ways of its own.
    let reads = (0..240_u64).flat_map(|turn| [(0, turn % 6), (14, 100 + turn)]);
    let script: Vec<_> = (0..).zip(reads).map(|(ticket, (sm, line))| read_by(sm, line * 8, ticket)).collect();
    let play = |partition: &L2Partition| one_by_one(&config(partition, &Lru {}.into(), 8), &script);
    let halves = ByRequester { ways: vec![4, 4], sms: Vec::new() };
    let hits = [NoPartition {}.into(), halves.into()].map(|partition| play(&partition).bank.stats().hits);
    assert_eq!(hits, [0, 0]);
    let utility = |sample_every| {
        let config = UtilityConfig { period: 60, sample_every, ..UtilityConfig::default() };
        play(&config.into())
    };
    // The ways are divided anew eight times, with the same result each time.
    let rig = utility(8);
    assert_eq!(["repartitions", "changes"].map(|name| counts(&rig, name)), [[8], [1]]);
    // The streaming group needs only one of the other two ways. It also gets the last way, which is of no use
    // to any group.
    assert_eq!(counts(&rig, "ways"), [8 * 6, 8 * 2, 0, 0, 0, 0, 0, 0]);
    assert_eq!(["sampled_accesses", "sampled_hits", "taken"].map(|name| counts(&rig, name)), [[480], [234], [2]]);
    // When the first period ends, after 30 reads of each SM, four of the lines of SM 0 are in the bank. SM 0
    // then takes two more ways.
    assert_eq!(rig.bank.stats().hits, 240 - 30 - 2);
    // These accesses go to another set, which the monitor does not sample.
    let moved: Vec<_> = script.iter().map(|request| Request { line: request.line + 6, ..request.clone() }).collect();
    let unseen = UtilityConfig { period: 60, sample_every: 8, ..UtilityConfig::default() };
    let rig = one_by_one(&config(&unseen.into(), &Lru {}.into(), 8), &moved);
    assert_eq!(
        (rig.bank.stats().hits, counts(&rig, "sampled_accesses"), counts(&rig, "changes")),
        (0, vec![0], vec![0])
    );
}

#[test]
fn a_line_behind_an_empty_way_is_found() {
    // SM 14 belongs to the group with the upper ways. The tag of line 0 is 0, like that of an empty way.
    let halves = ByRequester { ways: vec![2, 2], sms: Vec::new() }.into();
    let script = [read_by(14, 0, 0), read_by(0, 0, 1), read_by(14, 0, 2)];
    let build = || {
        let source = Source::new(script.to_vec(), Stall::NotBefore(vec![0, 200, 400]));
        let (sink, memory) = (Sink::new(Stall::Never), Memory::new(1, 1..20, 0));
        Rig::new(ONE_CLOCK, &config(&halves, &Lru {}.into(), 4), fermi_place(), source, sink, memory)
    };
    let rig = run_in_all_modes(build, LIMIT);
    check(&rig, &script);
    assert_eq!((rig.bank.stats().hits, rig.bank.stats().misses), (2, 1));
}

/// Runs requests at the given cycles on a partitioned bank that prefetches the next line on each miss. Then
/// ends the kernel, and returns the counts of prefetches.
fn prefetches(shares: [u32; 2], script: &[(u64, Request)]) -> PrefetchStats {
    let (cycles, requests): (Vec<_>, Vec<_>) = script.iter().cloned().unzip();
    let partition = ByRequester { ways: shares.to_vec(), sms: Vec::new() }.into();
    let config = L2Config {
        prefetch: NextLineConfig { degree: 1, trigger: PrefetchTrigger::Miss }.into(),
        ..config(&partition, &Lru {}.into(), shares.iter().sum())
    };
    let build = || {
        let source = Source::new(requests.clone(), Stall::NotBefore(cycles.clone()));
        Rig::new(ONE_CLOCK, &config, fermi_place(), source, Sink::new(Stall::Never), Memory::new(1, 60..61, 0))
    };
    let mut rig = run_in_all_modes(build, LIMIT);
    check(&rig, &requests);
    rig.bank.end_kernel();
    assert_eq!(rig.bank.stats().check_conservation(), Ok(()));
    rig.bank.stats().prefetch
}

#[test]
fn a_prefetch_finds_its_line_behind_an_empty_way() {
    // SM 14 belongs to the group with the upper ways. Line 1 is therefore in an upper way of set 1, and the
    // lower ways of the set are empty. The tag of line 1 equals that of an empty way. The miss on line 0 must
    // not prefetch line 1 again, because memory does not have the bytes that SM 14 has written.
    let written = Request { sm: 14, ..write(1, 0, 0xff, 7) };
    let stats = prefetches([2, 2], &[(0, written), (300, read_by(0, 0, 1)), (600, read_by(14, 1, 2))]);
    assert_eq!(stats.dropped[DropReason::Present as usize], 1, "{stats:?}");
}

#[test]
fn a_line_behind_an_empty_way_takes_the_place_of_an_unused_prefetch() {
    // Line 9 is prefetched into the only way of SM 14 in set 1. Line 1 evicts line 9. The second request for
    // line 1 comes while the line is in flight, and must not count as a use of a prefetch.
    let script = [(0, read_by(14, 8, 0)), (300, read_by(14, 1, 1)), (305, read_by(14, 1, 2))];
    let PrefetchStats { issued, useful, late, useless, .. } = prefetches([2, 1], &script);
    // The misses on lines 8 and 1 prefetch lines 9 and 2.
    assert_eq!((issued, useful, late, useless), (2, 0, 0, 2));
}

#[test]
fn a_partition_is_refused_in_the_transient_flow_and_if_it_does_not_fit() {
    let refusals = |config: L2Config| {
        let mut rules = Rules::default();
        config.validate_requesters(SMS, &mut rules);
        rules.into_violations().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let halves: L2Partition = ByRequester { ways: vec![8, 8], sms: Vec::new() }.into();
    let flow = transient(FrcConfig::default()).into();
    assert_eq!(
        refusals(L2Config { flow, ..config(&halves, &Lru {}.into(), 16) }),
        ["partition is by-requester, expected none with flow.kind = \"transient\"; another with flow.kind = \
          \"overlapped\": the FRC and the pending queue of that flow choose a way for a line without its requester"]
    );
    assert_eq!(
        refusals(config(&halves, &Lru {}.into(), 15)),
        ["partition.ways is [8, 8], expected numbers from 1 whose sum is at most 15, with l2.ways = 15: a miss needs \
          a way, and no way belongs to two groups"]
    );
}
