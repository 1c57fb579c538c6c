//! Tables of the page with results of the clocked machine.

use std::iter::once;

use ::area::Table43;
use golden::hybrid::Counts;
use miette::Report;
use rtl::l2::L2Stats;
use rtl::tracker::TrackerStats;

use super::super::{Events, HOP_MM, LARGEST, SIZES, STRUCTURES};
use super::{BenchmarkRuns, Other, PASSING, PROPOSED, SystemRun, energy, forwards, mean, trackers};
use crate::chart::{Chart, Series};
use crate::page::{Page, comma_separated};
use warpsieve::run::{Counters, ratio};

/// Lengths of a network hop, in mm, for which the energy is computed.
const HOPS: [f64; 6] = [1.0, 2.0, 5.0, 10.0, 20.0, 40.0];

/// Adds all tables, the chart and the CSV to the page.
pub(super) fn draw(page: &mut Page, costs: &Table43, all: &[BenchmarkRuns], others: &[Other]) -> Result<(), Report> {
    let shown: Vec<&str> = ["baseline", "tracker", "both"].into_iter().filter(|name| has(all, name)).collect();
    dram_tables(page, all, &shown);
    single_tables(page, all);
    passing_table(page, all);
    energy_tables(page, costs, all, &shown);
    time_table(page, all);
    refusals(page, all, others);
    sizes(page, all);
    page.csv = format_counts(costs, all)?;
    Ok(())
}

/// Adds a table to the page. Its first column has the heading `first`; all other columns contain numbers.
fn table(page: &mut Page, first: &str, names: &[impl AsRef<str>], rows: Vec<Vec<String>>) {
    let heads: Vec<&str> = once(first).chain(names.iter().map(AsRef::as_ref)).collect();
    page.table(&heads, rows, 1);
}

/// Formats a result of the clocked machine, followed in parentheses by the result of the model without
/// timing.
fn both([timed, untimed]: [f64; 2]) -> String {
    format!("{timed:.3} ({untimed:.3})")
}

fn has(all: &[BenchmarkRuns], system: &str) -> bool {
    all.iter().all(|one| one.done.iter().any(|done| done.system == system))
}

/// Formats one table row of numbers per benchmark, followed by a row of means.
fn with_means(all: &[BenchmarkRuns], numbers: &dyn Fn(&BenchmarkRuns) -> Vec<[f64; 2]>) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut sums: Vec<[f64; 2]> = Vec::new();
    for one in all {
        let each = numbers(one);
        sums.resize(each.len(), [0.0; 2]);
        sums.iter_mut().zip(&each).for_each(|(sum, each)| (0..2).for_each(|at| sum[at] += each[at]));
        rows.push([one.name.to_owned()].into_iter().chain(each.into_iter().map(both)).collect());
    }
    let means = sums.into_iter().map(|sum| both(sum.map(|sum| sum / all.len() as f64)));
    rows.push(["mean".to_owned()].into_iter().chain(means).collect());
    rows
}

fn dram_tables(page: &mut Page, all: &[BenchmarkRuns], shown: &[&str]) {
    page.text(
        "## Figure 4.1: DRAM data, relative to the baseline with 1 MB\n\
         Clocked machine, with untimed caches in parentheses.",
    );
    for system in shown {
        let heads = SIZES.map(|kb| format!("{system} {kb} KB"));
        let numbers = |one: &BenchmarkRuns| (0..SIZES.len()).map(|size| one.of_baseline(system, size)).collect();
        table(page, "benchmark", &heads, with_means(all, &numbers));
    }
    let series = shown.iter().flat_map(|system| {
        (0..SIZES.len()).map(move |size| {
            Series::new(
                &format!("{system} {}", SIZES[size]),
                all.iter().map(move |one| one.of_baseline(system, size)[0]),
            )
        })
    });
    let chart = Chart::relative("DRAM data on the clocked machine", "relative to the baseline with 1 MB").logarithmic();
    let groups = all.iter().map(|one| one.name.to_owned()).collect();
    page.chart("", &Chart { groups, series: series.collect(), ..chart });
}

fn single_tables(page: &mut Page, all: &[BenchmarkRuns]) {
    page.text(
        "## Figures 4.2, 4.4 and 4.5, L2 of 1 MB\n\
         L1 miss rates with a tracker, and DRAM data relative to one tracker with sixteen sharers.",
    );
    let others = ["1 sharer", "2 trackers", "4 trackers"];
    let heads: Vec<&str> = once("miss rate").chain(others).collect();
    let numbers = |one: &BenchmarkRuns| {
        let rate = one.on("tracker", LARGEST).miss_rate();
        let parts = others.map(|system| one.part((system, LARGEST), (PROPOSED, LARGEST), SystemRun::dram));
        [rate].into_iter().chain(parts).collect()
    };
    table(page, "benchmark", &heads, with_means(all, &numbers));
}

