//! # Islands
//! An SM with its LSU, each crossbar, the dispatcher, a partition with its DRAM channels: between these there are only
//! links with delays, so that each can run for a while without hearing of the others, on a thread of its own or in turn
//! with them. What has crossed meanwhile is told at meetings, before it could have been seen; every edge is what it is when
//! all run together. There is one meeting for each island between SMs and partitions, and they may be held at the same time.
//!
//! How long a while is follows from the delays of beats and of credits: no more than the mean of those there and back,
//! between an SM and the crossbars and between these and a partition. Where the way there takes longer than the way back,
//! whoever it leads to runs ahead. The kernel cannot end before the end of its last CTA has been told, and nobody runs
//! beyond that.
//!
//! Dueling and the coordinator of a throttle are with the dispatcher. Not for machines with a network of their own between
//! SMs and partitions: a sharing tracker, recalls.

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::memory::Memory;
use super::parts::Part;
use super::sms::note_fault;
use super::{CORE, L2, Machine};
use crate::dram::channel::{DramChannel, DramIo};
use crate::dram::message::{DramReply, DramRequest};
use crate::kernel::{AnyEdge, Apart, Block, BlockId, Chan, Due, Payload, RxBank, Seat, Simulator, TxBank};
use crate::l1::access::{WarpAccess, WarpReply};
use crate::l1::dueling::{Dueling, DuelingIo, Mode, Seen};
use crate::l1::lsu::{DuelIo, Lsu, LsuIo};
use crate::l2::{L2Bank, L2Io};
use crate::machine::duel::Duel;
use crate::machine::fetching::FetchLinks;
use crate::noc::packet::{Packet, Reply, Request};
use crate::noc::xbar::{Xbar, XbarIo};
use crate::sm::{CtaDone, CtaLaunch, Dispatcher, DispatcherIo, SmCore, SmIo};
use crate::throttle;
use crate::throttle::side::{HubLinks, SideBand};

/// How the islands of a machine keep step, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pace {
    /// How far all run between two meetings.
    window: u64,
    /// How far the islands between SMs and partitions and the partitions themselves are ahead of the SMs.
    ahead: [u64; 2],
}

/// The ticks that the SMs, the islands between them and the partitions, and the partitions have come to, or are to come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    sms: u64,
    hub: u64,
    partitions: u64,
}

impl Reached {
    /// All at the same tick.
    fn together(tick: u64) -> Self {
        Self { sms: tick, hub: tick, partitions: tick }
    }

    /// Where all are, if that is the same tick.
    fn tick(self) -> Option<u64> {
        (self == Self::together(self.sms)).then_some(self.sms)
    }
}

impl Pace {
    /// The next ticks to come to, none of them beyond `end`: first whoever is not yet as far ahead as it is to be, then all.
    fn next(&self, at: Reached, end: u64) -> Reached {
        let Self { window, ahead } = *self;
        let [hub, partitions] = ahead.map(|ahead| (at.sms + ahead).min(end));
        if at.partitions < partitions {
            Reached { partitions, ..at }
        } else if at.hub < hub {
            Reached { hub, ..at }
        } else {
            let [hub, partitions] = [hub, partitions].map(|tick| (tick + window).min(end));
            Reached { sms: (at.sms + window).min(end), hub, partitions }
        }
    }
}

/// Blocks with the ends of links that are theirs, and the simulator of their edges.
struct Island<B> {
    blocks: B,
    sim: Simulator,
}

impl<B: Apart> Island<B> {
    fn run(&mut self, to: u64) {
        self.sim.run(to, &mut self.blocks);
    }
}

type Shared<B> = Mutex<Island<B>>;

fn lock<B>(island: &Shared<B>) -> MutexGuard<'_, Island<B>> {
    // A panic in an island ends the run; nobody looks at what it has left.
    island.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A machine in islands. Each may be run by another thread.
