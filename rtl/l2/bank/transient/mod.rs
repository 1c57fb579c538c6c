//! The transient flow of an L2 bank: a way is free for a new line only after the eviction of its victim
//! (candel2018 section 3). A fetch into the Fetch and Replacement Cache (FRC) avoids this wait (section 4).
//!
//! In one cycle, in this order:
//! 1. An acknowledgment from an L1 is accepted.
//! 2. A burst from memory is accepted.
//! 3. One access is served.
//! 4. A swap is chosen.
//! 5. A burst is sent to each DRAM channel.
//! 6. A recall is sent to an L1.
//! 7. A request begins its lookup: from the pending queue first, else a new one.
//!
//! Later steps see the resources that earlier steps freed. So a pending request can repeat its lookup in the
//! cycle in which a way becomes free.
//!
//! A lookup searches the in-flight lines, the FRC and the tags in parallel. A lookup that lacks a port, room
//! for a reply or an MSHR entry stalls the lookups behind it. These resources become free without a lookup. A
//! lookup that lacks a way moves its request to the pending queue and stalls no other lookup.
//!
//! No deadlock: acknowledgments, bursts and eviction steps never wait for a lookup. A swap waits only for a
//! way, and ways wait only for acknowledgments, bursts and eviction steps. Lookups from the pending queue
//! precede new ones, so a full queue drains.

mod config;
mod evict;
mod evictions;
mod frc;
mod pending;
mod serve;
mod swap;

use serde::{Deserialize, Serialize};

use super::super::config::{BankPlace, L2Config};
use super::super::line::Sharers;
use super::super::stats::Stall;
use super::L2Io;
use super::core::{Core, CoreShape, memory, tag_bits};
use super::lines::{LinePlace, Spot, put};
use crate::dram::message::DramReply;
use crate::kernel::{AnyEdge, Array, ArrayView, Describe, DescribeExt, FieldsExt, Rx, RxBank, Sleep, bits_for};
pub use config::{Coherence, FrcConfig, TransientConfig, VictimBind};
pub use evictions::Eviction;
use evictions::Evictions;
pub use frc::{Frc, FrcEntry, FrcShape, FrcState};
use pending::Pending;
use swap::Swap;

/// L2 bank with the transient flow. Way numbers at or above the number of ways of a set denote ways of the
/// FRC (Fetch and Replacement Cache).
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Transient {
    pub core: Core,
    /// True if reads can hit a line in its way until the line's eviction is complete.
    serves_leaving: bool,
    /// True if an eviction completes only when memory has acknowledged it.
    acknowledged: bool,
    swap_latency: u32,
    binds_early: bool,
    pending: Pending,
    evictions: Evictions,
    /// L1s that have copies of the lines in the ways; `None` if the bank does not keep L1s coherent.
    sharers: Option<Array<Sharers>>,
    frc: Option<Frc>,
    /// Swap in progress between an entry of the Fetch and Replacement Cache (FRC) and a way, if any.
    swap: Option<Swap>,
    /// Entry of the FRC (fetch and replacement cache) whose last attempt to swap found no usable way, and the
    /// number of tag writes up to that attempt. The search is repeated only after another tag write, because
    /// no other event can make a way usable.
    blocked: Option<(u32, u64)>,
}

/// Returns the dimensions of the L2 bank's memories. The memories have ports for an access and for an
/// eviction step, which may read a line and write its state in the same cycle. A swap without latency needs
/// additional ports.
fn shape(config: &L2Config, place: &BankPlace, frc_ways: u32, swap: u32) -> CoreShape {
    let channels = place.channels.num_partitions;
    CoreShape {
        // Reads of the tag memory in one cycle: one for a lookup, and one for the choice of a swap. Writes:
        // one for the access that is served, one when the last recall of a line is acknowledged, and one per
        // DRAM channel at the end of a writeback.
        tags: (2 + swap, 2 + channels + swap),
        order: (2 + swap, 1 + swap),
        // Reads of the data memory in one cycle: one for the access that is served, and one per DRAM channel
        // for a burst to be sent.
        data: (1 + channels + swap, config.data_ports + swap),
        wide_tags: true,
        extra_ways: frc_ways,
        by_sector: false,
    }
}

