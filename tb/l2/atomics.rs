//! Tests of atomics in the L2 bank: results and side effects on hits, misses and lines in flight.

use std::collections::BTreeSet;

use super::flat::on;
use super::memory::Memory;
use super::{LIMIT, ONE_CLOCK, Rig, fermi_place, read, small_config, write};
use crate::kit::{Sink, Source, Stall, run_in_all_modes};
use isa::lanes::AtomicFn;
use isa::types::Type;
use rtl::cells::atomic::AtomicOp;
use rtl::cells::line::LINE_BYTES;
use rtl::l2::L2Config;
use rtl::noc::packet::{ReplyKind, Request, RequestKind};

fn play(config: &L2Config, script: &[Request]) -> Rig {
    let build = || {
        let source = Source::new(script.to_vec(), Stall::Never);
        let memory = Memory::new(1, 5..40, 0);
        Rig::new(ONE_CLOCK, config, fermi_place(), source, Sink::new(Stall::Never), memory)
    };
    run_in_all_modes(build, LIMIT)
}

/// Returns the word at byte offset `at` of each data reply. The replies are in the order of their requests.
fn old_words(rig: &Rig, at: usize) -> Vec<u32> {
    let mut answers: Vec<_> = rig.sink.received().iter().map(|(_, reply)| reply).collect();
    answers.sort_by_key(|reply| reply.ticket);
    let brought = answers.iter().filter(|reply| reply.kind == ReplyKind::Data);
    brought.map(|reply| u32::from_le_bytes(reply.data[at..at + 4].try_into().unwrap())).collect()
}

#[test]
fn two_sms_that_add_to_one_word_see_every_count_once() {
    let add = AtomicOp { f: AtomicFn::Add, ty: Type::U32 };
    let mut script = vec![write(1, 0, u128::MAX, 0)];
    for ticket in 1..=200 {
        let sm = (ticket % 2) as u8;
        script.push(Request { sm, ..on(1, ticket, add, &[(8, 1, 0)], LINE_BYTES) });
        // The line of the counter (line 1) is sometimes evicted by other lines of the same set, so that it is
        // written back and fetched again.
        if ticket % 16 == 0 {
            script.extend([read(2, 1000 + ticket), read(3, 2000 + ticket)]);
        }
    }
    script.push(read(1, 10_000));
    let rig = play(&small_config(), &script);
    let seen = old_words(&rig, 8);
    let counts: Vec<u32> = seen[..200].to_vec();
    assert_eq!(counts.iter().copied().collect::<BTreeSet<_>>(), (0..200).collect());
    assert_eq!(seen.last(), Some(&200));
    assert!(rig.bank.stats().writebacks > 0 && rig.bank.stats().atomic_misses > 0);
}

#[test]
fn a_lock_goes_from_one_sm_to_the_other() {
    let line = LINE_BYTES;
    let [swap, exchange] = [AtomicFn::CompareSwap, AtomicFn::Exchange].map(|f| AtomicOp { f, ty: Type::B32 });
    let take = |sm: u8, ticket| Request { sm, ..on(1, ticket, swap, &[(76, u64::from(sm) + 1, 0)], line) };
    let leave = |sm, ticket| Request { sm, kind: RequestKind::Reduce, ..on(1, ticket, exchange, &[(76, 0, 0)], line) };
    let script = [
        write(1, 0, u128::MAX, 0),
        take(0, 1),
        take(1, 2),
        leave(0, 3),
        take(1, 4),
        take(0, 5),
        leave(1, 6),
        read(1, 7),
    ];
    // Old lock values that the requests return: free, held by SM 0, free, held by SM 1. The final read
    // returns "free".
    assert_eq!(old_words(&play(&small_config(), &script), 76), [0, 1, 0, 2, 0]);
}

#[test]
fn a_reduction_that_misses_is_acknowledged_before_its_line_arrives_and_an_atomic_behind_it_sees_it() {
    let add = AtomicOp { f: AtomicFn::Add, ty: Type::U64 };
    let reduce = Request { kind: RequestKind::Reduce, ..on(1, 0, add, &[(16, 5, 0)], LINE_BYTES) };
    let script = [reduce, on(1, 1, add, &[(16, 2, 0)], LINE_BYTES), read(1, 2)];
    let rig = play(&small_config(), &script);
    let answers: Vec<_> = rig.sink.received().iter().map(|(cycle, reply)| (*cycle, reply.kind)).collect();
    assert_eq!(
        answers.iter().map(|(_, kind)| *kind).collect::<Vec<_>>(),
        [ReplyKind::Ack, ReplyKind::Data, ReplyKind::Data]
    );
    let bursts_taken = rig.memory.taken().last().unwrap().0;
    assert!(answers[0].0 <= bursts_taken + 2 && answers[1].0 > bursts_taken + 2, "{answers:?}");
    let seen = old_words(&rig, 16);
    assert_eq!(seen[1], seen[0].wrapping_add(2));
    let stats = rig.bank.stats();
    assert_eq!((stats.atomic_misses, stats.atomic_pending, stats.hit_pending), (1, 1, 1));
}

#[test]
fn a_hit_changes_the_line_in_one_access() {
    let add = AtomicOp { f: AtomicFn::Add, ty: Type::U32 };
    let mut script = vec![write(1, 0, u128::MAX, 0)];
    script.extend((1..9).map(|ticket| on(1, ticket, add, &[(0, 1, 0)], LINE_BYTES)));
    let rig = play(&small_config(), &script);
    let cycles: Vec<u64> = rig.sink.received().iter().map(|(cycle, _)| *cycle).collect();
    assert!(cycles.windows(2).all(|pair| pair[1] == pair[0] + 1), "{cycles:?}");
    assert_eq!(old_words(&rig, 0), (0..8).collect::<Vec<u32>>());
}
