//! # DRAM channel
//! The controller of one GDDR5 channel with the memory behind it: one command a cycle of the command
//! clock CK, banks with open rows, FR-FCFS arbitration (khairy2015 table 1), and real bytes.
//!
//! | port  | dir | payload        | contract                                                          |
//! |-------|-----|----------------|-------------------------------------------------------------------|
//! | `req` | in  | `DramRequest`  | taken, one a cycle, while the queue has room; a slot that its column command frees is filled in the same cycle |
//! | `rsp` | out | `DramReply`    | one beat for each read, in the order of the RD commands           |
//!
//! Latency: a request taken in cycle t can have its first command in t + 1. A read leaves on `rsp`
//! CL + BL/4 cycles after its RD: 15 after t on an open row, 27 on a closed bank, 39 after another
//! row with the timing of khairy2015. A write has no reply; it counts as done with its WR.
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

use super::bank::Bank;
use super::command::{Command, CommandKind};
use super::config::DramConfig;
use super::counts::Counts;
use super::drain::{Drain, Turn};
use super::message::{DramReply, DramRequest};
use super::queue::{Entry, MAX, Queue};
use super::recorded::ChannelPlace;
use super::refresh::Refresher;
use super::replies::Replies;
use super::scheduler::{Gates, Plan, Scheduler, View};
use super::store::{Store, StoreError};
use super::timing::Timing;
use crate::kernel::{Block, Describe, DescribeExt, Edge, FieldsExt, Rx, Sleep, Tx};

/// A DRAM channel.
pub struct DramChannel {
    config: DramConfig,
    queue: Queue,
    num_banks: u32,
    banks: Box<[Bank; MAX]>,
    /// Banks with an open row.
    open: u64,
    /// Open banks that have reached the hit cap.
    capped: u64,
    timing: Timing,
    scheduler: Scheduler,
    drain: Drain,
    refresher: Refresher,
    replies: Replies,
    /// The next command, chosen when the last change was made.
    plan: Plan,
    store: Store,
    /// The command bus.
    command: Command,
    counts: Counts,
    /// Cycle up to which the queue's occupancy is counted.
    counted_to: u64,
}

/// Ports of a DRAM channel.
pub struct DramIo<'a> {
    /// Bursts to read and write.
    pub req: Rx<'a, DramRequest>,
    /// Bursts read.
    pub rsp: Tx<'a, DramReply>,
}

