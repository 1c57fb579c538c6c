//! Microbenchmarks on our machine and on a real GPU: latency of dependent loads, and bandwidth of all SMs.

use input::read_text;
use miette::{IntoDiagnostic, Report, WrapErr, miette};
use serde_json::Value;

use super::{GPU, MACHINE};
use crate::page::Page;
use crate::runs::{Point, resolve_config};
use crate::{FigureError, Session};

/// Beginning of the names of sizes that take too long for quick mode.
const LONG: &str = "mb-";

const ABOUT_LATENCY: &str =
    "The same chains of dependent loads run on an H100 SXM and on the machine `hopper`, one thread of one SM at a time. The GPU's
cycles per load are from its clock register (`machines/silicon/data/h100-sxm/measure.jsonl`). Ours are the difference of two runs
of `machines/silicon/chase` or `machines/silicon/chase_shared`, the second of which has twice as many loads. The links of the machine have the
delays that make loads from the near half of the L2 and from DRAM as long as on the GPU; L1 and shared memory likewise.";

const ABOUT_BANDWIDTH: &str =
    "Two CTAs of 1,024 threads on each of 132 SMs read a range again and again, 16 bytes per thread, past the L1. The figures of an
H100 SXM are those of `l2_bandwidth` in `machines/silicon/data/h100-sxm/measure.jsonl`. Ours are from the difference of two runs of
`machines/silicon/read`, the second of which has twice as many rounds. No field of the machine was tuned to match them.";

/// Microbenchmark of a latency: text of the row, folder and size of the launch file, and the result of the GPU.
struct Chain {
    what: &'static str,
    launch: &'static str,
    size: &'static str,
    /// Number of loads that the second run has more than the first.
    loads: u32,
    gpu: Measured,
}

/// Result in the file of measurements: name of the benchmark, a key of the line and its value, and the key of the
/// result.
struct Measured {
    bench: &'static str,
    key: &'static str,
    value: &'static str,
    result: &'static str,
}

impl Measured {
    const fn of(bench: &'static str, key: &'static str, value: &'static str, result: &'static str) -> Self {
        Self { bench, key, value, result }
    }
}

impl Chain {
    /// Returns the chain through the lines of a range, whose size in MB on the GPU is `megabytes`.
    const fn of_range(what: &'static str, size: &'static str, megabytes: &'static str) -> Self {
        let gpu = Measured::of("l2_one_sm", "mb", megabytes, "chain_mean");
        Self { what, launch: "chase", size, loads: 65_536, gpu }
    }
}

const CHAINS: [Chain; 9] = [
    Chain {
        what: "L1 hit",
        launch: "chase",
        size: "l1",
        loads: 512,
        gpu: Measured::of("l1_latency", "op", "\"ca\"", "cycles"),
    },
    Chain {
        what: "shared memory",
        launch: "chase_shared",
        size: "",
        loads: 512,
        gpu: Measured::of("shared_latency", "stride_words", "1", "cycles"),
    },
    Chain {
        what: "L2 hit, 128 KB",
        launch: "chase",
        size: "l2",
        loads: 512,
        gpu: Measured::of("l2_latency", "lines", "1024", "cycles"),
    },
    Chain::of_range("lines of 8 MB", "mb-8", "8"),
    Chain::of_range("lines of 24 MB", "mb-24", "24"),
    Chain::of_range("lines of 32 MB", "mb-32", "32"),
    Chain::of_range("lines of 48 MB", "mb-48", "48"),
    Chain::of_range("lines of 64 MB", "mb-64", "64"),
    Chain {
        what: "DRAM, lines 4 KB apart",
        launch: "chase",
        size: "dram",
        loads: 4096,
        gpu: Measured::of("dram_latency", "what", "\"4 KB apart\"", "mean_of_16384"),
    },
];

/// Range whose bandwidth is measured.
struct Range {
    what: &'static str,
    /// Name of the size in the launch file.
    size: &'static str,
    /// Number of rows of 512 bytes that each warp reads more in the second run.
    rounds: u32,
    /// Size in MB of the range on the GPU.
    gpu: &'static str,
}

const RANGES: [Range; 3] = [
    Range { what: "L2, 4 MB", size: "mb-4", rounds: 16, gpu: "4" },
    Range { what: "L2, 24 MB", size: "mb-24", rounds: 16, gpu: "24" },
    Range { what: "DRAM", size: "mb-96", rounds: 8, gpu: "1024" },
];
/// Number of warps that read a range, and number of bytes that each reads at a time.
const WARPS: u32 = 264 * 32;
const ROW_BYTES: u32 = 512;

/// Lines of the file of measurements on the GPU.
struct Measurements(Vec<Value>);

impl Measurements {
    fn read(session: &Session) -> Result<Self, Report> {
        let path = session.kernels.join("../machines/silicon/data").join(GPU).join("measure.jsonl");
        let text = read_text(&path).into_diagnostic().wrap_err_with(|| path.display().to_string())?;
        let lines = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
        Ok(Self(lines.into_diagnostic().wrap_err_with(|| path.display().to_string())?))
    }

