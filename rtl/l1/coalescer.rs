//! # Coalescer
//! Splits one warp memory instruction into line requests, one per cycle. The lowest lane that no request
//! serves yet selects the line. The request serves that lane, and all other unserved lanes that access the
//! same line. If the L1D looks up several lines of a load per cycle (`l1.lookups`), the coalescer can emit
//! the same number of requests per cycle.
//!
//! If the L1D has word banks (`l1.banks`), the requests of a cycle use different tag banks: the lowest lane
//! of each bank selects its line. The coalescer holds an L1D load for as many cycles as the load occupies the
//! banks (`rtl/l1/word_banks.rs`), and emits the last request in the last of these cycles. A load that hits
//! is thus complete when its last word has been read, and the tags need no more cycles than the coalescer.
//!
//! | port   | dir | payload      | contract                                                    |
//! |--------|-----|--------------|-------------------------------------------------------------|
//! | `take` | in  | `WarpAccess` | only while idle; at least one lane active                   |
//! | `emit` | out | `LineAccess` | one per cycle while busy, in the order of the lines' lowest lanes |
//! | `emit` | out | `LineAccess` | additional requests while `has_more`, one per additional output |
//!
//! In one cycle, in this order:
//! 1. `emit`, once per output.
//! 2. `take`, if no lane of the previous instruction is left.
//!
//! Stores and atomics use only one output, because the network that aligns their bytes to a line takes most
//! of the coalescer's area.
//!
//! Latency: the first request of an instruction is emitted in the cycle after the instruction was accepted.
//! Lines are emitted in the order of their lowest lanes, so the bytes of a store and the lanes of a load are
//! deterministic. If two lanes of one store write the same byte, the higher lane wins.
//!
//! Atomics: no two lanes of a request access the same word, so lanes with the same word take effect in lane
//! order, request after request. A compare-and-swap has two operands per lane. A request for compare-and-swap
//! therefore serves only lanes of one half of the line, and its other half holds their comparison values.
//!
//! Constants: each request delivers one word to all lanes that access this word, because a constant cache
//! broadcasts. If a bypass scheme needs to know which instructions touch too many lines for the L1D,
//! [`super::bypass::contention`] tests each instruction when it is accepted. Each request of the instruction
//! carries the result.
//! Area: for each output, 32 line-address comparators and one priority encoder over the lanes.
//!
//! Part of `rtl/l1/lsu.rs`.

use arbitrary_int::u6;
use isa::lanes::AtomicFn;
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::access::{AccessKind, LANES, MemorySpace, WarpAccess};
use super::bypass::contention::Contention;
use super::word_banks::{MAX_TAG_BANKS, Occupancy, WordBanks};
use crate::cells::atomic::AtomicOp;
use crate::cells::line::{LINE_BYTES, SECTOR_BYTES, SECTORS};
use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic, Payload};
use crate::replacement::Source;
use crate::replacement::priority::{EvictionHints, HintShape};

/// Request of a warp instruction for one line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = LineShape)]
pub struct LineAccess {
    /// Kind of the memory access: load, store, atomic or reduction.
    #[payload(state)]
    pub kind: AccessKind,
    /// Address space of the access: global, local, constant or texture memory.
    #[payload(state)]
    pub space: MemorySpace,
    /// True if the request must not look up the L1.
    pub uncached: bool,
    /// True if the line must not be inserted in the L1: the instruction touches at least as many lines as its
    /// warp's share of the L1D.
    #[payload(only(shape.judged))]
    pub contends: bool,
    /// Eviction priorities of the line; normal where the machine ignores hints.
    #[payload(inside = shape.hints)]
    pub hints: EvictionHints,
    /// Sequence number of the request within the SM.
    pub id: u32,
    /// Number of the warp slot in the SM.
    #[payload(width = 6)]
    pub warp: u8,
    /// Program counter of the instruction; 0 unless a scheme of a cache reads it.
    #[payload(only(shape.pc_bits > 0), width = shape.pc_bits)]
    pub pc: u32,
    /// Row of the pending table that collects the results of the instruction.
    #[payload(width = 6)]
    pub slot: u8,
    /// Address of the requested line.
    #[payload(width = shape.line_bits)]
    pub line: u64,
    /// Mask of the lanes that the request serves.
    pub lanes: u32,
    /// Mask of the sectors that a load touches; meaningless if the caches fetch only whole lines.
    #[payload(width = SECTORS)]
    pub sectors: u8,
    /// Operation of an atomic; meaningless for other kinds.
    #[payload(inside)]
    pub atomic: AtomicOp,
    /// Mask of the bytes that a store writes, or of the bytes of the words that an atomic accesses.
    #[payload(only(!shape.data_beside), bytes = shape.line_bytes / 8)]
    pub byte_mask: u128,
    /// Data stored, or the operands of an atomic in the layout that [`AtomicOp::perform`] expects.
    #[payload(only(!shape.data_beside), bytes = shape.line_bytes)]
    #[serde(with = "BigArray")]
    pub data: [u8; LINE_BYTES],
}

