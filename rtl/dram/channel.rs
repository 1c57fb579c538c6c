//! # DRAM channel
//! Controls one GDDR5 or HBM channel and models its memory with real bytes. It issues one command per cycle
//! of the command clock CK, or one row command and one column command on separate buses. Rows stay open after
//! an access (open-page policy). Arbitration is FR-FCFS (khairy2015 table 1) or another policy of
//! `rtl/dram/policy`.
//!
//! | port  | dir | payload        | contract                                                          |
//! |-------|-----|----------------|-------------------------------------------------------------------|
//! | `req` | in  | `DramRequest`  | accepted, one per cycle, while the queue has room; a slot freed by its column command is refilled in the same cycle |
//! | `rsp` | out | `DramReply`    | one beat for each read, in the order of the RD commands, and one acknowledgment for each write, or notice of an evicted line, that requests it, when it is accepted |
//!
//! Each L2 bank that shares the channel has one request link and one reply link. Requests of several banks
//! are accepted in round-robin order. The address of a read determines the L2 bank that gets its data. If
//! that bank has no room for the data, they block all later data in the reply buffer.
//!
//! Latency: a request accepted in cycle t can have its first command in t + 1. The data of a read leave on
//! `rsp` in the cycle of its RD, plus CL, plus the cycles of the burst. With the timing of khairy2015, this
//! is 15 cycles after t if the row is open, 27 if the bank is closed, and 39 if another row is open. A write
//! is complete with its WR. A write that requests an acknowledgment is accepted only in a cycle in which the
//! acknowledgment can be sent; read data have priority on the link. After the acknowledgment, every read of
//! the burst returns the written data.
//!
//! Ordering: accesses to one burst are performed in the order of their arrival; all other accesses may be
//! reordered. A read returns the data of every older write to its burst, whether the write covers all or some
//! of its bytes. Reads and writes share one queue, in which a younger access to a burst waits for the older
//! ones.
//!
//! Stalls: RD commands stall when the reply buffer has no free entry for their data. Writes and row commands
//! continue, so a stalled receiver does not prevent the acceptance of requests.
//!
//! An access to a burst that the simulator has not mapped panics; the message names the channel and the
//! cycle.
//!
//! Twin: `golden/dram/arbiter.rs`, `golden/dram/checker.rs` and `golden/dram/requests.rs`.
//! Bench: `tb/dram`, and `tb/hdl/dram/channel.rs` with `rtl/hdl/dram/ws_dram_channel.sv`.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::bank::Bank;
use super::command::{Command, CommandKind};
use super::config::{CommandBus, DramConfig};
use super::counts::Counts;
use super::drain::{Drain, ServableSlots};
use super::mapping::BurstLocation;
use super::message::{DramReply, DramRequest};
use super::policy::WaitingRequest;
use super::queue::{Entry, MAX, Queue, WaitIntegrals, with};
use super::ranked::RankedCandidates;
use super::recorded::ChannelPlace;
use super::refresh::Refresher;
use super::replies::Replies;
use super::scheduler::{Gates, Plan, Scheduler, View};
use super::store::{Store, StoreError};
use super::timing::Timing;
use super::watch::ChannelEvent;
use crate::cells::arbiter::RoundRobin;
use crate::kernel::{
    AnyEdge, Block, Counted, Describe, DescribeExt, Edge, HasPorts, In, Many, Out, Ports, RxBank, Sleep, TxBank,
};
use crate::noc::interleave::Interleave;
use crate::scheme_counts::SchemeCounts;

