//! A bank that its streaming monitor closes and opens, or that keeps nothing.

use super::flat::check;
use super::memory::Memory;
use super::{LIMIT, ONE_CLOCK, Rig, fermi_place, read, small_config, write};
use crate::kit::{Random, Sink, Source, Stall, run_in_all_modes};
use golden::index::{Function, SetIndex};
use golden::l1::streaming::Config as MonitorConfig;
use golden::l2::passing::{Access, Bank, Served};
use rtl::cells::streaming::{Reopen, StreamingConfig};
use rtl::l2::{L2Bypass, L2Config};
use rtl::noc::packet::{Request, RequestKind};

const STREAMING: StreamingConfig =
    StreamingConfig { period: 1000, miss_percent: 50, min_accesses: 4, reopen: Reopen::Miss };
/// Cycles from one request to the next: each is over before the next comes.
const APART: u64 = 100;

fn config() -> L2Config {
    L2Config { sets: 4, ways: 3, bypass: L2Bypass::Streaming, streaming: STREAMING, ..small_config() }
}

/// Plays requests one at a time.
fn play(config: &L2Config, script: &[Request]) -> Rig {
    let build = || {
        let alone = Stall::NotBefore((0..script.len() as u64).map(|n| n * APART).collect());
        let source = Source::new(script.to_vec(), alone);
        Rig::new(ONE_CLOCK, config, fermi_place(), source, Sink::new(Stall::Never), Memory::new(3, 1..20, 0))
    };
    let rig = run_in_all_modes(build, LIMIT);
    check(&rig, script);
    rig
}

/// As many reads of new lines as close the bank in the next period.
fn stream() -> Vec<Request> {
    (0..10).map(|n| read(100 + n, n)).collect()
}

#[test]
fn one_request_at_a_time_stays_or_goes_past_as_the_twin_says() {
    let mut random = Random::new(7);
    // Some hundred requests to a few lines, then to many, and so on.
    let script: Vec<Request> = (0..1500)
        .map(|n| {
            let lines = if n / 150 % 2 == 0 { 10 } else { 400 };
            let (local, ticket) = (random.below(lines), n);
            if random.percent(30) { write(local, ticket, 0xff << random.below(100), 9) } else { read(local, ticket) }
        })
        .collect();
    let rig = play(&config(), &script);
    let monitor = MonitorConfig { period: Some(1000), miss_percent: 50, min_accesses: 4, flush: false };
    let index = SetIndex::new(Function::Linear { bits: 2 }, 7, 32).unwrap();
    let mut twin = Bank::new(index, 3, monitor);
    let (mut reads, mut writes, mut fetches) = ([0; 3], [0; 3], 0);
    for (n, request) in (0..).zip(&script) {
        let access = if request.kind == RequestKind::Read { Access::Read } else { Access::Write };
        let served = twin.access(n * APART + 2, request.line / 6, access);
        let counts = if access == Access::Read { &mut reads } else { &mut writes };
        counts[served as usize] += 1;
        fetches += u64::from(served == Served::Brought || served == Served::Past && access == Access::Read);
    }
    let stats = rig.bank.stats();
    assert_eq!([stats.hits, stats.misses], [reads[0], reads[1] + reads[2]]);
    assert_eq!([stats.write_hits, stats.write_misses], [writes[0], writes[1] + writes[2]]);
    assert_eq!(stats.fetches, fetches);
    assert!(reads[2] > 100 && writes[2] > 30 && reads[1] > 30, "{reads:?} {writes:?}");
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
    // None of these comes into the set of line 0.
    script.extend((1..13).map(|n| read(101 + 4 * n, n)));
    script.push(read(0, 13));
    let rig = play(&config(), &script);
    assert_eq!(rig.bank.stats().hits, 1);
    assert!(rig.memory.taken().iter().all(|(_, request)| !request.write));
}

#[test]
fn a_dirty_line_that_gives_way_to_a_mere_tag_is_written_back_first() {
    // Line 4 comes into the set of line 0, none of those before it does.
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
    let rig = play(&L2Config { bypass: L2Bypass::All, ..config() }, &script);
    let stats = rig.bank.stats();
    assert_eq!((stats.hits, stats.misses, stats.write_hits, stats.write_misses), (0, 3, 0, 2));
    let writes = rig.memory.taken().iter().filter(|(_, request)| request.write).count();
    assert_eq!((rig.memory.taken().len() - writes, writes), (6, 4));
}
