//! Tests of the latency and throughput of the L2 bank's replies.

use super::memory::Memory;
use super::{LIMIT, ONE_CLOCK, Rig, fermi_place, read, small_config, write};
use crate::kit::{CycleTable, Sink, Source, Stall, assert_table, run_in_all_modes};
use rtl::l2::L2Config;
use rtl::noc::packet::{ReplyKind, Request};

/// Runs requests at the given cycles on an L2 bank, with a memory latency of `latency` cycles.
fn play(config: &L2Config, script: &[(u64, Request)], latency: u64) -> Rig {
    let build = || {
        let cycles = script.iter().map(|(cycle, _)| *cycle).collect();
        let requests = script.iter().map(|(_, request)| request.clone());
        let source = Source::new(requests, Stall::NotBefore(cycles));
        let memory = Memory::new(1, latency..latency + 1, 0);
        Rig::new(ONE_CLOCK, config, fermi_place(), source, Sink::new(Stall::Never), memory)
    };
    run_in_all_modes(build, LIMIT)
}

#[test]
fn a_hit_is_answered_at_the_cycle_of_its_contract_and_not_before() {
    for lookup_latency in [1, 2, 10] {
        for sent in [200, 201, 263] {
            let config = L2Config { lookup_latency, ..small_config() };
            let rig = play(&config, &[(0, read(1, 0)), (sent, read(1, 1))], 20);
            let (cycle, reply) = &rig.sink.received()[1];
            // The latency of a hit is the sum of these times: one cycle to the bank, the lookup latency, one
            // cycle until the reply leaves the bank, and one cycle to the sink.
            assert_eq!((*cycle, reply.ticket), (sent + 1 + u64::from(lookup_latency) + 1 + 1, 1));
        }
    }
}

#[test]
fn a_line_whose_channel_is_full_counts_how_long_its_first_burst_waits() {
    // A line has two bursts, and the link to memory holds the bursts of two lines. Memory accepts one burst
    // per cycle from cycle 1000 on. The third line misses near cycle 200 and the fourth near cycle 300, so
    // they wait about 800 and 700 cycles.
    let build = || {
        let requests = [1, 2, 3, 4].map(|line| read(line, line));
        let source = Source::new(requests, Stall::NotBefore(vec![0, 100, 200, 300]));
        let (sink, memory) = (Sink::new(Stall::Never), Memory::new(1, 20..21, 1000));
        Rig::new(ONE_CLOCK, &L2Config { sets: 4, ..small_config() }, fermi_place(), source, sink, memory)
    };
    let rig = run_in_all_modes(build, LIMIT);
    let sent: Vec<u64> = rig.memory.taken().iter().step_by(2).map(|(cycle, _)| *cycle).collect();
    assert_eq!((sent, rig.bank.stats().miss_delay), (vec![1000, 1002, 1004, 1006], 1502));
}

#[test]
fn hits_are_answered_at_one_a_cycle() {
    let config = L2Config { lookup_latency: 10, ..small_config() };
    let mut script = vec![(0, read(1, 0))];
    script.extend((0..40).map(|n| (100, read(1, 1 + n))));
    let rig = play(&config, &script, 20);
    let cycles: Vec<u64> = rig.sink.received()[1..].iter().map(|(cycle, _)| *cycle).collect();
    assert_eq!(cycles, (0..40).map(|n| 113 + n).collect::<Vec<u64>>());
}

#[test]
fn a_miss_asks_for_both_halves_and_serves_what_waited_in_order_when_both_are_here() {
    // One line is read, written and read again while it is in flight. A later write to it hits.
    let script = [(0, read(1, 0)), (1, write(1, 1, 0xff, 7)), (2, read(1, 2)), (18, write(1, 3, 0xf0, 8))];
    let rig = play(&small_config(), &script, 5);
    let mut table = CycleTable::new();
    table.column("req", rig.source.sent().iter().map(|(cycle, request)| (*cycle, request.ticket)));
    table.column("dram_req", rig.memory.taken().iter().map(|(cycle, request)| (*cycle, request.burst)));
    let reply = |kind| match kind {
        ReplyKind::Data => "data",
        ReplyKind::Ack => "ack",
    };
    let replies = rig.sink.received().iter();
    table.column("rsp", replies.map(|(cycle, answer)| (*cycle, format!("{}{}", reply(answer.kind), answer.ticket))));
    // Memory replies with burst 2 in cycle 9, and the bank receives it in cycle 10. The bank receives burst 3
    // in cycle 11, so it has both bursts from cycle 12 on. It serves the first read in cycle 12, the write in
    // cycle 13, and the second read in cycle 14. A reply takes two more cycles.
    assert_table(
        &table,
        "cycle  req  dram_req  rsp
         0      0    .         .
         1      1    .         .
         2      2    .         .
         3      .    .         .
         4      .    2         .
         5      .    3         ack1
         6      .    .         .
         7      .    .         .
         8      .    .         .
         9      .    .         .
         10     .    .         .
         11     .    .         .
         12     .    .         .
         13     .    .         .
         14     .    .         data0
         15     .    .         .
         16     .    .         data2
         17     .    .         .
         18     3    .         .
         19     .    .         .
         20     .    .         .
         21     .    .         .
         22     .    .         ack3",
    );
}
