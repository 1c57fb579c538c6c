//! anssari2012 Figures 4.1 to 4.6 on the clocked machine, compared with models of the same caches without
//! timing.

mod claims;
mod tables;

use std::path::{Path, PathBuf};

use ::area::{Table43, Technology};
use golden::hybrid::{Config, Counts, SharerList};
use miette::IntoDiagnostic;
use rtl::kernel::Counted;
use rtl::l1::stats::L1Stats;
use rtl::l2::L2Stats;
use rtl::tracker::TrackerStats;

use super::claims::HURT;
use super::{BENCHMARKS, Events, HOP_MM, LARGEST, SIZE, SIZES, baseline, tracker};
use crate::FigureError;
use crate::Session;
use crate::page::Page;
use crate::runs::{Point, resolve_config};
use warpsieve::run::{Counters, hybrid, ratio};

const MACHINE: &str = "hybrid";
/// Name of the design with the bypass policy of section 3.3.
const POLICY: &str = "hybrid-policy";
/// Name of the system of Figures 4.4 and 4.5, which has a sharing tracker and the bypass policy.
const PROPOSED: &str = "both";
/// Name of the system of Figure 4.3, which has a sharing tracker, the bypass policy and the policy's second
/// element (L2 bypass).
const PASSING: &str = "L2 bypassed";
/// Setting for an L2 that records which bytes of a line were written. The simulator of the thesis does not
/// record written bytes.
const BYTE_MASK: &str = "l2.flow.write_miss=byte-mask";

/// Additional kernels, whose accesses map to few L1 sets, each with settings of the machine. They show why
/// L1s refuse requests that the sharing tracker forwards to them.
const OTHERS: [(&str, &[&str]); 4] =
    [("syrk", &[]), ("syrk", &["link.request=1"]), ("syrk", &["l1.sets=16", "l1.ways=32"]), ("gesummv", &[])];

/// System (machine variant) to measure.
struct System {
    name: &'static str,
    designs: Vec<&'static str>,
    /// Index in [`SIZES`] of the system's L2 size.
    size: usize,
    trackers: usize,
    list: SharerList,
    bypass_l1: bool,
    bypass_l2: bool,
}

impl System {
    /// Returns the configuration of the model without timing for the same caches.
    fn untimed_config(&self) -> Result<Config, golden::index::IndexError> {
        let tracker = if self.trackers > 0 { tracker(self.trackers, self.list)? } else { None };
        let Self { bypass_l1, bypass_l2, .. } = *self;
        Ok(Config { tracker, bypass_l1, bypass_l2, ..baseline(SIZES[self.size])? })
    }

    fn point(&self, launch: &Path, more: &[&str]) -> Point {
        let Config { l2, .. } = match self.untimed_config() {
            Ok(config) => config,
            Err(_) => unreachable!("sizes are powers of two"),
        };
        let sets = format!("l2.sets={}", l2.bank.index.sets());
        Point::new(launch, MACHINE, &self.designs, &[&[sets.as_str()], more].concat())
    }
}

/// Returns all systems, in the same order as on the page with results of the model without timing.
fn systems() -> Vec<System> {
    let by_size = [
        ("baseline", Vec::new(), 0, false),
        ("tracker", vec!["tracker"], 1, false),
        (PROPOSED, vec!["tracker", POLICY], 1, true),
    ];
    let mut systems = Vec::new();
    for (name, designs, trackers, bypass_l1) in by_size {
        systems.extend((0..SIZES.len()).map(|size| System {
            name,
            designs: designs.clone(),
            size,
            trackers,
            list: SharerList::All,
            bypass_l1,
            bypass_l2: false,
        }));
    }
    let others = [
        (PASSING, "tracker-exclusive", 1),
        ("1 sharer", "tracker-last", 1),
        ("2 trackers", "tracker-2", 2),
        ("4 trackers", "tracker-4", 4),
    ];
    systems.extend(others.map(|(name, design, trackers)| System {
        name,
        designs: vec![design, POLICY],
        size: LARGEST,
        trackers,
        list: if design == "tracker-last" { SharerList::Last } else { SharerList::All },
        bypass_l1: true,
        bypass_l2: name == PASSING,
    }));
    systems
}

/// Results of a benchmark on one system, on the clocked machine and without timing.
struct SystemRun {
    system: &'static str,
    size: usize,
    timed: Counters,
    untimed: Counts,
    events: [Events; 2],
}

/// Results of a benchmark on all systems.
struct BenchmarkRuns {
    name: &'static str,
    done: Vec<SystemRun>,
    /// Counters of the systems [`PROPOSED`] and [`PASSING`] with the setting [`BYTE_MASK`], for benchmarks
    /// whose DRAM traffic grows with the L2 bypass, according to the thesis. `None` for all others.
    masked: Option<[Counters; 2]>,
}

impl SystemRun {
    fn dram(&self) -> [f64; 2] {
        self.events.map(|events| events.dram_bytes as f64)
    }

    fn energy(&self, costs: &Table43, hop_mm: f64) -> [f64; 2] {
        self.events.map(|events| events.energy(costs, hop_mm).iter().sum())
    }

