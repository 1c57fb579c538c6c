//! Counters of an L2 bank.

use serde::{Deserialize, Serialize};

use super::prefetch::PrefetchStats;
use crate::kernel::{Counted, Reason};
use crate::noc::packet::RequestKind;

/// Reason why the oldest request stalled in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Reason)]
pub enum Stall {
    /// Every way of the set that the SM may use waits for its fill from memory.
    LineAlloc,
    /// No free MSHR entry.
    MshrEntry,
    /// The MSHR entry of the line cannot accept a further access.
    MshrMerge,
    /// The miss queue is full.
    MissQueue,
    /// The writeback queue is full.
    WriteBackQueue,
    /// The reply queue is full.
    ReplyQueue,
    /// A fill, a replay or a swap occupied the port of the data memory.
    Port,
    /// The pending queue, which holds requests that wait for a way, is full; only in the transient flow.
    PendingQueue,
    /// The atomic buffer wrote its line back to the data memory in this cycle; only with an atomic buffer.
    AtomicBuffer,
    /// The MSHR has room, but the MSHR policy refuses the request; only with an `l2.mshr_policy`.
    MshrPolicy,
}

/// Number of reasons for which a request can stall.
const STALLS: usize = Stall::ALL.len();

/// Optional features of an L2 bank, which determine the optional counters in its statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct L2Features {
    /// True if the bank has a bypass policy.
    pub bypass: bool,
    /// True if the bank uses the transient flow, in which the victim is evicted before the fetch.
    pub transient: bool,
    /// True if the bank has a Fetch and Replacement Cache.
    pub frc: bool,
    /// True if the bank has an atomic buffer, which holds the line of the last atomic.
    pub atomic_buffer: bool,
    /// True if the bank fetches single sectors instead of whole lines.
    pub sectors: bool,
    /// True if the bank has an MSHR policy.
    pub mshr_policy: bool,
    /// True if the bank has a prefetcher.
    pub prefetches: bool,
}

impl L2Features {
    fn stalls_by(&self, reason: Stall) -> bool {
        match reason {
            Stall::PendingQueue => self.transient,
            Stall::AtomicBuffer => self.atomic_buffer,
            Stall::MshrPolicy => self.mshr_policy,
            _ => true,
        }
    }
}

/// Components of the miss delay: cycles that misses waited for a way, and for an eviction. The rest of the
/// delay is time in the queue of the DRAM channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Counted)]
pub struct Delays {
    /// Cycles until a way or an entry of the FRC (fetch and replacement cache) was free for the line, summed
    /// over all misses.
    #[counted(cycles)]
    pub way: u64,
    /// Cycles until the eviction of the victim from its way was complete, summed over all misses.
    #[counted(cycles)]
    pub eviction: u64,
}

/// Counters of the Fetch and Replacement Cache (candel2018 section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Counted)]
pub struct FrcStats {
    /// Misses of any kind whose line was fetched into the FRC (fetch and replacement cache) at once.
    pub misses: u64,
    /// Accesses that hit in the FRC (fetch and replacement cache), in a fetched line or in a line being
    /// evicted.
    pub hits: u64,
    /// Lines swapped from the FRC (fetch and replacement cache) into their ways.
    pub swaps: u64,
}

/// Counters of the buffer that holds the line of the last atomic (anssari2012).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Counted)]
pub struct BufferStats {
    /// Atomics and reductions that hit the buffer; a request split over several L2 lines counts once per
    /// line.
    pub hits: u64,
    /// Lines loaded into the buffer by atomics and reductions that missed it.
    pub fills: u64,
    /// Lines that left the buffer because of another atomic, an access, a replacement or the end of a kernel.
    pub flushes: u64,
}

/// Counters of the memory traffic of an L2 bank that fetches sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Counted)]
pub struct SectorStats {
    /// Misses of any kind whose line was present or in flight in a way, but without at least one of the
    /// requested sectors.
    pub misses: u64,
    /// Bytes of the bursts requested from memory.
    #[counted(bytes)]
    pub fetched_bytes: u64,
    /// Bytes of the bursts written back to memory.
    #[counted(bytes)]
    pub written_bytes: u64,
}

