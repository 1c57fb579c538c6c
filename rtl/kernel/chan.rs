//! # Registered channel
//! Connects two blocks, which cannot communicate in any other way. Unlike in a FIFO with a commit phase, each
//! beat carries the tick from which its receiver sees it. Each freed slot carries the tick from which the
//! sender counts it as free. No commit phase is needed, and the order in which blocks are evaluated does not
//! matter.
//!
//! | end  | call       | contract                                                               |
//! |------|------------|------------------------------------------------------------------------|
//! | `Tx` | `is_ready` | a slot is free as of the last edge, and nothing was sent at this edge  |
//! | `Tx` | `push`     | only while `is_ready`, once per edge                                   |
//! | `Rx` | `peek`     | the head beat if it is visible and nothing was taken at this edge      |
//! | `Rx` | `pop`      | only while `peek` returns a beat, once per edge                        |
//!
//! Violations are detected at clock edges with [contract checks](super::contract).
//!
//! Latency: `latency` ticks from push to visible, at least one; `credit` ticks from pop to a free slot, at
//! least one. A depth of 2 sustains one beat per edge if latency and credit are one period each. A longer
//! link needs a depth of `latency + credit` periods for that rate. With a fixed `credit`, the two sides of a
//! link influence each other only after `min(latency, credit)` ticks.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::describe::misfit;
use super::{AnyEdge, AsProbes, BlockId, Describe, DescribeExt, Payload, Simulator, digest_of, width_of};

/// Parameters of a channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChanSpec {
    /// Full hierarchical path, for messages: `sm3.l1.core_req`.
    pub path: String,
    /// Number of beats that the channel holds, 2 or more.
    pub depth: u32,
    /// Ticks from a push until the beat is visible, 1 or more.
    pub latency: u64,
    /// Ticks from a pop until the sender counts the slot as free, 1 or more.
    pub credit: u64,
    /// Sending block.
    pub from: BlockId,
    /// Receiving block.
    pub to: BlockId,
}

/// Tick that is never reached.
const NEVER: u64 = u64::MAX;
const PUSHED: usize = 0;
const POPPED: usize = 1;

/// Slot of the ring buffer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Slot<T> {
    /// Tick from which the beat is visible; after a pop, tick from which the sender counts the slot as free.
    from: u64,
    beat: T,
}

/// Registered valid/ready link between two blocks. The channel is a ring of slots. Each slot is free, holds a
/// beat, or was popped but is not yet counted as free by the sender. Beats stay in their slot until they are
/// taken, because they are large.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Chan<T: Payload> {
    spec: ChanSpec,
    shape: T::Shape,
    /// Ring of slots; its length is a power of two and at least the depth. Beat number `n` is in slot `n`
    /// modulo the length.
    slots: Box<[Slot<T>]>,
    /// Numbers of beats sent and taken so far.
    pushed: usize,
    popped: usize,
    /// Tick from which the oldest beat is visible, or `NEVER` if there is no beat.
    visible_from: u64,
    /// Tick from which the sender counts the next slot as free, or `NEVER` while every slot holds a beat.
    room_from: u64,
    /// Ticks of the last push and of the last pop, or `NEVER`.
    pushed_at: u64,
    popped_at: u64,
    idle: T,
    /// Digests of all pushes and of all pops; separate, because either side may be evaluated first in a tick.
    history: Option<[u64; 2]>,
}

impl<T: Payload> Chan<T> {
    /// Creates an empty channel.
    ///
    /// # Panics
    /// If the depth is below 2 or a delay is below one tick: the wiring of the machine is wrong.
    #[must_use]
    pub fn new(spec: ChanSpec, shape: T::Shape) -> Self {
        assert!(
            spec.depth >= 2,
            "{}: depth is {}, expected 2 or more: one slot halves the rate",
            spec.path,
            spec.depth
        );
        assert!(spec.latency >= 1 && spec.credit >= 1, "{}: a registered link takes at least one tick", spec.path);
        Self {
            slots: vec![Slot::default(); (spec.depth as usize).next_power_of_two()].into_boxed_slice(),
            pushed: 0,
            popped: 0,
            visible_from: NEVER,
            room_from: 0,
            pushed_at: NEVER,
            popped_at: NEVER,
            idle: T::default(),
            history: None,
            spec,
            shape,
        }
    }

