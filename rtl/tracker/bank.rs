//! # Bank of the sharing tracker
//! Lets L1s supply lines to each other, so that fewer loads reach the L2 bank (anssari2012 sections 3.1, 3.2
//! and 3.4). The tracker sits in front of the L2 bank, in the bank's request and reply paths. Loads that no
//! L1 can supply go to the L2 bank.
//!
//! | port       | dir | payload   | contract                                                              |
//! |------------|-----|-----------|-----------------------------------------------------------------------|
//! | `req`      | in  | `Request` | from all SMs, in order; one per cycle                                 |
//! | `to_bank`  | out | `Request` | requests that no L1 supplies, in order except for loads that an L1 refused |
//! | `from_bank`| in  | `Reply`   | accepted when `rsp` has room                                          |
//! | `rsp`      | out | `Reply`   | replies of the bank, unchanged                                        |
//! | `forward`  | out | `Forward` | a load whose line an L1 holds according to the table                  |
//! | `answer`   | in  | `Answer`  | one per forward, always accepted                                      |
//!
//! Latency: one cycle in each direction. The table performs one operation per cycle: an answer has priority
//! over a reply, and a reply over the oldest request. Every answer or reply belongs to a load that passed the
//! tracker earlier, so requests cannot starve.
//!
//! Listing: an L1 that will allocate a line is listed as a sharer when the reply of the L2 passes the
//! tracker, or when the supplier of the line answers. The line may still be in flight at that time. If a
//! forward arrives at the L1 before the line does, the L1 refuses it but stays listed, because it will soon
//! have the line. A store or a coherent operation removes its line from the table of its group of SMs; loads
//! of the line by this group that are in flight will not be listed. So the copy of a listed L1 was requested
//! after every write of its own group that has passed the tracker, and contains these writes. An L1 that
//! drops a line sends a notice. The notice may arrive before the answer that lists the L1. In that case, the
//! listed L1 has no copy, or a copy that it requested later.
//!
//! Several trackers: a write leaves its line in the tables of other groups, so the L1s of these groups may
//! still supply each other with the old value. The memory model permits this, as it permits a hit on an old
//! copy in an L1: plain loads of one SM need not see the stores of another SM in the same kernel. The loads
//! of the writing SM, and the coherent operations of any SM, must see the write. They use only the table of
//! their own group.
//!
//! Order: requests of an SM to a line reach the bank in order, except for loads that an L1 refused. A store
//! or a coherent operation waits while a load of the same SM to the same line is forwarded to an L1, because
//! that load must not return the later value. No deadlock: see [`super::message`].
//!
//! Twin: `golden/hybrid/tracker.rs`.
//! Bench: `tb/tracker`.

use serde::{Deserialize, Serialize};

use super::config::{Probes, Protections, TrackerConfig};
use super::message::{Answer, Forward, ForwardResult, TrackShape};
use super::stats::TrackerStats;
use super::table::Table;
use super::transfers::{Transfer, Transfers};
use crate::kernel::{Block, Counted, Describe, DescribeExt, Edge, HasPorts, In, Out, Ports, Rx, Sleep, Tx};
use crate::noc::interleave::Interleave;
use crate::noc::packet::{Reply, Request, RequestKind, Sharing};
use crate::scheme_counts::SchemeCounts;

/// Ports of a bank of the sharing tracker.
#[derive(Default, Ports)]
pub struct TrackerPorts {
    /// Input of requests from all SMs.
    pub req: In<Request>,
    /// Output of requests to the L2 bank.
    pub to_bank: Out<Request>,
    /// Input of replies from the L2 bank.
    pub from_bank: In<Reply>,
    /// Output of replies to the SMs.
    pub rsp: Out<Reply>,
    /// Output of loads forwarded to L1s.
    pub forward: Out<Forward>,
    /// Input of answers of L1s to forwarded loads.
    pub answer: In<Answer>,
}

impl HasPorts for Tracker {
    type Ports = TrackerPorts;
}

/// Channel ends of a bank of the tracker during one clock edge.
pub struct TrackerIo<'a> {
    /// Receiving end for requests from all SMs.
    pub req: Rx<'a, Request>,
    /// Sending end for requests to the L2 bank.
    pub to_bank: Tx<'a, Request>,
    /// Receiving end for replies from the L2 bank.
    pub from_bank: Rx<'a, Reply>,
    /// Sending end for replies to the SMs.
    pub rsp: Tx<'a, Reply>,
    /// Sending end for loads forwarded to L1s.
    pub forward: Tx<'a, Forward>,
    /// Receiving end for answers of L1s to forwarded loads.
    pub answer: Rx<'a, Answer>,
}

