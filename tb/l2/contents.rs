//! Compares the contents and replies of the L2 bank with a model of the memory contents and with the golden
//! model of the bank.

use super::flat::{ByteMap, check, golden_atomic, requests};
use super::memory::Memory;
use super::prefetch;
use super::sectors::by_sector;
use super::{
    FERMI_CLOCKS, LIMIT, ONE_CLOCK, Rig, draw_index, fermi_place, initial_line, line, partition, place, read,
    small_config, split_place, write,
};
use crate::kit::{Random, Sink, Source, Stall, for_each_seed, run, run_in_all_modes};
use crate::{mshr_policy, replacement};
use golden::index::{Function, SetIndex};
use golden::l2::bank::{Access, Bank, Outcome, Victim, Write};
use rtl::cells::line::LINE_BYTES;
use rtl::cells::streaming::{Reopen, StreamingConfig};
use rtl::dram::message::DramRequest;
use rtl::kernel::Mode;
use rtl::l2::bypass::all::KeepNothing;
use rtl::l2::bypass::coalesced::Coalesced;
use rtl::l2::bypass::none::NoBypass;
use rtl::l2::{BankPlace, FetchUnit, L2Bypass, L2Config, OverlappedConfig, WriteMiss};
use rtl::mshr_policy::none::NoMshrPolicy;
use rtl::noc::packet::{Request, RequestKind};

fn run_random(seed: u64, place: BankPlace) {
    let mut random = Random::new(seed);
    let sets = 1 << random.below(3);
    let flow = OverlappedConfig {
        miss_queue: 1 + random.below(3) as u32,
        write_back_queue: 1 + random.below(3) as u32,
        write_miss: [WriteMiss::FetchPartial, WriteMiss::Fetch, WriteMiss::ByteMask][random.below(3) as usize],
        fetch: FetchUnit::Line,
    };
    let mut flow = if random.percent(40) { by_sector(flow) } else { flow };
    if flow.fetch == FetchUnit::Sectors && random.percent(40) {
        flow.fetch = FetchUnit::SectorPairs;
    }
    let streaming = StreamingConfig {
        period: 20 + random.below(300) as u32,
        miss_percent: 1 + random.below(90) as u32,
        min_accesses: 1 + random.below(8) as u32,
        reopen: Reopen::Miss,
    };
    let schemes: [L2Bypass; 4] = [NoBypass {}.into(), streaming.into(), KeepNothing {}.into(), Coalesced {}.into()];
    let ways = 1 + random.below(3) as u32;
    let (mshr_entries, mshr_merges) = (1 + random.below(4) as u32, 1 + random.below(4) as u32);
    let mut pick = |least: u32, most: u32| least + random.below(u64::from(most - least) + 1) as u32;
    let mshr_policy = match pick(0, 1) {
        0 => NoMshrPolicy {}.into(),
        _ => mshr_policy::draw_limits(mshr_entries, mshr_merges, &mut pick),
    };
    let config = L2Config {
        sets,
        ways,
        partition: partition::draw(&mut random, sets, ways),
        mshr_policy,
        index: draw_index(&mut random, sets),
        lookup_latency: 1 + random.below(6) as u32,
        split_requests: 1 + random.below(4) as u32,
        mshr_entries,
        mshr_merges,
        flow: flow.into(),
        reply_queue: 1 + random.below(4) as u32,
        data_ports: 1 + random.below(2) as u32,
        atomic_buffer: random.percent(50),
        bypass: schemes[random.below(4) as usize].clone(),
        replacement: replacement::draw(&mut random, sets, false),
        ..small_config()
    };
    let config = prefetch::added(config, &mut random);
    let lines = 2 + random.below(20);
    let script = requests(&mut random, place, lines, 400);
    let stall = |seed, percent| Stall::Random { seed, percent, longest: 40 };
    let (sent, taken, slow) = (random.below(50), random.below(50), 2 + random.below(100));
    let build = || {
        let source = Source::new(script.clone(), stall(seed, sent));
        let sink = Sink::new(stall(!seed, taken));
        Rig::new(FERMI_CLOCKS, &config, place, source, sink, Memory::new(seed, 1..slow, 0))
    };
    check(&run_in_all_modes(build, LIMIT), &script);
}

