//! # Memory-model check of load values
//! Checks on any machine whether loads of global memory and atomics return values that the memory model
//! permits. The check observes the messages on the machine's channels: instructions entering the load-store
//! units, words leaving these units, and stores and atomics accepted by an L2 bank. Stores and atomics take
//! effect in the order in which the L2 bank accepts them.
//!
//! The checker divides memory into locations. At first, each word is one location. After the first store to
//! only a part of a word, each byte of the word is a location of its own. Coherent loads are treated as
//! uncached. With a sharing tracker, a coherent load invalidates the copy in the L1, so later loads of the
//! same SM must not return older values. Without a tracker, later loads may return older values. Other loads
//! that bypass the L1 are checked like cached loads.
//!
//! Two kinds of words are not checked: words without a known value before the first kernel, and words beyond
//! the limit [`MAX_CELLS`].

use std::hash::{BuildHasher, BuildHasherDefault};

use golden::consistency::{Checker, PendingLoad, Violation};
use golden::memory::FlatMemory;
use golden::mix::{Mix, MixMap, MixSet};
use isa::lanes::AtomicFn;
use rtl::cells::atomic::AtomicOp;
use rtl::cells::line::LINE_BYTES;
use rtl::l1::access::{AccessKind, LANES, MemorySpace, WarpAccess, WarpReply, WarpReplyKind};
use rtl::machine::{Machine, MachineConfig};
use rtl::noc::packet::{Request, RequestKind};

/// Size of a word in bytes.
const WORD: u64 = 4;
/// log2 of the maximum number of bytes that one reply can carry for a lane.
const REPLY_LOG2: u8 = 3;
/// Maximum number of memory locations that are checked. Locations are included in the order of their first
/// use until the limit is reached. Each takes about 200 bytes of the simulator's own memory.
const MAX_CELLS: usize = 1 << 19;

/// Key that identifies a beat in flight: number of the SM, warp, half of the warp (in a 64-lane warp),
/// program counter, and beat number. No two beats in flight have the same key.
type Key = (usize, u8, u8, u32, u8);

/// The bytes of one memory word that a lane loads or stores.
#[derive(Clone, Copy)]
struct Piece {
    lane: usize,
    /// Number of the 32-bit word within the lane's data: 0 for the low word, 1 for the high word.
    half: usize,
    /// Address of the word.
    word: u64,
    /// Offset of the first accessed byte in the word.
    offset: u64,
    bytes: u64,
}

impl Piece {
    /// Iterates over the memory words that a lane accesses.
    fn of(access: &WarpAccess, lane: usize) -> impl Iterator<Item = Self> + use<> {
        let (address, bytes) = (access.address[lane], (1 << access.size_log2).min(WORD));
        let (first, offset) = (address / WORD * WORD, address % WORD);
        let halves = if access.size_log2 == 3 { 2 } else { 1 };
        (0..halves).map(move |half| Self { lane, half, word: first + half as u64 * WORD, offset, bytes })
    }

    fn is_whole(&self) -> bool {
        self.bytes == WORD
    }

    /// Returns a mask of the bits of the word that are accessed.
    fn mask(&self) -> u64 {
        ((1 << (8 * self.bytes)) - 1) << (8 * self.offset)
    }

    /// Returns the indices of the bytes of the word that are accessed.
    fn numbers(&self) -> std::ops::Range<u64> {
        self.offset..self.offset + self.bytes
    }
}

/// Result for which a lane waits, and the state that is needed to check it.
enum PendingResult {
    /// Result of a load from a word that was one memory location when the load started.
    Word(PendingLoad),
    /// Result of loading one byte of a word whose bytes are separate memory locations. Also holds the
    /// number of the byte in the word.
    Byte(PendingLoad, u64),
    /// Result of an atomic. The number is a hash of the opcode and operands, which identifies the operation.
    Result(u64),
}

/// Memory-model checker, with the properties of the machine that it needs.
pub(super) struct MemoryModel {
    checker: Checker,
    /// Addresses of the words that are checked. The next field, `left_out`, contains the words that are
    /// permanently excluded from the check.
    known: MixSet<u64>,
    left_out: MixSet<u64>,
    /// Checked words whose bytes are separate memory locations.
    split: MixSet<u64>,
    /// True if the maximum number of memory locations has been reached, so that no further word is checked.
    is_full: bool,
    /// Results that instructions in flight wait for.
    wanted: MixMap<Key, Vec<(Piece, PendingResult)>>,
    line_bytes: u32,
    num_sms: usize,
    /// True if the L1 keeps no old copy of a line after a coherent load. Later loads of the same SM must
    /// then not return values older than that load's.
    stays: bool,
}

