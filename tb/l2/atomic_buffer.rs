//! Tests of the atomic buffer of the L2 bank: cycle by cycle, and against the golden model.

use super::flat::{atomic_request, check, on};
use super::memory::Memory;
use super::{LIMIT, ONE_CLOCK, Rig, fermi_place, place, read, small_config, split_place, write};
use crate::kit::{CycleTable, Random, Sink, Source, Stall, assert_table, for_each_seed, run_in_all_modes};
use golden::hybrid::{Config, Hybrid, L2Config as GoldenL2, Protections};
use golden::index::{Function, SetIndex};
use golden::untimed::Geometry;
use isa::lanes::AtomicFn;
use isa::types::Type;
use rtl::cells::atomic::AtomicOp;
use rtl::cells::line::LINE_BYTES;
use rtl::l2::{BankPlace, L2Config, L2Stats, Stall as Reason};
use rtl::noc::packet::{Request, RequestKind};

/// Runs requests at the given cycles on an L2 bank, in all evaluation modes of the simulator. `memory` is the
/// latency of memory in cycles.
fn play(config: &L2Config, place: BankPlace, script: &[(u64, Request)], sink: Stall, memory: u64) -> Rig {
    let requests: Vec<_> = script.iter().map(|(_, request)| request.clone()).collect();
    let build = || {
        let cycles = script.iter().map(|(cycle, _)| *cycle).collect();
        let source = Source::new(requests.clone(), Stall::NotBefore(cycles));
        Rig::new(ONE_CLOCK, config, place, source, Sink::new(sink.clone()), Memory::new(1, 5..6, memory))
    };
    let rig = run_in_all_modes(build, LIMIT);
    check(&rig, &requests);
    rig
}

fn with(atomic_buffer: bool) -> L2Config {
    L2Config { atomic_buffer, ..small_config() }
}

fn add(local: u64, ticket: u64) -> Request {
    on(local, ticket, AtomicOp { f: AtomicFn::Add, ty: Type::U32 }, &[(8, 1, 0)], LINE_BYTES)
}

#[test]
fn atomics_take_a_cycle_each_and_others_one_more_to_a_line_in_the_buffer() {
    let mut script = vec![(0, read(1, 0)), (0, read(2, 1))];
    let then = [add(1, 2), add(1, 3), add(1, 4), read(1, 5), add(1, 6), add(2, 7), add(2, 8), write(2, 9, 0xf, 1)];
    script.extend((100..).zip(then));
    let mut table = CycleTable::new();
    let mut stats = [L2Stats::default(); 2];
    for (column, buffered) in [("without", false), ("with", true)] {
        let rig = play(&with(buffered), fermi_place(), &script, Stall::Never, 0);
        let replies = rig.sink.received().iter().filter(|(cycle, _)| *cycle >= 100);
        table.column(column, replies.map(|(cycle, reply)| (*cycle, reply.ticket)));
        stats[usize::from(buffered)] = *rig.bank.stats();
    }
    // Three atomics to line 1 use the buffer. Then a read of line 1 flushes the buffer first, and the next
    // atomic loads line 1 into it again. An atomic to line 2 replaces line 1 without delay.
    assert_table(
        &table,
        "cycle  without  with
         104    2        2
         105    3        3
         106    4        4
         107    5        .
         108    6        5
         109    7        6
         110    8        7
         111    9        8
         112    .        .
         113    .        9",
    );
    let counts = |stats: &L2Stats| (stats.atomic_buffer.hits, stats.atomic_buffer.fills, stats.atomic_buffer.flushes);
    assert_eq!(stats.map(|stats| counts(&stats)), [(0, 0, 0), (3, 3, 3)]);
    assert_eq!(stats.map(|stats| stats.stall_cycles(Reason::AtomicBuffer)), [0, 2]);
}

#[test]
fn an_atomic_to_the_line_in_the_buffer_is_not_held_up_by_an_arriving_burst() {
    let mut script = vec![(0, write(1, 0, u128::MAX, 0)), (0, read(2, 1))];
    script.extend((2..200).map(|ticket| (0, add(1, ticket))));
    let held_up = |buffered| {
        let rig = play(&with(buffered), fermi_place(), &script, Stall::Never, 100);
        rig.bank.stats().stall_cycles(Reason::Port)
    };
    // Numbers of stalled lookups: 3 without the buffer, and 1 with it. In both cases, one lookup stalls while
    // the waiting read is served. Without the buffer, each of the two arriving bursts stalls one more lookup.
    assert_eq!((held_up(false), held_up(true)), (3, 1));
}

