//! # Registered channel
//! Connects two hardware blocks, which have no other means of communication. Each beat carries the tick from
//! which its receiver sees it. Each freed slot carries the tick from which the sender counts it as free.
//! Unlike a FIFO of two-phase simulators, a channel therefore needs no commit phase, and the order in which
//! blocks are evaluated does not matter.
//!
//! | end  | call       | contract                                                               |
//! |------|------------|------------------------------------------------------------------------|
//! | `Tx` | `is_ready` | a slot is free as of the last edge, and nothing was sent at this edge  |
//! | `Tx` | `push`     | only while `is_ready`, once per edge                                   |
//! | `Rx` | `peek`     | the oldest beat, if it is visible and no beat was popped at this edge  |
//! | `Rx` | `pop`      | only while `peek` returns a beat, once per edge                        |
//!
//! Violations are detected at clock edges with [contract checks](super::contract).
//!
//! Latency: `latency` ticks from a push until the beat is visible, and `credit` ticks from a pop until the
//! slot is free; each is at least one tick. A depth of 2 sustains one beat per edge if latency and credit are
//! one clock period each. For this rate, a longer link needs a depth equal to `latency + credit`, counted in
//! clock periods. Both delays are fixed, so the two ends of a link influence each other only after
//! `min(latency, credit)` ticks.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::describe::misfit;
use super::{AnyEdge, AsProbes, BlockId, Describe, DescribeExt, Payload, Simulator, digest_of, width_of};

/// Parameters of a channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChanSpec {
    /// Full hierarchical path of the channel for error messages, such as `sm3.l1.core_req`.
    pub path: String,
    /// Maximum number of beats in the channel, at least 2.
    pub depth: u32,
    /// Delay in ticks from a push until the receiver sees the beat, at least 1.
    pub latency: u64,
    /// Delay in ticks from a pop until the sender counts the slot as free, at least 1.
    pub credit: u64,
    /// Hardware block that sends on the channel.
    pub from: BlockId,
    /// Hardware block that receives from the channel.
    pub to: BlockId,
}

/// Tick number that stands for "never".
const NEVER: u64 = u64::MAX;
const PUSHED: usize = 0;
const POPPED: usize = 1;

/// Slot of the channel's ring buffer, with room for one beat.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Slot<T> {
    /// Tick from which the receiver sees the beat; after a pop, tick from which the sender counts the slot as
    /// free.
    from: u64,
    beat: T,
}

/// Registered valid/ready link between two hardware blocks, implemented as a ring buffer of slots. A slot is
/// in one of three states: it is free, it holds a beat, or its beat was popped but the sender does not count
/// it as free yet. Beats are large, so they are not moved between slots.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Chan<T: Payload> {
    spec: ChanSpec,
    shape: T::Shape,
    /// Slots of the ring buffer; their number is a power of two and at least the depth. Beat number `n` is in
    /// slot `n` modulo the number of slots.
    slots: Box<[Slot<T>]>,
    /// Number of beats pushed so far, and number of beats popped so far.
    pushed: usize,
    popped: usize,
    /// Tick from which the receiver sees the oldest beat; `NEVER` if the channel is empty.
    visible_from: u64,
    /// Tick from which the sender counts the next slot as free, or `NEVER` while every slot holds a beat.
    room_from: u64,
    /// Tick of the last push, and tick of the last pop; each is `NEVER` before the first one.
    pushed_at: u64,
    popped_at: u64,
    idle: T,
    /// Digest of all pushes, and digest of all pops; `None` if no digests are maintained. They are separate
    /// because either end may be evaluated first in a tick.
    history: Option<[u64; 2]>,
}

impl<T: Payload> Chan<T> {
    /// Creates an empty channel.
    ///
    /// # Panics
    /// Panics if the depth is below 2 or a delay is below one tick, which means that the wiring of the
    /// machine is wrong.
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

