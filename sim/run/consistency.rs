//! # What loads may return, on any machine
//! Follows what crosses a machine's channels and has the memory model's checker judge what loads of global memory and
//! atomics bring back: instructions as the load-store units take them, words as they leave these, stores and
//! atomics as an L2 bank takes them, which is the order in which they take effect there.
//!
//! A cell of the checker is a word, by its address, or each of its bytes from the first store to a part of it on. A
//! load that says that it is not to look in the L1 is a coherent one; what it sees stays seen only where it drops
//! the copy there, under a sharing tracker. Other loads past the L1 are judged as any.
//!
//! Left out are words whose value before the first kernel is not known, and what goes beyond [`MOST_CELLS`].

use std::hash::{BuildHasher, BuildHasherDefault};

use golden::consistency::{Checker, Loading, Violation};
use golden::memory::FlatMemory;
use golden::mix::{Mix, MixMap, MixSet};
use isa::lanes::AtomicFn;
use rtl::cells::atomic::AtomicOp;
use rtl::cells::line::LINE_BYTES;
use rtl::l1::access::{AccessKind, LANES, MemorySpace, WarpAccess, WarpReply, WarpReplyKind};
use rtl::machine::{Machine, MachineConfig};
use rtl::noc::packet::{Request, RequestKind};

/// Bytes of a word.
const WORD: u64 = 4;
/// Cells judged at most, the first that a kernel uses: some 200 bytes of the host are spent on each.
const MOST_CELLS: usize = 1 << 19;

/// A beat on its way: SM, warp, half, program counter and number. A warp has one of each.
type Key = (usize, u8, u8, u32, u8);

/// Bytes of a word that a lane loads or stores.
#[derive(Clone, Copy)]
struct Piece {
    lane: usize,
    /// Whether it is in the high word of the lane's data.
    half: usize,
    /// Address of the word.
    word: u64,
    /// First of the bytes in it.
    offset: u64,
    bytes: u64,
}

impl Piece {
    /// Those of a lane's access.
    fn of(access: &WarpAccess, lane: usize) -> impl Iterator<Item = Self> + use<> {
        let (address, bytes) = (access.address[lane], (1 << access.size_log2).min(WORD));
        let (first, offset) = (address / WORD * WORD, address % WORD);
        let halves = if access.size_log2 == 3 { 2 } else { 1 };
        (0..halves).map(move |half| Self { lane, half, word: first + half as u64 * WORD, offset, bytes })
    }

    fn is_whole(&self) -> bool {
        self.bytes == WORD
    }

    /// The bits of its word that it takes.
    fn mask(&self) -> u64 {
        ((1 << (8 * self.bytes)) - 1) << (8 * self.offset)
    }

    /// Its bytes' numbers in the word.
    fn numbers(&self) -> std::ops::Range<u64> {
        self.offset..self.offset + self.bytes
    }
}

/// What a lane of an instruction on its way is to bring.
enum Wanted {
    /// The word or a part of it.
    Word(Loading),
    /// The byte with this number in a word that is written in parts.
    Byte(Loading, u64),
    /// The result of an atomic, with the number of what it does.
    Result(u64),
}

/// The checker, with what it needs to know of a machine.
pub(super) struct MemoryModel {
    checker: Checker,
    /// Words whose value the checker knows, and those that it does not judge.
    known: MixSet<u64>,
    left_out: MixSet<u64>,
    /// Known words whose bytes are cells.
    split: MixSet<u64>,
    /// No further word is judged.
    is_full: bool,
    /// What the instructions on their way are to bring.
    wanted: MixMap<Key, Vec<(Piece, Wanted)>>,
    line_bytes: u32,
    num_sms: usize,
    /// What coherent loads see stays seen.
    stays: bool,
}

/// A byte of a word.
fn byte_of(word: u64, number: u64) -> u64 {
    word >> (8 * number) & 0xff
}

/// A number for what an atomic does to a word of 4 or 8 bytes, so that others have another.
fn operation(atomic: AtomicOp, operand: u64, compare: u64) -> u64 {
    let compare = if atomic.f == AtomicFn::CompareSwap { compare } else { 0 };
    BuildHasherDefault::<Mix>::default().hash_one((atomic.f as u64, atomic.ty as u64, operand, compare))
}

impl MemoryModel {
    /// Of a machine.
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

    /// Looks at what happened at a tick. Memory holds what it did before the kernel.
    ///
    /// # Errors
    /// A word that nothing explains.
    pub fn follow(&mut self, machine: &Machine, tick: u64, memory: &FlatMemory) -> Result<(), String> {
        if memory.buffers().is_empty() {
            // Behind a trace nothing is known.
            return Ok(());
        }
        // What one block does at a tick another sees later: memory before answers, and these before what is issued.
        for request in machine.requests_taken(tick) {
            match request.kind {
                RequestKind::Read => {}
                RequestKind::Write => self.performed(request),
                RequestKind::Atomic | RequestKind::Reduce => self.changed(request, memory),
            }
        }
        for (sm, reply) in machine.warps_answered(tick) {
            if reply.kind == WarpReplyKind::Loaded {
                self.answered(sm, reply)?;
            }
        }
        for (sm, access) in machine.warps_taken(tick) {
            if access.space == MemorySpace::Global {
                self.issued(sm, access, memory);
            }
        }
        Ok(())
    }

