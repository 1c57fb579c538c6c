//! # Timing wheels: which hardware block is evaluated at which edge
//! Schedules hardware blocks for future edges. Each clock domain has a timing wheel with an entry for each of
//! 256 future cycles. An entry is a bit set of the blocks to evaluate in that cycle. A sleeping block is in
//! no set and costs nothing, and time in which every set is empty is skipped. An extra wake-up is harmless,
//! but a missing one is a hang, so in case of doubt a block is woken. If a block requests a wake-up beyond
//! the span of the wheel, it is woken early and requests another one. This is impossible if a beat wakes a
//! block: the sender of the beat requests the wake-up, and the receiver could not request another one. If a
//! link's delay exceeds the span of the wheel, a separate list therefore holds the wake-up.

use std::cmp::Ordering;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};
use serde_big_array::Array as BigArray;

/// Identifies a hardware block by its clock domain and its position in that domain's bit set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BlockId {
    /// Clock domain of the hardware block, as an index into the machine's clocks.
    pub domain: u8,
    /// Position of the hardware block within its clock domain, 0 to 127.
    pub slot: u8,
}

/// Number of future cycles that the timing wheel of one clock domain covers.
const SPAN: u64 = 256;
/// Maximum number of clock domains; a clock with more than 128 hardware blocks counts as several domains.
/// Domain numbers are taken modulo this maximum, so that the compiler can omit bounds checks.
pub const DOMAINS: usize = 8;

/// Set of hardware blocks of one clock domain, one bit per slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BlockSet([u64; 2]);

impl BlockSet {
    pub(super) const EMPTY: Self = Self([0; 2]);
    const ALL: Self = Self([u64::MAX; 2]);

    #[inline]
    pub(super) fn insert(&mut self, slot: u8) {
        // The conversion to `usize`, the native word size of the simulating computer, makes index and shift
        // fast.
        let slot = usize::from(slot);
        self.0[slot / 64 % 2] |= 1 << (slot % 64);
    }

    #[inline]
    pub(super) fn contains(&self, slot: u8) -> bool {
        let slot = usize::from(slot);
        self.0[slot / 64 % 2] >> (slot % 64) & 1 != 0
    }

    #[inline(always)]
    pub(super) fn word(self, word: u8) -> u64 {
        self.0[usize::from(word % 2)]
    }

    #[inline(always)]
    pub(super) fn add(&mut self, word: u8, bits: u64) {
        self.0[usize::from(word % 2)] |= bits;
    }

    #[inline]
    pub(super) fn bits(self) -> u128 {
        u128::from(self.0[0]) | u128::from(self.0[1]) << 64
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.0[0] | self.0[1] == 0
    }

    /// Returns the hardware blocks that are in both sets.
    #[inline]
    pub(super) fn and(self, other: Self) -> Self {
        Self([self.0[0] & other.0[0], self.0[1] & other.0[1]])
    }

    /// Returns the hardware blocks of this set that are not in `other`.
    fn without(self, other: Self) -> Self {
        Self([self.0[0] & !other.0[0], self.0[1] & !other.0[1]])
    }
}

impl From<u128> for BlockSet {
    #[inline]
    fn from(bits: u128) -> Self {
        Self([bits as u64, (bits >> 64) as u64])
    }
}

impl std::ops::BitOrAssign for BlockSet {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0[0] |= other.0[0];
        self.0[1] |= other.0[1];
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Domain {
    period: NonZeroU64,
    /// First cycle that the timing wheel covers; wake-ups in the wheel are for cycles from `base` to `base +
    /// SPAN - 1`.
    base: u64,
    /// Earliest cycle with a scheduled hardware block, or `u64::MAX` if there is none. Undefined while the
    /// blocks of a cycle are evaluated.
    next: u64,
    /// Tick of the clock edge of cycle `next`, or `u64::MAX`.
    next_at: u64,
    slots: Box<BigArray<BlockSet, { SPAN as usize }>>,
    filled: [u64; 4],
    /// Wake-ups beyond the timing wheel, as pairs of a cycle and the slot of a hardware block, in no
    /// particular order.
    far: Vec<(u64, u8)>,
    /// Earliest cycle in `far`, or `u64::MAX` if `far` is empty.
    next_far: u64,
    /// Hardware blocks that were sent a beat since the last call of [`Wake::take_touched`].
    touched: BlockSet,
    /// Hardware blocks that this timing wheel schedules. All other blocks have a separate wheel, and this
    /// wheel does not wake them.
    own: BlockSet,
}

impl Domain {
    /// Creates a timing wheel in which no hardware block is scheduled.
    fn new(period: NonZeroU64) -> Self {
        Self {
            period,
            base: 0,
            next: u64::MAX,
            next_at: u64::MAX,
            slots: Box::new(BigArray([BlockSet::EMPTY; SPAN as usize])),
            filled: [0; 4],
            far: Vec::new(),
            next_far: u64::MAX,
            touched: BlockSet::EMPTY,
            own: BlockSet::ALL,
        }
    }

