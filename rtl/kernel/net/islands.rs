//! # Islands of a netlist
//! Where links have delays, a netlist is cut into islands, each of which can run for a while without hearing of the others, on a
//! thread of its own or in turn with them. What has crossed meanwhile is told at meetings, before it could have been seen; every
//! edge is what it is when all run together.
//!
//! An island has its blocks and their links. A link that was cut is in two islands: that of its receiver has its beats, that of
//! its sender has a copy, into which beats are sent. Nobody runs farther beyond what another island has come to than the
//! delay of the links between them, and nobody beyond the end of a run that could have been heard of.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::cut::{Cut, cut};
use super::kinds::{Kind, Place, Unit};
use super::pool::{Crossing, Links, Owners};
use super::{Board, Call, Family, Link, Net, note_call, of};
use crate::kernel::{BlockId, Simulator};

/// How a netlist is cut, and who meets whom.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Ticks for which all run between two meetings.
    window: u64,
    islands: Vec<Shore>,
    /// Islands that tell the end of a run, and the ticks after which that is heard of.
    news: Vec<(usize, u64)>,
    /// The island of each block, by kind and number.
    island_of: Vec<Vec<usize>>,
    /// The islands of each link, by pool and number.
    owners: Vec<Vec<Owners>>,
    /// Islands at which meetings are held: with those of higher numbers to which they have links.
    hosts: Vec<usize>,
}

/// An island as the others know it.
#[derive(Clone, Debug, Default)]
struct Shore {
    /// Where its blocks are in the wake wheels, by domain.
    domains: Vec<Vec<Place>>,
    /// The numbers of its blocks in the netlist, by kind.
    numbers: Vec<Vec<usize>>,
    /// The numbers of its links in the netlist, by pool: in ascending order.
    links: Vec<Vec<u32>>,
    /// How far it is ahead of the last island.
    ahead: u64,
    /// Islands that this island must not run ahead of by more than this distance [ticks].
    bounds: Vec<(usize, u64)>,
    /// Islands of higher numbers, with the links to them and those from them.
    guests: Vec<Guest>,
}

/// An island that comes to another's meeting.
#[derive(Clone, Debug, Default)]
struct Guest {
    island: usize,
    there: Vec<Crossing>,
    back: Vec<Crossing>,
}

/// A netlist in islands. Each may be run by another thread.
pub struct Islands<L, K> {
    plan: Arc<Plan>,
    islands: Vec<Island<L, K>>,
}

struct Island<L, K> {
    /// The tick up to which it is to run.
    goal: AtomicU64,
    inside: Mutex<Inside<L, K>>,
}

struct Inside<L, K> {
    board: Board<L, K>,
    sim: Simulator,
}

impl<L, K> Island<L, K> {
    fn lock(&self) -> MutexGuard<'_, Inside<L, K>> {
        // A panic in an island ends the run; nobody looks at what it has left.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<L: Links, K: Kind<L>> Net<L, K> {
    fn plan(&self) -> Option<&Arc<Plan>> {
        self.plan.get_or_init(|| self.cut().map(|cut| Arc::new(self.plan_of(&cut)))).as_ref()
    }

    fn cut(&self) -> Option<Cut> {
        let cycle = u64::from(self.periods[0]);
        cut(&self.graph, cycle, &|link: &Link| Some(link.to) == self.heard_by)
    }

    /// How many islands it has, if it can run in any.
    #[must_use]
    pub fn num_islands(&self) -> Option<usize> {
        self.plan().map(|plan| plan.islands.len())
    }

    /// Ticks for which its islands run between two meetings, and how far the island of a block is ahead of the last one.
    #[must_use]
    pub fn pace_of(&self, block: BlockId) -> Option<(u64, u64)> {
        let (kind, number) = self.kind_of(block)?;
        self.plan().map(|plan| (plan.window, plan.islands[plan.island_of[kind][number]].ahead))
    }

