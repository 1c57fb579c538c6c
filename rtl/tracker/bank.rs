//! # Bank of the sharing tracker
//! Stands before an L2 bank, on the way of its requests and of its replies. Knows which L1s hold the lines of
//! that bank, has one of them supply the line that another misses, and sends on to the bank what nobody
//! can supply (anssari2012 sections 3.1, 3.2 and 3.4).
//!
//! | port       | dir | payload   | contract                                                              |
//! |------------|-----|-----------|-----------------------------------------------------------------------|
//! | `req`      | in  | `Request` | of all SMs, in order; one a cycle                                     |
//! | `to_bank`  | out | `Request` | those that nobody supplies, in order but for those that come back     |
//! | `from_bank`| in  | `Reply`   | taken when it can go on                                               |
//! | `rsp`      | out | `Reply`   | the same                                                              |
//! | `forward`  | out | `Forward` | a load whose line an L1 is said to hold                               |
//! | `answer`   | in  | `Answer`  | one for each forward, always taken                                    |
//!
//! Latency: a cycle each way. The table does one thing a cycle: for an answer, else for a reply, else for the
//! oldest request. Answers and replies are of loads that the bank sent on, so that requests cannot starve.
//!
//! What is listed when. An L1 is listed as a line passes that will stay there, from the L2, or as its supplier
//! answers; by then the line may still be on its way, and a forward that comes too early is refused, but the L1 stays
//! listed: it is to have the line. A store or a coherent operation takes its line from the table, and has loads of
//! the line that are on their way arrive unlisted. Hence the copy of a listed L1 has been asked for after every
//! write that has passed here, and brings it. A line that an L1 drops is told of, but the notice may be here before
//! the answer that lists the L1: such an L1 has no copy, or one that it has asked for later.
//!
//! Order: requests of an SM to a line reach the bank in the order in which they came, but for loads that an L1
//! refused. A store or a coherent operation waits until no load of its own SM and line is at an L1: the load
//! must not find what comes after it. No deadlock: see [`super::message`].
//!
//! Twin: `golden/hybrid/tracker.rs`.
//! Bench: `tb/tracker`.

use serde::{Deserialize, Serialize};

use super::config::{Probes, Protections, TrackerConfig};
use super::message::{Answer, Forward, Found, TrackShape};
use super::stats::TrackerStats;
use super::table::Table;
use super::transfers::{Transfer, Transfers};
use crate::kernel::{Block, Counted, Describe, DescribeExt, Edge, HasPorts, In, Out, Ports, Rx, Sleep, Tx};
use crate::noc::interleave::Interleave;
use crate::noc::packet::{Reply, Request, RequestKind, Sharing};

/// Ports of a bank of the sharing tracker.
#[derive(Default, Ports)]
pub struct TrackerPorts {
    /// Requests of all SMs.
    pub req: In<Request>,
    /// Requests to the L2 bank.
    pub to_bank: Out<Request>,
    /// Its replies.
    pub from_bank: In<Reply>,
    /// Replies to the SMs.
    pub rsp: Out<Reply>,
    /// Loads that L1s are to answer.
    pub forward: Out<Forward>,
    /// What became of them.
    pub answer: In<Answer>,
}

impl HasPorts for Tracker {
    type Ports = TrackerPorts;
}

/// Channel ends of a bank of the tracker.
pub struct TrackerIo<'a> {
    /// Requests of all SMs.
    pub req: Rx<'a, Request>,
    /// Requests to the L2 bank.
    pub to_bank: Tx<'a, Request>,
    /// Its replies.
    pub from_bank: Rx<'a, Reply>,
    /// Replies to the SMs.
    pub rsp: Tx<'a, Reply>,
    /// Loads that L1s are to answer.
    pub forward: Tx<'a, Forward>,
    /// What became of them.
    pub answer: Rx<'a, Answer>,
}

/// Where the bank sits in its machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrackerPlace {
    /// Full path: `partition3.tracker`.
    pub path: String,
    /// Widths of its messages.
    pub shape: TrackShape,
    /// How L1 lines go round among the partitions.
    pub interleave: Interleave,
    /// SMs of the machine.
    pub num_sms: u32,
}

/// Where a request went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Chosen {
    /// To the L1 of an SM.
    Supplier(u8),
    /// To the L2 bank.
    Memory,
    /// Nowhere: it asked nothing.
    Nowhere,
}