    /// Returns the sending end, to use at one clock edge.
    pub fn tx(&mut self) -> Tx<'_, T> {
        Tx(self)
    }

    /// Returns the receiving end, to use at one clock edge.
    pub fn rx(&mut self) -> Rx<'_, T> {
        Rx(self)
    }

    /// Starts to fold every beat and its tick into a running digest.
    pub fn record(&mut self) {
        self.history = Some([0; 2]);
    }

    /// Returns the digest of all beats so far, 0 unless recorded.
    #[must_use]
    pub fn history(&self) -> u64 {
        self.history.map_or(0, |both| digest_of(&both))
    }

    /// True if the channel holds no beat, visible or not.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pushed == self.popped
    }

    /// Returns the number of beats held, visible or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pushed - self.popped
    }

    /// Returns the beats held, visible or not, oldest first: for reports.
    pub fn beats(&self) -> impl Iterator<Item = &T> {
        (self.popped..self.pushed).map(|number| &self.slot(number).beat)
    }

    /// Returns the oldest beat, visible or not: for reports.
    #[must_use]
    pub fn oldest(&self) -> Option<&T> {
        self.beats().next()
    }

    /// Returns the beat sent at a tick, if there was one. For observers outside the model, before the next
    /// tick.
    #[must_use]
    pub fn beat_sent_at(&self, tick: u64) -> Option<&T> {
        (self.pushed_at == tick).then(|| &self.slot(self.pushed - 1).beat)
    }

    /// Returns the beat taken at a tick, if there was one. For observers outside the model, before the next
    /// tick reuses the slot of the beat.
    #[must_use]
    pub fn beat_taken_at(&self, tick: u64) -> Option<&T> {
        (self.popped_at == tick).then(|| &self.slot(self.popped - 1).beat)
    }

    /// Exchanges the actions of both ends since the last synchronization point, between two copies of a link
    /// that ran independently. `self` is the copy into which beats were sent. `receiver` is the copy from
    /// which beats were taken; it holds all beats afterwards. Each side's blocks are woken by their own
    /// simulator.
    ///
    /// # Panics
    /// If an end has run beyond the tick at which it should have seen an action that it receives only now.
    #[inline]
    pub(crate) fn synchronize(&mut self, receiver: &mut Self, senders: &mut Simulator, receivers: &mut Simulator) {
        if self.pushed != receiver.pushed || self.popped != receiver.popped {
            self.exchange(receiver, senders, receivers);
        }
    }

    #[inline(never)]
    fn exchange(&mut self, receiver: &mut Self, senders: &mut Simulator, receivers: &mut Simulator) {
        for number in receiver.pushed..self.pushed {
            let sent = self.slot(number);
            self.check_not_late(sent.from, receivers);
            receiver.visible_from = receiver.visible_from.min(sent.from);
            receiver.slot_mut(number).clone_from(sent);
            let (wake, last) = receivers.wake_and_last_tick();
            wake.deliver(last, self.spec.to, sent.from);
        }
        let was_full = self.room_from == NEVER;
        for number in self.popped..receiver.popped {
            let from = receiver.slot(number).from;
            self.check_not_late(from, senders);
            self.slot_mut(number).from = from;
        }
        (self.popped, receiver.pushed) = (receiver.popped, self.pushed);
        if was_full && !self.is_full() {
            self.room_from = self.next_free_from();
            let (wake, last) = senders.wake_and_last_tick();
            wake.at_tick(last, self.spec.from, self.room_from);
        }
        (self.visible_from, self.popped_at) = (receiver.visible_from, receiver.popped_at);
        (receiver.room_from, receiver.pushed_at) = (self.room_from, self.pushed_at);
        if let (Some(sent), Some(taken)) = (&mut self.history, &mut receiver.history) {
            sent[POPPED] = taken[POPPED];
            taken[PUSHED] = sent[PUSHED];
        }
    }

    /// Panics if an end has run beyond tick `from`, from which it should have seen the action received now.
    fn check_not_late(&self, from: u64, end: &Simulator) {
        let now = end.reached_tick();
        assert!(from >= now, "{}: message for tick {from} at tick {now}, which is too late", self.spec.path);
    }

    /// Lists the channel as a scope of its receiver: handshake, occupancy and the head beat. An empty channel
    /// shows the reset value of a beat, so that its waveform does not change.
    pub fn describe(&self, name: &'static str, index: Option<u32>, to: &mut dyn Describe) {
        to.enter(name, index);
        // Only pushes and pops change the contents, and a description is read after the tick. The tick of the
        // last push or pop therefore identifies the contents.
        let version = self.pushed_at.wrapping_add(1).max(self.popped_at.wrapping_add(1));
        if !to.is_scope_read() || to.has_seen(version) {
            return to.leave();
        }
        to.channel(name, self.spec.depth, width_of::<T>(&self.shape));
        to.probe_sized("valid", u64::from(!self.is_empty()), 1);
        to.probe_sized("level", self.len() as u64, u32::BITS - self.spec.depth.leading_zeros());
        let head = self.oldest().unwrap_or(&self.idle);
        let mut probes = AsProbes(to);
        head.fields(&self.shape, &mut probes);
        to.leave();
    }

    #[cold]
    #[inline(never)]
    fn breach(&self, tick: u64, cycle: u64, what: &str) -> ! {
        panic!("cycle {cycle} (tick {tick}), {}: {what}", self.spec.path)
    }

    #[inline(never)]
    fn note(&mut self, side: usize, tick: u64, what: u64) {
        if let Some(history) = &mut self.history {
            history[side] = digest_of(&(history[side], tick, what));
        }
    }

    /// Returns the slot of a beat, given the number of the beat.
    #[inline(always)]
    fn slot(&self, number: usize) -> &Slot<T> {
        &self.slots[number & (self.slots.len() - 1)]
    }

    #[inline(always)]
    fn slot_mut(&mut self, number: usize) -> &mut Slot<T> {
        &mut self.slots[number & (self.slots.len() - 1)]
    }

    /// True if all slots allowed by the depth hold a beat.
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.len() == self.spec.depth as usize
    }

    /// Returns the tick from which the sender counts the next slot of a channel that is not full as free.
    /// Slots are freed in the order of their beats, so the next slot is that of the beat sent `depth` beats
    /// earlier.
    #[inline(always)]
    fn next_free_from(&self) -> u64 {
        self.slot(self.pushed.wrapping_sub(self.spec.depth as usize)).from
    }

    #[inline]
    fn is_visible(&self, tick: u64) -> bool {
        self.visible_from <= tick && self.popped_at != tick
    }

    /// Reports a contract violation at the sending end.
    #[cold]
    #[inline(never)]
    fn refuse_push(&self, tick: u64, cycle: u64) -> ! {
        let twice = self.pushed_at == tick;
        self.breach(tick, cycle, if twice { "second beat in one cycle" } else { "sent while ready is low" })
    }

    /// Reports a contract violation at the receiving end.
    #[cold]
    #[inline(never)]
    fn refuse_pop(&self, tick: u64, cycle: u64) -> ! {
        let twice = self.popped_at == tick;
        self.breach(tick, cycle, if twice { "second beat taken in one cycle" } else { "taken while valid is low" })
    }

    /// Folds the beat that is being sent into the digest of pushes.
    #[inline(never)]
    fn note_push(&mut self, tick: u64) {
        let what = digest_of(&self.slot(self.pushed).beat);
        self.note(PUSHED, tick, what);
    }
}

