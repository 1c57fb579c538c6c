//! # Running a testbench in every evaluation mode of the simulator
//! A hardware model is correct only if its results do not depend on how the simulator evaluates it. There are
//! several modes: hardware blocks sleep where they can, all blocks are evaluated at every clock edge, or
//! blocks are evaluated in a shuffled order.

use rtl::kernel::{BlockId, Blocks, Mode};

use super::{BenchSimulator, DescriptionSummary};

/// Testbench: a device under test with the sources, sinks and links connected to it.
pub trait Bench: Blocks {
    /// Returns the clock period of every clock domain, in ticks.
    fn periods(&self) -> Vec<u32>;
    /// Returns a hash of all payloads sent and received, with their cycles (`Source::digest`,
    /// `Sink::digest`).
    fn history(&self) -> u64;
    /// Called once, at the end of the run in tick `_tick`. Adds to the statistics the cycles of those stalls
    /// that have not ended.
    fn settle(&mut self, _tick: u64) {}
}

/// Runs a testbench until no hardware block needs further evaluation. Returns the tick of the last clock
/// edge.
///
/// # Panics
/// Panics if a block still needs evaluation after `ticks`.
pub fn run<B: Bench>(bench: &mut B, mode: Mode, ticks: u64) -> u64 {
    let (tick, _) = run_with_digest(bench, mode, ticks);
    tick
}

/// Runs a testbench in every evaluation mode of the simulator. Returns the testbench that ran in the default
/// mode.
///
/// # Panics
/// Panics if two modes differ in a payload, in the final state or in a statistic, or if a run does not end.
pub fn run_in_all_modes<B: Bench>(build: impl Fn() -> B, ticks: u64) -> B {
    let usual = Mode { digest: true, ..Mode::default() };
    let mut reference = build();
    let (_, state) = run_with_digest(&mut reference, usual, ticks);
    let stats = statistics(&reference);
    let everyone = Mode { evaluate_all: true, ..usual };
    let shuffled = Mode { shuffle: Some(state), ..usual };
    let lint = Mode { lint: true, shuffle: Some(!state), ..usual };
    for mode in [everyone, shuffled, lint] {
        let mut bench = build();
        let (_, other) = run_with_digest(&mut bench, mode, ticks);
        assert_eq!(bench.history(), reference.history(), "beats or their times differ under {mode:?}");
        assert_eq!(statistics(&bench), stats, "statistics differ under {mode:?}");
        assert_eq!(other, state, "the final state differs under {mode:?}");
    }
    reference
}

fn run_with_digest<B: Bench>(bench: &mut B, mode: Mode, ticks: u64) -> (u64, u64) {
    let mut sim = BenchSimulator::new(&bench.periods(), bench, mode);
    while let Some(tick) = sim.step(bench) {
        assert!(tick <= ticks, "still moving at tick {tick}, expected rest by {ticks}");
    }
    bench.settle(sim.tick());
    (sim.tick(), sim.state_digest(bench))
}

/// Returns the statistics of every hardware block. The blocks are sorted by clock domain, and by number
/// within a domain.
fn statistics(bench: &impl Bench) -> Vec<(BlockId, &'static str, u64)> {
    let mut all = Vec::new();
    for (domain, &count) in bench.population().iter().enumerate() {
        for slot in 0..count {
            let block = BlockId { domain: domain as u8, slot };
            let listed = DescriptionSummary::of(|to| bench.describe(block, to));
            all.extend(listed.stats.into_iter().map(|(name, count)| (block, name, count)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::{CycleTable, Sink, Source, Stall, assert_table};
    use rtl::kernel::{Block, Chan, Describe, DescribeExt, Edge, Fields, FieldsExt, Payload, Sleep, digest_of, link};

    #[derive(Clone, Debug, Default, Hash, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Word(u8);

    impl Payload for Word {
        type Shape = ();
        fn fields<F: Fields + ?Sized>(&self, (): &(), to: &mut F) {
            let Self(value) = self;
            to.bits("value", *value);
        }
    }

    const SOURCE: BlockId = BlockId { domain: 0, slot: 0 };
    const SINK: BlockId = BlockId { domain: 1, slot: 0 };
    const PERIODS: [u32; 2] = [10, 15];

    struct Wire {
        source: Source<Word>,
        chan: Chan<Word>,
        sink: Sink<Word>,
    }

    impl Wire {
        fn new(sent: Stall, taken: Stall) -> Self {
            let chan = link("wire", 2, &PERIODS, SOURCE, SINK, ());
            Self { source: Source::new((0..40).map(Word), sent), chan, sink: Sink::new(taken) }
        }
    }

    impl Blocks for Wire {
        fn population(&self) -> Vec<u8> {
            vec![1, 1]
        }
        fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
            if block == SOURCE { self.source.eval(self.chan.tx(), at) } else { self.sink.eval(self.chan.rx(), at) }
        }
        fn describe(&self, block: BlockId, to: &mut dyn Describe) {
            match block {
                SOURCE => to.part("source", |to| self.source.describe(to)),
                _ => to.part("sink", |to| self.sink.describe(to)),
            }
        }
    }

    impl Bench for Wire {
        fn periods(&self) -> Vec<u32> {
            PERIODS.to_vec()
        }
        fn history(&self) -> u64 {
            digest_of(&(self.source.digest(), self.sink.digest()))
        }
    }

    #[test]
    fn a_wire_between_two_clocks_delivers_everything_in_order_however_it_is_evaluated() {
        crate::kit::for_each_seed(20, |seed| {
            let stall = |seed| Stall::Random { seed, percent: 40, longest: 9 };
            let wire = run_in_all_modes(|| Wire::new(stall(seed), stall(!seed)), 100_000);
            let received: Vec<u8> = wire.sink.received().iter().map(|(_, word)| word.0).collect();
            assert_eq!(received, (0..40).collect::<Vec<u8>>());
        });
    }

    #[test]
    fn a_stalled_wire_reads_as_a_cycle_table() {
        let mut wire = Wire::new(Stall::NotBefore(vec![2, 2, 8]), Stall::NotBefore(vec![5]));
        wire.source = Source::new((0..3).map(Word), Stall::NotBefore(vec![2, 2, 8]));
        run(&mut wire, Mode::default(), 1_000);
        let mut table = CycleTable::new();
        table.column("source", wire.source.sent().iter().map(|(cycle, word)| (*cycle, word.0)));
        table.column("sink", wire.sink.received().iter().map(|(cycle, word)| (*cycle, word.0)));
        assert_table(
            &table,
            "cycle  source  sink
             2      0       .
             3      1       .
             4      .       .
             5      .       0
             6      .       1
             7      .       2
             8      .       .
             9      2       .",
        );
    }

    #[test]
    #[should_panic(expected = "still moving at tick")]
    fn a_run_that_does_not_end_is_reported() {
        run(&mut Wire::new(Stall::Never, Stall::Never), Mode::default(), 20);
    }
}