/// Counters of one L2 bank. As in all statistics, `accesses`, `hits` and `misses` count reads; writes and
/// atomics have separate counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Counted)]
#[counted(has = L2Features)]
#[counted(sum(atomics, "Atomics and reductions, whatever they found.", atomic_hits + atomic_pending + atomic_misses))]
pub struct L2Stats {
    /// Reads that hit, or that an MSHR entry accepted.
    #[counted(nsight = "lts__t_requests_op_read.sum")]
    pub accesses: u64,
    /// Reads whose line was present.
    pub hits: u64,
    /// Reads whose line was in flight.
    pub hit_pending: u64,
    /// Reads that fetched their line.
    pub misses: u64,
    /// Read and write misses that bypassed the bank; only with a bypass policy.
    #[counted(only(has.bypass))]
    pub bypasses: u64,
    /// Writes whose line was present.
    pub write_hits: u64,
    /// Writes whose line was in flight.
    pub write_pending: u64,
    /// Writes whose line was absent, whether or not it was fetched.
    pub write_misses: u64,
    /// Atomics and reductions whose line was present.
    pub atomic_hits: u64,
    /// Atomics and reductions whose line was in flight.
    pub atomic_pending: u64,
    /// Atomics and reductions that fetched their line.
    pub atomic_misses: u64,
    /// Lines fetched from memory, including prefetched lines. With sector fetches, each fetch counts, even if
    /// it fetches only some sectors of a line.
    pub fetches: u64,
    /// Dirty lines written back to memory, and writes that bypassed the bank.
    pub writebacks: u64,
    /// Lines evicted, dirty or clean.
    pub evictions: u64,
    /// Accesses that waited for their line and were then served.
    pub replays: u64,
    /// Writes, plus those atomics and reductions that changed the value in memory.
    pub changes: u64,
    /// Cycles from the lookup that missed to the first burst request of the fetch, summed over all fetches.
    #[counted(cycles)]
    pub miss_delay: u64,
    /// Requests deferred until a way of their set was free or an eviction of their line was complete; only in
    /// the transient flow.
    #[counted(only(has.transient))]
    pub put_down: u64,
    /// Components of `miss_delay`; only in the transient flow.
    #[counted(only(has.transient))]
    pub delays: Delays,
    /// Cycles in which the oldest request stalled, by reason.
    #[counted(cycles, by = Stall, each = has.stalls_by(reason))]
    pub stalls: [u64; STALLS],
    /// Counters of the Fetch and Replacement Cache; only in a bank that has one.
    #[counted(only(has.frc))]
    pub frc: FrcStats,
    /// Counters of the buffer that holds the line of the last atomic; only in a bank that has one.
    #[counted(only(has.atomic_buffer))]
    pub atomic_buffer: BufferStats,
    /// Memory traffic of sector fetches; only in a bank that fetches sectors.
    #[counted(only(has.sectors))]
    pub sectors: SectorStats,
    /// Counters of prefetches; only in a bank with a prefetcher.
    #[counted(only(has.prefetches))]
    pub prefetch: PrefetchStats,
}

/// Lookup result of an access: the line is present, in flight or absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookupResult {
    Here,
    Coming,
    Nowhere,
}

impl L2Stats {
    /// Counts an access by its lookup result when the access is served or deferred.
    #[inline(always)]
    pub(super) fn count(&mut self, kind: RequestKind, found: LookupResult) {
        *match (kind, found) {
            (RequestKind::Read, LookupResult::Here) => &mut self.hits,
            (RequestKind::Read, LookupResult::Coming) => &mut self.hit_pending,
            (RequestKind::Read, LookupResult::Nowhere) => &mut self.misses,
            (RequestKind::Write, LookupResult::Here) => &mut self.write_hits,
            (RequestKind::Write, LookupResult::Coming) => &mut self.write_pending,
            (RequestKind::Write, LookupResult::Nowhere) => &mut self.write_misses,
            (RequestKind::Atomic | RequestKind::Reduce, LookupResult::Here) => &mut self.atomic_hits,
            (RequestKind::Atomic | RequestKind::Reduce, LookupResult::Coming) => &mut self.atomic_pending,
            (RequestKind::Atomic | RequestKind::Reduce, LookupResult::Nowhere) => &mut self.atomic_misses,
        } += 1;
    }

    /// Returns the number of cycles in which the oldest request stalled for `reason`.
    #[must_use]
    pub fn stall_cycles(&self, reason: Stall) -> u64 {
        self.stalls[reason as usize]
    }

    /// Returns the cycles in which the oldest request stalled, by reason, in the order of [`Stall`].
    pub fn refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Stall::zip_names(&self.stalls)
    }

    /// Returns the number of misses of reads, writes and atomics together.
    #[must_use]
    pub fn all_misses(&self) -> u64 {
        self.misses + self.write_misses + self.atomic_misses
    }

    /// Returns the number of atomics and reductions, whatever their lookup result.
    #[must_use]
    pub fn atomics(&self) -> u64 {
        self.atomic_hits + self.atomic_pending + self.atomic_misses
    }

    /// Checks that the counters of an idle bank are consistent: every event is counted exactly once.
    ///
    /// # Errors
    /// Returns an error that describes the first inconsistency, if there is one.
    pub fn check_conservation(&self) -> Result<(), String> {
        let equal = |what: &str, left: u64, right: u64| {
            if left == right { Ok(()) } else { Err(format!("{what}: {left} against {right}")) }
        };
        equal("reads = hits + hit-pending + misses", self.accesses, self.hits + self.hit_pending + self.misses)?;
        let waited = self.hit_pending + self.write_pending + self.atomic_pending + self.fetches - self.prefetch.issued;
        equal("replays = accesses that waited for a line", self.replays, waited)?;
        equal("swaps = misses served by the FRC", self.frc.swaps, self.frc.misses)?;
        let held = self.atomic_buffer.fills.saturating_sub(self.atomic_buffer.flushes).min(1);
        equal(
            "lines that entered the atomic buffer = lines that left",
            self.atomic_buffer.fills,
            self.atomic_buffer.flushes + held,
        )?;
        let buffered = self.atomic_buffer.hits + self.atomic_buffer.fills;
        // Atomics to a line in the Fetch and Replacement Cache (FRC) are performed there and do not use the
        // atomic buffer.
        equal("atomics in the buffer, at most all atomics", buffered.max(self.atomics()), self.atomics())
    }
}
