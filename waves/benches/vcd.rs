//! Measures the cost of a value change, and the cost of a sample that does not change a value. The throughput
//! is given in elements per second; an element is a value change. The group `fst` measures the compressed
//! format, including the compression of its sections.
//!
//! `cargo bench -p warpsieve-waves --bench vcd`

use std::hint::black_box;
use std::io;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use waves::atomic_file::AtomicFile;
use waves::dump::{Dump, Format};
use waves::scope::Selection;
use waves::signal::{Display, Kind, SignalId, Tree, TreeBuilder};
use waves::sink::Sink;
use waves::vcd::{TimeUnit, Timescale, VcdWriter};

/// Number of signals of each width. As in a dump of a few SMs, their VCD identifier codes have two or three
/// letters.
const SIGNALS: usize = 4000;
const CYCLES: u64 = 50;

const PICOSECOND: fn() -> Timescale = || Timescale::new(1, TimeUnit::PS);

fn describe(width: u32) -> (Tree, Vec<SignalId>) {
    let mut build = TreeBuilder::new("machine");
    let display = if width == 1 { Display::Bit } else { Display::Hex };
    let ids = (0..SIGNALS).map(|n| build.signal(&format!("s{n}"), width, Kind::Reg, display)).collect();
    (build.finish(), ids)
}

fn writer(width: u32) -> (VcdWriter<io::Sink>, Vec<SignalId>) {
    let (tree, ids) = describe(width);
    let dump = VcdWriter::new(io::sink(), &tree, &Selection::default_of(&tree), PICOSECOND());
    let mut dump = dump.expect("a sink takes everything");
    dump.time(0).expect("a sink takes everything");
    (dump, ids)
}

/// Returns the value of a signal with `width` bits in a cycle. It differs from the value in the previous
/// cycle.
fn value(width: u32, cycle: u64, signal: usize) -> u64 {
    let mixed = (cycle * SIGNALS as u64 + signal as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (64 - width)) & !1 | cycle & 1
}

fn changes(c: &mut Criterion) {
    let mut group = c.benchmark_group("vcd");
    group.throughput(Throughput::Elements(CYCLES * SIGNALS as u64));
    for width in [1, 8, 32, 64] {
        let run = |same: bool| {
            move |(mut dump, ids): (VcdWriter<io::Sink>, Vec<SignalId>)| -> io::Result<u64> {
                for cycle in 1..=CYCLES {
                    dump.time(cycle)?;
                    for (n, &id) in ids.iter().enumerate() {
                        dump.sample(id, black_box(if same { 1 } else { value(width, cycle, n) }))?;
                    }
                }
                Ok(dump.bytes())
            }
        };
        group.bench_function(format!("change/{width}"), |b| {
            b.iter_batched(|| writer(width), run(false), BatchSize::LargeInput)
        });
        if width == 32 {
            group
                .bench_function("unchanged/32", |b| b.iter_batched(|| writer(width), run(true), BatchSize::LargeInput));
        }
    }
    group.bench_function("change/1024", |b| {
        b.iter_batched(
            || writer(1024),
            |(mut dump, ids)| -> io::Result<u64> {
                let mut line = [0x5555_5555_5555_5555; 16];
                for cycle in 1..=CYCLES {
                    dump.time(cycle)?;
                    line[15] = value(64, cycle, 0) | 1 << 63;
                    for &id in &ids {
                        dump.sample_wide(id, black_box(&line))?;
                    }
                }
                Ok(dump.bytes())
            },
            BatchSize::LargeInput,
        )
    });
    // The benchmark `file/32` writes to a file through the file system's cache, as a simulation does.
    let folder = tempfile::tempdir().expect("a temporary folder");
    group.bench_function("file/32", |b| {
        b.iter_batched(
            || {
                let (tree, ids) = describe(32);
                let path = folder.path().join("a.vcd");
                let dump = VcdWriter::create(&path, &tree, &Selection::default_of(&tree), PICOSECOND());
                (dump.expect("room for a dump"), ids)
            },
            |(mut dump, ids)| -> io::Result<u64> {
                for cycle in 0..CYCLES {
                    dump.time(cycle)?;
                    for (n, &id) in ids.iter().enumerate() {
                        dump.sample(id, black_box(value(32, cycle, n)))?;
                    }
                }
                Ok(dump.bytes())
            },
            BatchSize::LargeInput,
        )
    });
    group.finish();
}

/// Measures FST with enough cycles to fill more than one section, so that the cost of compression is
/// included.
fn measure_compressed(c: &mut Criterion) {
    const LONG: u64 = 10 * CYCLES;
    let mut group = c.benchmark_group("fst");
    group.sample_size(10).throughput(Throughput::Elements(LONG * SIGNALS as u64));
    let folder = tempfile::tempdir().expect("a temporary folder");
    for width in [1, 32] {
        group.bench_function(format!("file/{width}"), |b| {
            b.iter_batched(
                || {
                    let (tree, ids) = describe(width);
                    let out = AtomicFile::create(&folder.path().join("a.fst")).expect("room for a dump");
                    let dump = Dump::new(out, Format::Fst, &tree, &Selection::default_of(&tree), PICOSECOND());
                    (dump.expect("room for a dump"), ids)
                },
                |(mut dump, ids)| -> io::Result<AtomicFile> {
                    for cycle in 0..LONG {
                        dump.time(cycle)?;
                        for (n, &id) in ids.iter().enumerate() {
                            dump.sample(id, black_box(value(width, cycle, n)))?;
                        }
                    }
                    dump.into_inner()
                },
                BatchSize::LargeInput,
            )
        });
    }
    group.finish();
}

criterion_group!(benches, changes, measure_compressed);
criterion_main!(benches);