    /// Moves hardware blocks to a separate timing wheel, together with their scheduled wake-ups.
    fn separate(&mut self, theirs: BlockSet) -> Self {
        let mut parted = Self { base: self.base, own: theirs, ..Self::new(self.period) };
        if theirs.is_empty() {
            return parted;
        }
        self.own = self.own.without(theirs);
        for at in 0..SPAN as usize {
            parted.slots[at] = self.slots[at].and(theirs);
            self.slots[at] = self.slots[at].without(theirs);
        }
        let is_theirs = |(_, slot): &(u64, u8)| theirs.contains(*slot);
        parted.far = self.far.iter().copied().filter(is_theirs).collect();
        self.far.retain(|far| !is_theirs(far));
        self.note_filled();
        parted.note_filled();
        parted
    }

    /// Takes back the hardware blocks that [`Self::separate`] moved; both timing wheels must have reached
    /// tick `until`.
    fn rejoin(&mut self, parted: Self, until: u64) {
        if parted.own.is_empty() {
            return;
        }
        // `base` becomes the first cycle at or after tick `until`. The wake-ups in `slots` of both wheels are
        // less than `SPAN` cycles later, so the two wheels can be merged slot by slot.
        self.base = until.div_ceil(self.period.get());
        for (slot, theirs) in self.slots.iter_mut().zip(&parted.slots[..]) {
            *slot |= *theirs;
        }
        self.far.extend(parted.far);
        self.own |= parted.own;
        self.touched |= parted.touched;
        self.note_filled();
    }

    /// Recomputes the fields that are derived from the scheduled wake-ups.
    fn note_filled(&mut self) {
        self.filled = [0; 4];
        for (at, slot) in self.slots.iter().enumerate() {
            self.filled[at / 64] |= u64::from(!slot.is_empty()) << (at % 64);
        }
        self.next_far = self.far.iter().map(|(at, _)| *at).min().unwrap_or(u64::MAX);
        self.set_next(self.first_filled().min(self.next_far));
    }

    /// True if `cycle` lies within the span of the timing wheel.
    #[inline]
    fn reaches(&self, cycle: u64) -> bool {
        cycle - self.base < SPAN
    }

    /// Moves the start of the timing wheel to the clock domain's next edge after tick `now`. Called if no
    /// block of the wheel is scheduled before that edge.
    fn catch_up(&mut self, now: u64) {
        self.base = self.next.min(now / self.period + 1);
    }

    /// Sets the earliest cycle with a scheduled hardware block.
    #[inline]
    fn set_next(&mut self, cycle: u64) {
        self.next = cycle;
        self.next_at = cycle.saturating_mul(self.period.get());
    }

    /// Schedules the evaluation of a hardware block in a cycle within the span of the timing wheel.
    #[inline]
    fn fill(&mut self, cycle: u64, slot: u8) {
        let at = (cycle % SPAN) as usize;
        self.slots[at].insert(slot);
        self.filled[at / 64] |= 1 << (at % 64);
        if cycle < self.next {
            self.set_next(cycle);
        }
    }

    fn fill_far(&mut self, cycle: u64, slot: u8) {
        // A blocked sender may request the same wake-up repeatedly, so duplicates are dropped.
        if !self.far.contains(&(cycle, slot)) {
            self.far.push((cycle, slot));
            self.next_far = self.next_far.min(cycle);
            self.set_next(self.next.min(cycle));
        }
    }