pub struct Islands<'m> {
    requests: Shared<Crossbar<'m, Request>>,
    replies: Shared<Crossbar<'m, Reply>>,
    control: Shared<Control<'m>>,
    sms: Vec<Shared<Sm<'m>>>,
    partitions: Vec<Shared<Partition<'m>>>,
    /// The core that stopped at a fault first, with the tick.
    fault: &'m mut Option<(u64, usize)>,
    pace: Pace,
}

/// An SM.
struct Sm<'m> {
    seats: [Seat; 2],
    core: &'m mut SmCore,
    lsu: &'m mut Lsu,
    side: Option<&'m mut SideBand>,
    duel: Option<DuelEnds<'m>>,
    launch: &'m mut Chan<CtaLaunch>,
    done: Chan<CtaDone>,
    mem: &'m mut Chan<WarpAccess>,
    wb: &'m mut Chan<WarpReply>,
    inject: Chan<Request>,
    deliver: &'m mut Chan<Reply>,
    /// With the instruction cache of the core.
    fetch: Option<FetchLinks<'m>>,
    /// The tick at which the core stopped at a fault.
    faulted: Option<u64>,
}

/// The ends of an SM that duels.
struct DuelEnds<'m> {
    mode: &'m mut Chan<Mode>,
    /// Of a leader.
    seen: Option<Chan<Seen>>,
}

/// The crossbar of requests or of replies.
struct Crossbar<'m, P: Packet> {
    seat: Seat,
    xbar: &'m mut Xbar<P>,
    from: &'m mut [Chan<P>],
    to: Vec<Chan<P>>,
}

/// What directs the SMs.
struct Control<'m> {
    seats: [Seat; 3],
    dispatcher: &'m mut Dispatcher,
    /// With the copies of all side bands, of which it has the ends of reports and orders.
    coordinator: Option<&'m mut dyn throttle::Hub>,
    side: Vec<SideBand>,
    duel: Option<Duels<'m>>,
    launch: Vec<Chan<CtaLaunch>>,
    done: &'m mut [Chan<CtaDone>],
}

/// SM dueling.
struct Duels<'m> {
    block: &'m mut Dueling,
    seen: &'m mut [Chan<Seen>],
    mode: Vec<Chan<Mode>>,
}

/// A bank of the L2 with its DRAM channels, or a channel with its banks.
struct Partition<'m> {
    bank_seats: Vec<Seat>,
    banks: &'m mut [L2Bank],
    dram_seats: Vec<Seat>,
    drams: &'m mut [DramChannel],
    dram_req: &'m mut [Chan<DramRequest>],
    dram_rsp: &'m mut [Chan<DramReply>],
    to_l2: &'m mut [Chan<Request>],
    from_l2: Vec<Chan<Reply>>,
}

/// Ticks after which islands on either side of links are first touched by the other.
struct Distance {
    there: u64,
    back: u64,
}

impl Default for Distance {
    fn default() -> Self {
        Self { there: u64::MAX, back: u64::MAX }
    }
}

impl Distance {
    /// Notes links that lead there.
    fn link<'c, T: Payload + 'c>(&mut self, links: impl IntoIterator<Item = &'c Chan<T>>) -> &mut Self {
        for link in links {
            self.there = self.there.min(link.latency());
            self.back = self.back.min(link.credit());
        }
        self
    }

    /// Notes links that lead back.
    fn back<'c, T: Payload + 'c>(&mut self, links: impl IntoIterator<Item = &'c Chan<T>>) -> &mut Self {
        for link in links {
            self.back = self.back.min(link.latency());
            self.there = self.there.min(link.credit());
        }
        self
    }
}

