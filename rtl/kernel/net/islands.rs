//! # Islands of a netlist
//! Simulates a netlist in parallel. Where links have delays, the netlist is cut into islands, which are
//! groups of hardware blocks. Each island runs for a while without messages from other islands. Islands run
//! on separate threads, or in turn on one thread. They exchange messages at synchronization points, always
//! before a message could become visible. Results therefore equal lockstep execution.
//!
//! An island owns its blocks and their links. A link that was cut exists in two islands. The receiver's
//! island holds the beats. The sender's island holds a copy of the link, into which beats are sent. No island
//! runs ahead of another by more than the delay of the links between them. No island runs beyond the earliest
//! tick at which a message that ends the run could be received.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::cut::{Cut, cut};
use super::kinds::{BlockRange, Kind, Unit};
use super::pool::{Crossing, Links, Owners};
use super::{Board, Family, HostCall, Link, Net, note_call, of};
use crate::kernel::{BlockId, Simulator};

/// Cut of a netlist into islands, and pairs of islands that synchronize with each other.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Number of ticks that every island runs between two synchronization points.
    window: u64,
    islands: Vec<IslandInfo>,
    /// Islands that send the message that ends a run, each with the latency of that message in ticks.
    news: Vec<(usize, u64)>,
    /// Island of each hardware block, indexed by kind of block and number.
    island_of: Vec<Vec<usize>>,
    /// Islands of each link's sender and receiver, indexed by pool and link number.
    owners: Vec<Vec<Owners>>,
    /// Islands that execute the synchronization points, one point each: the island exchanges beats and
    /// credits with all islands of higher numbers to which it has links.
    hosts: Vec<usize>,
}

/// Properties of an island that the netlist and other islands use.
#[derive(Clone, Debug, Default)]
struct IslandInfo {
    /// Positions of the island's hardware blocks in the timing wheels, by clock domain.
    domains: Vec<Vec<BlockRange>>,
    /// Numbers of the island's hardware blocks in the netlist, by kind of block.
    numbers: Vec<Vec<usize>>,
    /// Numbers of the island's links in the netlist, by link pool, in ascending order.
    links: Vec<Vec<u32>>,
    /// Number of ticks by which the island is planned to run ahead of the slowest island.
    ahead: u64,
    /// Other islands, each with the maximum number of ticks by which this island may run ahead of that
    /// island.
    bounds: Vec<(usize, u64)>,
    /// Islands with higher numbers that have links to or from this island, and with which it synchronizes.
    guests: Vec<SyncPeer>,
}

/// Island with which an island of a lower number synchronizes. `there` are the links from the lower-numbered
/// island to this one, and `back` the links in the opposite direction.
#[derive(Clone, Debug, Default)]
struct SyncPeer {
    island: usize,
    there: Vec<Crossing>,
    back: Vec<Crossing>,
}

/// Netlist that is split into islands, each of which can run on a separate thread.
pub struct Islands<L, K> {
    plan: Arc<Plan>,
    islands: Vec<Island<L, K>>,
}

struct Island<L, K> {
    /// Tick up to which the island runs in the next round.
    goal: AtomicU64,
    inside: Mutex<Inside<L, K>>,
}

struct Inside<L, K> {
    board: Board<L, K>,
    sim: Simulator,
}

impl<L, K> Island<L, K> {
    fn lock(&self) -> MutexGuard<'_, Inside<L, K>> {
        // A panic in an island ends the run, so its possibly inconsistent state is never used.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<L: Links, K: Kind<L>> Net<L, K> {
    fn plan(&self) -> Option<&Arc<Plan>> {
        self.plan.get_or_init(|| self.cut().map(|cut| Arc::new(self.plan_of(&cut)))).as_ref()
    }

    fn cut(&self) -> Option<Cut> {
        let cycle = u64::from(self.periods[0]);
        cut(&self.graph, cycle, &|link: &Link| self.heard_by.contains(&link.to))
    }

    /// Returns the number of islands; `None` if the netlist cannot be cut.
    #[must_use]
    pub fn num_islands(&self) -> Option<usize> {
        self.plan().map(|plan| plan.islands.len())
    }

    /// Returns `(window, lead)` in ticks: the time that islands run between two synchronization points, and
    /// the time by which the island of hardware block `block` runs ahead of the slowest island.
    #[must_use]
    pub fn pace_of(&self, block: BlockId) -> Option<(u64, u64)> {
        let (kind, number) = self.kind_of(block)?;
        self.plan().map(|plan| (plan.window, plan.islands[plan.island_of[kind][number]].ahead))
    }

