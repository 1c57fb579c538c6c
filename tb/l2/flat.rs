//! Model of the memory contents as a reference for the L2 bank. It gives the expected replies to all
//! requests, and the expected contents at the end.

use std::collections::{BTreeMap, BTreeSet};

use super::memory::Memory;
use super::{Rig, bursts_of, initial_line, line, read, write};
use crate::kit::Random;
use golden::l2::bank::Atomic;
use isa::lanes::AtomicFn;
use isa::types::Type;
use rtl::cells::atomic::AtomicOp;
use rtl::cells::line::{LINE_BYTES, SECTOR_BYTES, sectors_of};
use rtl::dram::message::DramRequest;
use rtl::l2::BankPlace;
use rtl::noc::packet::{ReplyKind, Request, RequestKind, Sharing};
use rtl::replacement::priority::EvictionPriority;

const OPERATIONS: [(AtomicFn, Type); 15] = [
    (AtomicFn::Add, Type::F16),
    (AtomicFn::Add, Type::Bf16x2),
    (AtomicFn::CompareSwap, Type::B16),
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

/// Returns an atomic request on words of a line. Each entry of `places` has a byte offset, an operand, and a
/// comparison value, which only compare-and-swap uses.
pub fn on(local: u64, ticket: u64, atomic: AtomicOp, places: &[(usize, u64, u64)], line_bytes: usize) -> Request {
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

/// Generates a random atomic request on some words of a line. Half of these requests are reductions, which
/// return no old values. Operands are small, so that some comparisons succeed.
pub fn atomic_request(random: &mut Random, place: BankPlace, local: u64, ticket: u64) -> Request {
    let (f, ty) = OPERATIONS[random.below(OPERATIONS.len() as u64) as usize];
    let (bytes, line_bytes) = (ty.bytes() as usize, place.packets.line_bytes as usize);
    // A compare-and-swap request can only address words in one half of the line, since the other half of its
    // data carries the comparison values.
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

/// Converts an atomic request to the type that the golden model uses.
pub fn golden_atomic(request: &Request, place: BankPlace) -> Atomic<u64> {
    let AtomicOp { f, ty } = request.atomic;
    let (bytes, line_bytes) = (ty.bytes() as usize, place.packets.line_bytes as usize);
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

/// Generates random requests of several SMs to few lines. One fifth are atomics. One fifth of the writes
/// store a whole line.
pub fn requests(random: &mut Random, place: BankPlace, lines: u64, count: u64) -> Vec<Request> {
    let line_bytes = place.packets.line_bytes;
    let whole = u128::MAX >> (128 - line_bytes);
    let one = |ticket| {
        let local = random.below(lines);
        let request = if random.percent(20) {
            atomic_request(random, place, local, ticket)
        } else if random.percent(45) {
            let few = u128::from(random.below(u64::MAX)) << random.below(64);
            let mask = if random.percent(20) { whole } else { (few & whole).max(1) };
            write(local, ticket, mask, random.below(256) as u8)
        } else {
            let sectors = if random.percent(30) { 1 + random.below(15) as u8 } else { 15 } & sectors_of(line_bytes);
            let sharing = if ticket % 2 == 0 { Sharing::Keeps } else { Sharing::Takes };
            Request { sectors: sectors.max(1), sharing, ..read(local, ticket) }
        };
        let priorities = [EvictionPriority::Normal, EvictionPriority::First, EvictionPriority::Last];
        Request { sm: random.below(15) as u8, priority: priorities[ticket as usize % 3], ..request }
    };
    (0..count).map(one).collect()
}

/// Expected value of every byte of the accessed lines, by byte address.
pub struct ByteMap {
    place: BankPlace,
    pub lines: BTreeMap<u64, [u8; LINE_BYTES]>,
}

impl ByteMap {
    pub fn new(place: BankPlace) -> Self {
        Self { place, lines: BTreeMap::new() }
    }

    /// Applies a request to the expected contents. Returns the bytes of the line before the request.
    pub fn apply(&mut self, request: &Request) -> Vec<u8> {
        let local = request.line / 6;
        let bytes = self.lines.entry(local).or_insert_with(|| initial_line(self.place, local));
        let before = bytes[..self.place.packets.line_bytes as usize].to_vec();
        if request.kind == RequestKind::Write {
            for byte in (0..LINE_BYTES).filter(|byte| request.byte_mask >> byte & 1 != 0) {
                bytes[byte] = request.data[byte];
            }
        } else if request.kind.is_atomic() {
            let atomic = golden_atomic(request, self.place);
            for &(at, b, c) in &atomic.words {
                let word = &mut bytes[at..at + atomic.ty.bytes() as usize];
                let old = word.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
                let new = isa::lanes::global_atomic(atomic.f, atomic.ty, old, b, c).to_le_bytes();
                word.copy_from_slice(&new[..word.len()]);
            }
        }
        before
    }
}

/// Returns the bytes that a line has in memory.
fn in_memory(memory: &Memory, place: BankPlace, local: u64) -> Vec<u8> {
    let burst = |n| memory.burst(local * u64::from(bursts_of(place)) + u64::from(n));
    (0..bursts_of(place)).flat_map(|n| burst(n)[..place.burst_bytes as usize].to_vec()).collect()
}

/// Returns a mask of the sectors that a reply to the request must contain.
fn asked_of(request: &Request) -> u8 {
    if request.kind == RequestKind::Read {
        return request.sectors;
    }
    let is_named = |sector: &u32| request.byte_mask >> (SECTOR_BYTES * sector) & 0xffff_ffff != 0;
    (0..4).filter(is_named).fold(0, |sectors, sector| sectors | 1 << sector)
}

/// Returns the number of L2 lines that a request accesses. A request covers one L1 line, which may consist of
/// several L2 lines.
fn parts(request: &Request, place: BankPlace) -> u64 {
    let of_part = place.line_bytes / SECTOR_BYTES;
    let part = u32::from(sectors_of(place.line_bytes));
    (0..1 << place.parts_log2()).filter(|n| u32::from(asked_of(request)) >> (n * of_part) & part != 0).count() as u64
}

/// Checks every reply of a finished run, the final contents, and the counters.
pub fn check(rig: &Rig, script: &[Request]) {
    let place = rig.place;
    let mut flat = ByteMap::new(place);
    let mut expected: BTreeMap<u64, (ReplyKind, Vec<u8>)> = BTreeMap::new();
    for request in script {
        let bytes = flat.apply(request);
        let reply = match request.kind {
            RequestKind::Read | RequestKind::Atomic => (ReplyKind::Data, bytes),
            RequestKind::Write | RequestKind::Reduce => (ReplyKind::Ack, Vec::new()),
        };
        expected.insert(request.ticket, reply);
    }
    for (cycle, reply) in rig.sink.received() {
        let request = &script[reply.ticket as usize];
        let Some((kind, bytes)) = expected.remove(&reply.ticket) else {
            panic!("cycle {cycle}: request {} is answered twice", reply.ticket)
        };
        assert_eq!((reply.kind, reply.line, reply.sm, reply.id), (kind, request.line, request.sm, request.id));
        if kind == ReplyKind::Data {
            let asked = asked_of(request);
            assert_eq!(reply.sectors & asked, asked, "cycle {cycle}: request {}", reply.ticket);
            let sectors = bytes.chunks(SECTOR_BYTES as usize).zip(reply.data.chunks(SECTOR_BYTES as usize));
            for (sector, (bytes, brought)) in sectors.enumerate().filter(|(sector, _)| reply.sectors >> sector & 1 != 0)
            {
                assert_eq!(brought, bytes, "cycle {cycle}: sector {sector} of request {}", reply.ticket);
            }
        }
    }
    assert!(expected.is_empty(), "never answered: {:?}", expected.keys());
    assert!(rig.bank.is_idle());

    for (local, bytes) in &flat.lines {
        let in_memory = in_memory(&rig.memory, place, *local);
        for (part, in_memory) in (0..).zip(in_memory.chunks(place.line_bytes as usize)) {
            let mut held = in_memory.to_vec();
            if let Some((bytes, here)) = rig.bank.peek(line(*local) << place.parts_log2() | part) {
                let newer = held.iter_mut().zip(bytes).enumerate().filter(|(at, _)| here >> at & 1 != 0);
                newer.for_each(|(_, (held, byte))| *held = *byte);
            }
            let first = part as usize * in_memory.len();
            let expected = &bytes[first..first + in_memory.len()];
            assert_eq!(held, expected, "L2 line {part} of L1 line {local} at the end");
        }
    }
    let stats = rig.bank.stats();
    assert_eq!(stats.check_conservation(), Ok(()));
    let count =
        |kind| script.iter().filter(|request| request.kind == kind).map(|request| parts(request, place)).sum::<u64>();
    assert_eq!(stats.accesses, count(RequestKind::Read));
    assert_eq!(stats.write_hits + stats.write_pending + stats.write_misses, count(RequestKind::Write));
    assert_eq!(stats.atomics(), count(RequestKind::Atomic) + count(RequestKind::Reduce));
    let written = rig.memory.taken().iter().filter(|(_, request)| request.write).count() as u64;
    let told = rig.memory.taken().iter().filter(|(_, request)| is_notice(request)).count() as u64;
    let fetched = rig.memory.taken().len() as u64 - written - told;
    assert!(told == 0 || told + stats.writebacks == stats.evictions, "{told} notices with {stats:?}");
    if rig.by_sector {
        let bytes = u64::from(place.burst_bytes);
        assert_eq!((written * bytes, fetched * bytes), (stats.sectors.written_bytes, stats.sectors.fetched_bytes));
    } else {
        let bursts = u64::from(place.bursts());
        assert_eq!((written, fetched), (stats.writebacks * bursts, stats.fetches * bursts));
    }
}

/// Checks that the bank evicts only bursts that it has fetched, and each of them at most once per fetch. If
/// the bank also reports clean evictions (`acknowledges`), it must not fetch a burst again before it has
/// evicted that burst.
pub fn check_write_backs(rig: &Rig, place: BankPlace, acknowledges: bool) {
    let mut here = BTreeSet::new();
    for (cycle, request) in rig.memory.taken() {
        let leaves = request.write || is_notice(request);
        let bursts = if is_notice(request) { u64::from(place.bursts()) } else { 1 };
        for burst in request.burst..request.burst + bursts {
            if leaves {
                assert!(
                    here.remove(&burst),
                    "cycle {cycle}: burst {burst} is evicted, but was not fetched since its last eviction"
                );
            } else {
                let is_new = here.insert(burst);
                assert!(is_new || !acknowledges, "cycle {cycle}: burst {burst} is fetched again, but was not evicted");
            }
        }
    }
}

/// True if a request transfers no data and only notifies memory that a clean line was evicted.
fn is_notice(request: &DramRequest) -> bool {
    request.acknowledged && !request.write
}

/// Checks that a line is recalled only from L1s that have read it. Each read of an L1 line allows one recall
/// for each L2 line that the L1 line consists of.
pub fn check_recalls(rig: &Rig, script: &[Request]) {
    let mut reads: BTreeMap<(u64, u8), u64> = BTreeMap::new();
    for request in script.iter().filter(|request| request.kind == RequestKind::Read) {
        *reads.entry((request.line, request.sm)).or_default() += 1 << rig.place.parts_log2();
    }
    for (cycle, message) in rig.l1s.taken() {
        let left = reads.get_mut(&(message.line, message.sm)).filter(|left| **left > 0);
        let Some(left) = left else {
            panic!("cycle {cycle}: line {} is recalled from SM {}, which has no copy", message.line, message.sm)
        };
        *left -= 1;
    }
}