impl Machine {
    /// How its islands keep step, if they can run apart for as long as a cycle.
    fn pace(&self) -> Option<Pace> {
        if self.recalls.is_some() || self.tracking.is_some() {
            return None;
        }
        let mut towards_hub = Distance::default();
        towards_hub.link(&self.done).link(&self.inject).back(&self.launch).back(&self.deliver);
        if let Some(duel) = &self.duel {
            towards_hub.link(&duel.seen).back(&duel.mode);
        }
        for HubLinks { reports, orders } in self.side.iter().filter_map(|side| side.hub.as_ref()) {
            towards_hub.link([reports]).back([orders]);
        }
        let mut towards_partitions = Distance::default();
        towards_partitions.link(&self.to_l2).back(&self.from_l2);
        let Distance { there: from_sms, back: to_sms } = towards_hub;
        let Distance { there: to_partitions, back: from_partitions } = towards_partitions;
        // Ticks that the end of a CTA takes to be heard of.
        let news = self.done.iter().map(Chan::latency).min().unwrap_or(0);
        // The farthest ahead are the partitions, by what both slow ways take longer.
        let ahead = |window: u64| [window.saturating_sub(to_sms), window.saturating_sub(from_partitions)];
        let fits = |window: u64| {
            let [hub, beyond] = ahead(window);
            hub + window <= from_sms && beyond + window <= to_partitions && hub + beyond + window <= news
        };
        let cycle = u64::from(self.clocks.period(usize::from(CORE)));
        let window =
            (1..=from_sms.min(to_partitions) / cycle).map(|cycles| cycles * cycle).rfind(|&window| fits(window))?;
        let [hub, beyond] = ahead(window);
        Some(Pace { window, ahead: [hub, hub + beyond] })
    }

    /// True if the machine can run in islands.
    #[must_use]
    pub fn has_islands(&self) -> bool {
        self.pace().is_some()
    }

    /// CTAs whose end is not on its way to the dispatcher yet: while there are any, the kernel goes on for as long as
    /// it takes.
    #[must_use]
    pub fn awaited(&self) -> u64 {
        awaited(&self.dispatcher, &self.done)
    }

    /// Takes the machine apart, until [`Islands::rejoin`], if it can run in islands.
    pub fn separate<'m>(&'m mut self, sim: &mut Simulator) -> Option<Islands<'m>> {
        let pace = self.pace()?;
        let ids = Ids::of(self);
        let Self { dispatcher, cores, lsus, request_xbar, reply_xbar, memory, .. } = self;
        let Self {
            launch,
            done,
            mem,
            wb,
            inject,
            to_l2,
            from_l2,
            deliver,
            fetching,
            side,
            duel,
            coordinator,
            faulted,
            ..
        } = self;
        // Beats on their way are with whoever takes them; the copies are for the senders.
        let (done_from, inject_from, from_banks) = (done.clone(), inject.clone(), from_l2.clone());
        let (duel, mut duel_ends) = duel.as_deref_mut().map(separate_duel).unzip();
        let control = Control {
            seats: ids.control.map(|id| id.slot.into()),
            dispatcher,
            side: if coordinator.is_some() { side.clone() } else { Vec::new() },
            coordinator: coordinator.as_deref_mut().map(|hub| hub as _),
            duel,
            launch: launch.clone(),
            done,
        };
        let [request_seat, reply_seat] = ids.xbars.map(|id| id.slot.into());
        let requests = Crossbar { seat: request_seat, xbar: request_xbar, from: inject, to: to_l2.clone() };
        let replies = Crossbar { seat: reply_seat, xbar: reply_xbar, from: from_l2, to: deliver.clone() };
        let links = launch.iter_mut().zip(done_from).zip(mem).zip(wb).zip(inject_from).zip(deliver);
        let mut fetches = fetching.iter_mut().flat_map(|fetching| fetching.all());
        let (mut sides, mut duel_ends) = (side.iter_mut(), duel_ends.iter_mut().flat_map(|ends| ends.drain(..)));
        let sms = ids.sms.into_iter().zip(cores).zip(lsus).zip(links).map(|(((ids, core), lsu), links)| {
            let (((((launch, done), mem), wb), inject), deliver) = links;
            let (side, duel, fetch) = (sides.next(), duel_ends.next(), fetches.next());
            let seats = ids.map(|id| id.slot.into());
            let blocks =
                Sm { seats, core, lsu, side, duel, launch, done, mem, wb, inject, deliver, fetch, faulted: None };
            Mutex::new(Island { blocks, sim: sim.separate(ids) })
        });
        Some(Islands {
            sms: sms.collect(),
            partitions: separate_partitions(memory, ids.partitions, to_l2, &from_banks, sim),
            requests: Mutex::new(Island { blocks: requests, sim: sim.separate([ids.xbars[0]]) }),
            replies: Mutex::new(Island { blocks: replies, sim: sim.separate([ids.xbars[1]]) }),
            control: Mutex::new(Island { blocks: control, sim: sim.separate(ids.control) }),
            fault: faulted,
            pace,
        })
    }
}

