//! anssari2012 Table 4.2: how the CTAs of each benchmark share data, classified by fixed rules.

mod bound;

use golden::interp::Access;

use super::BENCHMARKS;
use crate::FigureError;
use crate::Session;
use crate::judge::{Class, ComparisonRow};
use crate::page::{Page, comma_separated};
use crate::runs::resolve_config;
use crate::table::row;
use warpsieve::run::{AccessSharing, KernelSharing, ratio, sharing};

/// Column headings of Table 4.2, the classes of data and accesses.
const CLASSES: [&str; 6] = ["broadcast", "boundary", "dynamic", "coalesced", "non-coalesced", "atomic"];
const BROADCAST: usize = 0;
const BOUNDARY: usize = 1;
const DYNAMIC: usize = 2;
const COALESCED: usize = 3;
const SCATTERED: usize = 4;
const ATOMIC: usize = 5;

/// Maximum average number of CTAs that access a word, for data to be classified as private to a CTA
/// (partitioned).
const OWNED: f64 = 1.25;
/// Maximum average number of CTAs that access a word, for shared data to be classified as shared only between
/// neighbors.
const NEIGHBOURS: f64 = 8.0;
/// Maximum average number of lines that a warp's access touches beyond the necessary minimum, for an
/// instruction to be classified as coalesced.
const MISALIGNED: f64 = 1.0;
/// Minimum fraction of the kernel's data that an instruction must access to be classified; all other
/// instructions are ignored.
const COUNTS: f64 = 0.01;

/// Explanations of differences from the thesis. They are written by hand, because no rule can derive them.
/// Most of the differences result from differences between our kernels and Parboil's.
const ELSEWISE: [(&str, &str); 4] = [
    (
        "Gridding",
        "all our kernels, from samples to cells, are judged together, because the thesis does \
         not say which of them it calls `many`",
    ),
    ("Histo prescan", "only the two words that the atomics update are shared"),
    (
        "Histo main",
        "CTAs read the whole image once for each slice of the bins that is used; our CTAs count in shared memory and \
         update the global counts with a few atomics at the end",
    ),
    (
        "SPMV",
        "each result goes to the row that was loaded for it, which no other result uses: the address \
         is data, but nothing is shared",
    ),
];

/// Row of Table 4.2: benchmark, kernel in the thesis, prefix of the names of our kernels, and columns that
/// the thesis marks.
type PublishedRow = (&'static str, &'static str, &'static str, &'static [usize]);
const PUBLISHED: [PublishedRow; 13] = [
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

/// Returns the average number of CTAs that access the same word, over all words that an instruction accesses.
fn sharers(one: &AccessSharing) -> f64 {
    ratio(one.sharers, one.words)
}

/// Returns the average number of lines that a warp's access touches beyond the necessary minimum.
fn excess(one: &AccessSharing) -> f64 {
    ratio(one.touched.saturating_sub(one.least), one.warps)
}

/// Returns the class of an instruction, as the index of a column of Table 4.2.
fn class(one: &AccessSharing) -> usize {
    match (sharers(one), one.is_dependent) {
        (shared, true) if shared > OWNED => DYNAMIC,
        (shared, _) if shared > NEIGHBOURS => BROADCAST,
        (shared, _) if shared > OWNED => BOUNDARY,
        _ if excess(one) <= MISALIGNED => COALESCED,
        _ => SCATTERED,
    }
}

/// One text per column of Table 4.2; `None` for an empty cell.
type Texts = [Option<String>; CLASSES.len()];

/// Classifies the instructions of several kernels. Returns two sets of texts, with one text per column
/// (class) of the table. In the first set, each text describes the instruction of its class that accesses the
/// most data. The second set covers only instructions that access too little data to be classified.
fn classes(kernels: &[&KernelSharing]) -> [Texts; 2] {
    let [mut found, mut small]: [[Option<(u64, String)>; CLASSES.len()]; 2] = Default::default();
    for kernel in kernels {
        let all: u64 = kernel.accesses.iter().map(|one| one.words).sum();
        for one in &kernel.accesses {
            let doing = match one.access {
                Access::Load => "load",
                Access::Store => "store",
                Access::Atomic => "atomic",
            };
            let why = format!(
                "{} line {} ({doing}{}): {:.2} % of the kernel's data, {:.1} CTAs per word, {:.1} lines \
                 per access, at least {:.1} needed",
                kernel.name,
                one.line,
                if one.is_dependent { ", loaded address" } else { "" },
                100.0 * ratio(one.words, all),
                sharers(one),
                ratio(one.touched, one.warps),
                ratio(one.least, one.warps)
            );
            if one.access == Access::Atomic {
                keep(&mut found[ATOMIC], one.words, &why);
            }
            let counts = ratio(one.words, all) >= COUNTS;
            keep(&mut if counts { &mut found } else { &mut small }[class(one)], one.words, &why);
        }
    }
    [found, small].map(|best| best.map(|best| best.map(|(_, why)| why)))
}

fn keep(best: &mut Option<(u64, String)>, words: u64, why: &str) {
    if best.as_ref().is_none_or(|(most, _)| words > *most) {
        *best = Some((words, why.to_owned()));
    }
}

/// Row of Table 4.2 with our classification.
struct Profile<'a> {
    what: String,
    benchmark: &'static str,
    kernels: Vec<&'a KernelSharing>,
    /// Columns that our classification marks. The text of a column describes the instruction of its class
    /// that accesses the most data.
    found: Texts,
    /// Columns of instructions that access too little data to be classified. The text of a column describes
    /// the one of these instructions that accesses the most data.
    small: Texts,
    published: &'static [usize],
}

