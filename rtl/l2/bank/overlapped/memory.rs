//! Requests of the overlapped flow to memory: fetches, writebacks, and their common order.
//!
//! No stale data: the line of a fetch may have been evicted shortly before, with its writeback still in
//! flight. Fetches and writebacks are sent in lookup order, so the writeback precedes the fetch on the
//! `dram_req` port. The DRAM controller keeps the order of accesses to one address. The fetch therefore reads
//! what the writeback wrote, and no search of the writeback queue is needed.

use serde::{Deserialize, Serialize};

use super::super::super::config::BankPlace;
use super::super::super::line::Bursts;
use super::super::super::mshr::Mshr;
use super::super::super::stats::Stall;
use super::super::lines::part_of;
use super::sectors::BurstMap;
use super::{Overlapped, OverlappedConfig};
use crate::cells::fifo::Fifo;
use crate::cells::line::LINE_BYTES;
use crate::cells::line::LineData;
use crate::dram::message::{BURST_BYTES, DramRequest};
use crate::kernel::{AnyEdge, Describe, DescribeExt, Fields, FieldsExt, Payload, TxBank, bits_for};

/// Minimum width in bits of the number of an MSHR entry. The number is wider if the MSHR has more than 64
/// entries.
const MIN_ENTRY_BITS: u32 = 6;

/// Queued fetch of a line, or of some bursts of a line.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = MemoryShape)]
struct Fetch {
    /// Number of the first burst of the line.
    #[payload(width = shape.burst_bits)]
    burst: u64,
    /// Sequence number of the request that caused the fetch.
    id: u32,
    /// Number of the MSHR entry for the line.
    #[payload(width = shape.entry_bits)]
    entry: u16,
    /// Bursts of the line to fetch, one bit per burst.
    #[payload(only(let Some(count) = shape.by_burst), width = count)]
    bursts: Bursts,
    /// Cycle of the lookup that missed; for statistics only, not modeled as hardware.
    #[payload(skip)]
    missed: u64,
}

/// Field widths of queued fetches and writebacks.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct MemoryShape {
    /// Width of a burst address in bits.
    burst_bits: u32,
    entry_bits: u32,
    line_bytes: u32,
    /// Number of bursts per line, if a fetch can request individual bursts; otherwise `None`.
    by_burst: Option<u32>,
    /// True if a line can be written to memory partially, under a byte mask.
    masked: bool,
}

/// Queued writeback of an evicted dirty line, or queued write that bypasses the bank.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
struct WriteBack {
    /// Number of the first burst of the line.
    burst: u64,
    /// Sequence number of the request that caused the writeback.
    id: u32,
    /// Mask of the bytes to write to memory. If lines cannot be written partially, it selects all bytes.
    mask: u128,
    /// Bursts of the line to write, one bit per burst.
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

/// Kind of a queued transfer to memory: true for a writeback, false for a fetch.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize, Payload)]
struct Turn {
    write_back: bool,
}

/// Queues of fetches from memory and writebacks to memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ToMemory {
    fetches: Fifo<Fetch>,
    write_backs: Fifo<WriteBack>,
    /// Order of all queued transfers: for each one, whether it is a fetch or a writeback.
    turns: Fifo<Turn>,
    pieces: BurstMap,
    /// Position, within its line, of the first burst that has not been sent yet for the oldest transfer.
    sent: u32,
}

