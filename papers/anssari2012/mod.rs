//! anssari2012 Figures 4.1 to 4.6: the sharing tracker and the bypass policy, on models of the caches without
//! timing. The submodules contain the same figures for the clocked machine, and the tables of the thesis.

mod claims;
mod stale;
mod table41;
mod table42;
mod table43;
mod timed;

use std::fs;
use std::path::Path;

use ::area::{Table43, Technology};
use golden::hybrid::{Config, Counts, L2Config, Protections, SharerList, TrackerConfig};
use golden::index::{Function, IndexError, SetIndex};
use golden::untimed::Geometry;
use miette::{Context, IntoDiagnostic, Report};

use crate::page::{Page, comma_separated};
use crate::runs::resolve_config;
use crate::table::{Table, row};
use crate::{Figure, FigureError, Session};
use warpsieve::launch::{Buffer, LaunchFile};
use warpsieve::run::{hybrid, ratio};

use claims::SystemResults;
use table41::table41;
use table42::table42;
use timed::write_page;

/// List of the figures and tables of anssari2012.
pub(super) const FIGURES: &[Figure] = &[
    Figure {
        name: "anssari2012/table4.3",
        description: "Area, leakage and energy of the published caches, compared with CACTI and our model",
        draw: |_| table43::table43(),
    },
    Figure {
        name: "anssari2012/fig4",
        description: "Sharing tracker and selective bypass without timing: DRAM traffic, miss rates and energy",
        draw: fig4,
    },
    Figure {
        name: "anssari2012/timed",
        description: "The same on the clocked machine, and the outcomes of the tracker's forwards",
        draw: write_page,
    },
    Figure {
        name: "anssari2012/table4.1",
        description: "The simulated system, read from the configuration of `hybrid`",
        draw: |_| table41(),
    },
    Figure {
        name: "anssari2012/stale",
        description: "Section 3.2, cycle by cycle: a unit reads stale data, and how the tracker prevents it",
        draw: stale::stale,
    },
    Figure {
        name: "anssari2012/table4.2",
        description: "Data that each benchmark shares, classified by rules",
        draw: table42,
    },
];

/// Benchmarks of Table 4.2: name in the thesis, and name of our kernel that represents the benchmark.
const BENCHMARKS: [(&str, &str); 10] = [
    ("BFS", "bfs_queue"),
    ("CutCP", "cutcp"),
    ("Gridding", "mrigridding"),
    ("Histo", "histo"),
    ("LBM AoS", "lbm_aos"),
    ("LBM SoA", "lbm_soa"),
    ("MRIQ", "mriq_passes"),
    ("SGEMM", "sgemm_cache"),
    ("SPMV", "spmv_jds"),
    ("Stencil", "stencil3d"),
];

/// Name of the launch file that is used for each benchmark.
const SIZE: &str = "thesis";

/// Settings for the compute units of Table 4.1. The table does not state the maximum number of CTAs per unit;
/// 16 is the limit of NVIDIA's GPU of that year. The shared memory keeps its default size, because the 16 KB
/// in the table are too small for some of our kernels.
const SETS: [&str; 5] = ["num_sms=16", "sm.warps=64", "sm.threads=2048", "sm.registers=65536", "sm.ctas=16"];

/// Total L2 sizes of the compared systems in KB.
const SIZES: [u32; 4] = [128, 256, 512, 1024];
const CUS: usize = 16;
const L2_BANKS: usize = 8;
/// Assumed length of a network hop in mm, which the thesis does not state.
const HOP_MM: f64 = 10.0;

/// Indices in the list of compared systems. `BASELINE`, `TRACKER` and `BOTH` are each the first of four
/// consecutive systems, one per L2 size. The systems from `BYPASS_L2` on have an L2 of 1 MB.
const BASELINE: usize = 0;
const TRACKER: usize = 4;
const BOTH: usize = 8;
const BYPASS_L2: usize = 12;
const LAST_SHARER: usize = 13;
const TWO: usize = 14;
const FOUR: usize = 15;
const LARGEST: usize = SIZES.len() - 1;