    /// Schedules a hardware block for its first clock edge at or after `tick`.
    #[inline]
    fn wake_at(&mut self, now: u64, tick: u64, slot: u8) {
        // A block of another timing wheel is scheduled by that wheel, when messages on its links are
        // exchanged.
        if !self.own.contains(slot) {
            return;
        }
        let (whole, part) = (tick / self.period, tick % self.period);
        let cycle = whole + u64::from(part != 0);
        if self.reaches(cycle) {
            self.fill(cycle, slot);
        } else {
            self.fill_beyond(now, cycle, slot);
        }
    }

    /// Schedules a hardware block for a cycle that may be beyond the span of the timing wheel.
    #[cold]
    #[inline(never)]
    fn fill_beyond(&mut self, now: u64, cycle: u64, slot: u8) {
        self.catch_up(now);
        if self.reaches(cycle) {
            self.fill(cycle, slot);
        } else {
            self.fill_far(cycle, slot);
        }
    }

    /// Schedules a hardware block for a cycle that the block itself requests. If the cycle is beyond the
    /// timing wheel, the block is woken early.
    #[cold]
    #[inline(never)]
    fn request_far_wake(&mut self, now: u64, cycle: u64, slot: u8) {
        self.catch_up(now);
        self.fill(cycle.min(self.base + SPAN - 1), slot);
    }

    /// Removes and returns the hardware blocks scheduled for the next edge, and the cycle of that edge. The
    /// field `next`, the earliest scheduled cycle, is then undefined until [`Self::end`].
    #[inline]
    fn begin(&mut self) -> (u64, BlockSet) {
        let cycle = self.next;
        let at = (cycle % SPAN) as usize;
        self.filled[at / 64] &= !(1 << (at % 64));
        self.base = cycle + 1;
        // From here on, blocks can request wake-ups only for cycles after the current one.
        self.next = self.base;
        let mut due = std::mem::take(&mut self.slots[at]);
        if cycle == self.next_far {
            due |= self.take_far(cycle);
        }
        (cycle, due)
    }

    /// Ends the edge at `tick`, and schedules the hardware blocks in `again` for the immediately following
    /// edge.
    #[inline]
    fn end(&mut self, tick: u64, again: BlockSet) {
        let at = (self.base % SPAN) as usize;
        self.slots[at] |= again;
        if self.slots[at].is_empty() {
            self.set_next(self.first_filled().min(self.next_far));
        } else {
            self.filled[at / 64] |= 1 << (at % 64);
            self.next = self.base;
            self.next_at = tick + self.period.get();
        }
    }

    /// Ends an edge and starts the immediately following one if any hardware blocks are scheduled for it:
    /// blocks in `again`, or blocks woken for that edge. Returns the cycle and the blocks of the following
    /// edge.
    #[inline(always)]
    fn next_edge(&mut self, again: BlockSet) -> Option<(u64, BlockSet)> {
        let (cycle, mut due) = (self.base, again);
        let at = (cycle % SPAN) as usize;
        if !self.slots[at].is_empty() {
            due |= std::mem::take(&mut self.slots[at]);
            self.filled[at / 64] &= !(1 << (at % 64));
        }
        if due.is_empty() {
            return None;
        }
        if cycle == self.next_far {
            due |= self.take_far(cycle);
        }
        self.base = cycle + 1;
        self.next = self.base;
        Some((cycle, due))
    }

    #[cold]
    fn take_far(&mut self, cycle: u64) -> BlockSet {
        let mut due = BlockSet::EMPTY;
        self.far.iter().filter(|(at, _)| *at == cycle).for_each(|&(_, slot)| due.insert(slot));
        self.far.retain(|(at, _)| *at != cycle);
        self.next_far = self.far.iter().map(|(at, _)| *at).min().unwrap_or(u64::MAX);
        due
    }

