//! Tests of a sectored L2 bank. It fetches single sectors of a line from memory, and writes back only the
//! bursts that were written.

use std::collections::BTreeSet;

use super::flat::{check, on, requests};
use super::memory::Memory;
use super::partial::{access_of, bytes, play, taken};
use super::{FERMI_CLOCKS, LIMIT, ONE_CLOCK, Rig, fermi_place, line, place, read, small_config, split_place, write};
use crate::kit::{CycleTable, Random, Sink, Source, Stall as Hold, assert_table, for_each_seed, run_in_all_modes};
use crate::replacement;
use golden::index::{Function, SetIndex};
use golden::l2::sectored::Bank;
use isa::lanes::AtomicFn;
use isa::types::Type;
use rtl::cells::atomic::AtomicOp;
use rtl::cells::line::LINE_BYTES;
use rtl::l2::bypass::all::KeepNothing;
use rtl::l2::{BankPlace, FetchUnit, L2Config, OverlappedConfig, Stall, WriteMiss};
use rtl::noc::packet::{ReplyKind, Request};

pub fn by_sector(flow: OverlappedConfig) -> OverlappedConfig {
    OverlappedConfig { write_miss: WriteMiss::ByteMask, fetch: FetchUnit::Sectors, ..flow }
}

/// Returns the configuration of the overlapped flow in which each miss fetches a pair of adjacent sectors.
fn by_pair() -> OverlappedConfig {
    OverlappedConfig { fetch: FetchUnit::SectorPairs, ..by_sector(OverlappedConfig::default()) }
}

fn config() -> L2Config {
    L2Config { flow: by_sector(OverlappedConfig::default()).into(), ..small_config() }
}

/// Returns the position in the address map of a bank with lines of four sectors. Each sector is one DRAM
/// burst.
fn four() -> BankPlace {
    place(128, 32)
}

/// Returns a read request for the sectors of a line that the mask `sectors` selects.
fn sectors(local: u64, ticket: u64, sectors: u8) -> Request {
    Request { sectors, ..read(local, ticket) }
}

/// Returns the byte mask that selects all bytes of a sector.
fn all_of(sector: u32) -> u128 {
    0xffff_ffff << (32 * sector)
}

fn add(local: u64, ticket: u64, byte: usize) -> Request {
    on(local, ticket, AtomicOp { f: AtomicFn::Add, ty: Type::U32 }, &[(byte, 1, 0)], LINE_BYTES)
}

/// Runs requests at the given cycles on an L2 bank, with a fixed memory latency.
fn at_cycles(config: &L2Config, script: &[(u64, Request)], latency: u64) -> Rig {
    let requests: Vec<Request> = script.iter().map(|(_, request)| request.clone()).collect();
    let build = || {
        let cycles = script.iter().map(|(cycle, _)| *cycle).collect();
        let source = Source::new(requests.clone(), Hold::NotBefore(cycles));
        let memory = Memory::new(1, latency..latency + 1, 0);
        Rig::new(ONE_CLOCK, config, four(), source, Sink::new(Hold::Never), memory)
    };
    let rig = run_in_all_modes(build, LIMIT);
    check(&rig, &requests);
    rig
}

/// Returns the bursts that were read from memory, and the bursts that were written with their byte masks,
/// each in order.
fn bursts(rig: &Rig) -> (Vec<u64>, Vec<(u64, u64)>) {
    let (written, read): (Vec<_>, Vec<_>) = taken(rig).into_iter().partition(|(is_write, ..)| *is_write);
    let read = read.into_iter().map(|(_, burst, _)| burst).collect();
    (read, written.into_iter().map(|(_, burst, mask)| (burst, mask)).collect())
}

#[test]
fn a_cold_read_brings_its_sector_and_another_sector_of_the_line_is_a_miss_of_its_own() {
    let script = [sectors(7, 0, 0b0100), sectors(7, 1, 0b0100), sectors(7, 2, 0b1101), read(7, 3), read(7, 4)];
    let rig = play(&config(), four(), &script);
    assert_eq!(bursts(&rig).0, [30, 28, 31, 29]);
    let stats = rig.bank.stats();
    assert_eq!((stats.hits, stats.misses, stats.sectors.misses, stats.fetches), (2, 3, 2, 3));
    assert_eq!((stats.sectors.fetched_bytes, stats.sectors.written_bytes), (4 * 32, 0));
}