impl Transient {
    /// Returns a bank with the transient flow, without lines and requests.
    pub fn new(path: &str, config: &L2Config, flow: &TransientConfig, place: BankPlace) -> Self {
        let L2Config { sets, ways, lookup_latency, mshr_entries, .. } = *config;
        let frc = &flow.frc;
        let swap = u32::from(frc.entries > 0 && frc.swap_latency == 0);
        let core = shape(config, &place, frc.ways(), swap);
        let sharers = || {
            let spec = memory(path, config, "sharers", ways, (1 + swap, 1 + swap));
            Array::new(spec, place.coherent_l1s)
        };
        let shape = FrcShape {
            sets: frc.sets(),
            ways: frc.ways(),
            bank_sets: sets,
            bank_ways: ways,
            tag_bits: tag_bits(config, &place),
            line_bytes: place.line_bytes,
            l1s: place.coherent_l1s,
            acknowledged: flow.acknowledged,
            binds_early: frc.victim_bind == VictimBind::Alloc,
            ports: core.data,
        };
        Self {
            core: Core::new(path, config, place, &core),
            serves_leaving: flow.serve_transient,
            acknowledged: flow.acknowledged,
            swap_latency: frc.swap_latency,
            binds_early: shape.binds_early,
            pending: Pending::new(flow.pending_queue, lookup_latency, bits_for(sets), place.requests()),
            evictions: Evictions::new(mshr_entries, frc.entries, flow.acknowledged, &place),
            sharers: (place.coherent_l1s > 0).then(sharers),
            frc: (frc.entries > 0).then(|| Frc::new(&format!("{path}.frc"), shape)),
            swap: None,
            blocked: None,
        }
    }

    /// Evaluates one clock cycle of the bank. Returns when the bank must be evaluated next.
    #[inline(never)]
    pub fn eval(&mut self, mut io: L2Io<'_>, at: &mut impl AnyEdge) -> Sleep {
        self.core.charge(at);
        let reply_stuck = self.core.reply(&mut io.rsp, at);
        self.take_ack(&mut io.recall, at);
        let is_swapping = self.end_swap(at);
        let (replayed, looked) =
            if is_swapping { (Ok(false), self.hold_up(at)) } else { self.access(&mut io.dram_rsp, at) };
        self.core.refused = looked.err().map(|reason| (at.cycle(), reason));
        let more_swaps = self.choose_swap(at);
        let more_bursts = self.send_bursts(&mut io.dram_req, at);
        let recall_stuck = self.recall(&mut io.recall, at);
        if !self.pending.start(at.cycle()) {
            self.core.accept(&mut io.req, at);
        }

        let more = self.core.can_reply(reply_stuck)
            || more_bursts
            || !recall_stuck && self.evictions.recalling().is_some()
            || self.core.mshr.is_ready() && replayed != Err(Stall::ReplyQueue)
            || io.dram_rsp.has_beat(at)
            || io.recall.as_ref().is_some_and(|recall| recall.inv_ack.has_beat(at))
            || self.core.can_accept() && io.req.has_beat(at)
            || self.pending.is_awake()
            || more_swaps
            // The line of a stalled request may have moved or been evicted since its lookup, so the lookup is
            // repeated.
            || looked.is_err();
        if more {
            return Sleep::Next;
        }
        let swap = self.swap.as_ref().map(|swap| swap.at);
        swap.into_iter().chain(self.next_look_up()).min().map_or(Sleep::UntilEvent, Sleep::At)
    }

    /// Accepts a burst from memory and serves one access. Returns two results: one for a waiter of a complete
    /// line, and one for a request whose lookup is complete. Each is true if that access was served (or
    /// deferred, in the case of a request), and the stall reason as an error if it stalled.
    #[inline(always)]
    fn access(
        &mut self,
        dram_rsp: &mut RxBank<'_, DramReply>,
        at: &mut impl AnyEdge,
    ) -> (Result<bool, Stall>, Result<bool, Stall>) {
        let mut arriving = self.core.arriving(dram_rsp, at);
        if let Some(mut ack) = arriving.take_if(|arriving| arriving.peek(at).is_some_and(|reply| reply.is_ack)) {
            let written = ack.pop(at).tag;
            self.finish_memory_step(at, u32::from(written));
        }
        let can_write = self.core.can_write(arriving.is_some());
        if let Some(dram_rsp) = &mut arriving {
            self.fill(dram_rsp, at);
        }
        let replayed = self.serve_waiter(at, can_write);
        let looked = match replayed {
            Ok(true) | Err(Stall::AtomicBuffer) => self.hold_up(at),
            _ => self.serve_next(at, can_write),
        };
        (replayed, looked)
    }

