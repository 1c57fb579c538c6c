//! Tests of every reason for which the L2 bank refuses a request.

use super::memory::Memory;
use super::{LIMIT, ONE_CLOCK, Rig, fermi_place, read, small_config, write};
use crate::kit::{Sink, Source, Stall as Hold, run_in_all_modes};
use rtl::l2::{L2Config, L2Stats, OverlappedConfig, Stall};
use rtl::noc::packet::Request;

const ALL: [Stall; 7] = [
    Stall::LineAlloc,
    Stall::MshrEntry,
    Stall::MshrMerge,
    Stall::MissQueue,
    Stall::WriteBackQueue,
    Stall::ReplyQueue,
    Stall::Port,
];

/// Runs requests and returns the bank's counters. Memory accepts bursts from cycle 100 on, and the sink
/// accepts replies from cycle `sink_opens` on.
fn stats_after(config: &L2Config, script: &[Request], sink_opens: u64) -> L2Stats {
    let build = || {
        let source = Source::new(script.to_vec(), Hold::Never);
        let sink = Sink::new(Hold::NotBefore(vec![sink_opens]));
        Rig::new(ONE_CLOCK, config, fermi_place(), source, sink, Memory::new(1, 5..6, 100))
    };
    let rig = run_in_all_modes(build, LIMIT);
    assert_eq!(rig.sink.received().len(), script.len());
    *rig.bank.stats()
}

/// Returns the reasons for which requests were refused. The data port is left out, since any request may wait
/// a few cycles for it.
fn reasons(stats: &L2Stats) -> Vec<Stall> {
    ALL.into_iter().filter(|&reason| reason != Stall::Port && stats.stall_cycles(reason) > 0).collect()
}

#[test]
fn a_set_whose_ways_are_all_on_their_way_refuses_another_line() {
    let stats = stats_after(&small_config(), &[read(1, 0), read(2, 1), read(3, 2)], 0);
    assert_eq!(reasons(&stats), [Stall::LineAlloc]);
    // The third read, which needs a way, matches its tag in cycle 4. Memory accepts the two bursts of the
    // first line in cycles 100 and 101, and the bank receives them in cycles 106 and 107. The bank serves the
    // first read in cycle 108, which stalls the lookup for another cycle.
    assert_eq!((stats.stall_cycles(Stall::LineAlloc), stats.stall_cycles(Stall::Port)), (108 - 4, 1));
}

#[test]
fn a_miss_without_an_mshr_entry_is_refused() {
    let config = L2Config { mshr_entries: 1, ..small_config() };
    let stats = stats_after(&config, &[read(1, 0), read(2, 1)], 0);
    assert_eq!(reasons(&stats), [Stall::MshrEntry]);
    assert_eq!(stats.stall_cycles(Stall::MshrEntry), 108 - 3);
}

#[test]
fn an_access_beyond_the_merges_of_its_line_is_refused_and_hits_later() {
    let config = L2Config { mshr_merges: 2, ..small_config() };
    let stats = stats_after(&config, &[read(1, 0), read(1, 1), read(1, 2)], 0);
    assert_eq!(reasons(&stats), [Stall::MshrMerge]);
    assert_eq!((stats.misses, stats.hit_pending, stats.hits), (1, 1, 1));
}

#[test]
fn a_miss_without_room_in_the_miss_queue_is_refused() {
    let config = L2Config {
        sets: 4,
        flow: OverlappedConfig { miss_queue: 1, ..OverlappedConfig::default() }.into(),
        ..small_config()
    };
    // Memory accepts nothing yet. The bursts of two lines fill the channel to memory, and the third line
    // fills the miss queue.
    let stats = stats_after(&config, &[read(1, 0), read(2, 1), read(3, 2), read(4, 3)], 0);
    assert_eq!(reasons(&stats), [Stall::MissQueue]);
}

#[test]
fn a_dirty_victim_without_room_in_the_write_back_queue_is_refused() {
    let config = L2Config {
        ways: 1,
        flow: OverlappedConfig { write_back_queue: 1, ..OverlappedConfig::default() }.into(),
        ..small_config()
    };
    let script: Vec<Request> = (0..5).map(|n| write(n, n, u128::MAX, n as u8)).collect();
    let stats = stats_after(&config, &script, 0);
    assert_eq!(reasons(&stats), [Stall::WriteBackQueue]);
    assert_eq!(stats.writebacks, 4);
}

#[test]
fn a_reply_without_room_is_refused_until_the_sm_side_takes_one() {
    let config = L2Config { reply_queue: 1, ..small_config() };
    let mut script = vec![write(1, 0, u128::MAX, 1)];
    script.extend((1..8).map(|ticket| read(1, ticket)));
    let stats = stats_after(&config, &script, 50);
    assert_eq!(reasons(&stats), [Stall::ReplyQueue]);
    // Four replies fill the reply channel, and one reply fills the reply queue. The sixth request matches its
    // tag in cycle 7. It waits until cycle 51 for the slot in the queue that becomes free when a reply is
    // popped in cycle 50.
    assert_eq!(stats.stall_cycles(Stall::ReplyQueue), 51 - 7);
}

#[test]
fn with_a_second_data_port_an_arriving_burst_holds_up_no_write() {
    // A write hits in every cycle, even while the two bursts of another line arrive.
    let mut script = vec![write(1, 0, u128::MAX, 1), read(2, 1)];
    script.extend((2..200).map(|ticket| write(1, ticket, 0xf, 2)));
    let held_up = |data_ports| {
        let config = L2Config { data_ports, ..small_config() };
        stats_after(&config, &script, 0).stall_cycles(Stall::Port)
    };
    // Numbers of stalled lookups: 3 with one data port, and 1 with two. In both cases, one lookup stalls
    // while the waiting request is served. With one port, each of the two arriving bursts stalls one more
    // lookup.
    assert_eq!((held_up(1), held_up(2)), (3, 1));
}
