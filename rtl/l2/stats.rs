//! Counters of an L2 bank.

use serde::{Deserialize, Serialize};

use crate::kernel::{Describe, DescribeExt};
use crate::noc::packet::RequestKind;

/// Why the oldest request could not be served in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stall {
    /// Every way of the set is on its way from memory.
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
const STALLS: usize = 9;
const STALL_NAMES: [&str; STALLS] = [
    "stall_line_alloc",
    "stall_mshr_entry",
    "stall_mshr_merge",
    "stall_miss_queue",
    "stall_write_back_queue",
    "stall_reply_queue",
    "stall_port",
    "stall_pending_queue",
    "stall_atomic_buffer",
];

impl Stall {
    /// Name in statistics.
    #[must_use]
    pub fn name(self) -> &'static str {
        STALL_NAMES[self as usize].trim_start_matches("stall_")
    }
}

/// Counters of one bank. `accesses` are reads, as everywhere in the statistics; writes and atomics
/// apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct L2Stats {
    /// Reads served or put down.
    pub accesses: u64,
    /// Reads whose line was here.
    pub hits: u64,
    /// Reads whose line was on its way.
    pub hit_pending: u64,
    /// Reads that fetched their line.
    pub misses: u64,
    /// Misses of reads and writes that bypassed the bank; only where it has a bypass.
    pub bypasses: u64,
    /// Writes whose line was here.
    pub write_hits: u64,
    /// Writes whose line was on its way.
    pub write_pending: u64,
    /// Writes whose line was not here, whether fetched or written whole.
    pub write_misses: u64,
    /// Atomics and reductions whose line was here.
    pub atomic_hits: u64,
    /// Atomics and reductions whose line was on its way.
    pub atomic_pending: u64,
    /// Atomics and reductions that fetched their line.
    pub atomic_misses: u64,
    /// Lines fetched from memory; where sectors are, fetches of some of them.
    pub fetches: u64,
    /// Dirty lines written to memory.
    pub writebacks: u64,
    /// Lines that gave way, dirty or clean.
    pub evictions: u64,
    /// Accesses served when their line arrived.
    pub replays: u64,
    /// Writes, and atomics that left another value than they found.
    pub changes: u64,
    /// Cycles from the look-up that missed to the departure of the fetch, summed over all fetches.
    pub miss_delay: u64,
    /// Of these, cycles until there was a way or an entry of the FRC for the line; only in the transient flow, as the next.
    pub way_delay: u64,
    /// Of these, cycles until the line that was in the way had left it.
    pub eviction_delay: u64,
    /// Requests that had to wait for a way of their set or for a line on its way out.
    pub put_down: u64,
    /// Misses whose line was fetched into the FRC.
    pub frc_misses: u64,
    /// Reads and writes that found their line in the FRC, fetched or on its way out.
    pub frc_hits: u64,
    /// Lines swapped from the FRC into their ways.
    pub swaps: u64,
    /// Atomics and reductions that found their line in the atomic buffer.
    pub buffer_hits: u64,
    /// Lines brought into it by those that did not.
    pub buffer_fills: u64,
    /// Lines that it gave up: to another one, to an access, to a replacement, or because a kernel ended.
    pub buffer_flushes: u64,
    /// Accesses of any kind whose line had a way, here or on its way, but not all bytes that they wanted: they fetched
    /// them, and are among the misses.
    pub sector_misses: u64,
    /// Bytes of the bursts asked of memory; in the overlapped flow, as the next.
    pub fetched_bytes: u64,
    /// Bytes of the bursts given to memory.
    pub written_bytes: u64,
    /// Cycles in which the oldest request was held up, by reason.
    pub stalls: [u64; STALLS],
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
        STALL_NAMES.iter().map(|name| name.trim_start_matches("stall_")).zip(self.stalls)
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
        equal("swaps = misses served by the FRC", self.swaps, self.frc_misses)?;
        let held = self.buffer_fills.saturating_sub(self.buffer_flushes).min(1);
        equal(
            "lines that came into the atomic buffer = lines that left",
            self.buffer_fills,
            self.buffer_flushes + held,
        )?;
        let buffered = self.buffer_hits + self.buffer_fills;
        // One in the FRC is changed there.
        equal("atomics in the buffer, at most all", buffered.max(self.atomics()), self.atomics())
    }

    /// Lists the counters of a bank whose lines come by sectors.
    pub fn describe_sectors(&self, to: &mut dyn Describe) {
        let Self { sector_misses, fetched_bytes, written_bytes, .. } = *self;
        to.stats([
            ("sector_misses", sector_misses),
            ("fetched_bytes", fetched_bytes),
            ("written_bytes", written_bytes),
        ]);
    }

    /// Lists the counters of a bank in which lines leave before others come.
    pub fn describe_delays(&self, to: &mut dyn Describe) {
        let Self { way_delay, eviction_delay, .. } = *self;
        to.stats([("way_delay", way_delay), ("eviction_delay", eviction_delay)]);
    }

    /// Lists the counters of every bank.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self {
            accesses,
            hits,
            hit_pending,
            misses,
            bypasses,
            write_hits,
            write_pending,
            write_misses,
            atomic_hits,
            atomic_pending,
            atomic_misses,
            fetches,
            writebacks,
            evictions,
            replays,
            changes,
            miss_delay,
            way_delay: _,
            eviction_delay: _,
            put_down,
            frc_misses,
            frc_hits,
            swaps,
            buffer_hits,
            buffer_fills,
            buffer_flushes,
            sector_misses: _,
            fetched_bytes: _,
            written_bytes: _,
            stalls,
        } = self;
        to.stats([
            ("accesses", *accesses),
            ("hits", *hits),
            ("hit_pending", *hit_pending),
            ("misses", *misses),
            ("bypasses", *bypasses),
            ("write_hits", *write_hits),
            ("write_pending", *write_pending),
            ("write_misses", *write_misses),
            ("atomic_hits", *atomic_hits),
            ("atomic_pending", *atomic_pending),
            ("atomic_misses", *atomic_misses),
            ("fetches", *fetches),
            ("writebacks", *writebacks),
            ("evictions", *evictions),
            ("replays", *replays),
            ("changes", *changes),
            ("miss_delay", *miss_delay),
            ("put_down", *put_down),
            ("frc_misses", *frc_misses),
            ("frc_hits", *frc_hits),
            ("swaps", *swaps),
            ("buffer_hits", *buffer_hits),
            ("buffer_fills", *buffer_fills),
            ("buffer_flushes", *buffer_flushes),
        ]);
        to.stats(std::array::from_fn::<_, STALLS, _>(|at| (STALL_NAMES[at], stalls[at])));
    }
}