/// Sending end of a channel, valid for one clock edge.
pub struct Tx<'a, T: Payload>(&'a mut Chan<T>);

impl<T: Payload> Tx<'_, T> {
    /// True if a beat may be sent at this edge.
    #[inline]
    pub fn is_ready(&mut self, at: &mut impl AnyEdge) -> bool {
        self.0.pushed_at != at.tick() && !self.is_blocked(at)
    }

    /// True if the sender sees a full channel. The sender may then sleep, and is woken when it sees a free
    /// slot. False immediately after a push means that the next edge can push again.
    #[inline]
    pub fn is_blocked(&mut self, at: &mut impl AnyEdge) -> bool {
        let chan = &*self.0;
        let full = chan.room_from > at.tick();
        if full && chan.room_from != NEVER {
            // The credit in flight is from a pop that found the channel not full, and therefore did not wake
            // the sender.
            at.with_edge(|at| at.wake.at_tick(at.tick, chan.spec.from, chan.room_from));
        }
        full
    }

    /// True if every slot holds a beat. The next pop wakes the sender, which can sleep until then.
    #[must_use]
    #[inline]
    pub fn is_full(&self) -> bool {
        self.0.is_full()
    }

    /// Sends one beat.
    ///
    /// # Panics
    /// If the channel is not ready, or a field does not fit its width.
    #[inline]
    pub fn push(&mut self, at: &mut impl AnyEdge, beat: T) {
        self.push_with(at, |slot| *slot = beat);
    }

    /// Sends one beat that `form` builds in its slot. `form` finds an old beat in the slot and must set all
    /// its fields. For beats that are too large to move.
    ///
    /// # Panics
    /// As [`Self::push`].
    #[inline]
    pub fn push_with(&mut self, at: &mut impl AnyEdge, form: impl FnOnce(&mut T)) {
        let chan = &mut *self.0;
        if at.is_checked() && (chan.pushed_at == at.tick() || chan.room_from > at.tick()) {
            chan.refuse_push(at.tick(), at.cycle());
        }
        let from = at.tick() + chan.spec.latency;
        let slot = chan.slot_mut(chan.pushed);
        form(&mut slot.beat);
        slot.from = from;
        // All beats have the same latency, so the oldest becomes visible first.
        chan.visible_from = chan.visible_from.min(from);
        at.with_edge(|at| at.wake.deliver(at.tick, chan.spec.to, from));
        if at.is_checked() {
            if let Some(field) = misfit(&chan.slot(chan.pushed).beat, &chan.shape) {
                chan.breach(at.tick(), at.cycle(), &field.to_string());
            }
            if chan.history.is_some() {
                chan.note_push(at.tick());
            }
            at.with_edge(|at| at.actions += 1);
        }
        chan.pushed_at = at.tick();
        chan.pushed += 1;
        chan.room_from = if chan.is_full() { NEVER } else { chan.next_free_from() };
    }
}