fn passing_table(page: &mut Page, all: &[BenchmarkRuns]) {
    page.text(PAST_THE_L2);
    let heads = [
        "benchmark",
        "DRAM data",
        "cycles",
        "lines fetched",
        "written back",
        "write misses",
        "both: lines fetched",
        "both: written back",
        "both: write misses",
        "DRAM data, byte masks",
    ];
    let rows = all.iter().map(|one| {
        let counts = |system: &str| {
            let sum = |count: fn(&L2Stats) -> u64| one.on(system, LARGEST).timed.l2.iter().map(count).sum::<u64>();
            [sum(|bank| bank.fetches), sum(|bank| bank.writebacks), sum(|bank| bank.write_misses)]
        };
        let [cycles, whole] = [PASSING, PROPOSED].map(|system| one.on(system, LARGEST).timed.cycles);
        let parts = [both(one.l2_bypass()), format!("{:.3}", ratio(cycles, whole))];
        let counted = [counts(PASSING), counts(PROPOSED)].concat().into_iter().map(|count| count.to_string());
        let masked = one.past_the_masked_l2().map_or(String::new(), |part| format!("{part:.3}"));
        [one.name.to_owned()].into_iter().chain(parts).chain(counted).chain([masked]).collect()
    });
    page.table(&heads, rows.collect(), 1);
}

fn energy_tables(page: &mut Page, costs: &Table43, all: &[BenchmarkRuns], shown: &[&str]) {
    page.text(&format!(
        "## Figure 4.6: energy\n\
         Relative to the baseline with the same L2, with a hop of {HOP_MM} mm. Untimed caches are in parentheses."
    ));
    let systems: Vec<_> = shown[1..].iter().flat_map(|&system| [0, LARGEST].map(|size| (system, size))).collect();
    let heads: Vec<_> = systems.iter().map(|(system, size)| format!("{system} {} KB", SIZES[*size])).collect();
    let numbers = |one: &BenchmarkRuns| {
        systems.iter().map(|&(system, size)| energy(costs, one, (system, size), ("baseline", size))).collect()
    };
    table(page, "benchmark", &heads, with_means(all, &numbers));
    page.text("Means for other hop lengths, because the thesis does not state the length:");
    let rows = HOPS.map(|mm| {
        let means = systems.iter().map(|&(system, size)| {
            both(mean(all, |one| one.part((system, size), ("baseline", size), |done| done.energy(costs, mm))))
        });
        [format!("{mm} mm")].into_iter().chain(means).collect()
    });
    table(page, "hop", &heads, rows.into());
    page.text("Energy by structure on the clocked machine with 1 MB, in uJ:");
    let heads: Vec<_> =
        STRUCTURES.iter().flat_map(|name| [format!("{name} baseline"), format!("{name} tracker")]).collect();
    let rows = all.iter().map(|one| {
        let [without, with] =
            ["baseline", "tracker"].map(|system| one.on(system, LARGEST).events[0].energy(costs, HOP_MM));
        let cells = without.iter().zip(with).flat_map(|(without, with)| [*without, with]);
        [one.name.to_owned()].into_iter().chain(cells.map(|nj| format!("{:.2}", nj / 1000.0))).collect()
    });
    table(page, "benchmark", &heads, rows.collect());
}

fn time_table(page: &mut Page, all: &[BenchmarkRuns]) {
    page.text(
        "## Time\n\
         Cycles with a tracker, relative to the baseline with the same L2. The thesis has no timing; its expectations\n\
         are in the rows above.",
    );
    let heads = SIZES.map(|kb| format!("{kb} KB"));
    let rows = all.iter().map(|one| {
        let parts = (0..SIZES.len()).map(|size| format!("{:.3}", one.cycles(size)));
        [one.name.to_owned()].into_iter().chain(parts).collect()
    });
    table(page, "benchmark", &heads, rows.collect());
}