/// Returns the byte with index `number` of a word.
fn byte_of(word: u64, number: u64) -> u64 {
    word >> (8 * number) & 0xff
}

/// Computes a number that identifies an atomic operation on a word of 4 or 8 bytes. It is a hash of the
/// operation and its operands.
fn operation(atomic: AtomicOp, operand: u64, compare: u64) -> u64 {
    let compare = if atomic.f == AtomicFn::CompareSwap { compare } else { 0 };
    BuildHasherDefault::<Mix>::default().hash_one((atomic.f as u64, atomic.ty as u64, operand, compare))
}

impl MemoryModel {
    /// Creates the checker for a machine.
    pub fn new(config: &MachineConfig) -> Self {
        Self {
            checker: Checker::new(),
            known: MixSet::default(),
            left_out: MixSet::default(),
            split: MixSet::default(),
            is_full: false,
            wanted: MixMap::default(),
            line_bytes: config.l1.line_bytes,
            num_sms: config.num_sms as usize,
            stays: config.tracker.is_on(),
        }
    }

    /// Processes the messages on the machine's channels in one tick. `memory` holds the memory contents
    /// before the kernel.
    ///
    /// # Errors
    /// Fails if a load or an atomic returns a value that the memory model does not permit.
    pub fn follow(&mut self, machine: &Machine, tick: u64, memory: &FlatMemory) -> Result<(), String> {
        if memory.buffers().is_empty() {
            // Nothing can be checked in the replay of a trace, since a trace does not contain the values in
            // memory.
            return Ok(());
        }
        // Messages of one tick are processed in the order: requests that memory accepted, replies, issued
        // instructions. This order is safe, because the effect of a hardware block on another block becomes
        // visible at a later tick.
        for request in machine.accepted_requests(tick) {
            match request.kind {
                RequestKind::Read => {}
                RequestKind::Write => self.on_l2_write(request),
                RequestKind::Atomic | RequestKind::Reduce => self.on_l2_atomic(request, memory),
            }
        }
        for (sm, reply) in machine.sent_replies(tick) {
            if reply.kind == WarpReplyKind::Loaded {
                self.on_reply(sm, reply)?;
            }
        }
        for (sm, access) in machine.accepted_accesses(tick) {
            if access.space == MemorySpace::Global {
                self.on_issue(sm, access, memory);
            }
        }
        Ok(())
    }

    /// True if this word is checked. When the word is used for the first time, the checker is given its
    /// initial value.
    fn is_judged(&mut self, word: u64, memory: &FlatMemory) -> bool {
        if self.known.contains(&word) {
            return true;
        }
        // After the limit has been reached once, no further word is added. The initial value of such a word
        // would be unknown, since it may have been written in the meantime.
        self.is_full |= self.cells() >= MAX_CELLS;
        if self.is_full || self.left_out.contains(&word) {
            return false;
        }
        let Ok(bytes) = memory.read(word, WORD as u32) else {
            self.left_out.insert(word);
            return false;
        };
        let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
        self.checker.initialise(word, value);
        self.known.insert(word)
    }

    fn cells(&self) -> usize {
        self.known.len() + 3 * self.split.len()
    }

    fn is_split(&self, word: u64) -> bool {
        !self.split.is_empty() && self.split.contains(&word)
    }

    /// Makes each byte of a checked word a separate memory location. If there would be too many locations,
    /// the word is no longer checked.
    fn split(&mut self, word: u64) {
        if self.split.contains(&word) {
            return;
        }
        if self.cells() >= MAX_CELLS {
            self.leave_out(word);
        } else if self.split.insert(word) {
            self.checker.split(word, self.num_sms, WORD, 8);
        }
    }

    fn leave_out(&mut self, word: u64) {
        self.known.remove(&word);
        self.split.remove(&word);
        self.left_out.insert(word);
    }

    /// Processes an instruction that a load-store unit accepts.
    fn on_issue(&mut self, sm: usize, access: &WarpAccess, memory: &FlatMemory) {
        let beat = access.beat.value();
        if access.size_log2 <= REPLY_LOG2 {
            return self.on_beat(sm, access, beat, memory);
        }
        // A load of 16 bytes per lane gets two replies.
        for number in 0..2 {
            let address = access.address.map(|address| address + (u64::from(number) << REPLY_LOG2));
            let part = WarpAccess { size_log2: REPLY_LOG2, address, ..access.clone() };
            self.on_beat(sm, &part, beat + number, memory);
        }
    }

