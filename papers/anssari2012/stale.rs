//! anssari2012 section 3.2: two compute units share a line, and one of them writes it, evicts it and reads it
//! again. The results page shows this cycle by cycle on the clocked machine, for two sharing trackers: the
//! one that the section criticizes, and the one that it proposes.

use std::fs;
use std::path::Path;

use golden::reference::ElementType;
use miette::{Context, IntoDiagnostic, Report};
use serde::{Deserialize, Serialize};

use crate::judge::ComparisonRow;
use crate::page::{Page, comma_separated};
use crate::runs::{Point, RunFailure};
use crate::{FigureError, Session};
use warpsieve::config::ResolvedMachine;
use warpsieve::launch::read_npy;
use warpsieve::readers::{Readback, Sighting, Subject, sightings};
use warpsieve::run::{Outcome, RunOptions, WaveOptions, run};
use waves::atomic_file::Scratch;

const KERNEL: &str = include_str!("stale/stale.ptx");
const LAUNCH: &str = include_str!("stale/stale.toml");
const MACHINE: &str = "hybrid";
/// Names of two designs: the sharing tracker that section 3.2 criticizes, and the one that it proposes.
const TRACKERS: [&str; 2] = ["tracker-naive", "tracker"];
/// Setting for two compute units, which section 3.2 calls P and Q.
const UNITS: &str = "num_sms=2";
/// Value that compute unit Q writes to the line. Before that, the line holds 0.
const WRITTEN: i128 = 1;
const HEADS: [&str; 4] = ["cycle", "cycles", "where", "what"];

/// Observations about the shared line in one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LineObservations {
    /// Three values of the shared line: read by compute unit P, read by Q before Q's write, and read by Q
    /// after its write.
    values: [i128; 3],
    /// Table rows with the columns of [`HEADS`]. Each row gives the time interval in which a request or reply
    /// for the line is in one unit or link of the machine.
    stays: Vec<[String; HEADS.len()]>,
}

/// Units and links through which requests and replies for the line pass. For each: the beginning of its
/// signal path, and its name on the results page.
const PLACES: [(&str, &str); 10] = [
    ("sm0.l1.mem_rsp", "P's L1, reply"),
    ("sm1.l1.mem_rsp", "Q's L1, reply"),
    ("sm0.l1.forward", "P's L1, forward"),
    ("sm0.l1", "P's L1, tags"),
    ("sm1.l1", "Q's L1, tags"),
    ("xbar_req.inject", "network, request"),
    ("xbar_fwd.", "network, forward to P"),
    ("xbar_rsp.supply0", "network, line from P"),
    ("xbar_rsp.from_l2", "network, reply of the L2"),
    ("partition", ""),
];

/// Returns the name on the results page of a unit or link, given its signal path.
fn place(path: &str) -> String {
    let found = PLACES.iter().find(|(start, name)| path.starts_with(start) && !name.is_empty());
    let of_partition = || match path.rsplit_once('.') {
        Some((_, "from_bank")) => "tracker, reply of the L2".to_owned(),
        Some((bank, _)) if bank.ends_with("tracker") => "tracker, lookup".to_owned(),
        Some((bank, _)) if bank.ends_with("l2") => "L2, request".to_owned(),
        _ => path.to_owned(),
    };
    found.map_or_else(of_partition, |(_, name)| (*name).to_owned())
}

fn measure(launch: &Path, config: &ResolvedMachine) -> Result<LineObservations, RunFailure> {
    let wave = launch.with_extension("fst");
    let options = RunOptions {
        outputs: true,
        wave: Some(WaveOptions { path: wave.clone(), ..WaveOptions::default() }),
        ..RunOptions::default()
    };
    let report = run(launch, &config.config, &options, &mut |_| {})?;
    if report.outcome != Outcome::Finished {
        return Err(RunFailure::Failed(format!("ended otherwise: {:?}", report.outcome)));
    }
    let failed = |error: &dyn std::fmt::Display| RunFailure::Failed(error.to_string());
    let seen = read_npy(&launch.with_file_name("seen.npy"), ElementType::U32).map_err(|error| failed(&error))?;
    let address = u64::try_from(seen.integer(3)).map_err(|error| failed(&error))?;
    let line = Subject::Line(address / u64::from(config.config.l1.line_bytes));
    let wave = Readback::of(&wave).map_err(|error| failed(&error))?;
    let found = sightings(wave, line, None).map_err(|error| failed(&error))?;
    let khz = u64::from(report.counters.core_khz);
    Ok(LineObservations {
        values: [0, 1, 2].map(|at| seen.integer(at)),
        stays: found.iter().map(|sighting| stay(sighting, khz)).collect(),
    })
}