/// Receiving end of a channel, valid for one clock edge.
pub struct Rx<'a, T: Payload>(&'a mut Chan<T>);

impl<T: Payload> Rx<'_, T> {
    /// Returns the head beat, if it is visible and nothing was taken at this edge.
    #[must_use]
    #[inline]
    pub fn peek(&self, at: &impl AnyEdge) -> Option<&T> {
        // A visible beat is always in its slot.
        if self.0.is_visible(at.tick()) { Some(&self.0.slot(self.0.popped).beat) } else { None }
    }

    /// True if a beat is visible now, or will be at the next edge because another beat was taken at this
    /// edge. A block may sleep until an event only while this is false. Beats in flight wake the receiver
    /// when they become visible.
    #[must_use]
    #[inline]
    pub fn has_beat(&self, at: &impl AnyEdge) -> bool {
        self.0.visible_from <= at.tick()
    }

    /// Takes the head beat.
    ///
    /// # Panics
    /// If no beat is visible.
    pub fn pop(&mut self, at: &mut impl AnyEdge) -> T {
        self.drop_head(at);
        self.0.slot(self.0.popped - 1).beat.clone()
    }

    /// Drops the head beat without a copy, for blocks that have already read it in its slot.
    ///
    /// # Panics
    /// If no beat is visible.
    #[inline(always)]
    pub fn drop_head(&mut self, at: &mut impl AnyEdge) {
        let chan = &mut *self.0;
        if at.is_checked() {
            if !chan.is_visible(at.tick()) {
                chan.refuse_pop(at.tick(), at.cycle());
            }
            if chan.history.is_some() {
                chan.note(POPPED, at.tick(), 1);
            }
            at.with_edge(|at| at.actions += 1);
        }
        chan.popped_at = at.tick();
        let free_from = at.tick() + chan.spec.credit;
        chan.slot_mut(chan.popped).from = free_from;
        chan.popped += 1;
        chan.visible_from = if chan.is_empty() { NEVER } else { chan.slot(chan.popped).from };
        if chan.room_from > at.tick() {
            // A sender can be asleep only on a full channel.
            chan.room_from = chan.room_from.min(free_from);
            at.with_edge(|at| at.wake.at_tick(at.tick, chan.spec.from, free_from));
        }
    }
}

/// Channel numbers 0 to 255, for banks of adjacent channels.
const EACH: [u32; 256] = {
    let mut each = [0; 256];
    let mut i = 0;
    while i < each.len() {
        each[i] = i as u32;
        i += 1;
    }
    each
};

