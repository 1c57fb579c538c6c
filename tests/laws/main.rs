//! Checks conservation laws, which the statistics of every run must obey, on every machine and for every
//! kernel.
//!
//! | testpoint                                                                      | file       |
//! |--------------------------------------------------------------------------------|------------|
//! | every law holds for every kernel, on `fermi` and round robin on other machines | `laws`     |
//! | every law is violated if a number that it reads changes                        | `relation` |
//! | no counter of a hardware block is missing from the statistics                  | `counters` |

mod counters;
mod laws;
mod relation;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use area::{Node, Technology};
use laws::{LAWS, Law, On};
use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};
use relation::{Relation, Statistics};
use rtl::kernel::Mode;
use serde_json::Value;
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::estimate::{Activity, Energy};
use warpsieve::launch::LaunchFile;
use warpsieve::run::{Outcome, RunOptions, RunReport, SeriesOptions, run};
use warpsieve::statistics::of_run;

/// Machines and designs in addition to `fermi`. Each kernel runs on `fermi` and on one of these machines,
/// chosen round robin. The runs together produce every counter.
const MACHINES: &[(&str, &[&str])] = &[
    ("volta", &[]),
    ("southern-islands", &[]),
    ("southern-islands", &["frc"]),
    ("hybrid", &["hybrid-policy"]),
    ("hybrid", &["tracker"]),
    ("kepler", &[]),
    ("fermi", &["decoupled-dueling"]),
    ("fermi", &["icache", "sub-cores"]),
    ("fermi", &["l1-sectored", "l2-sectored"]),
    ("fermi", &["streaming-l2"]),
    ("fermi", &["dwt-pric"]),
    ("fermi", &["mrpb"]),
    ("fermi", &["pdp"]),
    ("fermi", &["ccws", "ideal-operands"]),
    ("fermi", &["no-caches"]),
    ("fermi", &["fetch-on-write"]),
    ("fermi", &["l2-next-line"]),
    ("fermi", &["stride"]),
    ("volta", &["next-line"]),
    ("kepler", &["stream"]),
    ("fermi", &["victim-cache"]),
    ("volta", &["victim-cache", "next-line"]),
];
/// Kernels that run with golden models enabled, and for which a time series is recorded.
const WATCHED: [&str; 3] = ["bfs", "gesummv", "histo"];

/// Maximum number of units of a kind, such as L1s, in which a test changes a number of one run. If no change
/// breaks the law, the test tries the next run.
const TRIES: usize = 2;

/// Run of a kernel on a machine, with its statistics.
struct Run {
    name: String,
    resolved: ResolvedMachine,
    report: RunReport,
    statistics: Value,
}

/// Returns all runs. The first call performs them, and later calls return the same runs. The function must
/// not be called inside a parallel iterator: its threads also perform the runs, and would wait for the lock
/// forever.
fn runs() -> &'static [Run] {
    static RUNS: LazyLock<Vec<Run>> = LazyLock::new(all_runs);
    &RUNS
}

fn all_runs() -> Vec<Run> {
    let kernels = kernels();
    let by_turns = |(at, kernel): (usize, &String)| {
        let (machine, designs) = MACHINES[at % MACHINES.len()];
        [Task::new(kernel, "fermi", &[]), Task::new(kernel, machine, designs)]
    };
    let mut tasks: Vec<_> = kernels.iter().enumerate().flat_map(by_turns).collect();
    tasks.extend(WATCHED.map(|kernel| Task { is_watched: true, ..Task::new(kernel, "fermi", &[]) }));
    tasks.into_par_iter().map(Task::run).collect()
}

/// Returns all kernels, each by the name of its folder.
fn kernels() -> Vec<String> {
    let folders = std::fs::read_dir(root().join("kernels")).unwrap().map(|entry| entry.unwrap().path());
    let name = |folder: PathBuf| folder.file_name().unwrap().to_str().unwrap().to_owned();
    let mut names: Vec<_> = folders.filter(|folder| LaunchFile::exists(&folder.join("small"))).map(name).collect();
    names.sort();
    names
}

/// Returns the root folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

struct Task {
    kernel: String,
    request: Request,
    is_watched: bool,
}

impl Task {
    fn new(kernel: &str, machine: &str, designs: &[&str]) -> Self {
        let designs = designs.iter().map(|&design| design.to_owned()).collect();
        let request = Request { machine: machine.to_owned(), designs, sets: Vec::new() };
        Self { kernel: kernel.to_owned(), request, is_watched: false }
    }

    fn run(self) -> Run {
        let Self { kernel, request, is_watched } = self;
        let resolved = ResolvedMachine::new(&request).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let series = is_watched.then(|| SeriesOptions {
            path: folder.path().join("series.csv"),
            interval: 100,
            columns: Vec::new(),
        });
        let options =
            RunOptions { check: is_watched, structures: true, mode: Mode::FAST, series, ..RunOptions::default() };
        let launch = root().join("kernels").join(&kernel).join("small");
        let name = format!("{kernel} on {} {}", request.machine, request.designs.join(" "));
        let report = run(&launch, &resolved.config, &options, &mut |_| {}).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(report.outcome, Outcome::Finished, "{name}");
        let series = options.series.map(|series| columns(&series.path));
        let statistics = statistics(&resolved, &report, series);
        Run { name, resolved, report, statistics }
    }
}

