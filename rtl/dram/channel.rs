//! # DRAM channel
//! The controller of one GDDR5 or HBM channel with the memory behind it: one command a cycle of the command clock CK, or
//! one for rows and one for columns, banks with open rows, FR-FCFS arbitration (khairy2015 table 1), and real bytes.
//!
//! | port  | dir | payload        | contract                                                          |
//! |-------|-----|----------------|-------------------------------------------------------------------|
//! | `req` | in  | `DramRequest`  | taken, one a cycle, while the queue has room; a slot that its column command frees is filled in the same cycle |
//! | `rsp` | out | `DramReply`    | one beat for each read, in the order of the RD commands, and one for each write, or notice that a line is gone, that asks for it, as it is taken |
//!
//! Of either there is one for each L2 bank that shares the channel. Requests of several are taken in turn; the address of
//! a read tells whose it is, and data that their bank has no room for hold up all behind them.
//!
//! Latency: a request taken in cycle t can have its first command in t + 1. A read leaves on `rsp`
//! CL and the cycles of a burst after its RD: 15 after t on an open row, 27 on a closed bank, 39 after
//! another row with the timing of khairy2015. A write counts as done with its WR. One that asks to be acknowledged is taken only in a
//! cycle in which its bank can be told so, behind data that leave: from then on every read of the burst finds it.
//!
//! Ordering: accesses to one burst happen in the order of their arrival, all others in the order
//! that suits the banks. A read sees every older write to its burst, whole or in part, because both
//! wait in one queue and the younger one waits for the older.
//!
//! Stalls: reads stop when the reply buffer has no place left for their data; writes and row
//! commands go on, so the channel never waits for its receiver to take a request.
//!
//! A read or write of a burst that the host has not mapped is a panic that names channel and cycle.
//!
//! Twin: `golden/dram/checker.rs` and `golden/dram/requests.rs`.
//! Bench: `tb/dram`.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::bank::Bank;
use super::command::{Command, CommandKind};
use super::config::{CommandBus, DramConfig};
use super::counts::Counts;
use super::drain::{Drain, Turn};
use super::mapping::Place;
use super::message::{DramReply, DramRequest};
use super::queue::{Entry, MAX, Queue, Waited, with};
use super::recorded::ChannelPlace;
use super::refresh::Refresher;
use super::replies::Replies;
use super::scheduler::{Candidates, Gates, Plan, Scheduler, View};
use super::store::{Store, StoreError};
use super::timing::Timing;
use crate::cells::arbiter::RoundRobin;
use crate::kernel::{
    AnyEdge, Block, Counted, Describe, DescribeExt, Edge, HasPorts, In, Many, Out, Ports, RxBank, Sleep, TxBank,
};
use crate::noc::interleave::Interleave;

/// A DRAM channel.
#[derive(Serialize, Deserialize)]
pub struct DramChannel {
    #[serde(with = "crate::config::text")]
    config: DramConfig,
    queue: Queue,
    num_banks: u32,
    #[serde(with = "BigArray")]
    banks: [Bank; MAX],
    /// Open banks that have reached the hit cap.
    capped: u64,
    timing: Timing,
    scheduler: Scheduler,
    drain: Drain,
    refresher: Refresher,
    replies: Replies,
    /// How its bursts go round among the banks that share it.
    sharers: Interleave,
    /// Whose request is taken first.
    turn: RoundRobin,
    /// The next command, chosen when the last change was made; where rows have a bus of their own, that of the other.
    plan: Plan,
    /// The next command of a bus of rows.
    row_plan: Plan,
    store: Store,
    /// Rows have a command bus of their own.
    is_dual: bool,
    /// The command bus, or that of rows; the bus of columns, if there are two.
    buses: [Command; 2],
    /// Without the sums over cycles and what follows from the others.
    counts: Counts,
    /// Cycle up to which statistics are complete.
    counted_to: u64,
}

