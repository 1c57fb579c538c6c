//! Atomics: what they leave and bring back, whatever they meet in the bank.

use std::collections::BTreeSet;

use super::memory::Memory;
use super::{LIMIT, ONE_CLOCK, Rig, fermi_place, read, small_config, write};
use crate::kit::{Random, Sink, Source, Stall, run_in_all_modes};
use golden::l2::Atomic;
use isa::lanes::AtomicFn;
use isa::types::Type;
use rtl::cells::atomic::AtomicOp;
use rtl::l2::{BankPlace, L2Config};
use rtl::noc::packet::{LINE_BYTES, ReplyKind, Request, RequestKind};

const OPERATIONS: [(AtomicFn, Type); 12] = [
    (AtomicFn::Add, Type::U32),
    (AtomicFn::Add, Type::F32),
    (AtomicFn::Add, Type::F64),
    (AtomicFn::Min, Type::S32),
    (AtomicFn::Max, Type::U64),
    (AtomicFn::And, Type::B32),
    (AtomicFn::Or, Type::B64),
    (AtomicFn::Exchange, Type::B32),
    (AtomicFn::CompareSwap, Type::B32),
    (AtomicFn::CompareSwap, Type::B64),
    (AtomicFn::Increment, Type::U32),
    (AtomicFn::Decrement, Type::U32),
];

/// An atomic on the words at `places`: operand, and the value to compare if it compares.
fn on(local: u64, ticket: u64, atomic: AtomicOp, places: &[(usize, u64, u64)], line_bytes: usize) -> Request {
    let mut request = Request { kind: RequestKind::Atomic, atomic, ..read(local, ticket) };
    let bytes = atomic.ty.bytes() as usize;
    for &(at, operand, compare) in places {
        request.byte_mask |= ((1 << bytes) - 1) << at;
        request.data[at..at + bytes].copy_from_slice(&operand.to_le_bytes()[..bytes]);
        if atomic.f == AtomicFn::CompareSwap {
            let other = (at + line_bytes / 2) % line_bytes;
            request.data[other..other + bytes].copy_from_slice(&compare.to_le_bytes()[..bytes]);
        }
    }
    request
}

/// Any atomic on some words of a line, half of them reductions; small operands, so that some
/// comparisons hold.
pub fn atomic_request(random: &mut Random, place: BankPlace, local: u64, ticket: u64) -> Request {
    let (f, ty) = OPERATIONS[random.below(OPERATIONS.len() as u64) as usize];
    let (bytes, line_bytes) = (ty.bytes() as usize, place.line_bytes as usize);
    // A compare-and-swap names words of one half.
    let half = if random.percent(50) { line_bytes / 2 } else { 0 };
    let reach = if f == AtomicFn::CompareSwap { half..half + line_bytes / 2 } else { 0..line_bytes };
    let places: Vec<usize> = reach.step_by(bytes).collect();
    let first = random.below(places.len() as u64) as usize;
    let chosen = places.iter().enumerate().filter(|(n, _)| *n == first || random.percent(30));
    let chosen: Vec<usize> = chosen.map(|(_, at)| *at).collect();
    let words: Vec<_> = chosen.into_iter().map(|at| (at, random.below(3), random.below(3))).collect();
    let request = on(local, ticket, AtomicOp { f, ty }, &words, line_bytes);
    if random.percent(50) { Request { kind: RequestKind::Reduce, ..request } } else { request }
}

/// The twin's form of an atomic request.
pub fn golden_atomic(request: &Request, place: BankPlace) -> Atomic<u64> {
    let AtomicOp { f, ty } = request.atomic;
    let (bytes, line_bytes) = (ty.bytes() as usize, place.line_bytes as usize);
    let word =
        |at: usize| request.data[at..at + bytes].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
    let places = (0..line_bytes).step_by(bytes).filter(|at| request.byte_mask >> at & 1 != 0);
    let words = places.map(|at| match f {
        AtomicFn::CompareSwap => (at, word((at + line_bytes / 2) % line_bytes), word(at)),
        _ => (at, word(at), 0),
    });
    let reader = (request.kind == RequestKind::Atomic).then_some(request.ticket);
    Atomic { reader, f, ty, words: words.collect() }
}

fn play(config: &L2Config, script: &[Request]) -> Rig {
    let build = || {
        let source = Source::new(script.to_vec(), Stall::Never);
        let memory = Memory::new(1, 5..40, 0);
        Rig::new(ONE_CLOCK, config, fermi_place(), source, Sink::new(Stall::Never), memory)
    };
    run_in_all_modes(build, LIMIT)
}

/// The word at byte `at` that each answer brought, in the order of the requests.
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
        // Another line of the same set, so that the counter is written back and fetched again.
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
    // Who tries finds it free, held by SM 0, free, held by SM 1, and in the end free.
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