impl Default for LineAccess {
    fn default() -> Self {
        Self {
            kind: AccessKind::Load,
            space: MemorySpace::Global,
            uncached: false,
            contends: false,
            hints: EvictionHints::default(),
            id: 0,
            warp: 0,
            pc: 0,
            slot: 0,
            line: 0,
            lanes: 0,
            sectors: 0,
            atomic: AtomicOp::default(),
            byte_mask: 0,
            data: [0; LINE_BYTES],
        }
    }
}

impl LineAccess {
    /// Returns the fields of a load that replacement policies see.
    #[must_use]
    #[inline(always)]
    pub fn source(&self) -> Source {
        Source { line: self.line, pc: self.pc, priority: self.hints.l1 }
    }
}

/// Field widths of a line request ([`LineAccess`]), and flags for the fields that only some configurations
/// have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineShape {
    /// Width of a line address in bits.
    pub line_bits: u32,
    /// Size of a line in bytes.
    pub line_bytes: u32,
    /// Width of a program counter in bits; 0 if requests carry none, because no scheme of a cache reads it.
    pub pc_bits: u32,
    /// True if each request includes one bit that tells whether its instruction touches too many lines for
    /// the L1D (result of the contention test).
    pub judged: bool,
    /// Eviction priorities that each request carries.
    pub hints: HintShape,
    /// True if a miss fetches only the requested sectors; false if it fetches the whole line.
    pub sectored: bool,
    /// True if the bytes to store and their mask are held in a separate memory instead of the queue entries.
    pub data_beside: bool,
}

/// Coalescer, including the instruction that it is currently splitting into line requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Coalescer {
    access: WarpAccess,
    slot: u8,
    waiting: u32,
    /// True if every lane `i` accesses word `i` of the same line. Derived from the addresses and cached for
    /// simulation speed.
    in_order: bool,
    /// Memory unit (line or word) that each lane accesses, derived from the addresses. Not used if every lane
    /// `i` accesses word `i` of the same line.
    units: Units,
    next_id: u32,
    line_log2: u32,
    line_bits: u32,
    /// Width in bits of the program counter that requests carry; 0 if they carry none.
    pc_bits: u32,
    /// True if loads carry the mask of the sectors that they touch.
    by_sector: bool,
    /// Eviction priorities that requests carry.
    hints: HintShape,
    /// Number of requests of an L1D load that the coalescer can emit per cycle.
    outputs: u32,
    /// Word banks of the L1D; `None` if its banks are not organized by words.
    banks: Option<WordBanks>,
    /// For a load of the L1D: number of cycles, including the next one, for which it still occupies the word
    /// banks; at least 1. For other instructions: 0.
    left: u6,
    /// For each tag bank, the mask of the lanes of the current load whose line lies in that bank. Derived
    /// from the addresses and cached for simulation speed.
    bank_lanes: [u32; MAX_TAG_BANKS],
    /// Mask of the lanes whose line lies in a tag bank that another request already uses in this cycle.
    served: u32,
    /// Contention test, which detects instructions that touch too many lines for the L1D; `None` if no bypass
    /// scheme uses it.
    contention: Option<Contention>,
    /// True if the current instruction contends: it touches at least as many lines as its warp's share of the
    /// L1D.
    contends: bool,
}

impl Coalescer {
    /// Creates an idle coalescer for lines of `line_bytes` bytes. If `by_sector` is true, loads carry the
    /// mask of the sectors that they touch.
    #[must_use]
    pub fn new(line_bytes: u32, line_bits: u32, by_sector: bool) -> Self {
        Self {
            access: WarpAccess::default(),
            slot: 0,
            waiting: 0,
            in_order: false,
            units: Units::default(),
            next_id: 0,
            line_log2: line_bytes.ilog2(),
            line_bits,
            pc_bits: 0,
            by_sector,
            hints: HintShape::NONE,
            outputs: 1,
            banks: None,
            left: u6::default(),
            bank_lanes: [0; MAX_TAG_BANKS],
            served: 0,
            contention: None,
            contends: false,
        }
    }

