//! The overlapped flow of an L2 bank, as in Fermi's L2: writeback of the victim and fetch of the new line
//! overlap. The victim moves to the writeback queue at once, and the new line is fetched into the victim's
//! way.
//!
//! In one cycle, in this order:
//! 1. A reply is sent.
//! 2. A burst is sent to memory.
//! 3. One access is served: a waiter of a complete line, else the oldest request whose lookup is complete.
//! 4. A burst from memory is written into its way.
//! 5. A request begins its lookup.
//!
//! Waiters have priority because serving them frees resources that a lookup may need. A stalled request
//! stalls the requests behind it: the bank is the point of coherence, and requests of one SM must keep their
//! order.
//!
//! Writes of a whole line need no fetch, unless `write_miss` requires one. With byte masks, no write needs a
//! fetch (`partial`). Sectors of a line can be present individually (`sectors`). Misses that bypass the bank
//! are handled in `bypass_buffer`. If a prefetcher is selected, `prefetch` looks up its lines in cycles in
//! which step 3 finds nothing to do. `memory` explains why no fetch reads stale data from memory.
//!
//! No deadlock: every burst from memory has a reserved way. A lookup stalls for a way, an MSHR entry or a
//! queue entry. These become free as bursts, replies and waiters advance.

mod bypass_buffer;
mod config;
mod memory;
mod partial;
mod prefetch;
mod sectors;
mod serve;

use serde::{Deserialize, Serialize};

use super::super::config::{BankPlace, L2Config};
use super::super::line::{PresentBytes, PresentBytesShape};
use super::super::lookup_pipeline::LookupEntry;
use super::super::prefetch::unit::Prefetcher;
use super::super::stats::Stall;
use super::L2Io;
use super::core::{Core, CoreShape, memory as memory_spec};
use super::lines::put;
use crate::cells::fifo::Fifo;
use crate::cells::line::LINE_BYTES;
use crate::dram::message::DramReply;
use crate::kernel::{AnyEdge, Array, CounterReader, Describe, Rx, Sleep};
use crate::noc::packet::Request;
use bypass_buffer::{BypassBuffer, spot_of};
pub use config::{FetchUnit, OverlappedConfig, WriteMiss};
use memory::ToMemory;
use sectors::BurstMap;

/// Result of comparing the line of a request with the tags of its set.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Match {
    /// Number of the line within the bank.
    local: u64,
    set: u32,
    tag: u64,
    /// Way whose tag matches, whether its line is present, in flight or tag-only. `None` if no tag matches.
    way: Option<u32>,
}

/// L2 bank with the overlapped miss flow.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Overlapped {
    pub core: Core,
    write_miss: WriteMiss,
    /// Result of the tag match of the oldest request, once that match is complete. A stalled request need not
    /// be matched again: until it is served, no other lookup changes the tags. A prefetch is looked up only
    /// while no request has been matched.
    matched: Option<Match>,
    /// Record of the bytes that each line holds; `None` if lines are never partially present.
    masks: Option<Box<Array<PresentBytes>>>,
    pieces: BurstMap,
    memory: ToMemory,
    /// Reason why the oldest request stalled at its last lookup. The request is not looked up in cycles in
    /// which a waiter is served, so the last lookup may be several cycles ago.
    lacking: Option<Stall>,
    /// Bypass policy and bypass buffer; `None` if no miss bypasses the bank.
    bypass_buffer: Option<Box<BypassBuffer>>,
    /// Prefetch unit; `None` if the bank has no prefetcher.
    prefetcher: Option<Box<Prefetcher>>,
    /// True if the bypass policy, the prefetcher or the partition must be notified of every access.
    reports: bool,
}