fn stay(Sighting { path, from, to, besides }: &Sighting, khz: u64) -> [String; HEADS.len()] {
    let cycles = |picoseconds: u64| format!("{:.1}", picoseconds as f64 * khz as f64 / 1e9);
    let said = besides.iter().filter(|(name, _)| ["kind", "status", "id"].contains(name));
    let said: Vec<_> = said.map(|(name, value)| format!("{name} {value}")).collect();
    [cycles(*from), to.map_or(String::new(), |to| cycles(to - from)), place(path), said.join(", ")]
}

pub(super) fn stale(session: &Session) -> Result<Page, FigureError> {
    let folders: Vec<_> = TRACKERS.iter().map(|_| folder()).collect::<Result<_, Report>>()?;
    let points: Vec<_> = TRACKERS
        .iter()
        .zip(&folders)
        .map(|(design, folder)| Point::new(&folder.path().join("stale.toml"), MACHINE, &[design], &[UNITS]))
        .collect();
    let seen = session.runner.measure("stale", &points, &measure)?;
    let value = |at: usize| seen[at].values[2];
    let rows = vec![
        ComparisonRow::exact("3.2: value that Q reads again, tracker ignores stores", value(0), 0),
        ComparisonRow::exact("3.2: value that Q reads again, stores invalidate the entry", value(1), WRITTEN),
    ];
    let mut page =
        Page::with_comparison("anssari2012/stale", false, "anssari2012, section 3.2: a stale read", TEXT, rows);
    let heads = ["tracker", "P reads", "Q reads", "Q writes", "Q reads again"];
    let values = TRACKERS.iter().zip(&seen).map(|(tracker, LineObservations { values: [p, before, after], .. })| {
        vec![(*tracker).to_owned(), p.to_string(), before.to_string(), WRITTEN.to_string(), after.to_string()]
    });
    page.table(&heads, values.collect(), 1);
    page.text(MEANING);
    let mut lines = Vec::new();
    for (tracker, LineObservations { stays, .. }) in TRACKERS.iter().zip(&seen) {
        page.text(&format!("## `{tracker}`"));
        page.table(&HEADS, stays.iter().map(|stay| stay.to_vec()).collect(), HEADS.len());
        lines.extend(stays.iter().map(|stay| [&[(*tracker).to_owned()], &stay[..]].concat()));
    }
    page.csv = comma_separated(&[&["tracker"], &HEADS[..]].concat(), &lines)?;
    Ok(page)
}

/// Creates a temporary folder with the kernel and its launch file.
fn folder() -> Result<Scratch, Report> {
    let folder = Scratch::new().into_diagnostic().wrap_err("no folder for a kernel")?;
    for (file, text) in [("stale.ptx", KERNEL), ("stale.toml", LAUNCH)] {
        fs::write(folder.path().join(file), text).into_diagnostic().wrap_err("a kernel cannot be written")?;
    }
    Ok(folder)
}

const TEXT: &str = "Compute units P and Q share a line. Q writes the line and then evicts it, while the tracker still
lists P, whose copy has the old value. When Q requests the line again, its load is forwarded to P and returns the
value from before Q's own store. No GPU memory model allows this, because a block sees its own writes. The thesis
finds this error in the sharing tracker of its predecessor (design `tracker-naive`) and lets every store invalidate
the tracker entry (design `tracker`). Here, the error occurs on the clocked machine `hybrid` with two compute units of
one thread each.
";

const MEANING: &str = "## Events of the line
The tables show all events of the line in core cycles: when a message came to the head of a port or queue, how long it
stayed there, where, and what it was. *Tags* are a load (MISS, HIT) or a store (STORE_HIT) of the unit itself. The
tables omit the loads of eight other lines of the same set, which evict this line from Q's L1. The READ between the
store and the last load is the eviction notice, which removes Q from the tracker's list.

Up to that notice, both runs are identical to the cycle. Then the last load of Q comes to the tracker. The naive
tracker lists P as a sharer and forwards the load, and P supplies its copy. The other tracker has removed P at the
store, and the load goes to the L2, which has the value that Q wrote.

![The naive tracker forwards the last load](../../waves/stale-supplied.png)

[How to make the picture](../../waves/README.md#a-stale-read).
";
