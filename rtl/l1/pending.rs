//! # Pending table
//! Holds one row per warp memory instruction, from its first line request to its reply. A load or an atomic
//! collects the bytes of its lanes as lines arrive; a store or a reduction collects acknowledgements. Line
//! requests carry the row and the lanes that they serve, so the results may arrive in any order.
//!
//! | port          | dir | payload            | contract                                        |
//! |---------------|-----|--------------------|-------------------------------------------------|
//! | `alloc`       | in  | `WarpAccess`       | only while a row is free                        |
//! | `lanes_in`    | out | row, lanes, sectors | the subset of the lanes that access bytes of the sectors |
//! | `deliver`     | in  | row, lanes, line   | the lanes wait for this line                    |
//! | `acknowledge` | in  | row, lanes         | marks lanes that wait for no data as done       |
//! | `take`        | out | `WarpReply`        | frees a row whose lanes are all done            |
//!
//! In one cycle, in this order:
//! 1. `take`.
//! 2. `deliver` and `acknowledge`: at most one reply from memory, one load that waited for its line, and one
//!    access.
//! 3. `alloc`, which can use the row that `take` freed.
//!
//! Latency: the reply of a row that is completed in one cycle can be sent in the next. Replies of complete
//! rows are sent in round-robin order, so that none starves. The reply to a load of 16 bytes per lane takes
//! two beats, and the row is free after the second.
//!
//! Part of `rtl/l1/lsu.rs`.
//! Twin: none; `tb/l1/scoreboard.rs` predicts the replies to the core.
//! Bench: its own tests, `tb/l1/lsu.rs`, and `tb/hdl/l1/pending.rs` with `rtl/hdl/l1/ws_l1_pending.sv`.

use arbitrary_int::u2;
use serde::{Deserialize, Serialize};

use super::access::{AccessKind, AccessShape, LANES, WarpAccess, WarpReply, WarpReplyKind};
use crate::cells::line::{LINE_BYTES, SECTOR_BYTES};
use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic};

/// Largest number of 4-byte words per lane.
const MAX_WORDS: usize = 4;
/// log2 of the largest number of bytes per lane in a reply.
const REPLY_LOG2: u8 = 3;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Row {
    kind: AccessKind,
    warp: u8,
    half: u8,
    pc: u32,
    mask: u32,
    left: u32,
    beat: u2,
    size_log2: u8,
    /// For each lane, the byte offset of its access within the line.
    offset: [u8; LANES],
    /// True if every lane `i` reads word `i` of the same line. Derived from the addresses and cached for
    /// simulation speed.
    in_order: bool,
    /// Data words 0 to 3 of each lane. Words 2 and 3 are used only by loads of 16 bytes per lane.
    data: [[u32; LANES]; MAX_WORDS],
    /// Cycle of arrival and cycle of the last lookup of the load, for statistics.
    times: Times,
}

/// Times of events in the service of a load; statistics only, no hardware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Cycle in which the load arrived in the LSU.
    pub begun: u64,
    /// Cycle in which the most recent line request of the load was looked up or was sent on the bypass path.
    pub looked_up: u64,
}

/// Byte offset of each lane's access within the line, for an access in which every lane `i` reads 4-byte word
/// `i`.
const IN_ORDER: [u8; LANES] = {
    let mut offset = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        offset[lane] = lane as u8 * 4;
        lane += 1;
    }
    offset
};

/// Table of outstanding warp memory instructions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pending {
    rows: Box<[Row]>,
    used: u64,
    done: u64,
    last_taken: u8,
    offset_bits: u32,
    shape: AccessShape,
}

impl Pending {
    /// Creates an empty pending table of `rows` rows (1 to 64) for lines of `line_bytes` bytes.
    #[must_use]
    pub fn new(rows: u32, line_bytes: u32, shape: AccessShape) -> Self {
        let row = Row {
            kind: AccessKind::Load,
            warp: 0,
            half: 0,
            pc: 0,
            mask: 0,
            left: 0,
            beat: u2::default(),
            size_log2: 0,
            offset: [0; LANES],
            in_order: false,
            data: [[0; LANES]; MAX_WORDS],
            times: Times::default(),
        };
        Self {
            rows: vec![row; rows as usize].into(),
            used: 0,
            done: 0,
            last_taken: 0,
            offset_bits: line_bytes.ilog2(),
            shape,
        }
    }

