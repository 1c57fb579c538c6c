//! What the bank holds and answers: against a byte map, and against the golden bank.

use std::collections::BTreeMap;

use super::atomics::{atomic_request, golden_atomic};
use super::memory::Memory;
use super::{FERMI_CLOCKS, LIMIT, ONE_CLOCK, Rig, fermi_place, initial_line, line, place, read, small_config, write};
use crate::kit::{Random, Sink, Source, Stall, for_each_seed, run, run_in_all_modes};
use golden::index::{Function, SetIndex};
use golden::l2::{Access, Bank, Outcome, Victim, Write};
use rtl::index::IndexConfig;
use rtl::kernel::Mode;
use rtl::l2::{BankPlace, L2Config};
use rtl::noc::packet::{LINE_BYTES, ReplyKind, Request, RequestKind};

/// Requests of several SMs to few lines; a fifth of the writes store a whole line, a fifth of all
/// requests are atomics.
fn requests(random: &mut Random, place: BankPlace, lines: u64, count: u64) -> Vec<Request> {
    let whole = u128::MAX >> (128 - place.line_bytes);
    let one = |ticket| {
        let local = random.below(lines);
        let request = if random.percent(20) {
            atomic_request(random, place, local, ticket)
        } else if random.percent(45) {
            let few = u128::from(random.below(u64::MAX)) << random.below(64);
            let mask = if random.percent(20) { whole } else { (few & whole).max(1) };
            write(local, ticket, mask, random.below(256) as u8)
        } else {
            read(local, ticket)
        };
        Request { sm: random.below(15) as u8, ..request }
    };
    (0..count).map(one).collect()
}

/// The byte map: lines that were touched.
struct Flat {
    place: BankPlace,
    lines: BTreeMap<u64, [u8; LINE_BYTES]>,
}

impl Flat {
    fn new(place: BankPlace) -> Self {
        Self { place, lines: BTreeMap::new() }
    }

    /// Does one request and returns the line's bytes before it.
    fn apply(&mut self, request: &Request) -> Vec<u8> {
        let local = request.line / 6;
        let bytes = self.lines.entry(local).or_insert_with(|| initial_line(self.place, local));
        let before = bytes[..self.place.line_bytes as usize].to_vec();
        if request.kind == RequestKind::Write {
            for byte in (0..LINE_BYTES).filter(|byte| request.byte_mask >> byte & 1 != 0) {
                bytes[byte] = request.data[byte];
            }
        } else if request.kind.is_atomic() {
            let atomic = golden_atomic(request, self.place);
            for &(at, b, c) in &atomic.words {
                let word = &mut bytes[at..at + atomic.ty.bytes() as usize];
                let old = word.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
                let new = isa::lanes::atomic(atomic.f, atomic.ty, old, b, c).to_le_bytes();
                word.copy_from_slice(&new[..word.len()]);
            }
        }
        before
    }
}

/// A line as memory holds it.
fn in_memory(memory: &Memory, place: BankPlace, local: u64) -> Vec<u8> {
    let burst = |n| memory.burst(local * u64::from(place.bursts()) + u64::from(n));
    (0..place.bursts()).flat_map(|n| burst(n)[..place.burst_bytes as usize].to_vec()).collect()
}

/// Every answer, the final contents and the counters of a finished run.
fn check(rig: &Rig, script: &[Request], place: BankPlace) {
    let mut flat = Flat::new(place);
    let mut expected: BTreeMap<u64, (ReplyKind, Vec<u8>)> = BTreeMap::new();
    for request in script {
        let bytes = flat.apply(request);
        let reply = match request.kind {
            RequestKind::Read | RequestKind::Atomic => (ReplyKind::Data, bytes),
            RequestKind::Write | RequestKind::Reduce => (ReplyKind::Ack, vec![0; place.line_bytes as usize]),
        };
        expected.insert(request.ticket, reply);
    }
    for (cycle, reply) in rig.sink.received() {
        let request = &script[reply.ticket as usize];
        let Some((kind, bytes)) = expected.remove(&reply.ticket) else {
            panic!("cycle {cycle}: request {} is answered twice", reply.ticket)
        };
        assert_eq!((reply.kind, reply.line, reply.sm, reply.id), (kind, request.line, request.sm, request.id));
        assert_eq!(reply.data[..bytes.len()], bytes, "cycle {cycle}: bytes of request {}", reply.ticket);
    }
    assert!(expected.is_empty(), "never answered: {:?}", expected.keys());
    assert!(rig.bank.is_idle());

    for (local, bytes) in &flat.lines {
        let held = rig.bank.peek(line(*local)).map(|bytes| bytes[..place.line_bytes as usize].to_vec());
        let held = held.unwrap_or_else(|| in_memory(&rig.memory, place, *local));
        assert_eq!(held, bytes[..held.len()], "line {local} at rest");
    }
    let stats = rig.bank.stats();
    assert_eq!(stats.conserved(), Ok(()));
    let count = |kind| script.iter().filter(|request| request.kind == kind).count() as u64;
    assert_eq!(stats.accesses, count(RequestKind::Read));
    assert_eq!(stats.write_hits + stats.write_pending + stats.write_misses, count(RequestKind::Write));
    assert_eq!(stats.atomics(), count(RequestKind::Atomic) + count(RequestKind::Reduce));
    let bursts = u64::from(place.bursts());
    let written = rig.memory.taken().iter().filter(|(_, request)| request.write).count() as u64;
    assert_eq!(written, stats.writebacks * bursts);
    assert_eq!(rig.memory.taken().len() as u64 - written, stats.fetches * bursts);
}