    /// Sets the number of requests of an L1D load that the coalescer can emit per cycle.
    pub fn widen(&mut self, outputs: u32) {
        self.outputs = outputs;
    }

    /// Makes requests carry a program counter of `pc_bits` bits, or none if `pc_bits` is 0.
    pub fn carry_pc(&mut self, pc_bits: u32) {
        self.pc_bits = pc_bits;
    }

    /// Makes requests carry the given eviction priorities of their instruction.
    pub fn carry_hints(&mut self, hints: HintShape) {
        self.hints = hints;
    }

    /// Sets the word banks that loads of the L1D occupy.
    pub fn set_word_banks(&mut self, banks: WordBanks) {
        self.banks = Some(banks);
    }

    /// True if the coalescer can emit another request of the current load in this cycle.
    #[must_use]
    pub fn has_more(&self) -> bool {
        is_l1d_load(&self.access) && self.waiting & !self.served != 0 && self.has_request()
    }

    /// True if the coalescer can emit a request. The last request of a load is held back until the last cycle
    /// in which the load occupies the word banks.
    #[must_use]
    #[inline(always)]
    pub fn has_request(&self) -> bool {
        self.is_busy() && (!self.is_counting() || !self.is_last())
    }

    /// True if the current load occupies the word banks beyond the next cycle.
    #[must_use]
    #[inline(always)]
    pub fn is_counting(&self) -> bool {
        self.left > u6::new(1)
    }

    /// True if the next request serves all lanes that no request has served yet.
    #[inline(never)]
    fn is_last(&self) -> bool {
        let leader = self.waiting.trailing_zeros() as usize;
        self.in_order || self.waiting & !self.units.with(leader, &self.access.address) == 0
    }

    /// Ends a cycle, after all requests of this cycle have been emitted.
    #[inline(always)]
    pub fn end_cycle(&mut self) {
        if self.banks.is_some() {
            // The number `left` of remaining bank cycles stops at 1 instead of 0. The simulator does not
            // evaluate an idle coalescer in every cycle, so it could miss the last decrement.
            self.left -= u6::new(u8::from(self.is_counting()));
            self.served = 0;
        }
    }

    /// Sets the contention test. From now on, each request includes the result of the test.
    pub fn test_contention(&mut self, contention: Contention) {
        self.contention = Some(contention);
    }

    /// Returns true if the last accepted instruction touches at least as many lines as its warp's share of
    /// the L1D; `None` without a contention test.
    #[must_use]
    pub fn contends(&self) -> Option<bool> {
        self.contention.as_ref().map(|_| self.contends)
    }

    /// Returns the warp slot of the current instruction or, while the coalescer is idle, of the last
    /// instruction.
    #[must_use]
    pub fn warp(&self) -> u8 {
        self.access.warp
    }