    fn plan_of(&self, cut: &Cut) -> Plan {
        let count = cut.ahead.len();
        let mut islands: Vec<IslandInfo> =
            cut.ahead.iter().map(|&ahead| IslandInfo { ahead, ..IslandInfo::default() }).collect();
        for &(from, to, ticks) in &cut.bounds {
            if from != to {
                islands[to].bounds.push((from, ticks));
            }
        }
        // A hardware block without links belongs to the first island.
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
        let mut guests: BTreeMap<(usize, usize), SyncPeer> = BTreeMap::new();
        for link in &self.graph {
            let [sender, receiver] = [link.from, link.to].map(|block| cut.islands[&block]);
            // The list of all links is sorted by pool (type of beat), and then by the number of the link in
            // its pool.
            let number = owners[link.pool].len() as u32;
            owners[link.pool].push([sender, receiver]);
            if sender != receiver {
                let [from, to] = [sender, receiver].map(|island| islands[island].links[link.pool].len() as u32);
                let pair = (sender.min(receiver), sender.max(receiver));
                let guest = guests.entry(pair).or_insert_with(|| SyncPeer { island: pair.1, ..SyncPeer::default() });
                let crossings = if sender < receiver { &mut guest.there } else { &mut guest.back };
                crossings.push(Crossing { pool: link.pool as u32, from, to });
                islands[sender].links[link.pool].push(number);
            }
            islands[receiver].links[link.pool].push(number);
        }
        for ((host, _), guest) in guests {
            islands[host].guests.push(guest);
        }
        // Every second island visits its peers in reverse order, so that two synchronization points executed
        // at the same time do not wait for each other.
        islands.iter_mut().skip(1).step_by(2).for_each(|island| island.guests.reverse());
        let hosts = (0..count).filter(|&island| !islands[island].guests.is_empty()).collect();
        Plan { window: cut.window, news: cut.news.clone(), islands, island_of, owners, hosts }
    }

    /// Splits the netlist into islands; returns `None` if it cannot be cut. The netlist contains no hardware
    /// blocks until [`Self::rejoin`].
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
        for (board, IslandInfo { links, .. }) in boards.iter_mut().zip(&plan.islands) {
            // If an island contains a hardware block at one end of a link, it also contains the link or a
            // copy of it, so the search succeeds.
            board.renumber(|pool, number| links[pool].binary_search(&number).unwrap_or_default() as u32);
        }
        let islands = boards.into_iter().zip(&plan.islands).map(|(board, island)| {
            let sim = sim.separate(island.blocks());
            Island { goal: AtomicU64::new(sim.reached_tick()), inside: Mutex::new(Inside { board, sim }) }
        });
        let islands = islands.collect();
        Some(Islands { plan, islands })
    }

    /// Reassembles the netlist from its islands. At the last synchronization points, all islands must have
    /// reached the same tick.
    pub fn rejoin(&mut self, islands: Islands<L, K>, sim: &mut Simulator) {
        let Islands { plan, islands } = islands;
        let (mut boards, mut reached) = (Vec::with_capacity(islands.len()), None);
        for (island, shore) in islands.into_iter().zip(&plan.islands) {
            let Inside { board, sim: parted } = island.inside.into_inner().unwrap_or_else(PoisonError::into_inner);
            let here = parted.reached_tick();
            debug_assert_eq!(*reached.get_or_insert(here), here, "islands have reached different ticks");
            sim.rejoin(parted);
            if let Some(HostCall { tick, kind, block }) = board.called {
                note_call(&mut self.board.called, HostCall { tick, kind, block: shore.numbers[kind][block] });
            }
            boards.push(board);
        }
        for (pool, owners) in plan.owners.iter().enumerate() {
            let mut pools: Vec<_> = boards.iter_mut().map(|board| board.links.any_mut(pool)).collect();
            self.board.links.any_mut(pool).unite(owners, &mut pools);
        }
        for (board, IslandInfo { links, .. }) in boards.iter_mut().zip(&plan.islands) {
            board.renumber(|pool, number| links[pool][number as usize]);
        }
        let mut parts: Vec<_> = boards.into_iter().map(|board| board.kinds.into_iter()).collect();
        for (kind, island_of) in self.board.kinds.iter_mut().zip(&plan.island_of) {
            kind.unite(island_of, parts.iter_mut().filter_map(Iterator::next).collect());
        }
    }
}

impl IslandInfo {
    /// Returns the ids by which the timing wheels identify the island's hardware blocks.
    fn blocks(&self) -> impl Iterator<Item = BlockId> {
        self.domains.iter().flatten().flat_map(BlockRange::ids)
    }

    /// Adds a hardware block to this island, as the last block of its kind.
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
                *last = BlockRange::new(kind, (id.domain, last.slot), last.first, last.count + 1);
            }
            _ => places.push(BlockRange::new(kind, (id.domain, id.slot), first, 1)),
        }
    }
}