#[test]
fn with_bursts_of_two_sectors_the_neighbour_comes_too() {
    let script = [sectors(7, 0, 0b0100), sectors(7, 1, 0b1000), sectors(7, 2, 0b0001)];
    let rig = play(&config(), fermi_place(), &script);
    assert_eq!((bursts(&rig).0, rig.bank.stats().hits), (vec![15, 14], 1));
}

#[test]
fn a_fetch_of_sector_pairs_brings_the_missing_neighbour_and_waits_for_it() {
    let config = L2Config { flow: by_pair().into(), ..config() };
    let script = [
        sectors(7, 0, 0b0100),
        sectors(7, 1, 0b1000),
        write(7, 2, all_of(1), 0x5a),
        sectors(7, 3, 0b0001),
        sectors(7, 4, 0b1111),
    ];
    let rig = play(&config, four(), &script);
    assert_eq!((bursts(&rig).0, rig.bank.stats().hits), (vec![30, 31, 28], 2));
    // The second read needs a sector of the pair that the first read has already requested. The third read
    // needs the other pair.
    let script = [(0, sectors(1, 0, 0b0010)), (1, sectors(1, 1, 0b0001)), (2, sectors(1, 2, 0b1000))];
    let rig = at_cycles(&config, &script, 20);
    let stats = rig.bank.stats();
    assert_eq!((bursts(&rig).0, stats.hit_pending, stats.misses), (vec![4, 5, 6, 7], 1, 2));
}

#[test]
fn a_sector_asked_for_while_another_is_on_its_way_comes_behind_it_and_the_first_waits_for_its_own_alone() {
    let script = [(0, sectors(1, 0, 0b0001)), (1, sectors(1, 1, 0b0100)), (2, sectors(1, 2, 0b0001))];
    let rig = at_cycles(&config(), &script, 5);
    let mut table = CycleTable::new();
    table.column("req", rig.source.sent().iter().map(|(cycle, request)| (*cycle, request.ticket)));
    table.column("dram_req", rig.memory.taken().iter().map(|(cycle, request)| (*cycle, request.burst)));
    table.column("rsp", rig.sink.received().iter().map(|(cycle, answer)| (*cycle, answer.ticket)));
    // Memory replies with burst 4 in cycle 9, and the bank receives it in cycle 10, so request 0 is served in
    // cycle 11. The bank receives burst 6, for which request 1 waits, in cycle 11. Request 2 must not
    // overtake request 1, although its sector has arrived.
    assert_table(
        &table,
        "cycle  req  dram_req  rsp
         0      0    .         .
         1      1    .         .
         2      2    .         .
         3      .    .         .
         4      .    4         .
         5      .    6         .
         6      .    .         .
         7      .    .         .
         8      .    .         .
         9      .    .         .
         10     .    .         .
         11     .    .         .
         12     .    .         .
         13     .    .         0
         14     .    .         1
         15     .    .         2",
    );
    let stats = rig.bank.stats();
    assert_eq!((stats.misses, stats.hit_pending, stats.sectors.misses, stats.replays), (2, 1, 1, 3));
}

#[test]
fn the_first_is_served_long_before_a_sector_that_came_to_be_asked_for_later() {
    // When request 0 has been served, the MSHR entry leaves the queue of entries that have waiters to serve.
    // It rejoins this queue when sector 1 arrives.
    let script = [(0, sectors(1, 0, 0b0001)), (15, sectors(1, 1, 0b0010)), (16, sectors(1, 2, 0b0001))];
    let rig = at_cycles(&config(), &script, 20);
    let cycles: Vec<_> = rig.sink.received().iter().map(|(cycle, answer)| (answer.ticket, *cycle)).collect();
    assert_eq!(cycles, [(0, 28), (1, 43), (2, 44)]);
}

#[test]
fn a_sector_written_in_part_is_fetched_by_a_read_of_it_and_one_written_as_a_whole_is_not() {
    let script = [
        write(7, 0, 0xff << 40, 0x5a),
        write(7, 1, all_of(3), 0x6b),
        sectors(7, 2, 0b1000),
        sectors(7, 3, 0b0010),
        sectors(7, 4, 0b1010),
    ];
    let rig = play(&config(), four(), &script);
    assert_eq!(bursts(&rig), (vec![29], vec![]));
    let stats = rig.bank.stats();
    assert_eq!((stats.write_misses, stats.write_hits, stats.misses, stats.hits), (1, 1, 1, 2));
    assert_eq!(rig.bank.peek(line(7)).map(|(_, here)| here), Some(all_of(1) | all_of(3)));
}

