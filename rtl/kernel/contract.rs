//! # Contracts
//! What blocks promise to each other and to their memories: no more accesses to an array in a cycle than it has ports,
//! nothing pushed into a channel that is not ready or popped from one that shows nothing, no value wider than its field, and no
//! reads and writes that meet where that is forbidden. At an [`Edge`] a breach is a panic. At a [`FastEdge`] nobody looks, which
//! saves a run up to a twelfth of its instructions; without a breach both do the same, and both count the uses of ports.
//!
//! What most instructions of a run are spent in takes [`AnyEdge`] and is compiled for both. What is rare or stands behind a
//! trait object takes an [`Edge`], and is checked in every run. So is what a block asserts of its own state.

use super::Edge;

/// A clock edge as a block sees it, with or without checks.
pub trait AnyEdge {
    /// Whether a breach of a contract is looked for: the same for all edges of a type.
    fn is_checked(&self) -> bool;

    /// The edge for whoever checks always.
    fn edge(&self) -> &Edge<'_>;

    /// Hands on the edge to somebody who checks always, and acts in it.
    fn with_edge<R>(&mut self, act: impl FnOnce(&mut Edge<'_>) -> R) -> R;

    /// Time in ticks of the common time base.
    #[inline(always)]
    fn tick(&self) -> u64 {
        self.edge().tick
    }

    /// Cycle of the block's own clock.
    #[inline(always)]
    fn cycle(&self) -> u64 {
        self.edge().cycle
    }
}

impl AnyEdge for Edge<'_> {
    #[inline(always)]
    fn is_checked(&self) -> bool {
        true
    }

    #[inline(always)]
    fn edge(&self) -> &Edge<'_> {
        self
    }

    #[inline(always)]
    fn with_edge<R>(&mut self, act: impl FnOnce(&mut Edge<'_>) -> R) -> R {
        act(self)
    }
}

/// A clock edge at which nobody looks for breaches.
#[derive(Debug)]
pub struct FastEdge<'k>(Edge<'k>);

impl<'k> FastEdge<'k> {
    /// The same edge without checks.
    #[must_use]
    pub fn new(edge: Edge<'k>) -> Self {
        Self(edge)
    }
}

impl AnyEdge for FastEdge<'_> {
    #[inline(always)]
    fn is_checked(&self) -> bool {
        false
    }

    #[inline(always)]
    fn edge(&self) -> &Edge<'_> {
        &self.0
    }

    #[inline(always)]
    fn with_edge<R>(&mut self, act: impl FnOnce(&mut Edge<'_>) -> R) -> R {
        act(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{
        Accesses, Array, ArraySpec, ArrayView, BlockId, Blocks, Collide, Describe, Due, Mode, Payload, Seats,
        Simulator, Sleep, Storage, Wake,
    };

    #[derive(Clone, Debug, Default, Hash, serde::Serialize, serde::Deserialize, Payload)]
    struct Word(#[payload(name = "value", width = 4)] u8);

    fn memory(collide: Collide) -> Array<Word> {
        let (path, storage) = ("sm0.words".to_owned(), Storage::Sram);
        Array::new(ArraySpec { path, storage, rows: 4, columns: 1, reads: 1, writes: 1, collide }, ())
    }

    fn read_twice(memory: &Array<Word>, at: &impl AnyEdge) {
        let _ = (memory.read(at, 0), memory.read(at, 1));
    }

    #[test]
    fn uses_of_ports_are_counted_where_nobody_looks_for_too_many() {
        let mut wake = Wake::new(&[1]);
        let at = FastEdge::new(Edge::new(7, 7, &mut wake));
        let mut memory = memory(Collide::Forbidden);
        read_twice(&memory, &at);
        memory.write(&at, 1, 0, Word(99));
        memory.take_writes(&at, 2);
        assert_eq!(memory.accesses(), Accesses { reads: 2, writes: 3 });
    }

    #[test]
    #[should_panic(expected = "cycle 7 (tick 7), sm0.words: read 2 in one cycle, 1 read ports")]
    fn whoever_checks_always_does_so_behind_an_edge_that_does_not() {
        let mut wake = Wake::new(&[1]);
        let mut at = FastEdge::new(Edge::new(7, 7, &mut wake));
        let memory = memory(Collide::Old);
        read_twice(&memory, &at);
        at.with_edge(|at| read_twice(&memory, at));
    }

    /// A block that knows both ways, and notes which it is asked for.
    #[derive(Default)]
    struct Both(Vec<bool>);

    impl Both {
        fn note(&mut self, at: &impl AnyEdge) -> Sleep {
            self.0.push(at.is_checked());
            Sleep::Next
        }
    }

    impl Blocks for Both {
        fn population(&self) -> Vec<u8> {
            vec![1]
        }
        fn eval(&mut self, _: BlockId, at: &mut Edge<'_>) -> Sleep {
            self.note(at)
        }
        fn eval_due_fast(&mut self, due: &mut Due, at: &mut FastEdge<'_>) {
            self.note(at);
            due.once_more(Seats::of(0, 1), 1);
        }
        fn describe(&self, _: BlockId, _: &mut dyn Describe) {}
    }

    #[test]
    fn all_modes_check_but_the_fast_one() {
        let looked = |mode| {
            let mut block = Both::default();
            let mut sim = Simulator::new(&[1], &block, mode);
            (0..3).for_each(|_| assert!(sim.step(&mut block).is_some()));
            block.0
        };
        assert_eq!(looked(Mode::FAST), [false; 3]);
        for mode in [
            Mode::default(),
            Mode { digest: true, ..Mode::FAST },
            Mode { lint: true, ..Mode::FAST },
            Mode { evaluate_all: true, ..Mode::FAST },
            Mode { shuffle: Some(1), ..Mode::FAST },
        ] {
            assert_eq!(looked(mode), [true; 3], "{mode:?}");
        }
    }
}
