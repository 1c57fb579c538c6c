//! # Split of L1 lines
//! Splits a request for an L1 line if the lines of the bank are shorter than those of the L1s. Each L2 line
//! that the request touches becomes a separate request, which hits or misses on its own. (anssari2012 splits
//! a 128-byte line into four 32-byte requests.) The answers are gathered into one reply to the L1.
//!
//! | port     | dir | payload   | contract                                                          |
//! |----------|-----|-----------|-------------------------------------------------------------------|
//! | `next`   | in  | `Request` | [`Split::has_room`]; the port holds a request until its last L2 line has entered |
//! | `gather` | in  | `Reply`   | the answer for one L2 line                                        |
//! | `whole`  | out | `Reply`   | a reply whose L2 lines are all answered; `on_reply_sent` frees its row |
//!
//! Latency: one L2 line enters per cycle. A reply is complete in the cycle in which its last answer is
//! gathered, and is sent in the next cycle at the earliest. Complete replies are sent in round-robin order,
//! so that every one is sent eventually.
//! No deadlock: a request enters only when a row is free for all of its answers. So answers are always
//! accepted, and rows become free by sending replies alone.
//! Order: the L2 lines of a request enter consecutively, in ascending order. Two requests therefore take
//! effect in the same order in every line of the bank.
//! Area: a row holds the bytes of an L1 line.
//!
//! Part of `rtl/l2/bank.rs`.
//! Twin: none; `tb/l2/flat.rs` predicts the bytes of every reply.
//! Bench: its own tests and `tb/l2/contents.rs`.

use isa::lanes::AtomicFn;
use serde::{Deserialize, Serialize};

use super::config::BankPlace;
use crate::cells::arbiter::RoundRobin;
use crate::cells::line::{LINE_BYTES, SECTOR_BYTES, sectors_of};
use crate::kernel::{Describe, DescribeExt, FieldsExt, Payload};
use crate::noc::packet::{PacketShape, Reply, ReplyKind, Request, RequestKind};

/// Number of bits of a ticket that hold the position of an L2 line in its L1 line; the higher bits hold the
/// row number.
const PART_BITS: u32 = 2;

/// Row (table entry) for one split request: a request for an L1 line that spans several L2 lines.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Row {
    /// Reply to the L1, completed as the answers for its L2 lines arrive.
    reply: Reply,
    /// L2 lines that have not been answered yet, one bit per position in the L1 line.
    left: u8,
}

/// Split request at the input port. Some of its L2 lines may already have entered the lookup pipeline.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Entering {
    row: u32,
    /// L2 lines that have not entered the lookup pipeline, one bit per position in the L1 line.
    left: u8,
}

/// Splits requests for L1 lines and merges the replies, for one bank. Has one row per split request in
/// progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Split {
    packets: PacketShape,
    line_bytes: u32,
    parts_log2: u32,
    rows: Box<[Row]>,
    /// Rows in use, one bit per row.
    used: u64,
    /// Rows whose reply is complete, because all L2 lines are answered; one bit per row.
    done: u64,
    turn: RoundRobin,
    entering: Option<Entering>,
}

impl Split {
    /// Returns an idle splitter with `rows` rows, at most 64. Returns `None` if lines of the bank are as long
    /// as L1 lines.
    pub fn new(rows: u32, place: &BankPlace) -> Option<Self> {
        let parts_log2 = place.parts_log2();
        (parts_log2 > 0).then(|| Self {
            packets: place.packets,
            line_bytes: place.line_bytes,
            parts_log2,
            rows: vec![Row::default(); rows as usize].into(),
            used: 0,
            done: 0,
            turn: RoundRobin::new(rows),
            entering: None,
        })
    }

    /// True if no split request is in progress.
    pub fn is_idle(&self) -> bool {
        self.used == 0
    }

    /// True if the request at the input port can enter, or can continue to enter, the lookup pipeline.
    pub fn has_room(&self) -> bool {
        self.entering.is_some() || self.free() < self.rows.len() as u32
    }

