//! # Request queue of a DRAM channel
//! Buffers waiting reads and writes together, each in its own slot until its column command is issued. For
//! each slot, the queue records which other slots are older, so that the oldest slot of any set is found
//! without a search. It also records which older slots access the same burst. A request waits for these, so
//! no access overtakes another access to the same address (RAW, WAR, WAW). A mask shows which slots hold
//! writes; a write-drain policy needs nothing more.
//!
//! Part of `rtl/dram/channel.rs`.
//! Twin: `golden/dram/requests.rs`.
//! Bench: its own tests and `tb/dram/random.rs`.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::config::DramConfig;
use super::mapping::{BurstLocation, Mapping};
use super::message::{BURST_BYTES, DramRequest};
use super::policy::WaitingRequest;
use crate::kernel::{AnyEdge, Array, ArraySpec, Collide, Describe, DescribeExt, FieldsExt, Logic, Payload, Storage};

/// Request that waits in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// True for a write, false for a read.
    pub write: bool,
    /// Serial number of the SM's request that caused this DRAM request.
    pub id: u32,
    /// Tag chosen by the L2 bank, which is returned with the data of a read.
    pub tag: u16,
    /// Requester, if the policy ranks requests: 0 for the L2 itself, otherwise the number of the SM plus 1.
    pub requester: u16,
    /// Burst address within the channel.
    pub burst: u64,
    /// Bank, row and column that the burst address selects.
    pub place: BurstLocation,
}

/// Data of a write that waits in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct WriteBurst {
    /// Mask of the bytes to store: bit `i` selects byte `i` of the burst.
    pub byte_mask: u64,
    /// Data of the burst to write.
    #[payload(bytes)]
    #[serde(with = "BigArray")]
    pub data: [u8; BURST_BYTES],
}

impl Default for WriteBurst {
    fn default() -> Self {
        Self { byte_mask: 0, data: [0; BURST_BYTES] }
    }
}

/// Maximum number of queue slots, and also of banks: sets of slots and sets of banks are 64-bit masks. The
/// simulator allocates state for all 64 and takes numbers modulo 64, so that the compiler can omit bounds
/// checks.
pub(super) const MAX: usize = 64;
/// Number of queue slots in a group. The simulator updates the masks of older slots in groups of this size,
/// for speed.
const ROWS: usize = 16;

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Slot {
    entry: Entry,
    /// Queue slots with older requests to the same burst as this request, one bit per slot.
    same_burst: u64,
    /// Cycle in which the request was accepted; for statistics.
    accepted: u64,
}

/// Values summed over all cycles. A sum is stored as an offset, so that it need not be updated in each cycle:
/// its value is `level * cycle + offset`, where the level is the number that is summed. When the level rises
/// by 1 in cycle c, c is subtracted from the offset; when it falls by 1, c is added (modulo 2^64).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct WaitIntegrals {
    /// Number of waiting requests, summed over all cycles.
    pub requests: u64,
    /// Number of banks for which a request waits, summed over all cycles.
    pub banks: u64,
    /// Number of cycles in which at least one request waited.
    pub cycles: u64,
}

impl WaitIntegrals {
    /// Adds `by` to the offset of `requests`, and to the offsets of `banks` and `cycles` if the flags `banks`
    /// and `all` are true. If the levels fall, `by` is the number of the current cycle; if they rise, it is
    /// the negation of this number.
    fn shift(&mut self, by: u64, banks: bool, all: bool) {
        self.requests = self.requests.wrapping_add(by);
        if banks {
            self.banks = self.banks.wrapping_add(by);
        }
        if all {
            self.cycles = self.cycles.wrapping_add(by);
        }
    }
}