impl Overlapped {
    /// Returns a bank with the overlapped flow, without lines and requests.
    pub fn new(path: &str, config: &L2Config, flow: &OverlappedConfig, place: BankPlace) -> Self {
        assert!(place.coherent_l1s == 0, "{path}: L1 copies are recalled only in the transient flow");
        let L2Config { mshr_entries, ref bypass, .. } = *config;
        let scheme = bypass.watched_hooks();
        let prefetcher = config.prefetch.unit(path, config, &place);
        let bypass_buffer =
            scheme.map(|scheme| Box::new(BypassBuffer::new(path, scheme, mshr_entries, place.line_bytes)));
        let (is_masked, by_sector) = (flow.has_byte_masks(), flow.is_by_sector());
        let in_part = bypass.keeps_tags() || is_masked;
        let pieces = BurstMap::new(&place, flow.fetch);
        let shape = CoreShape {
            tags: (1, 1),
            order: (1, 1),
            data: (1, config.data_ports),
            // With sector fetches, a partially present line needs no separate line state.
            wide_tags: bypass.keeps_tags() || is_masked && !by_sector,
            by_sector,
            extra_ways: if bypass_buffer.is_some() { mshr_entries } else { 0 },
        };
        // Ports of the masks of present bytes: two reads per cycle, one by the lookup or a waiter, and one by
        // an arriving burst.
        let spec = || memory_spec(path, config, "masks", config.ways, (2, 1));
        let held = PresentBytesShape { line_bytes: place.line_bytes, by_burst: by_sector.then(|| place.bursts()) };
        Self {
            core: Core::new(path, config, place, &shape),
            write_miss: flow.write_miss,
            matched: None,
            masks: is_masked.then(|| Box::new(Array::new(spec(), held).by_cell())),
            pieces,
            memory: ToMemory::new(flow, &place, pieces, mshr_entries, in_part),
            lacking: None,
            reports: bypass_buffer.is_some() || prefetcher.is_some() || config.partition.is_on(),
            bypass_buffer,
            prefetcher,
        }
    }

    /// Evaluates one clock cycle of the bank. Returns when the bank must be evaluated next.
    #[inline]
    pub fn eval(&mut self, mut io: L2Io<'_>, at: &mut impl AnyEdge) -> Sleep {
        self.core.charge(at);
        // Steps that free resources precede steps that need them.
        let reply_stuck = self.core.reply(&mut io.rsp, at);
        let memory_stuck = self.send_to_memory(&mut io.dram_req, at);
        // The waiters are served before the arriving burst is written. So a waiter is served at the earliest
        // in the cycle after the last burst that it needs has arrived.
        let mut arriving = self.core.arriving(&mut io.dram_rsp, at);
        let can_write = self.core.can_write(arriving.is_some());
        let replayed = self.replay(at, can_write);
        let looked = self.look_up_oldest(at, replayed, can_write);
        self.core.refused = looked.err().map(|reason| (at.cycle(), reason));
        if self.reports && looked != Ok(true) && self.prefetcher.is_some() {
            self.prefetch(at, replayed == Ok(false) && looked == Ok(false));
        }
        if let Some(dram_rsp) = &mut arriving {
            self.fill(dram_rsp, at);
        }
        self.core.accept(&mut io.req, at);

        // If a full channel blocks the bank, the next pop from that channel wakes it. A stalled request can
        // advance only after such a pop, after data arrive, or after another event that keeps the bank awake.
        let more = self.core.can_reply(reply_stuck)
            || !memory_stuck && !self.memory.is_empty()
            || self.core.mshr.is_ready() && replayed != Err(Stall::ReplyQueue)
            || io.dram_rsp.has_beat(at)
            || self.core.can_accept() && io.req.has_beat(at)
            || matches!(looked, Err(Stall::Port | Stall::AtomicBuffer))
            || self.reports && self.is_prefetching();
        match self.core.lookups.front() {
            _ if more => Sleep::Next,
            Some(oldest) if looked.is_ok() => Sleep::At(oldest.due),
            Some(_) if self.reports => self.next_choice().map_or(Sleep::UntilEvent, Sleep::At),
            _ => Sleep::UntilEvent,
        }
    }

