//! # MSHR of an L2 bank
//! Tracks the lines in flight from DRAM and the accesses that wait for them. The accesses to a line take
//! effect in the order in which they were accepted. Unlike a textbook MSHR, it holds no fill data: the bursts
//! of a line are written into the reserved way. With sector fetches, each access states the bursts that it
//! needs, and a merged access may need bursts that were not requested before.
//!
//! | port       | dir | payload                | contract                                                 |
//! |------------|-----|------------------------|----------------------------------------------------------|
//! | `allocate` | in  | entry, request, bursts | the line has no entry, the entry is free, at least one burst |
//! | `merge`    | in  | entry, request, bursts | [`Mshr::has_room`] for the entry                         |
//! | `prefetch` | in  | entry, line, bursts    | as `allocate`, but no access waits                       |
//! | `arrive`   | in  | entry, burst           | the entry is in use; the burst was requested and has not arrived before |
//! | `waiter`   | out | waiter                 | next access of the line that was complete first, in order of acceptance |
//! | `pop_waiter` | in  |                        | the access at `waiter` was served                        |
//! | `pop_prefetch` | in  |                      | the line that was complete first has no waiter           |
//!
//! An entry accepts waiters while it has room, even while earlier waiters are being served. The entry becomes
//! free when its last waiter is served. By then all requested bursts have arrived, because each burst has a
//! waiter that requested it and waits for it. A line is complete for its next waiter while all bursts that
//! this waiter needs have arrived.
//!
//! The entry of a prefetch starts without a waiter. It is freed without serving an access if no access merges
//! with it before it reaches the front of the queue of complete lines. The first access that merges with it
//! waits for all bursts of the prefetch.
//!
//! Area, mainly: storage for the waiters of all entries, each with the bytes of a line; one line comparator
//! per entry.
//!
//! Part of `rtl/l2/bank.rs`.
//! Twin: `golden/l2/bank.rs`.
//! Bench: its own tests and `tb/l2/stalls.rs`.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::line::Bursts;
use crate::cells::atomic::AtomicOp;
use crate::cells::fifo::Fifo;
use crate::cells::line::{LINE_BYTES, SECTORS};
use crate::kernel::{
    AnyEdge, Array, ArraySpec, Collide, Describe, DescribeExt, FieldsExt, Logic, Payload, Storage, bits_for,
};
use crate::noc::packet::{Request, RequestKind, TICKET_BITS};
use crate::noc::stamps::Stamps;

/// Access that waits in an MSHR entry for its line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = WaiterShape)]
pub struct Waiter {
    /// Kind of the access: read, write, atomic or reduction.
    #[payload(state)]
    pub kind: RequestKind,
    /// Sequence number of the request in the SM that sent it.
    pub id: u32,
    /// Number of the SM that sent the request.
    #[payload(width = shape.sm_bits)]
    pub sm: u8,
    /// Ticket of the request, which the reply returns unchanged.
    #[payload(width = TICKET_BITS)]
    pub ticket: u64,
    /// Operation of an atomic; ignored for other kinds of access.
    #[payload(inside)]
    pub atomic: AtomicOp,
    /// Sectors of the line that the reply returns, one bit per sector.
    #[payload(width = SECTORS)]
    pub sectors: u8,
    /// Mask of the bytes to store, one bit per byte of the line.
    #[payload(bytes = shape.line_bytes / 8)]
    pub byte_mask: u128,
    /// Data of a write or an atomic.
    #[payload(bytes = shape.operand_bytes)]
    #[serde(with = "BigArray")]
    pub data: [u8; LINE_BYTES],
    /// Ticks at which a read entered the stages of the memory system; for statistics only, not modeled as
    /// hardware.
    #[payload(skip)]
    pub stamps: Stamps,
}

impl Default for Waiter {
    fn default() -> Self {
        let atomic = AtomicOp::default();
        let (data, stamps) = ([0; LINE_BYTES], Stamps::default());
        Self { kind: RequestKind::Read, id: 0, sm: 0, ticket: 0, atomic, sectors: 0, byte_mask: 0, data, stamps }
    }
}