    /// Returns the sending end of the channel, for use at one clock edge.
    pub fn tx(&mut self) -> Tx<'_, T> {
        Tx(self)
    }

    /// Returns the receiving end of the channel, for use at one clock edge.
    pub fn rx(&mut self) -> Rx<'_, T> {
        Rx(self)
    }

    /// Starts to maintain a digest (hash) of every beat and its tick.
    pub fn record(&mut self) {
        self.history = Some([0; 2]);
    }

    /// Returns the digest of all beats so far; 0 if no digest is maintained.
    #[must_use]
    pub fn history(&self) -> u64 {
        self.history.map_or(0, |both| digest_of(&both))
    }

    /// True if the channel holds no beat, neither visible to the receiver nor still in flight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pushed == self.popped
    }

    /// Returns the number of beats in the channel, including those that the receiver cannot see yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pushed - self.popped
    }

    /// Returns the beats in the channel, oldest first, including those that the receiver cannot see yet. For
    /// reports.
    pub fn beats(&self) -> impl Iterator<Item = &T> {
        (self.popped..self.pushed).map(|number| &self.slot(number).beat)
    }

    /// Returns the oldest beat in the channel, even if the receiver cannot see it yet. For reports.
    #[must_use]
    pub fn oldest(&self) -> Option<&T> {
        self.beats().next()
    }

    /// Returns the beat that was sent at `tick`, if any. For observers outside the model, which must call
    /// this before the next tick.
    #[must_use]
    pub fn beat_sent_at(&self, tick: u64) -> Option<&T> {
        (self.pushed_at == tick).then(|| &self.slot(self.pushed - 1).beat)
    }

    /// Returns the beat that was popped at `tick`, if any. For observers outside the model, which must call
    /// this before the next tick reuses the slot.
    #[must_use]
    pub fn beat_taken_at(&self, tick: u64) -> Option<&T> {
        (self.popped_at == tick).then(|| &self.slot(self.popped - 1).beat)
    }

    /// Returns the beat that the receiver sees at `tick`, or took at `tick`. For observers outside the model,
    /// which must call this before the next tick at which an end acts.
    #[must_use]
    pub fn beat_seen_at(&self, tick: u64) -> Option<&T> {
        self.beat_taken_at(tick).or_else(|| self.is_visible(tick).then(|| &self.slot(self.popped).beat))
    }

    /// True if the sender may send a beat at `tick`, or sent one at `tick`. For observers outside the model,
    /// which must call this before the next tick at which an end acts.
    #[must_use]
    pub fn has_room_at(&self, tick: u64) -> bool {
        self.pushed_at == tick || self.room_from <= tick
    }

    /// Returns the field widths of the beats.
    #[must_use]
    pub fn shape(&self) -> &T::Shape {
        &self.shape
    }

    /// Synchronizes the two copies of a link whose ends ran independently since the last synchronization
    /// point. Beats sent into `self`, the sender's copy, are copied to `receiver`, the receiver's copy. Slots
    /// freed in `receiver` become free in `self`. Afterward, `receiver` holds all beats. The simulator of
    /// each side wakes its own blocks.
    ///
    /// # Panics
    /// Panics if an end has already run beyond the tick from which it should have seen a beat or a freed
    /// slot.
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

    /// Panics if the simulator `end` has already run beyond tick `from`, at which the beat or freed slot that
    /// it now receives should have become visible.
    fn check_not_late(&self, from: u64, end: &Simulator) {
        let now = end.reached_tick();
        assert!(from >= now, "{}: message for tick {from} at tick {now}, which is too late", self.spec.path);
    }

    /// Lists the channel as a scope in the description of its receiver: handshake, occupancy and oldest beat.
    /// While the channel is empty, the reset value of a beat stands for the oldest one, so that the waveform
    /// does not change.
    pub fn describe(&self, name: &'static str, index: Option<u32>, to: &mut dyn Describe) {
        to.enter(name, index);
        // The tick of the last push or pop identifies the contents, because only pushes and pops change them
        // and the description is read after the tick.
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

    /// Returns the slot of beat `number`, counted from the first beat sent.
    #[inline(always)]
    fn slot(&self, number: usize) -> &Slot<T> {
        &self.slots[number & (self.slots.len() - 1)]
    }

    #[inline(always)]
    fn slot_mut(&mut self, number: usize) -> &mut Slot<T> {
        &mut self.slots[number & (self.slots.len() - 1)]
    }

    /// True if the channel holds as many beats as its depth allows.
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.len() == self.spec.depth as usize
    }

    /// Returns the tick from which the sender counts its next slot as free. The channel must not be full.
    /// Slots become free in the order of their beats, so the next beat waits for the slot of the beat that
    /// was sent `depth` beats before it.
    #[inline(always)]
    fn next_free_from(&self) -> u64 {
        self.slot(self.pushed.wrapping_sub(self.spec.depth as usize)).from
    }

    #[inline]
    fn is_visible(&self, tick: u64) -> bool {
        self.visible_from <= tick && self.popped_at != tick
    }

    /// Panics with a description of the sender's contract violation.
    #[cold]
    #[inline(never)]
    fn refuse_push(&self, tick: u64, cycle: u64) -> ! {
        let twice = self.pushed_at == tick;
        self.breach(tick, cycle, if twice { "second beat in one cycle" } else { "sent while ready is low" })
    }

    /// Panics with a description of the receiver's contract violation.
    #[cold]
    #[inline(never)]
    fn refuse_pop(&self, tick: u64, cycle: u64) -> ! {
        let twice = self.popped_at == tick;
        self.breach(tick, cycle, if twice { "second beat taken in one cycle" } else { "taken while valid is low" })
    }

    /// Adds the beat that is being sent to the digest of pushes.
    #[inline(never)]
    fn note_push(&mut self, tick: u64) {
        let what = digest_of(&self.slot(self.pushed).beat);
        self.note(PUSHED, tick, what);
    }
}

