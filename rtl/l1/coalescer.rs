//! # Coalescer
//! Splits one warp memory instruction into line requests, one a cycle: the lowest lane that still
//! waits names the line, every waiting lane in that line joins. Where the L1D looks several lines of a load up in a
//! cycle (`l1.lookups`), as many of a load leave in one, each of the lanes that those before it have left.
//!
//! | port   | dir | payload      | contract                                                    |
//! |--------|-----|--------------|-------------------------------------------------------------|
//! | `take` | in  | `WarpAccess` | only while idle; at least one lane active                   |
//! | `emit` | out | `LineAccess` | one a cycle while busy, first line first                    |
//! | `emit` | out | `LineAccess` | further ones while `has_more` and there are outputs, one each |
//!
//! One cycle: `emit`, then `take`, if no lane is left of the instruction before. Stores and atomics have one output: most of
//! the coalescer is the network that brings their bytes to their places in a line.
//! Latency: an instruction taken in one cycle gives its first request in the next. Lines come in
//! the order of their lowest lanes, so a store's bytes and a load's lanes are deterministic. Of two
//! lanes of one store that write the same byte the higher lane wins.
//!
//! Atomics: no two lanes of a request name the same word, so that lanes of one word take effect in
//! lane order, request after request. A compare-and-swap brings two operands a lane; a request
//! serves lanes of one half of the line and carries the values to compare in the other half.
//!
//! Constants: one word a request goes to all lanes that name it, as a constant cache broadcasts.
//! Where loads are judged, [`super::bypass::contention`] counts the lines of an instruction as it is taken, and each of its
//! requests says what came of it.
//! Area: 32 comparators of a line address, one priority encoder over the lanes, for each output.
//!
//! Part of `rtl/l1/lsu.rs`.

use isa::lanes::AtomicFn;
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::access::{AccessKind, LANES, MemorySpace, WarpAccess};
use super::bypass::contention::Contention;
use crate::cells::atomic::AtomicOp;
use crate::cells::line::{LINE_BYTES, SECTOR_BYTES, SECTORS};
use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic, Payload};

/// One line request of one warp instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = LineShape)]
pub struct LineAccess {
    /// What it does.
    #[payload(state)]
    pub kind: AccessKind,
    /// Address space.
    #[payload(state)]
    pub space: MemorySpace,
    /// True if the L1 must not be looked up for it.
    pub uncached: bool,
    /// True if its line must not come into the L1, because its instruction contends.
    #[payload(only(shape.judged))]
    pub contends: bool,
    /// Running number in this SM.
    pub id: u32,
    /// Warp slot.
    #[payload(width = 6)]
    pub warp: u8,
    /// Program counter, for statistics: no hardware carries it on.
    #[payload(skip)]
    pub pc: u32,
    /// Row of the pending table.
    #[payload(width = 6)]
    pub slot: u8,
    /// Line address.
    #[payload(width = shape.line_bits)]
    pub line: u64,
    /// Lanes served.
    pub lanes: u32,
    /// Sectors that a load touches, a bit each; of no meaning if only lines are read.
    #[payload(width = SECTORS)]
    pub sectors: u8,
    /// What an atomic does; of no meaning otherwise.
    #[payload(inside)]
    pub atomic: AtomicOp,
    /// Bytes stored, or the words of an atomic.
    #[payload(only(!shape.data_beside), bytes = shape.line_bytes / 8)]
    pub byte_mask: u128,
    /// Data stored, or the operands of an atomic as [`AtomicOp::perform`] finds them.
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

/// Widths of what names a line and carries its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineShape {
    /// Bits of a line address.
    pub line_bits: u32,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Loads tell whether they contend.
    pub judged: bool,
    /// A miss brings sectors.
    pub sectored: bool,
    /// The bytes stored, and which they are, lie in a memory beside the queues.
    pub data_beside: bool,
}

/// The instruction being split.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Coalescer {
    access: WarpAccess,
    slot: u8,
    waiting: u32,
    /// Lane `i` names word `i` of one line: follows from the addresses, kept for the host's speed.
    in_order: bool,
    /// Which lanes go together, unless they are in order: follows from the addresses likewise.
    units: Units,
    next_id: u32,
    line_log2: u32,
    line_bits: u32,
    /// Loads tell which sectors they touch.
    by_sector: bool,
    /// Requests of a load of the L1D in one cycle.
    outputs: u32,
    /// Tells which loads had better leave the L1D alone.
    contention: Option<Contention>,
    /// The instruction is one of these.
    contends: bool,
}