    #[inline(never)]
    fn first_filled(&self) -> u64 {
        let start = (self.base % SPAN) as usize;
        for step in 0..=4 {
            let word = (start / 64 + step) % 4;
            let mut bits = self.filled[word];
            // The search wraps around: it ends with the bits below `start` of the first word.
            if step == 0 {
                bits &= u64::MAX << (start % 64);
            }
            if bits != 0 {
                let at = word as u64 * 64 + u64::from(bits.trailing_zeros());
                return self.base + (at + SPAN - start as u64) % SPAN;
            }
        }
        u64::MAX
    }
}

/// Timing wheels of all clock domains.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wake {
    domains: Box<[Domain; DOMAINS]>,
    num_domains: usize,
    /// First two clock domains with hardware blocks in these timing wheels; both are the same if there is
    /// only one such domain.
    own: (u8, u8),
    /// True if more than two clock domains have hardware blocks in these timing wheels.
    has_more: bool,
}

impl Wake {
    /// Creates empty timing wheels for clocks of the given periods in ticks.
    ///
    /// # Panics
    /// Panics if there are more than 8 clock domains, or if a period is 0, which means that the wiring of the
    /// machine is wrong.
    #[must_use]
    pub fn new(periods: &[u32]) -> Self {
        assert!(periods.len() <= DOMAINS, "{} clock domains, expected {DOMAINS} or fewer", periods.len());
        let ticks = |period: u32| match NonZeroU64::new(u64::from(period)) {
            Some(period) => period,
            None => panic!("a clock has a period of 0 ticks, expected 1 or more"),
        };
        // No hardware block is ever scheduled in an unused clock domain, so its period does not matter.
        let domain = |i| Domain::new(periods.get(i).map_or(NonZeroU64::MIN, |&period| ticks(period)));
        Self {
            domains: Box::new(std::array::from_fn(domain)),
            num_domains: periods.len(),
            own: (0, 1),
            has_more: false,
        }
    }

    /// Moves hardware blocks, given as one set per clock domain, to separate timing wheels. From then on,
    /// neither set of wheels wakes blocks of the other. Only the exchange of messages
    /// ([`Chan::synchronize`](super::Chan::synchronize)) wakes blocks in both.
    pub(super) fn separate(&mut self, theirs: [BlockSet; DOMAINS]) -> Self {
        let parted: [Domain; DOMAINS] = std::array::from_fn(|domain| self.domains[domain].separate(theirs[domain]));
        let is_here = |domain: &Domain| !domain.own.is_empty();
        let mut here = (0..).zip(&parted).filter(|(_, domain)| is_here(domain)).map(|(number, _)| number);
        let first = here.next().unwrap_or(0);
        let own = (first, here.next().unwrap_or(first));
        let has_more = here.next().is_some();
        Self { domains: Box::new(parted), num_domains: self.num_domains, own, has_more }
    }

    /// Takes back the hardware blocks that [`Self::separate`] moved; both sets of timing wheels must have
    /// reached tick `until`.
    pub(super) fn rejoin(&mut self, parted: Self, until: u64) {
        for (own, theirs) in self.domains.iter_mut().zip(*parted.domains) {
            own.rejoin(theirs, until);
        }
    }

    #[inline(always)]
    fn domain(&mut self, domain: u8) -> &mut Domain {
        &mut self.domains[usize::from(domain) % DOMAINS]
    }

    /// Wakes the hardware block `block` at its first edge at or after `tick`; the request is made at tick
    /// `now`.
    #[inline(never)]
    pub fn at_tick(&mut self, now: u64, block: BlockId, tick: u64) {
        self.domain(block.domain).wake_at(now, tick, block.slot);
    }

    /// Wakes the hardware block `block` for a beat that is visible from `tick` on. Also records at once that
    /// the description of the block's channels has changed, although the block may sleep until `tick`.
    #[inline(never)]
    pub(super) fn deliver(&mut self, now: u64, block: BlockId, tick: u64) {
        let domain = self.domain(block.domain);
        domain.touched.insert(block.slot);
        domain.wake_at(now, tick, block.slot);
    }

    /// Wakes the hardware block `block` at the given cycle of its own clock; the cycle must be after tick
    /// `now`.
    #[inline]
    pub fn at_cycle(&mut self, now: u64, block: BlockId, cycle: u64) {
        let domain = self.domain(block.domain);
        if domain.reaches(cycle) {
            domain.fill(cycle, block.slot);
        } else {
            domain.request_far_wake(now, cycle, block.slot);
        }
    }