/// Receiving ends of several channels of one type, valid for one clock edge.
pub struct RxBank<'a, T: Payload>(&'a mut [Chan<T>]);

impl<'a, T: Payload> RxBank<'a, T> {
    /// Returns the receiving ends of adjacent channels.
    #[must_use]
    #[inline]
    pub fn of(channels: &'a mut [Chan<T>]) -> Self {
        Self(channels)
    }

    /// Returns the number of ends.
    #[must_use]
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a port has ends")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns one of the ends.
    #[inline]
    pub fn at(&mut self, index: usize) -> Rx<'_, T> {
        self.0[index].rx()
    }

    /// Returns the ends with a visible beat, one bit per end for up to 64 ends.
    #[must_use]
    pub fn visible(&mut self, at: &impl AnyEdge) -> u64 {
        (0..self.0.len()).fold(0, |ends, i| ends | u64::from(self.at(i).peek(at).is_some()) << i)
    }

    /// Returns for each end whether a beat is visible now or will be in the next cycle.
    #[inline(always)]
    pub fn each_waiting(&self, at: &impl AnyEdge) -> impl DoubleEndedIterator<Item = bool> {
        let tick = at.tick();
        self.0.iter().map(move |end| end.visible_from <= tick)
    }

    /// True if a beat is visible at any end now or will be in the next cycle.
    #[must_use]
    #[inline]
    pub fn has_beat(&mut self, at: &impl AnyEdge) -> bool {
        (0..self.0.len()).any(|i| self.at(i).has_beat(at))
    }
}

/// Sending ends of several channels of one type, valid for one clock edge.
pub struct TxBank<'a, T: Payload> {
    pool: &'a mut [Chan<T>],
    ids: &'a [u32],
}

impl<'a, T: Payload> TxBank<'a, T> {
    /// Returns the sending ends of adjacent channels.
    ///
    /// # Panics
    /// If there are more than 256 channels.
    #[must_use]
    #[inline]
    pub fn of(channels: &'a mut [Chan<T>]) -> Self {
        Self { ids: &EACH[..channels.len()], pool: channels }
    }

    /// Returns the sending ends of the channels with the given numbers.
    #[must_use]
    #[inline]
    pub fn among(pool: &'a mut [Chan<T>], ids: &'a [u32]) -> Self {
        Self { pool, ids }
    }

    /// Returns the number of ends.
    #[must_use]
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a port has ends")]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns one of the ends.
    #[inline]
    pub fn at(&mut self, index: usize) -> Tx<'_, T> {
        self.pool[self.ids[index] as usize].tx()
    }
}

/// Receiving and sending ends of channels of one type, valid for one clock edge, for a block that forwards
/// beats.
pub struct Ends<'a, T: Payload> {
    pool: &'a mut [Chan<T>],
    from: Range<usize>,
    to: &'a [u32],
}

impl<'a, T: Payload> Ends<'a, T> {
    /// Returns the ends of adjacent channels: `inputs` inputs first, then the outputs.
    ///
    /// # Panics
    /// If there are more than 256 channels.
    #[must_use]
    pub fn of(channels: &'a mut [Chan<T>], inputs: usize) -> Self {
        Self { to: &EACH[inputs..channels.len()], pool: channels, from: 0..inputs }
    }

    /// Returns the ends of adjacent inputs, and of outputs with the given numbers.
    #[must_use]
    #[inline]
    pub fn among(pool: &'a mut [Chan<T>], from: Range<usize>, to: &'a [u32]) -> Self {
        Self { pool, from, to }
    }

    /// Returns the receiving ends.
    #[inline]
    pub fn from(&mut self) -> RxBank<'_, T> {
        RxBank(&mut self.pool[self.from.clone()])
    }

    /// Returns the sending ends.
    #[inline]
    pub fn to(&mut self) -> TxBank<'_, T> {
        TxBank { pool: self.pool, ids: self.to }
    }
}

