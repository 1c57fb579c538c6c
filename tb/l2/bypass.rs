//! Tests of the bypass schemes of the L2 bank: a streaming monitor, which stops the allocation of lines in
//! the bank and later permits it again; `KeepNothing`, which never allocates a line; and `Coalesced`, which
//! does not allocate the lines that the requesting L1 allocates.

use super::flat::requests;
use super::partial::{self, APART};
use super::{Rig, fermi_place, read, small_config, split_place, write};
use crate::kit::Random;
use crate::replacement;
use golden::hybrid::{Config as HybridConfig, Hybrid, L2Config as HybridL2, Protections, SECTORS};
use golden::index::{Function, SetIndex};
use golden::l1::streaming::{Config as MonitorConfig, Streaming};
use golden::l2::bypass::{Access, Bank, Bypass, ServedFrom};
use golden::untimed::Geometry;
use rtl::cells::streaming::{Reopen, StreamingConfig};
use rtl::l2::bypass::all::KeepNothing;
use rtl::l2::bypass::coalesced::Coalesced;
use rtl::l2::{L2Bypass, L2Config};
use rtl::noc::packet::{Request, RequestKind, Sharing};

const STREAMING: StreamingConfig =
    StreamingConfig { period: 1000, miss_percent: 50, min_accesses: 4, reopen: Reopen::Miss };

fn config() -> L2Config {
    L2Config { sets: 4, ways: 3, bypass: STREAMING.into(), ..small_config() }
}

/// Runs requests on an L2 bank. Each request completes before the next one is sent.
fn play(config: &L2Config, script: &[Request]) -> Rig {
    partial::play(config, fermi_place(), script)
}

/// Returns reads of ten new lines. This is enough for the streaming monitor to stop the allocation of lines
/// at the end of the monitoring period.
fn stream() -> Vec<Request> {
    (0..10).map(|n| read(100 + n, n)).collect()
}

#[test]
fn one_request_at_a_time_stays_or_goes_past_as_the_twin_of_its_scheme_says() {
    let monitor = MonitorConfig { period: Some(1000), miss_percent: 50, min_accesses: 4, flush: false };
    let schemes: [(L2Bypass, Box<dyn Bypass>); 3] = [
        (STREAMING.into(), Box::new(Streaming::new(monitor))),
        (KeepNothing {}.into(), Box::new(golden::l2::bypass::all::All {})),
        (Coalesced {}.into(), Box::new(golden::l2::bypass::coalesced::Coalesced {})),
    ];
    let mut random = Random::new(7);
    // Every 150 requests, the script switches between accesses to few lines and accesses to many lines.
    let script: Vec<Request> = (0..1500)
        .map(|n| {
            let lines = if n / 150 % 2 == 0 { 10 } else { 400 };
            let (local, ticket) = (random.below(lines), n);
            match random.below(10) {
                0..3 => write(local, ticket, 0xff << random.below(100), 9),
                3..6 => kept_read(local, ticket),
                _ => read(local, ticket),
            }
        })
        .collect();
    for (bypass, twin) in schemes {
        follows(&L2Config { bypass, ..config() }, twin, &script);
    }
    for replacement in replacement::policies(4, false) {
        let twin = Box::new(Streaming::new(monitor));
        follows(&L2Config { replacement, ..config() }, twin, &script);
    }
}

/// Runs requests on an L2 bank, and compares its counters with a golden model that has the same bypass
/// scheme.
#[track_caller]
fn follows(config: &L2Config, twin: Box<dyn Bypass>, script: &[Request]) {
    let rig = play(config, script);
    let index = SetIndex::new(Function::Linear { bits: 2 }, 7, 32).unwrap();
    let what = format!("{twin:?}, {:?}", config.replacement);
    let mut twin = Bank::new(index, 3, twin);
    twin.replace_by(replacement::twin(&config.replacement, 4, 3));
    let (mut reads, mut writes, mut fetches) = ([0; 3], [0; 3], 0);
    for (n, request) in (0..).zip(script) {
        let is_read = request.kind == RequestKind::Read;
        let access = if is_read { Access::Read { kept: request.sharing == Sharing::Keeps } } else { Access::Write };
        let served = twin.access(n * APART + 2, request.line / 6, access);
        let counts = if is_read { &mut reads } else { &mut writes };
        counts[served as usize] += 1;
        fetches += u64::from(served == ServedFrom::Brought || served == ServedFrom::Past && is_read);
    }
    let stats = rig.bank.stats();
    assert_eq!([stats.hits, stats.misses], [reads[0], reads[1] + reads[2]], "{what}");
    assert_eq!([stats.write_hits, stats.write_misses], [writes[0], writes[1] + writes[2]], "{what}");
    assert_eq!(stats.fetches, fetches, "{what}");
    assert!(reads[2] > 100, "{what}: {reads:?} {writes:?}");
}

#[test]
fn a_write_to_a_closed_bank_goes_to_memory_as_it_is_and_a_read_after_it_sees_it() {
    let mut script = stream();
    script.extend([write(7, 10, 0xff00, 0x5a), read(7, 11)]);
    let rig = play(&config(), &script);
    let writes: Vec<(u64, u64)> = rig
        .memory
        .taken()
        .iter()
        .filter(|(_, request)| request.write)
        .map(|(_, request)| (request.burst, request.byte_mask))
        .collect();
    assert_eq!(writes, [(14, 0xff00), (15, 0)]);
}