    /// Returns the earliest tick for which any hardware block is scheduled; `None` if there is none.
    #[must_use]
    pub fn next_tick(&self) -> Option<u64> {
        let (tick, _) = self.next_edges();
        (tick != u64::MAX).then_some(tick)
    }

    /// Returns the earliest tick for which any hardware block is scheduled (`u64::MAX` if there is none), and
    /// a bit mask of the clock domains that have a block scheduled for this tick.
    #[inline(always)]
    pub(super) fn next_edges(&self) -> (u64, u32) {
        let edges = self.domains.iter().take(self.num_domains).map(|domain| domain.next_at).zip(0..);
        edges.fold((u64::MAX, 0), |(first, domains), (tick, domain)| match tick.cmp(&first) {
            Ordering::Less => (tick, 1 << domain),
            Ordering::Equal => (first, domains | 1 << domain),
            Ordering::Greater => (first, domains),
        })
    }

    /// Returns clock domain and tick of the earliest edge for which any hardware block is scheduled, if it is
    /// before `end`.
    #[inline(always)]
    pub(super) fn first_before(&self, end: u64) -> Option<(u8, u64)> {
        if self.has_more {
            return self.first_of_all(end);
        }
        let (first, second) = self.own;
        let [one, other] = [first, second].map(|domain| self.domains[usize::from(domain) % DOMAINS].next_at);
        let (domain, tick) = if other < one { (second, other) } else { (first, one) };
        (tick < end).then_some((domain, tick))
    }

    #[inline(never)]
    fn first_of_all(&self, end: u64) -> Option<(u8, u64)> {
        let edges = (0..).zip(&self.domains[..self.num_domains]).map(|(number, domain)| (domain.next_at, number));
        edges.min().filter(|(tick, _)| *tick < end).map(|(tick, domain)| (domain, tick))
    }

    /// Removes and returns the hardware blocks of clock domain `domain` that are scheduled for `tick`,
    /// together with the domain's cycle. [`Self::end`] must follow before the next call for this domain.
    #[inline]
    pub(super) fn begin(&mut self, domain: u8, tick: u64) -> Option<(u64, BlockSet)> {
        let domain = self.domain(domain);
        (domain.next_at == tick).then(|| domain.begin())
    }

    /// Ends the edge of clock domain `domain` at `tick`, and schedules the hardware blocks in `again` for its
    /// next edge.
    #[inline]
    pub(super) fn end(&mut self, domain: u8, tick: u64, again: BlockSet) {
        self.domain(domain).end(tick, again);
    }

    /// Ends the edge of clock domain `domain` at `tick`, and starts its immediately following edge. Returns
    /// the tick, the cycle and the hardware blocks of the following edge. Returns `None` if no block is
    /// scheduled for that edge, if the edge is not before `until`, or if another domain has an earlier edge.
    #[inline(always)]
    pub(super) fn finish_edge(
        &mut self,
        domain: u8,
        tick: u64,
        again: BlockSet,
        until: u64,
    ) -> Option<(u64, u64, BlockSet)> {
        let tick_after = tick + self.domain(domain).period.get();
        let (first, second) = self.own;
        let other = first.wrapping_add(second).wrapping_sub(domain);
        let is_first = !self.has_more && (other == domain || self.domain(other).next_at >= tick_after);
        if is_first
            && tick_after < until
            && let Some((cycle, due)) = self.domain(domain).next_edge(again)
        {
            return Some((tick_after, cycle, due));
        }
        self.end(domain, tick, again);
        None
    }

    /// Starts and ends an edge in one call. Callers must schedule the blocks to be evaluated again
    /// themselves.
    pub(super) fn take(&mut self, domain: u8, tick: u64) -> Option<(u64, BlockSet)> {
        let taken = self.begin(domain, tick)?;
        self.end(domain, tick, BlockSet::EMPTY);
        Some(taken)
    }

    /// Returns the hardware blocks of clock domain `domain` that were sent a beat since the previous call.
    pub(super) fn take_touched(&mut self, domain: usize) -> BlockSet {
        std::mem::take(&mut self.domains[domain].touched)
    }