/// Results of one benchmark on all systems.
struct Row {
    name: &'static str,
    /// Title that the benchmark's launch file states.
    title: String,
    /// Total size of the buffers in the launch file, in bytes.
    bytes: usize,
    counts: Vec<Counts>,
}

impl Row {
    /// Returns the DRAM traffic of a system, divided by that of the baseline with 1 MB of L2.
    fn of_baseline(&self, system: usize) -> f64 {
        self.dram_of((system, BASELINE + LARGEST))
    }

    /// Returns the DRAM traffic of a system, divided by that of the baseline with 1 MB of L2. Both amounts
    /// include the writeback of the dirty data that are still in the L2 when the run ends.
    fn of_baseline_in_the_end(&self, system: usize) -> f64 {
        let [system, baseline] = [system, BASELINE + LARGEST].map(|at| self.counts[at].dram_bytes_in_the_end());
        ratio(system, baseline)
    }
}

impl SystemResults for Row {
    fn name(&self) -> &'static str {
        self.name
    }

    fn dram(&self, system: usize) -> f64 {
        self.counts[system].dram_bytes() as f64
    }

    fn miss_rate(&self, system: usize) -> f64 {
        let counts = &self.counts[system];
        1.0 - ratio(counts.l1_hits, counts.loads)
    }

    fn energy(&self, costs: &Table43, system: usize) -> [f64; STRUCTURES.len()] {
        energy(costs, system, &self.counts[system], HOP_MM)
    }

    fn describe_differences(&self, system: usize, other: usize) -> String {
        let [ours, theirs] = [system, other].map(|system| &self.counts[system]);
        let supplied = |counts: &Counts| 100.0 * ratio(counts.remote_hits, counts.loads - counts.l1_hits);
        let found = |counts: &Counts| 100.0 * ratio(counts.l2_hits, counts.l2_accesses);
        format!(
            "other L1s supply {:.1} % of the misses (compared with {:.1} %); {} forwards find the line evicted ({}); \
             of {} L2 accesses ({}), {:.1} % hit ({:.1} %); the L2 reads {} sectors from DRAM ({}) and writes {} ({}), \
             and {} dirty sectors ({}) remain in it",
            supplied(ours),
            supplied(theirs),
            ours.nacks,
            theirs.nacks,
            ours.l2_accesses,
            theirs.l2_accesses,
            found(ours),
            found(theirs),
            ours.dram_reads,
            theirs.dram_reads,
            ours.dram_writes,
            theirs.dram_writes,
            ours.dram_owed,
            theirs.dram_owed
        )
    }
}

pub(super) fn fig4(session: &Session) -> Result<Page, FigureError> {
    let config = resolve_config("fermi", &[], &SETS)?.config;
    let systems = systems().into_diagnostic()?;
    let measured = session.map_parallel(&BENCHMARKS, |&(name, kernel)| {
        let launch = session.launch(kernel, SIZE);
        let counts = hybrid(&launch, &config, &systems)?;
        Ok(Row { name, title: title(&launch)?, bytes: bytes(&launch)?, counts })
    })?;
    page(session.is_quick, &measured)
}

/// Returns the total size of all buffers in a launch file, in bytes.
fn bytes(launch: &Path) -> Result<usize, Report> {
    Ok(LaunchFile::read(launch)?.buffers.iter().map(Buffer::bytes).sum())
}

/// Returns the title in a launch file.
fn title(launch: &Path) -> Result<String, Report> {
    let context = || format!("{} cannot be read", launch.display());
    let text = fs::read_to_string(launch).into_diagnostic().wrap_err_with(context)?;
    let table: toml::Table = text.parse().into_diagnostic().wrap_err_with(context)?;
    Ok(table.get("title").and_then(toml::Value::as_str).unwrap_or_default().to_owned())
}

fn geometry(sets: usize, ways: usize, line_bits: u32) -> Result<Geometry, IndexError> {
    let index = SetIndex::new(Function::Linear { bits: sets.ilog2() }, line_bits, 64)?;
    Ok(Geometry { index, ways })
}

