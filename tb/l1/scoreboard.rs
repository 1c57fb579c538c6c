//! # Scoreboard of the LSU
//! Predicts the data that every instruction must return to the core, from the order in which the tags accept
//! its line requests.
//!
//! The tags must accept requests in program order. If MRPB has a queue per warp in front of the tags, only
//! requests of the same warp must keep their order. The lines of each instruction must be those that the
//! golden coalescer finds. A memory model, updated in the order of the tag lookups, has the data that a load
//! must return, whichever path the load takes. The scoreboard therefore detects a stale copy in the cache,
//! which a store failed to update.

use std::collections::BTreeMap;

use golden::l1::coalescer::{self, LineRequest, StoreRequest, coalesce_atomic, coalesce_constant, coalesce_store};
use isa::lanes::{AtomicFn, global_atomic};
use rtl::cells::line::LINE_BYTES;
use rtl::l1::access::{AccessKind, LANES, MemorySpace, WarpAccess, WarpReply, WarpReplyKind};
use rtl::l1::cache::CacheId;
use rtl::l1::watch::{Access, Outcome};

use super::rig::initial_line;

/// Returns the golden coalescer's line requests for an instruction. For a store, each request includes the
/// bytes to write.
pub fn golden_lines(access: &WarpAccess, line_bytes: usize) -> Vec<StoreRequest> {
    let twin = coalescer::WarpAccess { active: access.mask, addresses: access.address, width: 1 << access.size_log2 };
    let without_data = |requests: Vec<LineRequest>| {
        requests.into_iter().map(|request| StoreRequest { request, bytes: vec![0; line_bytes] }).collect()
    };
    if access.kind.is_atomic() {
        let reach = if access.atomic.f == AtomicFn::CompareSwap { line_bytes / 2 } else { line_bytes };
        return without_data(coalesce_atomic(&twin, line_bytes, reach).expect("testbenches send aligned accesses"));
    }
    if access.space == MemorySpace::Const {
        return without_data(coalesce_constant(&twin, line_bytes).expect("testbenches send aligned accesses"));
    }
    let mut data = [[0; coalescer::MAX_WIDTH]; LANES];
    for (lane, bytes) in data.iter_mut().enumerate() {
        bytes[..4].copy_from_slice(&access.data[0][lane].to_le_bytes());
        bytes[4..8].copy_from_slice(&access.data[1][lane].to_le_bytes());
    }
    coalesce_store(&twin, line_bytes, &data).expect("testbenches send aligned accesses")
}

/// Largest number of rows that the LSU's table of pending instructions may have.
const ROWS: usize = 64;

/// Scoreboard of a program. It tracks which accesses the tags have accepted, and which replies the core has
/// received.
pub struct Scoreboard {
    line_bytes: usize,
    program: Vec<WarpAccess>,
    /// True if accesses of different warps may overtake each other on the way to the tags.
    by_warp: bool,
    /// Instruction in each row of the LSU's table of pending instructions, as its index in the program.
    in_row: [usize; ROWS],
    /// For each instruction that the LSU accepted, the lines that have not been looked up in the tags yet.
    lines: BTreeMap<usize, Vec<StoreRequest>>,
    /// Number of instructions whose lines have all been looked up in the tags.
    passed: usize,
    image: BTreeMap<u64, [u8; LINE_BYTES]>,
    /// Expected replies of each instruction: a mask of the lanes not served yet, and the data words of each
    /// lane. A load of 16 bytes per lane gets two replies.
    expected: BTreeMap<usize, (u32, [[u32; LANES]; 4])>,
    /// Number of load requests that the tags of each cache accepted. The fields `stores` and `atomics` count
    /// the store and atomic requests of all caches together.
    pub loads: [u64; 3],
    pub stores: u64,
    pub atomics: u64,
}

impl Scoreboard {
    /// Creates a scoreboard for a program of which no instruction was sent yet. The `pc` of an instruction
    /// must be its index in the program.
    pub fn new(program: Vec<WarpAccess>, line_bytes: usize, by_warp: bool) -> Self {
        assert!(program.iter().enumerate().all(|(i, access)| access.pc as usize == i));
        Self {
            line_bytes,
            program,
            by_warp,
            in_row: [0; ROWS],
            lines: BTreeMap::new(),
            passed: 0,
            image: BTreeMap::new(),
            expected: BTreeMap::new(),
            loads: [0; 3],
            stores: 0,
            atomics: 0,
        }
    }

    /// Records that the LSU accepted an instruction into a row of its table of pending instructions. The
    /// lines of the instruction are looked up in the tags at later clock edges.
    pub fn take(&mut self, row: u8, instruction: usize) {
        let access = &self.program[instruction];
        self.in_row[usize::from(row)] = instruction;
        self.lines.insert(instruction, golden_lines(access, self.line_bytes));
        self.expected.insert(instruction, (access.mask, [[0; LANES]; 4]));
    }