impl<'a> Profile<'a> {
    fn new((benchmark, kernel, prefix, published): PublishedRow, all: &'a [Vec<KernelSharing>]) -> Self {
        let of_benchmark = BENCHMARKS.iter().zip(all).filter(|((name, _), _)| *name == benchmark);
        let kernels = of_benchmark.flat_map(|(_, kernels)| kernels).filter(|one| one.name.starts_with(prefix));
        let kernels: Vec<_> = kernels.collect();
        let what = format!("{benchmark} {kernel}").trim_end().to_owned();
        let [found, small] = classes(&kernels);
        Self { what, benchmark, found, small, kernels, published }
    }

    /// Returns `(ours, thesis)` for each column of the table. `ours` is true if our classification marks the
    /// column, and `thesis` is true if the thesis marks it.
    fn marks(&self) -> impl Iterator<Item = (bool, bool)> {
        self.found.iter().enumerate().map(|(at, why)| (why.is_some(), self.published.contains(&at)))
    }

    fn row(&self, is_quick: bool) -> ComparisonRow {
        let names = |is_in: fn((bool, bool)) -> bool| {
            let named: Vec<_> =
                CLASSES.into_iter().zip(self.marks()).filter(|(_, mark)| is_in(*mark)).map(|(name, _)| name).collect();
            if named.is_empty() { "none".to_owned() } else { named.join(", ") }
        };
        let mut reasons = self.reasons();
        let passed = reasons.is_empty();
        if !passed && !is_quick {
            reasons.extend(ELSEWISE.iter().filter(|(name, _)| *name == self.what).map(|(_, why)| (*why).to_owned()));
        }
        let (ours, theirs) = (names(|(ours, _)| ours), names(|(_, theirs)| theirs));
        ComparisonRow::claim(Class::Sign, &self.what, &ours, &theirs, passed).with_reason(&reasons.join("; "))
    }

    /// Explains the columns that only our classification marks, and those that only the thesis marks.
    fn reasons(&self) -> Vec<String> {
        let reason = |(at, (_, theirs)): (usize, (bool, bool))| match (&self.found[at], &self.small[at], theirs) {
            (Some(why), _, false) => Some(format!("{} because of {why}", CLASSES[at])),
            (None, None, true) => Some(format!("no instruction is {}", CLASSES[at])),
            (None, Some(why), true) => Some(format!("{} only below the threshold of 1 %: {why}", CLASSES[at])),
            _ => None,
        };
        self.marks().enumerate().filter_map(reason).collect()
    }

    fn cells(&self) -> Vec<String> {
        let mark = |mark| match mark {
            (true, true) => "both",
            (true, false) => "ours",
            (false, true) => "thesis",
            (false, false) => "",
        };
        row(&self.what, self.marks().map(mark).map(str::to_owned))
    }

    /// Formats one CSV row for each instruction of the kernels.
    fn lines(&self) -> impl Iterator<Item = Vec<String>> {
        let accesses = self.kernels.iter().flat_map(|one| one.accesses.iter().map(move |access| (&one.name, access)));
        accesses.map(|(kernel, access)| {
            let numbers = [access.warps, access.touched, access.least, access.words, access.sharers];
            let kind = format!("{:?}", access.access).to_lowercase();
            let texts = [kernel.clone(), access.line.to_string(), kind, access.is_dependent.to_string()];
            let numbers = numbers.map(|number| number.to_string());
            row(self.benchmark, texts.into_iter().chain(numbers).chain([CLASSES[class(access)].to_owned()]))
        })
    }
}

/// Column headings of the CSV file.
const LINES: [&str; 11] = [
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

pub(in super::super) fn table42(session: &Session) -> Result<Page, FigureError> {
    let machine = resolve_config("hybrid", &[], &[])?.config;
    let kernels = session
        .map_parallel(&BENCHMARKS, |(_, kernel)| Ok(sharing(&session.launch(kernel, super::SIZE), &machine)?))?;
    let profiles = PUBLISHED.map(|published| Profile::new(published, &kernels));
    let bounds = bound::Bounds::measure(session)?;
    let rows = profiles.iter().map(|profile| profile.row(session.is_quick)).collect();
    let title = "anssari2012, Table 4.2: what the benchmarks share";
    let mut page = Page::with_comparison("anssari2012/table4.2", session.is_quick, title, TEXT, rows);
    let heads: Vec<&str> = ["benchmark"].into_iter().chain(CLASSES).collect();
    page.table(&heads, profiles.iter().map(Profile::cells).collect(), heads.len());
    bounds.table(&mut page);
    page.csv = comma_separated(&LINES, &profiles.iter().flat_map(Profile::lines).collect::<Vec<_>>())?;
    Ok(page)
}

const TEXT: &str = "The kernels and sizes are those of [fig4](fig4.md). The thesis gives no rule for its columns,
which are classes of data, *shared* and *partitioned* (needed by one CTA only, although others may touch the same
line). Our rule considers every instruction that touches at least 1 % of the words of global memory and constants that
the instructions of its kernel touch. It counts the CTAs of the launch that touch the same words of 4 bytes, with any
instruction:

* at most 1.25 CTAs per word on average: *partitioned*. The data are *coalesced* if an access touches, on average, at
  most one line more than the minimum that holds its bytes, and *non-coalesced* otherwise;
* more, and an address that depends on a loaded value: *dynamic*;
* at most 8: *boundary*; more: *broadcast*;
* *atomic* if the kernel has any atomic on global memory.

Dependences of addresses on loaded values are followed through registers, but not through shared memory or branches.
MRIQ's first kernel, computePhiMag, is not among our kernels: its result is an input.
";