/// Creates the configuration of `count` sharing trackers whose total capacity is the one in Table 4.1.
fn tracker(count: usize, list: SharerList) -> Result<Option<TrackerConfig>, IndexError> {
    Ok(Some(TrackerConfig { count, geometry: geometry(1024 / count, 8, 7)?, list }))
}

/// Creates the cache configuration of Table 4.1 with an L2 of `kb` KB.
fn baseline(kb: u32) -> Result<Config, IndexError> {
    let bank = geometry(kb as usize * 1024 / 32 / 8 / L2_BANKS, 8, 5)?;
    Ok(Config {
        cus: CUS,
        l1: geometry(128, 4, 7)?,
        l2: L2Config { banks: L2_BANKS, bank, fetches_written: true },
        tracker: None,
        bypass_l1: false,
        bypass_l2: false,
        protections: Protections::ALL,
    })
}

fn systems() -> Result<Vec<Config>, IndexError> {
    let mut systems = Vec::new();
    for (has_tracker, bypass_l1) in [(false, false), (true, false), (true, true)] {
        for kb in SIZES {
            let tracker = if has_tracker { tracker(1, SharerList::All)? } else { None };
            systems.push(Config { tracker, bypass_l1, ..baseline(kb)? });
        }
    }
    let both = systems[BOTH + LARGEST];
    systems.push(Config { bypass_l2: true, ..both });
    systems.push(Config { tracker: tracker(1, SharerList::Last)?, ..both });
    systems.push(Config { tracker: tracker(2, SharerList::All)?, ..both });
    systems.push(Config { tracker: tracker(4, SharerList::All)?, ..both });
    Ok(systems)
}

/// Counts of the events that consume energy: reads and writes of cache lines or of sharing tracker entries,
/// and transferred bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Events {
    /// Number of reads and number of writes of the L1s.
    l1: [u64; 2],
    /// Number of reads and number of writes of the sharing trackers.
    tracker: [u64; 2],
    /// Number of sharing trackers in the system.
    trackers: usize,
    /// Number of reads and number of writes of the L2.
    l2: [u64; 2],
    /// Index in [`SIZES`] of the system's L2 size.
    size: usize,
    network_bytes: u64,
    dram_bytes: u64,
}

/// Structures that consume energy, in the order of [`Events::energy`].
const STRUCTURES: [&str; 5] = ["L1", "tracker", "L2", "network", "DRAM"];

impl Events {
    /// Computes the energy of each structure in nJ, with the energies per access published in Table 4.3.
    fn energy(&self, costs: &Table43, hop_mm: f64) -> [f64; STRUCTURES.len()] {
        let pj = |row: usize, [reads, writes]: [u64; 2]| {
            let [_, _, read, write] = costs.rows[row].published;
            (reads as f64 * read + writes as f64 * write) / 1000.0
        };
        let l1 = pj(usize::from(self.trackers > 0), self.l1);
        let tracker = self.trackers.checked_ilog2().map_or(0.0, |row| pj(2 + row as usize, self.tracker));
        let network = self.network_bytes as f64 * hop_mm * costs.interconnect_pj_per_byte_mm / 1000.0;
        let accesses = self.dram_bytes as f64 / f64::from(costs.dram_bytes_per_access);
        [l1, tracker, pj(5 + self.size, self.l2), network, accesses * costs.dram_pj_per_access / 1000.0]
    }

    /// Converts the counts of the cache models without timing to energy events, for a system that has
    /// `trackers` sharing trackers and an L2 of size `SIZES[size]`.
    fn convert_untimed(counts: &Counts, trackers: usize, size: usize) -> Self {
        Self {
            l1: [counts.l1_reads, counts.l1_writes],
            tracker: [counts.tracker_reads, counts.tracker_writes],
            trackers,
            l2: [counts.l2_reads, counts.l2_writes],
            size,
            network_bytes: counts.network_bytes,
            dram_bytes: counts.dram_bytes(),
        }
    }
}

/// Computes the energy of each structure in nJ from the counts of the cache models without timing. `system`
/// is the index of the system.
fn energy(costs: &Table43, system: usize, counts: &Counts, hop_mm: f64) -> [f64; STRUCTURES.len()] {
    let trackers = match system {
        TWO => 2,
        FOUR => 4,
        _ => usize::from(system >= TRACKER),
    };
    let size = if system < BYPASS_L2 { system % SIZES.len() } else { LARGEST };
    Events::convert_untimed(counts, trackers, size).energy(costs, hop_mm)
}