    /// Returns the first result of a benchmark on a line with the given value.
    fn find(&self, measured: &Measured) -> Result<f64, Report> {
        let &Measured { bench, key, value, result } = measured;
        let value: Value = serde_json::from_str(value).into_diagnostic()?;
        let is_line = |line: &&Value| line["bench"] == bench && line[key] == value && line.get(result).is_some();
        let found = self.0.iter().find(is_line).and_then(|line| line[result].as_f64());
        found.ok_or_else(|| miette!("measure.jsonl has no number `{result}` of `{bench}` with `{key}` = {value}"))
    }
}

/// Returns the cycles that the second run of each launch file takes more than the first. A launch file is given by
/// its folder and size.
fn differences(session: &Session, launches: &[(&str, &str)]) -> Result<Vec<f64>, FigureError> {
    let folder = session.kernels.join("../machines/silicon");
    let point = |launch: &str, size: &str| {
        let file = folder.join(launch);
        let file = if size.is_empty() { file } else { file.join(size) };
        Point::new(&file, MACHINE, &[], &[])
    };
    let twice = |size: &str| if size.is_empty() { "twice".to_owned() } else { format!("{size}-twice") };
    let points: Vec<_> =
        launches.iter().flat_map(|(launch, size)| [point(launch, size), point(launch, &twice(size))]).collect();
    let runs = session.runner.run_clocked(&points)?;
    let (pairs, _) = runs.as_chunks::<2>();
    Ok(pairs.iter().map(|[once, twice]| twice.counters.cycles.saturating_sub(once.counters.cycles) as f64).collect())
}

/// Formats how far our number is from that of the GPU.
fn deviation(ours: f64, gpu: f64) -> String {
    format!("{:+.1}", 100.0 * (ours / gpu - 1.0))
}

pub(super) fn draw_latency(session: &Session) -> Result<Page, FigureError> {
    let gpu = Measurements::read(session)?;
    let chains: Vec<_> = CHAINS
        .iter()
        .filter(|chain| !session.is_quick || !chain.size.starts_with(LONG) && chain.size != "dram")
        .collect();
    let launches: Vec<_> = chains.iter().map(|chain| (chain.launch, chain.size)).collect();
    let cycles = differences(session, &launches)?;
    let mut page = Page::new("silicon/latency", session.is_quick, "Latencies compared with an H100");
    page.text(ABOUT_LATENCY);
    let rows = chains.iter().zip(cycles).map(|(chain, cycles)| {
        let (ours, gpu) = (cycles / f64::from(chain.loads), gpu.find(&chain.gpu)?);
        Ok(vec![chain.what.to_owned(), format!("{gpu:.1}"), format!("{ours:.1}"), deviation(ours, gpu)])
    });
    let rows = rows.collect::<Result<Vec<_>, Report>>()?;
    page.numbers(&["loads", "cycles, H100", "ours", "deviation, %"], rows, 1)?;
    page.text(
        "Where the lines of one SM fill more than half of the L2, the GPU takes longer: its L2 has two halves, and an SM reaches only the
near half directly. A miss there costs 180 to 190 cycles more if the far half has the line, and the DRAM of the far half takes
750 cycles instead of 550. The L2 of `hopper` is one unit of the whole size, with the mean latency of DRAM.",
    );
    Ok(page)
}

pub(super) fn draw_bandwidth(session: &Session) -> Result<Page, FigureError> {
    let gpu = Measurements::read(session)?;
    let ranges = if session.is_quick { &RANGES[..1] } else { &RANGES[..] };
    let launches: Vec<_> = ranges.iter().map(|range| ("read", range.size)).collect();
    let cycles = differences(session, &launches)?;
    let khz = resolve_config(MACHINE, &[], &[])?.config.clock.core_khz;
    let mut page = Page::new("silicon/bandwidth", session.is_quick, "Bandwidth compared with an H100");
    page.text(ABOUT_BANDWIDTH);
    let rows = ranges.iter().zip(cycles).map(|(range, cycles)| {
        let bytes = f64::from(range.rounds) * f64::from(WARPS) * f64::from(ROW_BYTES);
        let ours = bytes / cycles * f64::from(khz) / 1e6;
        let gpu = gpu.find(&Measured::of("l2_bandwidth", "mb", range.gpu, "gb_per_s"))?;
        Ok(vec![range.what.to_owned(), format!("{gpu:.0}"), format!("{ours:.0}"), deviation(ours, gpu)])
    });
    let rows = rows.collect::<Result<Vec<_>, Report>>()?;
    page.numbers(&["range", "GB/s, H100", "ours", "deviation, %"], rows, 1)?;
    page.text(
        "A slice of `hopper` sends 64 bytes per cycle and no more than one packet at a time, and a
packet waits in the crossbar behind the packets of its slice to other SMs. From DRAM, `hopper` reads a range of 96 MB, of which LRU keeps
no line in the L2. The H100 keeps a part of such a range and reads it at 3,363 GB/s, so its figure is that of a range of 1,024 MB.",
    );
    Ok(page)
}