#[test]
fn a_line_that_gives_way_leaves_from_the_buffer_in_the_same_cycle() {
    let config = |buffered| L2Config { ways: 1, ..with(buffered) };
    let mut script = vec![(0, write(1, 0, u128::MAX, 3))];
    script.extend([(100, add(1, 1)), (101, read(2, 2)), (200, read(1, 3))]);
    let ends = [false, true].map(|buffered| {
        let rig = play(&config(buffered), fermi_place(), &script, Stall::Never, 0);
        assert_eq!(rig.bank.stats().atomic_buffer.flushes, u64::from(buffered));
        let written = rig.memory.taken().iter().filter(|(_, request)| request.write);
        assert_eq!(written.map(|(_, request)| request.data[8]).collect::<Vec<_>>(), [4, 3]);
        rig.sink.received().iter().map(|(cycle, _)| *cycle).collect::<Vec<_>>()
    });
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn the_end_of_a_kernel_and_the_host_find_what_is_in_the_buffer() {
    let mut rig = play(&with(true), fermi_place(), &[(0, write(1, 0, u128::MAX, 0)), (9, add(1, 1))], Stall::Never, 0);
    let line = super::line(1);
    let count = |rig: &Rig| rig.bank.peek(line).map(|(bytes, _)| bytes[8]);
    assert_eq!((count(&rig), rig.bank.stats().atomic_buffer.flushes), (Some(1), 0));
    let mut bytes = *rig.bank.peek(line).unwrap().0;
    bytes[8] = 7;
    assert!(rig.bank.poke(line, &bytes));
    rig.bank.end_kernel();
    assert_eq!((count(&rig), rig.bank.stats().atomic_buffer.flushes), (Some(7), 1));
    rig.bank.end_kernel();
    assert_eq!(rig.bank.stats().atomic_buffer.flushes, 1);
}

/// Number of L1 lines that the test accesses. All of them fit into the L2 bank.
const LINES: u64 = 6;

/// Runs reads, writes and atomics at random times, all of which hit in the L2 bank. Compares the atomic
/// buffer with its golden model. Returns the numbers of buffer hits and flushes.
fn lockstep(seed: u64, place: BankPlace) -> (u64, u64) {
    let mut random = Random::new(seed);
    let config = L2Config {
        sets: 16,
        ways: 4,
        lookup_latency: 1 + random.below(6) as u32,
        reply_queue: 1 + random.below(4) as u32,
        ..with(true)
    };
    let mut script: Vec<_> = (0..LINES).map(|local| (local * 100, read(local, local))).collect();
    let mut cycle = 100 * LINES;
    for ticket in LINES..400 {
        cycle += random.below(3);
        // Most requests go to the same line, so that the atomic buffer often hits.
        let local = if random.percent(60) { 0 } else { random.below(LINES) };
        let request = match random.below(10) {
            0 => {
                Request { sectors: 1 << random.below(u64::from(place.packets.line_bytes / 32)), ..read(local, ticket) }
            }
            1 => write(local, ticket, 0xf << (4 * random.below(8)), ticket as u8),
            2..7 => add(local, ticket),
            _ => atomic_request(&mut random, place, local, ticket),
        };
        script.push((cycle, request));
    }
    let held = Stall::Random { seed, percent: random.below(40), longest: 20 };
    let mut rig = play(&config, place, &script, held, 0);

    let index = SetIndex::new(Function::Linear { bits: 4 }, 5, 40).unwrap();
    let geometry = Geometry { index, ways: 8 };
    let l2 = GoldenL2 { banks: 1, bank: geometry, fetches_written: false };
    let protections = Protections::ALL;
    let config = Config { cus: 1, l1: geometry, l2, tracker: None, bypass_l1: false, bypass_l2: false, protections };
    let mut golden = Hybrid::new(config);
    for (_, request) in &script {
        let (local, mask) = (request.line / 6, request.byte_mask);
        let sector = |n: u32| u128::from(u32::MAX) << (32 * n);
        match request.kind {
            RequestKind::Read => {
                let sectors = (0..4).filter(|n| request.sectors >> n & 1 != 0);
                golden.coherent_load(0, local, sectors.fold(0, |mask, n| mask | sector(n)));
            }
            RequestKind::Write => golden.coherent_store(0, local, mask),
            RequestKind::Atomic | RequestKind::Reduce => golden.atomic(0, local, mask, 1),
        }
    }
    let dut = |rig: &Rig| (rig.bank.stats().atomic_buffer.hits, rig.bank.stats().atomic_buffer.flushes);
    let twin = |golden: &Hybrid| (golden.counts().buffer_hits, golden.counts().buffer_flushes);
    assert_eq!(dut(&rig), twin(&golden));
    rig.bank.end_kernel();
    golden.end_kernel();
    assert_eq!(dut(&rig), twin(&golden));
    let stats = rig.bank.stats();
    assert_eq!(
        (stats.check_conservation(), stats.atomic_buffer.hits + stats.atomic_buffer.fills),
        (Ok(()), stats.atomics())
    );
    assert_eq!(stats.atomic_buffer.fills, stats.atomic_buffer.flushes);
    dut(&rig)
}

#[test]
fn the_buffer_hits_and_gives_its_line_up_as_the_golden_one_does() {
    // The test uses two banks. In the first bank, lines are shorter than those of the L1s. In the second
    // bank, lines have the same length as those of the L1s.
    for place in [split_place(128, 32, 32), place(32, 32)] {
        for_each_seed(10, |seed| {
            let (hits, flushes) = lockstep(seed, place);
            assert!(hits > 20 && flushes > 20, "{hits} hits, {flushes} flushes");
        });
    }
}