/// Ports of a DRAM channel.
#[derive(Default, Ports)]
pub struct DramPorts {
    /// Bursts to read and write, of each bank.
    pub req: Many<In<DramRequest>>,
    /// Bursts read, for each bank.
    pub rsp: Many<Out<DramReply>>,
}

impl HasPorts for DramChannel {
    type Ports = DramPorts;
}

/// Ports of a DRAM channel.
pub struct DramIo<'a> {
    /// Bursts to read and write, of each bank.
    pub req: RxBank<'a, DramRequest>,
    /// Bursts read, for each bank.
    pub rsp: TxBank<'a, DramReply>,
}

impl DramChannel {
    /// A channel of one L2 bank, with closed banks and no memory mapped.
    #[must_use]
    pub fn new(config: &DramConfig, path: &str) -> Self {
        let burst_bytes = config.burst_bytes();
        Self::shared(config, path, Interleave::new(1, burst_bytes, burst_bytes))
    }

    /// A channel whose bursts go round among several L2 banks.
    #[must_use]
    pub fn shared(config: &DramConfig, path: &str, sharers: Interleave) -> Self {
        Self {
            sharers,
            turn: RoundRobin::new(sharers.num_partitions),
            queue: Queue::new(config, path),
            num_banks: config.banks(),
            banks: [Bank::CLOSED; MAX],
            capped: 0,
            timing: Timing::new(config),
            scheduler: Scheduler::new(config),
            drain: Drain::new(config),
            refresher: Refresher::new(config),
            replies: Replies::new(config, path),
            plan: Plan::NOTHING,
            row_plan: Plan::NOTHING,
            store: Store::new(config, path),
            is_dual: config.command_bus == CommandBus::Dual,
            buses: [Command::default(); 2],
            counts: Counts::default(),
            counted_to: 0,
            config: config.clone(),
        }
    }

    /// Turns this into a channel behind a trace: its memory is that of [`super::recorded`], and holds
    /// every burst of `burst_bits` address bits. Rows behind the last begin again with the first.
    pub fn record_memory(&mut self, path: &str, place: ChannelPlace, burst_bits: u32) {
        self.store.record(place);
        self.queue.widen(burst_bits);
        self.replies = Replies::wide(&self.config, path, burst_bits);
    }

    /// The contents of the memory.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The contents of the memory, for the host.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// The commands of `cycle`, if that was the block's last edge and it issued any; a row command first.
    #[must_use]
    pub fn commands_of(&self, cycle: u64) -> &[Command] {
        let [first, second] = self.buses.each_ref().map(|bus| bus.kind != CommandKind::Nop && bus.cycle == cycle);
        &self.buses[usize::from(!first)..1 + usize::from(second)]
    }