/// Sending end of a channel, valid for one clock edge.
pub struct Tx<'a, T: Payload>(&'a mut Chan<T>);

impl<T: Payload> Tx<'_, T> {
    /// True if the sender may push a beat at this edge.
    #[inline]
    pub fn is_ready(&mut self, at: &mut impl AnyEdge) -> bool {
        self.0.pushed_at != at.tick() && !self.is_blocked(at)
    }

    /// True if the sender sees a full channel. The sender may then sleep, and is woken when it sees a free
    /// slot. Directly after a push, false means that the sender can push again at the next edge.
    #[inline]
    pub fn is_blocked(&mut self, at: &mut impl AnyEdge) -> bool {
        let chan = &*self.0;
        let full = chan.room_from > at.tick();
        if full && chan.room_from != NEVER {
            // The beat in the slot to be used next was popped while another slot was still free, so the pop
            // did not schedule a wake-up of the sender. It is scheduled here.
            at.with_edge(|at| at.wake.at_tick(at.tick, chan.spec.from, chan.room_from));
        }
        full
    }

    /// True if the channel holds as many beats as its depth allows. The sender can then sleep, because the
    /// next pop wakes it.
    #[must_use]
    #[inline]
    pub fn is_full(&self) -> bool {
        self.0.is_full()
    }

    /// Sends one beat.
    ///
    /// # Panics
    /// Panics if no slot is free, a beat was already sent at this edge, or a field does not fit its width.
    #[inline]
    pub fn push(&mut self, at: &mut impl AnyEdge, beat: T) {
        self.push_with(at, |slot| *slot = beat);
    }

    /// Sends one beat that `form` builds in place in its slot, for beats that are too large to copy. The slot
    /// still contains an old beat, so `form` must set all fields.
    ///
    /// # Panics
    /// Panics in the same cases as [`Self::push`].
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
    /// Returns the oldest beat, if it is visible and no beat was popped at this edge.
    #[must_use]
    #[inline]
    pub fn peek(&self, at: &impl AnyEdge) -> Option<&T> {
        // A visible beat has already been written to its slot.
        if self.0.is_visible(at.tick()) { Some(&self.0.slot(self.0.popped).beat) } else { None }
    }

    /// True if the receiver can pop a beat at this edge or, if it has already popped one, at the next edge.
    /// Only if the result is false may the receiver sleep until an event; a beat in flight wakes it when it
    /// becomes visible.
    #[must_use]
    #[inline]
    pub fn has_beat(&self, at: &impl AnyEdge) -> bool {
        self.0.visible_from <= at.tick()
    }

    /// Pops the oldest beat.
    ///
    /// # Panics
    /// Panics if no beat is visible.
    pub fn pop(&mut self, at: &mut impl AnyEdge) -> T {
        self.drop_head(at);
        self.0.slot(self.0.popped - 1).beat.clone()
    }

    /// Pops the oldest beat without copying it, for hardware blocks that have already read it in its slot.
    ///
    /// # Panics
    /// Panics if no beat is visible.
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
            // Only a sender that sees a full channel may sleep until a slot is free, so only in this case
            // does the pop wake the sender.
            chan.room_from = chan.room_from.min(free_from);
            at.with_edge(|at| at.wake.at_tick(at.tick, chan.spec.from, free_from));
        }
    }
}