    fn plan_of(&self, cut: &Cut) -> Plan {
        let count = cut.ahead.len();
        let mut islands: Vec<Shore> = cut.ahead.iter().map(|&ahead| Shore { ahead, ..Shore::default() }).collect();
        for &(from, to, ticks) in &cut.bounds {
            if from != to {
                islands[to].bounds.push((from, ticks));
            }
        }
        // A block without links is with the first.
        let island_of: Vec<Vec<usize>> = (0..self.shown.len())
            .map(|kind| {
                let blocks = 0..self.board.kinds[kind].count();
                blocks.map(|block| cut.islands.get(&self.id_in(kind, block)).copied().unwrap_or(0)).collect()
            })
            .collect();
        for island in &mut islands {
            island.domains = vec![Vec::new(); self.periods.len()];
            island.numbers = vec![Vec::new(); self.shown.len()];
            island.links = vec![Vec::new(); L::COUNT];
        }
        for (kind, island_of) in island_of.iter().enumerate() {
            for (number, &island) in island_of.iter().enumerate() {
                islands[island].add((kind, number), self.id_in(kind, number));
            }
        }
        let mut owners: Vec<Vec<Owners>> = vec![Vec::new(); L::COUNT];
        let mut guests: BTreeMap<(usize, usize), Guest> = BTreeMap::new();
        for link in &self.graph {
            let [sender, receiver] = [link.from, link.to].map(|block| cut.islands[&block]);
            // The graph has the links of a pool in their order.
            let number = owners[link.pool].len() as u32;
            owners[link.pool].push([sender, receiver]);
            if sender != receiver {
                let [from, to] = [sender, receiver].map(|island| islands[island].links[link.pool].len() as u32);
                let pair = (sender.min(receiver), sender.max(receiver));
                let guest = guests.entry(pair).or_insert_with(|| Guest { island: pair.1, ..Guest::default() });
                let crossings = if sender < receiver { &mut guest.there } else { &mut guest.back };
                crossings.push(Crossing { pool: link.pool as u32, from, to });
                islands[sender].links[link.pool].push(number);
            }
            islands[receiver].links[link.pool].push(number);
        }
        for ((host, _), guest) in guests {
            islands[host].guests.push(guest);
        }
        // From behind at every other, so that two that are held at the same time do not wait for each other.
        islands.iter_mut().skip(1).step_by(2).for_each(|island| island.guests.reverse());
        let hosts = (0..count).filter(|&island| !islands[island].guests.is_empty()).collect();
        Plan { window: cut.window, news: cut.news.clone(), islands, island_of, owners, hosts }
    }

    /// Takes it apart, until [`Self::rejoin`], if it can run in islands. Meanwhile it has no blocks.
    pub fn separate(&mut self, sim: &mut Simulator) -> Option<Islands<L, K>> {
        let plan = Arc::clone(self.plan()?);
        let count = plan.islands.len();
        let mut boards: Vec<Board<L, K>> = plan
            .islands
            .iter()
            .map(|island| Board {
                links: L::default(),
                kinds: Vec::with_capacity(self.shown.len()),
                domains: island.domains.clone(),
                called: None,
            })
            .collect();
        for (kind, island_of) in self.board.kinds.iter_mut().zip(&plan.island_of) {
            for (board, part) in boards.iter_mut().zip(kind.split(island_of, count)) {
                board.kinds.push(part);
            }
        }
        for (pool, owners) in plan.owners.iter().enumerate() {
            let mut pools: Vec<_> = boards.iter_mut().map(|board| board.links.any_mut(pool)).collect();
            self.board.links.any_mut(pool).split(owners, &mut pools);
        }
        for (board, Shore { links, .. }) in boards.iter_mut().zip(&plan.islands) {
            // Whoever has a port at a link has the link.
            board.renumber(|pool, number| links[pool].binary_search(&number).unwrap_or_default() as u32);
        }
        let islands = boards.into_iter().zip(&plan.islands).map(|(board, island)| {
            let sim = sim.separate(island.blocks());
            Island { goal: AtomicU64::new(sim.reached()), inside: Mutex::new(Inside { board, sim }) }
        });
        let islands = islands.collect();
        Some(Islands { plan, islands })
    }

    /// Puts it together again, after meetings at which all have come to the same tick.
    pub fn rejoin(&mut self, islands: Islands<L, K>, sim: &mut Simulator) {
        let Islands { plan, islands } = islands;
        let (mut boards, mut reached) = (Vec::with_capacity(islands.len()), None);
        for (island, shore) in islands.into_iter().zip(&plan.islands) {
            let Inside { board, sim: parted } = island.inside.into_inner().unwrap_or_else(PoisonError::into_inner);
            let here = parted.reached();
            debug_assert_eq!(*reached.get_or_insert(here), here, "islands have come to different ticks");
            sim.rejoin(parted);
            if let Some(Call { tick, kind, block }) = board.called {
                note_call(&mut self.board.called, Call { tick, kind, block: shore.numbers[kind][block] });
            }
            boards.push(board);
        }
        for (pool, owners) in plan.owners.iter().enumerate() {
            let mut pools: Vec<_> = boards.iter_mut().map(|board| board.links.any_mut(pool)).collect();
            self.board.links.any_mut(pool).unite(owners, &mut pools);
        }
        for (board, Shore { links, .. }) in boards.iter_mut().zip(&plan.islands) {
            board.renumber(|pool, number| links[pool][number as usize]);
        }
        let mut parts: Vec<_> = boards.into_iter().map(|board| board.kinds.into_iter()).collect();
        for (kind, island_of) in self.board.kinds.iter_mut().zip(&plan.island_of) {
            kind.unite(island_of, parts.iter_mut().filter_map(Iterator::next).collect());
        }
    }
}

impl Shore {
    /// Blocks of the island, by their ids in the wake wheels.
    fn blocks(&self) -> impl Iterator<Item = BlockId> {
        self.domains.iter().flatten().flat_map(Place::ids)
    }

    /// Adds a block: the next of its kind here.
    fn add(&mut self, (kind, number): (usize, usize), id: BlockId) {
        let first = self.numbers[kind].len();
        self.numbers[kind].push(number);
        let places = &mut self.domains[usize::from(id.domain)];
        match places.last_mut() {
            Some(last)
                if last.kind == kind
                    && usize::from(last.slot) + last.count == usize::from(id.slot)
                    && last.slot / 64 == id.slot / 64 =>
            {
                *last = Place::new(kind, (id.domain, last.slot), last.first, last.count + 1);
            }
            _ => places.push(Place::new(kind, (id.domain, id.slot), first, 1)),
        }
    }
}

