//! # Read data buffer
//! Buffers the data of every RD from the time when the DRAM outputs them until the reply link accepts them.
//! Data are sent in the order of the RDs, and not before the latency of their RD has elapsed. When all
//! entries are occupied, no RD is issued. So a stalled receiver stops reads, but no data are lost.
//!
//! Part of `rtl/dram/channel.rs`.
//! Twin: `golden/dram/requests.rs`.
//! Bench: `tb/dram/random.rs`.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::config::DramConfig;
use super::message::{DramReply, DramShape};
use crate::kernel::{AnyEdge, Array, ArraySpec, Collide, Describe, DescribeExt, FieldsExt, Logic, Storage, TxBank};
use crate::noc::interleave::Interleave;

/// Maximum number of entries of the buffer. The simulator allocates state for all of them; see
/// [`MAX`](super::queue::MAX).
const PLACES: usize = 256;
/// Cycle that is never reached; stands for an empty buffer.
const NEVER: u64 = u64::MAX;

/// Ring buffer of bursts that were read and wait to be sent to an L2 bank.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Replies {
    bursts: Array<DramReply>,
    /// For each entry, the cycle from which its burst can be sent.
    #[serde(with = "BigArray")]
    due: [u64; PLACES],
    /// Cycle from which the oldest burst can be sent; `NEVER` if the buffer is empty.
    first_due: u64,
    entries: u32,
    head: u32,
    count: u32,
}

impl Replies {
    /// Creates an empty read data buffer for the DRAM channel at `path`.
    #[must_use]
    pub fn new(config: &DramConfig, path: &str) -> Self {
        Self::wide(config, path, config.burst_bits())
    }

    /// Creates an empty read data buffer for burst addresses of `burst_bits` bits.
    pub(super) fn wide(config: &DramConfig, path: &str, burst_bits: u32) -> Self {
        let rows = config.reply_entries;
        let path = format!("{path}.replies.bursts");
        let collide = Collide::Forbidden;
        let spec = ArraySpec { path, storage: Storage::Sram, rows, columns: 1, reads: 1, writes: 1, collide };
        Self {
            bursts: Array::new(spec, DramShape { burst_bits, acknowledges: false, requester_bits: None }),
            due: [0; PLACES],
            first_due: NEVER,
            entries: rows,
            head: 0,
            count: 0,
        }
    }

    /// True if the buffer has a free entry for the data of a read.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.count < self.entries
    }

    /// True if the buffer contains no read data.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the cycle from which the oldest burst can be sent; `u64::MAX` if the buffer is empty.
    #[must_use]
    pub fn first_due(&self) -> u64 {
        self.first_due
    }

    /// Inserts the data of an RD, which can be sent from cycle `due` on. `form` writes the reply in place and
    /// must set all its fields.
    ///
    /// # Panics
    /// Panics if the buffer is full.
    pub fn insert(&mut self, at: &impl AnyEdge, due: u64, form: impl FnOnce(&mut DramReply)) {
        assert!(
            self.has_room(),
            "cycle {}, {}: read without a free entry for its data",
            at.cycle(),
            self.bursts.spec().path
        );
        let row = self.wrap(self.head + self.count);
        self.bursts.update(at, row, 0, form);
        self.due[row as usize % PLACES] = due;
        // All reads have the same latency, so the data of a later read can never be sent before those of an
        // earlier read.
        self.first_due = self.first_due.min(due);
        self.count += 1;
    }

    /// Sends the oldest burst, if its latency has elapsed and the link to its L2 bank has room. Returns true
    /// if a burst was sent.
    pub fn send(&mut self, rsp: &mut TxBank<'_, DramReply>, sharers: &Interleave, at: &mut impl AnyEdge) -> bool {
        if self.first_due > at.cycle() {
            return false;
        }
        let reply = self.bursts.read_cell(at, self.head, 0);
        let bank = if rsp.len() == 1 { 0 } else { sharers.partition(reply.burst) };
        let mut rsp = rsp.at(bank as usize);
        if !rsp.is_ready(at) {
            return false;
        }
        rsp.push_with(at, |beat| beat.clone_from(reply));
        self.head = self.wrap(self.head + 1);
        self.count -= 1;
        self.first_due = if self.count == 0 { NEVER } else { self.due[self.head as usize % PLACES] };
        true
    }

    /// Wraps a position around at the end of the ring buffer. The position must be less than twice the number
    /// of entries.
    fn wrap(&self, place: u32) -> u32 {
        if place < self.entries { place } else { place - self.entries }
    }

    /// Starts to maintain a digest (hash) of the buffered data.
    pub fn record(&mut self) {
        self.bursts.record();
    }

    /// Lists the registers, memory and logic of the read data buffer for waveforms, digests and area
    /// estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { bursts, due, first_due: _, entries, head, count } = self;
        to.array("bursts", bursts);
        to.entries("due", due.iter().take(*entries as usize), |due, to| to.bits("cycle", *due));
        to.table_ports(1, *entries, u64::BITS);
        to.logic("is_due", Logic::Less { width: u64::BITS, count: 1 });
        to.sized("head", u64::from(*head), u32::BITS - (entries - 1).leading_zeros());
        to.sized("count", u64::from(*count), u32::BITS - entries.leading_zeros());
    }
}