#[test]
fn a_line_gives_way_by_the_bursts_that_were_written_under_their_masks() {
    let config = L2Config { ways: 1, ..config() };
    let script = [
        read(7, 0),
        write(7, 1, 0xff << 40, 0x5a),
        add(7, 2, 100),
        sectors(8, 3, 0b0001),
        // This line is clean and only some of its sectors are valid, so its eviction writes nothing back.
        sectors(9, 4, 0b0001),
    ];
    let rig = play(&config, four(), &script);
    assert_eq!(bursts(&rig), (vec![28, 29, 30, 31, 32, 36], vec![(29, 0xff00), (31, 0xf0)]));
    let stats = rig.bank.stats();
    assert_eq!((stats.evictions, stats.writebacks, stats.sectors.written_bytes), (2, 1, 2 * 32));
}

#[test]
fn a_line_written_while_it_was_on_its_way_is_dirty_when_it_is_here() {
    let config = L2Config { ways: 1, ..config() };
    let script = [(0, sectors(7, 0, 1)), (1, write(7, 1, 0xf << 8, 0x5a)), (100, sectors(8, 2, 1)), (200, read(7, 3))];
    let rig = at_cycles(&config, &script, 20);
    assert_eq!(bursts(&rig), (vec![28, 32, 28, 29, 30, 31], vec![(28, 0xf00)]));
}

#[test]
fn a_line_fetched_right_after_it_gave_way_brings_the_bytes_written_back() {
    let config = L2Config { ways: 1, ..config() };
    // Memory accepts its first burst late. Line 1 is therefore requested while its bytes still wait in the
    // bank to be written back.
    let script = [write(1, 0, all_of(2), 0x11), write(2, 1, 1, 0x22), sectors(1, 2, 0b1100), sectors(1, 3, 0b0001)];
    let build = || {
        let source = Source::new(script.to_vec(), Hold::Never);
        Rig::new(ONE_CLOCK, &config, four(), source, Sink::new(Hold::Never), Memory::new(1, 5..6, 200))
    };
    let rig = run_in_all_modes(build, LIMIT);
    check(&rig, &script);
    let order: Vec<_> = taken(&rig).into_iter().map(|(is_write, burst, _)| (is_write, burst)).collect();
    assert_eq!(order, [(true, 6), (true, 8), (false, 6), (false, 7), (false, 4)]);
}

#[test]
fn bytes_written_by_a_waiter_before_their_burst_arrives_stay_as_they_were_written() {
    // Request 2 needs sector 1 while the write to that sector still waits. The write is performed once sector
    // 0 arrives.
    for mask in [0xf << 36, all_of(1)] {
        let script = [
            (0, sectors(1, 0, 0b0001)),
            (1, write(1, 1, mask, 0x5a)),
            (12, sectors(1, 2, 0b0010)),
            (13, write(1, 3, 1 << 127, 0x6b)),
            (100, read(1, 4)),
        ];
        let rig = at_cycles(&config(), &script, 20);
        let acks = rig.sink.received().iter().filter(|(_, answer)| answer.kind == ReplyKind::Ack).count();
        assert_eq!((bursts(&rig).0, acks), (vec![4, 5, 6, 7], 2));
    }
}

#[test]
fn an_atomic_brings_the_sector_of_its_words() {
    for atomic_buffer in [false, true] {
        let config = L2Config { atomic_buffer, ..config() };
        let script = [add(7, 0, 36), add(7, 1, 40), add(7, 2, 100), write(7, 3, 0xff, 1), read(7, 4)];
        let rig = play(&config, four(), &script);
        assert_eq!(bursts(&rig).0, [29, 31, 28, 30]);
        let brought: Vec<_> = rig.sink.received().iter().map(|(_, answer)| answer.sectors).collect();
        assert_eq!((brought[0], brought[1], brought[2], brought[4]), (0b0010, 0b0010, 0b1000, 0b1111));
        assert_eq!((rig.bank.stats().atomic_misses, rig.bank.stats().atomic_hits), (2, 1));
    }
}