impl DramChannel {
    /// A channel with closed banks and no memory mapped.
    #[must_use]
    pub fn new(config: &DramConfig, path: &str) -> Self {
        Self {
            queue: Queue::new(config, path),
            num_banks: config.banks(),
            banks: Box::new([Bank::CLOSED; MAX]),
            open: 0,
            capped: 0,
            timing: Timing::new(config),
            scheduler: Scheduler::new(config),
            drain: Drain::new(config),
            refresher: Refresher::new(config),
            replies: Replies::new(config, path),
            plan: Plan::NOTHING,
            store: Store::new(config, path),
            command: Command::default(),
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

    /// The command of the block's last edge, if it issued one; it carries its cycle.
    #[must_use]
    pub fn command(&self) -> Option<Command> {
        (self.command.kind != CommandKind::Nop).then_some(self.command)
    }

    /// Statistics, complete up to the cycle given to [`Self::settle`].
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// True if no request waits and no data are on their way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.queue.occupied() == 0 && self.replies.is_empty()
    }

    /// Charges the time slept through until `cycle` to the statistics.
    pub fn settle(&mut self, cycle: u64) {
        let waiting = u64::from(self.queue.level());
        let span = cycle - self.counted_to;
        self.counts.queue_occupancy += waiting * span;
        self.counts.banks_waiting += u64::from(self.queue.bank_level()) * span;
        self.counts.waiting_cycles += if waiting == 0 { 0 } else { span };
        self.counted_to = cycle;
    }

    /// Starts to keep digests of the arrays.
    pub fn record(&mut self) {
        self.queue.record();
        self.replies.record();
    }

    /// The sleep of an edge at which nothing is due: no command, no data, no request, no refresh.
    #[inline]
    fn rest(&self, req: &Rx<'_, DramRequest>, at: &Edge<'_>) -> Option<Sleep> {
        // A refresh that drains looks at every edge.
        let due = if self.refresher.is_draining() { 0 } else { self.plan.from.min(self.refresher.due()) };
        let due = due.min(self.replies.due());
        if due <= at.cycle || self.queue.has_room() && req.waiting(at) {
            return None;
        }
        Some(match due {
            u64::MAX => Sleep::UntilEvent,
            due if due == at.cycle + 1 => Sleep::Next,
            due => Sleep::At(due),
        })
    }

    /// An edge at which something happens or may happen.
    #[inline(never)]
    fn act(&mut self, io: DramIo<'_>, at: &mut Edge<'_>) -> Sleep {
        let DramIo { mut req, mut rsp } = io;
        let cycle = at.cycle;
        let reads = self.replies.has_room();
        let sent = self.replies.send(&mut rsp, at);

        let stopped = self.refresher.stops_requests(cycle);
        if stopped {
            self.refresher.prepare(&self.queue, self.scheduler.eligible(&self.queue, Turn::ALL), reads);
        }
        // While requests make way, what may still go changes without a command.
        if stopped || self.plan.from <= cycle && self.plan.command.is_none() {
            self.plan = self.choose(cycle, reads);
        }
        debug_assert_eq!(self.plan.command_at(cycle), self.choose(cycle, reads).command_at(cycle));
        if let Some((kind, slot)) = self.plan.command_at(cycle) {
            self.issue(at, kind, slot);
        } else if stopped && self.refresher.last() == 0 {
            self.plan.from = self.refresh(cycle);
        }

        let arrived = if self.queue.has_room() { req.peek(at) } else { None };
        let taken = arrived.is_some();
        if let Some(request) = arrived {
            self.queue.accept(at, request, |bank| self.banks[bank % MAX].open());
            req.drop_head(at);
        }

        let issued = self.command.kind != CommandKind::Nop;
        if issued || taken {
            self.drain.update(cycle + 1, &self.queue);
        }
        // A read that found no room may have some from the next cycle on.
        if issued || taken || (sent && !reads) {
            if self.refresher.is_draining() {
                return Sleep::Next;
            }
            // The youngest request takes a cycle from no column command that has one.
            let keeps = !issued && (reads || !sent) && !self.drain.is_on() && self.plan.is_column_at(cycle + 1);
            if !keeps {
                self.plan = self.choose(cycle + 1, self.replies.has_room());
            }
        }
        let due = self.plan.from.min(self.refresher.due());
        // A command is one cycle long: the bus is to be seen at rest in the next.
        if issued || due <= cycle + 1 || self.queue.has_room() && req.waiting(at) {
            return Sleep::Next;
        }
        let deadline = if due == u64::MAX { Sleep::UntilEvent } else { Sleep::At(due) };
        deadline.min(self.replies.sleep(cycle, sent))
    }

    /// The next command from `cycle` on; `reads` tells whether a read has room for its data.
    fn choose(&self, cycle: u64, reads: bool) -> Plan {
        let gates = if self.refresher.is_draining() {
            Gates { turn: Turn::ALL, columns: self.refresher.last(), rows: false, reads }
        } else {
            Gates { turn: self.drain.turn(cycle, &self.queue), columns: u64::MAX, rows: true, reads }
        };
        let Self { queue, banks, open, capped, timing, .. } = self;
        self.scheduler.choose(cycle, View { queue, banks, open: *open, capped: *capped, timing }, gates)
    }

    /// The command of a request.
    fn issue(&mut self, at: &Edge<'_>, kind: CommandKind, slot: usize) {
        let Entry { id, place, .. } = *self.queue.entry(slot);
        let (cycle, index) = (at.cycle, usize::from(place.bank));
        let (bank, t) = (&mut self.banks[index % MAX], &self.config.timing);
        self.command = Command { cycle, kind, bank: place.bank, row: place.row, column: 0, id };
        match kind {
            CommandKind::Act => {
                bank.activate(cycle, place.row, t);
                self.open |= 1 << index;
                self.timing.activate(cycle, index);
                self.queue.open(index, place.row);
                self.counts.activates += 1;
            }
            CommandKind::Pre => {
                self.command.row = bank.open().unwrap_or(0);
                bank.precharge(cycle, t);
                self.open &= !(1 << index);
                self.capped &= !(1 << index);
                self.timing.precharge(cycle);
                self.queue.close(index);
                self.counts.precharges += 1;
            }
            CommandKind::Rd | CommandKind::Wr => {
                self.command.column = place.column;
                self.column(at, slot, index);
            }
            CommandKind::Nop | CommandKind::Prea | CommandKind::Ref => {
                unreachable!("no request asks for {kind:?}")
            }
        }
    }

    /// Reads or writes the burst of a request in bank `index`, which is served by that.
    fn column(&mut self, at: &Edge<'_>, slot: usize, index: usize) {
        let cycle = at.cycle;
        let Entry { write, id, tag, burst, .. } = *self.queue.entry(slot);
        let (bank, t) = (&mut self.banks[index % MAX], &self.config.timing);
        let overtakes = self.queue.overtakes(slot);
        self.counts.row_hits += u64::from(bank.served());
        self.counts.bytes += u64::from(self.config.burst_bytes());
        self.counts.bus_busy_cycles += u64::from(t.burst);
        if write {
            bank.write(cycle, overtakes, t);
            self.timing.write(cycle, index);
            let written = self.queue.data(at, slot);
            existing(cycle, self.store.write(burst, written.byte_mask, &written.data));
            self.counts.writes += 1;
        } else {
            bank.read(cycle, overtakes, t);
            self.timing.read(cycle, index);
            let due = cycle + u64::from(t.read_latency());
            let store = &self.store;
            self.replies.insert(at, due, |reply| {
                (reply.id, reply.burst, reply.tag) = (id, burst, tag);
                existing(cycle, store.read(burst, &mut reply.data));
            });
            self.counts.reads += 1;
        }
        self.capped |= u64::from(self.scheduler.is_capped(bank)) << index;
        self.refresher.served(slot);
        let accepted = self.queue.release(slot);
        if !write {
            self.counts.read_took(cycle + u64::from(self.config.timing.read_latency()) - accepted);
        }
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
            self.open = 0;
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
        self.command = Command { cycle, kind, ..Command::default() };
        later
    }
}

/// What an access gave, which must exist.
fn existing<T>(cycle: u64, found: Result<T, StoreError>) -> T {
    match found {
        Ok(found) => found,
        Err(error) => panic!("cycle {cycle}, {error}"),
    }
}

impl Block for DramChannel {
    type Io<'a> = DramIo<'a>;

