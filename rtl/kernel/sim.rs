//! # The evaluation loop
//! Advances to the next tick for which any hardware block is scheduled, and evaluates the blocks scheduled
//! for it. Unlike a loop over all blocks, it skips sleeping blocks and idle time. Blocks see only what was
//! committed before the edge, so their order of evaluation is arbitrary. `shuffle` selects a random order at
//! every edge. `evaluate_all` disables sleeping. `lint` also disables sleeping, and reports a block that acts
//! without having been woken. If the same wake-up is missing in a run without `lint`, the machine can hang.

use std::hash::Hasher;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::wake::{BlockSet, DOMAINS};
use super::{AnyEdge, ArrayView, BlockId, Describe, Digest, Edge, FastEdge, Field, Fields, Logic, Sleep, Wake};

/// Options for the evaluation of hardware blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mode {
    /// True if every hardware block is evaluated at every edge of its clock.
    pub evaluate_all: bool,
    /// True if hardware blocks that act without having been woken are reported; implies `evaluate_all`.
    pub lint: bool,
    /// Seed for a random order of evaluation at every edge; `None` for a fixed order.
    pub shuffle: Option<u64>,
    /// True if digests of memories and beats are maintained; [`Simulator::state_digest`] combines them.
    pub digest: bool,
    /// True if the checks of [contracts](super::contract) are skipped. Has no effect if any other option is
    /// set.
    pub unchecked: bool,
}

impl Mode {
    /// Fastest mode, without checks, for runs that need no debugging.
    pub const FAST: Self = Self { evaluate_all: false, lint: false, shuffle: None, digest: false, unchecked: true };

    /// True if contract violations are detected.
    #[must_use]
    pub fn is_checked(self) -> bool {
        self != Self::FAST
    }

    /// True if all hardware blocks of an edge must be evaluated together, so that none can [run
    /// independently](Simulator::separate).
    #[must_use]
    pub fn is_slow(self) -> bool {
        self.evaluates_all() || self.shuffle.is_some()
    }

    fn evaluates_all(self) -> bool {
        self.evaluate_all || self.lint
    }
}

/// Hardware blocks that the simulator evaluates: those of a machine or of a testbench.
pub trait Blocks {
    /// Returns the number of hardware blocks in each clock domain; their slots are numbered from 0.
    fn population(&self) -> Vec<u8>;
    /// Executes one clock edge of one hardware block.
    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep;
    /// Executes one clock edge of all scheduled hardware blocks of a clock domain.
    fn eval_due(&mut self, due: &mut Due, at: &mut Edge<'_>) {
        for half in [0, 64].map(|first| SlotMask::of(first, 64)) {
            let mut left = due.among(half);
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                match self.eval(due.block(half, bit), at) {
                    Sleep::Next => due.once_more(half, 1 << bit),
                    Sleep::At(cycle) => due.later(half, bit, cycle, at),
                    Sleep::UntilEvent => {}
                }
            }
        }
    }
    /// Executes one clock edge of all scheduled hardware blocks of a clock domain, without contract checks.
    /// The default implementation evaluates the blocks with checks.
    fn eval_due_fast(&mut self, due: &mut Due, at: &mut FastEdge<'_>) {
        at.with_edge(|at| self.eval_due(due, at));
    }
    /// Describes one hardware block, inside its scopes and with the channels that it receives from.
    fn describe(&self, block: BlockId, to: &mut dyn Describe);
}

/// Hardware blocks that run independently of all other blocks between synchronization points.
pub trait IndependentBlocks {
    /// Executes one clock edge of the scheduled hardware blocks of a clock domain. Returns `Break` if the
    /// blocks must not be evaluated further.
    fn eval(&mut self, due: &mut Due, at: &mut impl AnyEdge) -> ControlFlow<()>;
}

/// Adjacent slots of a clock domain: a bit mask within one of the two 64-bit words of the domain's block set.
#[derive(Clone, Copy, Debug)]
pub struct SlotMask {
    word: u8,
    mask: u64,
}

