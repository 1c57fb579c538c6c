//! # Queue of registers
//! A bounded first-in first-out queue inside a block. A free slot holds the reset value, so that
//! a waveform is quiet where the queue is empty. Push and pop in one `eval` take effect in the
//! order in which they are called: popping first lets a full queue take a new entry in the cycle
//! in which it gives one away.

use std::collections::VecDeque;

use crate::kernel::{Describe, DescribeExt, FieldsExt, Payload};

/// The queue.
#[derive(Clone, Debug)]
pub struct Fifo<T: Payload> {
    entries: VecDeque<T>,
    depth: usize,
    shape: T::Shape,
    /// Shown in free slots.
    empty: T,
}

impl<T: Payload> Fifo<T> {
    /// An empty queue of `depth` slots.
    #[must_use]
    pub fn new(depth: u32, shape: T::Shape) -> Self {
        let depth = depth as usize;
        Self { entries: VecDeque::with_capacity(depth), depth, shape, empty: T::default() }
    }

    /// True if it has a free slot.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.entries.len() < self.depth
    }

    /// True if it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Entries held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The oldest entry.
    #[must_use]
    pub fn front(&self) -> Option<&T> {
        self.entries.front()
    }

    /// The oldest entry, to be changed in place.
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.entries.front_mut()
    }

    /// The entries from the oldest to the youngest, for searches and reports.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.entries.iter()
    }

    /// Adds an entry.
    ///
    /// # Panics
    /// If the queue is full: its owner must look first.
    pub fn push(&mut self, entry: T) {
        assert!(self.has_room(), "push to a full queue of {}", self.depth);
        self.entries.push_back(entry);
    }

    /// Takes the oldest entry.
    pub fn pop(&mut self) -> Option<T> {
        self.entries.pop_front()
    }

    /// Lists the level and every slot, the oldest entry as slot 0.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { entries, depth, shape, empty } = self;
        to.sized("level", entries.len() as u64, usize::BITS - depth.leading_zeros());
        for slot in 0..*depth {
            let entry = entries.get(slot).unwrap_or(empty);
            to.parts("slot", slot as u32, |to| entry.fields(shape, to));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Fields;

    #[derive(Clone, Debug, Default, Hash, PartialEq)]
    struct Word(u8);

    impl Payload for Word {
        type Shape = ();
        fn fields<F: Fields + ?Sized>(&self, (): &(), to: &mut F) {
            let Self(value) = self;
            to.bits("value", *value);
        }
    }

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
    #[should_panic(expected = "push to a full queue of 1")]
    fn a_push_without_room_is_a_breach() {
        let mut queue = Fifo::new(1, ());
        queue.push(Word(1));
        queue.push(Word(2));
    }
}
