//! Tests of the rules of the transient flow and of the Fetch and Replacement Cache (FRC), with one test per
//! rule.

use super::flat::check;
use super::l1s::L1s;
use super::memory::Memory;
use super::{LIMIT, ONE_CLOCK, Rig, fermi_place, read, small_config, transient, write};
use crate::kit::{Sink, Source, Stall as Hold, run_in_all_modes};
use rtl::config::Rules;
use rtl::l2::{BankPlace, FrcConfig, L2Config, Stall, TransientConfig, VictimBind};
use rtl::noc::packet::Request;

/// Returns the configuration of a bank with one set of two ways, a lookup latency of one cycle, and
/// `frc_entries` FRC entries.
fn config(frc_entries: u32) -> L2Config {
    L2Config { flow: transient(frc(frc_entries)).into(), ..small_config() }
}

fn frc(entries: u32) -> FrcConfig {
    FrcConfig { entries, swap_latency: 1, victim_bind: VictimBind::Swap }
}

/// Returns the configuration of a transient flow whose pending queue has one entry. The FRC has `entries`
/// entries.
fn one_place(entries: u32) -> TransientConfig {
    TransientConfig { pending_queue: 1, ..transient(frc(entries)) }
}

/// Runs requests at the given cycles on an L2 bank, with a memory latency of 20 cycles.
fn play(config: &L2Config, script: &[(u64, Request)]) -> Rig {
    let cycles: Vec<u64> = script.iter().map(|(cycle, _)| *cycle).collect();
    let requests: Vec<Request> = script.iter().map(|(_, request)| request.clone()).collect();
    let build = || {
        let source = Source::new(requests.clone(), Hold::NotBefore(cycles.clone()));
        Rig::new(ONE_CLOCK, config, fermi_place(), source, Sink::new(Hold::Never), Memory::new(1, 20..21, 0))
    };
    let rig = run_in_all_modes(build, LIMIT);
    check(&rig, &requests);
    rig
}

/// Returns the lines that the bank read from memory (`r`) or wrote to it (`w`), in order.
fn list_requests(rig: &Rig) -> Vec<(char, u64)> {
    let first = rig.memory.taken().iter().filter(|(_, request)| request.burst % 2 == 0);
    first.map(|(_, request)| (if request.write { 'w' } else { 'r' }, request.burst / 2)).collect()
}

/// Returns the tickets (request numbers) of the replies, in the order in which they arrived.
fn order(rig: &Rig) -> Vec<u64> {
    rig.sink.received().iter().map(|(_, reply)| reply.ticket).collect()
}

#[test]
fn the_conventional_fetch_follows_the_write_back_and_the_early_one_goes_ahead_of_it() {
    let script = [(0, write(1, 0, 1, 7)), (100, read(2, 1))];
    let one_way = |frc_entries| L2Config { ways: 1, ..config(frc_entries) };
    assert_eq!(list_requests(&play(&one_way(0), &script)), [('r', 1), ('w', 1), ('r', 2)]);
    assert_eq!(list_requests(&play(&one_way(4), &script)), [('r', 1), ('r', 2), ('w', 1)]);
}

#[test]
fn a_write_of_a_whole_line_fetches_it_as_well() {
    assert_eq!(list_requests(&play(&config(0), &[(0, write(1, 0, u128::MAX, 7))])), [('r', 1)]);
}

#[test]
fn a_request_that_waits_for_a_way_lets_other_sets_pass() {
    let config = L2Config { sets: 2, ways: 1, ..config(0) };
    // Lines 1 and 3 are in the same set. Line 3 waits for the only way of this set, which line 1 occupies.
    // Line 2 is in the other set and need not wait.
    let rig = play(&config, &[(0, read(1, 0)), (1, read(3, 1)), (2, read(2, 2))]);
    assert_eq!(order(&rig), [0, 2, 1]);
    assert_eq!(rig.bank.stats().put_down, 1);
}

#[test]
fn requests_of_a_set_that_wait_are_served_in_their_order() {
    let config = L2Config { ways: 1, ..config(0) };
    let script: Vec<(u64, Request)> = (0..5).map(|n| (n, read(1 + n, n))).collect();
    let rig = play(&config, &script);
    assert_eq!(order(&rig), [0, 1, 2, 3, 4]);
    assert_eq!(rig.bank.stats().put_down, 4);
}

#[test]
fn a_request_for_a_line_that_another_waits_for_does_not_overtake_it() {
    let config = L2Config { ways: 1, ..config(0) };
    // The write of line 2 waits for the way that line 1 occupies, and the read of line 2 waits behind the
    // write.
    let rig = play(&config, &[(0, read(1, 0)), (1, write(2, 1, u128::MAX, 9)), (2, read(2, 2))]);
    assert_eq!(order(&rig), [0, 1, 2]);
    assert_eq!((rig.bank.stats().put_down, rig.bank.stats().hit_pending), (2, 1));
}

#[test]
fn a_full_pending_queue_holds_up_the_look_up_and_empties_again() {
    let config = L2Config { ways: 1, flow: one_place(0).into(), ..config(0) };
    let script: Vec<(u64, Request)> = (0..5).map(|n| (0, read(1 + n, n))).collect();
    let rig = play(&config, &script);
    assert!(rig.bank.stats().stall_cycles(Stall::PendingQueue) > 20);
    assert_eq!(order(&rig), [0, 1, 2, 3, 4]);
}

