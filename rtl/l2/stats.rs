//! Counters of an L2 bank.

use serde::{Deserialize, Serialize};

use crate::kernel::{Counted, Reason};
use crate::noc::packet::RequestKind;

/// Why the oldest request could not be served in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Reason)]
pub enum Stall {
    /// Every way of the set waits for its fill from memory.
    LineAlloc,
    /// No free MSHR entry.
    MshrEntry,
    /// The line's MSHR entry can take no further access.
    MshrMerge,
    /// The miss queue is full.
    MissQueue,
    /// The write-back queue is full.
    WriteBackQueue,
    /// The reply queue is full.
    ReplyQueue,
    /// A fill, a replay or a swap had the port of the data memory.
    Port,
    /// The queue of requests that wait for a way is full; only in the transient flow.
    PendingQueue,
    /// The line went back from the atomic buffer; only where there is one.
    AtomicBuffer,
}

/// Number of stall reasons.
const STALLS: usize = Stall::ALL.len();

/// What a bank has of what not every bank has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct L2Has {
    /// A bypass.
    pub bypass: bool,
    /// The flow in which the victim leaves before the fill arrives.
    pub transient: bool,
    /// A Fetch and Replacement Cache.
    pub frc: bool,
    /// A buffer of the line that atomics went to last.
    pub atomic_buffer: bool,
    /// Sectors that are fetched one by one.
    pub sectors: bool,
}

impl L2Has {
    fn stalls_by(&self, reason: Stall) -> bool {
        match reason {
            Stall::PendingQueue => self.transient,
            Stall::AtomicBuffer => self.atomic_buffer,
            _ => true,
        }
    }
}

/// What misses waited for; what is left of all is in the queue of the channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Counted)]
pub struct Delays {
    /// Cycles until there was a way or an entry of the FRC for the line.
    #[counted(cycles)]
    pub way: u64,
    /// Cycles until the victim had left its way.
    #[counted(cycles)]
    pub eviction: u64,
}

/// The Fetch and Replacement Cache (candel2018 section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Counted)]
pub struct FrcStats {
    /// Misses, of reads and writes, whose line was fetched into it at once.
    pub misses: u64,
    /// Reads and writes that found their line in it, fetched or being evicted.
    pub hits: u64,
    /// Lines swapped from the FRC into their ways.
    pub swaps: u64,
}

/// The buffer of the line that atomics went to last (anssari2012).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Counted)]
pub struct BufferStats {
    /// Atomics and reductions, of parts of lines, that found their line in it.
    pub hits: u64,
    /// Lines brought into it by those that did not.
    pub fills: u64,
    /// Lines that it gave up: to another one, to an access, to a replacement, or because a kernel ended.
    pub flushes: u64,
}

/// What a bank that fetches sectors brought and gave back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Counted)]
pub struct SectorStats {
    /// Misses of any kind whose line had a way, present or in flight, but not all sectors that they wanted.
    pub misses: u64,
    /// Bytes of the bursts asked of memory.
    #[counted(bytes)]
    pub fetched_bytes: u64,
    /// Bytes of the bursts written back.
    #[counted(bytes)]
    pub written_bytes: u64,
}