    /// True while an instruction has lanes that no request serves yet.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.waiting != 0
    }

    /// Accepts an instruction, whose results are collected in row `slot` of the pending table.
    pub fn take(&mut self, access: &WarpAccess, slot: u8) {
        debug_assert!(
            !self.is_busy() && access.mask != 0,
            "an instruction is accepted only while idle, with an active lane"
        );
        self.waiting = access.mask;
        self.slot = slot;
        if let Some(banks) = &self.banks {
            let none = Occupancy { cycles: u6::default(), lanes: [0; MAX_TAG_BANKS] };
            let is_served = is_l1d_load(access) && !access.uncached;
            let used = if is_served { banks.occupy(&access.address, access.mask, access.size_log2) } else { none };
            (self.left, self.bank_lanes) = (used.cycles, used.lanes);
        }
        self.in_order = is_in_order(&access.address, self.line_log2);
        if !self.in_order || access.space == MemorySpace::Const {
            // A request to constant memory delivers one word; a request to any other memory delivers a line.
            let is_const = access.space == MemorySpace::Const;
            let unit_log2 = if is_const { u32::from(access.size_log2.max(2)) } else { self.line_log2 };
            self.units.take(&access.address, unit_log2);
        }
        self.contends = self.contention.as_ref().is_some_and(|contention| {
            let is_judged = access.kind == AccessKind::Load && access.space == MemorySpace::Global && !access.uncached;
            is_judged && contention.contends(self.lines(access), access.resident)
        });
        self.hold(access);
    }

    /// Counts the lines that an instruction touches; not valid for constant memory.
    fn lines(&self, access: &WarpAccess) -> u32 {
        if self.in_order {
            return 1;
        }
        let (mut lines, mut left) = (0, access.mask);
        while left != 0 {
            left &= !self.units.with(left.trailing_zeros() as usize, &access.address);
            lines += 1;
        }
        lines
    }

    /// Copies those fields of an accepted message that are meaningful for its kind of access.
    fn hold(&mut self, access: &WarpAccess) {
        let WarpAccess {
            kind,
            space,
            uncached,
            hints,
            resident: _,
            warp,
            half: _,
            pc,
            beat: _,
            size_log2,
            mask,
            atomic,
            address,
            data,
            compare,
        } = access;
        let held = &mut self.access;
        (held.kind, held.space, held.uncached) = (*kind, *space, *uncached);
        (held.warp, held.pc, held.size_log2, held.mask) = (*warp, *pc, *size_log2, *mask);
        held.hints = *hints;
        held.address = *address;
        if *kind != AccessKind::Load {
            held.data = *data;
        }
        if kind.is_atomic() {
            debug_assert!(*space == MemorySpace::Global && atomic.ty.bytes() == 1 << size_log2, "{atomic:?}");
            held.atomic = *atomic;
            held.compare = *compare;
        }
    }

    /// True if every lane `i` of the instruction, active or not, accesses word `i` of the same line.
    #[must_use]
    pub fn is_in_order(&self) -> bool {
        self.in_order
    }

    /// Writes the next line request into `request`, a reused buffer that still holds the fields of an older
    /// request.
    pub fn emit(&mut self, request: &mut LineAccess) {
        debug_assert!(self.is_busy());
        let access = &self.access;
        let leader = (self.waiting & !self.served).trailing_zeros() as usize;
        let first = access.address[leader];
        let line = first >> self.line_log2;
        request.atomic = access.atomic;
        let lanes = if access.kind.is_atomic() {
            gather_atomic(access, self.waiting, self.line_log2, request)
        } else if self.in_order && access.space != MemorySpace::Const {
            self.waiting
        } else {
            self.waiting & self.units.with(leader, &access.address)
        };
        request.kind = access.kind;
        request.space = access.space;
        request.uncached = access.uncached;
        request.contends = self.contends;
        request.hints = access.hints.in_shape(self.hints);
        request.id = self.next_id;
        request.warp = access.warp;
        request.pc = if self.pc_bits > 0 { access.pc } else { 0 };
        request.slot = self.slot;
        request.line = line;
        request.lanes = lanes;
        match access.kind {
            AccessKind::Load => {
                request.byte_mask = 0;
                request.data = [0; LINE_BYTES];
                if self.by_sector {
                    request.sectors = touched_sectors(&access.address, lanes, self.line_log2);
                }
            }
            AccessKind::Store if self.in_order && lanes == u32::MAX && access.size_log2 == 2 => {
                request.byte_mask = u128::MAX;
                for (bytes, word) in request.data.as_chunks_mut().0.iter_mut().zip(access.data[0]) {
                    *bytes = word.to_le_bytes();
                }
            }
            AccessKind::Store => {
                request.data = [0; LINE_BYTES];
                request.byte_mask = gather(access, lanes, self.line_log2, &mut request.data);
            }
            AccessKind::Atomic | AccessKind::Reduce => {}
        }
        self.waiting &= !lanes;
        self.next_id = self.next_id.wrapping_add(1);
        if self.banks.is_some() {
            let bank = self.bank_lanes.iter().find(|bank| *bank >> leader & 1 != 0);
            self.served |= bank.copied().unwrap_or(0);
        }
    }

    /// Adds to the hardware description: the instruction register and the comparators.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self {
            access,
            slot,
            waiting,
            in_order: _,
            units: _,
            next_id,
            line_log2,
            line_bits,
            pc_bits,
            by_sector: _,
            hints,
            outputs,
            banks,
            left,
            bank_lanes: _,
            served: _,
            contention,
            contends,
        } = self;
        let addr_bits = *line_bits + *line_log2;
        to.state("kind", access.kind);
        to.state("space", access.space);
        to.flag("uncached", access.uncached);
        access.hints.fields(hints, to);
        to.sized("warp", u64::from(access.warp), 6);
        if *pc_bits > 0 {
            to.sized("pc", u64::from(access.pc), *pc_bits);
        }
        // The size needs a third bit in machines whose L1D has word banks, because only they allow accesses
        // of 16 bytes per lane.
        to.sized("size_log2", u64::from(access.size_log2), 2 + u32::from(banks.is_some()));
        to.sized("slot", u64::from(*slot), 6);
        to.bits("waiting", *waiting);
        to.bits("next_id", *next_id);
        to.sized_lanes("address", access.address, addr_bits);
        to.lanes("data", access.data.as_flattened().iter().copied());
        access.atomic.fields(&(), to);
        to.lanes("compare", access.compare.as_flattened().iter().copied());
        let lanes = LANES as u32;
        to.logic("leader", Logic::PriorityEncoder { inputs: lanes });
        to.logic("first", Logic::Mux { ways: lanes, width: addr_bits });
        to.logic("same_line", Logic::Comparator { width: addr_bits - 2, count: lanes });
        for output in 1..*outputs {
            to.parts("beside", output, |to| {
                to.logic("leader", Logic::PriorityEncoder { inputs: lanes });
                to.logic("first", Logic::Mux { ways: lanes, width: addr_bits });
                to.logic("same_line", Logic::Comparator { width: *line_bits, count: lanes });
            });
        }
        // Comparators that find lanes of an atomic which access the same word, and which separate requests
        // therefore serve.
        to.logic("same_word", Logic::Comparator { width: *line_log2, count: lanes * (lanes - 1) / 2 });
        // For each byte that a store or an atomic sends, this logic selects the highest lane that writes the
        // byte. It does the same for the comparison operands of a compare-and-swap.
        let line_bytes = 1 << *line_log2;
        to.logic("place", Logic::Decoder { outputs: lanes * line_bytes });
        to.logic("bytes", Logic::Mux { ways: lanes, width: line_bytes * 8 });
        to.logic("compared", Logic::Mux { ways: 2, width: lanes * line_bytes * 8 });
        if let Some(banks) = banks {
            to.bits("left", *left);
            to.part("banks", |to| banks.describe(to));
        }
        if let Some(contention) = contention {
            to.flag("contends", *contends);
            to.part("contention", |to| contention.describe(to));
        }
    }
}