    fn eval(&mut self, io: DramIo<'_>, at: &mut Edge<'_>) -> Sleep {
        self.settle(at.cycle);
        self.command.kind = CommandKind::Nop;
        // Many edges only put the bus to rest after a command, or come ahead of time.
        if let Some(sleep) = self.rest(&io.req, at) { sleep } else { self.act(io, at) }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self {
            config,
            queue,
            num_banks,
            banks,
            open,
            // Comparators of each bank's own count.
            capped: _,
            timing,
            scheduler,
            drain,
            refresher,
            replies,
            // What the scheduler would say again.
            plan: _,
            // Off chip, and a function of the beats that came in.
            store: _,
            command: Command { cycle: _, kind, bank, row, column, id },
            counts,
            counted_to: _,
        } = self;
        let num_banks = *num_banks;
        to.probe_sized("open", *open, num_banks);
        to.part("command", |to| {
            to.state("kind", *kind);
            to.sized("bank", u64::from(*bank), num_banks.trailing_zeros());
            to.sized("row", u64::from(*row), config.rows.trailing_zeros());
            to.sized("column", u64::from(*column), config.columns.trailing_zeros());
            to.bits("id", *id);
        });
        to.part("queue", |to| queue.describe(to));
        let banks = banks.iter().take(num_banks as usize);
        to.entries("bank", banks, |bank, to| bank.describe(config.rows.trailing_zeros(), to));
        to.part("timing", |to| timing.describe(to));
        to.part("scheduler", |to| scheduler.describe(config.queue_entries, num_banks, to));
        if drain.is_on() {
            to.part("drain", |to| drain.describe(to));
        }
        to.part("refresh", |to| refresher.describe(config.queue_entries, to));
        to.part("replies", |to| replies.describe(to));
        counts.describe(to);
    }
}
