//! # Queue of registers
//! A bounded first-in first-out queue inside a block. A free slot holds the reset value, so that
//! a waveform is quiet where the queue is empty. Push and pop in one `eval` take effect in the
//! order in which they are called: popping first lets a full queue take a new entry in the cycle
//! in which it gives one away.

use serde::{Deserialize, Serialize};

use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic, Payload, width_of};

/// The queue: a ring of slots that are written in place, because entries may be large.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Fifo<T: Payload> {
    /// Those that are free hold what was last in them.
    slots: Box<[T]>,
    /// Slot of the oldest entry; of an empty queue the one behind the last.
    head: usize,
    /// Slot of the next entry.
    tail: usize,
    level: usize,
    shape: T::Shape,
    /// Shown in free slots.
    empty: T,
    /// Entries that come and that leave in one cycle at most.
    moves: u32,
}

impl<T: Payload> Fifo<T> {
    /// An empty queue of `depth` slots.
    #[must_use]
    pub fn new(depth: u32, shape: T::Shape) -> Self {
        let slots = vec![T::default(); depth as usize].into_boxed_slice();
        Self { head: slots.len(), slots, tail: 0, level: 0, shape, empty: T::default(), moves: 1 }
    }

    /// The same where so many entries come and leave in one cycle.
    #[must_use]
    pub fn moving(self, moves: u32) -> Self {
        Self { moves, ..self }
    }

    /// True if it has a free slot.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.level < self.slots.len()
    }

    /// Free slots.
    #[must_use]
    pub fn room(&self) -> usize {
        self.slots.len() - self.level
    }

    /// True if it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.level == 0
    }

    /// Entries held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.level
    }

    /// The oldest entry.
    #[must_use]
    pub fn front(&self) -> Option<&T> {
        self.slots.get(self.head)
    }

    /// The entry behind the oldest.
    #[must_use]
    pub fn second(&self) -> Option<&T> {
        if self.level > 1 { self.slots.get(self.after(self.head)) } else { None }
    }

    /// The oldest entry, to be changed in place.
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.slots.get_mut(self.head)
    }

    /// The entries from the oldest to the youngest, for searches and reports.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        (0..self.level).map(|place| &self.slots[self.slot(place)])
    }

    /// Adds an entry.
    ///
    /// # Panics
    /// If the queue is full: its owner must look first.
    pub fn push(&mut self, entry: T) {
        self.push_with(|slot| *slot = entry);
    }

    /// Adds an entry that is formed in its slot: `form` finds an old entry there and sets every
    /// field of it.
    ///
    /// # Panics
    /// If the queue is full: its owner must look first.
    #[inline]
    pub fn push_with(&mut self, form: impl FnOnce(&mut T)) {
        assert!(self.has_room(), "push to a full queue of {}", self.slots.len());
        form(&mut self.slots[self.tail]);
        if self.level == 0 {
            self.head = self.tail;
        }
        self.tail = self.after(self.tail);
        self.level += 1;
    }

    /// Takes the oldest entry.
    pub fn pop(&mut self) -> Option<T> {
        let entry = self.front()?.clone();
        self.drop_front();
        Some(entry)
    }

    /// Drops the oldest entry, if there is one: for those who have read it where it stands.
    pub fn drop_front(&mut self) {
        if self.level > 0 {
            self.level -= 1;
            self.head = if self.level == 0 { self.slots.len() } else { self.after(self.head) };
        }
    }

    /// The slot after a slot in the ring.
    fn after(&self, slot: usize) -> usize {
        if slot + 1 == self.slots.len() { 0 } else { slot + 1 }
    }

    /// The slot of an entry by its place from the oldest on.
    fn slot(&self, place: usize) -> usize {
        let slot = self.head + place;
        if slot < self.slots.len() { slot } else { slot - self.slots.len() }
    }

    /// Bits of an entry.
    #[must_use]
    pub fn width(&self) -> u32 {
        width_of::<T>(&self.shape)
    }

    /// Lists the level, every slot, the oldest entry as slot 0, and what moves them.
    pub fn describe(&self, to: &mut dyn Describe) {
        // The entries shift as they leave: where the ring begins is no state.
        let Self { slots, head: _, tail: _, level, shape, empty, moves } = self;
        to.sized("level", *level as u64, usize::BITS - slots.len().leading_zeros());
        to.entries("slot", 0..slots.len(), |place, to| {
            let entry = if place < *level { &slots[self.slot(place)] } else { empty };
            entry.fields(shape, to);
        });
        // Each slot takes the entry behind it, as many places as leave, or a new one.
        let places = slots.len() as u32;
        to.logic("shift", Logic::Mux { ways: 1 + moves, width: places * self.width() });
        to.logic("place", Logic::Decoder { outputs: places });
        if *moves > 1 {
            to.logic("new", Logic::Mux { ways: *moves, width: places * self.width() });
        }
        to.logic("level", Logic::Counter { width: usize::BITS - slots.len().leading_zeros() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, Default, Hash, PartialEq, Serialize, Deserialize, Payload)]
    struct Word(#[payload(name = "value")] u8);

    #[test]
    fn entries_leave_in_the_order_in_which_they_came() {
        let mut queue = Fifo::new(2, ());
        queue.push(Word(1));
        queue.push(Word(2));
        assert!(!queue.has_room());
        assert_eq!(queue.pop(), Some(Word(1)));
        queue.push(Word(3));
        let left: Vec<u8> = queue.iter().map(|word| word.0).collect();
        assert_eq!(left, [2, 3]);
    }

    #[test]
    fn a_queue_that_ran_empty_shows_nothing_and_goes_on_where_it_was() {
        let mut queue = Fifo::new(2, ());
        queue.push(Word(1));
        queue.drop_front();
        assert_eq!((queue.front(), queue.is_empty()), (None, true));
        assert_eq!(queue.front_mut(), None);
        assert_eq!(queue.pop(), None);
        queue.push(Word(2));
        queue.push(Word(3));
        assert_eq!((queue.pop(), queue.pop(), queue.is_empty()), (Some(Word(2)), Some(Word(3)), true));
    }

    #[test]
    fn the_entry_behind_the_oldest_is_seen_across_the_end_of_the_ring() {
        let mut queue = Fifo::new(2, ());
        assert_eq!((queue.second(), queue.room()), (None, 2));
        queue.push(Word(1));
        assert_eq!((queue.second(), queue.room()), (None, 1));
        queue.push(Word(2));
        assert_eq!(queue.second(), Some(&Word(2)));
        queue.drop_front();
        queue.push(Word(3));
        assert_eq!((queue.second(), queue.room()), (Some(&Word(3)), 0));
    }

    #[test]
    fn entries_formed_in_their_slots_go_round_the_ring() {
        let mut queue: Fifo<Word> = Fifo::new(3, ());
        for value in 0..10 {
            queue.push_with(|slot| slot.0 = value);
            if value >= 2 {
                let held: Vec<u8> = queue.iter().map(|word| word.0).collect();
                assert_eq!(held, [value - 2, value - 1, value]);
                queue.drop_front();
            }
        }
        assert_eq!(queue.front(), Some(&Word(8)));
    }

    #[test]
    #[should_panic(expected = "push to a full queue of 1")]
    fn a_push_without_room_is_a_breach() {
        let mut queue = Fifo::new(1, ());
        queue.push(Word(1));
        queue.push(Word(2));
    }
}