/// The blocks of the islands.
struct Ids {
    sms: Vec<[BlockId; 2]>,
    /// Of requests and of replies.
    xbars: [BlockId; 2],
    /// The dispatcher, the coordinator and dueling.
    control: [BlockId; 3],
    /// The banks, and the channels.
    partitions: Vec<[Vec<BlockId>; 2]>,
}

impl Ids {
    fn of(machine: &Machine) -> Self {
        let id = |part| machine.id(part);
        let Memory { banks, drams, .. } = &machine.memory;
        let count = banks.len().min(drams.len());
        let all = |i: usize, of: usize, part: fn(usize) -> Part| {
            (i * of / count..(i + 1) * of / count).map(|i| id(part(i))).collect()
        };
        Self {
            sms: (0..machine.cores.len()).map(|i| [Part::Core(i), Part::Lsu(i)].map(id)).collect(),
            xbars: [Part::RequestXbar, Part::ReplyXbar].map(id),
            control: [Part::Dispatcher, Part::Coordinator, Part::Dueling].map(id),
            partitions: (0..count).map(|i| [all(i, banks.len(), Part::L2), all(i, drams.len(), Part::Dram)]).collect(),
        }
    }
}

fn separate_duel(Duel { block, seen, mode }: &mut Duel) -> (Duels<'_>, Vec<DuelEnds<'_>>) {
    let (mut leaders, told) = (seen.clone().into_iter(), mode.clone());
    let ends = mode.iter_mut().map(|mode| DuelEnds { mode, seen: leaders.next() }).collect();
    (Duels { block, seen, mode: told }, ends)
}

fn separate_partitions<'m>(
    Memory { banks, drams, dram_req, dram_rsp }: &'m mut Memory,
    ids: Vec<[Vec<BlockId>; 2]>,
    to_l2: &'m mut [Chan<Request>],
    from_l2: &[Chan<Reply>],
    sim: &mut Simulator,
) -> Vec<Shared<Partition<'m>>> {
    let count = ids.len();
    let (per_banks, per_drams, per_links) = (banks.len() / count, drams.len() / count, dram_req.len() / count);
    let banks = banks.chunks_mut(per_banks).zip(to_l2.chunks_mut(per_banks)).zip(from_l2.chunks(per_banks));
    let links = dram_req.chunks_mut(per_links).zip(dram_rsp.chunks_mut(per_links));
    let partitions = ids.into_iter().zip(banks).zip(drams.chunks_mut(per_drams).zip(links));
    let partitions = partitions.map(|((ids, ((banks, to_l2), from_l2)), (drams, (dram_req, dram_rsp)))| {
        let [bank_seats, dram_seats] = ids.each_ref().map(|ids| ids.iter().map(|id| id.slot.into()).collect());
        let from_l2 = from_l2.to_vec();
        let blocks = Partition { bank_seats, banks, dram_seats, drams, dram_req, dram_rsp, to_l2, from_l2 };
        // The channels are woken before the banks.
        let [banks, channels] = ids;
        Mutex::new(Island { blocks, sim: sim.separate(channels.into_iter().chain(banks)) })
    });
    partitions.collect()
}

/// Where the SMs stand among the islands: behind those between SMs and partitions, which take longest.
const FIRST_SM: usize = 3;