    /// Returns the next cycle in which the bypass policy or the partition may decide differently for a
    /// stalled request.
    #[inline(never)]
    fn next_choice(&self) -> Option<u64> {
        let bypass = self.bypass_buffer.as_ref().and_then(|buffer| buffer.scheme.next_choice());
        let partition = self.core.partition.as_ref().and_then(|partition| partition.next_choice());
        bypass.into_iter().chain(partition).min()
    }

    /// Writes an arriving burst into the way reserved for its line, or into the bypass buffer if the miss
    /// bypassed the bank.
    #[inline(always)]
    fn fill(&mut self, dram_rsp: &mut Rx<'_, DramReply>, at: &mut impl AnyEdge) {
        let Some(arrived) = dram_rsp.peek(at) else { return };
        let (line, first) = self.core.arrive(at, arrived);
        let place = (line.set, line.way);
        let newer = self.newer(at, place);
        let Self { core, bypass_buffer, .. } = self;
        let burst_bytes = core.place.burst_bytes as usize;
        let spot = spot_of(bypass_buffer, core.config.ways, place);
        core.lines.fill(at, spot, |line| {
            if newer == 0 {
                put(line, first, &arrived.data, burst_bytes);
            } else {
                partial::fill(line, newer, first, &arrived.data[..burst_bytes]);
            }
        });
        dram_rsp.drop_head(at);
        if let Some(prefetcher) = &mut self.prefetcher
            && line.is_complete()
        {
            prefetcher.fill(at, place, self.core.local(line.line));
        }
    }

    /// Returns the bytes of a line in the writeback queue, and a mask of the bytes to be written to memory;
    /// `None` if the line is not queued.
    pub fn queued_writeback(&self, local: u64) -> Option<(&[u8; LINE_BYTES], u128)> {
        self.memory.queued_writeback(local)
    }

    /// True if no request, line, reply or writeback is in flight in the bank.
    pub fn is_idle(&self) -> bool {
        self.core.is_idle() && self.memory.is_empty()
    }

    /// Starts to maintain digests (hashes) of the memories that only the overlapped miss flow has.
    pub fn record(&mut self) {
        self.masks.iter_mut().for_each(|masks| masks.record());
        self.bypass_buffer.iter_mut().for_each(|buffer| buffer.lines.record());
        self.prefetcher.iter_mut().for_each(|prefetcher| prefetcher.record());
    }

    /// Lists the counters that belong to the bypass policy and the prefetcher.
    pub fn scheme_counters(&self, to: &mut dyn CounterReader) {
        if let Some(bypass_buffer) = &self.bypass_buffer {
            bypass_buffer.scheme.counters(to);
        }
        if let Some(prefetcher) = &self.prefetcher {
            prefetcher.counters(to);
        }
    }

    /// Lists the registers, memories and logic of the L2 bank for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        // `matched` and `lacking` are not registers: they let the model skip lookups that hardware repeats in
        // every cycle.
        let Self {
            core,
            write_miss: _,
            matched: _,
            masks,
            pieces: _,
            memory,
            lacking: _,
            bypass_buffer,
            prefetcher,
            reports: _,
        } = self;
        core.describe(to, |to| {
            if let Some(masks) = masks {
                to.array("masks", &**masks);
            }
            memory.describe(to);
            if let Some(bypass_buffer) = bypass_buffer {
                bypass_buffer.describe(to);
            }
            if let Some(prefetcher) = prefetcher {
                prefetcher.describe(to);
            }
        });
    }
}

/// Returns the oldest request in the lookup pipeline; the pipeline must not be empty.
fn oldest(lookups: &Fifo<LookupEntry>) -> &Request {
    match lookups.front() {
        Some(lookup) => &lookup.request,
        None => unreachable!("a look-up serves the oldest request"),
    }
}
