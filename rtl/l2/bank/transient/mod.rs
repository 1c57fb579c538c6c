//! The transient flow of a bank: lines leave from where they lie, and only then is the way free for
//! its next line (candel2018 section 3), unless the FRC takes that line in (section 4).
//!
//! In each cycle: an acknowledgement of an L1, a burst from memory, one access, the choice of a
//! swap, a burst to each DRAM channel, a message to an L1, and a request that begins its look-up, one that
//! waited before a new one. What these set free is seen by those that come later in the list, so that
//! a request can begin its second look-up in the cycle in which a way comes free.
//!
//! A request is looked for among the lines on their way, in the FRC and in the tags at once. What a
//! look-up lacks in ports, replies or MSHR entries holds up those behind it, because that comes free
//! without a look-up. What it lacks in ways does not: it goes to the pending queue.
//!
//! No deadlock: acknowledgements, bursts and the steps of an eviction never wait for a look-up, a
//! swap waits for a way at most, and ways wait for these alone. Look-ups out of the pending
//! queue go ahead of new ones, so that a full queue empties.

mod attend;
mod config;
mod evict;
mod evictions;
mod frc;
mod pending;
mod swap;

use serde::{Deserialize, Serialize};

use super::super::config::{BankPlace, L2Config};
use super::super::line::Sharers;
use super::super::mshr::bits_for;
use super::super::stats::Stall;
use super::L2Io;
use super::core::{Core, CoreShape, memory, tag_bits};
use super::lines::{Place, Spot, put};
use crate::dram::message::DramReply;
use crate::kernel::{AnyEdge, Array, ArrayView, Describe, DescribeExt, FieldsExt, Rx, RxBank, Sleep};
pub use config::{Coherence, FrcConfig, TransientConfig, VictimBind};
use evictions::Evictions;
pub use evictions::Leaving;
pub use frc::{Frc, FrcEntry, FrcShape, FrcState};
use pending::Pending;
use swap::Swap;

/// A bank of this flow. Behind the ways of a set are those of the FRC's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Transient {
    pub core: Core,
    /// Reads find a line in its way until it is gone.
    serves_leaving: bool,
    /// A line is gone when memory has acknowledged that it has it.
    acknowledged: bool,
    swap_latency: u32,
    binds_early: bool,
    pending: Pending,
    evictions: Evictions,
    /// L1s with copies of the lines in the ways.
    sharers: Option<Array<Sharers>>,
    frc: Option<Frc>,
    /// The swap under way.
    swap: Option<Swap>,
    /// The entry of the FRC that found no way last, and how often the tags had been written by then: until they are again, it
    /// is not looked for, however often somebody wakes the bank.
    blocked: Option<(u32, u64)>,
}

/// Reads and writes of the memories in a cycle: a line on its way out is read, and its state changes, beside the
/// access of the cycle; a swap without latency has ports of its own.
fn shape(config: &L2Config, place: &BankPlace, frc_ways: u32, swap: u32) -> CoreShape {
    let channels = place.channels.num_partitions;
    CoreShape {
        // Reads: look-up, choice of a swap. Writes: access, end of an invalidation, of a write-back to
        // each channel.
        tags: (2 + swap, 2 + channels + swap),
        recency: (2 + swap, 1 + swap),
        // Reads: access, burst to each channel.
        data: (1 + channels + swap, config.data_ports + swap),
        wide_tags: true,
        ways_beside: frc_ways,
        by_sector: false,
    }
}

impl Transient {
    /// An empty bank.
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

    /// One cycle.
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
            || !recall_stuck && self.evictions.telling().is_some()
            || self.core.mshr.is_ready() && replayed != Err(Stall::ReplyQueue)
            || io.dram_rsp.waiting(at)
            || io.recall.as_ref().is_some_and(|recall| recall.inv_ack.waiting(at))
            || self.core.can_accept() && io.req.waiting(at)
            || self.pending.is_awake()
            || more_swaps
            // Its line may have moved or gone since it was looked up.
            || looked.is_err();
        if more {
            return Sleep::Next;
        }
        let swap = self.swap.as_ref().map(|swap| swap.at);
        swap.into_iter().chain(self.next_look_up()).min().map_or(Sleep::UntilEvent, Sleep::At)
    }

    /// A burst from memory and one access: what came of the waiter's, and of the look-up's.
    #[inline(always)]
    fn access(
        &mut self,
        dram_rsp: &mut RxBank<'_, DramReply>,
        at: &mut impl AnyEdge,
    ) -> (Result<bool, Stall>, Result<bool, Stall>) {
        let mut arriving = self.core.arriving(dram_rsp, at);
        if let Some(mut ack) = arriving.take_if(|arriving| arriving.peek(at).is_some_and(|reply| reply.is_ack)) {
            let written = ack.pop(at).tag;
            self.written(at, u32::from(written));
        }
        let can_write = self.core.can_write(arriving.is_some());
        if let Some(dram_rsp) = &mut arriving {
            self.fill(dram_rsp, at);
        }
        let replayed = self.serve_waiter(at, can_write);
        let looked = match replayed {
            Ok(true) | Err(Stall::AtomicBuffer) => self.hold_up(at),
            _ => self.attend(at, can_write),
        };
        (replayed, looked)
    }

    /// Holds a request whose look-up is over up, because another has the port.
    fn hold_up(&self, at: &impl AnyEdge) -> Result<bool, Stall> {
        if self.next_look_up().is_some_and(|due| due <= at.cycle()) { Err(Stall::Port) } else { Ok(false) }
    }

    /// Puts an arriving burst where its line was fetched to.
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

    /// When the next look-up is over.
    fn next_look_up(&self) -> Option<u64> {
        let new = self.core.looking.front().map(|looking| looking.due);
        self.pending.next_due().into_iter().chain(new).min()
    }

    /// True if nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.core.is_idle()
            && self.pending.is_empty()
            && self.evictions.is_idle()
            && self.frc.as_ref().is_none_or(Frc::is_empty)
    }

    /// Starts to keep digests of the memories.
    pub fn record(&mut self) {
        self.sharers.iter_mut().for_each(Array::record);
        self.frc.iter_mut().for_each(|frc| frc.data.record());
    }

    /// Starts to refuse reads of lines that nobody wrote.
    pub fn refuse_unwritten(&mut self) {
        self.frc.iter_mut().for_each(|frc| frc.data.refuse_unwritten());
    }

    /// Lists registers, memories and logic.
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

/// Where a line is: beyond the ways of its set it is in the FRC.
#[inline(always)]
fn spot_of(frc: &mut Option<Frc>, ways: u32, (set, way): Place) -> Spot<'_> {
    match frc {
        Some(frc) if way >= ways => {
            let cell = frc.cell(frc.number(set, way - ways));
            Spot::Beside(&mut frc.data, cell)
        }
        _ => Spot::Way((set, way)),
    }
}
