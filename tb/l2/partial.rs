//! Tests of an L2 bank with byte masks, in which a write miss fetches nothing from memory.

use std::collections::BTreeSet;

use super::flat::{check, on, requests};
use super::memory::Memory;
use super::{LIMIT, ONE_CLOCK, Rig, fermi_place, line, place, read, small_config, write};
use crate::kit::{Random, Sink, Source, Stall, for_each_seed, run_in_all_modes};
use crate::replacement;
use golden::index::{Function, SetIndex};
use golden::l2::masked::{Access, Bank, Bytes};
use isa::lanes::AtomicFn;
use isa::types::Type;
use rtl::cells::atomic::AtomicOp;
use rtl::cells::line::{LINE_BYTES, SECTOR_BYTES};
use rtl::l2::{BankPlace, L2Config, OverlappedConfig, WriteMiss};
use rtl::noc::packet::{Request, RequestKind};

/// Number of cycles between two requests. It is large enough that each request completes before the next one
/// is sent.
pub const APART: u64 = 100;

fn config() -> L2Config {
    L2Config {
        flow: OverlappedConfig { write_miss: WriteMiss::ByteMask, ..OverlappedConfig::default() }.into(),
        ..small_config()
    }
}

/// Runs requests one at a time on an L2 bank, in all evaluation modes of the simulator.
pub fn play(config: &L2Config, place: BankPlace, script: &[Request]) -> Rig {
    let build = || {
        let alone = Stall::NotBefore((0..script.len() as u64).map(|n| n * APART).collect());
        let source = Source::new(script.to_vec(), alone);
        Rig::new(ONE_CLOCK, config, place, source, Sink::new(Stall::Never), Memory::new(3, 1..20, 0))
    };
    let rig = run_in_all_modes(build, LIMIT);
    check(&rig, script);
    rig
}

/// Returns the bursts that memory accepted. Each has a flag that is true for a write, the burst number, and
/// the byte mask.
pub fn taken(rig: &Rig) -> Vec<(bool, u64, u64)> {
    rig.memory.taken().iter().map(|(_, request)| (request.write, request.burst, request.byte_mask)).collect()
}

#[test]
fn a_write_that_misses_fetches_nothing_and_a_read_of_its_sector_needs_nothing_more() {
    let script = [write(7, 0, 0xffff_ffff << 32, 0x5a), Request { sectors: 0b10, ..read(7, 1) }];
    let rig = play(&config(), fermi_place(), &script);
    assert_eq!((taken(&rig), rig.bank.stats().hits, rig.bank.stats().write_misses), (vec![], 1, 1));
    assert_eq!(rig.bank.peek(line(7)).map(|(_, here)| here), Some(0xffff_ffff << 32));
}

#[test]
fn a_read_of_other_bytes_brings_the_line_and_leaves_what_was_written() {
    let script = [write(7, 0, 0xff, 0x5a), write(7, 1, 0xff00 << 64, 0x6b), read(7, 2), read(7, 3)];
    let rig = play(&config(), fermi_place(), &script);
    assert_eq!(taken(&rig), [(false, 14, 0), (false, 15, 0)]);
    let stats = rig.bank.stats();
    assert_eq!((stats.write_misses, stats.write_hits, stats.misses, stats.hits), (1, 1, 1, 1));
    assert_eq!(rig.bank.peek(line(7)).map(|(_, here)| here), Some(u128::MAX));
}

#[test]
fn a_write_counts_as_a_change_whether_its_line_is_here_or_not() {
    let changes = |writes: &[Request]| play(&config(), fermi_place(), writes).bank.stats().changes;
    let writes = [write(7, 0, 0xff, 0x5a), write(7, 1, 0xff, 0x6b), write(8, 2, 0xff, 0x5a)];
    assert_eq!([1, 2, 3].map(|count| changes(&writes[..count])), [1, 2, 3]);
}

#[test]
fn a_line_of_which_parts_are_here_gives_way_under_its_mask() {
    let config = L2Config { ways: 1, ..config() };
    let script = [write(7, 0, 0xff, 0x5a), write(7, 1, 0xff00 << 64, 0x6b), write(8, 2, 0xf, 1)];
    let rig = play(&config, fermi_place(), &script);
    assert_eq!(taken(&rig), [(true, 14, 0xff), (true, 15, 0xff00)]);
    assert_eq!((rig.bank.stats().evictions, rig.bank.stats().writebacks), (1, 1));
}