impl Islands<'_> {
    /// Meetings of a round.
    pub const MEETINGS: usize = 3;

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        FIRST_SM + self.sms.len() + self.partitions.len()
    }

    /// Runs one island up to where it is to come. Islands may run at the same time.
    pub fn run(&self, island: usize, to: Reached) {
        match island {
            0 => lock(&self.requests).run(to.hub),
            1 => lock(&self.replies).run(to.hub),
            2 => lock(&self.control).run(to.hub),
            _ => match self.sms.get(island - FIRST_SM) {
                Some(sm) => {
                    let mut sm = lock(sm);
                    // One that has stopped does nothing more.
                    if sm.blocks.faulted.is_some() { sm.sim.jump(to.sms) } else { sm.run(to.sms) }
                }
                None => lock(&self.partitions[island - FIRST_SM - self.sms.len()]).run(to.partitions),
            },
        }
    }

    /// Where they are.
    #[must_use]
    pub fn reached(&self) -> Reached {
        Reached {
            sms: lock(&self.sms[0]).sim.reached(),
            hub: lock(&self.control).sim.reached(),
            partitions: lock(&self.partitions[0]).sim.reached(),
        }
    }

    /// Holds one of the meetings, at which each is told what the others have sent and taken. Meetings may be held at the
    /// same time, while no island runs.
    pub fn meet(&self, meeting: usize) {
        match meeting {
            0 => self.meet_for_requests(),
            1 => self.meet_for_replies(),
            _ => self.meet_for_control(),
        }
    }

    fn meet_for_requests(&self) {
        let Island { blocks: Crossbar { from, to, .. }, sim: at_xbar } = &mut *lock(&self.requests);
        for (sm, inject) in self.sms.iter().zip(&mut **from) {
            let Island { blocks: sm, sim } = &mut *lock(sm);
            sm.inject.meet(inject, sim, at_xbar);
        }
        let mut to = to.iter_mut();
        for partition in &self.partitions {
            let Island { blocks: partition, sim } = &mut *lock(partition);
            for (end, to_l2) in partition.to_l2.iter_mut().zip(&mut to) {
                to_l2.meet(end, at_xbar, sim);
            }
        }
    }

    /// From behind, where requests go forward, so that neither waits for the other.
    fn meet_for_replies(&self) {
        let Island { blocks: Crossbar { from, to, .. }, sim: at_xbar } = &mut *lock(&self.replies);
        let mut from = from.iter_mut().rev();
        for partition in self.partitions.iter().rev() {
            let Island { blocks: partition, sim } = &mut *lock(partition);
            for (end, from_l2) in partition.from_l2.iter_mut().rev().zip(&mut from) {
                end.meet(from_l2, sim, at_xbar);
            }
        }
        for (sm, deliver) in self.sms.iter().zip(to).rev() {
            let Island { blocks: sm, sim } = &mut *lock(sm);
            deliver.meet(sm.deliver, at_xbar, sim);
        }
    }

    fn meet_for_control(&self) {
        let Island { blocks: control, sim: at_control } = &mut *lock(&self.control);
        for (i, sm) in self.sms.iter().enumerate() {
            let Island { blocks: sm, sim } = &mut *lock(sm);
            control.launch[i].meet(sm.launch, at_control, sim);
            sm.done.meet(&mut control.done[i], sim, at_control);
            if let (Some(duels), Some(ends)) = (&mut control.duel, &mut sm.duel) {
                duels.mode[i].meet(ends.mode, at_control, sim);
                if let Some(seen) = &mut ends.seen {
                    seen.meet(&mut duels.seen[i], sim, at_control);
                }
            }
            if let Some((theirs, own)) = hub_links(control.side.get_mut(i), &mut sm.side) {
                own.reports.meet(&mut theirs.reports, sim, at_control);
                theirs.orders.meet(&mut own.orders, at_control, sim);
            }
        }
    }

    /// After the meetings, where to come to next, not beyond `end`; `None` if all have come there or as far as they can
    /// without one who looks at the whole machine: a core has stopped at a fault, nothing is due any more, or the
    /// kernel may end.
    #[must_use]
    pub fn next(&self, end: &mut u64) -> Option<Reached> {
        let mut at = self.reached();
        if at.tick().is_some_and(|tick| tick >= *end) {
            return None;
        }
        let due = self.next_tick();
        let is_over = self.awaited() == 0 || self.sms.iter().any(|sm| lock(sm).blocks.faulted.is_some());
        if is_over || due.is_none_or(|due| due >= *end) {
            self.stop(end);
        } else if let Some(due) = due
            && due > at.partitions + self.pace.window
        {
            // Time in which all sleep is jumped.
            at = self.jump(due);
        }
        let next = self.pace.next(at, *end);
        (next != at).then_some(next)
    }

    /// Lowers `end` to the tick that the farthest islands have reached, so that all meet there and can be put together
    /// again.
    pub fn stop(&self, end: &mut u64) {
        *end = (*end).min(self.reached().partitions);
    }

    fn awaited(&self) -> u64 {
        let control = lock(&self.control);
        awaited(control.blocks.dispatcher, control.blocks.done)
    }

    /// The next tick at which something is due anywhere.
    fn next_tick(&self) -> Option<u64> {
        let sms = self.sms.iter().filter_map(|sm| lock(sm).sim.next_tick());
        let partitions = self.partitions.iter().filter_map(|partition| lock(partition).sim.next_tick());
        let between = [
            lock(&self.requests).sim.next_tick(),
            lock(&self.replies).sim.next_tick(),
            lock(&self.control).sim.next_tick(),
        ];
        sms.chain(partitions).chain(between.into_iter().flatten()).min()
    }

    /// Brings all to a tick before which nothing is due.
    fn jump(&self, tick: u64) -> Reached {
        self.sms.iter().for_each(|sm| lock(sm).sim.jump(tick));
        self.partitions.iter().for_each(|partition| lock(partition).sim.jump(tick));
        lock(&self.requests).sim.jump(tick);
        lock(&self.replies).sim.jump(tick);
        lock(&self.control).sim.jump(tick);
        Reached::together(tick)
    }

    /// Puts the machine together again, after meetings at which all have come to the same tick.
    pub fn rejoin(self, sim: &mut Simulator) {
        debug_assert!(self.reached().tick().is_some(), "{:?}", self.reached());
        fn own<B>(island: Shared<B>) -> Island<B> {
            island.into_inner().unwrap_or_else(PoisonError::into_inner)
        }
        let mut control = own(self.control);
        for (i, mut sm) in self.sms.into_iter().map(own).enumerate() {
            sim.rejoin(sm.sim);
            // Reports on their way are with the coordinator.
            if let Some((theirs, own)) = hub_links(control.blocks.side.get_mut(i), &mut sm.blocks.side) {
                std::mem::swap(&mut theirs.reports, &mut own.reports);
            }
            if let Some(tick) = sm.blocks.faulted {
                note_fault(self.fault, tick, i);
            }
        }
        self.partitions.into_iter().map(own).for_each(|partition| sim.rejoin(partition.sim));
        sim.rejoin(own(self.requests).sim);
        sim.rejoin(own(self.replies).sim);
        sim.rejoin(control.sim);
    }
}