    /// Returns the number of the lowest free row of the pending table, if there is one.
    #[must_use]
    pub fn free(&self) -> Option<u8> {
        let row = (!self.used).trailing_zeros();
        (row < self.rows.len() as u32).then_some(row as u8)
    }

    /// True if no memory instruction is outstanding.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Allocates a row for an instruction that arrives in this cycle. `in_order` is true if every lane `i`
    /// accesses word `i` of the same line.
    pub fn alloc(&mut self, slot: u8, access: &WarpAccess, in_order: bool, cycle: u64) {
        debug_assert!(self.used >> slot & 1 == 0);
        self.used |= 1 << slot;
        let row = &mut self.rows[usize::from(slot)];
        row.kind = access.kind;
        row.warp = access.warp;
        row.half = access.half;
        row.pc = access.pc;
        row.mask = access.mask;
        row.left = access.mask;
        (row.beat, row.size_log2) = (access.beat, access.size_log2);
        row.in_order = in_order;
        row.times = Times { begun: cycle, looked_up: cycle };
        if in_order {
            row.offset = IN_ORDER;
        } else {
            let in_line = (1u64 << self.offset_bits) - 1;
            row.offset = access.address.map(|address| (address & in_line) as u8);
        }
    }

    /// Returns the warp slot of the instruction in row `slot`.
    #[must_use]
    pub fn warp(&self, slot: u8) -> u8 {
        self.rows[usize::from(slot)].warp
    }

    /// Returns the program counter of the instruction in row `slot`.
    #[inline]
    #[must_use]
    pub fn pc(&self, slot: u8) -> u32 {
        self.rows[usize::from(slot)].pc
    }

    /// Returns the subset of `lanes` that access bytes of the sectors `sectors` of their line.
    #[must_use]
    pub fn lanes_in(&self, slot: u8, lanes: u32, sectors: u8) -> u32 {
        let offset = &self.rows[usize::from(slot)].offset;
        let is_in = |lane: usize| sectors >> (u32::from(offset[lane]) / SECTOR_BYTES) & 1 != 0;
        (0..LANES).filter(|&lane| lanes >> lane & 1 != 0 && is_in(lane)).fold(0, |all, lane| all | 1 << lane)
    }

    /// Copies the bytes that `lanes` access in a line to row `slot`, which belongs to a load or an atomic.
    /// Marks these lanes as done.
    pub fn deliver(&mut self, slot: u8, lanes: u32, line: &[u8; LINE_BYTES]) {
        let row = &mut self.rows[usize::from(slot)];
        debug_assert!(brings_data(row.kind) && row.left & lanes == lanes, "each lane is answered once");
        let mut todo = lanes;
        match row.size_log2 {
            // Accesses of 4 or more bytes per lane copy whole words. Only narrower accesses need single
            // bytes.
            2 if row.in_order && lanes == u32::MAX => {
                for (word, bytes) in row.data[0].iter_mut().zip(line.as_chunks().0) {
                    *word = u32::from_le_bytes(*bytes);
                }
            }
            2 => {
                while todo != 0 {
                    let lane = todo.trailing_zeros() as usize;
                    todo &= todo - 1;
                    row.data[0][lane] = word(line, row.offset[lane] / 4);
                }
            }
            3 => {
                while todo != 0 {
                    let lane = todo.trailing_zeros() as usize;
                    todo &= todo - 1;
                    row.data[0][lane] = word(line, row.offset[lane] / 4);
                    row.data[1][lane] = word(line, row.offset[lane] / 4 + 1);
                }
            }
            4 => {
                while todo != 0 {
                    let lane = todo.trailing_zeros() as usize;
                    todo &= todo - 1;
                    for (number, words) in (0..).zip(&mut row.data) {
                        words[lane] = word(line, row.offset[lane] / 4 + number);
                    }
                }
            }
            narrow => {
                while todo != 0 {
                    let lane = todo.trailing_zeros() as usize;
                    todo &= todo - 1;
                    let at = usize::from(row.offset[lane]);
                    let low = u32::from(line[at]);
                    row.data[0][lane] = if narrow == 0 { low } else { low | u32::from(line[at + 1]) << 8 };
                }
            }
        }
        self.finish(slot, lanes);
    }

