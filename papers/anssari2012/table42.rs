//! Table 4.2: the profile of each benchmark, by rules.

mod bound;

use golden::interp::Access;
use miette::Report;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::BENCHMARKS;
use crate::Desk;
use crate::Halt;
use crate::judge::{Class, Row};
use crate::page::{Page, comma_separated};
use crate::progress::progress_bar;
use warpsieve::config::{Request, Resolved};
use warpsieve::run::{AccessSharing, KernelSharing, ratio, sharing};

/// Columns of the table.
const CLASSES: [&str; 6] = ["broadcast", "boundary", "dynamic", "coalesced", "non-coalesced", "atomic"];
const BROADCAST: usize = 0;
const BOUNDARY: usize = 1;
const DYNAMIC: usize = 2;
const COALESCED: usize = 3;
const SCATTERED: usize = 4;
const ATOMIC: usize = 5;

/// A word that on average has no more CTAs than this belongs to one.
const OWNED: f64 = 1.25;
/// One that has no more than this is shared by neighbours.
const NEIGHBOURS: f64 = 8.0;
/// Lines that a coalesced access takes beyond the least.
const MISALIGNED: f64 = 1.0;
/// An instruction counts if it touches this part of what the instructions of its kernel touch, or more.
const COUNTS: f64 = 0.01;

/// What no rule can tell, mostly where our kernels do something else than Parboil's.
const ELSEWISE: [(&str, &str); 6] = [
    ("BFS", "our kernels mark nodes in arrays of flags, where Parboil's append them to queues with atomics"),
    (
        "CutCP",
        "our potentials lie in rows of the whole lattice, 8 of which a CTA's part of a row is; in Parboil each CTA's part lies by itself",
    ),
    (
        "Gridding",
        "all our kernels, from samples to cells, are judged together; which ones the thesis calls `many` it does not say",
    ),
    ("Histo prescan", "nothing is shared but the two words that the atomics go to"),
    (
        "Histo main",
        "CTAs read the whole image once for each slice of the bins that is used, which are 3 here; our CTAs count in shared memory \
         and touch the counts of all with a few atomics at the end",
    ),
    (
        "SPMV",
        "each result goes to the row that was read for it and is nobody else's: its address is data, but nothing is shared",
    ),
];

/// Rows of the table: benchmark, the kernel that the thesis names, the beginning of ours, and the columns with a cross.
type Published = (&'static str, &'static str, &'static str, &'static [usize]);
const PUBLISHED: [Published; 13] = [
    ("BFS", "", "", &[DYNAMIC, COALESCED, SCATTERED, ATOMIC]),
    ("CutCP", "", "", &[BROADCAST, COALESCED]),
    ("Gridding", "", "", &[BROADCAST, DYNAMIC]),
    ("Histo", "prescan", "histo_prescan", &[BROADCAST, COALESCED, ATOMIC]),
    ("Histo", "inter", "histo_inter", &[COALESCED]),
    ("Histo", "main", "histo_main", &[BROADCAST, DYNAMIC, ATOMIC]),
    ("Histo", "final", "histo_final", &[COALESCED]),
    ("LBM AoS", "", "", &[SCATTERED]),
    ("LBM SoA", "", "", &[COALESCED]),
    ("MRIQ", "computeQ", "", &[BROADCAST, COALESCED]),
    ("SGEMM", "", "", &[BROADCAST, COALESCED]),
    ("SPMV", "", "", &[DYNAMIC, COALESCED]),
    ("Stencil", "", "", &[BOUNDARY, COALESCED]),
];

/// CTAs of a word that an instruction touches, on average.
fn sharers(one: &AccessSharing) -> f64 {
    ratio(one.sharers, one.words)
}

/// Lines of an access beyond the least, on average.
fn excess(one: &AccessSharing) -> f64 {
    ratio(one.touched.saturating_sub(one.least), one.warps)
}

/// The column of what an instruction touches.
fn class(one: &AccessSharing) -> usize {
    match (sharers(one), one.is_dependent) {
        (shared, true) if shared > OWNED => DYNAMIC,
        (shared, _) if shared > NEIGHBOURS => BROADCAST,
        (shared, _) if shared > OWNED => BOUNDARY,
        _ if excess(one) <= MISALIGNED => COALESCED,
        _ => SCATTERED,
    }
}

/// The columns of kernels together, and what put each there: the instruction with most data.
fn classes(kernels: &[&KernelSharing]) -> [Option<String>; CLASSES.len()] {
    let mut found: [Option<(u64, String)>; CLASSES.len()] = Default::default();
    for kernel in kernels {
        let all: u64 = kernel.accesses.iter().map(|one| one.words).sum();
        for one in &kernel.accesses {
            let doing = match one.access {
                Access::Load => "load",
                Access::Store => "store",
                Access::Atomic => "atomic",
            };
            let why = format!(
                "{} line {} ({doing}{}): {:.1} % of the kernel's data, {:.1} CTAs a word, {:.1} lines an access, {:.1} at least",
                kernel.name,
                one.line,
                if one.is_dependent { ", address read" } else { "" },
                100.0 * ratio(one.words, all),
                sharers(one),
                ratio(one.touched, one.warps),
                ratio(one.least, one.warps)
            );
            if one.access == Access::Atomic {
                keep(&mut found[ATOMIC], one.words, &why);
            }
            if ratio(one.words, all) >= COUNTS {
                keep(&mut found[class(one)], one.words, &why);
            }
        }
    }
    found.map(|best| best.map(|(_, why)| why))
}

