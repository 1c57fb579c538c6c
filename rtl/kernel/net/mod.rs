//! # Netlist
//! Represents a machine as data: a list of hardware blocks and a list of links between their ports. Links are
//! stored in pools, one for each type of beat. A block holds the numbers of its links. At each clock edge it
//! receives the ends of these links, so it cannot access other links. A port is named by a field of the
//! block's ports struct. A reference to a port that does not exist, or that carries another type of beat, is
//! therefore a compile error.
//!
//! Everything else is derived from the lists of blocks and links. For each block, these lists determine its
//! position in the timing wheels and the links shown in its description. For the whole machine, they
//! determine the digests, the test whether anything is in flight, the saved state, and the islands that can
//! run independently.

mod cut;
mod islands;
mod kinds;
mod outline;
mod pool;
mod ports;

use std::any::TypeId;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

pub use islands::Islands;
pub use kinds::{BlockRange, BlockWithPorts, Kind, Of, Unit};
pub use outline::{Bundle, Group, Outline};
pub use pool::{AnyPool, Carries, Crossing, Links, Pool, pool_of};
pub use ports::{AnyPort, Extra, HasPorts, In, Many, Out, PortVisitor, Ports, Receives, Sends};

use super::sim::IndependentBlocks;
use super::{
    AnyEdge, BlockId, Blocks, Chan, ChanSpec, Clocks, Describe, Due, Edge, FastEdge, Payload, Sleep, digest_of,
};
use islands::Plan;
use ports::Find;

/// Maximum number of hardware blocks of one kind in a clock domain. A second kind with as many blocks also
/// fits, so that each core can be in the same domain as its load-store unit.
pub const MAX_PER_KIND: usize = 60;
/// Maximum number of hardware blocks in a clock domain of the timing wheels.
const SEATS: u8 = 128;

/// Depth and delays of a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkSpec {
    /// Maximum number of beats on the link.
    pub depth: u32,
    /// Delay in ticks from sending a beat until the receiver sees it.
    pub latency: u64,
    /// Delay in ticks from taking a beat until the sender counts its slot as free.
    pub credit: u64,
}

/// Handle for all hardware blocks of one kind in a netlist.
#[derive(Debug)]
pub struct Family<B>(usize, PhantomData<fn(B)>);

impl<B> Clone for Family<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Family<B> {}

impl<B: HasPorts> Family<B> {
    /// Returns a port of the hardware block with number `block`; `port` selects the port.
    #[must_use]
    pub fn at<E>(self, block: usize, port: fn(&mut B::Ports) -> &mut E) -> Port<B, E> {
        Port { family: self, block, port }
    }
}

/// Handle for a port of a hardware block in a netlist.
pub struct Port<B: HasPorts, E> {
    family: Family<B>,
    block: usize,
    port: fn(&mut B::Ports) -> &mut E,
}

/// Hierarchical path of a hardware block: name and number of each scope, outermost first.
pub type Path = Vec<(&'static str, Option<u32>)>;

/// Link as it is shown in the description of its receiver.
#[derive(Clone, Copy, Debug)]
struct Input {
    /// Position of the port in the receiver's list of ports.
    port: usize,
    pool: usize,
    id: u32,
    name: &'static str,
    number: Option<u32>,
}

/// Link between two hardware blocks.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Hardware block that sends on the link.
    pub from: BlockId,
    /// Hardware block that receives from the link.
    pub to: BlockId,
    /// Depth and delays of the link.
    pub spec: LinkSpec,
    pool: usize,
    /// Kind of the receiving hardware block, its number within the kind, and the position of its port.
    place: (usize, usize, usize),
}

impl Link {
    fn least_delay(&self) -> u64 {
        self.spec.latency.min(self.spec.credit)
    }
}

/// Data on the hardware blocks of one kind: slots in the timing wheels, hierarchical paths, and the links
/// that the description of each block lists.
struct KindInfo {
    places: Vec<BlockRange>,
    paths: Vec<Path>,
    inputs: Vec<Vec<Input>>,
}

/// Hardware block that requests attention from the simulator, and the tick of that request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct HostCall {
    tick: u64,
    kind: usize,
    block: usize,
}

/// Hardware blocks of a whole netlist or of one island, and their links.
struct Board<L, K> {
    links: L,
    kinds: Vec<K>,
    /// Slots of the hardware blocks in the timing wheel of each clock domain.
    domains: Vec<Vec<BlockRange>>,
    /// First request for the simulator's attention that has not been answered yet.
    called: Option<HostCall>,
}