    /// True if a complete reply waits to be sent to its L1.
    pub fn has_done(&self) -> bool {
        self.done != 0
    }

    /// Forms the request for the next L2 line of the request at the input port. Returns true if it is the
    /// last L2 line.
    #[inline(never)]
    pub fn next(&mut self, request: &Request, part: &mut Request) -> bool {
        let Entering { row, left } = self.entering.unwrap_or_else(|| self.begin(request));
        let number = left.trailing_zeros();
        self.cut(request, row, number, part);
        let left = left & (left - 1);
        self.entering = (left != 0).then_some(Entering { row, left });
        left == 0
    }

    /// Allocates a row for a request that is to be split.
    fn begin(&mut self, request: &Request) -> Entering {
        let row = self.free();
        let left = self.touched_lines(request);
        debug_assert!(left != 0, "a request touches at least one L2 line");
        self.used |= 1 << row;
        let &Request { kind, id, line, sm, ticket, sectors, .. } = request;
        let kind = if kind.is_acknowledged() { ReplyKind::Ack } else { ReplyKind::Data };
        // An atomic returns all sectors of each L2 line that it touches.
        let sectors = if request.kind == RequestKind::Read { sectors } else { self.sectors_of_parts(left) };
        let reply = Reply { kind, id, line, sm, ticket, sectors, ..Reply::default() };
        self.rows[row as usize] = Row { reply, left };
        Entering { row, left }
    }

    fn free(&self) -> u32 {
        (!self.used).trailing_zeros()
    }

    fn parts(&self) -> u32 {
        1 << self.parts_log2
    }

    /// Returns the number of sectors per L2 line.
    fn sectors(&self) -> u32 {
        self.line_bytes / SECTOR_BYTES
    }

    /// Returns a mask of the L2 lines that a request reads or writes, one bit per position in the L1 line.
    fn touched_lines(&self, request: &Request) -> u8 {
        let is_touched = |part: u32| match request.kind {
            RequestKind::Read => self.cut_sectors(request.sectors, part) != 0,
            _ => self.cut_mask(request.byte_mask, part) != 0,
        };
        (0..self.parts()).filter(|part| is_touched(*part)).fold(0, |parts, part| parts | 1 << part)
    }

    fn sectors_of_parts(&self, parts: u8) -> u8 {
        let all = ((1u32 << self.sectors()) - 1) as u8;
        let of = |part: u32| all << (part * self.sectors());
        (0..self.parts()).filter(|part| parts >> part & 1 != 0).fold(0, |sectors, part| sectors | of(part))
    }

    fn cut_sectors(&self, sectors: u8, part: u32) -> u8 {
        (u32::from(sectors) >> (part * self.sectors()) & ((1 << self.sectors()) - 1)) as u8
    }

    fn cut_mask(&self, byte_mask: u128, part: u32) -> u128 {
        byte_mask >> (part * self.line_bytes) & ((1 << self.line_bytes) - 1)
    }

    /// Forms the request for one L2 line. Its ticket holds the row number and the position of the L2 line in
    /// the L1 line.
    fn cut(&self, request: &Request, row: u32, number: u32, part: &mut Request) {
        let bytes = self.line_bytes as usize;
        let first = number as usize * bytes;
        let &Request { kind, id, line, sm, partition, ticket: _, atomic, .. } = request;
        let &Request { sharing, priority, sectors, byte_mask, ref data, stamps, .. } = request;
        *part = Request {
            kind,
            id,
            line: line << self.parts_log2 | u64::from(number),
            sm,
            partition,
            ticket: u64::from(row << PART_BITS | number),
            atomic,
            sharing,
            priority,
            sectors: self.cut_sectors(sectors, number),
            byte_mask: self.cut_mask(byte_mask, number),
            data: [0; LINE_BYTES],
            stamps,
        };
        part.data[..bytes].copy_from_slice(&data[first..first + bytes]);
        if kind.is_atomic() && atomic.f == AtomicFn::CompareSwap {
            // A compare-and-swap request has data in two halves: one holds the value to store, the other the
            // compare operand, at the same offset. The operand is copied to the bytes that follow the data of
            // the L2 line.
            let other = first ^ (self.packets.line_bytes as usize / 2);
            part.data[bytes..2 * bytes].copy_from_slice(&data[other..other + bytes]);
        }
    }