/// Both ends of the links between a core and the coordinator.
fn hub_links<'a>(
    hub: Option<&'a mut SideBand>,
    sm: &'a mut Option<&mut SideBand>,
) -> Option<(&'a mut HubLinks, &'a mut HubLinks)> {
    Some((hub?.hub.as_mut()?, sm.as_mut()?.hub.as_mut()?))
}

fn awaited(dispatcher: &Dispatcher, done: &[Chan<CtaDone>]) -> u64 {
    let (ended, all) = dispatcher.progress();
    all - ended - done.iter().map(|done| done.len() as u64).sum::<u64>()
}

impl Apart for Sm<'_> {
    #[inline(always)]
    fn eval(&mut self, due: &mut Due, at: &mut impl AnyEdge) -> ControlFlow<()> {
        let Self {
            seats: [core_seat, lsu_seat],
            core,
            lsu,
            side,
            duel,
            launch,
            done,
            mem,
            wb,
            inject,
            deliver,
            fetch,
            faulted,
        } = self;
        due.alone(*core_seat, at, |at| {
            let fetch = fetch.as_mut().map(|links| links.of_core());
            let io = SmIo { launch: launch.rx(), done: done.tx(), mem: mem.tx(), wb: wb.rx(), fetch };
            let sleep = core.eval_beside(io, side.as_deref_mut(), at);
            if core.fault().is_some() {
                *faulted = Some(at.tick());
            }
            sleep
        });
        due.alone(*lsu_seat, at, |at| {
            let (core_req, core_rsp, mem_req, mem_rsp) = (mem.rx(), wb.tx(), inject.tx(), deliver.rx());
            let duel = duel
                .as_mut()
                .map(|DuelEnds { mode, seen }| DuelIo { mode: mode.rx(), seen: seen.as_mut().map(Chan::tx) });
            let io = LsuIo { core_req, core_rsp, mem_req, mem_rsp, duel, recall: None, supply: None };
            lsu.eval_beside(io, side.as_deref_mut(), fetch.as_mut().map(|links| links.of_lsu()), at)
        });
        if faulted.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl<P: Packet + 'static> Apart for Crossbar<'_, P> {
    #[inline(always)]
    fn eval(&mut self, due: &mut Due, at: &mut impl AnyEdge) -> ControlFlow<()> {
        let Self { seat, xbar, from, to } = self;
        due.alone(*seat, at, |at| xbar.eval_any(XbarIo { from: RxBank(from), to: TxBank(to) }, at));
        ControlFlow::Continue(())
    }
}

impl Apart for Control<'_> {
    #[inline(always)]
    fn eval(&mut self, due: &mut Due, at: &mut impl AnyEdge) -> ControlFlow<()> {
        let Self {
            seats: [dispatcher_seat, coordinator_seat, duel_seat],
            dispatcher,
            coordinator,
            side,
            duel,
            launch,
            done,
        } = self;
        let io = DispatcherIo { launch: TxBank(launch), done: RxBank(done) };
        due.alone(*dispatcher_seat, at, |at| dispatcher.eval_any(io, at));
        if let Some(coordinator) = coordinator {
            due.alone(*coordinator_seat, at, |at| at.with_edge(|at| coordinator.eval(side, at)));
        }
        if let Some(Duels { block, seen, mode }) = duel {
            due.alone(*duel_seat, at, |at| {
                let io = DuelingIo { seen: RxBank(seen), mode: TxBank(mode) };
                at.with_edge(|at| block.eval(io, at))
            });
        }
        ControlFlow::Continue(())
    }
}