/// Queue of requests that wait in a DRAM channel. Sets of queue slots are bit masks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Queue {
    mapping: Mapping,
    burst_bits: u32,
    /// Width of the requester number in bits; `None` if requests carry no requester.
    requester_bits: Option<u32>,
    num_slots: u32,
    /// Number of groups of [`ROWS`] slots that cover the whole queue; the last group may be incomplete.
    age_rows: usize,
    num_banks: u32,
    /// Bit mask of all slots of the queue.
    all: u64,
    #[serde(with = "BigArray")]
    slots: [Slot; MAX],
    /// For each occupied slot, a mask of the slots that were accepted before it. Stored outside the slots,
    /// because freeing a slot updates all these masks.
    #[serde(with = "BigArray")]
    older: [u64; MAX],
    /// For each free slot, the value that `older` had when the slot was freed. The hardware description shows
    /// it, because the register of a free slot keeps its value.
    #[serde(with = "BigArray")]
    last_older: [u64; MAX],
    /// Occupied slots, grouped by the low bits of their burst address: only slots with equal low bits can
    /// have the same address.
    #[serde(with = "BigArray")]
    by_burst: [u64; MAX],
    data: Array<WriteBurst>,
    occupied: u64,
    writes: u64,
    /// Queue slots whose request is a row hit (its row is open), one bit per slot.
    hits: u64,
    /// Queue slots whose request must wait for an older request to the same burst, one bit per slot.
    blocked: u64,
    /// For each bank, a mask of the queue slots whose requests access it.
    #[serde(with = "BigArray")]
    in_bank: [u64; MAX],
    /// Banks that at least one waiting request accesses, one bit per bank.
    banks: u64,
    /// Banks that have at least one waiting row hit, one bit per bank.
    hit_banks: u64,
    /// Sums over all cycles, stored as offsets that change only when a request arrives or leaves.
    waited: WaitIntegrals,
}

/// Returns the members of a set, which is given as a bit mask, in ascending order.
pub(super) fn each(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(first)
    })
}

/// Returns the set `set`, a bit mask, with `member` added.
pub(super) fn with(set: u64, member: usize) -> u64 {
    set | 1 << member
}

impl Queue {
    /// Creates an empty queue for the DRAM channel at `path`, in a machine with `num_sms` SMs.
    #[must_use]
    pub fn new(config: &DramConfig, path: &str, num_sms: u32) -> Self {
        let rows = config.queue_entries;
        let path = format!("{path}.queue.data");
        // If the data of a slot are read in this cycle, the slot may be overwritten with the data of another
        // request at the end of the cycle.
        let collide = Collide::Old;
        let spec = ArraySpec { path, storage: Storage::RegisterFile, rows, columns: 1, reads: 1, writes: 1, collide };
        Self {
            mapping: Mapping::new(config),
            burst_bits: config.burst_bits(),
            requester_bits: config.requester_bits(num_sms),
            num_slots: rows,
            age_rows: (rows as usize).div_ceil(ROWS),
            num_banks: config.banks(),
            all: u64::MAX >> (u64::BITS - rows),
            slots: [Slot::default(); MAX],
            older: [0; MAX],
            last_older: [0; MAX],
            by_burst: [0; MAX],
            data: Array::new(spec, ()),
            occupied: 0,
            writes: 0,
            hits: 0,
            blocked: 0,
            in_bank: [0; MAX],
            banks: 0,
            hit_banks: 0,
            waited: WaitIntegrals::default(),
        }
    }

    /// Returns a bit mask of all occupied slots.
    #[must_use]
    pub fn occupied_slots(&self) -> u64 {
        self.occupied
    }

    /// Returns the sums over all cycles up to `cycle`: of waiting requests, of banks for which a request
    /// waits, and of cycles with a waiting request.
    #[must_use]
    pub(super) fn wait_integrals(&self, cycle: u64) -> WaitIntegrals {
        let sum = |level: u32, difference: u64| difference.wrapping_add(cycle * u64::from(level));
        WaitIntegrals {
            requests: sum(self.occupied.count_ones(), self.waited.requests),
            banks: sum(self.banks.count_ones(), self.waited.banks),
            cycles: sum(u32::from(self.occupied != 0), self.waited.cycles),
        }
    }

    /// Returns a bit mask of the slots that hold writes.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// Returns a bit mask of the slots whose request is a row hit.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Sets the width of burst addresses in bits. Addresses beyond the end of the channel wrap around to its
    /// start.
    pub(super) fn widen(&mut self, burst_bits: u32) {
        self.burst_bits = burst_bits;
    }

    /// Returns a bit mask of the slots that must wait for an older slot that accesses the same burst.
    #[must_use]
    pub fn blocked_slots(&self) -> u64 {
        self.blocked
    }

    /// Returns a bit mask of the slots for which the slots in `set` must wait, because those are older and
    /// access the same burst.
    #[must_use]
    pub fn blockers_of(&self, set: u64) -> u64 {
        each(set & self.blocked).fold(0, |awaited, slot| awaited | self.slots[slot % MAX].same_burst)
    }