impl Waiter {
    /// Copies the fields of a request into this waiter. They are written in place, because they are large.
    fn copy_from(&mut self, request: &Request) {
        let &Request { kind, id, line: _, sm, partition: _, ticket, .. } = request;
        let &Request { atomic, sharing: _, sectors, byte_mask, ref data, stamps, .. } = request;
        (self.kind, self.id, self.sm, self.ticket) = (kind, id, sm, ticket);
        (self.atomic, self.sectors, self.byte_mask) = (atomic, sectors, byte_mask);
        self.data = *data;
        self.stamps = stamps;
    }
}

/// Field widths of a waiter (an access that waits in an MSHR entry).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct WaiterShape {
    /// Width of an SM number in bits.
    pub sm_bits: u32,
    /// Line size in bytes.
    pub line_bytes: u32,
    /// Size in bytes of the data that a request carries.
    pub operand_bytes: u32,
}

/// MSHR entry, for a line in flight from memory.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct MshrEntry {
    /// Address of the line in flight.
    pub line: u64,
    /// Set of the bank into which the line is filled.
    pub set: u32,
    /// Way into which the line is filled.
    pub way: u32,
    /// Requester of the line, for DRAM channels that rank requests: number of the first waiter's SM, plus 1.
    pub requester: u16,
    /// Bursts of the line requested from memory so far, one bit per burst.
    pub asked: Bursts,
    /// Bursts of the line that have arrived, one bit per burst.
    pub arrived: Bursts,
    /// Bursts that the next waiter needs and that have not arrived yet, one bit per burst.
    awaited: Bursts,
    /// Number of waiters that the entry has accepted.
    count: u8,
    /// Number of waiters that have been served.
    served: u8,
    /// True if a served waiter wrote the line, so that the line is newer than memory.
    pub dirty: bool,
}

/// Number of an MSHR entry, as an element of a queue. Its width in bits depends on the configuration.
#[derive(Clone, Copy, Debug, Default, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
struct MshrSlot(#[payload(name = "entry", width = *shape)] u16);

/// Bursts of a line that a waiter needs, one bit per burst. The number of bursts per line depends on the
/// configuration.
#[derive(Clone, Copy, Debug, Default, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
struct Needs(#[payload(name = "bursts", width = *shape)] Bursts);

/// Dimensions and field widths of an MSHR.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct MshrShape {
    /// Number of MSHR entries: at most 64, or a multiple of 64.
    pub entries: u32,
    /// Maximum number of waiters per entry.
    pub merges: u32,
    /// Number of bursts per line.
    pub bursts: u32,
    /// True if a waiter may need only some of the bursts of its line.
    pub by_burst: bool,
    /// Width of a line address in bits.
    pub line_bits: u32,
    /// Number of sets of the L2 bank.
    pub sets: u32,
    /// Number of ways of the L2 bank. Includes extra ways that denote lines outside the sets, in the bypass
    /// buffer or the FRC (fetch and replacement cache).
    pub ways: u32,
    /// Field widths of a waiter.
    pub waiter: WaiterShape,
    /// Width in bits of the requester number of a line; `None` if DRAM channels do not rank requests.
    pub requester_bits: Option<u32>,
}

/// MSHR (miss status holding registers) of one L2 bank.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mshr {
    path: String,
    shape: MshrShape,
    entries: Vec<MshrEntry>,
    /// Mask of the entries in use: one bit per entry, 64 entries per word.
    used: Box<[u64]>,
    /// Queue of the entries for which all bursts that the next waiter needs have arrived, in the order in
    /// which they became complete.
    ready: Fifo<MshrSlot>,
    waiters: Array<Waiter>,
    /// Bursts that each waiter needs; `None` if every waiter needs all bursts of its line.
    needs: Option<Box<Array<Needs>>>,
}