    /// Checks an access that the tags accepted, and updates the expected data. Ignores refused accesses.
    pub fn access(&mut self, access: &Access) {
        let (kind, line, waiter) = match *access {
            Access::Load { outcome: Outcome::Refused(..), .. }
            | Access::Store { outcome: Outcome::Refused(..), .. }
            | Access::Atomic { outcome: Outcome::Refused(..), .. } => {
                return;
            }
            Access::Load { line, waiter, .. } | Access::Bypass { line, waiter, .. } => ("load", line, waiter),
            Access::Store { line, waiter, .. } => ("store", line, waiter),
            Access::Atomic { line, waiter, .. } => ("atomic", line, waiter),
        };
        let number = self.in_row[usize::from(waiter.slot)];
        let instruction = &self.program[number];
        let overtakes = |other: usize| !self.by_warp || self.program[other].warp == instruction.warp;
        let overtaken = self.lines.range(..number).find(|(other, _)| overtakes(**other));
        assert!(overtaken.is_none(), "{access:?} overtakes {overtaken:?}");
        let lines = self.lines.entry(number).or_default();
        let place = lines.iter().position(|due| due.request.line == line);
        let place = place.unwrap_or_else(|| panic!("{access:?} is not due: it is of {instruction:?}"));
        let due = lines.remove(place);
        if lines.is_empty() {
            self.lines.remove(&number);
            self.passed += 1;
        }
        let expected = match instruction.kind {
            AccessKind::Load => "load",
            // In a cache in which stores update the cached copy, an uncached store is handled like an atomic.
            AccessKind::Store if kind == "atomic" && instruction.uncached => "atomic",
            AccessKind::Store => "store",
            AccessKind::Atomic | AccessKind::Reduce => "atomic",
        };
        assert_eq!(kind, expected, "{access:?}");
        assert_eq!(waiter.lanes, due.request.lanes, "{access:?}");
        let held = self.image.entry(line).or_insert_with(|| initial_line(line));
        let (left, words) = self.expected.get_mut(&number).expect("an instruction is taken before it comes here");
        *left &= !due.request.lanes;
        if instruction.kind != AccessKind::Store {
            for lane in (0..LANES).filter(|lane| due.request.lanes >> lane & 1 != 0) {
                let offset = instruction.address[lane] as usize % self.line_bytes;
                let mut value = [0; 16];
                let width = 1 << instruction.size_log2;
                value[..width].copy_from_slice(&held[offset..offset + width]);
                for (word, bytes) in words.iter_mut().zip(value.as_chunks().0) {
                    word[lane] = u32::from_le_bytes(*bytes);
                }
                let value = u128::from_le_bytes(value) as u64;
                if instruction.kind.is_atomic() {
                    let operand =
                        |words: &[[u32; LANES]; 2]| u64::from(words[0][lane]) | u64::from(words[1][lane]) << 32;
                    let (data, compare) = (operand(&instruction.data), operand(&instruction.compare));
                    let op = instruction.atomic;
                    let (b, c) = if op.f == AtomicFn::CompareSwap { (compare, data) } else { (data, 0) };
                    let new = global_atomic(op.f, op.ty, value, b, c).to_le_bytes();
                    held[offset..offset + width].copy_from_slice(&new[..width]);
                }
            }
        }
        match instruction.kind {
            AccessKind::Load => self.loads[CacheId::of(instruction.space) as usize] += 1,
            AccessKind::Atomic | AccessKind::Reduce => self.atomics += 1,
            AccessKind::Store => {
                self.stores += 1;
                for byte in (0..self.line_bytes).filter(|byte| due.request.byte_mask >> byte & 1 != 0) {
                    held[byte] = due.bytes[byte];
                }
            }
        }
    }

    /// Checks a reply that the core received.
    pub fn answer(&mut self, cycle: u64, reply: &WarpReply) {
        let i = reply.pc as usize;
        let access = &self.program[i];
        let is_wide = access.size_log2 > 3;
        let is_last = !is_wide || reply.beat != access.beat;
        let expected = if is_last { self.expected.remove(&i) } else { self.expected.get(&i).copied() };
        let (left, words) =
            expected.unwrap_or_else(|| panic!("cycle {cycle}: answer {i} came twice or without a request"));
        assert_eq!(left, 0, "cycle {cycle}: answer {i} came before lanes {left:#x} reached the tags");
        // A load of 16 bytes per lane gets two replies, each with two of the four words per lane. The second
        // reply has the next beat number.
        let beat = access.beat.value() + u8::from(is_wide && is_last);
        let words = if is_wide && is_last { [words[2], words[3]] } else { [words[0], words[1]] };
        let of = (access.warp, access.mask, beat, access.size_log2.min(3));
        assert_eq!((reply.warp, reply.mask, reply.beat.value(), reply.size_log2), of, "cycle {cycle}: answer {i}");
        if matches!(access.kind, AccessKind::Store | AccessKind::Reduce) {
            assert_eq!(reply.kind, WarpReplyKind::Stored, "cycle {cycle}: answer {i}");
            return;
        }
        assert_eq!(reply.kind, WarpReplyKind::Loaded, "cycle {cycle}: answer {i}");
        for lane in (0..LANES).filter(|lane| access.mask >> lane & 1 != 0) {
            let high = if access.size_log2 >= 3 { reply.data[1][lane] } else { 0 };
            assert_eq!(
                [reply.data[0][lane], high],
                [words[0][lane], words[1][lane]],
                "cycle {cycle}: instruction {i} lane {lane} at {:#x} brought the wrong bytes",
                access.address[lane]
            );
        }
    }

    /// True if every instruction has received its reply.
    pub fn is_done(&self) -> bool {
        self.passed == self.program.len() && self.expected.is_empty()
    }

    /// Yields every line that the program touched, with its expected contents at this time.
    pub fn image(&self) -> impl Iterator<Item = (u64, &[u8; LINE_BYTES])> {
        self.image.iter().map(|(line, bytes)| (*line, bytes))
    }
}