/// DRAM channel: its controller, and the memory behind it.
#[derive(Serialize, Deserialize)]
pub struct DramChannel {
    #[serde(with = "crate::config::text")]
    config: DramConfig,
    queue: Queue,
    num_banks: u32,
    #[serde(with = "BigArray")]
    banks: [Bank; MAX],
    /// Open banks that have reached the cap on row hits that overtake an older request, one bit per bank.
    capped: u64,
    timing: Timing,
    scheduler: Scheduler,
    drain: Drain,
    refresher: Refresher,
    replies: Replies,
    /// Interleaving of the channel's bursts among the L2 banks that share the channel.
    sharers: Interleave,
    /// Round-robin arbiter that selects the L2 bank whose request is accepted.
    turn: RoundRobin,
    /// Planned command for the shared command bus or, if row commands have a separate bus, for the column
    /// bus. It was chosen after the last edge at which the state of the channel changed.
    plan: Plan,
    /// Planned command for the row bus, if row commands have a separate bus.
    row_plan: Plan,
    store: Store,
    /// True if row commands have a separate command bus.
    is_dual: bool,
    /// True if the arbitration policy ranks requests.
    is_ranked: bool,
    /// Next cycle in which the policy changes ranks by itself, for example at the end of a quantum;
    /// `u64::MAX` if there is none.
    quantum: u64,
    /// State of the command buses. With one bus, only the first element is used. With two, the first is the
    /// row bus and the second the column bus.
    buses: [Command; 2],
    /// Counters of the channel, except for those that [`Self::counts`] computes.
    counts: Counts,
    /// Cycle up to which the statistics that are summed over time are complete.
    counted_to: u64,
    /// Events that have not been taken by a checker; `None` if they are not reported.
    #[serde(skip)]
    seen: Option<Vec<ChannelEvent>>,
}

/// Ports of a DRAM channel.
#[derive(Default, Ports)]
pub struct DramPorts {
    /// Inputs of bursts to read and write, one link per L2 bank.
    pub req: Many<In<DramRequest>>,
    /// Outputs of read data and acknowledgments, one link per L2 bank.
    pub rsp: Many<Out<DramReply>>,
}

impl HasPorts for DramChannel {
    type Ports = DramPorts;
}

/// Ends of the message channels that a DRAM channel uses at one clock edge.
pub struct DramIo<'a> {
    /// Receiving ends for bursts to read and write, one per L2 bank.
    pub req: RxBank<'a, DramRequest>,
    /// Sending ends for read data and acknowledgments, one per L2 bank.
    pub rsp: TxBank<'a, DramReply>,
}

impl DramChannel {
    /// Creates a DRAM channel that serves one L2 bank, in a machine with `num_sms` SMs. All DRAM banks are
    /// closed, and no memory is mapped.
    #[must_use]
    pub fn new(config: &DramConfig, path: &str, num_sms: u32) -> Self {
        let burst_bytes = config.burst_bytes();
        Self::with_sharers(config, path, Interleave::new(1, burst_bytes, burst_bytes), num_sms)
    }

    /// Creates a DRAM channel that several L2 banks share; `sharers` is the interleaving of its bursts over
    /// them.
    #[must_use]
    pub fn with_sharers(config: &DramConfig, path: &str, sharers: Interleave, num_sms: u32) -> Self {
        let scheduler = Scheduler::new(config, num_sms);
        let quantum = scheduler.hooks().map(|hooks| hooks.next_quantum());
        Self {
            sharers,
            turn: RoundRobin::new(sharers.num_partitions),
            queue: Queue::new(config, path, num_sms),
            num_banks: config.banks(),
            banks: [Bank::CLOSED; MAX],
            capped: 0,
            timing: Timing::new(config),
            scheduler,
            drain: Drain::new(config),
            refresher: Refresher::new(config),
            replies: Replies::new(config, path),
            plan: Plan::NOTHING,
            row_plan: Plan::NOTHING,
            store: Store::new(config, path),
            is_dual: config.command_bus == CommandBus::Dual,
            is_ranked: quantum.is_some(),
            quantum: quantum.unwrap_or(u64::MAX),
            buses: [Command::default(); 2],
            counts: Counts::default(),
            counted_to: 0,
            seen: None,
            config: config.clone(),
        }
    }