impl ToMemory {
    /// Returns empty queues of fetches and writebacks, for a bank with `entries` MSHR entries. `masked` is
    /// true if lines can be written to memory partially.
    pub fn new(flow: &OverlappedConfig, place: &BankPlace, pieces: BurstMap, entries: u32, masked: bool) -> Self {
        let shape = MemoryShape {
            burst_bits: place.local_bits() + pieces.bursts().ilog2(),
            entry_bits: bits_for(entries).max(MIN_ENTRY_BITS),
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

    /// True if no fetch and no writeback is queued.
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

    /// Returns the number of queued fetches that belong to prefetches with which no access has merged.
    pub fn count_prefetches(&self, mshr: &Mshr) -> usize {
        self.fetches.iter().filter(|fetch| mshr.entry(fetch.entry.into()).is_prefetch()).count()
    }

    /// Enqueues a fetch of some bursts of a line for an MSHR entry. The fetch is caused by request `id`,
    /// which missed in cycle `missed`.
    #[inline(always)]
    pub fn fetch(&mut self, local: u64, id: u32, (entry, bursts): (u32, Bursts), missed: u64) {
        let burst = local * u64::from(self.pieces.bursts());
        self.fetches.push(Fetch { burst, id, entry: entry as u16, bursts, missed });
        self.turns.push(Turn { write_back: false });
    }

    /// Enqueues a write of a line to memory. Only the bytes that the mask `bytes_written` selects are
    /// written; with sector fetches, only the bursts that contain such bytes are sent. `by` is the number of
    /// the request that caused the write.
    #[inline(always)]
    pub fn write_back(&mut self, local: u64, by: u32, bytes_written: u128, bytes: &[u8; LINE_BYTES]) {
        let first = local * u64::from(self.pieces.bursts());
        let touched = self.pieces.writeback_bursts(bytes_written);
        if touched == 0 {
            return;
        }
        self.write_backs.push_with(|WriteBack { burst, id, mask, bursts, line }| {
            (*burst, *id, *mask, *bursts) = (first, by, bytes_written, touched);
            line.0 = *bytes;
        });
        self.turns.push(Turn { write_back: true });
    }

    /// Returns the bytes and the byte mask of the youngest queued writeback of a line; `None` if there is no
    /// such writeback.
    pub fn queued_writeback(&self, local: u64) -> Option<(&[u8; LINE_BYTES], u128)> {
        let burst = local * u64::from(self.pieces.bursts());
        let youngest = self.write_backs.iter().rev().find(|leaving| leaving.burst == burst);
        youngest.map(|leaving| (&leaving.line.0, leaving.mask))
    }

    /// Records that the oldest transfer has sent its burst at position `sent` of the line. Removes the
    /// transfer from its queue and returns true if no burst is left.
    #[inline(always)]
    fn on_burst_sent(&mut self, write_back: bool, bursts: Bursts, sent: u32) -> bool {
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

    /// Lists the registers of the queues of fetches and writebacks for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { fetches, write_backs, turns, pieces, sent } = self;
        to.part("fetches", |to| fetches.describe(to));
        to.part("write_backs", |to| write_backs.describe(to));
        to.part("turns", |to| turns.describe(to));
        to.sized("sent", u64::from(*sent), pieces.bursts().ilog2().max(1));
    }
}

impl Overlapped {
    /// Sends one burst of the oldest fetch or writeback to memory. Returns true if the DRAM channel to which
    /// the next burst must go is full.
    #[inline(always)]
    pub(super) fn send_to_memory(&mut self, dram_req: &mut TxBank<'_, DramRequest>, at: &mut impl AnyEdge) -> bool {
        let Self { core, memory, .. } = self;
        let Some(&Turn { write_back }) = memory.turns.front() else { return false };
        let oldest = match write_back {
            true => memory.write_backs.front().map(|leaving| (leaving.burst, leaving.bursts)),
            false => memory.fetches.front().map(|fetch| (fetch.burst, fetch.bursts)),
        };
        let Some((first, bursts)) = oldest else { core.breach(at, "a turn without its request") };
        let (mut dram_req, first) = core.channel_of(first, dram_req);
        if !dram_req.is_ready(at) {
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
            let requester = core.mshr.entry(entry.into()).requester;
            dram_req.push_with(at, |beat| {
                *beat = DramRequest { id, burst: this, tag, requester, ..DramRequest::default() };
            });
        }
        let is_full = dram_req.is_full();
        let is_done = memory.on_burst_sent(write_back, bursts, sent);
        core.stats.writebacks += u64::from(is_done && write_back);
        // After the last burst of a transfer, the next transfer may use another DRAM channel, which may have
        // room.
        is_full && (!is_done || core.place.channels.num_partitions == 1)
    }
}
