//! # Queue of registers
//! Bounded first-in first-out queue of registers inside a hardware block. A push and a pop in the same cycle
//! take effect in the order in which the model calls them. If the pop is called first, even a full queue
//! accepts a new entry in this cycle. The hardware description shows a free slot with its reset value, so
//! that the waveform of an empty queue does not change.

use serde::{Deserialize, Serialize};

use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic, Payload, width_of};

/// FIFO queue, stored as a ring buffer. Entries are written in place, because they may be large.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Fifo<T: Payload> {
    /// Slots of the ring buffer; a free slot still contains the entry that was popped from it.
    slots: Box<[T]>,
    /// Slot number of the oldest entry. If the queue is empty, the value is the number of slots, which is not
    /// a valid slot number.
    head: usize,
    /// Number of the slot that the next pushed entry will occupy.
    tail: usize,
    level: usize,
    shape: T::Shape,
    /// Reset value of an entry. The hardware description shows free slots with this value.
    empty: T,
    /// Maximum number of pushes per cycle, and also the maximum number of pops per cycle.
    moves: u32,
}

impl<T: Payload> Fifo<T> {
    /// Creates an empty queue with `depth` slots.
    #[must_use]
    pub fn new(depth: u32, shape: T::Shape) -> Self {
        let slots = vec![T::default(); depth as usize].into_boxed_slice();
        Self { head: slots.len(), slots, tail: 0, level: 0, shape, empty: T::default(), moves: 1 }
    }

    /// Sets the maximum number of pushes per cycle, and of pops per cycle, to `moves`. Only the area estimate
    /// uses this number.
    #[must_use]
    pub fn moving(self, moves: u32) -> Self {
        Self { moves, ..self }
    }

    /// True if the queue has a free slot.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.level < self.slots.len()
    }

    /// Returns the number of free slots of the queue.
    #[must_use]
    pub fn room(&self) -> usize {
        self.slots.len() - self.level
    }

    /// True if the queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.level == 0
    }

    /// Returns the number of entries in the queue.
    #[must_use]
    pub fn len(&self) -> usize {
        self.level
    }

    /// Returns the oldest entry of the queue.
    #[must_use]
    pub fn front(&self) -> Option<&T> {
        self.slots.get(self.head)
    }

    /// Returns the second oldest entry of the queue.
    #[must_use]
    pub fn second(&self) -> Option<&T> {
        if self.level > 1 { self.slots.get(self.after(self.head)) } else { None }
    }

    /// Returns the oldest entry of the queue for modification.
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.slots.get_mut(self.head)
    }

    /// Returns the entries from the oldest to the youngest, for searches and reports.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        (0..self.level).map(|place| &self.slots[self.slot(place)])
    }

    /// Appends an entry to the queue.
    ///
    /// # Panics
    /// Panics if the queue is full: the owner must check `has_room` first.
    pub fn push(&mut self, entry: T) {
        self.push_with(|slot| *slot = entry);
    }

    /// Appends an entry that `form` builds directly in its slot. The slot contains an old entry, all fields
    /// of which `form` must overwrite.
    ///
    /// # Panics
    /// Panics if the queue is full: the owner must check `has_room` first.
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

    /// Removes the oldest entry from the queue and returns it.
    pub fn pop(&mut self) -> Option<T> {
        let entry = self.front()?.clone();
        self.drop_front();
        Some(entry)
    }

    /// Removes the oldest entry, if there is one, without returning a copy of it.
    pub fn drop_front(&mut self) {
        if self.level > 0 {
            self.level -= 1;
            self.head = if self.level == 0 { self.slots.len() } else { self.after(self.head) };
        }
    }

    /// Returns the number of the slot after `slot` in the ring buffer; slot 0 follows the last slot.
    fn after(&self, slot: usize) -> usize {
        if slot + 1 == self.slots.len() { 0 } else { slot + 1 }
    }

    /// Returns the slot number of the entry at position `place`, where position 0 is the oldest entry.
    fn slot(&self, place: usize) -> usize {
        let slot = self.head + place;
        if slot < self.slots.len() { slot } else { slot - self.slots.len() }
    }

    /// Returns the width of an entry in bits.
    #[must_use]
    pub fn width(&self) -> u32 {
        width_of::<T>(&self.shape)
    }

    /// Adds to the hardware description: the fill level, all slots and the shift logic. Slot 0 holds the
    /// oldest entry.
    pub fn describe(&self, to: &mut dyn Describe) {
        // The hardware shifts entries toward slot 0, so the position of the oldest entry in the ring buffer
        // is not hardware state.
        let Self { slots, head: _, tail: _, level, shape, empty, moves } = self;
        to.sized("level", *level as u64, usize::BITS - slots.len().leading_zeros());
        to.entries("slot", 0..slots.len(), |place, to| {
            let entry = if place < *level { &slots[self.slot(place)] } else { empty };
            entry.fields(shape, to);
        });
        // When n entries are popped, each slot gets the entry from the slot whose number is higher by n, or a
        // newly pushed entry.
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