#[test]
fn under_random_stalls_every_read_returns_the_bytes_of_a_byte_map() {
    for_each_seed(40, |seed| run_random(seed, fermi_place()));
}

#[test]
fn shorter_lines_of_one_or_two_bursts_are_right_too() {
    for (line_bytes, burst_bytes) in [(64, 64), (64, 32), (32, 32)] {
        for_each_seed(8, |seed| run_random(seed, place(line_bytes, burst_bytes)));
    }
}

#[test]
fn l1_lines_of_several_lines_are_served_part_by_part_and_answered_once() {
    for (l1, l2, burst) in [(128, 32, 32), (128, 64, 64), (128, 64, 32), (64, 32, 32)] {
        for_each_seed(8, |seed| run_random(seed, split_place(l1, l2, burst)));
    }
}

#[test]
fn one_request_at_a_time_hits_misses_and_evicts_as_the_golden_bank_predicts() {
    for_each_seed(12, |seed| {
        let mut random = Random::new(seed);
        let config = L2Config { sets: 4, ways: 3, atomic_buffer: random.percent(50), ..small_config() };
        let place = [fermi_place(), place(64, 64), place(32, 32)][seed as usize % 3];
        let line_bytes = place.line_bytes as usize;
        let script = requests(&mut random, place, 24, 300);
        // Requests are 100 cycles apart, so that each completes before the next one is sent.
        let alone = Stall::NotBefore((0..300).map(|n| n * 100).collect());
        let source = Source::new(script.clone(), alone);
        let mut rig = Rig::new(ONE_CLOCK, &config, place, source, Sink::new(Stall::Never), Memory::new(seed, 1..20, 0));
        run(&mut rig, Mode::default(), LIMIT);
        check(&rig, &script);

        let index = SetIndex::new(Function::Linear { bits: 2 }, place.line_bytes.ilog2(), 32).unwrap();
        let mut golden: Bank<u64> = Bank::new(index, 3);
        let mut memory = ByteMap::new(place);
        let (mut hits, mut misses) = ([0; 3], [0; 3]);
        let mut written_back = Vec::new();
        for request in &script {
            let (access, kind) = match request.kind {
                RequestKind::Read => (Access::Read(request.ticket), 0),
                RequestKind::Write => {
                    (Access::Write(Write { byte_mask: request.byte_mask, bytes: request.data.to_vec() }), 1)
                }
                RequestKind::Atomic | RequestKind::Reduce => (Access::Atomic(golden_atomic(request, place)), 2),
            };
            let local = request.line / 6;
            match golden.access(local, access) {
                Outcome::Hit(_) => hits[kind] += 1,
                Outcome::Miss { victim } => {
                    misses[kind] += 1;
                    if let Some(Victim { line: local, write_back: Some(bytes) }) = victim {
                        let mut held = [0; LINE_BYTES];
                        held[..line_bytes].copy_from_slice(&bytes);
                        memory.lines.insert(local, held);
                        written_back.push((local, bytes));
                    }
                    let bytes = memory.apply(&read(local, 0));
                    golden.fill(local, bytes).unwrap();
                }
                other => panic!("one request at a time, and yet {other:?}"),
            }
        }
        let stats = rig.bank.stats();
        assert_eq!([stats.hits, stats.write_hits, stats.atomic_hits], hits);
        assert_eq!([stats.hit_pending, stats.write_pending, stats.atomic_pending], [0; 3]);
        assert_eq!([stats.misses, stats.write_misses, stats.atomic_misses], misses);
        let bursts: Vec<_> = rig.memory.taken().iter().filter(|(_, request)| request.write).collect();
        let of_line = place.bursts() as usize;
        let written = |bursts: &[&(u64, DramRequest)]| {
            let bytes = bursts.iter().flat_map(|(_, burst)| &burst.data[..place.burst_bytes as usize]).copied();
            (bursts[0].1.burst / of_line as u64, bytes.collect())
        };
        let dut: Vec<(u64, Vec<u8>)> = bursts.chunks(of_line).map(written).collect();
        assert_eq!(dut, written_back);
        assert!(!dut.is_empty());
        for (local, bytes) in golden.dirty_lines() {
            assert_eq!(rig.bank.peek(line(local)).map(|(bytes, _)| &bytes[..line_bytes]), Some(&bytes[..]));
        }
    });
}