impl Mshr {
    /// Returns an MSHR whose entries are all free.
    #[must_use]
    pub fn new(path: &str, shape: MshrShape) -> Self {
        let spec = |name: &str| ArraySpec {
            path: format!("{path}.{name}"),
            storage: Storage::Sram,
            rows: shape.entries,
            columns: shape.merges,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        Self {
            path: path.to_owned(),
            entries: vec![MshrEntry::default(); shape.entries as usize],
            used: vec![0; shape.entries.div_ceil(WORD) as usize].into(),
            ready: Fifo::new(shape.entries, bits_for(shape.entries)),
            waiters: Array::new(spec("waiters"), shape.waiter).by_cell(),
            needs: shape.by_burst.then(|| Box::new(Array::new(spec("needs"), shape.bursts).by_cell())),
            shape,
        }
    }

    /// Returns the number of the entry for a line; `None` if the line is not in flight.
    #[must_use]
    pub fn find(&self, line: u64) -> Option<u32> {
        for (word, used) in (0..).zip(&*self.used) {
            let mut left = *used;
            while left != 0 {
                let entry = word * WORD + left.trailing_zeros();
                left &= left - 1;
                if self.entries[entry as usize].line == line {
                    return Some(entry);
                }
            }
        }
        None
    }

    /// Returns the lowest free entry; `None` if all entries are in use.
    #[must_use]
    pub fn free(&self) -> Option<u32> {
        let word = self.used.iter().position(|&used| used != u64::MAX)?;
        let entry = word as u32 * WORD + self.used[word].trailing_ones();
        (entry < self.shape.entries).then_some(entry)
    }

    /// True if entry `entry` can accept another waiter.
    #[must_use]
    pub fn has_room(&self, entry: u32) -> bool {
        u32::from(self.entries[entry as usize].count) < self.shape.merges
    }

    /// Returns the number of free entries.
    #[must_use]
    pub fn count_free(&self) -> u32 {
        self.shape.entries - self.used.iter().map(|word| word.count_ones()).sum::<u32>()
    }

    /// Returns the number of accesses that wait in entry `entry`.
    #[must_use]
    pub fn waiters(&self, entry: u32) -> u32 {
        let MshrEntry { count, served, .. } = self.entries[entry as usize];
        u32::from(count - served)
    }

    /// Returns the number of the entry of the next waiter to serve.
    #[must_use]
    pub fn first_ready(&self) -> Option<u32> {
        self.ready.front().map(|MshrSlot(entry)| u32::from(*entry))
    }

    /// True if no line is in flight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used.iter().all(|&used| used == 0)
    }

    /// True if a line is complete and its next waiter can be served.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns a copy of the entry with number `entry`, which must be in use.
    #[must_use]
    pub fn entry(&self, entry: u32) -> MshrEntry {
        self.entries[entry as usize]
    }

    /// Allocates an entry for the line of a request, which becomes the first waiter. The line is fetched into
    /// `way` of `set`, and the request needs the bursts `bursts`.
    ///
    /// # Panics
    /// Panics if the entry is in use.
    #[inline]
    pub fn allocate(
        &mut self,
        at: &impl AnyEdge,
        (entry, bursts): (u32, Bursts),
        (set, way): (u32, u32),
        request: &Request,
    ) {
        assert!(!self.is_used(entry), "cycle {}, {}: entry {entry} allocated twice", at.cycle(), self.path);
        debug_assert!(bursts != 0, "cycle {}, {}: entry {entry} allocated for no burst", at.cycle(), self.path);
        self.used[(entry / WORD) as usize] |= 1 << (entry % WORD);
        let (line, requester) = (request.line, u16::from(request.sm) + 1);
        self.entries[entry as usize] =
            MshrEntry { line, set, way, requester, asked: bursts, awaited: bursts, count: 1, ..MshrEntry::default() };
        self.write_waiter(at, (entry, 0), request, bursts);
    }

