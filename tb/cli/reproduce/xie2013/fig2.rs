//! Figure 2: the particle filter with each of 64 sets of loads bypassed.

use std::collections::BTreeSet;

use miette::Report;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::super::super::output::grouped;
use super::super::super::progress::progress_bar;
use super::super::Desk;
use crate::config::{Request, Resolved};
use crate::optimize::Subject;
use crate::reproduce::Halt;
use crate::reproduce::judge::{Class, Row};
use crate::reproduce::page::{Page, comma_separated, table};
use crate::run::ratio;

/// Loads that are chosen from; all others are cached.
const LOADS: usize = 6;

/// What table 1 states of the GTX 680, on the machine that is nearest to it.
const SETS: [&str; 4] = ["num_sms=8", "num_partitions=4", "l1.sets=32", "l1.ways=4"];

const TEXT: &str = "The six loads that ask for most lines are chosen from, all others are cached, as in section 2.2. L2 bytes are what all
loads ask of the L2 on caches without time: a line of 128 bytes for each miss, a sector of 32 bytes for each part of a
line that a bypassed load touches. The paper measured time on a GTX 680 and one kernel of 14 loads; here are three
kernels with the same steps. Its finding is a sign: neither caching all six loads nor bypassing all six is best.
";

/// Why our kernels show another picture where they do.
const ALL_CACHED: &str = "**not as in the paper**, an extreme is best.
The steps are kernels of their own here, and the L1 is emptied between them, so that the scan of `draw` meets no other
busy load; what the loads of `weigh` share is worth more than the lines that they take from each other. Without time,
conflicts and whole lines where sectors would do are all that caching costs";

/// One set of bypassed loads.
struct Point {
    bypassed: Vec<usize>,
    l2_bytes: u64,
}

pub(in super::super) fn fig2(desk: &Desk) -> Result<Page, Halt> {
    let sets = SETS.map(str::to_owned).into();
    let resolved =
        Resolved::new(&Request { machine: "fermi".to_owned(), designs: Vec::new(), sets }).map_err(Report::from)?;
    let launch = desk.launch("particlefilter", "paper");
    let subject = Subject::new(&launch, None, &resolved.config).map_err(Report::from)?;
    let asked = subject.lines_asked();
    let mut loads: Vec<usize> = asked.keys().copied().collect();
    loads.sort_by_key(|load| std::cmp::Reverse(asked[load]));
    loads.truncate(LOADS);
    loads.sort_unstable();
    let bar = progress_bar(desk.is_quiet, 1 << loads.len());
    let point = |mask: usize| {
        let bypassed: Vec<usize> = (0..loads.len()).filter(|i| mask >> i & 1 != 0).map(|i| loads[i]).collect();
        let cached: BTreeSet<usize> = asked.keys().copied().filter(|load| !bypassed.contains(load)).collect();
        let l2_bytes = subject.l2_bytes(&cached);
        bar.inc(1);
        Point { bypassed, l2_bytes }
    };
    let mut points: Vec<Point> =
        desk.runner.pool().install(|| (0..1 << loads.len()).into_par_iter().map(point).collect());
    bar.finish_and_clear();
    points.sort_by_key(|point| (point.bypassed.len(), point.bypassed.clone()));
    draw(desk.is_quick, &subject, &loads, &points)
}

/// Points from caching all to bypassing all.
fn draw(quick: bool, subject: &Subject, loads: &[usize], points: &[Point]) -> Result<Page, Halt> {
    let command = if quick { "xie2013/fig2 --quick" } else { "xie2013/fig2" };
    let bytes = |at: Option<&Point>| at.map_or(0, |point| point.l2_bytes);
    let (all_cached, all_bypassed) = (bytes(points.first()), bytes(points.last()));
    let least = bytes(points.iter().min_by_key(|point| point.l2_bytes));
    let head = ["bypassed", "L2 bytes", "of cache all"];
    let row = |point: &Point| {
        let names: Vec<_> = point.bypassed.iter().map(usize::to_string).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(" ") };
        vec![names, grouped(point.l2_bytes), format!("{:.3}", ratio(point.l2_bytes, all_cached))]
    };
    let holds = least < all_cached.min(all_bypassed);
    let finding = if holds { "**as in the paper**, neither extreme is best" } else { ALL_CACHED };
    let ours = format!("all {}, none {}, best {}", grouped(all_cached), grouped(all_bypassed), grouped(least));
    let judged = Row::claim(Class::Sign, "L2 bytes of cached loads", &ours, "neither extreme is best", holds);
    let verdict = format!(
        "Caching all asks for {} bytes, bypassing all for {}, the best set for {}: {finding}.\n",
        grouped(all_cached),
        grouped(all_bypassed),
        grouped(least),
    );
    let load = |&load: &usize| {
        let found = &subject.loads[load];
        vec![
            load.to_string(),
            found.line.to_string(),
            found.function.clone(),
            format!("`{}`", found.text.replace('\t', " ")),
        ]
    };
    let chosen = table(&["load", "line", "kernel", "text"], loads.iter().map(load).collect(), 4);
    let rows: Vec<_> = points.iter().map(row).collect();
    let markdown = format!(
        "# xie2013, figure 2: the particle filter\n\n`cargo run --release -- reproduce {command}` writes this page and \
         the CSV file beside it.\n\n`fermi` with `{}`: 8 SMs with an L1 of 16 KB, an L2 of 512 KB.\n{TEXT}\n{verdict}\n{chosen}\n{}",
        SETS.join(", "),
        table(&head, rows, 1),
    );
    let plain = |point: &Point| {
        let names: Vec<_> = point.bypassed.iter().map(usize::to_string).collect();
        vec![names.join(" "), point.l2_bytes.to_string()]
    };
    let csv = comma_separated(&["bypassed", "l2_bytes"], &points.iter().map(plain).collect::<Vec<_>>())?;
    Ok(Page { name: Page::name("xie2013/fig2", quick), markdown, csv, rows: vec![judged], ..Page::default() })
}