    /// Statistics, complete up to the cycle given to [`Self::settle`] or to the last edge.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let bursts = self.counts.reads + self.counts.writes;
        let Waited { requests, banks, cycles } = self.queue.waited(self.counted_to);
        Counts {
            bytes: bursts * u64::from(self.config.burst_bytes()),
            bus_busy_cycles: bursts * u64::from(self.config.timing.burst),
            queue_occupancy: requests,
            banks_waiting: banks,
            waiting_cycles: cycles,
            ..self.counts
        }
    }

    /// True if no request waits and no data are on their way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.queue.occupied() == 0 && self.replies.is_empty()
    }

    /// Charges the time slept through until `cycle` to the statistics.
    pub fn settle(&mut self, cycle: u64) {
        self.counted_to = cycle;
    }

    /// Starts to keep digests of the arrays.
    pub fn record(&mut self) {
        self.queue.record();
        self.replies.record();
    }

    /// An edge at which something happens or may happen.
    #[inline(never)]
    fn act(&mut self, io: DramIo<'_>, at: &mut impl AnyEdge) -> Sleep {
        let DramIo { mut req, mut rsp } = io;
        let cycle = at.cycle();
        let reads = self.replies.has_room();
        let sent = self.replies.send(&mut rsp, self.sharers, at);
        if self.refresher.stops_requests(cycle) {
            self.make_way(cycle, reads);
        }
        if self.due() <= cycle {
            self.issue(at, reads);
        } else {
            debug_assert_eq!(self.chosen(cycle, reads), [None; 2], "cycle {cycle}");
        }
        let [bus, column_bus] = &self.buses;
        let issued = bus.kind != CommandKind::Nop || column_bus.kind != CommandKind::Nop;
        let taken = self.take(&mut req, &mut rsp, at);
        // A read that found no room may have some from the next cycle on.
        let appeared = sent && !reads;
        if issued || taken || appeared {
            // The youngest request takes a cycle from no column command that has one.
            self.look_ahead(cycle + 1, !issued && !appeared);
        }
        // A command is one cycle long: the bus is to be seen at rest in the next.
        if issued || self.queue.has_room() && req.waiting(at) {
            return Sleep::Next;
        }
        // Data that are due and were not sent wait for room in the channel, which is an event.
        let data = self.replies.first_due();
        let data = if data > cycle || sent { data } else { u64::MAX };
        until(self.due().min(self.refresher.due()).min(data), cycle)
    }

    /// No command of a request is legal before this cycle.
    fn due(&self) -> u64 {
        self.plan.from.min(self.row_plan.from)
    }

    /// Lets requests make way for a refresh that is due and, once the last row hits are served, takes its next step.
    fn make_way(&mut self, cycle: u64, reads: bool) {
        self.refresher.prepare(&self.queue, self.scheduler.eligible(&self.queue, Turn::ALL), reads);
        // What may still go changes without a command.
        self.plan_from(cycle, reads);
        if self.refresher.last() == 0 {
            self.plan.from = self.refresh(cycle);
        }
    }

    /// Takes a request if one is there and a slot is free.
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
            if !rsp.ready(at) {
                return false;
            }
            let &DramRequest { id, burst, tag, .. } = request;
            rsp.push(at, DramReply { id, burst, tag, is_ack: true, ..DramReply::default() });
            if !request.write {
                req.drop_head(at);
                return true;
            }
        }
        self.queue.accept(at, request, |bank| self.banks[bank % MAX].open());
        req.drop_head(at);
        true
    }

    /// Chooses the commands of `cycle` or of later ones, after an edge that has changed what there is to choose from.
    /// `keeps` tells that it changed nothing for a column command of that cycle.
    #[inline(always)]
    fn look_ahead(&mut self, cycle: u64, keeps: bool) {
        self.drain.update(cycle, &self.queue);
        if self.refresher.is_draining() {
            // Whoever makes way looks at every edge.
            (self.plan, self.row_plan) = (Plan::ask(cycle), Plan::NOTHING);
        } else if !keeps || self.is_dual || self.drain.is_on() || !self.plan.is_column_at(cycle) {
            self.plan_from(cycle, self.replies.has_room());
        }
    }

    /// Chooses the next command of each bus from `cycle` on, each from the same state; `reads` as for [`Self::choose`].
    #[inline(always)]
    fn plan_from(&mut self, cycle: u64, reads: bool) {
        self.plan = self.choose(cycle, reads);
        if self.is_dual {
            self.row_plan = self.choose_row(cycle);
        }
    }

    /// The parts that the choice depends on.
    fn view(&self) -> View<'_> {
        let Self { queue, banks, capped, timing, is_dual, .. } = self;
        View { queue, banks, capped: *capped, timing, is_dual: *is_dual }
    }

    /// The next command from `cycle` on, of rows only if they have no bus of their own; `reads` tells whether a read has
    /// room for its data.
    fn choose(&self, cycle: u64, reads: bool) -> Plan {
        if self.is_gated() {
            return self.choose_behind_gates(cycle, reads);
        }
        self.view().choose(cycle, self.view().everyone(), reads)
    }

    /// The same where not everyone may go.
    #[inline(never)]
    fn choose_behind_gates(&self, cycle: u64, reads: bool) -> Plan {
        self.view().choose(cycle, self.behind_gates(cycle), reads)
    }

    /// The next command of a bus of rows from `cycle` on.
    #[inline(never)]
    fn choose_row(&self, cycle: u64) -> Plan {
        let candidates = if self.is_gated() { self.behind_gates(cycle) } else { self.view().everyone() };
        self.view().choose_row(cycle, candidates)
    }

    /// True if not everyone may go.
    fn is_gated(&self) -> bool {
        self.refresher.is_draining() || self.drain.is_on() || !self.scheduler.takes_everyone(self.view())
    }

    /// What there is to choose from where not everyone may go.
    fn behind_gates(&self, cycle: u64) -> Candidates {
        let gates = if self.refresher.is_draining() {
            Gates { turn: Turn::ALL, columns: self.refresher.last(), rows: false }
        } else {
            Gates { turn: self.drain.turn(cycle, &self.queue), columns: u64::MAX, rows: true }
        };
        self.scheduler.behind(gates, self.view())
    }

    /// The commands that are planned for this cycle; `reads` as for [`Self::choose`].
    fn issue(&mut self, at: &impl AnyEdge, reads: bool) {
        let cycle = at.cycle();
        if self.plan.kind == CommandKind::Nop {
            self.plan_from(cycle, reads);
        }
        debug_assert_eq!([&self.plan, &self.row_plan].map(|plan| plan.command_at(cycle)), self.chosen(cycle, reads));
        debug_assert!(self.are_apart(cycle), "cycle {cycle}: two commands in one bank");
        if let Some((kind, slot)) = self.plan.command_at(cycle) {
            self.send(at, kind, slot);
        }
        if self.is_dual
            && let Some((kind, slot)) = self.row_plan.command_at(cycle)
        {
            // Planned ahead of the other, and for another bank: its request still waits.
            self.send_row(cycle, kind, slot);
        }
    }

    /// The commands that would be chosen in `cycle`.
    fn chosen(&self, cycle: u64, reads: bool) -> [Option<(CommandKind, usize)>; 2] {
        let row = if self.is_dual { self.choose_row(cycle).command_at(cycle) } else { None };
        [self.choose(cycle, reads).command_at(cycle), row]
    }

    /// Whether the commands of a cycle are for different banks.
    fn are_apart(&self, cycle: u64) -> bool {
        let bank = |plan: &Plan| plan.command_at(cycle).map(|(_, slot)| self.queue.entry(slot).place.bank);
        bank(&self.plan).is_none() || bank(&self.plan) != bank(&self.row_plan)
    }

    /// Puts a command of a request on the bus that is not of rows alone.
    fn send(&mut self, at: &impl AnyEdge, kind: CommandKind, slot: usize) {
        if !kind.is_column() {
            return self.send_row(at.cycle(), kind, slot);
        }
        let Entry { id, place, .. } = *self.queue.entry(slot);
        let Place { bank, row, column } = place;
        self.buses[usize::from(self.is_dual)] = Command { cycle: at.cycle(), kind, bank, row, column, id };
        self.column(at, slot, usize::from(bank));
    }

    /// Puts an ACT or PRE on the bus that carries them.
    fn send_row(&mut self, cycle: u64, kind: CommandKind, slot: usize) {
        let Entry { id, place: Place { bank, row, .. }, .. } = *self.queue.entry(slot);
        self.buses[0] = Command { cycle, kind, bank, row, column: 0, id };
        if kind == CommandKind::Act {
            self.activate(cycle, usize::from(bank), row);
        } else {
            self.precharge(cycle, usize::from(bank));
        }
    }

    /// Opens `row` of bank `index`.
    fn activate(&mut self, cycle: u64, index: usize, row: u32) {
        self.banks[index % MAX].activate(cycle, row, &self.config.timing);
        self.timing.activate(cycle, index);
        self.queue.open(index, row);
        self.counts.activates += 1;
    }

    /// Closes the row of bank `index`.
    fn precharge(&mut self, cycle: u64, index: usize) {
        let bank = &mut self.banks[index % MAX];
        self.buses[0].row = bank.open().unwrap_or(0);
        bank.precharge(cycle, &self.config.timing);
        self.capped &= !(1 << index);
        self.timing.precharge(cycle);
        self.queue.close(index);
        self.counts.precharges += 1;
    }

    /// Reads or writes the burst of a request in bank `index`, which is served by that.
    fn column(&mut self, at: &impl AnyEdge, slot: usize, index: usize) {
        let overtakes = self.queue.overtakes(slot);
        let bank = &mut self.banks[index % MAX];
        self.counts.row_hits += u64::from(bank.served());
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
            self.refresher.served(slot);
        }
        self.queue.release(at.cycle(), slot);
    }

    /// RD: the burst waits among the replies until its data are out of the device.
    fn read(&mut self, at: &impl AnyEdge, slot: usize, index: usize) {
        let (cycle, t) = (at.cycle(), &self.config.timing);
        let due = cycle + u64::from(t.read_latency());
        self.banks[index % MAX].read(cycle, t);
        self.timing.read(cycle, index);
        self.counts.reads += 1;
        self.counts.read_took(due - self.queue.accepted(slot));
        let (store, &Entry { id, burst, tag, .. }) = (&self.store, self.queue.entry(slot));
        self.replies.insert(at, due, |reply| {
            (reply.id, reply.burst, reply.tag) = (id, burst, tag);
            existing(cycle, store.read(burst, &mut reply.data));
        });
    }

    /// WR.
    fn write(&mut self, at: &impl AnyEdge, slot: usize, index: usize) {
        let cycle = at.cycle();
        self.banks[index % MAX].write(cycle, &self.config.timing);
        self.timing.write(cycle, index);
        self.counts.writes += 1;
        let (written, burst) = (self.queue.data(at, slot), self.queue.entry(slot).burst);
        existing(cycle, self.store.write(burst, written.byte_mask, &written.data));
    }

    /// The next step of a refresh once the last row hits are served; returns when it is legal.
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
            self.refresher.done();
            self.counts.refreshes += 1;
        }
        self.buses[0] = Command { cycle, kind, ..Command::default() };
        later
    }
}