    /// Replaces the memory by a memory for the replay of traces ([`super::recorded`]), in which every burst
    /// address of `burst_bits` bits exists. Row numbers beyond the last row of the channel wrap around to the
    /// first row.
    pub fn record_memory(&mut self, path: &str, place: ChannelPlace, burst_bits: u32) {
        self.store.record(place);
        self.queue.widen(burst_bits);
        self.replies = Replies::wide(&self.config, path, burst_bits);
    }

    /// Returns the memory behind the channel.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the memory behind the channel, so that the simulator can map and modify it from outside the
    /// hardware.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Returns the commands issued in `cycle`, row command first. `cycle` must be the cycle of the last
    /// evaluated edge; otherwise the result is empty.
    #[must_use]
    pub fn commands_of(&self, cycle: u64) -> &[Command] {
        let [first, second] = self.buses.each_ref().map(|bus| bus.kind != CommandKind::Nop && bus.cycle == cycle);
        &self.buses[usize::from(!first)..1 + usize::from(second)]
    }

    /// Returns the statistics of the channel, complete up to the last evaluated edge, or up to the cycle
    /// given to [`Self::settle`].
    #[must_use]
    pub fn counts(&self) -> Counts {
        let bursts = self.counts.reads + self.counts.writes;
        let WaitIntegrals { requests, banks, cycles } = self.queue.wait_integrals(self.counted_to);
        Counts {
            bytes: bursts * u64::from(self.config.burst_bytes()),
            bus_busy_cycles: bursts * u64::from(self.config.timing.burst),
            queue_occupancy: requests,
            banks_waiting: banks,
            waiting_cycles: cycles,
            ..self.counts
        }
    }

