//! Benchmark of the DRAM controller alone. It reports throughput in DRAM commands per second (criterion
//! "elements"). Run with `cargo bench -p tb --bench dram`.

use std::convert::Infallible;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rtl::machine::MachineConfig;
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::dram::alone::{self, RunResult};
use warpsieve::dram::trace::TraceRequest;

/// Number of DRAM requests per benchmark run.
const REQUESTS: u64 = 100_000;

fn once(config: &MachineConfig, trace: &[TraceRequest]) -> RunResult {
    let Ok(ended) = alone::run(config, trace, &AtomicUsize::new(0), &mut |_| Ok::<(), Infallible>(()));
    ended
}

fn dram(c: &mut Criterion) {
    let request = Request { machine: "gddr5-reference".to_owned(), ..Request::default() };
    let config = ResolvedMachine::new(&request).expect("the preset is valid").config;
    let trace = |request: &dyn Fn(u64) -> (bool, u64)| -> Vec<TraceRequest> {
        let requests = (0..REQUESTS).map(request);
        requests.map(|(write, address)| TraceRequest { cycle: 0, write, address }).collect()
    };
    let traces = [
        ("sequential", trace(&|i| (false, 64 * i))),
        ("two reads to a write", trace(&|i| (i % 3 == 2, i % 3 * 0x0100_5000 + i / 3 * 64))),
        // The multiplication by 40,503 spreads the accesses over 2^16 bursts in scattered order, so that
        // nearly all requests miss the open row.
        ("scattered", trace(&|i| (i % 3 == 2, ((i * 40_503) & 0xffff) * 64))),
    ];
    let mut group = c.benchmark_group("dram");
    group.sample_size(20).measurement_time(Duration::from_secs(5));
    for (name, trace) in &traces {
        let ended = once(&config, trace);
        assert_eq!(ended.unserved, 0, "{name}");
        group.throughput(Throughput::Elements(ended.commands));
        group.bench_function(*name, |b| b.iter(|| once(&config, trace)));
    }
    group.finish();
}

criterion_group!(benches, dram);
criterion_main!(benches);