/// Position of a tracker bank in its machine: path, field widths, address mapping and number of SMs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrackerPlace {
    /// Hierarchical path of the bank, such as `partition3.tracker`.
    pub path: String,
    /// Field widths of the messages [`Forward`] and [`Answer`].
    pub shape: TrackShape,
    /// Mapping of L1 lines to memory partitions.
    pub interleave: Interleave,
    /// Number of SMs of the machine.
    pub num_sms: u32,
}

/// Destination that the tracker selects for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestDestination {
    /// The request is forwarded to the L1 of this SM.
    Supplier(u8),
    /// The request goes to the L2 bank.
    Memory,
    /// No destination: the request was an eviction notice.
    Nowhere,
}

/// Events of one clock edge, recorded for checkers, in the order in which the tracker bank performs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BankObservation {
    /// Answer of an L1 to a forwarded load: SM and ticket of the load, supplying SM, and result. The supplied
    /// data may arrive before the answer. If they do, the SM may already have reused the ticket for another
    /// load.
    pub answer: Option<(u8, u64, u8, ForwardResult)>,
    /// Reply of the L2 to a load with a row in the table of in-flight loads: SM and ticket of the load, and
    /// true if the SM was listed as a sharer.
    pub reply: Option<(u8, u64, bool)>,
    /// Load that an L1 refused and that was then sent to the L2: SM and ticket of the load.
    pub resent: Option<(u8, u64)>,
    /// Request of an SM that was dequeued from the bank's input: SM, line, ticket, kind, sharing hint, and
    /// destination.
    pub request: Option<(u8, u64, u64, RequestKind, Sharing, RequestDestination)>,
}

/// Resource for which the oldest request of a tracker bank waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitReason {
    /// The oldest request does not wait: there is none, or it was sent.
    No,
    /// Waits for the next cycle, because the table or a link was already used in this cycle.
    Cycle,
    /// Waits for room in the link to the L2 bank.
    Memory,
    /// Waits for room in the link that carries forwarded loads to the L1s.
    Forward,
    /// Waits for the end of an earlier load that the same SM made to the same line and that was forwarded to
    /// another L1.
    Own,
}

/// Bank of the sharing tracker.
#[derive(Debug, Serialize, Deserialize)]
pub struct Tracker {
    place: TrackerPlace,
    protections: Protections,
    probes: Probes,
    /// Number of SMs that each tracker serves.
    served: u8,
    /// Sharer tables of this bank, one per tracker. Each tracker serves a group of SMs.
    tables: Box<[Table]>,
    transfers: Transfers,
    /// Cycle in which the oldest request began to wait for an earlier load of the same SM to the same line;
    /// `None` if the oldest request does not wait for such a load.
    held_since: Option<u64>,
    stats: TrackerStats,
    seen: Option<BankObservation>,
}