fn total(costs: &Table43, row: &Row, system: usize, hop_mm: f64) -> f64 {
    energy(costs, system, &row.counts[system], hop_mm).iter().sum()
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn mean(rows: &[Row], of: impl Fn(&Row) -> f64) -> f64 {
    average(&rows.iter().map(of).collect::<Vec<_>>())
}

/// Formats a ratio as a signed change in percent.
fn change(value: f64) -> String {
    format!("{:+.1} %", 100.0 * (value - 1.0))
}

fn page(quick: bool, rows: &[Row]) -> Result<Page, FigureError> {
    let technology = Technology::built_in().into_diagnostic()?;
    let costs = technology.table43();
    let title = "anssari2012, figures 4.1 to 4.6: sharing tracker and bypass policy, untimed";
    let mut page = Page::with_comparison("anssari2012/fig4", quick, title, TEXT, claims::claims(costs, rows));
    let table = |heads| Table::new([heads], rows.iter().map(|row| [row.name]));
    let each = |of: &dyn Fn(&Row) -> f64| rows.iter().map(of).collect::<Vec<_>>();
    let systems = ["L2", "tracker", "both"].iter().flat_map(|what| SIZES.map(|kb| format!("{what} {kb}")));
    let dram = systems.enumerate().map(|(system, name)| (name, each(&|row| row.of_baseline(system))));
    let dram = table("benchmark").columns(3, dram);
    dram.below(["mean"], |_| true, average)
        .table(&mut page, "## Figure 4.1: DRAM data, relative to the baseline with 1 MB")?;
    let in_the_end = mean(rows, |row| row.of_baseline_in_the_end(BOTH + 1));
    page.text(&format!(
        "With the data that are dirty in the L2s at the end, tracker and policy with 256 KB change the mean DRAM data\n\
         by {} relative to the baseline with 1 MB.",
        change(in_the_end)
    ));
    let misses = [("miss % tracker", TRACKER), ("miss % both", BOTH)];
    let others = [BOTH + LARGEST, BYPASS_L2, LAST_SHARER, TWO, FOUR];
    let others = ["both", "L2 bypassed", "1 sharer", "2 trackers", "4 trackers"].into_iter().zip(others);
    let energies = [("energy tracker", TRACKER), ("energy both", BOTH)];
    let others = table("benchmark")
        .columns(1, misses.map(|(name, system)| (name, each(&|row| 100.0 * row.miss_rate(system + LARGEST)))))
        .columns(3, others.map(|(name, system)| (name, each(&|row| row.of_baseline(system)))))
        .columns(
            3,
            energies.map(|(name, system)| (name, each(&|row| relative_energy(costs, row, system + LARGEST, HOP_MM)))),
        );
    let hops = [5.0, 10.0, 20.0]
        .map(|mm| format!("{} at {mm} mm", change(mean(rows, |row| relative_energy(costs, row, BOTH + LARGEST, mm)))));
    let heading = format!(
        "## Figures 4.2 to 4.6, L2 of 1 MB\n\n\
         Miss rates of the L1s, DRAM data as above, and energy relative to the baseline. A hop is {HOP_MM} mm long.\n\
         Tracker and policy change the mean energy by {}.",
        hops.join(", ")
    );
    others.table(&mut page, &heading)?;
    inputs(&mut page, rows);
    page.csv = format_counts(costs, rows)?;
    Ok(page)
}

/// Adds the table of the benchmarks' input sizes to the page.
fn inputs(page: &mut Page, rows: &[Row]) {
    page.text(INPUTS);
    let cells = rows.iter().zip(BENCHMARKS).map(|(row, (name, kernel))| {
        vec![name.to_owned(), kernel.to_owned(), row.title.clone(), (row.bytes / 1024).to_string()]
    });
    page.table(&["benchmark", "kernel", "what runs", "buffers, KB"], cells.collect(), 3);
}

/// Returns the energy of a system, divided by that of the baseline with 1 MB of L2.
fn relative_energy(costs: &Table43, row: &Row, system: usize, hop_mm: f64) -> f64 {
    total(costs, row, system, hop_mm) / total(costs, row, BASELINE + LARGEST, hop_mm)
}

const TEXT: &str = "The caches of Table 4.1 answer immediately. Compute units execute one warp instruction each in
round robin, as in section 4.1. DRAM data are the data that the L2 reads and writes in sectors of 32 bytes. Dirty data
that are still in the L2 at the end are not counted. A write miss fetches its sector even if it overwrites the whole
sector: the simulator of the thesis does not know which bytes are dirty, and also fetches data that are completely
overwritten. Energy is the energy of all accesses with the published values of Table 4.3. Leakage is not included,
because there is no time. A message has a header of 8 bytes. LBM counts twice in means, once per data layout. Where
the thesis states a direction without a number, changes of at least 2 % count.
";

const INPUTS: &str = "## Inputs
The thesis does not state which inputs of Parboil it uses. Our runs (size `thesis`) are shorter, but the data that
they reuse exceed an L2 of 1 MB in all benchmarks except CutCP. Our kernels follow the sources of Parboil as follows:
BFS lowers levels and changes colors with one atomic per word, and appends to a queue. LBM has planes of 120 x 120
cells, and Stencil has planes of 512 x 512. Each launch of MRIQ reads its result and adds to it. Parboil reads the
graph through textures and the samples as constants, which a trace of global memory does not contain. Our kernels keep
both in global memory.

Every row of CTAs of SGEMM reads a matrix of 4 MB, and every row of SPMV gathers from a vector of 2 MB in irregular
order. CutCP is the exception: it writes its potentials (3 MB) once, and its atoms take 192 KB. More atoms would need
proportionally more CTAs of 24,000 warp instructions each.

The thesis evaluates versions of the programs that do not use shared memory. Our kernels do not use it either, with
three exceptions: a CTA of CutCP fetches a bin of atoms once, Histo keeps its counts there, and a CTA of BFS fills a
queue there before it appends the queue.
";

/// Formats all counts of all benchmarks and systems as CSV.
fn format_counts(costs: &Table43, rows: &[Row]) -> Result<String, Report> {
    let head = [
        "benchmark",
        "system",
        "l2_kb",
        "loads",
        "l1_hits",
        "remote_hits",
        "l2_accesses",
        "l2_hits",
        "dram_reads",
        "dram_writes",
        "dram_owed",
        "network_bytes",
        "l1_nj",
        "tracker_nj",
        "l2_nj",
        "network_nj",
        "dram_nj",
    ];
    let lines = rows
        .iter()
        .flat_map(|row| row.counts.iter().enumerate().map(|(system, counts)| line(costs, row.name, system, counts)));
    comma_separated(&head, &lines.collect::<Vec<_>>())
}

/// Formats the counts of a benchmark on one system.
fn line(costs: &Table43, benchmark: &str, system: usize, counts: &Counts) -> Vec<String> {
    let names = ["baseline", "tracker", "tracker+policy"];
    let single = ["l2 bypassed", "1 sharer", "2 trackers", "4 trackers"];
    let (name, kb) = match system.checked_sub(BYPASS_L2) {
        None => (names[system / SIZES.len()], SIZES[system % SIZES.len()]),
        Some(other) => (single[other], SIZES[LARGEST]),
    };
    let Counts { loads, l1_hits, remote_hits, l2_accesses, l2_hits, .. } = *counts;
    let Counts { dram_reads, dram_writes, dram_owed, network_bytes, .. } = *counts;
    let caches = [loads, l1_hits, remote_hits, l2_accesses, l2_hits];
    let all = caches.into_iter().chain([dram_reads, dram_writes, dram_owed, network_bytes]);
    let energies = energy(costs, system, counts, HOP_MM).map(|nj| format!("{nj:.1}"));
    let counts = [name.to_owned(), kb.to_string()].into_iter().chain(all.map(|count| count.to_string()));
    row(benchmark, counts.chain(energies))
}