    /// Processes one beat of an instruction. If the instruction is a load with several replies, a beat is the
    /// part of the load that reply number `beat` answers.
    fn on_beat(&mut self, sm: usize, access: &WarpAccess, beat: u8, memory: &FlatMemory) {
        let pieces = (0..LANES).filter(|lane| access.mask >> lane & 1 != 0).flat_map(|lane| Piece::of(access, lane));
        if access.kind.is_atomic() && u64::from(access.atomic.ty.bytes()) < WORD {
            // Atomics on less than a word are not checked. The words that they change are therefore excluded
            // from the check.
            return pieces.for_each(|piece| self.leave_out(piece.word));
        }
        match access.kind {
            AccessKind::Load | AccessKind::Atomic => {
                let mut wanted = Vec::new();
                for piece in pieces {
                    if self.is_judged(piece.word, memory) {
                        self.want(sm, access, piece, &mut wanted);
                    }
                }
                self.wanted.insert((sm, access.warp, access.half, access.pc, beat), wanted);
            }
            AccessKind::Store => {
                // If several lanes write the same byte, the lane with the highest number wins.
                let mut stored: MixMap<u64, (u64, u64)> = MixMap::default();
                for piece in pieces {
                    let (mask, value) = stored.entry(piece.word).or_default();
                    let bits = u64::from(access.data[piece.half][piece.lane]) << (8 * piece.offset) & piece.mask();
                    (*mask, *value) = (*mask | piece.mask(), *value & !piece.mask() | bits);
                }
                for (word, (mask, value)) in stored {
                    if self.is_judged(word, memory) {
                        self.on_store(sm, word, mask, value);
                    }
                }
            }
            AccessKind::Reduce => {}
        }
    }

    /// Records that a lane waits for the result of a load or an atomic.
    fn want(&self, sm: usize, access: &WarpAccess, piece: Piece, wanted: &mut Vec<(Piece, PendingResult)>) {
        if access.kind == AccessKind::Atomic {
            let of = |data: &[[u32; LANES]; 2]| {
                let high = if access.size_log2 == 3 { data[1][piece.lane] } else { 0 };
                u64::from(high) << 32 | u64::from(data[0][piece.lane])
            };
            let number = operation(access.atomic, of(&access.data), of(&access.compare));
            wanted.push((piece, PendingResult::Result(number)));
            return;
        }
        let begin = |cell: u64| {
            if access.uncached {
                self.checker.begin_coherent(sm, cell, self.stays)
            } else {
                self.checker.begin(sm, cell)
            }
        };
        if self.is_split(piece.word) {
            let bytes = piece.numbers().map(|number| (piece, PendingResult::Byte(begin(piece.word + number), number)));
            wanted.extend(bytes);
        } else {
            wanted.push((piece, PendingResult::Word(begin(piece.word))));
        }
    }

    /// Processes a store to one checked word at the time when a load-store unit accepts the store. Each set
    /// bit of `mask` stands for a bit of the word that is written.
    fn on_store(&mut self, sm: usize, word: u64, mask: u64, value: u64) {
        if mask != u64::from(u32::MAX) {
            self.split(word);
        }
        if self.is_split(word) {
            for number in (0..WORD).filter(|number| byte_of(mask, *number) != 0) {
                self.checker.store(sm, word + number, byte_of(value, number));
            }
        } else if self.known.contains(&word) {
            self.checker.store(sm, word, value);
        }
    }

    /// Checks the reply to a load or an atomic.
    fn on_reply(&mut self, sm: usize, reply: &WarpReply) -> Result<(), String> {
        let key = (sm, reply.warp, reply.half, reply.pc, reply.beat.value());
        let mut wrong = Ok(());
        for (piece, wanted) in self.wanted.remove(&key).unwrap_or_default() {
            if !self.known.contains(&piece.word) {
                continue;
            }
            let value = u64::from(reply.data[piece.half][piece.lane]) << (8 * piece.offset) & piece.mask();
            if let Err(violation) = self.judge(sm, piece, wanted, value) {
                let (warp, pc, lane) = (reply.warp, reply.pc, piece.lane);
                wrong = Err(format!("warp {warp} at pc {pc}, lane {lane}: {violation}"));
            }
        }
        wrong
    }