    /// True if no request waits in the queue and no read data are in flight.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.queue.occupied_slots() == 0 && self.replies.is_empty()
    }

    /// Extends the statistics to `cycle`: sums over time then include the cycles in which the channel slept.
    pub fn settle(&mut self, cycle: u64) {
        self.counted_to = cycle;
    }

    /// Returns the counters that belong to the arbitration policy.
    #[must_use]
    pub fn scheme_counts(&self) -> SchemeCounts {
        SchemeCounts::of(|to| self.scheduler.hooks().into_iter().for_each(|hooks| hooks.counters(to)))
    }

    /// Starts to maintain digests (hashes) of the memories inside the controller.
    pub fn record(&mut self) {
        self.queue.record();
        self.replies.record();
        if let Some(hooks) = self.scheduler.hooks_mut() {
            hooks.record();
        }
    }

    /// Starts to record requests, commands and replies, for a checker.
    pub fn observe(&mut self) {
        self.seen = Some(Vec::new());
    }

    /// Returns the requests, commands and replies since the previous call; empty if they are not reported.
    pub fn take_seen(&mut self) -> Vec<ChannelEvent> {
        self.seen.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Reports an event to the checker, if there is one.
    #[inline(always)]
    fn report(&mut self, event: impl FnOnce() -> ChannelEvent) {
        if self.seen.is_some() {
            self.record_event(&event());
        }
    }

    #[inline(never)]
    fn record_event(&mut self, event: &ChannelEvent) {
        if let Some(seen) = &mut self.seen {
            seen.push(*event);
        }
    }

    /// Evaluates a clock edge at which the state of the channel may change.
    #[inline(never)]
    fn act(&mut self, io: DramIo<'_>, at: &mut impl AnyEdge) -> Sleep {
        let DramIo { mut req, mut rsp } = io;
        let cycle = at.cycle();
        let reads = self.replies.has_room();
        let sent = self.replies.send(&mut rsp, &self.sharers, at);
        if sent {
            self.report(|| ChannelEvent::Sent { cycle });
        }
        if self.quantum <= cycle {
            self.end_quantum(cycle, reads);
        }
        if self.refresher.stops_requests(cycle) {
            self.drain_for_refresh(cycle, reads);
        }
        if self.due() <= cycle {
            self.issue(at, reads);
        } else {
            debug_assert_eq!(self.choose_commands(cycle, reads), [None; 2], "cycle {cycle}");
        }
        let [bus, column_bus] = &self.buses;
        let issued = bus.kind != CommandKind::Nop || column_bus.kind != CommandKind::Nop;
        let taken = self.take(&mut req, &mut rsp, at);
        // Because a reply was sent, a read that had no room in the reply buffer may have room from the next
        // cycle on.
        let appeared = sent && !reads;
        if self.is_ranked && (issued || taken) {
            self.report_change(cycle);
        }
        if issued || taken || appeared {
            // A request that was just accepted cannot replace a column command that is already planned for
            // this cycle.
            self.look_ahead(cycle + 1, !issued && !appeared);
        }
        // A command occupies the bus for one cycle, so the bus must return to idle in the next cycle.
        if issued || self.queue.has_room() && req.has_beat(at) {
            return Sleep::Next;
        }
        // If read data are ready but were not sent, the reply link is full. That link wakes the channel when
        // it has room.
        let data = self.replies.first_due();
        let data = if data > cycle || sent { data } else { u64::MAX };
        sleep_until(self.due().min(self.refresher.due()).min(data).min(self.quantum), cycle)
    }

    /// Lets the policy change its ranks in `cycle`, then chooses the next commands again. `reads` is true if
    /// the reply buffer has room for a read.
    #[cold]
    fn end_quantum(&mut self, cycle: u64, reads: bool) {
        if let Some(hooks) = self.scheduler.hooks_mut() {
            hooks.on_quantum(cycle);
            self.quantum = hooks.next_quantum();
            assert!(self.quantum > cycle, "cycle {cycle}: the policy of the channel ends two quanta in one cycle");
        }
        self.plan_from(cycle, reads);
    }

    /// Reports all waiting requests, oldest first, to a policy that ranks requests.
    #[inline(never)]
    fn report_change(&mut self, cycle: u64) {
        let Some(hooks) = self.scheduler.hooks_mut() else { return };
        let (mut waiting, mut count) = ([WaitingRequest::default(); MAX], 0);
        let mut left = self.queue.occupied_slots();
        while left != 0 {
            let oldest = self.queue.oldest(left);
            left &= !(1 << oldest);
            waiting[count] = self.queue.request(oldest);
            count += 1;
        }
        hooks.on_change(cycle, &waiting[..count]);
        self.quantum = hooks.next_quantum();
    }

    /// Returns the cycle before which no command for a request is legal.
    fn due(&self) -> u64 {
        self.plan.from.min(self.row_plan.from)
    }

    /// Prepares a refresh that is due. The waiting row hits are served first, and then the commands of the
    /// refresh are issued. Until the refresh has ended, no other commands are issued.
    fn drain_for_refresh(&mut self, cycle: u64, reads: bool) {
        self.refresher.prepare(&self.queue, self.scheduler.eligible(&self.queue, ServableSlots::ALL), reads);
        // While the channel drains for a refresh, the set of requests that can be served may change although
        // no command was issued.
        self.plan_from(cycle, reads);
        if self.refresher.last() == 0 {
            self.plan.from = self.refresh(cycle);
        }
    }

    /// Accepts a request into the queue if one is present and a slot is free. Returns true if a request was
    /// accepted.
    fn take(
        &mut self,
        req: &mut RxBank<'_, DramRequest>,
        rsp: &mut TxBank<'_, DramReply>,
        at: &mut impl AnyEdge,
    ) -> bool {
        if !self.queue.has_room() {
            return false;
        }
        let from = match req.len() {
            1 => Some(0),
            _ => self.turn.grant(req.visible(at)),
        };
        let Some(from) = from.map(|from| from as usize) else { return false };
        let mut req = req.at(from);
        let Some(request) = req.peek(at) else { return false };
        if request.acknowledged {
            let mut rsp = rsp.at(from);
            if !rsp.is_ready(at) {
                return false;
            }
            let &DramRequest { id, burst, tag, .. } = request;
            rsp.push(at, DramReply { id, burst, tag, is_ack: true, ..DramReply::default() });
            if !request.write {
                req.drop_head(at);
                return true;
            }
        }
        let slot = self.queue.accept(at, request, |bank| self.banks[bank % MAX].open());
        let &DramRequest { write, burst, requester, .. } = request;
        self.report(|| ChannelEvent::Accepted { cycle: at.cycle(), slot, write, burst, requester });
        if let Some(hooks) = self.scheduler.hooks_mut() {
            hooks.on_accept(at.cycle(), &self.queue.request(slot));
        }
        req.drop_head(at);
        true
    }

    /// Chooses the commands for `cycle` or later, after a clock edge that changed the set of requests that
    /// can be served. If `keeps` is true, the change cannot affect a column command that is already planned
    /// for `cycle`, so this command may be kept.
    #[inline(always)]
    fn look_ahead(&mut self, cycle: u64, keeps: bool) {
        self.drain.update(cycle, &self.queue);
        if self.refresher.is_draining() {
            // While the channel drains for a refresh, the choice is repeated at every edge.
            (self.plan, self.row_plan) = (Plan::ask(cycle), Plan::NOTHING);
        } else if !keeps || self.is_dual || self.is_ranked || self.drain.is_on() || !self.plan.is_column_at(cycle) {
            self.plan_from(cycle, self.replies.has_room());
        }
    }

    /// Chooses the next command of each command bus from `cycle` on; with two buses, both choices use the
    /// same state. `reads` is true if the reply buffer has room for a read.
    #[inline(always)]
    fn plan_from(&mut self, cycle: u64, reads: bool) {
        self.plan = self.choose(cycle, reads);
        if self.is_dual {
            self.row_plan = self.choose_row(cycle);
        }
    }

    /// Returns references to the state of the channel that determines the choice of commands.
    fn view(&self) -> View<'_> {
        let Self { queue, banks, capped, timing, is_dual, .. } = self;
        View { queue, banks, capped: *capped, timing, is_dual: *is_dual }
    }

    /// Returns the next command from `cycle` on. With a separate bus for row commands, returns the next
    /// column command. `reads` is true if the reply buffer has room for a read.
    fn choose(&self, cycle: u64, reads: bool) -> Plan {
        if self.is_gated() {
            return self.choose_behind_gates(cycle, reads);
        }
        self.view().choose(cycle, self.view().all_candidates(), reads)
    }

    /// Variant of [`Self::choose`] for cycles in which some requests must not be served. Has the same
    /// parameters.
    #[inline(never)]
    fn choose_behind_gates(&self, cycle: u64, reads: bool) -> Plan {
        match self.scheduler.hooks() {
            Some(hooks) => {
                RankedCandidates::new(hooks, self.gates(cycle), self.view()).choose(self.view(), cycle, reads)
            }
            None => self.view().choose(cycle, self.scheduler.behind(self.gates(cycle), self.view()), reads),
        }
    }

    /// Returns the next command on the separate row bus from `cycle` on.
    #[inline(never)]
    fn choose_row(&self, cycle: u64) -> Plan {
        if !self.is_gated() {
            return self.view().choose_row(cycle, self.view().all_candidates());
        }
        match self.scheduler.hooks() {
            Some(hooks) => RankedCandidates::new(hooks, self.gates(cycle), self.view()).choose_row(self.view(), cycle),
            None => self.view().choose_row(cycle, self.scheduler.behind(self.gates(cycle), self.view())),
        }
    }

    /// True if some of the waiting requests must not be served now.
    fn is_gated(&self) -> bool {
        self.refresher.is_draining() || self.drain.is_on() || !self.scheduler.is_unrestricted(self.view())
    }

    /// Returns the restrictions that limit the choice of commands from `cycle` on.
    fn gates(&self, cycle: u64) -> Gates {
        if self.refresher.is_draining() {
            Gates { turn: ServableSlots::ALL, columns: self.refresher.last(), rows: false }
        } else {
            Gates { turn: self.drain.turn(cycle, &self.queue), columns: u64::MAX, rows: true }
        }
    }

    /// Issues the commands planned for this cycle. `reads` is true if the reply buffer has room for a read.
    fn issue(&mut self, at: &impl AnyEdge, reads: bool) {
        let cycle = at.cycle();
        if self.plan.kind == CommandKind::Nop {
            self.plan_from(cycle, reads);
        }
        debug_assert_eq!(
            [&self.plan, &self.row_plan].map(|plan| plan.command_at(cycle)),
            self.choose_commands(cycle, reads)
        );
        debug_assert!(self.are_apart(cycle), "cycle {cycle}: two commands in one bank");
        if let Some((kind, slot)) = self.plan.command_at(cycle) {
            self.send(at, kind, slot);
        }
        if self.is_dual
            && let Some((kind, slot)) = self.row_plan.command_at(cycle)
        {
            // The row command was planned before the column command was issued, and the two are for different
            // banks. The request of the row command is therefore still in the queue.
            self.send_row(cycle, kind, slot);
        }
    }

    /// Chooses the commands for `cycle` again, one per bus, so that a check can compare them with the
    /// commands that were planned earlier.
    fn choose_commands(&self, cycle: u64, reads: bool) -> [Option<(CommandKind, usize)>; 2] {
        let row = if self.is_dual { self.choose_row(cycle).command_at(cycle) } else { None };
        [self.choose(cycle, reads).command_at(cycle), row]
    }

    /// True if the commands planned for a cycle are for different banks.
    fn are_apart(&self, cycle: u64) -> bool {
        let bank = |plan: &Plan| plan.command_at(cycle).map(|(_, slot)| self.queue.entry(slot).place.bank);
        bank(&self.plan).is_none() || bank(&self.plan) != bank(&self.row_plan)
    }

    /// Issues a command for the request in `slot`, on the bus that carries column commands. An ACT or PRE is
    /// passed on to [`Self::send_row`].
    fn send(&mut self, at: &impl AnyEdge, kind: CommandKind, slot: usize) {
        if !kind.is_column() {
            return self.send_row(at.cycle(), kind, slot);
        }
        self.report_issue(at.cycle(), kind, slot);
        let Entry { id, place, .. } = *self.queue.entry(slot);
        let BurstLocation { bank, row, column } = place;
        let command = Command { cycle: at.cycle(), kind, bank, row, column, id };
        self.buses[usize::from(self.is_dual)] = command;
        self.report(|| ChannelEvent::Issued { command, slot: Some(slot) });
        self.column(at, slot, usize::from(bank));
    }

    /// Issues an ACT or PRE for the request in `slot`, on the bus that carries row commands.
    fn send_row(&mut self, cycle: u64, kind: CommandKind, slot: usize) {
        self.report_issue(cycle, kind, slot);
        let Entry { id, place: BurstLocation { bank, row, .. }, .. } = *self.queue.entry(slot);
        let command = Command { cycle, kind, bank, row, column: 0, id };
        self.buses[0] = command;
        self.report(|| ChannelEvent::Issued { command, slot: Some(slot) });
        if kind == CommandKind::Act {
            self.activate(cycle, usize::from(bank), row);
        } else {
            self.precharge(cycle, usize::from(bank));
        }
    }

    /// Notifies the policy of a command that is being issued, if the policy ranks requests.
    fn report_issue(&mut self, cycle: u64, kind: CommandKind, slot: usize) {
        if let Some(hooks) = self.scheduler.hooks_mut() {
            hooks.on_issue(cycle, &self.queue.request(slot), kind);
        }
    }

    /// Performs an ACT: opens row `row` of the bank with number `index`.
    fn activate(&mut self, cycle: u64, index: usize, row: u32) {
        self.banks[index % MAX].activate(cycle, row, &self.config.timing);
        self.timing.activate(cycle, index);
        self.queue.open(index, row);
        self.counts.activates += 1;
    }

    /// Performs a PRE: closes the open row of the bank with number `index`.
    fn precharge(&mut self, cycle: u64, index: usize) {
        let bank = &mut self.banks[index % MAX];
        self.buses[0].row = bank.open().unwrap_or(0);
        bank.precharge(cycle, &self.config.timing);
        self.capped &= !(1 << index);
        self.timing.precharge(cycle);
        self.queue.close(index);
        self.counts.precharges += 1;
    }

    /// Performs the RD or WR for the request in `slot` of bank number `index`, and frees the slot.
    fn column(&mut self, at: &impl AnyEdge, slot: usize, index: usize) {
        let overtakes = self.queue.overtakes(slot);
        let bank = &mut self.banks[index % MAX];
        self.counts.row_hits += u64::from(bank.was_served());
        bank.use_row(overtakes);
        if overtakes && self.scheduler.is_capped(bank) {
            self.capped |= 1 << index;
        }
        if self.queue.entry(slot).write {
            self.write(at, slot, index);
        } else {
            self.read(at, slot, index);
        }
        if self.refresher.is_draining() {
            self.refresher.remove_served(slot);
        }
        self.queue.release(at.cycle(), slot);
    }

    /// Performs an RD: the burst is placed in the reply buffer, where it waits until the DRAM has output all
    /// its data.
    fn read(&mut self, at: &impl AnyEdge, slot: usize, index: usize) {
        let (cycle, t) = (at.cycle(), &self.config.timing);
        let due = cycle + u64::from(t.read_latency());
        self.banks[index % MAX].read(cycle, t);
        self.timing.read(cycle, index);
        self.counts.reads += 1;
        self.counts.count_read_latency(due - self.queue.accept_cycle(slot));
        let (store, &Entry { id, burst, tag, .. }) = (&self.store, self.queue.entry(slot));
        self.replies.insert(at, due, |reply| {
            (reply.id, reply.burst, reply.tag) = (id, burst, tag);
            existing(cycle, store.read(burst, &mut reply.data));
        });
    }

    /// Performs a WR: writes the burst to the memory.
    fn write(&mut self, at: &impl AnyEdge, slot: usize, index: usize) {
        let cycle = at.cycle();
        self.banks[index % MAX].write(cycle, &self.config.timing);
        self.timing.write(cycle, index);
        self.counts.writes += 1;
        let (written, burst) = (self.queue.data(at, slot), self.queue.entry(slot).burst);
        existing(cycle, self.store.write(burst, written.byte_mask, &written.data));
    }

    /// Issues the next command of a refresh if it is legal; called after the last waiting row hit was served.
    /// Returns the first cycle in which the command is legal, or `u64::MAX` if it was issued.
    fn refresh(&mut self, cycle: u64) -> u64 {
        let banks = &mut self.banks[..self.num_banks as usize];
        let (kind, later) = self.refresher.choose(cycle, banks, &self.timing);
        let Some(kind) = kind else { return later };
        let t = &self.config.timing;
        if kind == CommandKind::Prea {
            for (index, bank) in banks.iter_mut().enumerate() {
                bank.precharge(cycle, t);
                self.queue.close(index);
            }
            self.capped = 0;
            self.timing.precharge(cycle);
        } else {
            for bank in banks {
                bank.refresh(cycle, t);
            }
            self.timing.refresh(cycle);
            self.refresher.finish();
            self.counts.refreshes += 1;
        }
        let command = Command { cycle, kind, ..Command::default() };
        self.buses[0] = command;
        self.report(|| ChannelEvent::Issued { command, slot: None });
        later
    }
}