    /// Adds the answer for one L2 line to the reply in its row.
    pub fn gather(&mut self, answer: &Reply) {
        let row = (answer.ticket >> PART_BITS) as usize;
        let number = answer.ticket as usize & ((1 << PART_BITS) - 1);
        let first = number as u32 * self.sectors();
        let Row { reply, left } = &mut self.rows[row];
        debug_assert!(*left >> number & 1 != 0, "each L2 line is answered once");
        if reply.kind == ReplyKind::Data {
            let bytes = self.line_bytes as usize;
            // The answer to an atomic can contain fewer sectors than the L2 line has.
            reply.sectors &= !(sectors_of(self.line_bytes) << first) | answer.sectors << first;
            reply.data[number * bytes..][..bytes].copy_from_slice(&answer.data[..bytes]);
        }
        reply.stamps = answer.stamps;
        *left &= !(1 << number);
        self.done |= u64::from(*left == 0) << row;
    }

    /// Returns the next complete reply in round-robin order; `None` if no reply is complete.
    pub fn whole(&self) -> Option<&Reply> {
        self.turn.pick(self.done).map(|row| &self.rows[row as usize].reply)
    }

    /// Frees the row of the reply that [`Self::whole`] returned, after it was sent.
    pub fn on_reply_sent(&mut self) {
        if let Some(row) = self.turn.grant(self.done) {
            self.done &= !(1 << row);
            self.used &= !(1 << row);
        }
    }