impl SlotMask {
    /// Selects `count` slots from `first` on, which must all be in the same half of the domain's 128 slots.
    #[must_use]
    pub fn of(first: u8, count: u8) -> Self {
        let mask = u64::MAX >> (64 - count) << (first % 64);
        Self { word: first / 64, mask }
    }
}

/// Hardware blocks of one clock domain that are scheduled for an edge.
#[derive(Debug)]
pub struct Due {
    domain: u8,
    blocks: BlockSet,
    /// Hardware blocks that must be evaluated again at the next edge.
    again: BlockSet,
}

impl Due {
    /// Creates the set that contains only the hardware block `block`.
    #[must_use]
    pub fn from_block(block: BlockId) -> Self {
        let mut blocks = BlockSet::EMPTY;
        blocks.insert(block.slot);
        Self { domain: block.domain, blocks, again: BlockSet::EMPTY }
    }

    /// Returns `Next` if the single hardware block in this set must be evaluated at the next edge, and
    /// `UntilEvent` otherwise. If the block must be woken at a later cycle, that wake-up is already in the
    /// timing wheel.
    #[must_use]
    pub fn sleep(&self) -> Sleep {
        if self.again.is_empty() { Sleep::UntilEvent } else { Sleep::Next }
    }

    /// Returns the clock domain of the scheduled hardware blocks.
    #[must_use]
    pub fn domain(&self) -> u8 {
        self.domain
    }

    /// Returns which of the slots `seats` are scheduled for this edge, one bit per slot of a 64-slot word.
    #[must_use]
    #[inline(always)]
    pub fn among(&self, seats: SlotMask) -> u64 {
        self.blocks.word(seats.word) & seats.mask
    }

    /// Returns the id of a hardware block, given its bit in a 64-slot word.
    fn block(&self, seats: SlotMask, bit: u32) -> BlockId {
        BlockId { domain: self.domain, slot: seats.word * 64 + bit as u8 }
    }

    /// Schedules the hardware blocks `blocks`, one bit each, for the next edge.
    #[inline(always)]
    pub fn once_more(&mut self, seats: SlotMask, blocks: u64) {
        self.again.add(seats.word, blocks);
    }

    /// Schedules the hardware block at position `bit` of a 64-slot word for a later cycle.
    #[inline(always)]
    pub fn later(&self, seats: SlotMask, bit: u32, cycle: u64, at: &mut impl AnyEdge) {
        self.request_wake(seats.word * 64 + bit as u8, cycle, at);
    }

    #[inline]
    fn request_wake(&self, slot: u8, cycle: u64, at: &mut impl AnyEdge) {
        let block = BlockId { domain: self.domain, slot };
        at.with_edge(|at| at.wake.at_cycle(at.tick, block, cycle.max(at.cycle + 1)));
    }
}

/// Evaluation loop with its timing wheels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Simulator {
    wake: Wake,
    mode: Mode,
    /// True if the mode rules out the fast loop, which evaluates only scheduled hardware blocks.
    slowly: bool,
    checked: bool,
    population: Vec<u8>,
    random: u64,
    tick: u64,
    /// Hardware blocks of each clock domain that were evaluated at its last edge, and the tick of that edge.
    taken: [(u64, BlockSet); DOMAINS],
    /// Tick before which all edges of independently running hardware blocks have been evaluated.
    reached: u64,
    started: bool,
}

impl Simulator {
    /// Creates a simulator at tick 0, at which every hardware block is scheduled.
    #[must_use]
    pub fn new(periods: &[u32], blocks: &impl Blocks, mode: Mode) -> Self {
        let population = blocks.population();
        assert_eq!(population.len(), periods.len(), "one population per clock domain");
        let mut wake = Wake::new(periods);
        for (domain, &count) in population.iter().enumerate() {
            assert!(count <= 128, "clock domain {domain} has {count} blocks, expected 128 or fewer: one bit per block");
            for slot in 0..count {
                wake.at_cycle(0, BlockId { domain: domain as u8, slot }, 0);
            }
        }
        Self {
            wake,
            mode,
            slowly: mode.is_slow(),
            checked: mode.is_checked(),
            random: mode.shuffle.unwrap_or(0),
            tick: 0,
            taken: [(0, BlockSet::EMPTY); DOMAINS],
            reached: 0,
            started: false,
            population,
        }
    }