/// What happened at an edge, in this order, for those who check it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// An answer: SM and ticket of the load, who was to supply it, and what became of it. The load may have been served
    /// before that, and its ticket be another's that waits for an answer, too.
    pub answer: Option<(u8, u64, u8, Found)>,
    /// A reply of the L2 to a load that was noted: SM and ticket, and whether the line was listed.
    pub reply: Option<(u8, u64, bool)>,
    /// A load that had been refused went to the L2: SM and ticket.
    pub resent: Option<(u8, u64)>,
    /// A request: SM, line, ticket, kind, what it says of the line, and where it went.
    pub request: Option<(u8, u64, u64, RequestKind, Sharing, Chosen)>,
}

/// What the oldest request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// Nothing: there is none, or it has gone.
    No,
    /// The table, or a link that was used in this cycle.
    Cycle,
    /// The link to the L2 bank.
    Memory,
    /// The link of the forwards.
    Forward,
    /// A load of its SM that is at another L1.
    Own,
}

/// One bank.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tracker {
    place: TrackerPlace,
    protections: Protections,
    probes: Probes,
    /// SMs that each table serves.
    served: u8,
    /// By tracker.
    tables: Box<[Table]>,
    transfers: Transfers,
    /// Since when the oldest request has waited for a load of its own SM.
    held_since: Option<u64>,
    stats: TrackerStats,
    seen: Option<Seen>,
}

impl Tracker {
    /// An empty bank.
    #[must_use]
    pub fn new(place: TrackerPlace, config: &TrackerConfig, protections: Protections) -> Self {
        let served = config.served(place.num_sms);
        let last = place.interleave.local((1 << place.shape.line_bits) - 1);
        let line_bits = u64::BITS - last.leading_zeros();
        let table = |number: u32| {
            let path = format!("{}.table{number}", place.path);
            let geometry = (config.sets / config.count, config.ways);
            Table::new(&path, geometry, (served, config.sharers), line_bits)
        };
        Self {
            protections,
            probes: config.probes,
            served: served as u8,
            tables: (0..config.count).map(table).collect(),
            transfers: Transfers::new(config.transfers),
            held_since: None,
            stats: TrackerStats::default(),
            seen: None,
            place,
        }
    }

    /// Counters so far.
    #[must_use]
    pub fn stats(&self) -> &TrackerStats {
        &self.stats
    }

