//! # Read data on their way out
//! Keeps the data of every RD from the device's output until the reply channel takes them. Data
//! leave in the order of the reads, not before their time. When all places are taken no RD is
//! issued, so a stalled receiver stops reads and loses nothing.
//!
//! Part of `rtl/dram/channel.rs`.
//! Twin: `golden/dram/requests.rs`.
//! Bench: `tb/dram/random.rs`.

use super::config::DramConfig;
use super::message::{DramReply, DramShape};
use crate::kernel::{Array, ArraySpec, Collide, Describe, DescribeExt, Edge, FieldsExt, Sleep, Storage, Tx};

/// A ring of read bursts.
#[derive(Clone, Debug)]
pub struct Replies {
    bursts: Array<DramReply>,
    /// Cycle from which each burst may leave.
    due: Box<[u64]>,
    head: u32,
    count: u32,
}

impl Replies {
    /// An empty ring of the channel at `path`.
    #[must_use]
    pub fn new(config: &DramConfig, path: &str) -> Self {
        Self::wide(config, path, config.burst_bits())
    }

    /// The same for burst addresses of so many bits.
    pub(super) fn wide(config: &DramConfig, path: &str, burst_bits: u32) -> Self {
        let rows = config.reply_entries;
        let path = format!("{path}.replies.bursts");
        let collide = Collide::Forbidden;
        let spec = ArraySpec { path, storage: Storage::Sram, rows, columns: 1, reads: 1, writes: 1, collide };
        Self {
            bursts: Array::new(spec, DramShape { burst_bits }),
            due: vec![0; rows as usize].into_boxed_slice(),
            head: 0,
            count: 0,
        }
    }

    /// True if a read has a place for its data.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.count < self.due.len() as u32
    }

    /// True if no data wait.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Takes the data of a RD, to leave at cycle `due`; `form` sets every field of the reply.
    ///
    /// # Panics
    /// If there is no room.
    pub fn insert(&mut self, at: &Edge<'_>, due: u64, form: impl FnOnce(&mut DramReply)) {
        assert!(self.has_room(), "cycle {}, {}: read without room for its data", at.cycle, self.bursts.spec().path);
        let row = self.wrapped(self.head + self.count);
        self.bursts.update(at, row, 0, form);
        self.due[row as usize] = due;
        self.count += 1;
    }

    /// Sends the oldest burst if it is due and the channel takes it.
    #[inline]
    pub fn send(&mut self, rsp: &mut Tx<'_, DramReply>, at: &mut Edge<'_>) -> bool {
        let due = self.count > 0 && self.due[self.head as usize] <= at.cycle;
        if !due || !rsp.ready(at) {
            return false;
        }
        let reply = &self.bursts.read(at, self.head)[0];
        rsp.push_with(at, |beat| beat.clone_from(reply));
        self.head = self.wrapped(self.head + 1);
        self.count -= 1;
        true
    }

    /// The cycle from which the oldest burst may leave, never if there is none.
    #[must_use]
    pub fn due(&self) -> u64 {
        if self.count == 0 { u64::MAX } else { self.due[self.head as usize] }
    }

    /// A place of the ring, counted beyond its end once at most.
    fn wrapped(&self, place: u32) -> u32 {
        let entries = self.due.len() as u32;
        if place < entries { place } else { place - entries }
    }

    /// When the oldest burst can leave next; `sent` tells that one has just left.
    #[must_use]
    pub fn sleep(&self, cycle: u64, sent: bool) -> Sleep {
        match self.due[self.head as usize] {
            _ if self.count == 0 => Sleep::UntilEvent,
            due if due > cycle => Sleep::At(due),
            _ if sent => Sleep::Next,
            // The channel was full: room in it is an event.
            _ => Sleep::UntilEvent,
        }
    }

    /// Starts to keep a digest of the data.
    pub fn record(&mut self) {
        self.bursts.record();
    }

    /// Lists the registers.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { bursts, due, head, count } = self;
        let entries = due.len() as u32;
        to.array("bursts", bursts);
        to.entries("due", due.iter(), |due, to| to.bits("cycle", *due));
        to.sized("head", u64::from(*head), u32::BITS - (entries - 1).leading_zeros());
        to.sized("count", u64::from(*count), u32::BITS - entries.leading_zeros());
    }
}