#[test]
fn a_line_written_part_by_part_is_whole_in_the_end() {
    let half = u128::from(u64::MAX);
    let rig = play(&config(), fermi_place(), &[write(7, 0, half, 1), write(7, 1, half << 64, 2), read(7, 2)]);
    assert_eq!((taken(&rig), rig.bank.stats().hits), (vec![], 1));
}

#[test]
fn an_atomic_works_on_the_whole_line() {
    for atomic_buffer in [false, true] {
        let add = AtomicOp { f: AtomicFn::Add, ty: Type::U32 };
        let script = [write(7, 0, 0xff, 0x5a), on(7, 1, add, &[(4, 1, 0)], LINE_BYTES), read(7, 2)];
        let rig = play(&L2Config { atomic_buffer, ..config() }, fermi_place(), &script);
        assert_eq!(taken(&rig), [(false, 14, 0), (false, 15, 0)]);
        assert_eq!((rig.bank.stats().atomic_misses, rig.bank.stats().hits), (1, 1));
    }
}

/// Converts a request to the type that the golden model uses. Also returns an index of its kind: 0 for a
/// read, 1 for a write, 2 for an atomic.
pub fn access_of(request: &Request) -> (Access, usize) {
    let sectors = (0..4).filter(|n| request.sectors >> n & 1 != 0);
    match request.kind {
        RequestKind::Read => {
            (Access::Read(sectors.flat_map(|n| n * SECTOR_BYTES..(n + 1) * SECTOR_BYTES).collect()), 0)
        }
        RequestKind::Write => (Access::Write(bytes(request.byte_mask)), 1),
        RequestKind::Atomic | RequestKind::Reduce => (Access::Atomic(bytes(request.byte_mask)), 2),
    }
}

/// Converts a byte mask to a set of byte offsets.
pub fn bytes(mask: u128) -> Bytes {
    (0..128).filter(|byte| mask >> byte & 1 != 0).collect()
}

#[test]
fn one_request_at_a_time_hits_fetches_and_writes_back_as_the_golden_bank_predicts() {
    for_each_seed(18, |seed| {
        let mut random = Random::new(seed);
        let place = [fermi_place(), place(64, 32), place(32, 32)][seed as usize % 3];
        let script = requests(&mut random, place, 20, 300);
        let replacement = replacement::draw(&mut random, 4, false);
        let config = L2Config { sets: 4, ways: 3, replacement, ..config() };
        let rig = play(&config, place, &script);
        let index = SetIndex::new(Function::Linear { bits: 2 }, place.line_bytes.ilog2(), 32).unwrap();
        let mut golden = Bank::new(index, 3, place.line_bytes);
        golden.replace_by(replacement::twin(&config.replacement, 4, 3));
        let (mut hits, mut misses, mut fetches) = ([0; 3], [0; 3], 0);
        let mut written_back = Vec::new();
        for request in &script {
            let (access, kind) = access_of(request);
            let outcome = golden.access(request.line / 6, &access);
            *(if outcome.hit { &mut hits[kind] } else { &mut misses[kind] }) += 1;
            fetches += u64::from(outcome.fetched);
            written_back.extend(outcome.written_back);
        }
        let stats = rig.bank.stats();
        assert_eq!([stats.hits, stats.write_hits, stats.atomic_hits], hits);
        assert_eq!([stats.misses, stats.write_misses, stats.atomic_misses], misses);
        assert_eq!(stats.fetches, fetches);
        let of_line = place.bursts() as usize;
        let bursts: Vec<_> = taken(&rig).into_iter().filter(|(is_write, ..)| *is_write).collect();
        let whole = |bursts: &[(bool, u64, u64)]| {
            let first = |n: usize| n as u32 * place.burst_bytes;
            let masks = bursts.iter().enumerate().map(|(n, (.., mask))| u128::from(*mask) << first(n));
            (bursts[0].1 / of_line as u64, bytes(masks.sum()))
        };
        assert_eq!(bursts.chunks(of_line).map(whole).collect::<Vec<_>>(), written_back);
        let in_part = written_back.iter().filter(|(_, bytes)| bytes.len() < place.line_bytes as usize).count();
        let lines: BTreeSet<_> = written_back.iter().map(|(line, _)| line).collect();
        assert!(in_part > 5 && lines.len() > 5 && hits[0] > 5, "{in_part} of {}", written_back.len());
    });
}