/// True if the access is a load that uses the L1D or its bypass path.
fn is_l1d_load(access: &WarpAccess) -> bool {
    access.kind == AccessKind::Load && matches!(access.space, MemorySpace::Global | MemorySpace::Local)
}

/// Number of the memory unit that each lane accesses: a line, or a word of constant memory. Lanes that access
/// the same unit share a request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Units {
    /// For each lane, the low 32 bits of the number of the unit that it accesses.
    low: [u32; LANES],
    /// True if the unit numbers of the lanes differ in bits above the low 32.
    is_far: bool,
    log2: u32,
}

/// For each lane `i`, the mask in which only bit `i` is set.
const LANE_BITS: [u32; LANES] = {
    let mut bits = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

impl Units {
    #[inline(never)]
    fn take(&mut self, address: &[u64; LANES], log2: u32) {
        let first = address[0] >> log2;
        let mut spread = 0;
        for (low, address) in self.low.iter_mut().zip(address) {
            let unit = address >> log2;
            *low = unit as u32;
            spread |= unit ^ first;
        }
        self.is_far = spread >> u32::BITS != 0;
        self.log2 = log2;
    }

    /// Returns the mask of the lanes that access the same unit as lane `leader`.
    #[inline]
    fn with(&self, leader: usize, address: &[u64; LANES]) -> u32 {
        if self.is_far {
            return self.with_far(leader, address);
        }
        let unit = self.low[leader];
        // The loop has no branch, so that the compiler vectorizes the comparisons.
        self.low.iter().zip(&LANE_BITS).fold(0, |all, (low, bit)| all | if *low == unit { *bit } else { 0 })
    }

    #[inline(never)]
    fn with_far(&self, leader: usize, address: &[u64; LANES]) -> u32 {
        let unit = address[leader] >> self.log2;
        (0..LANES).filter(|&lane| address[lane] >> self.log2 == unit).fold(0, |all, lane| all | 1 << lane)
    }
}

/// Returns the mask of the sectors that `lanes` access in their line. An access of one lane is aligned, so it
/// lies in one sector.
#[inline(never)]
fn touched_sectors(address: &[u64; LANES], lanes: u32, line_log2: u32) -> u8 {
    let within_line = (1 << line_log2) - 1;
    let sector = |lane: usize| (address[lane] & within_line) / u64::from(SECTOR_BYTES);
    (0..LANES).filter(|lane| lanes >> lane & 1 != 0).fold(0, |sectors, lane| sectors | 1 << sector(lane))
}

/// For each `i`, the byte offset of 4-byte word `i` in a line.
const WORDS: [u64; LANES] = {
    let mut words = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        words[lane] = lane as u64 * 4;
        lane += 1;
    }
    words
};