#[test]
fn an_atomic_of_a_part_of_an_l1_line_brings_its_sector_too() {
    let script = [add(7, 0, 36), add(7, 1, 100), read(7, 2)];
    let rig = play(&config(), split_place(128, 64, 32), &script);
    let brought: Vec<_> = rig.sink.received().iter().map(|(_, answer)| answer.sectors).collect();
    assert_eq!((bursts(&rig).0, brought), (vec![29, 31, 28, 30], vec![0b0010, 0b1000, 0b1111]));
}

#[test]
fn a_burst_finds_its_line_in_the_atomic_buffer() {
    let config = L2Config { atomic_buffer: true, ..config() };
    // The atomic uses the atomic buffer while the sector for request 1 is in flight. That sector arrives
    // before the buffer writes its line back to the bank, and must not be lost.
    let script = [(0, add(1, 0, 0)), (15, sectors(1, 1, 0b1000)), (16, add(1, 2, 4)), (100, read(1, 3))];
    let rig = at_cycles(&config, &script, 20);
    assert_eq!((bursts(&rig).0, rig.bank.stats().atomic_buffer.fills), (vec![4, 7, 5, 6], 2));
}

#[test]
fn a_bank_that_keeps_nothing_brings_the_sectors_of_those_who_wait_together() {
    let config = L2Config { bypass: KeepNothing {}.into(), ..config() };
    let script = [(0, sectors(1, 0, 0b0001)), (1, sectors(1, 1, 0b0101)), (2, write(1, 2, 0xff, 3)), (100, read(1, 3))];
    let rig = at_cycles(&config, &script, 20);
    assert_eq!(bursts(&rig), (vec![4, 6, 4, 5, 6, 7], vec![(4, 0xff)]));
    assert_eq!((rig.bank.stats().misses, rig.bank.stats().sectors.misses), (3, 1));
}

#[test]
fn a_waiter_that_needs_another_sector_is_refused_without_room_to_ask_for_it() {
    let flow = by_sector(OverlappedConfig { miss_queue: 1, ..OverlappedConfig::default() });
    let config = L2Config { sets: 4, mshr_entries: 8, flow: flow.into(), ..config() };
    // Memory accepts nothing yet. Four bursts fill the channel to memory, and the fifth fills the miss queue.
    let mut script: Vec<_> = (0..5).map(|n| sectors(n, n, 1)).collect();
    script.extend([sectors(0, 5, 0b01), sectors(0, 6, 0b10)]);
    let build = || {
        let source = Source::new(script.clone(), Hold::Never);
        Rig::new(ONE_CLOCK, &config, four(), source, Sink::new(Hold::Never), Memory::new(1, 5..6, 100))
    };
    let rig = run_in_all_modes(build, LIMIT);
    check(&rig, &script);
    // The request that waits for the miss queue matches its tag in cycle 8. Memory accepts a burst in cycle
    // 100, so the bank can send the last fetch in cycle 101.
    let stats = rig.bank.stats();
    assert_eq!((stats.stall_cycles(Stall::MissQueue), stats.hit_pending, stats.sectors.misses), (101 - 8, 1, 1));
}

#[test]
fn more_lines_than_a_word_has_bits_are_on_their_way() {
    let flow = by_sector(OverlappedConfig { miss_queue: 64, ..OverlappedConfig::default() });
    let script: Vec<_> = (0..150).map(|n| sectors(n, n, 1 << (n % 4))).collect();
    for (mshr_entries, is_refused) in [(64, true), (192, false)] {
        let config = L2Config { sets: 64, ways: 4, mshr_entries, flow: flow.clone().into(), ..config() };
        let build = || {
            let source = Source::new(script.clone(), Hold::Never);
            Rig::new(ONE_CLOCK, &config, four(), source, Sink::new(Hold::Never), Memory::new(1, 400..900, 0))
        };
        let rig = run_in_all_modes(build, LIMIT);
        check(&rig, &script);
        assert_eq!(rig.bank.stats().stall_cycles(Stall::MshrEntry) > 0, is_refused, "{mshr_entries}");
    }
}