/// Channel numbers 0 to 255, for functions that take a list of channel numbers: adjacent channels are a slice
/// of this array.
const EACH: [u32; 256] = {
    let mut each = [0; 256];
    let mut i = 0;
    while i < each.len() {
        each[i] = i as u32;
        i += 1;
    }
    each
};

/// Receiving ends of several channels with the same type of beat, valid for one clock edge.
pub struct RxBank<'a, T: Payload>(&'a mut [Chan<T>]);

impl<'a, T: Payload> RxBank<'a, T> {
    /// Returns the receiving ends of the channels in the slice `channels`.
    #[must_use]
    #[inline]
    pub fn of(channels: &'a mut [Chan<T>]) -> Self {
        Self(channels)
    }

    /// Returns the number of receiving ends.
    #[must_use]
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a port has ends")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the receiving end with number `index`.
    #[inline]
    pub fn at(&mut self, index: usize) -> Rx<'_, T> {
        self.0[index].rx()
    }

    /// Returns a bit mask of the ends with a visible beat, for up to 64 ends.
    #[must_use]
    pub fn visible(&mut self, at: &impl AnyEdge) -> u64 {
        (0..self.0.len()).fold(0, |ends, i| ends | u64::from(self.at(i).peek(at).is_some()) << i)
    }

    /// Returns an iterator with one item per receiving end: true if a beat is visible there now or will be at
    /// the next edge.
    #[inline(always)]
    pub fn each_waiting(&self, at: &impl AnyEdge) -> impl DoubleEndedIterator<Item = bool> {
        let tick = at.tick();
        self.0.iter().map(move |end| end.visible_from <= tick)
    }

    /// True if a beat is visible at any end now or will be visible at the next edge.
    #[must_use]
    #[inline]
    pub fn has_beat(&mut self, at: &impl AnyEdge) -> bool {
        (0..self.0.len()).any(|i| self.at(i).has_beat(at))
    }
}

/// Sending ends of several channels with the same type of beat, valid for one clock edge.
pub struct TxBank<'a, T: Payload> {
    pool: &'a mut [Chan<T>],
    ids: &'a [u32],
}

impl<'a, T: Payload> TxBank<'a, T> {
    /// Returns the sending ends of adjacent channels.
    ///
    /// # Panics
    /// Panics if there are more than 256 channels.
    #[must_use]
    #[inline]
    pub fn of(channels: &'a mut [Chan<T>]) -> Self {
        Self { ids: &EACH[..channels.len()], pool: channels }
    }

    /// Returns the sending ends of the channels with the numbers `ids`.
    #[must_use]
    #[inline]
    pub fn among(pool: &'a mut [Chan<T>], ids: &'a [u32]) -> Self {
        Self { pool, ids }
    }

    /// Returns the number of sending ends.
    #[must_use]
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a port has ends")]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns the sending end with number `index`.
    #[inline]
    pub fn at(&mut self, index: usize) -> Tx<'_, T> {
        self.pool[self.ids[index] as usize].tx()
    }
}

/// Receiving and sending ends of channels with the same type of beat, valid for one clock edge. For a
/// hardware block that forwards beats.
pub struct Ends<'a, T: Payload> {
    pool: &'a mut [Chan<T>],
    from: Range<usize>,
    to: &'a [u32],
}

impl<'a, T: Payload> Ends<'a, T> {
    /// Returns the ends of adjacent channels: the first `inputs` channels are inputs, the others are outputs.
    ///
    /// # Panics
    /// Panics if there are more than 256 channels.
    #[must_use]
    pub fn of(channels: &'a mut [Chan<T>], inputs: usize) -> Self {
        Self { to: &EACH[inputs..channels.len()], pool: channels, from: 0..inputs }
    }

    /// Returns the receiving ends of the adjacent channels `from`, and the sending ends of the channels with
    /// the numbers `to`.
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

/// Creates a channel with minimum delays, for testbenches. A beat is visible after one clock period of the
/// receiver. A slot is free after one clock period of the sender.
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

    /// Simulation without hardware blocks, for tests of a single link.
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

    /// Creates a simulator for one end of a link. The simulator has already reached tick `tick`.
    fn simulator_at(tick: u64) -> Simulator {
        let mut sim = Simulator::new(&[1], &NoBlocks, Mode::default());
        sim.jump(tick);
        sim
    }

    /// Record of what the two ends of a link did in each tick.
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
                // Every 500 ticks, sends become more frequent; every 300 ticks, pops become less frequent.
                // Both patterns start over after 8 steps, so the link is sometimes full and sometimes empty.
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