    /// Lists the registers of the splitter for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { packets, line_bytes: _, parts_log2: _, rows, used, done, turn, entering } = self;
        let (count, parts) = (rows.len() as u32, self.parts());
        to.sized("used", *used, count);
        to.sized("done", *done, count);
        to.sized("entering", entering.map_or(0, |entering| u64::from(entering.row)), 6);
        to.sized("parts_left", entering.map_or(0, |entering| u64::from(entering.left)), parts);
        to.part("turn", |to| turn.describe(to));
        for (i, Row { reply, left }) in (0..).zip(rows) {
            to.parts("row", i, |to| {
                to.sized("left", u64::from(*left), parts);
                reply.fields(packets, to);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::atomic::AtomicOp;
    use crate::noc::interleave::Interleave;
    use isa::types::Type;

    fn split(l1: u32, l2: u32, rows: u32) -> Split {
        let packets =
            PacketShape { tracked: false, hints: false, line_bits: 25, line_bytes: l1, sm_bits: 4, partition_bits: 3 };
        let interleave = Interleave::new(6, 128, l2);
        let place = BankPlace {
            packets,
            interleave,
            partition: 2,
            channels: Interleave::new(1, 128, 32),
            sharers: Interleave::new(1, 128, 32),
            line_bytes: l2,
            burst_bytes: 32,
            coherent_l1s: 0,
            requester_bits: None,
            sms: 15,
        };
        Split::new(rows, &place).unwrap()
    }

    fn request(kind: RequestKind) -> Request {
        Request {
            kind,
            id: 9,
            line: 5,
            sm: 3,
            ticket: 77,
            data: std::array::from_fn(|i| i as u8),
            ..Request::default()
        }
    }

    /// Returns the requests for all L2 lines into which a request is split.
    fn enter(split: &mut Split, request: &Request) -> Vec<Request> {
        let mut parts = Vec::new();
        loop {
            let mut part = Request::default();
            let last = split.next(request, &mut part);
            parts.push(part);
            if last {
                return parts;
            }
        }
    }

    fn answer(part: &Request, byte: u8) -> Reply {
        Reply { ticket: part.ticket, data: [byte; LINE_BYTES], ..Reply::default() }
    }

    #[test]
    fn a_line_of_128_bytes_is_four_reads_of_32_and_one_reply_with_all_its_bytes() {
        let mut split = split(128, 32, 2);
        let parts = enter(&mut split, &request(RequestKind::Read));
        assert_eq!(parts.iter().map(|part| part.line).collect::<Vec<_>>(), [20, 21, 22, 23]);
        for part in parts.iter().rev() {
            assert_eq!(split.whole(), None);
            split.gather(&answer(part, part.line as u8));
        }
        let reply = split.whole().unwrap().clone();
        assert_eq!((reply.id, reply.line, reply.sm, reply.ticket, reply.sectors), (9, 5, 3, 77, 0b1111));
        assert_eq!([0, 32, 64, 96, 127].map(|byte| reply.data[byte]), [20, 21, 22, 23, 23]);
        split.on_reply_sent();
        assert!(split.is_idle());
    }

    #[test]
    fn a_read_of_two_sectors_asks_for_the_lines_that_hold_them() {
        let asked = |l2, sectors| {
            let read = Request { sectors, ..request(RequestKind::Read) };
            let parts = enter(&mut split(128, l2, 1), &read);
            parts.iter().map(|part| (part.line, part.sectors)).collect::<Vec<_>>()
        };
        assert_eq!(asked(32, 0b1010), [(21, 1), (23, 1)]);
        assert_eq!(asked(64, 0b1010), [(10, 2), (11, 2)]);
        assert_eq!(asked(64, 0b1100), [(11, 3)]);
    }

    #[test]
    fn a_store_enters_where_it_writes_and_is_acknowledged_once() {
        let mut split = split(128, 32, 1);
        let parts = enter(&mut split, &Request { byte_mask: 0xff << 60, ..request(RequestKind::Write) });
        let seen: Vec<_> = parts.iter().map(|part| (part.line, part.byte_mask, part.data[28], part.data[0])).collect();
        assert_eq!(seen, [(21, 0xf << 28, 60, 32), (22, 0xf, 92, 64)]);
        assert!(!split.has_room());
        parts.iter().for_each(|part| split.gather(&Reply { kind: ReplyKind::Ack, ..answer(part, 0) }));
        assert_eq!(split.whole().map(|reply| reply.kind), Some(ReplyKind::Ack));
    }

    #[test]
    fn a_compare_and_swap_brings_what_it_compares_behind_its_part() {
        let atomic = AtomicOp { f: AtomicFn::CompareSwap, ty: Type::B32 };
        let swap = Request { atomic, byte_mask: 0xf << 100, ..request(RequestKind::Atomic) };
        let mut split = split(128, 32, 1);
        let parts = enter(&mut split, &swap);
        assert_eq!((parts.len(), parts[0].line, parts[0].byte_mask), (1, 23, 0xf << 4));
        // The value for byte 100 of the L1 line is in the upper half of the data, so its compare operand is
        // 64 bytes below, in byte 36. In the request for the L2 line, the operand follows the line's 32 bytes
        // of data.
        assert_eq!((parts[0].data[4], parts[0].data[32 + 4]), (100, 36));
        split.gather(&answer(&parts[0], 8));
        assert_eq!(split.whole().map(|reply| reply.sectors), Some(0b1000));
    }

    #[test]
    fn whole_replies_take_turns() {
        let mut split = split(64, 32, 3);
        for ticket in 0..3 {
            let parts = enter(&mut split, &Request { ticket, sectors: 1, ..request(RequestKind::Read) });
            split.gather(&answer(&parts[0], 0));
        }
        let mut order = Vec::new();
        for ticket in 3..6 {
            order.push(split.whole().unwrap().ticket);
            split.on_reply_sent();
            let parts = enter(&mut split, &Request { ticket, sectors: 1, ..request(RequestKind::Read) });
            split.gather(&answer(&parts[0], 0));
        }
        assert_eq!(order, [0, 1, 2]);
    }
}