/// The sleep of a block that has something to do from cycle `due` on.
fn until(due: u64, cycle: u64) -> Sleep {
    match due {
        u64::MAX => Sleep::UntilEvent,
        due if due <= cycle + 1 => Sleep::Next,
        due => Sleep::At(due),
    }
}

/// What an access gave, which must exist.
fn existing<T>(cycle: u64, found: Result<T, StoreError>) -> T {
    match found {
        Ok(found) => found,
        Err(error) => panic!("cycle {cycle}, {error}"),
    }
}

impl DramChannel {
    /// One clock edge, checked or not.
    pub(crate) fn eval_any(&mut self, mut io: DramIo<'_>, at: &mut impl AnyEdge) -> Sleep {
        self.settle(at.cycle());
        let [bus, column_bus] = &mut self.buses;
        (bus.kind, column_bus.kind) = (CommandKind::Nop, CommandKind::Nop);
        // Many edges only put the bus to rest after a command, or come ahead of time.
        let due = self.due().min(self.refresher.due()).min(self.replies.first_due());
        if due > at.cycle() && !(self.queue.has_room() && io.req.waiting(at)) {
            return until(due, at.cycle());
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
            // Comparators of each bank's own count.
            capped: _,
            timing,
            scheduler,
            drain,
            refresher,
            replies,
            sharers,
            turn,
            // What the scheduler would say again.
            plan: _,
            row_plan: _,
            // Off chip, and a function of the beats that came in.
            store: _,
            is_dual,
            buses: [bus, column_bus],
            counts: _,
            counted_to: _,
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