/// True if every lane `i` accesses word `i` of the same line.
// Not inlined, because the compiler does not vectorize the loop where it is inlined.
#[inline(never)]
fn is_in_order(address: &[u64; LANES], line_log2: u32) -> bool {
    let in_line = (1 << line_log2) - 1;
    // Lane 0 is compared too, although it defines the line, so that the loop works on whole vectors.
    let line = address[0] & !in_line;
    // Four independent accumulators, which fit the vector registers of the CPU that runs the simulator.
    let mut disorder = [0; 4];
    for (lanes, words) in address.as_chunks::<4>().0.iter().zip(WORDS.as_chunks::<4>().0) {
        for ((disorder, at), word) in disorder.iter_mut().zip(lanes).zip(words) {
            *disorder |= at ^ word ^ line;
        }
    }
    disorder == [0; 4] && in_line >= WORDS[LANES - 1]
}

/// Copies the bytes stored by the lanes in `lanes` to their positions in the line. Returns the mask of these
/// bytes.
fn gather(access: &WarpAccess, lanes: u32, line_log2: u32, data: &mut [u8; LINE_BYTES]) -> u128 {
    let mut byte_mask = 0;
    let bytes = 1usize << access.size_log2;
    let lane_mask = (1u128 << bytes) - 1;
    let mut left = lanes;
    while left != 0 {
        let lane = left.trailing_zeros() as usize;
        left &= left - 1;
        let offset = (access.address[lane] & ((1 << line_log2) - 1)) as usize;
        put(&mut data[offset..offset + bytes], &access.data, lane);
        byte_mask |= lane_mask << offset;
    }
    byte_mask
}

/// Writes the operands and the byte mask of the next request of an atomic. Returns the mask of the lanes that
/// the request serves: the waiting lanes in the line of the first waiting lane, at most one per word.
#[inline(never)]
fn gather_atomic(access: &WarpAccess, waiting: u32, line_log2: u32, request: &mut LineAccess) -> u32 {
    request.data = [0; LINE_BYTES];
    request.byte_mask = 0;
    let bytes = 1 << access.size_log2;
    let half = 1 << (line_log2 - 1);
    let compares = access.atomic.f == AtomicFn::CompareSwap;
    let reach_log2 = line_log2 - u32::from(compares);
    let first = access.address[waiting.trailing_zeros() as usize];
    let (mut lanes, mut left) = (0, waiting);
    while left != 0 {
        let lane = left.trailing_zeros() as usize;
        left &= left - 1;
        let address = access.address[lane];
        let offset = (address & ((1 << line_log2) - 1)) as usize;
        if address >> reach_log2 != first >> reach_log2 || request.byte_mask >> offset & 1 != 0 {
            continue;
        }
        lanes |= 1 << lane;
        request.byte_mask |= ((1 << bytes) - 1) << offset;
        put(&mut request.data[offset..offset + bytes], &access.data, lane);
        if compares {
            let other = offset ^ half;
            put(&mut request.data[other..other + bytes], &access.compare, lane);
        }
    }
    lanes
}

/// Fills `to` with the lowest bytes of the value that lane `lane` stores.
fn put(to: &mut [u8], words: &[[u32; LANES]; 2], lane: usize) {
    let value = u64::from(words[0][lane]) | u64::from(words[1][lane]) << 32;
    to.copy_from_slice(&value.to_le_bytes()[..to.len()]);
}

#[cfg(test)]
mod tests {
    use super::super::config::WordBanksConfig;
    use super::*;
    use crate::kernel::{Field, Fields};

