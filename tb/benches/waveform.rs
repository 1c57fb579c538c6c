//! Benchmark of waveform recording, for 16 hardware blocks with 256 registers each. It reports throughput in
//! registers per second (criterion "elements"). Run with `cargo bench -p tb --bench waveform`.

use std::io;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use rtl::kernel::{BlockId, Blocks, Clocks, Describe, DescribeExt, Edge, FieldsExt, Mode, Simulator, Sleep};
use warpsieve::readers::{ChangedBlocks, WaveSpec, Waveform};
use waves::scope::Glob;

const BLOCKS: usize = 16;
const REGISTERS: usize = 256;
const CYCLES: usize = 200;

/// Hardware block that consists of registers only. At every clock edge, either all registers change (`step`
/// is nonzero) or none changes (`step` is zero).
struct Registers {
    values: Vec<[u32; REGISTERS]>,
    step: u32,
}

impl Blocks for Registers {
    fn population(&self) -> Vec<u8> {
        vec![BLOCKS as u8]
    }
    fn eval(&mut self, block: BlockId, _: &mut Edge<'_>) -> Sleep {
        for value in &mut self.values[usize::from(block.slot)] {
            *value = value.wrapping_add(self.step);
        }
        Sleep::Next
    }
    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        to.parts("block", u32::from(block.slot), |to| {
            for (group, values) in (0..).zip(self.values[usize::from(block.slot)].as_chunks::<8>().0) {
                to.parts("group", group, |to| {
                    for (name, &value) in ["a", "b", "c", "d", "e", "f", "g", "h"].into_iter().zip(values) {
                        to.bits(name, value);
                    }
                });
            }
        });
    }
}

fn waveform(c: &mut Criterion) {
    let mut group = c.benchmark_group("waveform");
    group.throughput(Throughput::Elements((CYCLES * BLOCKS * REGISTERS) as u64));
    let clocks = Clocks::new(&[1_000_000]).expect("one clock has a tick");
    for (name, step, glob) in [
        ("changed", 0x9e37_79b1, "**.group[*]"),
        ("unchanged", 0, "**.group[*]"),
        ("one of 16 blocks", 0x9e37_79b1, "block3.group[*]"),
        ("one of 32 groups", 0x9e37_79b1, "**.group[5]"),
    ] {
        let globs: [Glob; 1] = [glob.parse().expect("a glob")];
        let start = || {
            let blocks = Registers { values: vec![[1; REGISTERS]; BLOCKS], step };
            let spec = WaveSpec { globs: &globs, ..WaveSpec::of(&clocks, 0) };
            let wave = Waveform::new(io::empty(), &blocks, spec).expect("the glob chooses registers");
            let sim = Simulator::new(clocks.periods(), &blocks, Mode::default());
            (blocks, sim, wave)
        };
        let run = |(mut blocks, mut sim, mut wave): (Registers, Simulator, Waveform<io::Empty>)| {
            let mut changed = ChangedBlocks::none(&blocks);
            for _ in 0..CYCLES {
                sim.step(&mut blocks);
                changed.take(&mut sim);
                wave.sample(sim.tick(), &changed, &blocks).expect("a sink takes everything");
            }
            wave.bytes()
        };
        group.bench_function(name, |b| b.iter_batched(start, run, BatchSize::LargeInput));
    }
}

criterion_group!(benches, waveform);
criterion_main!(benches);
