//! # Contracts
//! Defines where the model checks the contracts (usage rules) of channels and memories. In one cycle,
//! accesses must not use more ports of a memory than exist, nor combine a read and a write where that is
//! forbidden. A hardware block must not push into a channel that is not ready, nor pop from a channel without
//! a visible beat. No value may be wider than its field. At an [`Edge`], a violation is a panic. At a
//! [`FastEdge`], nothing is checked, which saves up to a twelfth of the instructions that the simulator
//! executes in a run. Without a violation, both types of edge behave identically, and both count the uses of
//! ports.
//!
//! Code in which the simulator spends most of its time is generic over [`AnyEdge`] and compiled for both
//! types. Code that is rarely executed or is called through a trait object takes an [`Edge`] and is checked
//! in every run. Assertions of a hardware block about its own state are also checked in every run.

use super::Edge;

/// Clock edge at which a hardware block is evaluated, with or without contract checks.
pub trait AnyEdge {
    /// True if contract violations are detected at this edge; constant for each edge type.
    fn is_checked(&self) -> bool;

    /// Returns this edge as an [`Edge`], for code that always checks contracts.
    fn edge(&self) -> &Edge<'_>;

    /// Calls `act` with this edge as an [`Edge`], at which contracts are always checked.
    fn with_edge<R>(&mut self, act: impl FnOnce(&mut Edge<'_>) -> R) -> R;

    /// Returns the time in ticks of the common time base.
    #[inline(always)]
    fn tick(&self) -> u64 {
        self.edge().tick
    }

    /// Returns the cycle of the block's own clock.
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

/// Clock edge at which no contracts are checked.
#[derive(Debug)]
pub struct FastEdge<'k>(Edge<'k>);

impl<'k> FastEdge<'k> {
    /// Creates an edge without contract checks from `edge`.
    #[must_use]
    #[inline(always)]
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
        Accesses, Array, ArraySpec, ArrayView, BlockId, Blocks, Collide, Describe, Due, Mode, Payload, Simulator,
        Sleep, SlotMask, Storage, Wake,
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

    /// Hardware block that records at each evaluation whether the edge had contract checks.
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
            due.once_more(SlotMask::of(0, 1), 1);
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