    /// Returns the number of clock domains.
    #[must_use]
    pub fn num_domains(&self) -> usize {
        self.num_domains
    }

    /// Returns the period of clock domain `domain` in ticks.
    #[must_use]
    pub fn period(&self, domain: usize) -> u64 {
        self.domains[domain].period.get()
    }
}

/// One clock edge at which a hardware block is evaluated.
#[derive(Debug)]
pub struct Edge<'k> {
    /// Time in ticks of the common time base.
    pub tick: u64,
    /// Cycle of the hardware block's own clock.
    pub cycle: u64,
    pub(crate) wake: &'k mut Wake,
    /// Number of beats sent to and taken from channels at this edge, for the lint mode of the simulator.
    pub(crate) actions: u32,
}

impl<'k> Edge<'k> {
    /// Creates an edge for evaluating a hardware block without a [`Simulator`](super::Simulator), for tests.
    pub fn new(tick: u64, cycle: u64, wake: &'k mut Wake) -> Self {
        Self { tick, cycle, wake, actions: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(domain: u8, slot: u8) -> BlockId {
        BlockId { domain, slot }
    }

    fn take(wake: &mut Wake, domain: u8, tick: u64) -> Option<(u64, u128)> {
        wake.take(domain, tick).map(|(cycle, due)| (cycle, due.bits()))
    }

    #[test]
    fn blocks_of_two_clocks_are_due_at_their_own_edges() {
        let mut wake = Wake::new(&[66, 50]);
        wake.at_tick(0, block(0, 3), 1);
        wake.at_tick(0, block(1, 5), 1);
        assert_eq!(wake.next_tick(), Some(50));
        assert_eq!(take(&mut wake, 0, 50), None);
        assert_eq!(take(&mut wake, 1, 50), Some((1, 1 << 5)));
        assert_eq!(wake.next_tick(), Some(66));
        assert_eq!(take(&mut wake, 0, 66), Some((1, 1 << 3)));
        assert_eq!(wake.next_tick(), None);
    }

    #[test]
    fn wishes_of_the_edge_under_way_and_those_for_its_next_are_due_together() {
        let mut wake = Wake::new(&[10]);
        wake.at_cycle(0, block(0, 0), 3);
        wake.at_cycle(0, block(0, 1), 7);
        assert!(wake.begin(0, 30).is_some_and(|(cycle, due)| (cycle, due.bits()) == (3, 1)));
        wake.at_tick(30, block(0, 2), 31);
        wake.end(0, 30, BlockSet::from(0b1000));
        assert_eq!(take(&mut wake, 0, 40), Some((4, 0b1100)));
        assert_eq!(wake.next_tick(), Some(70));
    }

    #[test]
    #[should_panic(expected = "9 clock domains, expected 8 or fewer")]
    fn more_domains_than_there_are_wheels_are_refused() {
        let _ = Wake::new(&[1; 9]);
    }

    #[test]
    fn a_wish_beyond_the_ring_wakes_early_and_never_late() {
        let mut wake = Wake::new(&[10]);
        wake.at_cycle(0, block(0, 0), 1000);
        let tick = wake.next_tick().unwrap();
        assert!(tick <= 10_000 && tick > 0);
    }

    #[test]
    fn a_beat_that_arrives_beyond_the_ring_wakes_its_receiver_exactly() {
        let mut wake = Wake::new(&[10]);
        wake.at_tick(0, block(0, 3), 5000);
        wake.at_tick(0, block(0, 4), 5000);
        wake.at_tick(0, block(0, 5), 3000);
        wake.at_tick(0, block(0, 5), 3000);
        wake.at_cycle(0, block(0, 6), 200);
        assert_eq!(wake.next_tick(), Some(2000));
        assert_eq!(take(&mut wake, 0, 2000), Some((200, 1 << 6)));
        // Cycle 300 is now within the span of the wheel, so this wake-up of slot 6 is stored in the wheel.
        // The wake-up of slot 5 for the same cycle is still in the list `far`.
        wake.at_tick(2000, block(0, 6), 3000);
        assert_eq!(take(&mut wake, 0, 3000), Some((300, 1 << 5 | 1 << 6)));
        assert_eq!(wake.next_tick(), Some(5000));
        assert_eq!(take(&mut wake, 0, 5000), Some((500, 1 << 3 | 1 << 4)));
        assert_eq!(wake.next_tick(), None);
    }

    #[test]
    fn a_domain_that_slept_long_still_wakes_exactly() {
        let mut wake = Wake::new(&[10]);
        wake.at_cycle(0, block(0, 1), 4);
        assert_eq!(take(&mut wake, 0, 40), Some((4, 2)));
        wake.at_cycle(100_000, block(0, 1), 10_001);
        wake.at_cycle(100_000, block(0, 2), 10_200);
        assert_eq!(wake.next_tick(), Some(100_010));
        assert_eq!(take(&mut wake, 0, 100_010), Some((10_001, 2)));
        assert_eq!(take(&mut wake, 0, 102_000), Some((10_200, 4)));
    }

    /// Returns all wake-ups before tick `end`, each as tick, clock domain and slot.
    fn drain(wake: &mut Wake, end: u64) -> Vec<(u64, u8, u8)> {
        let mut drained = Vec::new();
        while let Some((domain, tick)) = wake.first_before(end) {
            let (_, due) = take(wake, domain, tick).unwrap();
            drained.extend((0..128).filter(|slot| due >> slot & 1 != 0).map(|slot| (tick, domain, slot)));
        }
        drained
    }

    /// Checks that separated timing wheels wake the same hardware blocks at the same ticks as a single wheel,
    /// even beyond its span. Each wheel ignores wake-ups for blocks of the other one.
    #[test]
    fn blocks_of_wheels_that_were_apart_are_due_when_they_were() {
        let (one, other) = (block(0, 3), block(0, 70));
        let mut together = Wake::new(&[10, 7]);
        for (block, tick) in [(one, 30), (other, 30), (other, 90), (one, 2000), (other, 9000), (block(1, 0), 70)] {
            together.at_tick(0, block, tick);
        }
        let mut apart = together.clone();
        let mut theirs = [BlockSet::EMPTY; DOMAINS];
        theirs[0].insert(other.slot);
        let mut parted = apart.separate(theirs);
        assert_eq!((apart.next_tick(), parted.next_tick()), (Some(30), Some(30)));
        apart.deliver(0, other, 41);
        parted.deliver(0, one, 150);
        let mut seen = [drain(&mut apart, 100), drain(&mut parted, 100)].concat();
        assert_eq!(seen, [(30, 0, 3), (70, 1, 0), (30, 0, 70), (90, 0, 70)]);
        apart.deliver(100, other, 160);
        apart.rejoin(parted, 100);
        seen.extend(drain(&mut apart, u64::MAX));
        seen.sort_unstable();
        let mut expected = drain(&mut together, u64::MAX);
        expected.sort_unstable();
        assert_eq!(seen, expected);
    }

    #[test]
    fn every_cycle_of_the_ring_can_be_the_next() {
        for start in 0..300 {
            for ahead in 1..256 {
                let mut wake = Wake::new(&[1]);
                wake.at_cycle(0, block(0, 0), start.min(255));
                take(&mut wake, 0, start.min(255));
                let target = start.min(255) + ahead;
                wake.at_cycle(start.min(255), block(0, 9), target);
                assert_eq!(wake.next_tick(), Some(target));
            }
        }
    }

    #[test]
    fn who_was_woken_from_far_is_due_beside_one_that_is_due_at_every_edge() {
        let mut wake = Wake::new(&[10]);
        wake.at_cycle(0, block(0, 0), 1);
        wake.at_tick(0, block(0, 1), 5000);
        let (mut tick, mut due) = (10, wake.begin(0, 10).unwrap().1);
        let mut both = Vec::new();
        while let Some((next, cycle, blocks)) = wake.finish_edge(0, tick, BlockSet::from(1), 6000) {
            assert_eq!(next, 10 * cycle);
            (tick, due) = (next, blocks);
            if due.bits() != 1 {
                both.push((tick, due.bits()));
            }
        }
        assert_eq!((tick, due.bits(), both), (5990, 1, vec![(5000, 0b11)]));
    }
}