    /// True if no load is on its way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.transfers.is_empty()
    }

    /// Forgets every line at the end of a kernel.
    ///
    /// # Panics
    /// If a load is still on its way.
    pub fn flush(&mut self) {
        assert!(self.is_idle(), "{}: flushed while loads are on their way", self.place.path);
        self.tables.iter_mut().for_each(Table::clear);
    }

    /// Starts to report what happens at each edge.
    pub fn observe(&mut self) {
        self.seen = Some(Seen::default());
    }

    /// What happened at the last edge, if observed; each edge's events are given once.
    pub fn take_seen(&mut self) -> Option<Seen> {
        self.seen.as_mut().map(std::mem::take)
    }

    /// Starts to keep digests of the memories.
    pub fn record(&mut self) {
        self.tables.iter_mut().for_each(Table::record);
    }

    fn note(&mut self, note: impl FnOnce(&mut Seen)) {
        if let Some(seen) = &mut self.seen {
            note(seen);
        }
    }

    /// The table of an SM, and the SM's number there.
    fn table_of(&mut self, sm: u8) -> (&mut Table, u32) {
        (&mut self.tables[usize::from(sm / self.served)], u32::from(sm % self.served))
    }

    fn local(&self, line: u64) -> u64 {
        self.place.interleave.local(line)
    }

    /// A line is at an L1 that will keep it, or on its way there. Returns whether it was listed.
    fn list(&mut self, at: &Edge<'_>, transfer: &Transfer) -> bool {
        let is_listed = transfer.keeps && !transfer.poisoned;
        if is_listed {
            let line = self.local(transfer.line);
            let (table, sm) = self.table_of(transfer.sm);
            table.add(at, line, sm);
            self.stats.listed += 1;
        }
        self.stats.poisoned += u64::from(transfer.keeps && transfer.poisoned);
        is_listed
    }

    /// Takes an answer. Returns whether there was one, which then has had the tables.
    fn take_answer(&mut self, answer: &mut Rx<'_, Answer>, at: &mut Edge<'_>) -> bool {
        let Some(&Answer { row, found, .. }) = answer.peek(at) else { return false };
        answer.drop_head(at);
        let Some(transfer) = self.transfers.answered(row, found) else {
            panic!("cycle {}, {}: an answer for row {row}, which was not forwarded", at.cycle, self.place.path)
        };
        match found {
            Found::Here => {
                self.stats.supplied += 1;
                self.list(at, &transfer);
            }
            Found::Coming => {
                self.stats.refused += 1;
                self.stats.too_early += 1;
            }
            Found::Gone => {
                self.stats.refused += 1;
                let line = self.local(transfer.line);
                let supplier = transfer.supplier;
                let (table, sm) = self.table_of(supplier);
                table.remove(at, line, sm);
            }
        }
        self.note(|seen| seen.answer = Some((transfer.sm, transfer.ticket, transfer.supplier, found)));
        true
    }

    /// Sends the oldest reply of the bank on. Returns whether that took the tables.
    fn pass_reply(&mut self, io: &mut TrackerIo<'_>, at: &mut Edge<'_>, is_free: bool) -> bool {
        let Some(reply) = io.from_bank.peek(at) else { return false };
        if !io.rsp.ready(at) {
            return false;
        }
        let row = self.transfers.of_reply(reply.sm, reply.ticket);
        if row.is_some() && !is_free {
            return false;
        }
        io.rsp.push_with(at, |beat| beat.clone_from(reply));
        io.from_bank.drop_head(at);
        let Some(row) = row else { return false };
        let transfer = self.transfers.arrived(row);
        let is_listed = self.list(at, &transfer);
        self.note(|seen| seen.reply = Some((transfer.sm, transfer.ticket, is_listed)));
        is_listed
    }

    /// Sends a load that an L1 refused to the L2 bank.
    fn resend(&mut self, to_bank: &mut Tx<'_, Request>, at: &mut Edge<'_>) {
        let Some((row, &Transfer { id, line, sm, ticket, sectors, keeps, .. })) = self.transfers.refused() else {
            return;
        };
        if !to_bank.ready(at) {
            return;
        }
        let partition = self.place.interleave.partition(line) as u8;
        to_bank.push_with(at, |beat| {
            let sharing = if keeps { Sharing::Keeps } else { Sharing::Takes };
            *beat = Request { id, line, sm, partition, ticket, sharing, sectors, ..Request::default() };
        });
        self.transfers.resent(row);
        self.note(|seen| seen.resent = Some((sm, ticket)));
    }

    /// Serves the oldest request, or says what it waits for.
    fn serve(&mut self, io: &mut TrackerIo<'_>, at: &mut Edge<'_>, is_free: bool) -> Held {
        let Some(request) = io.req.peek(at) else { return Held::No };
        let &Request { kind, line, sm, ticket, sharing, .. } = request;
        let writes = kind.writes();
        let is_coherent = kind.is_atomic() || sharing == Sharing::Coherent;
        let goes_aside = sharing == Sharing::Aside || sharing == Sharing::Takes && self.probes == Probes::Kept;
        if !writes && goes_aside {
            return self.pass(io, at, Chosen::Memory);
        }
        if !is_free {
            return Held::Cycle;
        }
        if writes || is_coherent {
            if self.transfers.is_forwarded(sm, line) {
                self.held_since.get_or_insert(at.cycle);
                return Held::Own;
            }
            if let held @ (Held::Memory | Held::Cycle) = can_send(&mut io.to_bank, at, Held::Memory) {
                return held;
            }
            self.untrack(at, sm, line, is_coherent);
            return self.pass(io, at, Chosen::Memory);
        }
        if sharing == Sharing::Drops {
            let local = self.local(line);
            let (table, of_table) = self.table_of(sm);
            table.remove(at, local, of_table);
            self.stats.notices += 1;
            io.req.drop_head(at);
            self.note(|seen| seen.request = Some((sm, line, ticket, kind, sharing, Chosen::Nowhere)));
            return Held::No;
        }
        // Either link may be needed: what the table says is known only once it has been changed.
        for held in [can_send(&mut io.to_bank, at, Held::Memory), can_send(&mut io.forward, at, Held::Forward)] {
            if held != Held::No {
                return held;
            }
        }
        self.load(io, at)
    }

    /// A write or a coherent operation: its line may be supplied by nobody who asked for it earlier.
    fn untrack(&mut self, at: &Edge<'_>, sm: u8, line: u64, is_coherent: bool) {
        let Protections { stores, coherent, fills } = self.protections;
        let untracks = if is_coherent { coherent } else { stores };
        if untracks {
            let local = self.local(line);
            self.table_of(sm).0.forget(at, local);
        }
        if untracks && fills {
            let served = self.served;
            self.transfers.poison(line, |other| other / served == sm / served);
        }
        self.stats.writes += 1;
        if let Some(since) = self.held_since.take() {
            self.stats.held += at.cycle - since;
        }
    }

    /// Looks a load up, and sends it to an L1 that holds its line, or to the L2 bank.
    fn load(&mut self, io: &mut TrackerIo<'_>, at: &mut Edge<'_>) -> Held {
        let Some(request) = io.req.peek(at) else { return Held::No };
        let &Request { id, line, sm, ticket, sectors, sharing, .. } = request;
        let keeps = sharing == Sharing::Keeps;
        self.stats.lookups += 1;
        let Some(row) = self.transfers.free() else {
            self.stats.unnoted += 1;
            return self.pass(io, at, Chosen::Memory);
        };
        let local = self.local(line);
        let (table, of_table) = self.table_of(sm);
        let found = table.supplier(at, local, of_table);
        let first = sm / self.served * self.served;
        let supplier = found.map_or(0, |found| first + found as u8);
        let transfer = Transfer { id, line, sm, ticket, sectors, keeps, poisoned: false, supplier };
        if found.is_none() {
            if keeps {
                self.transfers.open(row, transfer, false);
            }
            return self.pass(io, at, Chosen::Memory);
        }
        self.transfers.open(row, transfer, true);
        self.stats.forwards += 1;
        io.forward.push(at, Forward { id, line, supplier, sm, ticket, sectors, row });
        self.pass(io, at, Chosen::Supplier(supplier))
    }

    /// Lets the oldest request go where it was sent.
    fn pass(&mut self, io: &mut TrackerIo<'_>, at: &mut Edge<'_>, chosen: Chosen) -> Held {
        if chosen == Chosen::Memory {
            let held = can_send(&mut io.to_bank, at, Held::Memory);
            if held != Held::No {
                return held;
            }
        }
        let Some(request) = io.req.peek(at) else { return Held::No };
        let &Request { kind, line, sm, ticket, sharing, .. } = request;
        if chosen == Chosen::Memory {
            io.to_bank.push_with(at, |beat| beat.clone_from(request));
        }
        io.req.drop_head(at);
        self.note(|seen| seen.request = Some((sm, line, ticket, kind, sharing, chosen)));
        Held::No
    }
}