#[test]
fn a_full_set_of_the_frc_leaves_a_miss_to_the_ways() {
    // The FRC is a single set of two entries. Two lines occupy it, so the third line takes a way of the bank.
    let config = L2Config { ways: 2, ..config(2) };
    let rig = play(&config, &[(0, read(1, 0)), (1, read(2, 1)), (2, read(3, 2))]);
    let stats = rig.bank.stats();
    assert_eq!((stats.misses, stats.frc.misses, stats.put_down), (3, 2, 0));
}

#[test]
fn a_line_fetched_into_the_frc_takes_further_requests_and_keeps_their_order() {
    let rig = play(&config(4), &[(0, read(1, 0)), (1, write(1, 1, 0xff, 5)), (2, read(1, 2)), (100, read(1, 3))]);
    let stats = rig.bank.stats();
    assert_eq!((stats.misses, stats.hit_pending, stats.write_pending, stats.hits), (1, 1, 1, 1));
    assert_eq!(order(&rig), [1, 0, 2, 3]);
}

#[test]
fn a_line_that_waits_for_its_swap_is_read_and_written_in_the_frc() {
    // Line 1 is fetched into the only FRC entry, and line 2 reserves the only way. Line 1 arrives first and
    // waits in the FRC.
    let config = L2Config { ways: 1, ..config(1) };
    let script = [(0, read(1, 0)), (8, read(2, 1)), (27, write(1, 2, 0xf0, 9)), (28, read(1, 3))];
    let rig = play(&config, &script);
    assert_eq!(rig.bank.stats().frc.hits, 2);
}

#[test]
fn a_write_to_a_line_that_leaves_the_frc_waits_and_fetches_it_again() {
    // Line 1 is dirty, and an L1 has a copy of it. This L1 acknowledges the recall of the line late.
    let config = L2Config { ways: 1, ..config(4) };
    let requests = [write(1, 0, 1, 7), read(1, 1), read(2, 2), read(1, 3), write(1, 4, 2, 8), read(1, 5)];
    let build = || {
        let place = BankPlace { coherent_l1s: 15, ..fermi_place() };
        let source = Source::new(requests.clone(), Hold::NotBefore(vec![0, 50, 100, 127, 128, 129]));
        let mut rig = Rig::new(ONE_CLOCK, &config, place, source, Sink::new(Hold::Never), Memory::new(1, 20..21, 0));
        rig.l1s = L1s::new(1, 200..201);
        rig
    };
    let rig = run_in_all_modes(build, LIMIT);
    check(&rig, &requests);
    assert_eq!(list_requests(&rig), [('r', 1), ('r', 2), ('w', 1), ('r', 1)]);
    // The read of line 1 in cycle 127 hits the line while it is being evicted. The read in cycle 129 waits
    // behind the write of cycle 128.
    let stats = rig.bank.stats();
    assert_eq!((stats.frc.hits, stats.put_down), (1, 2));
}

#[test]
fn a_full_frc_beside_a_set_whose_ways_are_all_being_replaced_goes_on() {
    // Several dirty lines compete for a set that has a single way, and for a single FRC entry.
    let config = L2Config { ways: 1, flow: one_place(1).into(), mshr_entries: 2, mshr_merges: 1, ..config(1) };
    let rig = play(&config, &(0..12).map(|n| (0, write(1 + n % 4, n, 1 << n, n as u8))).collect::<Vec<_>>());
    let stats = rig.bank.stats();
    assert!(stats.frc.misses > 1 && stats.frc.misses < stats.fetches, "{stats:?}");
}

#[test]
fn early_binding_evicts_the_line_just_swapped_in_and_late_binding_does_not() {
    // Lines 1 and 2 are in the bank. Lines 3 and 4 miss at the same time. Early binding assigns the way of
    // line 1 to both of them.
    let script =
        [(0, read(1, 0)), (50, read(2, 1)), (100, read(3, 2)), (101, read(4, 3)), (200, read(3, 4)), (201, read(2, 5))];
    let hits = |victim_bind| {
        let flow = transient(FrcConfig { victim_bind, ..frc(4) }).into();
        play(&L2Config { flow, ..config(4) }, &script).bank.stats().hits
    };
    // With late binding, line 3 replaces line 1, and line 4 replaces line 2. With early binding, line 4
    // replaces line 3, and line 2 stays in the bank.
    assert_eq!((hits(VictimBind::Swap), hits(VictimBind::Alloc)), (1, 1));
    let misses = |victim_bind| {
        let flow = transient(FrcConfig { victim_bind, ..frc(4) }).into();
        list_requests(&play(&L2Config { flow, ..config(4) }, &script)).last().copied()
    };
    assert_eq!((misses(VictimBind::Swap), misses(VictimBind::Alloc)), (Some(('r', 2)), Some(('r', 3))));
}

#[test]
fn an_frc_that_cannot_work_is_refused_with_the_reason() {
    let told = |config: L2Config| {
        let mut rules = Rules::default();
        config.validate(128, 64, &mut rules);
        rules.into_violations().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        told(config(16)),
        ["flow.frc.entries is 16, expected at most 8: its set index must be part of the bank's set index, or a line \
             swapped out would be lost"]
    );
    assert_eq!(
        told(L2Config { sets: 64, ..config(12) }),
        ["flow.frc.entries is 12, expected a power of two from 1 to 512: the set index is a bit field; 0 means none"]
    );
}