impl<L: Links, K: Kind<L>> Islands<L, K> {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.islands.len()
    }

    /// Meetings of a round.
    #[must_use]
    pub fn meetings(&self) -> usize {
        self.plan.hosts.len()
    }

    /// Runs one island up to where it is to come. Islands may run at the same time.
    pub fn run(&self, island: usize) {
        let goal = self.islands[island].goal.load(Ordering::Relaxed);
        let Inside { board, sim } = &mut *self.islands[island].lock();
        // One that has called the host does nothing more.
        if board.called.is_some() { sim.jump(goal) } else { sim.run(goal, board) }
    }

    /// Holds one of the meetings, at which each is told what the others have sent and taken. Meetings may be held at the
    /// same time, while no island runs.
    pub fn meet(&self, meeting: usize) {
        let host = self.plan.hosts[meeting];
        let Inside { board: own, sim: own_sim } = &mut *self.islands[host].lock();
        for Guest { island, there, back } in &self.plan.islands[host].guests {
            let Inside { board, sim } = &mut *self.islands[*island].lock();
            for &crossing in there {
                own.links.meet(&mut board.links, crossing, [own_sim, sim]);
            }
            for &crossing in back {
                board.links.meet(&mut own.links, crossing, [sim, own_sim]);
            }
        }
    }

    /// Looks at a block and the links of its island.
    pub fn look<B: Unit<L>, R>(&self, family: Family<B>, block: usize, read: impl FnOnce(&B, &B::Ports, &L) -> R) -> R {
        let island = self.plan.island_of[family.0][block];
        let here = self.plan.islands[island].numbers[family.0].iter().position(|&number| number == block);
        let board = &self.islands[island].lock().board;
        let (of, here) = (of(board, family), here.unwrap_or_default());
        read(&of.blocks[here], of.blocks[here].ports(), &board.links)
    }

    /// After the meetings: sets the ticks up to which the islands are to run next, none of them beyond `end`. False if all have
    /// come there. If they are to stop, if a block has called the host, or if nothing is due any more, `end` is lowered to the
    /// tick that the farthest islands have reached, so that all meet there and can be put together again.
    pub fn set_out(&self, end: &mut u64, mut stop: bool) -> bool {
        let Plan { islands, window, .. } = &*self.plan;
        let (mut due, mut nearest, mut farthest) = (u64::MAX, u64::MAX, 0);
        let (mut last, mut is_steady) = (None, true);
        for (island, shore) in self.islands.iter().zip(islands) {
            let Inside { board, sim } = &*island.lock();
            stop |= board.called.is_some();
            due = due.min(sim.next_tick().unwrap_or(u64::MAX));
            let here = sim.reached();
            (nearest, farthest) = (nearest.min(here), farthest.max(here));
            // Where the last island is if this one is as far ahead of it as it is to be.
            let of_last = here.wrapping_sub(shore.ahead);
            is_steady &= *last.get_or_insert(of_last) == of_last;
        }
        if nearest >= *end {
            return false;
        }
        if stop || due >= *end {
            *end = farthest.min(*end);
        } else if due > farthest + window {
            // Time in which all sleep is jumped.
            self.islands.iter().for_each(|island| island.lock().sim.jump(due));
            return self.catch_up(*end);
        }
        let Some(last) = last.filter(|_| is_steady) else { return self.catch_up(*end) };
        // Who is as far ahead as it is to be may run for a window: that is how far it is to be ahead.
        let mut goes_on = false;
        for (island, shore) in self.islands.iter().zip(islands) {
            let (reached, goal) = (last + shore.ahead, (last + shore.ahead + window).min(*end));
            island.goal.store(goal.max(reached), Ordering::Relaxed);
            goes_on |= goal > reached;
        }
        goes_on
    }

    /// Sets the ticks up to which islands are to run that are not as far ahead of each other as they are to be.
    #[inline(never)]
    fn catch_up(&self, end: u64) -> bool {
        let Plan { islands, window, news, .. } = &*self.plan;
        let reached: Vec<u64> = self.islands.iter().map(|island| island.lock().sim.reached()).collect();
        let last = islands.iter().zip(&reached).filter(|(shore, _)| shore.ahead == 0);
        let last = last.map(|(_, tick)| *tick).min().unwrap_or(0);
        let heard = news.iter().map(|&(teller, ticks)| reached[teller] + ticks).min().unwrap_or(u64::MAX);
        let mut goes_on = false;
        for (number, (island, shore)) in self.islands.iter().zip(islands).enumerate() {
            let bounds = shore.bounds.iter().map(|&(other, ticks)| reached[other] + ticks);
            let goal = (last + shore.ahead + window).min(end).min(heard);
            let goal = bounds.fold(goal, u64::min).max(reached[number]);
            island.goal.store(goal, Ordering::Relaxed);
            goes_on |= goal > reached[number];
        }
        goes_on
    }
}