    /// Marks lanes of a store or a reduction as done, because memory has acknowledged their access or because
    /// they belong to a local store that hit.
    pub fn acknowledge(&mut self, slot: u8, lanes: u32) {
        debug_assert!(!brings_data(self.rows[usize::from(slot)].kind));
        self.finish(slot, lanes);
    }

    /// True if at least one row of the pending table is complete: all lanes of its instruction are done.
    #[must_use]
    pub fn has_done(&self) -> bool {
        self.done != 0
    }

    /// Records, for statistics, the cycle in which a line request of the row leaves the access queue.
    pub fn record_lookup(&mut self, slot: u8, cycle: u64) {
        self.rows[usize::from(slot)].times.looked_up = cycle;
    }

    /// Writes the reply of a complete row, and frees the row unless another beat of the reply follows.
    /// Returns the times of a load whose reply is complete; otherwise `None`.
    ///
    /// # Panics
    /// Panics if no row is complete.
    pub fn take(&mut self, reply: &mut WarpReply) -> Option<Times> {
        assert!(self.done != 0, "only a complete row is taken");
        let after = self.done & (u64::MAX << self.last_taken << 1);
        let slot = if after != 0 { after } else { self.done }.trailing_zeros();
        self.last_taken = slot as u8;
        let row = &mut self.rows[slot as usize];
        let is_wide = row.size_log2 > REPLY_LOG2;
        let is_last = !is_wide || row.beat != u2::default();
        if is_last {
            self.done &= !(1 << slot);
            self.used &= !(1 << slot);
        }
        reply.kind = if brings_data(row.kind) { WarpReplyKind::Loaded } else { WarpReplyKind::Stored };
        reply.warp = row.warp;
        reply.half = row.half;
        reply.pc = row.pc;
        (reply.beat, reply.size_log2) = (row.beat, row.size_log2.min(REPLY_LOG2));
        reply.mask = row.mask;
        let [low, high, third, fourth] = &row.data;
        let words = if is_wide && is_last { [third, fourth] } else { [low, high] };
        reply.data = words.map(|words| *words);
        if !is_last {
            row.beat += u2::new(1);
        }
        (row.kind == AccessKind::Load && is_last).then_some(row.times)
    }

    /// Adds to the hardware description: the rows and the logic that selects rows.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { rows, used, done, last_taken, offset_bits, shape } = self;
        let n = rows.len() as u32;
        let words = if shape.wide { MAX_WORDS } else { MAX_WORDS / 2 };
        to.sized("used", *used, n);
        to.sized("done", *done, n);
        to.sized("last_taken", u64::from(*last_taken), 6);
        to.entries("row", rows.iter(), |row, to| {
            let Row { kind, warp, half, pc, mask, left, beat, size_log2, offset, in_order: _, data, times: _ } = row;
            to.state("kind", *kind);
            to.sized("warp", u64::from(*warp), 6);
            if shape.halves > 1 {
                to.sized("half", u64::from(*half), 1);
            }
            to.sized("pc", u64::from(*pc), shape.pc_bits);
            to.bits("mask", *mask);
            to.bits("left", *left);
            to.bits("beat", *beat);
            to.sized("size_log2", u64::from(*size_log2), 2 + u32::from(shape.wide));
            for lane in offset {
                to.sized("offset", u64::from(*lane), *offset_bits);
            }
            for word in data[..words].as_flattened() {
                to.bits("data", *word);
            }
        });
        to.logic("free_row", Logic::PriorityEncoder { inputs: n });
        to.logic("done_row", Logic::PriorityEncoder { inputs: n });
        // One port reads the whole row for a reply. A second port reads the lane offsets of the row that
        // receives the bytes of a line.
        let lanes = LANES as u32;
        let data_bits = u32::BITS * lanes * words as u32;
        to.table_ports(1, n, shape.pc_bits + 3 * lanes + lanes * offset_bits + data_bits);
        to.logic("lanes", Logic::Mux { ways: n, width: lanes * offset_bits });
        // Each lane can select any word of the line.
        to.logic("words", Logic::Mux { ways: (1 << *offset_bits) / 4, width: lanes * u32::BITS });
    }

    fn finish(&mut self, slot: u8, lanes: u32) {
        let row = &mut self.rows[usize::from(slot)];
        debug_assert!(self.used >> slot & 1 != 0 && row.left & lanes == lanes, "each lane is answered once");
        row.left &= !lanes;
        if row.left == 0 {
            self.done |= 1 << slot;
        }
    }
}