fn run_random(seed: u64, place: BankPlace) {
    let mut random = Random::new(seed);
    let sets = 1 << random.below(3);
    let config = L2Config {
        sets,
        ways: 1 + random.below(3) as u32,
        index: if sets == 4 && random.percent(50) {
            IndexConfig::IPoly { polynomial: 7, addr_bits: 30, reversed: false }
        } else {
            IndexConfig::Linear
        },
        lookup_latency: 1 + random.below(6) as u32,
        mshr_entries: 1 + random.below(4) as u32,
        mshr_merges: 1 + random.below(4) as u32,
        miss_queue: 1 + random.below(3) as u32,
        write_back_queue: 1 + random.below(3) as u32,
        reply_queue: 1 + random.below(4) as u32,
    };
    let lines = 2 + random.below(20);
    let script = requests(&mut random, place, lines, 400);
    let stall = |seed, percent| Stall::Random { seed, percent, longest: 40 };
    let (sent, taken, slow) = (random.below(50), random.below(50), 2 + random.below(100));
    let build = || {
        let source = Source::new(script.clone(), stall(seed, sent));
        let sink = Sink::new(stall(!seed, taken));
        Rig::new(FERMI_CLOCKS, &config, place, source, sink, Memory::new(seed, 1..slow, 0))
    };
    check(&run_in_all_modes(build, LIMIT), &script, place);
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
fn one_request_at_a_time_hits_misses_and_evicts_as_the_golden_bank_predicts() {
    for_each_seed(10, |seed| {
        let mut random = Random::new(seed);
        let config = L2Config { sets: 4, ways: 3, ..small_config() };
        let place = fermi_place();
        let script = requests(&mut random, place, 24, 300);
        // Each is over before the next comes.
        let alone = Stall::NotBefore((0..300).map(|n| n * 100).collect());
        let source = Source::new(script.clone(), alone);
        let mut rig = Rig::new(ONE_CLOCK, &config, place, source, Sink::new(Stall::Never), Memory::new(seed, 1..20, 0));
        run(&mut rig, Mode::default(), LIMIT);
        check(&rig, &script, place);

        let index = SetIndex::new(Function::Linear { bits: 2 }, 7, 32).unwrap();
        let mut golden: Bank<u64> = Bank::new(index, 3);
        let mut memory = Flat::new(place);
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
                        memory.lines.insert(local, bytes.clone().try_into().unwrap());
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
        let dut: Vec<(u64, Vec<u8>)> =
            bursts.chunks(2).map(|half| (half[0].1.burst / 2, [half[0].1.data, half[1].1.data].concat())).collect();
        assert_eq!(dut, written_back);
        assert!(!dut.is_empty());
        for (local, bytes) in golden.dirty_lines() {
            assert_eq!(rig.bank.peek(line(local)).map(|bytes| bytes.to_vec()).as_ref(), Some(bytes));
        }
    });
}

/// Runs a script on a roomy bank with a memory of fixed latency.
fn play(config: &L2Config, script: &[Request], memory: Memory) -> Rig {
    let build = |memory| {
        let source = Source::new(script.to_vec(), Stall::Never);
        Rig::new(ONE_CLOCK, config, fermi_place(), source, Sink::new(Stall::Never), memory)
    };
    let mut rig = build(memory);
    run(&mut rig, Mode::default(), LIMIT);
    check(&rig, script, fermi_place());
    rig
}

#[test]
fn a_write_of_a_whole_line_needs_no_fetch() {
    let rig = play(&small_config(), &[write(7, 0, u128::MAX, 0x5a), read(7, 1)], Memory::new(1, 1..2, 0));
    assert_eq!(rig.memory.taken().len(), 0);
    assert_eq!((rig.bank.stats().hits, rig.bank.stats().write_misses), (1, 1));
}

#[test]
fn a_line_fetched_right_after_it_gave_way_brings_the_bytes_written_back() {
    let config = L2Config { ways: 1, ..small_config() };
    // Memory opens late, so that line 1 is asked for while its bytes still wait in the bank.
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
    assert_eq!(rig.bank.peek(line(2)), Some(&initial_line(fermi_place(), 2)));
    assert!(rig.bank.poke(line(2), &[9; LINE_BYTES]));
    assert!(!rig.bank.poke(line(1), &[9; LINE_BYTES]));
    assert_eq!(rig.bank.peek(line(2)), Some(&[9; LINE_BYTES]));
}