    /// Allocates an entry for the prefetch of a line on behalf of SM `sm`, without a waiter. The line is
    /// fetched into `way` of `set`.
    ///
    /// # Panics
    /// Panics if the entry is in use.
    pub fn prefetch(
        &mut self,
        at: &impl AnyEdge,
        (entry, bursts): (u32, Bursts),
        (set, way): (u32, u32),
        (line, sm): (u64, u8),
    ) {
        assert!(!self.is_used(entry), "cycle {}, {}: entry {entry} allocated twice", at.cycle(), self.path);
        self.used[(entry / WORD) as usize] |= 1 << (entry % WORD);
        let requester = u16::from(sm) + 1;
        self.entries[entry as usize] =
            MshrEntry { line, set, way, requester, asked: bursts, awaited: bursts, ..MshrEntry::default() };
    }

    /// Merges a request into an entry as an additional waiter, which needs the bursts `bursts` of the line.
    ///
    /// # Panics
    /// Panics if the entry cannot accept another waiter.
    pub fn merge(&mut self, at: &impl AnyEdge, (entry, bursts): (u32, Bursts), request: &Request) {
        assert!(self.has_room(entry), "cycle {}, {}: entry {entry} has no free waiter slot", at.cycle(), self.path);
        let line = &mut self.entries[entry as usize];
        line.asked |= bursts;
        let last = u32::from(line.count);
        line.count += 1;
        self.write_waiter(at, (entry, last), request, bursts);
    }

    #[inline(always)]
    fn write_waiter(&mut self, at: &impl AnyEdge, (entry, place): (u32, u32), request: &Request, bursts: Bursts) {
        self.waiters.update(at, entry, place, |waiter| waiter.copy_from(request));
        if let Some(needs) = &mut self.needs {
            needs.write(at, entry, place, Needs(bursts));
        }
    }

    /// Marks a burst of an entry's line as arrived, and returns the entry.
    ///
    /// # Panics
    /// Panics if the burst was not requested, or has arrived before.
    #[inline]
    pub fn arrive(&mut self, at: &impl AnyEdge, entry: u32, burst: u32) -> MshrEntry {
        let known = entry < self.shape.entries && self.is_used(entry);
        assert!(known, "cycle {}, {}: data for entry {entry}, which awaits no data", at.cycle(), self.path);
        let line = &mut self.entries[entry as usize];
        assert!(
            line.arrived >> burst & 1 == 0,
            "cycle {}, {}: burst {burst} of entry {entry} arrived twice",
            at.cycle(),
            self.path
        );
        assert!(
            line.asked >> burst & 1 != 0,
            "cycle {}, {}: burst {burst} of entry {entry} was not requested",
            at.cycle(),
            self.path
        );
        line.arrived |= 1 << burst;
        let awaited = line.awaited;
        line.awaited &= !(1 << burst);
        if awaited != 0 && line.awaited == 0 {
            self.ready.push(MshrSlot(entry as u16));
        }
        *line
    }

    /// Returns the next waiter to serve, and its entry: the first waiter in the entry at the front of the
    /// queue `ready`. Returns `None` if the queue is empty, or if that entry belongs to a prefetch without a
    /// waiter.
    #[must_use]
    #[inline]
    pub fn waiter(&self, at: &impl AnyEdge) -> Option<(MshrEntry, &Waiter)> {
        let MshrSlot(slot) = *self.ready.front()?;
        let entry = self.entries[usize::from(slot)];
        if entry.is_prefetch() {
            return None;
        }
        Some((entry, self.waiters.read_cell(at, u32::from(slot), u32::from(entry.served))))
    }