/// True if the reply to an access of this kind carries data.
fn brings_data(kind: AccessKind) -> bool {
    matches!(kind, AccessKind::Load | AccessKind::Atomic)
}

/// Returns the aligned word `number` of a line.
fn word(line: &[u8; LINE_BYTES], number: u8) -> u32 {
    let words = line.as_chunks().0;
    u32::from_le_bytes(words[usize::from(number) % words.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replacement::priority::HintShape;

    const SHAPE: AccessShape =
        AccessShape { addr_bits: 32, pc_bits: 8, halves: 1, counts_warps: false, wide: false, hints: HintShape::NONE };

    fn take_reply(pending: &mut Pending) -> WarpReply {
        let mut reply = WarpReply::default();
        pending.take(&mut reply);
        reply
    }

    fn line() -> [u8; LINE_BYTES] {
        std::array::from_fn(|i| i as u8)
    }

    fn load(size_log2: u8, mask: u32, address: impl Fn(u64) -> u64) -> WarpAccess {
        let address = std::array::from_fn(|lane| address(lane as u64));
        WarpAccess { size_log2, mask, address, ..WarpAccess::default() }
    }

    #[test]
    fn a_load_is_complete_when_its_last_lane_has_arrived() {
        let mut pending = Pending::new(4, 128, SHAPE);
        pending.alloc(0, &load(2, 0b11, |lane| lane * 128 + 4), false, 0);
        pending.deliver(0, 0b10, &line());
        assert!(!pending.has_done());
        pending.deliver(0, 0b01, &line());
        let reply = take_reply(&mut pending);
        assert_eq!(reply.data[0][..2], [0x0706_0504, 0x0706_0504]);
        assert!(pending.is_empty());
    }

    #[test]
    fn every_access_size_reads_its_bytes() {
        for (size_log2, low, high) in [(0, 0x10, 0), (1, 0x1110, 0), (2, 0x1312_1110, 0), (3, 0x1312_1110, 0x1716_1514)]
        {
            let mut pending = Pending::new(1, 128, SHAPE);
            pending.alloc(0, &load(size_log2, 1, |_| 0x90), false, 0);
            pending.deliver(0, 1, &line());
            let reply = take_reply(&mut pending);
            assert_eq!((reply.data[0][0], reply.data[1][0]), (low, high));
        }
    }

    #[test]
    fn a_load_of_16_bytes_per_lane_is_answered_in_two_beats() {
        let mut pending = Pending::new(2, 128, AccessShape { wide: true, ..SHAPE });
        pending.alloc(0, &load(4, 0b11, |lane| 0x90 + 16 * lane), false, 0);
        pending.deliver(0, 0b11, &line());
        let first = take_reply(&mut pending);
        assert_eq!((first.beat.value(), first.size_log2), (0, 3));
        assert_eq!((first.data[0][0], first.data[1][1]), (0x1312_1110, 0x2726_2524));
        assert!(pending.has_done() && !pending.is_empty());
        let mut second = WarpReply::default();
        assert!(pending.take(&mut second).is_some());
        assert_eq!((second.beat.value(), second.size_log2), (1, 3));
        assert_eq!((second.data[0][0], second.data[1][1]), (0x1b1a_1918, 0x2f2e_2d2c));
        assert!(pending.is_empty());
    }

    #[test]
    fn complete_rows_take_turns() {
        let mut pending = Pending::new(3, 128, SHAPE);
        for slot in 0..3 {
            pending.alloc(slot, &WarpAccess { warp: slot, ..load(2, 1, |_| 0) }, false, 0);
            pending.deliver(slot, 1, &line());
        }
        let first = take_reply(&mut pending).warp;
        pending.alloc(1, &WarpAccess { warp: 9, ..load(2, 1, |_| 0) }, false, 0);
        pending.deliver(1, 1, &line());
        let order: Vec<_> = (0..3).map(|_| take_reply(&mut pending).warp).collect();
        assert_eq!((first, order), (1, vec![2, 0, 9]));
    }
}