    /// Returns this simulator with another mode.
    #[must_use]
    pub fn in_mode(self, mode: Mode) -> Self {
        Self { mode, slowly: mode.is_slow(), checked: mode.is_checked(), ..self }
    }

    /// Returns the tick of the last evaluated edge.
    #[must_use]
    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// Returns the next tick at which a hardware block must be evaluated; `None` if no block is scheduled.
    #[must_use]
    pub fn next_tick(&self) -> Option<u64> {
        let due = self.wake.next_tick()?;
        if !self.mode.evaluates_all() || !self.started {
            return Some(due);
        }
        // If every block is evaluated at every edge, the next tick is the next edge of any clock. The run
        // still ends when no block is scheduled.
        let edges = (0..self.population.len()).filter(|&domain| self.population[domain] > 0);
        edges.map(|domain| (self.tick / self.wake.period(domain) + 1) * self.wake.period(domain)).min()
    }

    /// Moves hardware blocks to a separate simulator, in which they run independently of the other blocks,
    /// possibly on another thread. `Chan::synchronize` exchanges messages between both simulators before they
    /// become visible.
    ///
    /// # Panics
    /// Panics in a mode that evaluates all blocks of an edge together.
    #[must_use]
    pub fn separate(&mut self, theirs: impl IntoIterator<Item = BlockId>) -> Self {
        assert!(!self.slowly, "blocks cannot run in islands if they are shuffled or all evaluated");
        let mut sets = [BlockSet::EMPTY; DOMAINS];
        for BlockId { domain, slot } in theirs {
            sets[usize::from(domain)].insert(slot);
        }
        let reached = if self.started { self.tick + 1 } else { 0 };
        Self { wake: self.wake.separate(sets), population: self.population.clone(), reached, ..*self }
    }

    /// Takes back the hardware blocks that [`Self::separate`] moved; both simulators must have reached the
    /// same tick. The tick of the last edge becomes the later one of the two simulators.
    pub fn rejoin(&mut self, parted: Self) {
        self.reached = self.reached.max(parted.reached);
        self.wake.rejoin(parted.wake, self.reached);
        self.tick = self.tick.max(parted.tick);
        self.started |= parted.started;
    }

    /// Runs the hardware blocks that [`Self::separate`] moved through all their edges before tick `until`.
    /// Stops early at an edge at which they return `Break`.
    #[inline(always)]
    pub fn run(&mut self, until: u64, blocks: &mut impl IndependentBlocks) {
        if self.checked {
            self.run_edges(until, |due, mut at| blocks.eval(due, &mut at));
        } else {
            self.run_edges(until, |due, at| blocks.eval(due, &mut FastEdge::new(at)));
        }
    }