    fn miss_rate(&self) -> [f64; 2] {
        let L1Stats { accesses, hits, hit_pending, .. } = l1(&self.timed);
        [1.0 - ratio(hits + hit_pending, accesses), 1.0 - ratio(self.untimed.l1_hits, self.untimed.loads)]
    }
}

impl BenchmarkRuns {
    fn on(&self, system: &str, size: usize) -> &SystemRun {
        let found = self.done.iter().find(|done| (done.system, done.size) == (system, size));
        found.unwrap_or_else(|| panic!("{system} with {} KB is measured", SIZES[size]))
    }

    /// Returns the metric `number` on system `of`, divided by the metric on system `whole`. The first element
    /// is for the clocked machine, the second for the model without timing.
    fn part(&self, of: (&str, usize), whole: (&str, usize), number: impl Fn(&SystemRun) -> [f64; 2]) -> [f64; 2] {
        let [part, whole] = [of, whole].map(|(system, size)| number(self.on(system, size)));
        [part[0] / whole[0], part[1] / whole[1]]
    }

    /// Returns the DRAM traffic of a system, divided by that of the baseline with 1 MB of L2. The first
    /// element is for the clocked machine, the second for the model without timing.
    fn of_baseline(&self, system: &str, size: usize) -> [f64; 2] {
        self.part((system, size), ("baseline", LARGEST), SystemRun::dram)
    }

    /// Returns the DRAM traffic with L2 bypass, divided by that of the system [`PROPOSED`]. The first element
    /// is for the clocked machine, the second for the model without timing.
    fn l2_bypass(&self) -> [f64; 2] {
        self.part((PASSING, LARGEST), (PROPOSED, LARGEST), SystemRun::dram)
    }

    /// Returns the DRAM traffic with L2 bypass divided by that of the system [`PROPOSED`]. Both systems have
    /// the setting [`BYTE_MASK`] and run on the clocked machine.
    fn past_the_masked_l2(&self) -> Option<f64> {
        self.masked.as_ref().map(|[proposed, passing]| ratio(dram_bytes(passing), dram_bytes(proposed)))
    }

    /// Returns the cycles with a sharing tracker, divided by the cycles of the baseline that has the same L2
    /// size.
    fn cycles(&self, size: usize) -> f64 {
        let [part, whole] = ["tracker", "baseline"].map(|system| self.on(system, size).timed.cycles);
        ratio(part, whole)
    }
}

fn dram_bytes(counters: &Counters) -> u64 {
    counters.totals().dram.bytes
}

/// Name and counters of an additional kernel that does not occur in the figures of the thesis.
type Other = (String, Counters);

fn l1(counters: &Counters) -> L1Stats {
    counters.l1.iter().fold(L1Stats::default(), |sum, unit| L1Stats {
        accesses: sum.accesses + unit.accesses,
        hits: sum.hits + unit.hits,
        hit_pending: sum.hit_pending + unit.hit_pending,
        misses: sum.misses + unit.misses,
        store_hits: sum.store_hits + unit.store_hits,
        ..L1Stats::default()
    })
}

fn trackers(counters: &Counters) -> TrackerStats {
    TrackerStats::total(&counters.trackers)
}

/// Converts counters of the clocked machine to counts of the events that consume energy.
fn events(counters: &Counters, trackers_of: usize, size: usize) -> Events {
    let L1Stats { hits, misses, store_hits, .. } = l1(counters);
    let TrackerStats { lookups, forwards, supplied, refused, too_early, listed, writes, notices, .. } =
        trackers(counters);
    let of_l2 = |count: fn(&L2Stats) -> u64| counters.l2.iter().map(count).sum::<u64>();
    let read = of_l2(|bank| bank.hits + bank.hit_pending + bank.atomics() + bank.writebacks);
    let written = of_l2(|bank| bank.fetches + bank.changes);
    let networks = [&counters.requests, &counters.replies, &counters.forwards, &counters.answers];
    Events {
        l1: [hits + supplied, misses + store_hits],
        tracker: [lookups, forwards + (refused - too_early) + listed + writes + notices],
        trackers: trackers_of,
        l2: [read, written],
        size,
        network_bytes: networks.iter().flat_map(|outputs| outputs.iter()).map(|output| output.bytes).sum(),
        dram_bytes: dram_bytes(counters),
    }
}