fn keep(best: &mut Option<(u64, String)>, words: u64, why: &str) {
    if best.as_ref().is_none_or(|(most, _)| words > *most) {
        *best = Some((words, why.to_owned()));
    }
}

pub(in super::super) fn table42(desk: &Desk) -> Result<Page, Halt> {
    let request = Request { machine: "hybrid".to_owned(), ..Request::default() };
    let machine = Resolved::new(&request).map_err(Report::from)?.config;
    let bar = progress_bar(desk.is_quiet, BENCHMARKS.len());
    let profiles: Result<Vec<(&str, Vec<KernelSharing>)>, Report> = desk.runner.pool().install(|| {
        let profile = |&(name, kernel): &(&'static str, &str)| {
            let kernels = sharing(&desk.launch(kernel, "thesis"), &machine)?;
            bar.inc(1);
            Ok((name, kernels))
        };
        BENCHMARKS.par_iter().map(profile).collect()
    });
    bar.finish_and_clear();
    let profiles = profiles?;
    let (mut rows, mut cells, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for (benchmark, kernel, prefix, published) in PUBLISHED {
        let of_benchmark = profiles.iter().filter(|(name, _)| *name == benchmark).flat_map(|(_, kernels)| kernels);
        let kernels: Vec<&KernelSharing> = of_benchmark.filter(|one| one.name.starts_with(prefix)).collect();
        let found = classes(&kernels);
        let names = |is_in: &dyn Fn(usize) -> bool| {
            let named: Vec<_> = (0..CLASSES.len()).filter(|at| is_in(*at)).map(|at| CLASSES[at]).collect();
            if named.is_empty() { "none".to_owned() } else { named.join(", ") }
        };
        let (ours, theirs) = (names(&|at| found[at].is_some()), names(&|at| published.contains(&at)));
        let what = format!("{benchmark} {kernel}").trim_end().to_owned();
        let mut reasons = Vec::new();
        for (at, why) in found.iter().enumerate() {
            match (why, published.contains(&at)) {
                (Some(why), false) => reasons.push(format!("{} by {why}", CLASSES[at])),
                (None, true) => reasons.push(format!("no instruction is {}", CLASSES[at])),
                _ => {}
            }
        }
        let passed = reasons.is_empty();
        if !passed && !desk.is_quick {
            let known = ELSEWISE.iter().filter(|(name, _)| *name == what).map(|(_, why)| (*why).to_owned());
            reasons.extend(known);
        }
        rows.push(Row::claim(Class::Sign, &what, &ours, &theirs, passed).because(&reasons.join("; ")));
        let marks = found.iter().enumerate().map(|(at, why)| {
            let mark = match (why.is_some(), published.contains(&at)) {
                (true, true) => "both",
                (true, false) => "ours",
                (false, true) => "thesis",
                (false, false) => "",
            };
            mark.to_owned()
        });
        cells.push([what].into_iter().chain(marks).collect());
        for one in kernels.iter().flat_map(|one| one.accesses.iter().map(move |access| (&one.name, access))) {
            let (name, access) = one;
            let numbers = [access.warps, access.touched, access.least, access.words, access.sharers];
            let mut line = vec![benchmark.to_owned(), name.clone(), access.line.to_string()];
            line.push(format!("{:?}", access.access).to_lowercase());
            line.push(access.is_dependent.to_string());
            line.extend(numbers.iter().map(u64::to_string));
            line.push(CLASSES[class(access)].to_owned());
            lines.push(line);
        }
    }
    let mut page =
        Page::new("anssari2012/table4.2", desk.is_quick, "anssari2012, Table 4.2: what the benchmarks share");
    page.text(TEXT);
    let bounds = bound::Bounds::measured(desk)?;
    rows.extend(bounds.rows(desk.is_quick));
    page.judged(rows);
    let heads: Vec<&str> = ["benchmark"].into_iter().chain(CLASSES).collect();
    page.table(&heads, cells, heads.len());
    bounds.table(&mut page);
    let head = [
        "benchmark",
        "kernel",
        "ptx_line",
        "access",
        "address_read",
        "warps",
        "lines",
        "least_lines",
        "words",
        "sharers",
        "class",
    ];
    page.csv = comma_separated(&head, &lines)?;
    Ok(page)
}

const TEXT: &str = "Of the kernels and sizes that [fig4](fig4.md) has. The thesis gives no rule; its columns are classes of data, *shared* and *partitioned*
(needed by one only, though others may touch the same line). Ours looks at every instruction that touches at least 1 % of the words of
global memory and constants that the instructions of its kernel touch, and at the CTAs of the launch that touch the same words of 4 bytes,
by whatever instruction:

* up to 1.25 CTAs a word, on average: *partitioned*, and *coalesced* if the lines of an access are at most one more than the least that
  hold its bytes, on average, else *non-coalesced*;
* more, and an address that depends on a value that was read: *dynamic*;
* up to 8: *boundary*; more: *broadcast*;
* *atomic* if the kernel has any atomic on global memory.

Whether an address depends on what was read follows registers, not what passes through shared memory or decides a branch. MRIQ's
first kernel, computePhiMag, is none of ours: its result is an input.
";
