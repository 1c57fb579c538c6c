//! Benchmark of whole kernels on the whole machine, with checks and waveforms off. The time includes reading
//! the launch file. It reports throughput in core cycles per second (criterion "elements"). Run with `cargo
//! bench -p tb --bench machine`.

use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rtl::kernel::Mode;
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::run::{RunOptions, RunReport, Verdict, run};

fn machine(c: &mut Criterion) {
    let request = Request { machine: "fermi".to_owned(), ..Request::default() };
    let resolved = ResolvedMachine::new(&request).expect("the preset is valid");
    let options = RunOptions { mode: Mode::FAST, ..RunOptions::default() };
    let mut group = c.benchmark_group("machine");
    group.sample_size(20).measurement_time(Duration::from_secs(10));
    for kernel in ["syrk", "vadd"] {
        let launch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels").join(kernel).join("launch.toml");
        let once = || -> RunReport {
            run(&launch, &resolved.config, &options, &mut |_| {}).expect("a kernel of the repository")
        };
        let report = once();
        assert_eq!(report.verdict, Verdict::Passed, "{kernel}");
        group.throughput(Throughput::Elements(report.counters.cycles));
        group.bench_function(kernel, |b| b.iter(once));
    }
    group.finish();
}

criterion_group!(benches, machine);
criterion_main!(benches);