impl<L: Links, K: Kind<L>> Islands<L, K> {
    /// Returns the number of islands.
    #[must_use]
    pub fn count(&self) -> usize {
        self.islands.len()
    }

    /// Returns the number of synchronization points per round. All of them are executed after the islands
    /// have run and before they run again.
    #[must_use]
    pub fn num_sync_points(&self) -> usize {
        self.plan.hosts.len()
    }

    /// Runs one island up to the tick set by [`Self::plan_round`]. Different islands may run at the same time
    /// on different threads.
    pub fn run(&self, island: usize) {
        let goal = self.islands[island].goal.load(Ordering::Relaxed);
        let Inside { board, sim } = &mut *self.islands[island].lock();
        // If a hardware block of the island has requested attention from the simulator, no more blocks of the
        // island are evaluated.
        if board.called.is_some() { sim.jump(goal) } else { sim.run(goal, board) }
    }

    /// Executes synchronization point number `meeting`, at which one island exchanges sent beats and returned
    /// credits with its peers. Several may be executed at the same time, while no island runs.
    pub fn synchronize(&self, meeting: usize) {
        let host = self.plan.hosts[meeting];
        let Inside { board: own, sim: own_sim } = &mut *self.islands[host].lock();
        for SyncPeer { island, there, back } in &self.plan.islands[host].guests {
            let Inside { board, sim } = &mut *self.islands[*island].lock();
            for &crossing in there {
                own.links.meet(&mut board.links, crossing, [own_sim, sim]);
            }
            for &crossing in back {
                board.links.meet(&mut own.links, crossing, [sim, own_sim]);
            }
        }
    }

    /// Calls `read` with a hardware block, its ports and the links of its island.
    pub fn read_block<B: Unit<L>, R>(
        &self,
        family: Family<B>,
        block: usize,
        read: impl FnOnce(&B, &B::Ports, &L) -> R,
    ) -> R {
        let island = self.plan.island_of[family.0][block];
        let here = self.plan.islands[island].numbers[family.0].iter().position(|&number| number == block);
        let board = &self.islands[island].lock().board;
        let (of, here) = (of(board, family), here.unwrap_or_default());
        read(&of.blocks[here], of.blocks[here].ports(), &board.links)
    }

    /// Sets the tick up to which each island runs in the next round, at most `end`. Called after the
    /// synchronization points of the previous round, while no island runs. Returns false if all islands have
    /// reached `end`.
    ///
    /// The run ends early if `stop` is set, a hardware block has requested attention from the simulator, or
    /// no block is scheduled before `end`. `end` is then lowered to the tick that the farthest island has
    /// reached. All islands then stop at the same tick and can be rejoined.
    pub fn plan_round(&self, end: &mut u64, mut stop: bool) -> bool {
        let Plan { islands, window, .. } = &*self.plan;
        let (mut due, mut nearest, mut farthest) = (u64::MAX, u64::MAX, 0);
        let (mut last, mut is_steady) = (None, true);
        for (island, shore) in self.islands.iter().zip(islands) {
            let Inside { board, sim } = &*island.lock();
            stop |= board.called.is_some();
            due = due.min(sim.next_tick().unwrap_or(u64::MAX));
            let here = sim.reached_tick();
            (nearest, farthest) = (nearest.min(here), farthest.max(here));
            // `of_last` is where the slowest island is if this island leads it by as much as planned. If
            // `of_last` is equal for all islands, all have their planned leads.
            let of_last = here.wrapping_sub(shore.ahead);
            is_steady &= *last.get_or_insert(of_last) == of_last;
        }
        if nearest >= *end {
            return false;
        }
        if stop || due >= *end {
            *end = farthest.min(*end);
        } else if due > farthest + window {
            // Skips the time in which all hardware blocks sleep.
            self.islands.iter().for_each(|island| island.lock().sim.jump(due));
            return self.plan_catch_up(*end);
        }
        let Some(last) = last.filter(|_| is_steady) else { return self.plan_catch_up(*end) };
        // All islands have their planned leads, so each island may run for one full window.
        let mut goes_on = false;
        for (island, shore) in self.islands.iter().zip(islands) {
            let (reached, goal) = (last + shore.ahead, (last + shore.ahead + window).min(*end));
            island.goal.store(goal.max(reached), Ordering::Relaxed);
            goes_on |= goal > reached;
        }
        goes_on
    }

    /// Sets the tick up to which each island runs next. Called while some islands are not ahead of the
    /// slowest one by their planned leads. Returns false if no island can run.
    #[inline(never)]
    fn plan_catch_up(&self, end: u64) -> bool {
        let Plan { islands, window, news, .. } = &*self.plan;
        let reached: Vec<u64> = self.islands.iter().map(|island| island.lock().sim.reached_tick()).collect();
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
