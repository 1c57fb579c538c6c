//! What the overlapped flow asks memory for: lines to be fetched, lines that gave way, and the order of both.
//!
//! No stale memory: the line fetched may be one that gave way a moment ago and whose bytes are
//! still on their way to memory. Fetches and write-backs leave in the order of their look-ups, so
//! that the write-back is ahead in `dram_req`, and the DRAM controller keeps the order of accesses
//! to one address. Hence a fetch reads what the write-back wrote, and nothing has to search the
//! write-back queue.

use serde::{Deserialize, Serialize};

use super::super::super::config::BankPlace;
use super::super::super::line::Bursts;
use super::super::super::mshr::bits_for;
use super::super::super::stats::Stall;
use super::super::lines::part_of;
use super::sectors::Pieces;
use super::{Overlapped, OverlappedConfig};
use crate::cells::fifo::Fifo;
use crate::cells::line::LINE_BYTES;
use crate::cells::line::LineData;
use crate::dram::message::{BURST_BYTES, DramRequest};
use crate::kernel::{AnyEdge, Describe, DescribeExt, Fields, FieldsExt, Payload, TxBank};

/// Bits of the number of an MSHR entry, unless there are more entries than these tell apart.
const LEAST_ENTRY_BITS: u32 = 6;

/// A line to be fetched, or bursts of it.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = MemoryShape)]
struct Fetch {
    /// First burst of the line.
    #[payload(width = shape.burst_bits)]
    burst: u64,
    /// Request that missed.
    id: u32,
    /// Its MSHR entry.
    #[payload(width = shape.entry_bits)]
    entry: u16,
    /// Which bursts.
    #[payload(only(let Some(count) = shape.by_burst), width = count)]
    bursts: Bursts,
    /// Cycle of the look-up that missed: for the statistics.
    #[payload(skip)]
    missed: u64,
}

/// Widths of what waits.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct MemoryShape {
    /// Bits of a burst address.
    burst_bits: u32,
    entry_bits: u32,
    line_bytes: u32,
    /// Bursts of a line, if each is asked for by itself.
    by_burst: Option<u32>,
    /// Parts of lines are written to memory.
    masked: bool,
}

/// A dirty line that gave way.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
struct WriteBack {
    /// First burst of the line.
    burst: u64,
    /// Request that drove it out.
    id: u32,
    /// Bytes that are written: all, unless parts of lines are.
    mask: u128,
    /// Which bursts are written.
    bursts: Bursts,
    line: LineData,
}

impl Payload for WriteBack {
    type Shape = MemoryShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &MemoryShape, to: &mut F) {
        let Self { burst, id, mask, bursts, line } = self;
        to.sized("burst", *burst, shape.burst_bits);
        to.bits("id", *id);
        if let Some(count) = shape.by_burst {
            to.sized("bursts", u64::from(*bursts), count);
        }
        if shape.masked {
            to.wide("mask", &mask.to_le_bytes()[..shape.line_bytes as usize / 8]);
        }
        line.fields(&shape.line_bytes, to);
    }
}

/// Which of the two queues to memory is next.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize, Payload)]
struct Turn {
    write_back: bool,
}

/// The registers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ToMemory {
    fetches: Fifo<Fetch>,
    write_backs: Fifo<WriteBack>,
    /// The order of the entries of the two queues above.
    turns: Fifo<Turn>,
    pieces: Pieces,
    /// The bursts of the entry whose turn it is have been sent up to this one.
    sent: u32,
}

impl ToMemory {
    /// Nothing is asked for, for so many MSHR entries; `masked` if parts of lines will be written.
    pub fn new(flow: &OverlappedConfig, place: &BankPlace, pieces: Pieces, entries: u32, masked: bool) -> Self {
        let shape = MemoryShape {
            burst_bits: place.local_bits() + pieces.bursts().ilog2(),
            entry_bits: bits_for(entries).max(LEAST_ENTRY_BITS),
            line_bytes: place.line_bytes,
            by_burst: pieces.by_sector.then_some(pieces.bursts()),
            masked,
        };
        Self {
            fetches: Fifo::new(flow.miss_queue, shape),
            write_backs: Fifo::new(flow.write_back_queue, shape),
            turns: Fifo::new(flow.miss_queue + flow.write_back_queue, ()),
            pieces,
            sent: 0,
        }
    }

    /// True if memory is asked for nothing.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    #[inline(always)]
    pub fn room_for_fetch(&self) -> Result<(), Stall> {
        if self.fetches.has_room() { Ok(()) } else { Err(Stall::MissQueue) }
    }

    #[inline(always)]
    pub fn room_for_write_back(&self) -> Result<(), Stall> {
        if self.write_backs.has_room() { Ok(()) } else { Err(Stall::WriteBackQueue) }
    }