    #[inline(always)]
    fn run_edges(&mut self, until: u64, mut eval: impl FnMut(&mut Due, Edge<'_>) -> ControlFlow<()>) {
        self.reached = until;
        while let Some((domain, mut tick)) = self.wake.first_before(until) {
            self.started = true;
            let Some((mut cycle, mut blocks)) = self.wake.begin(domain, tick) else { return };
            loop {
                let mut due = Due { domain, blocks, again: BlockSet::EMPTY };
                let flow = eval(&mut due, Edge { tick, cycle, wake: &mut self.wake, actions: 0 });
                self.tick = tick;
                if flow.is_break() {
                    return self.wake.end(domain, tick, due.again);
                }
                let Some(next) = self.wake.finish_edge(domain, tick, due.again, until) else { break };
                (tick, cycle, blocks) = next;
            }
        }
    }

    /// Skips the time up to tick `until` without evaluating any edge. Called if no hardware block is
    /// scheduled in that time, or if the edges in that time no longer matter because a block has requested
    /// attention from the simulator.
    pub fn jump(&mut self, until: u64) {
        self.reached = until;
    }

    /// Returns the tick that [`Self::run`] has reached; all edges before it have been evaluated.
    #[must_use]
    pub fn reached_tick(&self) -> u64 {
        self.reached
    }

    /// Returns the timing wheels and the last tick before [`Self::reached_tick`], as the time of the request
    /// when a beat or credit from the other simulator wakes a block.
    pub(crate) fn wake_and_last_tick(&mut self) -> (&mut Wake, u64) {
        (&mut self.wake, self.reached.saturating_sub(1))
    }

    /// Wakes a hardware block by a command of the simulator, at its next edge after the current tick.
    pub fn wake(&mut self, block: BlockId) {
        self.wake_at(block, self.tick + 1);
    }

    /// Wakes a hardware block by a command of the simulator, at its first edge at or after `tick`, however
    /// far ahead that is.
    pub fn wake_at(&mut self, block: BlockId, tick: u64) {
        self.wake.at_tick(self.tick, block, tick);
    }

    /// Returns a bit set of the hardware blocks of clock domain `domain` that were evaluated at the last
    /// tick.
    #[must_use]
    pub fn evaluated_blocks(&self, domain: usize) -> u128 {
        let (tick, blocks) = self.taken[domain];
        if tick == self.tick { blocks.bits() } else { 0 }
    }

    /// Returns a bit set of the hardware blocks of clock domain `domain` to which a beat was sent since the
    /// previous call. Only these blocks and those of [`Self::evaluated_blocks`] can have a changed
    /// description.
    pub fn take_touched(&mut self, domain: usize) -> u128 {
        self.wake.take_touched(domain).bits()
    }

    /// Evaluates all hardware blocks scheduled for the next tick, and returns that tick; `None` if no block
    /// is scheduled.
    ///
    /// # Panics
    /// Panics in lint mode, if a block acts without having been woken.
    pub fn step(&mut self, blocks: &mut impl Blocks) -> Option<u64> {
        self.step_before(u64::MAX, blocks)
    }

    /// Evaluates all hardware blocks scheduled for the next tick if that tick is before `end`, and returns
    /// the tick. Returns `None` if the tick is not before `end`, or if no block is scheduled.
    ///
    /// # Panics
    /// Panics in the same cases as [`Self::step`].
    pub fn step_before(&mut self, end: u64, blocks: &mut impl Blocks) -> Option<u64> {
        if self.slowly {
            let tick = self.next_tick().filter(|tick| *tick < end)?;
            self.tick = tick;
            self.started = true;
            self.step_slowly(blocks, tick);
            return Some(tick);
        }
        let (tick, mut domains) = self.wake.next_edges();
        if tick >= end || tick == u64::MAX {
            return None;
        }
        self.tick = tick;
        self.started = true;
        // No hardware block schedules another one for the tick of its own edge, so `domains` already contains
        // all domains with an edge at this tick.
        while domains != 0 {
            let domain = domains.trailing_zeros() as u8;
            domains &= domains - 1;
            let Some((cycle, taken)) = self.wake.begin(domain, tick) else { continue };
            self.taken[usize::from(domain)] = (tick, taken);
            let mut due = Due { domain, blocks: taken, again: BlockSet::EMPTY };
            // The edge is created where it is used, because its copy would take fourteen instructions.
            let at = |wake| Edge { tick, cycle, wake, actions: 0 };
            if self.checked {
                blocks.eval_due(&mut due, &mut at(&mut self.wake));
            } else {
                blocks.eval_due_fast(&mut due, &mut FastEdge::new(at(&mut self.wake)));
            }
            self.wake.end(domain, tick, due.again);
        }
        Some(tick)
    }

    /// Returns the digest of the current state of all hardware blocks. Memories are included if they maintain
    /// a digest.
    #[must_use]
    pub fn state_digest(&self, blocks: &impl Blocks) -> u64 {
        let mut digest = Digest::default();
        for (domain, &count) in (0..).zip(&self.population) {
            for slot in 0..count {
                digest.word(digest_of_block(blocks, BlockId { domain, slot }));
            }
        }
        digest.finish()
    }

    fn step_slowly(&mut self, blocks: &mut impl Blocks, tick: u64) {
        let everyone = self.mode.evaluates_all();
        let mut order = Vec::new();
        for domain in 0..self.wake.num_domains() {
            let cycle = tick / self.wake.period(domain);
            let woken = self.wake.take(domain as u8, tick).map_or(BlockSet::EMPTY, |(_, due)| due);
            self.taken[domain] = (tick, woken);
            if tick != cycle * self.wake.period(domain) {
                continue;
            }
            for slot in 0..self.population[domain] {
                let due = woken.bits() >> slot & 1 != 0;
                if everyone || due {
                    order.push((BlockId { domain: domain as u8, slot }, cycle, due));
                }
            }
        }
        if self.mode.shuffle.is_some() {
            for i in (1..order.len()).rev() {
                self.random =
                    self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                order.swap(i, (self.random >> 33) as usize % (i + 1));
            }
        }
        for (block, cycle, due) in order {
            let before = (self.mode.lint && !due).then(|| digest_of_block(blocks, block));
            let mut at = Edge { tick, cycle, wake: &mut self.wake, actions: 0 };
            let sleep = blocks.eval(block, &mut at);
            let actions = at.actions;
            match sleep {
                Sleep::Next => self.wake.at_cycle(tick, block, cycle + 1),
                Sleep::At(wish) => self.wake.at_cycle(tick, block, wish.max(cycle + 1)),
                Sleep::UntilEvent => {}
            }
            if let Some(before) = before {
                let changed = digest_of_block(blocks, block) != before;
                assert!(actions == 0 && !changed, "cycle {cycle}: block {block:?} acted although nothing had woken it");
            }
        }
    }
}

/// Returns the digest of the registers and memories of one hardware block.
fn digest_of_block(blocks: &impl Blocks, block: BlockId) -> u64 {
    let mut state = StateDigest(Digest::default());
    blocks.describe(block, &mut state);
    state.0.finish()
}

struct StateDigest(Digest);

impl Fields for StateDigest {
    fn field(&mut self, field: Field) {
        self.0.word(field.value);
    }
    fn wide(&mut self, _: &'static str, bytes: &[u8]) {
        self.0.write(bytes);
    }
}

impl Describe for StateDigest {
    fn enter(&mut self, _: &'static str, _: Option<u32>) {}
    fn leave(&mut self) {}
    fn probe(&mut self, _: Field) {}
    fn stat_in(&mut self, _: Option<&'static str>, _: &'static str, _: u64) {}
    fn array(&mut self, _: &'static str, array: &dyn ArrayView) {
        self.0.word(array.digest());
    }
    fn channel(&mut self, _: &'static str, _: u32, _: u32) {}
    fn logic(&mut self, _: &'static str, _: Logic) {}
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::kernel::{Block, Chan, ChanSpec, DescribeExt, FieldsExt, Payload, Rx, Tx};

    /// Beat that stations pass around the ring network of these tests.
    #[derive(Clone, Debug, Default, Hash, Serialize, Deserialize, Payload)]
    pub(in crate::kernel) struct Token {
        pub hops: u16,
    }

    /// Hardware block that delays each token for some cycles and forwards it; after 60 hops it drops the
    /// token.
    #[derive(Default)]
    struct Station {
        held: Option<(u64, u16)>,
        passed: u32,
        sleeps_wrongly: bool,
        /// Register that changes with every evaluation, to test whether lint mode detects it.
        drift: Option<u8>,
    }

    impl Block for Station {
        type Io<'a> = (Rx<'a, Token>, Tx<'a, Token>);
        fn eval(&mut self, (mut from, mut to): Self::Io<'_>, at: &mut Edge<'_>) -> Sleep {
            self.drift = self.drift.map(|drift| drift.wrapping_add(1));
            if let Some((due, hops)) = self.held {
                if at.cycle >= due && to.is_ready(at) {
                    if hops < 60 {
                        to.push(at, Token { hops: hops + 1 });
                        self.passed += 1;
                    }
                    self.held = None;
                }
            } else if from.peek(at).is_some() {
                let hops = from.pop(at).hops;
                self.held = Some((at.cycle + 3 + u64::from(hops % 5), hops));
            }
            match self.held {
                Some(_) if self.sleeps_wrongly => Sleep::UntilEvent,
                Some((due, _)) if due > at.cycle => Sleep::At(due),
                Some(_) => Sleep::UntilEvent,
                None if from.has_beat(at) => Sleep::Next,
                None => Sleep::UntilEvent,
            }
        }
        fn describe(&self, to: &mut dyn Describe) {
            let Self { held, passed, sleeps_wrongly: _, drift } = self;
            to.bits("drift", drift.unwrap_or(0));
            to.flag("busy", held.is_some());
            to.bits("due", held.map_or(0, |(due, _)| due));
            to.bits("hops", held.map_or(0, |(_, hops)| hops));
            to.stat("passed", u64::from(*passed));
        }
    }

    /// Ring network of stations in two clock domains.
    struct Ring {
        stations: Vec<Station>,
        links: Vec<Chan<Token>>,
    }

    fn id(i: usize) -> BlockId {
        BlockId { domain: (i % 2) as u8, slot: (i / 2) as u8 }
    }

    impl Ring {
        fn new(tokens: usize) -> Self {
            let link = |i: usize| {
                let path = format!("ring.link{i}");
                Chan::new(ChanSpec { path, depth: 2, latency: 1, credit: 1, from: id((i + 7) % 8), to: id(i) }, ())
            };
            let mut ring =
                Self { stations: (0..8).map(|_| Station::default()).collect(), links: (0..8).map(link).collect() };
            ring.links.iter_mut().for_each(Chan::record);
            for i in 0..tokens {
                ring.stations[i].held = Some((i as u64, 0));
            }
            ring
        }

        fn run(&mut self, mode: Mode) -> (u64, u64, u64) {
            let mut sim = Simulator::new(&[66, 50], self, Mode { digest: true, ..mode });
            for _ in 0..40_000 {
                if sim.step(self).is_none() {
                    break;
                }
            }
            let passed = self.stations.iter().map(|s| u64::from(s.passed)).sum();
            let beats = self.links.iter().fold(0, |sum, link| sum ^ link.history());
            (passed, beats, sim.state_digest(self))
        }
    }

    impl Blocks for Ring {
        fn population(&self) -> Vec<u8> {
            vec![4, 4]
        }
        fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
            let i = usize::from(block.slot) * 2 + usize::from(block.domain);
            let (a, b) = (i, (i + 1) % 8);
            let [from, to] = self.links.get_disjoint_mut([a, b]).unwrap();
            self.stations[i].eval((from.rx(), to.tx()), at)
        }
        fn describe(&self, block: BlockId, to: &mut dyn Describe) {
            let i = usize::from(block.slot) * 2 + usize::from(block.domain);
            to.parts("station", i as u32, |to| self.stations[i].describe(to));
        }
    }

    #[test]
    fn sleeping_and_evaluating_everyone_agree_beat_for_beat() {
        let asleep = Ring::new(5).run(Mode::default());
        let awake = Ring::new(5).run(Mode { evaluate_all: true, ..Mode::default() });
        assert_eq!(asleep, awake);
        assert_eq!(asleep.0, 5 * 60);
    }

    #[test]
    fn every_order_of_evaluation_gives_the_same_state() {
        let plain = Ring::new(6).run(Mode::default());
        for seed in 1..40 {
            assert_eq!(Ring::new(6).run(Mode { shuffle: Some(seed), ..Mode::default() }), plain, "seed {seed}");
        }
    }

    /// Hardware blocks that record the order in which they are evaluated.
    #[derive(Default)]
    struct Recorder(Vec<BlockId>);

    impl Blocks for Recorder {
        fn population(&self) -> Vec<u8> {
            vec![12]
        }
        fn eval(&mut self, block: BlockId, _: &mut Edge<'_>) -> Sleep {
            self.0.push(block);
            Sleep::UntilEvent
        }
        fn describe(&self, _: BlockId, _: &mut dyn Describe) {}
    }

    #[test]
    fn each_seed_evaluates_every_block_once_in_an_order_of_its_own() {
        let order = |shuffle| {
            let mut blocks = Recorder::default();
            let mut sim = Simulator::new(&[1], &blocks, Mode { shuffle, ..Mode::default() });
            sim.step(&mut blocks);
            blocks.0
        };
        let plain = order(None);
        let mut orders: Vec<_> = (1..5).map(|seed| order(Some(seed))).collect();
        for shuffled in &orders {
            assert_ne!(*shuffled, plain);
            let mut sorted = shuffled.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, plain);
        }
        orders.dedup();
        assert_eq!(orders.len(), 4);
    }

    #[test]
    fn whoever_is_sent_a_beat_is_touched_and_once_asked_no_more() {
        let mut ring = Ring::new(1);
        let mut sim = Simulator::new(&[66, 50], &ring, Mode::default());
        while ring.stations[0].passed == 0 {
            assert_eq!((sim.take_touched(0), sim.take_touched(1)), (0, 0));
            sim.step(&mut ring);
        }
        assert_eq!((sim.take_touched(0), sim.take_touched(1)), (0, 1));
        assert_eq!((sim.take_touched(0), sim.take_touched(1)), (0, 0));
    }

    #[test]
    fn a_step_is_taken_only_before_the_end() {
        let mut ring = Ring::new(1);
        let mut sim = Simulator::new(&[66, 50], &ring, Mode::default());
        assert_eq!(sim.step(&mut ring), Some(0));
        let next = sim.next_tick().unwrap();
        assert_eq!((sim.step_before(next, &mut ring), sim.tick()), (None, 0));
        assert_eq!(sim.step_before(next + 1, &mut ring), Some(next));
    }

    #[test]
    fn different_inputs_give_different_digests() {
        assert_ne!(Ring::new(6).run(Mode::default()), Ring::new(5).run(Mode::default()));
    }

    #[test]
    fn a_register_that_differs_is_seen_in_the_digest() {
        let mut ring = Ring::new(2);
        let sim = Simulator::new(&[66, 50], &ring, Mode::default());
        let before = sim.state_digest(&ring);
        assert_eq!(sim.state_digest(&ring), before);
        ring.stations[1].held = Some((1, 7));
        assert_ne!(sim.state_digest(&ring), before);
    }

    #[test]
    #[should_panic(expected = "acted although nothing had woken it")]
    fn the_lint_finds_a_block_that_only_changes_within() {
        let mut ring = Ring::new(3);
        ring.stations[1].drift = Some(0);
        ring.run(Mode { lint: true, ..Mode::default() });
    }

    #[test]
    #[should_panic(expected = "acted although nothing had woken it")]
    fn the_lint_finds_a_block_that_sleeps_through_its_own_deadline() {
        let mut ring = Ring::new(3);
        ring.stations[1].sleeps_wrongly = true;
        ring.run(Mode { lint: true, ..Mode::default() });
    }

    /// Test machine with two hardware blocks. The first one is faulty: it takes one beat and sleeps although
    /// another beat is waiting. The second one never sleeps.
    struct Drain(Chan<Token>);

    impl Blocks for Drain {
        fn population(&self) -> Vec<u8> {
            vec![2]
        }
        fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
            if block.slot == 1 {
                return Sleep::Next;
            }
            let mut from = self.0.rx();
            if from.has_beat(at) {
                from.drop_head(at);
            }
            Sleep::UntilEvent
        }
        fn describe(&self, _: BlockId, _: &mut dyn Describe) {}
    }

    #[test]
    #[should_panic(expected = "acted although nothing had woken it")]
    fn the_lint_finds_a_block_that_sleeps_while_a_beat_waits() {
        let [drain, other] = [0, 1].map(|slot| BlockId { domain: 0, slot });
        let spec = ChanSpec { path: "beats".to_owned(), depth: 2, latency: 1, credit: 1, from: other, to: drain };
        let mut link = Chan::new(spec, ());
        let mut wake = Wake::new(&[1]);
        for tick in [0, 1] {
            link.tx().push(&mut Edge::new(tick, tick, &mut wake), Token { hops: 0 });
        }
        let mut blocks = Drain(link);
        let mut sim = Simulator::new(&[1], &blocks, Mode { lint: true, ..Mode::default() });
        sim.wake_at(drain, 2);
        for _ in 0..5 {
            sim.step(&mut blocks);
        }
    }

    #[test]
    fn the_lint_passes_a_sound_design() {
        let (passed, ..) = Ring::new(3).run(Mode { lint: true, shuffle: Some(5), ..Mode::default() });
        assert_eq!(passed, 180);
    }
}