/// Runs requests on an L2 bank without stalls, with all blocks on one clock, and checks the result.
fn play(config: &L2Config, script: &[Request], memory: Memory) -> Rig {
    let build = |memory| {
        let source = Source::new(script.to_vec(), Stall::Never);
        Rig::new(ONE_CLOCK, config, fermi_place(), source, Sink::new(Stall::Never), memory)
    };
    let mut rig = build(memory);
    run(&mut rig, Mode::default(), LIMIT);
    check(&rig, script);
    rig
}

#[test]
fn a_write_of_a_whole_line_needs_no_fetch() {
    let rig = play(&small_config(), &[write(7, 0, u128::MAX, 0x5a), read(7, 1)], Memory::new(1, 1..2, 0));
    assert_eq!(rig.memory.taken().len(), 0);
    assert_eq!((rig.bank.stats().hits, rig.bank.stats().write_misses), (1, 1));
}

#[test]
fn a_write_of_a_whole_line_fetches_it_where_every_missing_write_does() {
    let config = L2Config {
        flow: OverlappedConfig { write_miss: WriteMiss::Fetch, ..OverlappedConfig::default() }.into(),
        ..small_config()
    };
    let rig = play(&config, &[write(7, 0, u128::MAX, 0x5a), read(7, 1)], Memory::new(1, 1..2, 0));
    let taken: Vec<bool> = rig.memory.taken().iter().map(|(_, request)| request.write).collect();
    assert_eq!(taken, [false, false]);
    assert_eq!(rig.bank.stats().fetches, 1);
}

#[test]
fn a_line_fetched_right_after_it_gave_way_brings_the_bytes_written_back() {
    let config = L2Config { ways: 1, ..small_config() };
    // Memory accepts its first burst so late that line 1 is requested again while its bytes still wait in the
    // bank to be written back.
    let script = [write(1, 0, u128::MAX, 0x11), write(2, 1, u128::MAX, 0x22), read(1, 2)];
    let rig = play(&config, &script, Memory::new(1, 5..6, 200));
    let order: Vec<(bool, u64)> =
        rig.memory.taken().iter().map(|(_, request)| (request.write, request.burst)).collect();
    assert_eq!(order, [(true, 2), (true, 3), (true, 4), (true, 5), (false, 2), (false, 3)]);
}

#[test]
fn the_host_sees_and_replaces_lines_that_are_here() {
    let config = L2Config { ways: 1, ..small_config() };
    let mut rig = play(&config, &[write(1, 0, u128::MAX, 0x11), read(2, 1)], Memory::new(1, 1..2, 0));
    assert_eq!(rig.bank.peek(line(1)), None);
    assert_eq!(rig.bank.peek(line(2)), Some((&initial_line(fermi_place(), 2), u128::MAX)));
    assert!(rig.bank.poke(line(2), &[9; LINE_BYTES]));
    assert!(!rig.bank.poke(line(1), &[9; LINE_BYTES]));
    assert_eq!(rig.bank.peek(line(2)), Some((&[9; LINE_BYTES], u128::MAX)));
    assert!(rig.bank.poke(line(2), &[7; LINE_BYTES]), "it needs no port of a cycle");
    assert_eq!(rig.bank.peek(line(2)), Some((&[7; LINE_BYTES], u128::MAX)));
}