    /// Removes the waiter that [`Self::waiter`] returned, after it was served; `wrote` is true if it wrote
    /// the line. If it was the last waiter of its entry, frees the entry and returns it.
    pub fn pop_waiter(&mut self, at: &impl AnyEdge, wrote: bool) -> Option<MshrEntry> {
        let MshrSlot(slot) = *self.ready.front()?;
        let entry = &mut self.entries[usize::from(slot)];
        entry.served += 1;
        entry.dirty |= wrote;
        if entry.served < entry.count {
            if let Some(needs) = &self.needs {
                let Needs(needed) = *needs.read_cell(at, u32::from(slot), u32::from(entry.served));
                entry.awaited = needed & !entry.arrived;
                if entry.awaited != 0 {
                    self.ready.pop();
                }
            }
            return None;
        }
        Some(self.release(slot))
    }

    /// If the entry at the front of the queue `ready` belongs to a prefetch without a waiter, frees the entry
    /// and returns it.
    pub fn pop_prefetch(&mut self) -> Option<MshrEntry> {
        let MshrSlot(slot) = *self.ready.front()?;
        self.entries[usize::from(slot)].is_prefetch().then(|| self.release(slot))
    }

    /// Frees the entry at the front of the queue of complete lines, and returns it.
    #[inline(always)]
    fn release(&mut self, slot: u16) -> MshrEntry {
        self.used[usize::from(slot) / WORD as usize] &= !(1 << (u32::from(slot) % WORD));
        self.ready.pop();
        std::mem::take(&mut self.entries[usize::from(slot)])
    }

    fn is_used(&self, entry: u32) -> bool {
        self.used[(entry / WORD) as usize] >> (entry % WORD) & 1 != 0
    }

    /// Starts to maintain digests (hashes) of the MSHR's memories.
    pub fn record(&mut self) {
        self.waiters.record();
        self.needs.iter_mut().for_each(|needs| needs.record());
    }

    /// Lists the registers, memories and logic of the MSHR for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { path: _, shape, entries, used, ready, waiters, needs } = self;
        match **used {
            [word] => to.sized("used", word, shape.entries),
            ref words => to.wide("used", &words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()),
        }
        to.entries("entry", entries.iter(), |entry, to| entry.describe(shape, to));
        to.part("ready", |to| ready.describe(to));
        to.array("waiters", waiters);
        if let Some(needs) = needs {
            to.array("needs", &**needs);
        }
        // Two comparators per entry, because an arriving burst and a lookup may each search for a line in the
        // same cycle, in which a waiter of a complete line may be served as well.
        to.logic("line_match", Logic::Comparator { width: shape.line_bits, count: 2 * shape.entries });
        let place = bits_for(shape.sets) + bits_for(shape.ways);
        to.table_ports(2, shape.entries, place + shape.bursts + 2 * bits_for(shape.merges + 1));
        to.logic("free_entry", Logic::PriorityEncoder { inputs: shape.entries });
    }
}

impl MshrEntry {
    /// True if the entry is in use for a prefetch with which no access has merged.
    #[must_use]
    #[inline(always)]
    pub fn is_prefetch(&self) -> bool {
        self.count == 0
    }

    /// True if all bursts requested so far have arrived.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.asked == self.arrived
    }

    fn describe(&self, shape: &MshrShape, to: &mut dyn Describe) {
        let Self { line, set, way, requester, asked, arrived, awaited, count, served, dirty } = self;
        let merges = bits_for(shape.merges + 1);
        to.sized("line", *line, shape.line_bits);
        to.sized("set", u64::from(*set), bits_for(shape.sets));
        to.sized("way", u64::from(*way), bits_for(shape.ways));
        if let Some(width) = shape.requester_bits {
            to.sized("requester", u64::from(*requester), width);
        }
        to.sized("arrived", u64::from(*arrived), shape.bursts);
        if shape.by_burst {
            to.sized("asked", u64::from(*asked), shape.bursts);
            to.sized("awaited", u64::from(*awaited), shape.bursts);
        }
        to.sized("count", u64::from(*count), merges);
        to.sized("served", u64::from(*served), merges);
        to.flag("dirty", *dirty);
    }
}

/// Number of entries per 64-bit word of `used`.
const WORD: u32 = u64::BITS;

#[cfg(test)]
mod tests;