    /// Returns a bit mask of the banks that the slots of the set `set` access.
    #[must_use]
    pub fn banks_of(&self, set: u64) -> u64 {
        each(set).map(|slot| usize::from(self.entry(slot).place.bank)).fold(0, with)
    }

    /// Returns a bit mask of the slots that access bank `bank`.
    #[must_use]
    pub fn in_bank(&self, bank: usize) -> u64 {
        self.in_bank[bank % MAX]
    }

    /// Returns a bit mask of the banks that at least one slot accesses.
    #[must_use]
    pub fn banks(&self) -> u64 {
        self.banks
    }

    /// Returns a bit mask of the banks that have at least one waiting row hit.
    #[must_use]
    pub fn hit_banks(&self) -> u64 {
        self.hit_banks
    }

    /// True if the queue has a free slot.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.occupied != self.all
    }

    /// Returns the request in slot `slot`.
    #[must_use]
    pub fn entry(&self, slot: usize) -> &Entry {
        &self.slots[slot % MAX].entry
    }

    /// Returns the cycle in which the request in slot `slot` was accepted.
    #[must_use]
    pub fn accept_cycle(&self, slot: usize) -> u64 {
        self.slots[slot % MAX].accepted
    }

    /// Returns the request in slot `slot`, in the form in which arbitration policies receive it.
    #[must_use]
    pub fn request(&self, slot: usize) -> WaitingRequest {
        let &Slot { entry: Entry { requester, write, place, .. }, accepted, .. } = &self.slots[slot % MAX];
        let BurstLocation { bank, row, .. } = place;
        WaitingRequest { slot, requester, write, bank, row, is_hit: self.hits >> slot & 1 != 0, accepted }
    }

    /// Returns the oldest slot of the set `set`, which must not be empty.
    #[must_use]
    pub fn oldest(&self, set: u64) -> usize {
        let mut left = set;
        loop {
            let slot = left.trailing_zeros() as usize;
            left = self.older[slot % MAX] & set;
            if left == 0 {
                return slot;
            }
        }
    }

    /// Returns a bit mask of the slots that access the same bank as slot `slot` and have the same kind (read
    /// or write). The mask includes `slot`.
    #[must_use]
    pub fn like(&self, slot: usize) -> u64 {
        let Entry { write, place, .. } = *self.entry(slot);
        self.in_bank(usize::from(place.bank)) & if write { self.writes } else { !self.writes }
    }

    /// True if serving the request in `slot`, a row hit, overtakes an older request to another row of its
    /// bank.
    #[must_use]
    pub fn overtakes(&self, slot: usize) -> bool {
        let bank = self.entry(slot).place.bank;
        self.older[slot % MAX] & self.in_bank(usize::from(bank)) & !self.hits != 0
    }

    /// Accepts a request into a free slot, and returns the slot. `open` returns the open row of a bank, if
    /// any.
    ///
    /// # Panics
    /// Panics if there is no free slot.
    pub fn accept(&mut self, at: &impl AnyEdge, request: &DramRequest, open: impl Fn(usize) -> Option<u32>) -> usize {
        assert!(self.has_room(), "cycle {}, {}: request without a free slot", at.cycle(), self.data.spec().path);
        let slot = (!self.occupied).trailing_zeros() as usize;
        let burst = request.burst;
        let place = self.mapping.place(burst);
        let bank = usize::from(place.bank);
        let (bit, bank_bit) = (1u64 << slot, 1u64 << bank);
        let alike = &mut self.by_burst[burst as usize % MAX];
        let same_burst = each(*alike).filter(|&other| self.slots[other % MAX].entry.burst == burst).fold(0, with);
        *alike |= bit;
        let &DramRequest { write, id, tag, requester, byte_mask, ref data, .. } = request;
        let entry = Entry { write, id, tag, requester, burst, place };
        self.slots[slot % MAX] = Slot { entry, same_burst, accepted: at.cycle() };
        self.older[slot % MAX] = self.occupied;
        self.waited.shift(at.cycle().wrapping_neg(), self.banks & bank_bit == 0, self.occupied == 0);
        self.occupied |= bit;
        self.in_bank[bank % MAX] |= bit;
        self.banks |= bank_bit;
        if same_burst != 0 {
            self.blocked |= bit;
        }
        if open(bank) == Some(place.row) {
            self.hits |= bit;
            self.hit_banks |= bank_bit;
        }
        if write {
            self.writes |= bit;
            self.data.update(at, slot as u32, 0, |written| (written.byte_mask, written.data) = (byte_mask, *data));
        }
        slot
    }

    /// Returns the data of the write in slot `slot`.
    #[must_use]
    pub fn data(&self, at: &impl AnyEdge, slot: usize) -> &WriteBurst {
        &self.data.read(at, slot as u32)[0]
    }

    /// Frees slot `slot`, whose RD or WR is issued in `cycle`.
    pub fn release(&mut self, cycle: u64, slot: usize) {
        let keep = !(1u64 << slot);
        let Entry { burst, place, .. } = *self.entry(slot);
        let (bank, bank_bit) = (usize::from(place.bank), 1u64 << place.bank);
        self.by_burst[burst as usize % MAX] &= keep;
        self.last_older[slot % MAX] = self.older[slot % MAX];
        let (rows, _) = self.older.as_chunks_mut::<ROWS>();
        for rows in rows.iter_mut().take(self.age_rows) {
            rows.iter_mut().for_each(|older| *older &= keep);
        }
        self.occupied &= keep;
        self.writes &= keep;
        self.hits &= keep;
        let in_bank = self.in_bank[bank % MAX] & keep;
        self.in_bank[bank % MAX] = in_bank;
        if in_bank & self.hits == 0 {
            self.hit_banks &= !bank_bit;
        }
        if in_bank == 0 {
            self.banks &= !bank_bit;
        }
        self.waited.shift(cycle, in_bank == 0, self.occupied == 0);
        for other in each(self.blocked) {
            let same_burst = &mut self.slots[other % MAX].same_burst;
            *same_burst &= keep;
            if *same_burst == 0 {
                self.blocked &= !(1 << other);
            }
        }
    }

    /// Marks the waiting requests to a row as row hits, because the row was opened.
    pub fn open(&mut self, bank: usize, row: u32) {
        let hits = each(self.in_bank(bank)).filter(|&slot| self.entry(slot).place.row == row).fold(0, with);
        self.hits |= hits;
        self.hit_banks |= u64::from(hits != 0) << bank;
    }

    /// Removes the row-hit marks of a bank's requests, because the bank's row was closed.
    pub fn close(&mut self, bank: usize) {
        self.hits &= !self.in_bank(bank);
        self.hit_banks &= !(1 << bank);
    }

    /// Starts to maintain a digest (hash) of the data of waiting writes.
    pub fn record(&mut self) {
        self.data.record();
    }

    /// Lists the registers and logic of the request queue for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self {
            mapping,
            burst_bits,
            requester_bits,
            num_slots,
            age_rows: _,
            num_banks,
            all: _,
            slots,
            older,
            last_older,
            // `by_burst` is not a register: it follows from the low bits of the burst address in each slot.
            by_burst: _,
            data,
            occupied,
            writes,
            hits,
            blocked,
            in_bank: _,
            banks,
            hit_banks,
            waited: _,
        } = self;
        let (num_slots, num_banks) = (*num_slots, *num_banks);
        let burst_bits = *burst_bits;
        to.entries("slot", slots.iter().enumerate().take(num_slots as usize), |(index, slot), to| {
            let older = if occupied >> index & 1 != 0 { older[index] } else { last_older[index] };
            let Slot { entry: Entry { write: _, id, tag, requester, burst, place }, same_burst, accepted: _ } = slot;
            to.bits("id", *id);
            to.bits("tag", *tag);
            if let Some(width) = requester_bits {
                to.sized("requester", u64::from(*requester), *width);
            }
            to.sized("burst", *burst, burst_bits);
            to.sized("older", older, num_slots);
            to.sized("same_burst", *same_burst, num_slots);
            // Bank, row and column are not registers, because they are computed from the bits of the burst
            // address.
            let BurstLocation { bank, row, column } = place;
            to.probe_sized("bank", u64::from(*bank), mapping.bank_bits());
            to.probe_sized("row", u64::from(*row), mapping.row_bits());
            to.probe_sized("column", u64::from(*column), mapping.column_bits());
        });
        to.array("data", data);
        to.sized("occupied", *occupied, num_slots);
        to.sized("writes", *writes, num_slots);
        to.sized("hits", *hits, num_slots);
        // The following values are not registers, but are derived from registers: the number of occupied
        // slots, the oldest slot, and the masks of blocked slots and of banks.
        to.probe_sized("level", u64::from(occupied.count_ones()), u32::BITS - num_slots.leading_zeros());
        to.part("oldest", |to| {
            let oldest = slots[if *occupied == 0 { 0 } else { self.oldest(*occupied) }].entry;
            to.probe_sized("write", u64::from(oldest.write), 1);
            to.probe_sized("id", oldest.id.into(), 32);
            to.probe_sized("burst", oldest.burst, burst_bits);
        });
        to.probe_sized("blocked", *blocked, num_slots);
        to.probe_sized("banks", *banks, num_banks);
        to.probe_sized("hit_banks", *hit_banks, num_banks);
        // Port logic: one slot is read for a column command and one for a row command. When a slot is freed,
        // it is removed from all `older` masks.
        to.table_ports(2, num_slots, 32 + u16::BITS + burst_bits);
        mapping.describe(to);
        to.logic("older", Logic::Gates { count: 2 * num_slots * num_slots });
        to.logic("same_burst", Logic::Comparator { width: burst_bits, count: num_slots });
        to.logic("same_row", Logic::Comparator { width: mapping.row_bits(), count: num_slots });
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::reference;
    use super::*;
    use crate::kernel::{Edge, Wake};

    fn queue_with(requests: &[(bool, u64)], open: Option<u32>) -> Queue {
        let (mut queue, mut wake) = (Queue::new(&reference(), "dram0", 1), Wake::new(&[1]));
        for (cycle, &(write, burst)) in requests.iter().enumerate() {
            let request = DramRequest { write, burst, ..DramRequest::default() };
            queue.accept(&Edge::new(cycle as u64, cycle as u64, &mut wake), &request, |_| open);
        }
        queue
    }

    /// Returns the address of a burst in bank 0, given its row and column.
    fn burst(row: u64, column: u64) -> u64 {
        row << 10 | column
    }

    #[test]
    fn the_oldest_of_a_set_is_found_whatever_slot_it_has() {
        let mut queue = queue_with(&[(false, 0), (false, 1), (false, 2)], None);
        queue.release(9, 0);
        let mut wake = Wake::new(&[1]);
        queue.accept(&Edge::new(9, 9, &mut wake), &DramRequest::default(), |_| None);
        assert_eq!(queue.oldest(0b111), 1);
        assert_eq!(queue.oldest(0b101), 2);
        assert_eq!(queue.oldest(0b001), 0);
    }

    #[test]
    fn requests_to_one_burst_wait_for_each_other_in_turn() {
        let mut queue = queue_with(&[(true, 5), (false, 5), (true, 5), (false, 6)], None);
        assert_eq!(queue.blocked_slots(), 0b0110);
        queue.release(9, 0);
        assert_eq!(queue.blocked_slots(), 0b0100);
        queue.release(9, 1);
        assert_eq!(queue.blocked_slots(), 0);
    }

    #[test]
    fn opening_a_row_makes_its_requests_hits_until_it_closes() {
        let mut queue = queue_with(&[(false, burst(3, 0)), (false, burst(4, 0)), (false, burst(3, 1))], Some(4));
        assert_eq!(queue.hits(), 0b010);
        queue.close(0);
        assert_eq!(queue.hits(), 0);
        queue.open(0, 3);
        assert_eq!(queue.hits(), 0b101);
    }

    #[test]
    fn a_hit_overtakes_only_an_older_request_to_another_row_of_its_bank() {
        let other_bank = burst(4, 0) | 1 << 8;
        let queue =
            queue_with(&[(false, burst(3, 0)), (false, other_bank), (false, burst(4, 0)), (false, burst(3, 1))], None);
        let mut queue = queue;
        queue.open(0, 3);
        assert!(!queue.overtakes(0));
        assert!(queue.overtakes(3));
        queue.release(9, 2);
        assert!(!queue.overtakes(3));
    }

    #[test]
    fn a_slot_read_in_a_cycle_can_be_refilled_in_it() {
        let mut queue = queue_with(&[(true, 5)], None);
        let mut wake = Wake::new(&[1]);
        let at = Edge::new(20, 20, &mut wake);
        assert_eq!(queue.data(&at, 0).byte_mask, 0);
        queue.release(20, 0);
        let request = DramRequest { write: true, byte_mask: 7, ..DramRequest::default() };
        queue.accept(&at, &request, |_| None);
        assert_eq!(queue.data(&Edge::new(21, 21, &mut wake), 0).byte_mask, 7);
    }
}