    fn split(access: WarpAccess) -> Vec<LineAccess> {
        let mut coalescer = Coalescer::new(128, 25, true);
        coalescer.take(&access, 3);
        let mut lines = Vec::new();
        while coalescer.is_busy() {
            let mut line = LineAccess::default();
            coalescer.emit(&mut line);
            lines.push(line);
        }
        lines
    }

    /// Visitor of the fields of a message, which collects the width of each field named `pc`.
    #[derive(Default)]
    struct PcWidths(Vec<u32>);

    impl Fields for PcWidths {
        fn field(&mut self, field: Field) {
            self.0.extend((field.name == "pc").then_some(field.width));
        }
        fn wide(&mut self, _: &'static str, _: &[u8]) {}
    }

    #[test]
    fn a_request_carries_a_program_counter_of_the_given_width_or_none() {
        for (pc_bits, carried, widths) in [(0, 0, &[][..]), (9, 300, &[9])] {
            let mut coalescer = Coalescer::new(128, 25, true);
            coalescer.carry_pc(pc_bits);
            coalescer.take(&WarpAccess { pc: 300, ..load(1, |_| 0) }, 3);
            let mut request = LineAccess { pc: 7, ..LineAccess::default() };
            coalescer.emit(&mut request);
            assert_eq!(request.pc, carried);
            let shape = LineShape {
                line_bits: 25,
                line_bytes: 128,
                pc_bits,
                judged: false,
                hints: HintShape::NONE,
                sectored: false,
                data_beside: false,
            };
            let mut found = PcWidths::default();
            request.fields(&shape, &mut found);
            assert_eq!(found.0, widths);
        }
    }

    fn load(mask: u32, address: impl Fn(u64) -> u64) -> WarpAccess {
        let address = std::array::from_fn(|lane| address(lane as u64));
        WarpAccess { size_log2: 2, mask, address, ..WarpAccess::default() }
    }

    #[test]
    fn a_unit_stride_load_is_one_line() {
        let lines = split(load(u32::MAX, |lane| 0x1000 + 4 * lane));
        assert_eq!(lines.len(), 1);
        assert_eq!((lines[0].line, lines[0].lanes), (0x20, u32::MAX));
    }

    #[test]
    fn lines_that_differ_in_their_highest_bits_alone_are_two() {
        // The numbers of the two lines differ by 2^41, so their low 32 bits are equal. A comparison of the
        // low bits alone would merge the lines.
        let lines = split(load(0b111, |lane| 0x1000 + ((lane % 2) << 48)));
        let seen: Vec<_> = lines.iter().map(|line| (line.line, line.lanes)).collect();
        assert_eq!(seen, [(0x20, 0b101), (0x20 + (1 << 41), 0b010)]);
    }

    #[test]
    fn a_load_tells_the_sectors_that_its_lanes_touch() {
        let sectors = |access| split(access).iter().map(|line| line.sectors).collect::<Vec<_>>();
        assert_eq!(sectors(load(u32::MAX, |lane| 0x1000 + 4 * lane)), [0b1111]);
        assert_eq!(sectors(load(0b101, |lane| 0x1000 + 28 * lane)), [0b0011]);
        assert_eq!(sectors(load(0b11, |lane| 0x1060 + 32 * lane)), [0b1000, 0b0001]);
    }

    #[test]
    fn a_row_stride_load_is_32_lines_in_lane_order() {
        let lines = split(load(u32::MAX, |lane| 0x1000 + 4096 * lane));
        assert_eq!(lines.len(), 32);
        assert!(lines.iter().enumerate().all(|(i, l)| l.lanes == 1 << i && l.line == 0x20 + 32 * i as u64));
    }

    #[test]
    fn inactive_lanes_ask_for_nothing() {
        let lines = split(load(0b1010, |lane| lane * 128));
        let seen: Vec<_> = lines.iter().map(|l| (l.line, l.lanes)).collect();
        assert_eq!(seen, [(1, 0b10), (3, 0b1000)]);
    }