fn refusals(page: &mut Page, all: &[BenchmarkRuns], others: &[Other]) {
    page.text(REFUSALS);
    let heads = ["benchmark", "L1 misses looked up", "forwarded %", "supplied %", "line evicted %", "line in flight %"];
    let benchmarks = all.iter().map(|one| (one.name, &one.on("tracker", LARGEST).timed));
    let rows =
        benchmarks.chain(others.iter().map(|(name, counters)| (name.as_str(), counters))).map(|(name, counters)| {
            let lookups = trackers(counters).lookups.to_string();
            let parts = forwards(counters).map(|part| format!("{part:.1}"));
            [name.to_owned(), lookups].into_iter().chain(parts).collect()
        });
    page.table(&heads, rows.collect(), 1);
}

fn sizes(page: &mut Page, all: &[BenchmarkRuns]) {
    page.text("## Sizes\nSizes of the launch files that [fig4](fig4.md) lists.");
    let rows = all.iter().map(|one| {
        let Counters { cycles, .. } = one.on("baseline", LARGEST).timed;
        let instructions = one.on("baseline", LARGEST).timed.warp_instructions();
        vec![one.name.to_owned(), instructions.to_string(), cycles.to_string()]
    });
    page.table(&["benchmark", "warp instructions", "cycles, 1 MB"], rows.collect(), 1);
}

const PAST_THE_L2: &str = "## Figure 4.3: loads whose lines an L1 will keep bypass the L2
`tracker-exclusive` with `hybrid-policy`, relative to `tracker` with `hybrid-policy`, both with 1 MB, as in the
thesis. A write miss fetches its line unless the whole line is written. With byte masks, an L2 records which bytes
were written and fetches nothing for them. The simulator of the thesis has no byte masks. The last column shows them
only for the benchmarks that the thesis reports as hurt. A write miss costs at most its own fetch: the other
additional fetches are for lines that are read again.
";

const REFUSALS: &str = "## Outcomes of forwards
The machine has a tracker and 1 MB. The last rows are kernels of the suite at their main size, which are in no figure.
The outcome depends only on the line: a forward waits for the ports and queues that it needs, and is never refused for
lack of them. *Line evicted*: the L1 has evicted the line, and its notice has not reached the tracker. *Line in
flight*: the tracker listed the line when its reply passed, and the line is still in flight to that L1, which stays
listed.

In `syrk`, the rows of a matrix map to the same sets. A line is evicted as soon as it has arrived, because all other
ways wait for lines of their own. The tracker learns this later: reply, notice and forward take longer than the line
stays in the L1. With a request link of one cycle, more of these forwards find their line. With enough ways for the
conflicting lines, most of them do. No queue or port is the cause.
";

/// Formats all counts of all benchmarks and systems as CSV.
fn format_counts(costs: &Table43, all: &[BenchmarkRuns]) -> Result<String, Report> {
    let head = [
        "benchmark",
        "system",
        "l2_kb",
        "time",
        "cycles",
        "l1_reads",
        "l1_writes",
        "tracker_reads",
        "tracker_writes",
        "l2_reads",
        "l2_writes",
        "network_bytes",
        "dram_bytes",
        "l1_nj",
        "tracker_nj",
        "l2_nj",
        "network_nj",
        "dram_nj",
        "lookups",
        "forwards",
        "supplied",
        "gone",
        "too_early",
    ];
    let mut lines = Vec::new();
    for one in all {
        for done in &one.done {
            let TrackerStats { lookups, forwards, supplied, refused, too_early, .. } = trackers(&done.timed);
            let timed = [lookups, forwards, supplied, refused - too_early, too_early];
            let Counts { remote_hits, nacks, tracker_reads, .. } = done.untimed;
            let untimed = [tracker_reads, remote_hits + nacks, remote_hits, nacks, 0];
            let rows = [("clocked", done.timed.cycles, timed), ("untimed", 0, untimed)];
            for ((time, cycles, of_tracker), events) in rows.into_iter().zip(done.events) {
                let Events { l1, tracker, l2, network_bytes, dram_bytes, .. } = events;
                let numbers = [l1, tracker, l2].concat().into_iter().chain([network_bytes, dram_bytes]);
                let mut line =
                    vec![one.name.to_owned(), done.system.to_owned(), SIZES[done.size].to_string(), time.to_owned()];
                line.push(if cycles > 0 { cycles.to_string() } else { String::new() });
                line.extend(numbers.map(|number| number.to_string()));
                line.extend(events.energy(costs, HOP_MM).map(|nj| format!("{nj:.1}")));
                line.extend(of_tracker.map(|number| number.to_string()));
                lines.push(line);
            }
        }
    }
    comma_separated(&head, &lines)
}