#[test]
fn a_line_that_is_here_and_dirty_is_served_here_by_a_closed_bank() {
    let mut script = vec![write(0, 0, u128::MAX, 0x77)];
    // None of the lines read here is in the set of line 0.
    script.extend((1..13).map(|n| read(101 + 4 * n, n)));
    script.push(read(0, 13));
    let rig = play(&config(), &script);
    assert_eq!(rig.bank.stats().hits, 1);
    assert!(rig.memory.taken().iter().all(|(_, request)| !request.write));
}

#[test]
fn a_dirty_line_that_gives_way_to_a_mere_tag_is_written_back_first() {
    // Line 4 is in the same set as line 0. The lines accessed before line 4 are in other sets.
    let mut script = vec![write(0, 0, u128::MAX, 0x33)];
    script.extend((1..13).map(|n| read(101 + 4 * n, n)));
    script.push(read(4, 13));
    let rig = play(&L2Config { ways: 1, ..config() }, &script);
    let back = rig.memory.taken().iter().filter(|(_, request)| request.write).map(|(_, request)| request.burst);
    assert_eq!(back.collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_bank_that_keeps_nothing_asks_memory_every_time() {
    let script = [read(7, 0), read(7, 1), write(7, 2, 0xff00, 0x5a), write(7, 3, 0xff, 0x11), read(7, 4)];
    let rig = play(&L2Config { bypass: KeepNothing {}.into(), ..config() }, &script);
    let stats = rig.bank.stats();
    assert_eq!((stats.hits, stats.misses, stats.write_hits, stats.write_misses), (0, 3, 0, 2));
    let writes = rig.memory.taken().iter().filter(|(_, request)| request.write).count();
    assert_eq!((rig.memory.taken().len() - writes, writes), (6, 4));
}

/// Returns a read request for a line that the requesting L1 allocates (the read does not bypass the L1).
fn kept_read(local: u64, ticket: u64) -> Request {
    Request { sharing: Sharing::Keeps, ..read(local, ticket) }
}

#[test]
fn what_an_l1_will_keep_comes_from_the_bank_only_if_another_brought_it() {
    let config = L2Config { bypass: Coalesced {}.into(), ..config() };
    // A dirty line stays in its set although the number of lines that bypass this set exceeds its number of
    // ways.
    let mut script = vec![write(3, 0, 0xff, 0x5a)];
    script.extend((1..9).map(|n| kept_read(3 + 4 * n, n)));
    script.extend([kept_read(7, 9), read(7, 10), kept_read(7, 11), read(3, 12)]);
    let rig = play(&config, &script);
    let stats = rig.bank.stats();
    assert_eq!((stats.hits, stats.misses, stats.write_misses, stats.evictions), (2, 10, 1, 0));
}

/// Tests the second part of the bypass policy in anssari2012 section 3.3: the L2 does not allocate lines that
/// L1s keep. An L1 line is as long as four L2 lines.
#[test]
fn a_bank_without_what_l1s_keep_hits_and_fetches_as_the_golden_system() {
    let place = split_place(128, 32, 32);
    let config = L2Config { sets: 8, ways: 3, bypass: Coalesced {}.into(), ..small_config() };
    let mut random = Random::new(33);
    let mut script = requests(&mut random, place, 12, 800);
    script.retain(|request| !request.kind.is_atomic());
    for (ticket, request) in (0..).zip(&mut script) {
        (request.ticket, request.id) = (ticket, ticket as u32);
        // An L1 that allocates the line requests all sectors of the line.
        request.sectors = if request.sharing == Sharing::Keeps { 0b1111 } else { request.sectors };
    }
    let rig = partial::play(&config, place, &script);
    let index = |bits| SetIndex::new(Function::Linear { bits }, 5, 40).unwrap();
    let mut twin = Hybrid::new(HybridConfig {
        cus: script.len(),
        l1: Geometry { index: index(0), ways: 1 },
        l2: HybridL2 { banks: 1, bank: Geometry { index: index(3), ways: 3 }, fetches_written: false },
        tracker: None,
        bypass_l1: true,
        bypass_l2: true,
        protections: Protections::ALL,
    });
    // In the golden model, each request comes from a different compute unit, so that no request hits in an
    // L1.
    for (cu, request) in script.iter().enumerate() {
        let local = request.line / 6;
        if request.kind == RequestKind::Write {
            twin.store(cu, local, request.byte_mask);
        } else {
            let mask = (0..SECTORS).filter(|sector| request.sectors >> sector & 1 != 0);
            let mask = mask.fold(0, |mask, sector| mask | 1u128 << (32 * sector));
            twin.load(cu, local, mask, request.sharing == Sharing::Takes);
        }
    }
    let (stats, counts) = (rig.bank.stats(), twin.counts());
    assert_eq!(
        (stats.accesses + stats.write_hits + stats.write_misses, stats.hits + stats.write_hits),
        (counts.l2_accesses, counts.l2_hits)
    );
    assert_eq!((stats.fetches, stats.writebacks), (counts.dram_reads, counts.dram_writes));
    assert!(counts.l2_hits > 200 && counts.dram_reads > 500, "{counts:?}");
}