    #[test]
    fn a_store_carries_its_bytes_and_the_higher_lane_wins_a_conflict() {
        let mut store = load(0b111, |lane| 0x80 + [8, 12, 8, 0][lane.min(3) as usize]);
        store.kind = AccessKind::Store;
        store.data[0][..3].copy_from_slice(&[0x1111_1111, 0x2222_2222, 0x3333_3333]);
        let lines = split(store);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].byte_mask, 0xff00);
        assert_eq!(lines[0].data[8..16], [0x33, 0x33, 0x33, 0x33, 0x22, 0x22, 0x22, 0x22]);
    }

    #[test]
    fn of_loads_of_the_l1d_alone_several_requests_may_leave_in_a_cycle() {
        let more = |kind, space| {
            let mut coalescer = Coalescer::new(128, 25, true);
            coalescer.take(&WarpAccess { kind, space, ..load(0b11, |lane| lane * 128) }, 0);
            let mut request = LineAccess::default();
            coalescer.emit(&mut request);
            let extra = coalescer.has_more();
            coalescer.emit(&mut request);
            assert!(!coalescer.has_more(), "no lane is left");
            extra
        };
        for space in [MemorySpace::Global, MemorySpace::Local] {
            assert!(more(AccessKind::Load, space), "{space:?}");
            assert!(!more(AccessKind::Store, space), "{space:?}");
        }
        assert!(!more(AccessKind::Load, MemorySpace::Const) && !more(AccessKind::Load, MemorySpace::Texture));
        assert!(!more(AccessKind::Atomic, MemorySpace::Global) && !more(AccessKind::Reduce, MemorySpace::Global));
    }

    /// Returns, for each cycle, the lane masks of the requests that the coalescer emits. The first element is
    /// the cycle after the load was accepted.
    fn leave_by_cycle(access: &WarpAccess) -> Vec<Vec<u32>> {
        let mut coalescer = Coalescer::new(128, 25, true);
        coalescer.set_word_banks(WordBanks::new(&WordBanksConfig::default(), 128, 25));
        coalescer.take(access, 3);
        let mut cycles = Vec::new();
        while coalescer.is_busy() {
            let mut requests = Vec::new();
            if coalescer.has_request() {
                let mut line = LineAccess::default();
                coalescer.emit(&mut line);
                requests.push(line.lanes);
                while coalescer.has_more() && requests.len() < 4 {
                    coalescer.emit(&mut line);
                    requests.push(line.lanes);
                }
            }
            coalescer.end_cycle();
            cycles.push(requests);
        }
        cycles
    }

    #[test]
    fn with_word_banks_the_lines_of_a_cycle_lie_in_different_tag_banks() {
        // Lines 0, 5 and 15 lie in tag bank 0, lines 1 and 4 in bank 2 and line 2 in bank 3. At most one line
        // per bank is served in a cycle, so the three lines of bank 0 take three cycles.
        let lines = [0, 5, 15, 1, 2, 4];
        let access = load(0b11_1111, |lane| 128 * lines[lane as usize % 6] + 4 * lane);
        assert_eq!(leave_by_cycle(&access), [vec![0b1, 0b1000, 0b1_0000], vec![0b10, 0b10_0000], vec![0b100]]);
    }

    #[test]
    fn with_word_banks_the_last_line_waits_for_the_last_word() {
        // The three lines lie in three different tag banks, but their words lie in the same data bank. The
        // load therefore takes three cycles, and its last request is emitted in the third.
        let access = load(0b111, |lane| [0, 128, 256][lane.min(2) as usize]);
        assert_eq!(leave_by_cycle(&access), [vec![0b1, 0b10], vec![], vec![0b100]]);
        assert_eq!(leave_by_cycle(&load(u32::MAX, |lane| 4 * lane)), [vec![u32::MAX]]);
        let wide = WarpAccess { size_log2: 3, ..load(u32::MAX, |lane| 8 * lane) };
        assert_eq!(leave_by_cycle(&wide), [vec![0xffff], vec![0xffff_0000]]);
    }

    #[test]
    fn word_banks_do_not_hold_what_does_not_read_them() {
        let access = load(0b1111, |lane| 1 << 15 << lane);
        assert_eq!(leave_by_cycle(&access).len(), 4);
        for other in [
            WarpAccess { uncached: true, ..access.clone() },
            WarpAccess { kind: AccessKind::Store, ..access.clone() },
            WarpAccess { space: MemorySpace::Texture, ..access.clone() },
        ] {
            let requests: Vec<_> = leave_by_cycle(&other).iter().map(Vec::len).collect();
            let expected = if other.uncached { vec![4] } else { vec![1; 4] };
            assert_eq!(requests, expected, "{:?} {:?}", other.kind, other.space);
        }
    }

    #[test]
    fn requests_are_numbered_without_gaps() {
        let lines = split(load(0b1011, |lane| lane * 128));
        assert_eq!(lines.iter().map(|l| l.id).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