impl Apart for Partition<'_> {
    #[inline(always)]
    fn eval(&mut self, due: &mut Due, at: &mut impl AnyEdge) -> ControlFlow<()> {
        let Self { bank_seats, banks, dram_seats, drams, dram_req, dram_rsp, to_l2, from_l2 } = self;
        if due.domain() == L2 {
            let per_bank = dram_req.len() / banks.len();
            let to_drams = dram_req.chunks_mut(per_bank).zip(dram_rsp.chunks_mut(per_bank));
            let links = to_l2.iter_mut().zip(from_l2).zip(to_drams);
            for (seat, (bank, ((to_l2, from_l2), (to_dram, from_dram)))) in
                bank_seats.iter().zip(banks.iter_mut().zip(links))
            {
                let (dram_req, dram_rsp) = (TxBank(to_dram), RxBank(from_dram));
                let io = L2Io { req: to_l2.rx(), rsp: from_l2.tx(), dram_req, dram_rsp, recall: None };
                due.alone(*seat, at, |at| bank.eval_any(io, at));
            }
        } else {
            let per_dram = dram_req.len() / drams.len();
            let from_banks = dram_req.chunks_mut(per_dram).zip(dram_rsp.chunks_mut(per_dram));
            for (seat, (dram, (req, rsp))) in dram_seats.iter().zip(drams.iter_mut().zip(from_banks)) {
                due.alone(*seat, at, |at| dram.eval_any(DramIo { req: RxBank(req), rsp: TxBank(rsp) }, at));
            }
        }
        ControlFlow::Continue(())
    }
}