    /// Checks the value that a lane receives. The value has been shifted to its position in the memory word.
    fn judge(&mut self, sm: usize, piece: Piece, wanted: PendingResult, value: u64) -> Result<(), Violation> {
        let is_split = self.is_split(piece.word);
        match wanted {
            PendingResult::Word(load) if is_split => {
                piece.numbers().try_for_each(|number| self.checker.end(load.part(number), byte_of(value, number)))
            }
            PendingResult::Word(load) if piece.is_whole() => self.checker.end(load, value),
            PendingResult::Word(load) => self.checker.end_masked(load, value, piece.mask()),
            PendingResult::Byte(load, number) => self.checker.end(load, byte_of(value, number)),
            PendingResult::Result(operation) if is_split => (0..WORD).try_for_each(|number| {
                self.checker.check_atomic_result(sm, piece.word + number, operation, byte_of(value, number))
            }),
            PendingResult::Result(operation) => self.checker.check_atomic_result(sm, piece.word, operation, value),
        }
    }

    /// Iterates over the memory words that a request writes. Each item contains the address of a word, the
    /// offset of the word in the line, and a mask with one bit per written byte.
    fn written(&self, request: &Request) -> impl Iterator<Item = (u64, usize, u64)> + use<> {
        let (first, mask) = (request.line * u64::from(self.line_bytes), request.byte_mask);
        let places = (0..LINE_BYTES).step_by(WORD as usize);
        places.map(move |at| (first + at as u64, at, (mask >> at & 0xf) as u64)).filter(|(.., bytes)| *bytes != 0)
    }

    /// Processes a write that an L2 bank accepts. If no store to the location is pending, the write is not a
    /// store but the writeback of a line of local memory. It is ignored.
    fn on_l2_write(&mut self, request: &Request) {
        let sm = request.sm.into();
        for (word, _, bytes) in self.written(request) {
            if self.is_split(word) {
                for cell in (0..WORD).filter(|number| bytes >> number & 1 != 0).map(|number| word + number) {
                    if self.checker.has_pending_store(sm, cell) {
                        self.checker.perform(sm, cell);
                    }
                }
            } else if self.checker.has_pending_store(sm, word) {
                self.checker.perform(sm, word);
            }
        }
    }

    /// Processes an atomic that an L2 bank accepts.
    fn on_l2_atomic(&mut self, request: &Request, memory: &FlatMemory) {
        let words: Vec<_> = self.written(request).map(|(word, at, _)| (word, at)).collect();
        let mut line = [0; LINE_BYTES];
        let mut is_whole = true;
        for &(word, at) in &words {
            is_whole &= self.is_judged(word, memory);
            line[at..at + 4].copy_from_slice(&(self.held(word) as u32).to_le_bytes());
        }
        let is_part = u64::from(request.atomic.ty.bytes()) < WORD;
        if !is_whole || is_part {
            words.iter().for_each(|(word, _)| self.leave_out(*word));
            return;
        }
        request.atomic.perform(&mut line, request.byte_mask, &request.data, self.line_bytes);
        let word_at = |from: &[u8; LINE_BYTES], at: usize, bytes: usize| {
            from[at..at + bytes].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
        };
        let bytes = request.atomic.ty.bytes() as usize;
        for (word, at) in words {
            let first = at & !(bytes - 1);
            let compared = first ^ (self.line_bytes as usize / 2);
            let [operand, compare] = [first, compared].map(|at| word_at(&request.data, at, bytes));
            let operation = operation(request.atomic, operand, compare);
            let returns = (request.kind == RequestKind::Atomic).then_some(operation);
            self.change(request.sm.into(), word, returns, word_at(&line, at, WORD as usize));
        }
    }

    /// Returns the value that a word currently has in memory, according to the checker.
    fn held(&self, word: u64) -> u64 {
        if self.is_split(word) {
            let byte = |number: u64| self.checker.memory_value(word + number).unwrap_or(0) << (8 * number);
            return (0..WORD).map(byte).sum();
        }
        self.checker.memory_value(word).unwrap_or(0)
    }

    /// Records the new value of a word that an atomic has changed.
    fn change(&mut self, sm: usize, word: u64, returns: Option<u64>, value: u64) {
        if self.is_split(word) {
            for number in 0..WORD {
                self.checker.change(sm, word + number, returns, byte_of(value, number));
            }
        } else {
            self.checker.change(sm, word, returns, value);
        }
    }

    /// Ends the check of a kernel, after all its stores have reached memory.
    pub fn end_kernel(&mut self) {
        self.wanted.clear();
        self.checker.end_kernel();
    }

    /// Discards the state of words that the host has overwritten, so that they are checked with their new
    /// values.
    pub fn wrote(&mut self, address: u64, bytes: usize) {
        for word in (address / WORD * WORD..address + bytes as u64).step_by(WORD as usize) {
            self.known.remove(&word);
            self.split.remove(&word);
            self.left_out.remove(&word);
        }
    }
}

#[cfg(test)]
#[path = "consistency_tests.rs"]
mod tests;