impl Coalescer {
    /// An idle coalescer for lines of `line_bytes`; `by_sector` if loads are to tell which sectors they
    /// touch.
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
            by_sector,
            outputs: 1,
            contention: None,
            contends: false,
        }
    }

    /// Lets so many requests of a load of the L1D leave in one cycle.
    pub fn widen(&mut self, outputs: u32) {
        self.outputs = outputs;
    }

    /// Whether a request may leave beside one that has left in this cycle.
    #[must_use]
    pub fn has_more(&self) -> bool {
        let &WarpAccess { kind, space, .. } = &self.access;
        self.busy() && kind == AccessKind::Load && matches!(space, MemorySpace::Global | MemorySpace::Local)
    }

    /// Has loads say whether they contend for the L1D, as a test says.
    pub fn judge(&mut self, contention: Contention) {
        self.contention = Some(contention);
    }

    /// Whether the instruction that was taken last contends; `None` if that is not judged.
    #[must_use]
    pub fn contends(&self) -> Option<bool> {
        self.contention.as_ref().map(|_| self.contends)
    }

    /// The warp of the instruction that is or was last in work.
    #[must_use]
    pub fn warp(&self) -> u8 {
        self.access.warp
    }

    /// True while an instruction has lanes left to send.
    #[must_use]
    pub fn busy(&self) -> bool {
        self.waiting != 0
    }

    /// Takes an instruction whose pending-table row is `slot`.
    pub fn take(&mut self, access: &WarpAccess, slot: u8) {
        debug_assert!(!self.busy() && access.mask != 0, "an instruction is taken while idle, with a lane");
        self.waiting = access.mask;
        self.slot = slot;
        self.in_order = in_order(&access.address, self.line_log2);
        if !self.in_order || access.space == MemorySpace::Const {
            // Constant memory gives a word at a time, all other memory a line.
            let is_const = access.space == MemorySpace::Const;
            let unit_log2 = if is_const { u32::from(access.size_log2.max(2)) } else { self.line_log2 };
            self.units.take(&access.address, unit_log2);
        }
        self.contends = self.contention.as_ref().is_some_and(|contention| {
            let is_judged = access.kind == AccessKind::Load && access.space == MemorySpace::Global && !access.uncached;
            is_judged && contention.judge(self.lines(access), access.resident)
        });
        self.hold(access);
    }

    /// Lines that an instruction of other than constant memory touches.
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

    /// Copies what has a meaning for the access.
    fn hold(&mut self, access: &WarpAccess) {
        let WarpAccess {
            kind,
            space,
            uncached,
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

    /// True if lane `i` of the instruction names word `i` of one line, whether or not it is active.
    #[must_use]
    pub fn in_order(&self) -> bool {
        self.in_order
    }

    /// Writes the next line request over an old one.
    pub fn emit(&mut self, request: &mut LineAccess) {
        debug_assert!(self.busy());
        let access = &self.access;
        let leader = self.waiting.trailing_zeros() as usize;
        let first = access.address[leader];
        let line = first >> self.line_log2;
        let lanes = if access.kind.is_atomic() {
            request.atomic = access.atomic;
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
        request.id = self.next_id;
        request.warp = access.warp;
        request.pc = access.pc;
        request.slot = self.slot;
        request.line = line;
        request.lanes = lanes;
        match access.kind {
            AccessKind::Load => {
                request.byte_mask = 0;
                request.data = [0; LINE_BYTES];
                if self.by_sector {
                    request.sectors = touched(&access.address, lanes, self.line_log2);
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
    }

    /// Lists the instruction register and the comparators.
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
            by_sector: _,
            outputs,
            contention,
            contends,
        } = self;
        let addr_bits = *line_bits + *line_log2;
        to.state("kind", access.kind);
        to.state("space", access.space);
        to.flag("uncached", access.uncached);
        to.sized("warp", u64::from(access.warp), 6);
        to.sized("size_log2", u64::from(access.size_log2), 2);
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
        // Atomics of one word go one after another.
        to.logic("same_word", Logic::Comparator { width: *line_log2, count: lanes * (lanes - 1) / 2 });
        // The bytes of the line, each from the last lane that writes it: data, and values to compare.
        let line_bytes = 1 << *line_log2;
        to.logic("place", Logic::Decoder { outputs: lanes * line_bytes });
        to.logic("bytes", Logic::Mux { ways: lanes, width: line_bytes * 8 });
        to.logic("compared", Logic::Mux { ways: 2, width: lanes * line_bytes * 8 });
        if let Some(contention) = contention {
            to.flag("contends", *contends);
            to.part("contention", |to| contention.describe(to));
        }
    }
}

/// The unit of memory that each lane names: lanes that name one go together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Units {
    /// Low bits of the units' numbers.
    low: [u32; LANES],
    /// Their other bits differ.
    is_far: bool,
    log2: u32,
}

/// The bit of each lane.
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

    /// Lanes that name the unit of `leader`.
    #[inline]
    fn with(&self, leader: usize, address: &[u64; LANES]) -> u32 {
        if self.is_far {
            return self.with_far(leader, address);
        }
        let unit = self.low[leader];
        // No branch: the host's compiler compares the lanes side by side.
        self.low.iter().zip(&LANE_BITS).fold(0, |all, (low, bit)| all | if *low == unit { *bit } else { 0 })
    }

    #[inline(never)]
    fn with_far(&self, leader: usize, address: &[u64; LANES]) -> u32 {
        let unit = address[leader] >> self.log2;
        (0..LANES).filter(|&lane| address[lane] >> self.log2 == unit).fold(0, |all, lane| all | 1 << lane)
    }
}

/// Sectors of their line that `lanes` name, a bit each; an aligned access lies in one.
#[inline(never)]
fn touched(address: &[u64; LANES], lanes: u32, line_log2: u32) -> u8 {
    let within_line = (1 << line_log2) - 1;
    let sector = |lane: usize| (address[lane] & within_line) / u64::from(SECTOR_BYTES);
    (0..LANES).filter(|lane| lanes >> lane & 1 != 0).fold(0, |sectors, lane| sectors | 1 << sector(lane))
}

/// Byte offset of word `i`.
const WORDS: [u64; LANES] = {
    let mut words = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        words[lane] = lane as u64 * 4;
        lane += 1;
    }
    words
};