/// Returns when the channel must be evaluated again, given that its next action is in cycle `due`.
fn sleep_until(due: u64, cycle: u64) -> Sleep {
    match due {
        u64::MAX => Sleep::UntilEvent,
        due if due <= cycle + 1 => Sleep::Next,
        due => Sleep::At(due),
    }
}

/// Returns the value of a successful memory access; panics if the burst does not exist.
fn existing<T>(cycle: u64, found: Result<T, StoreError>) -> T {
    match found {
        Ok(found) => found,
        Err(error) => panic!("cycle {cycle}, {error}"),
    }
}

impl DramChannel {
    /// Executes one clock edge of the channel, with or without run-time checks of the port contracts. Returns
    /// when the channel must be evaluated next.
    pub(crate) fn eval_any(&mut self, mut io: DramIo<'_>, at: &mut impl AnyEdge) -> Sleep {
        self.settle(at.cycle());
        let [bus, column_bus] = &mut self.buses;
        (bus.kind, column_bus.kind) = (CommandKind::Nop, CommandKind::Nop);
        // At many edges, the channel has no command to issue. It is evaluated only to return the bus to idle
        // after a command, or because it was woken before its next action is due.
        let due = self.due().min(self.refresher.due()).min(self.replies.first_due()).min(self.quantum);
        if due > at.cycle() && !(self.queue.has_room() && io.req.has_beat(at)) {
            return sleep_until(due, at.cycle());
        }
        self.act(io, at)
    }
}

