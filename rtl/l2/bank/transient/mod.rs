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

use super::super::config::{L2Config, VictimBind};
use super::super::evictions::Evictions;
use super::super::frc::{Frc, FrcShape};
use super::super::line::Sharers;
use super::super::mshr::bits_for;
use super::super::pending::Pending;
use super::super::stats::Stall;
use super::channels::any_waiting;
use super::swap::Swap;
use super::{BankPlace, L2Bank, L2Io, tag_bits};
use crate::kernel::{Array, ArraySpec, Collide, Describe, DescribeExt, Edge, Sleep, Storage};

/// Registers of the transient flow; a bank of the other flow leaves them empty.
#[derive(Clone, Debug)]
pub(super) struct Transient {
    pub pending: Pending,
    pub evictions: Evictions,
    /// L1s with copies of the lines in the ways.
    pub sharers: Option<Array<Sharers>>,
    pub frc: Option<Frc>,
    /// The swap under way.
    pub swap: Option<Swap>,
}

/// Set and way; the ways behind those of the bank's set are those of the FRC's.
pub(super) type Place = (u32, u32);

/// Reads and writes a cycle of the memories of a bank. In the transient flow a line on its way out is
/// read, and its state changes, beside the access of the cycle; a swap without latency has ports of
/// its own.
pub(super) struct MemoryPorts {
    pub tags: (u32, u32),
    pub recency: (u32, u32),
    pub data: (u32, u32),
    pub sharers: (u32, u32),
}

impl MemoryPorts {
    pub fn of(config: &L2Config, place: &BankPlace) -> Self {
        if !config.is_transient() {
            return Self { tags: (1, 1), recency: (1, 1), data: (1, config.data_ports), sharers: (0, 0) };
        }
        let swap = u32::from(config.frc.entries > 0 && config.frc.swap_latency == 0);
        let channels = place.channels.num_partitions;
        Self {
            // Reads: look-up, choice of a swap. Writes: access, end of an invalidation, of a write-back to
            // each channel.
            tags: (2 + swap, 2 + channels + swap),
            recency: (2 + swap, 1 + swap),
            // Reads: access, burst to each channel.
            data: (1 + channels + swap, config.data_ports + swap),
            sharers: (1 + swap, 1 + swap),
        }
    }
}

impl Transient {
    /// At rest; without a place in it for a bank of the other flow.
    pub fn new(path: &str, config: &L2Config, place: &BankPlace) -> Self {
        let is_used = config.is_transient();
        let L2Config { sets, ways, lookup_latency, ref frc, .. } = *config;
        let mshr_entries = if is_used { config.mshr_entries } else { 0 };
        let depth = if is_used { config.pending_queue } else { 0 };
        let ports = MemoryPorts::of(config, place);
        let sharers = || {
            let path = format!("{path}.sharers");
            let (reads, writes) = ports.sharers;
            let storage = Storage::Sram;
            let spec = ArraySpec { path, storage, rows: sets, columns: ways, reads, writes, collide: Collide::New };
            Array::new(spec, place.coherent_l1s)
        };
        let shape = FrcShape {
            sets: frc.sets(),
            ways: frc.ways(),
            bank_sets: sets,
            bank_ways: ways,
            tag_bits: tag_bits(config, place),
            line_bytes: place.line_bytes,
            l1s: place.coherent_l1s,
            binds_early: frc.victim_bind == VictimBind::Alloc,
            ports: ports.data,
        };
        Self {
            pending: Pending::new(depth, lookup_latency, bits_for(sets), place.requests()),
            evictions: Evictions::new(mshr_entries, frc.entries, place),
            sharers: (place.coherent_l1s > 0).then(sharers),
            frc: (frc.entries > 0).then(|| Frc::new(&format!("{path}.frc"), shape)),
            swap: None,
        }
    }

    pub fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.evictions.is_idle() && self.frc.as_ref().is_none_or(Frc::is_empty)
    }

    pub fn record(&mut self) {
        self.sharers.iter_mut().for_each(Array::record);
        self.frc.iter_mut().for_each(|frc| frc.data.record());
    }

    pub fn refuse_unwritten(&mut self) {
        self.frc.iter_mut().for_each(|frc| frc.data.refuse_unwritten());
    }

    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { pending, evictions, sharers, frc, swap } = self;
        to.part("pending", |to| pending.describe(to));
        to.part("evictions", |to| evictions.describe(to));
        if let Some(sharers) = sharers {
            to.array("sharers", sharers);
        }
        if let Some(frc) = frc {
            to.part("frc", |to| frc.describe(to));
            Swap::describe(swap.as_ref(), frc, to);
        }
    }
}

impl L2Bank {
    /// One cycle of the transient flow.
    #[inline(never)]
    pub(super) fn eval_transient(&mut self, mut io: L2Io<'_>, at: &mut Edge<'_>) -> Sleep {
        let reply_stuck = self.reply(&mut io.rsp, at);
        self.take_ack(&mut io.recall, at);
        let is_swapping = self.end_swap(at);
        let mut replayed = Ok(false);
        let looked = if is_swapping {
            if self.next_look_up().is_some_and(|due| due <= at.cycle) { Err(Stall::Port) } else { Ok(false) }
        } else {
            let mut arriving = self.arriving(&mut io.dram_rsp, at);
            let can_write = arriving.is_none() || self.config.data_ports > 1;
            if let Some(dram_rsp) = &mut arriving {
                self.fill(dram_rsp, at);
            }
            replayed = self.serve_waiter(at, can_write);
            match replayed {
                Ok(true) | Err(Stall::AtomicBuffer) if self.next_look_up().is_some_and(|due| due <= at.cycle) => {
                    Err(Stall::Port)
                }
                Ok(true) | Err(Stall::AtomicBuffer) => Ok(false),
                _ => self.attend(at, can_write),
            }
        };
        if let Err(reason) = looked {
            self.refused = Some((at.cycle, reason));
        }
        let more_swaps = self.choose_swap(at);
        let more_bursts = self.send_bursts(&mut io.dram_req, at);
        let recall_stuck = self.recall(&mut io.recall, at);
        if !self.transient.pending.start(at.cycle) {
            self.accept(&mut io.req, at);
        }

        let flow = &self.transient;
        let more = self.can_reply(reply_stuck)
            || more_bursts
            || !recall_stuck && flow.evictions.telling().is_some()
            || self.mshr.is_ready() && replayed != Err(Stall::ReplyQueue)
            || any_waiting(&mut io.dram_rsp, at)
            || io.recall.as_ref().is_some_and(|recall| recall.inv_ack.waiting(at))
            || self.can_accept() && io.req.waiting(at)
            || flow.pending.is_awake()
            || more_swaps
            // Its line may have moved or gone since it was looked up.
            || looked.is_err();
        if more {
            return Sleep::Next;
        }
        let swap = flow.swap.as_ref().map(|swap| swap.at);
        match swap.into_iter().chain(self.next_look_up()).min() {
            Some(cycle) => Sleep::At(cycle),
            None => Sleep::UntilEvent,
        }
    }

    /// When the next look-up is over.
    fn next_look_up(&self) -> Option<u64> {
        let new = self.looking.front().map(|looking| looking.due);
        self.transient.pending.next_due().into_iter().chain(new).min()
    }
}