impl Tracker {
    /// Returns a tracker bank with empty tables.
    #[must_use]
    pub fn new(place: TrackerPlace, config: &TrackerConfig, protections: Protections) -> Self {
        let served = config.sms_per_tracker(place.num_sms);
        let last = place.interleave.local((1 << place.shape.line_bits) - 1);
        let line_bits = u64::BITS - last.leading_zeros();
        let table = |number: u32| {
            let path = format!("{}.table{number}", place.path);
            let geometry = (config.sets / config.count, config.ways);
            Table::new(&path, (geometry, &config.replacement), (served, config.sharers), line_bits)
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

    /// Returns the counters so far.
    #[must_use]
    pub fn stats(&self) -> &TrackerStats {
        &self.stats
    }

    /// Returns the counters that belong to the replacement policy of the tables, summed over the tables.
    #[must_use]
    pub fn scheme_counts(&self) -> SchemeCounts {
        let tables: Vec<_> = self.tables.iter().map(|table| SchemeCounts::of(|to| table.counters(to))).collect();
        SchemeCounts::total(&tables)
    }

    /// True if the bank tracks no load that is in flight.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.transfers.is_empty()
    }

    /// Removes every line from the sharer tables, at the end of a kernel.
    ///
    /// # Panics
    /// Panics if a load is still in flight.
    pub fn flush(&mut self) {
        assert!(self.is_idle(), "{}: flushed while loads are in flight", self.place.path);
        self.tables.iter_mut().for_each(Table::clear);
    }

    /// Starts to report the events of each clock edge.
    pub fn observe(&mut self) {
        self.seen = Some(BankObservation::default());
    }

    /// Returns the events of the last clock edge; `None` if events are not recorded. A second call for the
    /// same edge returns no events.
    pub fn take_seen(&mut self) -> Option<BankObservation> {
        self.seen.as_mut().map(std::mem::take)
    }

    /// Starts to maintain digests (hashes) of the contents of the memories.
    pub fn record(&mut self) {
        self.tables.iter_mut().for_each(Table::record);
    }

    fn note(&mut self, note: impl FnOnce(&mut BankObservation)) {
        if let Some(seen) = &mut self.seen {
            note(seen);
        }
    }

    /// Returns the table that serves SM `sm`, and the SM's number within the group of SMs that the table
    /// serves.
    fn table_of(&mut self, sm: u8) -> (&mut Table, u32) {
        (&mut self.tables[usize::from(sm / self.served)], u32::from(sm % self.served))
    }

    fn local(&self, line: u64) -> u64 {
        self.place.interleave.local(line)
    }

    /// Records that the L1 that sent a load is a sharer of the line, which is in that L1 or in flight to it.
    /// Does nothing if the L1 will not allocate the line, or if a later write has marked the load as stale
    /// (poisoned). Returns true if the L1 was recorded.
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

    /// Accepts an answer of an L1 to a forwarded load, if one has arrived. Returns true if it has; the answer
    /// then uses the tables in this cycle.
    fn take_answer(&mut self, answer: &mut Rx<'_, Answer>, at: &mut Edge<'_>) -> bool {
        let Some(&Answer { row, found, .. }) = answer.peek(at) else { return false };
        answer.drop_head(at);
        let Some(transfer) = self.transfers.on_answer(row, found) else {
            panic!("cycle {}, {}: an answer for row {row}, which was not forwarded", at.cycle, self.place.path)
        };
        match found {
            ForwardResult::Here => {
                self.stats.supplied += 1;
                self.list(at, &transfer);
            }
            ForwardResult::Coming => {
                self.stats.refused += 1;
                self.stats.too_early += 1;
            }
            ForwardResult::Gone => {
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

    /// Forwards the oldest reply of the L2 bank to the SMs. `is_free` is true if the tables have not been
    /// used in this cycle. Returns true if this reply used the tables.
    fn forward_reply(&mut self, io: &mut TrackerIo<'_>, at: &mut Edge<'_>, is_free: bool) -> bool {
        let Some(reply) = io.from_bank.peek(at) else { return false };
        if !io.rsp.is_ready(at) {
            return false;
        }
        let row = self.transfers.of_reply(reply.sm, reply.ticket);
        if row.is_some() && !is_free {
            return false;
        }
        io.rsp.push_with(at, |beat| beat.clone_from(reply));
        io.from_bank.drop_head(at);
        let Some(row) = row else { return false };
        let transfer = self.transfers.on_reply(row);
        let is_listed = self.list(at, &transfer);
        self.note(|seen| seen.reply = Some((transfer.sm, transfer.ticket, is_listed)));
        is_listed
    }

    /// Sends a load that an L1 refused to the L2 bank.
    fn resend(&mut self, to_bank: &mut Tx<'_, Request>, at: &mut Edge<'_>) {
        let Some((row, &Transfer { id, line, sm, ticket, sectors, keeps, .. })) = self.transfers.refused_load() else {
            return;
        };
        if !to_bank.is_ready(at) {
            return;
        }
        let partition = self.place.interleave.partition(line) as u8;
        to_bank.push_with(at, |beat| {
            let sharing = if keeps { Sharing::Keeps } else { Sharing::Takes };
            *beat = Request { id, line, sm, partition, ticket, sharing, sectors, ..Request::default() };
        });
        self.transfers.on_resend(row);
        self.note(|seen| seen.resent = Some((sm, ticket)));
    }

    /// Serves the oldest request, or returns the resource for which it waits.
    fn serve(&mut self, io: &mut TrackerIo<'_>, at: &mut Edge<'_>, is_free: bool) -> WaitReason {
        let Some(request) = io.req.peek(at) else { return WaitReason::No };
        let &Request { kind, line, sm, ticket, sharing, .. } = request;
        let writes = kind.writes();
        let is_coherent = kind.is_atomic() || sharing == Sharing::Coherent;
        let goes_aside = sharing == Sharing::Aside || sharing == Sharing::Takes && self.probes == Probes::Kept;
        if !writes && goes_aside {
            return self.send_to_bank(io, at, RequestDestination::Memory);
        }
        if !is_free {
            return WaitReason::Cycle;
        }
        if writes || is_coherent {
            if self.transfers.is_forwarded(sm, line) {
                self.held_since.get_or_insert(at.cycle);
                return WaitReason::Own;
            }
            if let held @ (WaitReason::Memory | WaitReason::Cycle) = can_send(&mut io.to_bank, at, WaitReason::Memory) {
                return held;
            }
            self.untrack(at, sm, line, is_coherent);
            return self.send_to_bank(io, at, RequestDestination::Memory);
        }
        if sharing == Sharing::Drops {
            let local = self.local(line);
            let (table, of_table) = self.table_of(sm);
            table.remove(at, local, of_table);
            self.stats.notices += 1;
            io.req.drop_head(at);
            self.note(|seen| seen.request = Some((sm, line, ticket, kind, sharing, RequestDestination::Nowhere)));
            return WaitReason::No;
        }
        // Both links, to the L2 bank and to the L1s, must have room before the lookup. The lookup already
        // updates the table before its result selects one of the links.
        for held in
            [can_send(&mut io.to_bank, at, WaitReason::Memory), can_send(&mut io.forward, at, WaitReason::Forward)]
        {
            if held != WaitReason::No {
                return held;
            }
        }
        self.load(io, at)
    }

    /// Removes the line of a write or a coherent operation from the table that serves the writing SM, so that
    /// no L1 listed there supplies an older copy. The tables of other groups keep the line (anssari2012
    /// section 4.3 has isolated trackers). This is safe, because the writing SM never uses the tables of
    /// other groups.
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

    /// Looks up the line of the oldest request, a load. Sends the load to an L1 that holds the line, or to
    /// the L2 bank.
    fn load(&mut self, io: &mut TrackerIo<'_>, at: &mut Edge<'_>) -> WaitReason {
        let Some(request) = io.req.peek(at) else { return WaitReason::No };
        let &Request { id, line, sm, ticket, sectors, sharing, .. } = request;
        let keeps = sharing == Sharing::Keeps;
        self.stats.lookups += 1;
        let Some(row) = self.transfers.free() else {
            self.stats.unnoted += 1;
            return self.send_to_bank(io, at, RequestDestination::Memory);
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
            return self.send_to_bank(io, at, RequestDestination::Memory);
        }
        self.transfers.open(row, transfer, true);
        self.stats.forwards += 1;
        io.forward.push(at, Forward { id, line, supplier, sm, ticket, sectors, row });
        self.send_to_bank(io, at, RequestDestination::Supplier(supplier))
    }

    /// Dequeues the oldest request, and sends it to the L2 bank if `chosen` is the bank. If the link to the
    /// bank has no room, does nothing and returns the reason.
    fn send_to_bank(&mut self, io: &mut TrackerIo<'_>, at: &mut Edge<'_>, chosen: RequestDestination) -> WaitReason {
        if chosen == RequestDestination::Memory {
            let held = can_send(&mut io.to_bank, at, WaitReason::Memory);
            if held != WaitReason::No {
                return held;
            }
        }
        let Some(request) = io.req.peek(at) else { return WaitReason::No };
        let &Request { kind, line, sm, ticket, sharing, .. } = request;
        if chosen == RequestDestination::Memory {
            io.to_bank.push_with(at, |beat| beat.clone_from(request));
        }
        io.req.drop_head(at);
        self.note(|seen| seen.request = Some((sm, line, ticket, kind, sharing, chosen)));
        WaitReason::No
    }
}

/// Returns `WaitReason::No` if a link can accept a message, and `full` if the link has no room. Otherwise the
/// link was already used in this cycle, and the function returns `WaitReason::Cycle`.
fn can_send<T: crate::kernel::Payload>(link: &mut Tx<'_, T>, at: &mut Edge<'_>, full: WaitReason) -> WaitReason {
    if link.is_ready(at) {
        WaitReason::No
    } else if link.is_blocked(at) {
        full
    } else {
        WaitReason::Cycle
    }
}

impl Block for Tracker {
    type Io<'a> = TrackerIo<'a>;

    fn eval(&mut self, mut io: TrackerIo<'_>, at: &mut Edge<'_>) -> Sleep {
        self.note(|seen| *seen = BankObservation::default());
        let answered = self.take_answer(&mut io.answer, at);
        let listed = self.forward_reply(&mut io, at, !answered);
        self.resend(&mut io.to_bank, at);
        let held = self.serve(&mut io, at, !answered && !listed);
        let request_moves = match held {
            WaitReason::No | WaitReason::Cycle => true,
            // The pop that makes room in the link, or the answer of the L1, wakes the tracker bank.
            WaitReason::Memory | WaitReason::Forward | WaitReason::Own => false,
        };
        if io.answer.has_beat(at)
            || io.from_bank.has_beat(at) && !io.rsp.is_blocked(at)
            || self.transfers.refused_load().is_some() && !io.to_bank.is_blocked(at)
            || request_moves && io.req.has_beat(at)
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