    /// Whether a word is judged; its first value is told to the checker.
    fn is_judged(&mut self, word: u64, memory: &FlatMemory) -> bool {
        if self.known.contains(&word) {
            return true;
        }
        // Once it is full it stays so: a word that comes later may have been written meanwhile.
        self.is_full |= self.cells() >= MOST_CELLS;
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

    /// Makes cells of the bytes of a known word, unless they are too many.
    fn split(&mut self, word: u64) {
        if self.split.contains(&word) {
            return;
        }
        if self.cells() >= MOST_CELLS {
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

    /// A load-store unit takes an instruction.
    fn issued(&mut self, sm: usize, access: &WarpAccess, memory: &FlatMemory) {
        let pieces = (0..LANES).filter(|lane| access.mask >> lane & 1 != 0).flat_map(|lane| Piece::of(access, lane));
        if access.kind.is_atomic() && u64::from(access.atomic.ty.bytes()) < WORD {
            // Atomics of a part of a word are not judged.
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
                self.wanted.insert((sm, access.warp, access.half, access.pc, access.beat.value()), wanted);
            }
            AccessKind::Store => {
                // Of several lanes the highest writes the bytes that they share.
                let mut stored: MixMap<u64, (u64, u64)> = MixMap::default();
                for piece in pieces {
                    let (mask, value) = stored.entry(piece.word).or_default();
                    let bits = u64::from(access.data[piece.half][piece.lane]) << (8 * piece.offset) & piece.mask();
                    (*mask, *value) = (*mask | piece.mask(), *value & !piece.mask() | bits);
                }
                for (word, (mask, value)) in stored {
                    if self.is_judged(word, memory) {
                        self.stored(sm, word, mask, value);
                    }
                }
            }
            AccessKind::Reduce => {}
        }
    }

    /// Notes what a lane of a load or of an atomic is to bring.
    fn want(&self, sm: usize, access: &WarpAccess, piece: Piece, wanted: &mut Vec<(Piece, Wanted)>) {
        if access.kind == AccessKind::Atomic {
            let of = |data: &[[u32; LANES]; 2]| {
                let high = if access.size_log2 == 3 { data[1][piece.lane] } else { 0 };
                u64::from(high) << 32 | u64::from(data[0][piece.lane])
            };
            let number = operation(access.atomic, of(&access.data), of(&access.compare));
            wanted.push((piece, Wanted::Result(number)));
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
            let bytes = piece.numbers().map(|number| (piece, Wanted::Byte(begin(piece.word + number), number)));
            wanted.extend(bytes);
        } else {
            wanted.push((piece, Wanted::Word(begin(piece.word))));
        }
    }

    /// A load-store unit takes a store to the bytes of a known word under the mask.
    fn stored(&mut self, sm: usize, word: u64, mask: u64, value: u64) {
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

    /// A load or an atomic is answered.
    fn answered(&mut self, sm: usize, reply: &WarpReply) -> Result<(), String> {
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

    /// Judges what a lane brought, which stands at its place in the word.
    fn judge(&mut self, sm: usize, piece: Piece, wanted: Wanted, value: u64) -> Result<(), Violation> {
        let is_split = self.is_split(piece.word);
        match wanted {
            Wanted::Word(load) if is_split => {
                piece.numbers().try_for_each(|number| self.checker.end(load.part(number), byte_of(value, number)))
            }
            Wanted::Word(load) if piece.is_whole() => self.checker.end(load, value),
            Wanted::Word(load) => self.checker.end_masked(load, value, piece.mask()),
            Wanted::Byte(load, number) => self.checker.end(load, byte_of(value, number)),
            Wanted::Result(operation) if is_split => (0..WORD).try_for_each(|number| {
                self.checker.returned(sm, piece.word + number, operation, byte_of(value, number))
            }),
            Wanted::Result(operation) => self.checker.returned(sm, piece.word, operation, value),
        }
    }

    /// Words of a request that it writes: each with its place in the line, and a bit for each of its bytes.
    fn written(&self, request: &Request) -> impl Iterator<Item = (u64, usize, u64)> + use<> {
        let (first, mask) = (request.line * u64::from(self.line_bytes), request.byte_mask);
        let places = (0..LINE_BYTES).step_by(WORD as usize);
        places.map(move |at| (first + at as u64, at, (mask >> at & 0xf) as u64)).filter(|(.., bytes)| *bytes != 0)
    }

    /// An L2 bank takes a store. One that nobody has issued writes back a thread's own line.
    fn performed(&mut self, request: &Request) {
        let sm = request.sm.into();
        for (word, _, bytes) in self.written(request) {
            if self.is_split(word) {
                for cell in (0..WORD).filter(|number| bytes >> number & 1 != 0).map(|number| word + number) {
                    if self.checker.is_under_way(sm, cell) {
                        self.checker.perform(sm, cell);
                    }
                }
            } else if self.checker.is_under_way(sm, word) {
                self.checker.perform(sm, word);
            }
        }
    }

    /// An L2 bank takes an atomic.
    fn changed(&mut self, request: &Request, memory: &FlatMemory) {
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

    /// What memory holds in a word.
    fn held(&self, word: u64) -> u64 {
        if self.is_split(word) {
            let byte = |number: u64| self.checker.held(word + number).unwrap_or(0) << (8 * number);
            return (0..WORD).map(byte).sum();
        }
        self.checker.held(word).unwrap_or(0)
    }

    /// An atomic leaves a value in a word.
    fn change(&mut self, sm: usize, word: u64, returns: Option<u64>, value: u64) {
        if self.is_split(word) {
            for number in 0..WORD {
                self.checker.change(sm, word + number, returns, byte_of(value, number));
            }
        } else {
            self.checker.change(sm, word, returns, value);
        }
    }

    /// A kernel has ended, and its stores have reached memory.
    pub fn end_kernel(&mut self) {
        self.wanted.clear();
        self.checker.end_kernel();
    }

    /// The host has written memory.
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