impl Block for DramChannel {
    type Io<'a> = DramIo<'a>;

    fn eval(&mut self, io: DramIo<'_>, at: &mut Edge<'_>) -> Sleep {
        self.eval_any(io, at)
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self {
            config,
            queue,
            num_banks,
            banks,
            // `capped` is not a register: comparators derive it from the count of overtaking row hits in each
            // bank.
            capped: _,
            timing,
            scheduler,
            drain,
            refresher,
            replies,
            sharers,
            turn,
            // The plans are not registers: hardware would compute the same commands again in each cycle.
            plan: _,
            row_plan: _,
            // The memory contents are outside the chip, and they follow from the requests accepted so far, so
            // they are not listed.
            store: _,
            is_dual,
            is_ranked: _,
            // The policy lists its timer itself, so the timer is not listed here.
            quantum: _,
            buses: [bus, column_bus],
            counts: _,
            counted_to: _,
            seen: _,
        } = self;
        let num_banks = *num_banks;
        let open = (0..num_banks as usize).filter(|&index| banks[index].open().is_some()).fold(0, with);
        to.probe_sized("open", open, num_banks);
        let [bank_bits, row_bits, column_bits] = [num_banks, config.rows, config.columns].map(u32::trailing_zeros);
        if *is_dual {
            to.part("row_command", |to| bus.describe(bank_bits, Some(row_bits), None, to));
            to.part("column_command", |to| column_bus.describe(bank_bits, None, Some(column_bits), to));
        } else {
            to.part("command", |to| bus.describe(bank_bits, Some(row_bits), Some(column_bits), to));
        }
        to.part("queue", |to| queue.describe(to));
        let banks = banks.iter().take(num_banks as usize);
        to.entries("bank", banks, |bank, to| bank.describe(config.rows.trailing_zeros(), to));
        to.part("timing", |to| timing.describe(to));
        to.part("scheduler", |to| scheduler.describe(config.queue_entries, num_banks, to));
        if drain.is_on() {
            to.part("drain", |to| drain.describe(to));
        }
        if sharers.num_partitions > 1 {
            to.part("turn", |to| turn.describe(to));
        }
        to.part("refresh", |to| refresher.describe(config.queue_entries, config.banks(), to));
        to.part("replies", |to| replies.describe(to));
        self.counts().describe(&(), to);
    }
}
