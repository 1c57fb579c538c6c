//! # What loads may return, on any machine
//! Follows what crosses a machine's channels and has the memory model's checker judge every word that a load of
//! global memory brings back: instructions as the load-store units take them, words as they leave these, stores and
//! atomics as an L2 bank takes them, which is the order in which they take effect there.
//!
//! Left out are words that are loaded or stored in part, those whose value before the first kernel is not
//! known, and what goes beyond [`MOST_WORDS`]. A load past the L1 is judged as any other; what an atomic returns is not.

use golden::consistency::{Checker, Issue, Loading};
use golden::memory::FlatMemory;
use golden::mix::{MixMap, MixSet};
use rtl::l1::access::{AccessKind, LANES, MemorySpace, WarpAccess, WarpReply, WarpReplyKind};
use rtl::machine::Machine;
use rtl::noc::packet::{LINE_BYTES, Request, RequestKind};

/// Bytes of a word.
const WORD: u64 = 4;
/// Words judged at most, the first that a kernel uses: some 200 bytes of the host are spent on each.
const MOST_WORDS: usize = 1 << 19;

/// A load on its way: SM, warp, half and program counter. A warp has one of each instruction.
type Key = (usize, u8, u8, u32);

/// The checker, with what it needs to know of a machine.
pub(super) struct MemoryModel {
    checker: Checker,
    /// Words whose value the checker knows, and those that it does not judge.
    known: MixSet<u64>,
    left_out: MixSet<u64>,
    /// No further word is judged.
    is_full: bool,
    /// With each word that is loaded its lane and whether it is the high word there.
    loads: MixMap<Key, Vec<(usize, usize, Loading)>>,
    line_bytes: u32,
}

impl MemoryModel {
    /// Of a machine whose L1 lines are so long.
    pub fn new(line_bytes: u32) -> Self {
        let (known, left_out) = (MixSet::default(), MixSet::default());
        Self { checker: Checker::new(), known, left_out, is_full: false, loads: MixMap::default(), line_bytes }
    }

    /// Looks at what happened at a tick. Memory holds what it did before the kernel.
    ///
    /// # Errors
    /// The first word that no store explains.
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
                RequestKind::Atomic | RequestKind::Reduce => self.changed(request, memory)?,
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
        self.is_full |= self.known.len() >= MOST_WORDS;
        if self.is_full || self.left_out.contains(&word) {
            return false;
        }
        let Ok(bytes) = memory.read(word * WORD, WORD as u32) else {
            self.left_out.insert(word);
            return false;
        };
        let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
        self.checker.initialise(word, value);
        self.known.insert(word)
    }

    fn leave_out(&mut self, word: u64) {
        self.known.remove(&word);
        self.left_out.insert(word);
    }

    /// The words of a lane's access: each with its number, and whether it is the high one.
    fn words(access: &WarpAccess, lane: usize) -> impl Iterator<Item = (u64, usize)> + use<> {
        let count = if access.size_log2 == 3 { 2 } else { 1 };
        let first = access.address[lane] / WORD;
        (0..count).map(move |half| (first + half as u64, half))
    }

    /// A load-store unit takes an instruction.
    fn issued(&mut self, sm: usize, access: &WarpAccess, memory: &FlatMemory) {
        let lanes = || (0..LANES).filter(|lane| access.mask >> lane & 1 != 0);
        let is_whole = access.size_log2 >= 2;
        match access.kind {
            AccessKind::Load if is_whole => {
                let mut loading = Vec::new();
                for lane in lanes() {
                    for (word, half) in Self::words(access, lane) {
                        if self.is_judged(word, memory) {
                            loading.push((lane, half, self.checker.begin(sm, word)));
                        }
                    }
                }
                self.loads.insert((sm, access.warp, access.half, access.pc), loading);
            }
            AccessKind::Store if is_whole => {
                // Of several lanes the highest writes a word that they share.
                let mut stored = MixMap::default();
                for lane in lanes() {
                    for (word, half) in Self::words(access, lane) {
                        stored.insert(word, access.data[half][lane]);
                    }
                }
                for (word, value) in stored {
                    if self.is_judged(word, memory) {
                        self.checker.store(sm, word, value.into());
                    }
                }
            }
            AccessKind::Store => lanes().for_each(|lane| self.leave_out(access.address[lane] / WORD)),
            AccessKind::Load | AccessKind::Atomic | AccessKind::Reduce => {}
        }
    }

    /// A load is answered.
    fn answered(&mut self, sm: usize, reply: &WarpReply) -> Result<(), String> {
        let key = (sm, reply.warp, reply.half, reply.pc);
        let mut wrong = Ok(());
        for (lane, half, load) in self.loads.remove(&key).unwrap_or_default() {
            if self.known.contains(&load.cell())
                && let Err(violation) = self.checker.end(load, reply.data[half][lane].into())
            {
                wrong = Err(format!("warp {} at pc {}, lane {lane}: word {violation}", reply.warp, reply.pc));
            }
        }
        wrong
    }

    /// Words of a request that it writes.
    fn written(&self, request: &Request) -> impl Iterator<Item = (u64, usize)> + use<> {
        let (first, mask) = (request.line * u64::from(self.line_bytes) / WORD, request.byte_mask);
        let is_written = move |at: &usize| mask >> at & 0xf != 0;
        (0..LINE_BYTES).step_by(WORD as usize).filter(is_written).map(move |at| (first + at as u64 / WORD, at))
    }

    /// An L2 bank takes a store. One that nobody has issued writes back a thread's own line.
    fn performed(&mut self, request: &Request) {
        for (word, _) in self.written(request) {
            if self.checker.is_under_way(request.sm.into(), word) {
                self.checker.perform(request.sm.into(), word);
            }
        }
    }

    /// An L2 bank takes an atomic.
    fn changed(&mut self, request: &Request, memory: &FlatMemory) -> Result<(), String> {
        let words: Vec<_> = self.written(request).collect();
        let mut line = [0; LINE_BYTES];
        let mut is_whole = true;
        for &(word, at) in &words {
            is_whole &= self.is_judged(word, memory);
            let held = self.checker.held(word).unwrap_or(0) as u32;
            line[at..at + 4].copy_from_slice(&held.to_le_bytes());
        }
        if !is_whole {
            words.iter().for_each(|(word, _)| self.leave_out(*word));
            return Ok(());
        }
        request.atomic.perform(&mut line, request.byte_mask, &request.data, self.line_bytes);
        for (word, at) in words {
            let value = u32::from_le_bytes([line[at], line[at + 1], line[at + 2], line[at + 3]]);
            let write = Some(value.into());
            let done = self.checker.coherent_from(Issue::EARLIEST, request.sm.into(), word, None, write);
            done.map_err(|violation| format!("word {violation}"))?;
        }
        Ok(())
    }

    /// A kernel has ended, and its stores have reached memory.
    pub fn end_kernel(&mut self) {
        self.loads.clear();
        self.checker.end_kernel();
    }

    /// The host has written memory.
    pub fn wrote(&mut self, address: u64, bytes: usize) {
        for word in address / WORD..(address + bytes as u64).div_ceil(WORD) {
            self.known.remove(&word);
            self.left_out.remove(&word);
        }
    }
}