/// Whether a link can take a beat, and else why it cannot.
fn can_send<T: crate::kernel::Payload>(link: &mut Tx<'_, T>, at: &mut Edge<'_>, full: Held) -> Held {
    if link.ready(at) {
        Held::No
    } else if link.blocked(at) {
        full
    } else {
        Held::Cycle
    }
}

impl Block for Tracker {
    type Io<'a> = TrackerIo<'a>;

    fn eval(&mut self, mut io: TrackerIo<'_>, at: &mut Edge<'_>) -> Sleep {
        self.note(|seen| *seen = Seen::default());
        let answered = self.take_answer(&mut io.answer, at);
        let listed = self.pass_reply(&mut io, at, !answered);
        self.resend(&mut io.to_bank, at);
        let held = self.serve(&mut io, at, !answered && !listed);
        let request_moves = match held {
            Held::No | Held::Cycle => true,
            // The pop that makes room wakes the bank, as does the answer.
            Held::Memory | Held::Forward | Held::Own => false,
        };
        if io.answer.waiting(at)
            || io.from_bank.waiting(at) && !io.rsp.blocked(at)
            || self.transfers.refused().is_some() && !io.to_bank.blocked(at)
            || request_moves && io.req.waiting(at)
        {
            Sleep::Next
        } else {
            Sleep::UntilEvent
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { place, protections: _, probes: _, served: _, tables, transfers, held_since: _, stats, seen: _ } =
            self;
        for (number, table) in (0..).zip(tables) {
            to.parts("table", number, |to| table.describe(to));
        }
        to.part("transfers", |to| transfers.describe(&place.shape, to));
        stats.describe(&(), to);
    }
}