/// Measures every benchmark on every system, and the additional kernels on the system with a sharing tracker.
fn measure(session: &Session) -> Result<(Vec<BenchmarkRuns>, Vec<Other>), FigureError> {
    let systems = systems();
    let launches: Vec<PathBuf> = BENCHMARKS.iter().map(|(_, kernel)| session.launch(kernel, SIZE)).collect();
    let mut points: Vec<_> =
        launches.iter().flat_map(|launch| systems.iter().map(|system| system.point(launch, &[]))).collect();
    let of_figures = points.len();
    let is_hurt = |(_, benchmark): &(&PathBuf, &(&str, &str))| HURT.contains(&benchmark.0);
    for (launch, _) in launches.iter().zip(&BENCHMARKS).filter(is_hurt) {
        for name in [PROPOSED, PASSING] {
            let of_figure = systems.iter().filter(|system| (system.name, system.size) == (name, LARGEST));
            points.extend(of_figure.map(|system| system.point(launch, &[BYTE_MASK])));
        }
    }
    let with_masks = points.len();
    let other =
        |(kernel, sets): (&str, &[&str])| Point::new(&session.launch(kernel, "launch"), MACHINE, &["tracker"], sets);
    points.extend(OTHERS.map(other));
    let clocked = session.runner.run_clocked(&points)?;

    let machine = resolve_config(MACHINE, &[], &[])?.config;
    let configs: Result<Vec<Config>, _> = systems.iter().map(System::untimed_config).collect();
    let configs = configs.into_diagnostic()?;
    let untimed = session.map_parallel(&launches, |launch| Ok(hybrid(launch, &machine, &configs)?))?;

    let (of_figures, masked, of_others) =
        (&clocked[..of_figures], &clocked[of_figures..with_masks], &clocked[with_masks..]);
    let mut masked = masked.chunks(2);
    let mut all = Vec::new();
    for ((&(name, _), timed), untimed) in BENCHMARKS.iter().zip(of_figures.chunks(systems.len())).zip(untimed) {
        let done = systems.iter().zip(timed).zip(untimed).map(|((system, timed), untimed)| {
            let &System { name: system, size, trackers, .. } = system;
            let timed = timed.counters.clone();
            let events = [events(&timed, trackers, size), Events::convert_untimed(&untimed, trackers, size)];
            SystemRun { system, size, timed, untimed, events }
        });
        let of_masked = if HURT.contains(&name) { masked.next() } else { None };
        let masked = of_masked.map(|pair| [0, 1].map(|at: usize| pair[at].counters.clone()));
        all.push(BenchmarkRuns { name, done: done.collect(), masked });
    }
    let others = OTHERS.into_iter().zip(of_others).map(|((kernel, sets), clocked)| {
        let name = [&[kernel], sets].concat().join(", ");
        (name, clocked.counters.clone())
    });
    let others = others.collect();
    Ok((all, others))
}

/// Returns the means of a metric over all benchmarks: for the clocked machine, and for the model without
/// timing.
fn mean(all: &[BenchmarkRuns], number: impl Fn(&BenchmarkRuns) -> [f64; 2]) -> [f64; 2] {
    let sum = all.iter().map(number).fold([0.0; 2], |sum, each| [sum[0] + each[0], sum[1] + each[1]]);
    sum.map(|sum| sum / all.len() as f64)
}

/// Returns four percentages. The first is the share of sharing tracker lookups that are forwarded to an L1.
/// The others are shares of these forwarded loads: those that the L1 served, those that it refused because it
/// had evicted the line, and those that it refused because the line had not arrived yet.
fn forwards(counters: &Counters) -> [f64; 4] {
    let TrackerStats { lookups, forwards, supplied, refused, too_early, .. } = trackers(counters);
    let of_forwards = |part| 100.0 * ratio(part, forwards);
    [100.0 * ratio(forwards, lookups), of_forwards(supplied), of_forwards(refused - too_early), of_forwards(too_early)]
}

/// Returns the energy of system `of`, divided by that of system `whole`. The first element is for the clocked
/// machine, the second for the model without timing.
fn energy(costs: &Table43, one: &BenchmarkRuns, of: (&str, usize), whole: (&str, usize)) -> [f64; 2] {
    one.part(of, whole, |done| done.energy(costs, HOP_MM))
}

pub(in super::super) fn write_page(session: &Session) -> Result<Page, FigureError> {
    let technology = Technology::built_in().into_diagnostic()?;
    let costs = technology.table43();
    let (all, others) = measure(session)?;
    let title = "anssari2012, figures 4.1 to 4.6 on the clocked machine";
    let mut page =
        Page::with_comparison("anssari2012/timed", session.is_quick, title, TEXT, claims::claims(costs, &all));
    tables::draw(&mut page, costs, &all, &others)?;
    Ok(page)
}

const TEXT: &str = "This page shows the clocked machine `hybrid` next to the same untimed caches, which
[fig4](fig4.md) describes, for the same launch files. The designs are `tracker` alone, `tracker` with `hybrid-policy`
(*both*), and `tracker-last`, `tracker-2` and `tracker-4` with the policy. DRAM data are the bytes on the DRAM buses;
on the clocked machine, they include constants. Energy is the energy of all accesses with the published values of
Table 4.3, without leakage. LBM counts twice in means. On the clocked machine, these events consume energy:

* L1 reads are hits and supplied lines. L1 writes are fills and store hits.
* Tracker reads are lookups of loads. Tracker writes are forwards, new sharers, eviction notices, stores, and forwards
  that find the line evicted.
* L2 reads are read hits (also of lines in flight), atomics, and writebacks. L2 writes are fetched lines and changes
  of a line.
* The network transfers whole flits of 32 bytes.

The statements of the thesis about its figures are judged on [fig4](fig4.md), because the thesis has no timing. This
page shows whether they also hold on the clocked machine; these rows are no evidence. The expectations of the thesis
about run time are judged here.
";