impl<L: Links, K: Kind<L>> Board<L, K> {
    #[inline(always)]
    fn eval(&mut self, due: &mut Due, at: &mut impl AnyEdge) {
        let Self { links, kinds, domains, called } = self;
        for place in &domains[usize::from(due.domain())] {
            let left = place.among(due);
            if left != 0
                && let Some(block) = kinds[place.kind].eval((place, left), links, due, at)
            {
                note_call(called, HostCall { tick: at.tick(), kind: place.kind, block });
            }
        }
    }

    /// Renumbers the links in all ports: `new` maps a pool and an old link number to the new number.
    fn renumber(&mut self, new: impl Fn(usize, u32) -> u32) {
        let beats: Vec<TypeId> = (0..L::COUNT).map(|pool| self.links.any(pool).beats()).collect();
        let pool_of = |of| beats.iter().position(|beats| *beats == of);
        let new = |of, number| pool_of(of).map_or(number, |pool| new(pool, number));
        self.kinds.iter_mut().for_each(|kind| kind.renumber(&new));
    }
}

#[cold]
fn note_call(called: &mut Option<HostCall>, call: HostCall) {
    *called = Some(called.map_or(call, |first| first.min(call)));
}

impl<L: Links, K: Kind<L>> IndependentBlocks for Board<L, K> {
    #[inline(always)]
    fn eval(&mut self, due: &mut Due, at: &mut impl AnyEdge) -> ControlFlow<()> {
        Board::eval(self, due, at);
        if self.called.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Netlist of hardware blocks and links.
pub struct Net<L, K> {
    board: Board<L, K>,
    shown: Vec<KindInfo>,
    /// Number of clocks of the machine. The first `clocks` domains represent these clocks, one domain per
    /// clock. Each later domain has the same period as one of them, and holds the hardware blocks for which
    /// that one has no room.
    clocks: usize,
    /// Clock period of each domain in ticks.
    periods: Vec<u32>,
    graph: Vec<Link>,
    /// Hardware blocks that receive the message that ends a run before any other block does.
    heard_by: Vec<BlockId>,
    /// Plan for running the netlist as islands, computed at first use.
    plan: OnceLock<Option<Arc<Plan>>>,
}

impl<L: Links, K: Kind<L>> Net<L, K> {
    /// Creates a netlist without hardware blocks, with one clock domain per entry of `clocks`. The first
    /// `own` domains represent the clocks of the machine. Each later domain has the period of an earlier
    /// domain, and holds the blocks for which earlier domains have no room.
    #[must_use]
    pub fn new(clocks: &Clocks, own: usize) -> Self {
        let periods = clocks.periods().to_vec();
        Self {
            board: Board {
                links: L::default(),
                kinds: Vec::new(),
                domains: vec![Vec::new(); periods.len()],
                called: None,
            },
            shown: Vec::new(),
            clocks: own,
            periods,
            graph: Vec::new(),
            heard_by: Vec::new(),
            plan: OnceLock::new(),
        }
    }

    /// Adds hardware blocks of one kind, each with its path, to the domain of a clock.
    ///
    /// # Panics
    /// Panics if the domains of the clock have no room for all blocks.
    pub fn add<B: Unit<L>>(&mut self, domain: u8, blocks: impl IntoIterator<Item = (Path, B)>) -> Family<B>
    where
        K: From<Of<B, L>>,
    {
        let (kind, mut paths, mut of) = (self.shown.len(), Vec::new(), Of::<B, L>::default());
        for (path, block) in blocks {
            paths.push(path);
            of.push(block);
        }
        let places = self.allocate_slots(kind, domain, paths.len());
        self.board.kinds.push(of.into());
        self.shown.push(KindInfo { places, inputs: vec![Vec::new(); paths.len()], paths });
        Family(kind, PhantomData)
    }

    /// Allocates slots for `count` hardware blocks of a kind, in the first domains of a clock that have room.
    fn allocate_slots(&mut self, kind: usize, domain: u8, count: usize) -> Vec<BlockRange> {
        let (mut places, mut first, mut here) = (Vec::new(), 0, 0);
        let wheels = self.wheels(domain);
        // In the first pass over the domains, another kind with as many blocks still fits beside this one.
        let passes = [MAX_PER_KIND, SEATS.into()].into_iter().skip(usize::from(wheels.len() == 1));
        let mut rooms = passes.flat_map(|most| wheels.iter().map(move |&wheel| (wheel, most)));
        let mut room_in = rooms.next();
        while first < count {
            let Some((at, most)) = room_in else {
                panic!("the domains of clock {domain} have no room for {count} more blocks")
            };
            let slot = self.num_blocks(at);
            let room = (most - here).min(usize::from(SEATS - slot)).min(usize::from(64 - slot % 64));
            if room == 0 {
                (here, room_in) = (0, rooms.next());
                continue;
            }
            let taken = room.min(count - first);
            let place = BlockRange::new(kind, (at as u8, slot), first, taken);
            self.board.domains[at].push(place);
            places.push(place);
            (first, here) = (first + taken, here + taken);
        }
        places
    }

    /// Returns the number of hardware blocks in a clock domain.
    fn num_blocks(&self, domain: usize) -> u8 {
        self.board.domains[domain].last().map_or(0, |last| last.slot + last.count as u8)
    }

    /// Returns the domain of a clock, followed by the extra domains with the same clock period.
    fn wheels(&self, domain: u8) -> Vec<usize> {
        let (own, period) = (usize::from(domain), self.periods[usize::from(domain)]);
        let more = (self.clocks..self.periods.len()).filter(|&wheel| self.periods[wheel] == period);
        [own].into_iter().chain(more).collect()
    }

    /// Links an output port to an input port. `name` is the name of the link in the description of its
    /// receiver; `shape` holds the configuration-dependent field widths of its beats.
    ///
    /// # Panics
    /// Panics if a port that allows only one link already has one.
    pub fn link<T, A, B, F, I>(
        &mut self,
        from: Port<A, F>,
        to: Port<B, I>,
        name: (&'static str, Option<u32>),
        spec: LinkSpec,
        shape: &T::Shape,
    ) where
        T: Payload + 'static,
        A: Unit<L>,
        B: Unit<L>,
        F: Sends<Beat = T>,
        I: Receives<Beat = T>,
        L: Carries<T>,
    {
        let scopes = self.shown[to.family.0].paths[to.block].iter().chain([&name]);
        let scopes = scopes.map(|(name, index)| index.map_or((*name).to_owned(), |index| format!("{name}{index}")));
        let path = scopes.collect::<Vec<_>>().join(".");
        let (sender, receiver) = (self.id(from.family, from.block), self.id(to.family, to.block));
        let links = &mut self.board.links.pool().0;
        let (id, LinkSpec { depth, latency, credit }) = (links.len() as u32, spec);
        let chan = ChanSpec { path: path.clone(), depth, latency, credit, from: sender, to: receiver };
        links.push(Chan::<T>::new(chan, shape.clone()));
        let has_room = (from.port)(&mut self.of_mut(from.family).blocks[from.block].ports).connect(id);
        assert!(has_room, "{path}: its sender already has a link at this port");
        let ports = &mut self.of_mut(to.family).blocks[to.block].ports;
        assert!((to.port)(ports).connect(id), "{path}: its receiver already has a link at this port");
        let mut find = Find { beats: TypeId::of::<T>(), link: id, ports: 0, found: None };
        ports.visit(&mut find);
        let (port, pool) = (find.found.unwrap_or_default(), <L as Carries<T>>::POOL);
        let inputs = &mut self.shown[to.family.0].inputs[to.block];
        inputs.push(Input { port, pool, id, name: name.0, number: name.1 });
        self.graph.push(Link { from: sender, to: receiver, spec, pool, place: (to.family.0, to.block, port) });
    }

    /// Completes construction, after all ports are connected: makes the links of each input port adjacent in
    /// their pool. `heard_by` lists the hardware blocks that receive the message that ends a run before any
    /// other block does.
    pub fn finish<B: Unit<L>>(&mut self, heard_by: impl IntoIterator<Item = (Family<B>, usize)>) {
        let mut moved: Vec<Vec<u32>> = Vec::new();
        for number in 0..L::COUNT {
            let links = self.graph.iter().filter(|link| link.pool == number);
            let mut order: Vec<_> = (0u32..).zip(links).map(|(id, link)| (link.place, id)).collect();
            order.sort_unstable();
            let order: Vec<u32> = order.into_iter().map(|(_, id)| id).collect();
            let mut places = vec![0; order.len()];
            (0..).zip(&order).for_each(|(place, &id)| places[id as usize] = place);
            self.board.links.any_mut(number).sort(&order);
            moved.push(places);
        }
        // Sorts the list of all links by pool, and then by the position of the link in its pool.
        self.graph.sort_by_key(|link| (link.pool, link.place));
        self.board.renumber(|pool, id| moved[pool][id as usize]);
        for inputs in self.shown.iter_mut().flat_map(|shown| &mut shown.inputs) {
            inputs.sort_by_key(|input| input.port);
            inputs.iter_mut().for_each(|input| input.id = moved[input.pool][input.id as usize]);
        }
        self.heard_by = heard_by.into_iter().map(|(family, block)| self.id(family, block)).collect();
    }

    fn of<B: Unit<L>>(&self, family: Family<B>) -> &Of<B, L> {
        of(&self.board, family)
    }

    fn of_mut<B: Unit<L>>(&mut self, family: Family<B>) -> &mut Of<B, L> {
        let Some(of) = self.board.kinds[family.0].as_any_mut().downcast_mut() else { unreachable!("added as such") };
        of
    }

    /// Returns the id by which the timing wheels identify a hardware block.
    ///
    /// # Panics
    /// Panics if the kind has no block with this number.
    #[must_use]
    pub fn id<B>(&self, family: Family<B>, block: usize) -> BlockId {
        self.id_in(family.0, block)
    }

    fn id_in(&self, kind: usize, block: usize) -> BlockId {
        let place = self.shown[kind].places.iter().find(|place| block < place.first + place.count);
        let Some(&BlockRange { domain, slot, first, .. }) = place else {
            panic!("there is no block {block} of kind {kind}")
        };
        BlockId { domain, slot: slot + (block - first) as u8 }
    }

    /// Returns all hardware blocks of a kind.
    #[must_use]
    pub fn all<B: Unit<L>>(&self, family: Family<B>) -> &[Box<BlockWithPorts<B>>] {
        &self.of(family).blocks
    }

    /// Returns all hardware blocks of a kind, for modification.
    pub fn all_mut<B: Unit<L>>(&mut self, family: Family<B>) -> &mut [Box<BlockWithPorts<B>>] {
        &mut self.of_mut(family).blocks
    }

    /// Returns the ports of each hardware block of a kind.
    pub fn ports<B: Unit<L>>(&self, family: Family<B>) -> impl Iterator<Item = &B::Ports> {
        self.of(family).blocks.iter().map(|wired| wired.ports())
    }

    /// Returns all links, grouped by pool.
    #[must_use]
    pub fn links(&self) -> &L {
        &self.board.links
    }

    /// True if a hardware block has requested attention from the simulator since the last call of
    /// [`Self::answer`].
    #[must_use]
    #[inline]
    pub fn is_called(&self) -> bool {
        self.board.called.is_some()
    }

    /// Returns the number of the first hardware block that requested attention from the simulator, if it is
    /// of this kind.
    #[must_use]
    pub fn caller<B>(&self, family: Family<B>) -> Option<usize> {
        self.board.called.and_then(|call| (call.kind == family.0).then_some(call.block))
    }

    /// Clears the request of a hardware block, after the simulator has inspected the block.
    pub fn answer(&mut self) {
        self.board.called = None;
    }

    /// Starts to maintain digests of all memories and links.
    pub fn record(&mut self) {
        self.board.kinds.iter_mut().for_each(K::record);
        (0..L::COUNT).for_each(|pool| self.board.links.any_mut(pool).record());
    }

    /// Returns the digest of every beat that crossed any link since [`Self::record`].
    #[must_use]
    pub fn beat_digest(&self) -> u64 {
        digest_of(&(0..L::COUNT).map(|pool| self.board.links.any(pool).history()).collect::<Vec<_>>())
    }

    /// True if no link holds a beat.
    fn is_quiet(&self) -> bool {
        (0..L::COUNT).all(|pool| self.board.links.any(pool).is_empty())
    }

    /// True if nothing is in flight, neither in a hardware block nor on a link.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.board.kinds.iter().all(K::is_idle) && self.is_quiet()
    }

    /// Adds the cycles that hardware blocks have slept to their statistics, up to `tick`, the tick of the
    /// last edge.
    pub fn settle(&mut self, tick: u64) {
        self.settle_kinds(tick, None);
    }

    /// Adds the cycles that hardware blocks have slept to their statistics, like [`Self::settle`], but omits
    /// the hardware blocks of one kind.
    pub fn settle_others<B>(&mut self, but: Family<B>, tick: u64) {
        self.settle_kinds(tick, Some(but.0));
    }

    fn settle_kinds(&mut self, tick: u64, but: Option<usize>) {
        for (number, (kind, shown)) in self.board.kinds.iter_mut().zip(&self.shown).enumerate() {
            let domain = shown.places.first().map_or(0, |place| usize::from(place.domain));
            if Some(number) != but {
                kind.settle(tick / u64::from(self.periods[domain]) + 1);
            }
        }
    }

    /// Returns the kind of a hardware block, and its number within the kind.
    fn kind_of(&self, block: BlockId) -> Option<(usize, usize)> {
        self.board.domains[usize::from(block.domain)].iter().find_map(
            |&BlockRange { kind, slot, first, count, .. }| {
                let number = usize::from(block.slot).checked_sub(slot.into())?;
                (number < count).then_some((kind, first + number))
            },
        )
    }

    fn describe_in(&self, path: &[(&'static str, Option<u32>)], (kind, block): (usize, usize), to: &mut dyn Describe) {
        let Some((&(name, index), rest)) = path.split_first() else {
            for &Input { pool, id, name, number, .. } in &self.shown[kind].inputs[block] {
                self.board.links.any(pool).describe(id, name, number, to);
            }
            return self.board.kinds[kind].describe(block, to);
        };
        to.enter(name, index);
        if to.is_scope_read() {
            self.describe_in(rest, (kind, block), to);
        }
        to.leave();
    }

    /// Returns the state of all hardware blocks and links.
    #[must_use]
    pub fn state(&self) -> State<&L, &[K]> {
        State { links: &self.board.links, kinds: &self.board.kinds }
    }

    /// Replaces the state of the netlist by a saved state. Returns false if the saved state belongs to
    /// another netlist.
    #[must_use]
    pub fn adopt(&mut self, State { links, kinds }: State<L, Vec<K>>) -> bool {
        let is_alike = |pool| links.any(pool).len() == self.board.links.any(pool).len();
        if kinds.len() != self.board.kinds.len() || !(0..L::COUNT).all(is_alike) {
            return false;
        }
        self.board.links = links;
        let is_alike = self.board.kinds.iter_mut().zip(kinds).all(|(own, saved)| own.adopt(saved));
        // A hardware block may have requested attention before the state was saved, and may not be evaluated
        // again after it is restored. It would then not repeat its request, so the request is restored here.
        let callers = (0..).zip(&self.board.kinds).filter_map(|(kind, blocks)| Some((kind, blocks.caller()?)));
        self.board.called = callers.map(|(kind, block)| HostCall { tick: 0, kind, block }).min();
        is_alike
    }
}

fn of<B: Unit<L>, L: Links, K: Kind<L>>(board: &Board<L, K>, family: Family<B>) -> &Of<B, L> {
    let Some(of) = board.kinds[family.0].as_any().downcast_ref() else { unreachable!("added as such") };
    of
}

/// Saved state of a netlist: the state of its hardware blocks and links. Everything else is rebuilt from the
/// configuration.
#[derive(Serialize, Deserialize)]
pub struct State<L, K> {
    links: L,
    kinds: K,
}

impl<L: Links, K: Kind<L>> Blocks for Net<L, K> {
    fn population(&self) -> Vec<u8> {
        (0..self.periods.len()).map(|domain| self.num_blocks(domain)).collect()
    }

    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        let mut due = Due::from_block(block);
        self.board.eval(&mut due, at);
        due.sleep()
    }

    fn eval_due(&mut self, due: &mut Due, at: &mut Edge<'_>) {
        self.board.eval(due, at);
    }

    // Overrides the default, which evaluates with checks. The variants with and without checks are thus both
    // compiled in the crate that declares the netlist, and shared by all crates that use it.
    fn eval_due_fast(&mut self, due: &mut Due, at: &mut FastEdge<'_>) {
        self.board.eval(due, at);
    }

    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        if let Some((kind, number)) = self.kind_of(block) {
            self.describe_in(&self.shown[kind].paths[number], (kind, number), to);
        }
    }
}

#[cfg(test)]
mod tests;