/// Lane `i` names word `i` of one line.
// Kept apart from what follows it, with which the host's compiler makes scalars of its vectors.
#[inline(never)]
fn in_order(address: &[u64; LANES], line_log2: u32) -> bool {
    let in_line = (1 << line_log2) - 1;
    // Not the first address itself: one lane less to compare would break the vectors up.
    let line = address[0] & !in_line;
    // Four sums side by side, which the host's vector registers hold.
    let mut disorder = [0; 4];
    for (lanes, words) in address.as_chunks::<4>().0.iter().zip(WORDS.as_chunks::<4>().0) {
        for ((disorder, at), word) in disorder.iter_mut().zip(lanes).zip(words) {
            *disorder |= at ^ word ^ line;
        }
    }
    disorder == [0; 4] && in_line >= WORDS[LANES - 1]
}

/// Places the bytes that `lanes` store in their line; returns their mask.
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

/// Forms the part of a request of an atomic that depends on its lanes, and returns them: of the
/// lanes that wait, those in the line of the first, none of whose words another of them names.
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

/// Writes the low bytes of a lane's words.
fn put(to: &mut [u8], words: &[[u32; LANES]; 2], lane: usize) {
    let value = u64::from(words[0][lane]) | u64::from(words[1][lane]) << 32;
    to.copy_from_slice(&value.to_le_bytes()[..to.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(access: WarpAccess) -> Vec<LineAccess> {
        let mut coalescer = Coalescer::new(128, 25, true);
        coalescer.take(&access, 3);
        let mut lines = Vec::new();
        while coalescer.busy() {
            let mut line = LineAccess::default();
            coalescer.emit(&mut line);
            lines.push(line);
        }
        lines
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
        // 2^41 lines of 128 bytes, whose numbers are alike in their low 32 bits.
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
            let beside = coalescer.has_more();
            coalescer.emit(&mut request);
            assert!(!coalescer.has_more(), "no lane is left");
            beside
        };
        for space in [MemorySpace::Global, MemorySpace::Local] {
            assert!(more(AccessKind::Load, space), "{space:?}");
            assert!(!more(AccessKind::Store, space), "{space:?}");
        }
        assert!(!more(AccessKind::Load, MemorySpace::Const) && !more(AccessKind::Load, MemorySpace::Texture));
        assert!(!more(AccessKind::Atomic, MemorySpace::Global) && !more(AccessKind::Reduce, MemorySpace::Global));
    }

    #[test]
    fn requests_are_numbered_without_gaps() {
        let lines = split(load(0b1011, |lane| lane * 128));
        assert_eq!(lines.iter().map(|l| l.id).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