    /// Asks for bursts of a line of the bank, which request `id` missed in a cycle, for an MSHR entry.
    #[inline(always)]
    pub fn fetch(&mut self, local: u64, id: u32, (entry, bursts): (u32, Bursts), missed: u64) {
        let burst = local * u64::from(self.pieces.bursts());
        self.fetches.push(Fetch { burst, id, entry: entry as u16, bursts, missed });
        self.turns.push(Turn { write_back: false });
    }

    /// Gives memory the bytes of a line under a mask, because of request `by`: by sectors the bursts with such bytes.
    #[inline(always)]
    pub fn write_back(&mut self, local: u64, by: u32, bytes_written: u128, bytes: &[u8; LINE_BYTES]) {
        let first = local * u64::from(self.pieces.bursts());
        let touched = self.pieces.given_back(bytes_written);
        if touched == 0 {
            return;
        }
        self.write_backs.push_with(|WriteBack { burst, id, mask, bursts, line }| {
            (*burst, *id, *mask, *bursts) = (first, by, bytes_written, touched);
            line.0 = *bytes;
        });
        self.turns.push(Turn { write_back: true });
    }

    /// The bytes of a line of the bank that were given up last, and which they are, if memory has not got them yet.
    pub fn given_up(&self, local: u64) -> Option<(&[u8; LINE_BYTES], u128)> {
        let burst = local * u64::from(self.pieces.bursts());
        let youngest = self.write_backs.iter().rev().find(|leaving| leaving.burst == burst);
        youngest.map(|leaving| (&leaving.line.0, leaving.mask))
    }

    /// Notes that of some bursts all up to the `sent`-th of their line are out; true if none is left.
    #[inline(always)]
    fn sent(&mut self, write_back: bool, bursts: Bursts, sent: u32) -> bool {
        self.sent = sent + 1;
        let is_done = u32::from(bursts) >> self.sent == 0;
        if is_done {
            self.sent = 0;
            self.turns.drop_front();
            if write_back {
                self.write_backs.drop_front();
            } else {
                self.fetches.drop_front();
            }
        }
        is_done
    }

    /// Lists the registers.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { fetches, write_backs, turns, pieces, sent } = self;
        to.part("fetches", |to| fetches.describe(to));
        to.part("write_backs", |to| write_backs.describe(to));
        to.part("turns", |to| turns.describe(to));
        to.sized("sent", u64::from(*sent), pieces.bursts().ilog2().max(1));
    }
}

impl Overlapped {
    /// Sends one burst of the fetch or write-back whose turn it is; true if the next is stuck behind
    /// a full channel.
    #[inline(always)]
    pub(super) fn ask_memory(&mut self, dram_req: &mut TxBank<'_, DramRequest>, at: &mut impl AnyEdge) -> bool {
        let Self { core, memory, .. } = self;
        let Some(&Turn { write_back }) = memory.turns.front() else { return false };
        let oldest = match write_back {
            true => memory.write_backs.front().map(|leaving| (leaving.burst, leaving.bursts)),
            false => memory.fetches.front().map(|fetch| (fetch.burst, fetch.bursts)),
        };
        let Some((first, bursts)) = oldest else { core.breach(at, "a turn without what it is of") };
        let (mut dram_req, first) = core.channel_of(first, dram_req);
        if !dram_req.ready(at) {
            return true;
        }
        let burst_bytes = core.place.burst_bytes as usize;
        let sent = memory.sent + (bursts >> memory.sent).trailing_zeros();
        let this = first + u64::from(sent);
        if let Some(WriteBack { id, mask, line, .. }) = memory.write_backs.front().filter(|_| write_back) {
            let start = sent as usize * burst_bytes;
            core.stats.sectors.written_bytes += burst_bytes as u64;
            let byte_mask = (mask >> start) as u64 & u64::MAX >> (BURST_BYTES - burst_bytes);
            dram_req.push_with(at, |beat| {
                let data = part_of(&line.0[start..start + burst_bytes]);
                *beat = DramRequest { write: true, id: *id, burst: this, byte_mask, data, ..DramRequest::default() };
            });
        } else if let Some(&Fetch { id, entry, missed, .. }) = memory.fetches.front() {
            core.stats.miss_delay += if memory.sent == 0 { at.cycle() - missed } else { 0 };
            core.stats.sectors.fetched_bytes += burst_bytes as u64;
            let tag = entry * core.bursts as u16 + sent as u16;
            dram_req.push_with(at, |beat| {
                *beat = DramRequest { id, burst: this, tag, ..DramRequest::default() };
            });
        }
        let is_full = dram_req.is_full();
        let is_done = memory.sent(write_back, bursts, sent);
        core.stats.writebacks += u64::from(is_done && write_back);
        // The bursts of another line may go to another channel.
        is_full && (!is_done || core.place.channels.num_partitions == 1)
    }
}