#[test]
fn one_request_at_a_time_fetches_and_writes_back_as_the_golden_bank_predicts() {
    for_each_seed(24, |seed| {
        let mut random = Random::new(seed);
        let place = [four(), fermi_place(), place(64, 32), place(128, 16)][seed as usize % 4];
        let script = requests(&mut random, place, 20, 300);
        let replacement = replacement::draw(&mut random, 4, false);
        let config = L2Config { sets: 4, ways: 3, atomic_buffer: random.percent(50), replacement, ..config() };
        let in_pairs = seed / 4 % 2 == 1;
        let config = if in_pairs { L2Config { flow: by_pair().into(), ..config } } else { config };
        let rig = play(&config, place, &script);
        let index = SetIndex::new(Function::Linear { bits: 2 }, place.line_bytes.ilog2(), 32).unwrap();
        let mut golden = Bank::new(index, 3, place.burst_bytes);
        if in_pairs {
            golden.fetch_blocks(64);
        }
        golden.replace_by(replacement::twin(&config.replacement, 4, 3));
        let (mut hits, mut misses, mut in_part) = ([0; 3], [0; 3], 0);
        let (mut fetched, mut written_back) = (Vec::new(), Vec::new());
        for request in &script {
            let (local, (access, kind)) = (request.line / 6, access_of(request));
            let outcome = golden.access(local, &access);
            // A write hits if its line is present, even if the bytes are not valid. Any other write is a miss
            // that fetches nothing.
            *(if outcome.hit() { &mut hits[kind] } else { &mut misses[kind] }) += 1;
            in_part += u64::from(outcome.known && !outcome.fetched.is_empty());
            fetched.extend(outcome.fetched.iter().map(|n| local * u64::from(place.bursts()) + u64::from(*n)));
            written_back.extend(outcome.written_back);
        }
        let stats = rig.bank.stats();
        assert_eq!([stats.hits, stats.write_hits, stats.atomic_hits], hits);
        assert_eq!([stats.misses, stats.write_misses, stats.atomic_misses], misses);
        assert_eq!(stats.sectors.misses, in_part);
        let (read, written) = bursts(&rig);
        assert_eq!(read, fetched);
        let of_bytes = |(burst, mask): &(u64, u64)| {
            let first = *burst as u32 % place.bursts() * place.burst_bytes;
            (burst / u64::from(place.bursts()), bytes(u128::from(*mask) << first))
        };
        let all = |list: Vec<(u64, golden::l2::masked::Bytes)>| {
            list.into_iter()
                .flat_map(|(line, bytes)| bytes.into_iter().map(move |byte| (line, byte)))
                .collect::<Vec<_>>()
        };
        assert!(written.iter().all(|(_, mask)| *mask != 0));
        assert_eq!(all(written.iter().map(of_bytes).collect()), all(written_back));
        assert!(in_part > 5 && hits[0] > 5 && written.len() > 20, "{in_part}, {hits:?}, {}", written.len());
    });
}

#[test]
fn where_nothing_gives_way_no_burst_is_brought_twice_nor_one_that_nobody_reads() {
    for_each_seed(10, |seed| {
        let mut random = Random::new(seed);
        let place = [four(), fermi_place()][seed as usize % 2];
        let mut script = requests(&mut random, place, 16, 400);
        script.iter_mut().for_each(|request| request.sectors = 1 << random.below(4));
        let config = L2Config { sets: 4, ways: 4, atomic_buffer: random.percent(50), ..config() };
        let build = || {
            let stall = |seed| Hold::Random { seed, percent: 20, longest: 40 };
            let source = Source::new(script.clone(), stall(seed));
            Rig::new(FERMI_CLOCKS, &config, place, source, Sink::new(stall(!seed)), Memory::new(seed, 1..80, 0))
        };
        let rig = run_in_all_modes(build, LIMIT);
        check(&rig, &script);
        let (read, written) = bursts(&rig);
        let once: BTreeSet<_> = read.iter().copied().collect();
        assert_eq!((once.len(), written), (read.len(), vec![]));
        let wanted = |request: &Request| {
            let (access, _) = access_of(request);
            let sector = |byte: &u32| byte / 32;
            let sectors: BTreeSet<u32> = match &access {
                golden::l2::masked::Access::Write(_) => BTreeSet::new(),
                golden::l2::masked::Access::Read(bytes) | golden::l2::masked::Access::Atomic(bytes) => {
                    bytes.iter().map(sector).collect()
                }
            };
            let first = request.line / 6 * u64::from(place.bursts());
            sectors
                .into_iter()
                .map(move |sector| first + u64::from(sector * 32 / place.burst_bytes))
                .collect::<Vec<_>>()
        };
        let wanted: BTreeSet<_> = script.iter().flat_map(wanted).collect();
        assert!(once.is_subset(&wanted), "{:?}", once.difference(&wanted));
        assert!(rig.bank.stats().sectors.misses > 3);
    });
}