/// Returns the statistics as JSON. Adds the fraction of each stall reason, and the sums of the time series if
/// there is one.
fn statistics(resolved: &ResolvedMachine, report: &RunReport, series: Option<BTreeMap<String, u64>>) -> Value {
    let technology = Technology::built_in().unwrap();
    let energy = Activity::of(report).map(|did| Energy::of(&did, technology, Node::N45, technology.hop_mm()));
    let mut value = serde_json::to_value(of_run(resolved, report, energy.as_ref())).unwrap();
    let shares = report.counters.scheduler_shares();
    let shares: BTreeMap<_, _> = shares.into_iter().map(|(reason, share)| (reason.name(), share)).collect();
    value["shares"] = serde_json::to_value(shares).unwrap();
    value["series"] = serde_json::to_value(series).unwrap();
    value
}

/// Returns the sum of each column of a time series, and the number of cycles that its rows cover.
fn columns(path: &Path) -> BTreeMap<String, u64> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let mut sums = BTreeMap::new();
    for row in reader.deserialize::<BTreeMap<String, u64>>() {
        let mut row = row.unwrap();
        let [from, to] = ["from_cycle", "to_cycle"].map(|bound| row.remove(bound).unwrap());
        row.insert("cycles".to_owned(), to - from);
        row.into_iter().for_each(|(column, count)| *sums.entry(column).or_default() += count);
    }
    sums
}

impl Run {
    fn read(&self) -> Statistics<'_> {
        Statistics::new(&self.statistics, &self.resolved.config)
    }

    fn obeys(&self, law: &Law) -> bool {
        match law.on {
            On::Every => true,
            On::Only(applies, _) => applies(&self.read()),
        }
    }
}

#[test]
fn every_law_holds_in_every_run() {
    let broken = |run: &Run| -> Vec<String> {
        let laws = LAWS.iter().filter(|law| run.obeys(law));
        let broken = laws.flat_map(|law| {
            let relations = (law.holds)(&run.read()).into_iter().filter(|relation| !relation.holds());
            relations.map(|relation| format!("{}: {}: {}: {relation:?}", run.name, law.name, law.says)).take(2)
        });
        broken.collect()
    };
    let broken: Vec<_> = runs().par_iter().flat_map(broken).collect();
    assert!(broken.is_empty(), "{} laws broken:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn there_are_fifty_laws_at_least_of_different_names() {
    let mut names: Vec<_> = LAWS.iter().map(|law| law.name).collect();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() == LAWS.len() && names.len() >= 50, "{} laws, {} names", LAWS.len(), names.len());
    let unexplained = LAWS.iter().filter(|law| matches!(law.on, On::Only(_, why) if why.is_empty()));
    assert_eq!(unexplained.map(|law| law.name).collect::<Vec<_>>(), [""; 0]);
}

/// Tests the laws themselves: a law that still holds after any of its numbers is changed would check nothing.
#[test]
fn every_law_breaks_if_a_number_that_it_reads_is_another() {
    let runs = runs();
    let unbroken: Vec<_> = LAWS.par_iter().flat_map(|law| unbroken(law, runs)).collect();
    assert!(unbroken.is_empty(), "{} numbers do not matter:\n{}", unbroken.len(), unbroken.join("\n"));
}

/// Changes the numbers that a law reads, one at a time, in each run. If no change of a number violates the
/// law, the law may not check this number. Returns the keys of all such numbers. Units of the same kind, such
/// as the L1s, share their keys.
///
/// In a law of the form "a is at most b", a change of `b` may have no effect in any run. For a law of this
/// form, keys are returned only if no change of any number violates the law.
fn unbroken(law: &Law, runs: &[Run]) -> Vec<String> {
    let mut matters: BTreeMap<String, bool> = BTreeMap::new();
    let mut is_bound = false;
    for run in runs.iter().filter(|run| run.obeys(law)) {
        let statistics = run.read().noting();
        is_bound |= (law.holds)(&statistics).iter().any(|relation| matches!(relation, Relation::AtMost(..)));
        let read = statistics.read();
        let mut tried: BTreeMap<String, usize> = BTreeMap::new();
        let mut perturbed = None;
        for pointer in read {
            let kind = kind(&pointer);
            let tries = tried.entry(kind.clone()).or_default();
            let matters = matters.entry(kind).or_default();
            if !*matters && *tries < TRIES {
                let value = perturbed.get_or_insert_with(|| run.statistics.clone());
                *matters = breaks(law, run, value, &pointer);
                *tries += 1;
            }
        }
    }
    let name = |key: String| format!("{}: {key}", law.name);
    if matters.is_empty() {
        return vec![format!("{}: applies to no run", law.name)];
    }
    if is_bound && matters.values().any(|matters| *matters) {
        return Vec::new();
    }
    matters.into_iter().filter(|(_, matters)| !matters).map(|(key, _)| name(key)).collect()
}

/// Returns a JSON pointer (path) without the indices of units.
fn kind(pointer: &str) -> String {
    let keys = pointer.split('/').filter(|key| !key.starts_with(|c: char| c.is_ascii_digit()));
    keys.collect::<Vec<_>>().join("/")
}

/// True if the law no longer holds when the number at `pointer` is replaced with another number. Restores the
/// number in `value` afterwards.
fn breaks(law: &Law, run: &Run, value: &mut Value, pointer: &str) -> bool {
    let before = value.pointer(pointer).unwrap().clone();
    let others: Vec<Value> = match before.as_u64() {
        Some(count) => [count + 1, 0, 1 << 40].into_iter().filter(|other| *other != count).map(Value::from).collect(),
        None => vec![(2.0 * before.as_f64().unwrap() + 1.0).into()],
    };
    let is_broken = others.into_iter().any(|other| {
        *value.pointer_mut(pointer).unwrap() = other;
        let relations = (law.holds)(&Statistics::new(value, &run.resolved.config));
        relations.into_iter().any(|relation: Relation| !relation.holds())
    });
    *value.pointer_mut(pointer).unwrap() = before;
    is_broken
}