    /// Returns a stall for the data port, as an error, if a lookup is complete in this cycle. Called if a
    /// swap or another access occupies the port, so that the looked-up request cannot be served.
    fn hold_up(&self, at: &impl AnyEdge) -> Result<bool, Stall> {
        if self.next_look_up().is_some_and(|due| due <= at.cycle()) { Err(Stall::Port) } else { Ok(false) }
    }

    /// Writes an arriving burst to the place reserved for its line: a way, or an entry of the FRC (fetch and
    /// replacement cache).
    #[inline(always)]
    fn fill(&mut self, dram_rsp: &mut Rx<'_, DramReply>, at: &mut impl AnyEdge) {
        let Some(arrived) = dram_rsp.peek(at) else { return };
        let Self { core, frc, .. } = self;
        let (line, first) = core.arrive(at, arrived);
        let burst_bytes = core.place.burst_bytes as usize;
        let spot = spot_of(frc, core.config.ways, (line.set, line.way));
        core.lines.update(at, spot, |line| put(line, first, &arrived.data, burst_bytes));
        dram_rsp.drop_head(at);
    }

    /// Returns the cycle in which the next lookup completes; `None` if no lookup is in progress.
    fn next_look_up(&self) -> Option<u64> {
        let new = self.core.lookups.front().map(|lookup| lookup.due);
        self.pending.next_due().into_iter().chain(new).min()
    }

    /// True if no request, line, reply, eviction or swap is in flight in the bank.
    pub fn is_idle(&self) -> bool {
        self.core.is_idle()
            && self.pending.is_empty()
            && self.evictions.is_idle()
            && self.frc.as_ref().is_none_or(Frc::is_empty)
    }

    /// Records that no L1 has a copy of the line in a way. Called between clock edges.
    pub fn forget_sharers(&mut self, (set, way): LinePlace) {
        if let Some(sharers) = &mut self.sharers {
            sharers.poke(set, way, |sharers| *sharers = Sharers::default());
        }
    }

    /// Starts to maintain digests (hashes) of the memories that only the transient miss flow has.
    pub fn record(&mut self) {
        self.sharers.iter_mut().for_each(Array::record);
        self.frc.iter_mut().for_each(|frc| frc.data.record());
    }

    /// Makes any later read of an entry of the FRC (fetch and replacement cache) panic if the entry was never
    /// written.
    pub fn refuse_unwritten(&mut self) {
        self.frc.iter_mut().for_each(|frc| frc.data.refuse_unwritten());
    }

    /// Lists the registers, memories and logic of the L2 bank for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self {
            core,
            serves_leaving: _,
            acknowledged: _,
            swap_latency: _,
            binds_early: _,
            pending,
            evictions,
            sharers,
            frc,
            swap,
            blocked,
        } = self;
        core.describe(to, |to| {
            to.part("pending", |to| pending.describe(to));
            to.part("evictions", |to| evictions.describe(to));
            if let Some(sharers) = sharers {
                to.array("sharers", sharers);
            }
            if let Some(frc) = frc {
                to.part("frc", |to| frc.describe(to));
                Swap::describe(swap.as_ref(), frc, to);
                to.flag("swap_blocked", blocked.is_some_and(|(_, writes)| writes == core.tags.accesses().writes));
            }
        });
    }
}

/// Returns the storage location of a line. A way number at or above the number of ways of a set denotes a way
/// of the FRC (fetch and replacement cache).
#[inline(always)]
fn spot_of(frc: &mut Option<Frc>, ways: u32, (set, way): LinePlace) -> Spot<'_> {
    match frc {
        Some(frc) if way >= ways => {
            let cell = frc.cell(frc.number(set, way - ways));
            Spot::Beside(&mut frc.data, cell)
        }
        _ => Spot::Way((set, way)),
    }
}
