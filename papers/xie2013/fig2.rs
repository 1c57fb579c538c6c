//! xie2013 Figure 2: cycles of a particle filter when one of 64 subsets of its loads bypasses the L1.

use std::collections::BTreeSet;
use std::path::Path;

use miette::miette;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde::{Deserialize, Serialize};

use super::speedup::{SIZES, benchmark, gain, percent};
use crate::FigureError;
use crate::Session;
use crate::judge::{Class, ComparisonRow};
use crate::page::{Page, comma_separated};
use warpsieve::config::ResolvedMachine;
use warpsieve::optimize::{Clocked, Subject};
use warpsieve::run::{RunError, open};
use warpsieve::text::format_thousands;

/// Number of candidate loads. There is one run for every subset of the candidate loads. In this run, the
/// loads of the subset bypass the L1, and all other loads of the kernel are cached.
const LOADS: usize = 6;

const TEXT: &str = "Cycles of `kepler` with an L1 of 16 KB, and the bytes that all loads request from its L2 on untimed caches: a line of 128
bytes per miss, and 32 bytes per sector that a bypassed load touches. The launch is that of table 2: 2 CTAs of 512 threads.
The candidates are the six loads that request the most lines; all other loads are cached, as in section 2.2. The paper's
kernel has 14 loads; ours are three kernels with the same steps.";

/// Results for all subsets of the candidate loads.
#[derive(Clone, Serialize, Deserialize)]
struct SubsetResults {
    candidates: Vec<Candidate>,
    /// Results for all subsets of the candidate loads, from the empty subset to the subset of all candidates.
    sets: Vec<Set>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Candidate {
    load: usize,
    line: u32,
    kernel: String,
    text: String,
}

/// Result of a run in which one subset of the candidate loads bypasses the L1.
#[derive(Clone, Serialize, Deserialize)]
struct Set {
    bypassed: Vec<usize>,
    cycles: u64,
    l2_bytes: u64,
}

pub(in super::super) fn fig2(session: &Session) -> Result<Page, FigureError> {
    let subject = benchmark("PFFL").ok_or_else(|| miette!("table 2 has no PFFL"))?;
    let points = [subject.point(session, &SIZES[0])];
    let found = session.runner.measure("fig2", &points, &|launch, resolved| Ok(measure(launch, resolved)?))?;
    let [found] = &found[..] else { return Err(miette!("one point has {} results", found.len()).into()) };
    draw(session.is_quick, found)
}

fn measure(launch: &Path, machine: &ResolvedMachine) -> Result<SubsetResults, RunError> {
    let config = &machine.config;
    let subject = Subject::new(open(launch, None)?, config)?;
    let asked = subject.lines_asked();
    let mut loads: Vec<usize> = asked.keys().copied().collect();
    loads.sort_by_key(|load| std::cmp::Reverse(asked[load]));
    loads.truncate(LOADS);
    loads.sort_unstable();
    let clocked = Clocked { subject: &subject, launch, config };
    let set = |mask: usize| {
        let bypassed: Vec<usize> = (0..loads.len()).filter(|i| mask >> i & 1 != 0).map(|i| loads[i]).collect();
        let cached: BTreeSet<usize> = asked.keys().copied().filter(|load| !bypassed.contains(load)).collect();
        Ok(Set { cycles: clocked.run(&cached)?.counters.cycles, l2_bytes: subject.l2_bytes(&cached), bypassed })
    };
    let mut sets = (0..1 << loads.len()).into_par_iter().map(set).collect::<Result<Vec<Set>, RunError>>()?;
    sets.sort_by_key(|set| (set.bypassed.len(), set.bypassed.clone()));
    let candidate = |&load: &usize| {
        let found = &subject.loads[load];
        Candidate { load, line: found.line, kernel: found.function.clone(), text: found.text.replace('\t', " ") }
    };
    Ok(SubsetResults { candidates: loads.iter().map(candidate).collect(), sets })
}

fn draw(quick: bool, found: &SubsetResults) -> Result<Page, FigureError> {
    let SubsetResults { candidates, sets } = found;
    let of = |at: Option<&Set>| at.map_or(0, |set| set.cycles);
    let (all_cached, all_bypassed) = (of(sets.first()), of(sets.last()));
    let least = of(sets.iter().min_by_key(|set| set.cycles));
    let ours = format!(
        "none {}, all {}, best {}",
        format_thousands(all_cached),
        format_thousands(all_bypassed),
        format_thousands(least)
    );
    let holds = least < all_cached.min(all_bypassed);
    let rows =
        vec![ComparisonRow::claim(Class::Sign, "cycles by bypassed loads", &ours, "neither extreme is best", holds)];
    let mut page = Page::with_comparison("xie2013/fig2", quick, "xie2013, figure 2: the particle filter", TEXT, rows);
    let named =
        |of: &Candidate| vec![of.load.to_string(), of.line.to_string(), of.kernel.clone(), format!("`{}`", of.text)];
    page.text("## The six loads");
    page.table(&["load", "line", "kernel", "text"], candidates.iter().map(named).collect(), 4);
    let names = |set: &Set| set.bypassed.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    let row = |set: &Set| {
        let names = if set.bypassed.is_empty() { "none".to_owned() } else { names(set) };
        vec![
            names,
            format_thousands(set.cycles),
            percent(gain(all_bypassed, set.cycles)),
            format_thousands(set.l2_bytes),
        ]
    };
    page.text("## All subsets");
    let head = ["bypassed", "cycles", "speedup over bypassing all six, %", "L2 bytes"];
    page.table(&head, sets.iter().map(row).collect(), 1);
    let numbers = |set: &Set| vec![names(set), set.cycles.to_string(), set.l2_bytes.to_string()];
    page.csv = comma_separated(&["bypassed", "cycles", "l2_bytes"], &sets.iter().map(numbers).collect::<Vec<_>>())?;
    Ok(page)
}