/// Counters of one bank. `accesses` are reads, as everywhere in the statistics; writes and atomics
/// apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Counted)]
#[counted(has = L2Has)]
#[counted(sum(atomics, "Atomics and reductions, whatever they found.", atomic_hits + atomic_pending + atomic_misses))]
pub struct L2Stats {
    /// Reads served or put down.
    #[counted(nsight = "lts__t_requests_op_read.sum")]
    pub accesses: u64,
    /// Reads that found their line.
    pub hits: u64,
    /// Reads that found their line in flight.
    pub hit_pending: u64,
    /// Reads that fetched their line.
    pub misses: u64,
    /// Misses of reads and writes that bypassed the bank; only where it has a bypass.
    #[counted(only(has.bypass))]
    pub bypasses: u64,
    /// Writes that found their line.
    pub write_hits: u64,
    /// Writes that found their line in flight.
    pub write_pending: u64,
    /// Writes that did not find their line, whether fetched or written whole.
    pub write_misses: u64,
    /// Atomics and reductions that found their line.
    pub atomic_hits: u64,
    /// Atomics and reductions that found their line in flight.
    pub atomic_pending: u64,
    /// Atomics and reductions that fetched their line.
    pub atomic_misses: u64,
    /// Lines fetched from memory; where sectors are, fetches of some of them.
    pub fetches: u64,
    /// Dirty lines written to memory.
    pub writebacks: u64,
    /// Lines evicted, dirty or clean.
    pub evictions: u64,
    /// Accesses served when their line arrived.
    pub replays: u64,
    /// Writes, and atomics that left another value than they found.
    pub changes: u64,
    /// Cycles from the look-up that missed to the departure of the fetch, summed over all fetches.
    #[counted(cycles)]
    pub miss_delay: u64,
    /// Requests that had to wait for a way of their set or for a line that was being evicted; only in the transient flow.
    #[counted(only(has.transient))]
    pub put_down: u64,
    /// Parts of `miss_delay`; only in the transient flow.
    #[counted(only(has.transient))]
    pub delays: Delays,
    /// Cycles in which the oldest request was held up, by reason.
    #[counted(cycles, by = Stall, each = has.stalls_by(reason))]
    pub stalls: [u64; STALLS],
    /// The Fetch and Replacement Cache; only where there is one.
    #[counted(only(has.frc))]
    pub frc: FrcStats,
    /// The buffer of the line that atomics went to last; only where there is one.
    #[counted(only(has.atomic_buffer))]
    pub atomic_buffer: BufferStats,
    /// What came and went by sectors; only where sectors are fetched.
    #[counted(only(has.sectors))]
    pub sectors: SectorStats,
}

/// Where an access found its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Here,
    Coming,
    Nowhere,
}

impl L2Stats {
    /// Counts an access that was served or put down.
    #[inline(always)]
    pub(super) fn count(&mut self, kind: RequestKind, found: Found) {
        *match (kind, found) {
            (RequestKind::Read, Found::Here) => &mut self.hits,
            (RequestKind::Read, Found::Coming) => &mut self.hit_pending,
            (RequestKind::Read, Found::Nowhere) => &mut self.misses,
            (RequestKind::Write, Found::Here) => &mut self.write_hits,
            (RequestKind::Write, Found::Coming) => &mut self.write_pending,
            (RequestKind::Write, Found::Nowhere) => &mut self.write_misses,
            (RequestKind::Atomic | RequestKind::Reduce, Found::Here) => &mut self.atomic_hits,
            (RequestKind::Atomic | RequestKind::Reduce, Found::Coming) => &mut self.atomic_pending,
            (RequestKind::Atomic | RequestKind::Reduce, Found::Nowhere) => &mut self.atomic_misses,
        } += 1;
    }

    /// Cycles in which the oldest request was held up for `reason`.
    #[must_use]
    pub fn stalled(&self, reason: Stall) -> u64 {
        self.stalls[reason as usize]
    }

    /// Cycles in which the oldest request was held up, by reason, in the order of [`Stall`].
    pub fn refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Stall::named(&self.stalls)
    }

    /// Misses of every kind.
    #[must_use]
    pub fn all_misses(&self) -> u64 {
        self.misses + self.write_misses + self.atomic_misses
    }

    /// Atomics and reductions served or put down.
    #[must_use]
    pub fn atomics(&self) -> u64 {
        self.atomic_hits + self.atomic_pending + self.atomic_misses
    }

    /// Checks that at rest nothing was counted twice or not at all; the message says what was.
    ///
    /// # Errors
    /// The first sum that does not hold.
    pub fn conserved(&self) -> Result<(), String> {
        let equal = |what: &str, left: u64, right: u64| {
            if left == right { Ok(()) } else { Err(format!("{what}: {left} against {right}")) }
        };
        equal("reads = hits + hit-pending + misses", self.accesses, self.hits + self.hit_pending + self.misses)?;
        let waited = self.hit_pending + self.write_pending + self.atomic_pending + self.fetches;
        equal("replays = accesses that waited for a line", self.replays, waited)?;
        equal("swaps = misses served by the FRC", self.frc.swaps, self.frc.misses)?;
        let held = self.atomic_buffer.fills.saturating_sub(self.atomic_buffer.flushes).min(1);
        equal(
            "lines that came into the atomic buffer = lines that left",
            self.atomic_buffer.fills,
            self.atomic_buffer.flushes + held,
        )?;
        let buffered = self.atomic_buffer.hits + self.atomic_buffer.fills;
        // One in the FRC is changed there.
        equal("atomics in the buffer, at most all", buffered.max(self.atomics()), self.atomics())
    }
}