/// Creates a channel with minimum delays, for testbenches. A beat is visible after one period of the
/// receiver, a slot is free after one period of the sender.
#[must_use]
pub fn link<T: Payload>(
    path: &str,
    depth: u32,
    periods: &[u32],
    from: BlockId,
    to: BlockId,
    shape: T::Shape,
) -> Chan<T> {
    let period = |block: BlockId| u64::from(periods[usize::from(block.domain)]);
    let spec = ChanSpec { path: path.to_owned(), depth, latency: period(to), credit: period(from), from, to };
    Chan::new(spec, shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Blocks, Edge, Mode, Sleep, Wake};

    #[derive(Clone, Debug, Default, Hash, PartialEq, Serialize, Deserialize, Payload)]
    #[payload(shape = u32)]
    struct Word {
        #[payload(width = *shape)]
        value: u64,
    }

    const A: BlockId = BlockId { domain: 0, slot: 0 };
    const B: BlockId = BlockId { domain: 0, slot: 1 };

    fn chan(depth: u32, latency: u64, credit: u64) -> Chan<Word> {
        let path = "sm3.l1.mshr.replay".to_owned();
        Chan::new(ChanSpec { path, depth, latency, credit, from: A, to: B }, 8)
    }

    fn word(value: u64) -> Word {
        Word { value }
    }

    /// A simulation without blocks.
    struct NoBlocks;

    impl Blocks for NoBlocks {
        fn population(&self) -> Vec<u8> {
            vec![0]
        }
        fn eval(&mut self, block: BlockId, _: &mut Edge<'_>) -> Sleep {
            unreachable!("{block:?}")
        }
        fn describe(&self, _: BlockId, _: &mut dyn Describe) {}
    }

    /// Creates the simulator of one end of a link, which has reached `tick`.
    fn simulator_at(tick: u64) -> Simulator {
        let mut sim = Simulator::new(&[1], &NoBlocks, Mode::default());
        sim.jump(tick);
        sim
    }

    /// Actions of the ends of a link in each tick.
    #[derive(Debug, PartialEq, Default)]
    struct LinkActions {
        sent: Vec<bool>,
        taken: Vec<Option<u64>>,
    }

    impl LinkActions {
        fn send(&mut self, tick: u64, link: &mut Chan<Word>, wishes: bool) {
            let mut wake = Wake::new(&[1]);
            let mut at = Edge::new(tick, tick, &mut wake);
            let ready = wishes && link.tx().is_ready(&mut at);
            if ready {
                link.tx().push(&mut at, word(tick % 251));
            }
            self.sent.push(ready);
        }

        fn take(&mut self, tick: u64, link: &mut Chan<Word>, wishes: bool) {
            let mut wake = Wake::new(&[1]);
            let mut at = Edge::new(tick, tick, &mut wake);
            let visible = wishes && link.rx().peek(&at).is_some();
            self.taken.push(visible.then(|| link.rx().pop(&mut at).value));
        }
    }

    #[test]
    fn ends_that_meet_in_time_do_what_they_would_have_done_together() {
        let mut random = 1u64;
        let mut draw = move |of: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % of
        };
        for (depth, latency, credit) in [(2, 4, 4), (3, 7, 3), (12, 5, 5), (20, 3, 9), (6, 1, 1)] {
            let (mut together, mut apart) = (LinkActions::default(), LinkActions::default());
            let mut link = chan(depth, latency, credit);
            let (mut sender, mut receiver) = (link.clone(), link.clone());
            let distance = latency.min(credit);
            let mut meeting = draw(distance);
            for tick in 0..4000 {
                // In turn, either end is the slower one, so that the link becomes full and empty.
                let (sends, takes) = (draw(8) < 1 + tick / 500 % 8, draw(8) < 8 - tick / 300 % 8);
                together.send(tick, &mut link, sends);
                together.take(tick, &mut link, takes);
                apart.take(tick, &mut receiver, takes);
                apart.send(tick, &mut sender, sends);
                if tick == meeting {
                    sender.synchronize(&mut receiver, &mut simulator_at(tick + 1), &mut simulator_at(tick + 1));
                    assert_eq!((receiver.len(), receiver.oldest()), (link.len(), link.oldest()), "tick {tick}");
                    meeting += 1 + draw(distance);
                }
            }
            assert_eq!(apart, together, "depth {depth}, latency {latency}, credit {credit}");
            let sent = together.sent.iter().filter(|&&sent| sent).count();
            assert!(sent > 400 && together.taken.iter().flatten().count() > 400, "depth {depth}: {sent} sent");
        }
    }

    #[test]
    fn a_meeting_wakes_who_has_not_heard_of_a_beat_or_of_room() {
        let (mut seen, mut sender) = (LinkActions::default(), chan(2, 6, 6));
        let mut receiver = sender.clone();
        seen.send(10, &mut sender, true);
        seen.send(11, &mut sender, true);
        let (mut senders, mut receivers) = (simulator_at(12), simulator_at(12));
        sender.synchronize(&mut receiver, &mut senders, &mut receivers);
        assert_eq!((senders.next_tick(), receivers.next_tick()), (None, Some(16)));
        seen.take(17, &mut receiver, true);
        let mut senders = simulator_at(18);
        sender.synchronize(&mut receiver, &mut senders, &mut simulator_at(18));
        assert_eq!(senders.next_tick(), Some(23));
    }

    #[test]
    #[should_panic(expected = "sm3.l1.mshr.replay: message for tick 16 at tick 17, which is too late")]
    fn a_receiver_that_has_run_past_a_beat_is_a_breach() {
        let (mut seen, mut sender) = (LinkActions::default(), chan(2, 6, 6));
        let mut receiver = sender.clone();
        seen.send(10, &mut sender, true);
        sender.synchronize(&mut receiver, &mut simulator_at(12), &mut simulator_at(17));
    }

    #[test]
    #[should_panic(expected = "message for tick 17 at tick 18, which is too late")]
    fn a_sender_that_has_run_past_a_credit_is_a_breach() {
        let (mut seen, mut sender) = (LinkActions::default(), chan(2, 1, 6));
        seen.send(10, &mut sender, true);
        let mut receiver = sender.clone();
        seen.take(11, &mut receiver, true);
        sender.synchronize(&mut receiver, &mut simulator_at(18), &mut simulator_at(12));
    }

    #[test]
    fn a_beat_is_seen_after_its_latency_and_never_before() {
        let (mut wake, mut chan) = (Wake::new(&[1]), chan(4, 3, 1));
        chan.tx().push(&mut Edge::new(10, 10, &mut wake), word(7));
        assert_eq!(chan.rx().peek(&Edge::new(12, 12, &mut wake)), None);
        assert_eq!(chan.rx().peek(&Edge::new(13, 13, &mut wake)), Some(&word(7)));
        assert_eq!(wake.next_tick(), Some(13));
    }

    #[test]
    fn a_slot_freed_in_this_cycle_counts_from_the_next_whoever_ran_first() {
        let (mut wake, mut chan) = (Wake::new(&[1]), chan(2, 1, 1));
        chan.tx().push(&mut Edge::new(0, 0, &mut wake), word(1));
        chan.tx().push(&mut Edge::new(1, 1, &mut wake), word(2));
        assert_eq!(chan.rx().pop(&mut Edge::new(2, 2, &mut wake)), word(1));
        assert!(!chan.tx().is_ready(&mut Edge::new(2, 2, &mut wake)));
        assert!(chan.tx().is_ready(&mut Edge::new(3, 3, &mut wake)));
    }

    #[test]
    fn a_second_beat_is_not_shown_in_the_cycle_of_a_pop() {
        let (mut wake, mut chan) = (Wake::new(&[1]), chan(2, 1, 1));
        chan.tx().push(&mut Edge::new(0, 0, &mut wake), word(1));
        chan.tx().push(&mut Edge::new(1, 1, &mut wake), word(2));
        chan.rx().pop(&mut Edge::new(5, 5, &mut wake));
        assert_eq!(chan.rx().peek(&Edge::new(5, 5, &mut wake)), None);
        assert_eq!(chan.rx().peek(&Edge::new(6, 6, &mut wake)), Some(&word(2)));
    }

    #[test]
    fn credits_of_a_long_link_come_back_after_their_own_latency() {
        let (mut wake, mut chan) = (Wake::new(&[1]), chan(2, 4, 6));
        chan.tx().push(&mut Edge::new(0, 0, &mut wake), word(1));
        chan.tx().push(&mut Edge::new(1, 1, &mut wake), word(2));
        chan.rx().pop(&mut Edge::new(4, 4, &mut wake));
        chan.rx().pop(&mut Edge::new(5, 5, &mut wake));
        assert!(!chan.tx().is_ready(&mut Edge::new(9, 9, &mut wake)));
        assert!(chan.tx().is_ready(&mut Edge::new(10, 10, &mut wake)));
    }

    #[test]
    fn the_history_does_not_depend_on_which_side_runs_first() {
        let history = |sender_first: bool| {
            let (mut wake, mut chan) = (Wake::new(&[1]), chan(2, 1, 1));
            chan.record();
            chan.tx().push(&mut Edge::new(0, 0, &mut wake), word(1));
            for side in [sender_first, !sender_first] {
                let mut at = Edge::new(1, 1, &mut wake);
                if side {
                    chan.tx().push(&mut at, word(2));
                } else {
                    chan.rx().pop(&mut at);
                }
            }
            chan.history()
        };
        assert_eq!(history(true), history(false));
        assert_ne!(history(true), 0);
    }

    #[test]
    fn a_sender_that_finds_only_returning_credits_is_woken_when_the_first_arrives() {
        let (mut wake, mut chan) = (Wake::new(&[1]), chan(2, 1, 6));
        chan.tx().push(&mut Edge::new(0, 0, &mut wake), word(1));
        chan.rx().pop(&mut Edge::new(1, 1, &mut wake));
        chan.tx().push(&mut Edge::new(2, 2, &mut wake), word(2));
        while let Some(tick) = wake.next_tick() {
            wake.take(0, tick);
        }
        assert!(chan.tx().is_blocked(&mut Edge::new(3, 3, &mut wake)));
        assert!(wake.take(0, 7).is_some_and(|(cycle, due)| (cycle, due.bits()) == (7, 1)));
    }

    #[test]
    fn a_channel_is_full_until_the_next_pop_and_not_while_room_is_on_its_way() {
        let (mut wake, mut chan) = (Wake::new(&[1]), chan(2, 1, 6));
        chan.tx().push(&mut Edge::new(0, 0, &mut wake), word(1));
        assert!(!chan.tx().is_full());
        chan.tx().push(&mut Edge::new(1, 1, &mut wake), word(2));
        assert!(chan.tx().is_full());
        chan.rx().pop(&mut Edge::new(2, 2, &mut wake));
        assert!(!chan.tx().is_full() && !chan.tx().is_ready(&mut Edge::new(3, 3, &mut wake)));
    }

    #[test]
    fn a_pop_from_a_full_channel_wakes_the_sender_when_it_can_see_the_room() {
        let (mut wake, mut chan) = (Wake::new(&[10]), chan(2, 1, 1));
        chan.tx().push(&mut Edge::new(0, 0, &mut wake), word(1));
        chan.tx().push(&mut Edge::new(10, 1, &mut wake), word(2));
        while let Some(tick) = wake.next_tick() {
            wake.take(0, tick);
        }
        chan.rx().pop(&mut Edge::new(50, 5, &mut wake));
        assert_eq!(wake.next_tick(), Some(60));
        assert!(wake.take(0, 60).is_some_and(|(cycle, due)| (cycle, due.bits()) == (6, 1)));
    }

    #[test]
    #[should_panic(expected = "cycle 118 (tick 118), sm3.l1.mshr.replay: sent while ready is low")]
    fn a_beat_without_room_names_channel_and_cycle() {
        let (mut wake, mut chan) = (Wake::new(&[1]), chan(2, 1, 1));
        for tick in 116..119 {
            chan.tx().push(&mut Edge::new(tick, tick, &mut wake), word(1));
        }
    }

    #[test]
    #[should_panic(expected = "second beat in one cycle")]
    fn two_beats_in_a_cycle_are_a_breach() {
        let (mut wake, mut chan) = (Wake::new(&[1]), chan(4, 1, 1));
        chan.tx().push(&mut Edge::new(7, 7, &mut wake), word(1));
        chan.tx().push(&mut Edge::new(7, 7, &mut wake), word(1));
    }

    #[test]
    #[should_panic(expected = "taken while valid is low")]
    fn taking_from_an_empty_channel_is_a_breach() {
        let mut wake = Wake::new(&[1]);
        chan(2, 1, 1).rx().pop(&mut Edge::new(7, 7, &mut wake));
    }

    #[test]
    #[should_panic(expected = "value is 0x1ff, which needs more than its 8 bits")]
    fn a_beat_wider_than_the_link_is_a_breach() {
        let mut wake = Wake::new(&[1]);
        chan(2, 1, 1).tx().push(&mut Edge::new(7, 7, &mut wake), word(0x1ff));
    }
}
