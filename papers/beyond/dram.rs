//! Gains of the DRAM arbitration policies over FR-FCFS, and their fairness among SMs.

use std::iter::once;
use std::path::PathBuf;

use miette::Report;
use rtl::l1::stages::Stays;
use serde::{Deserialize, Serialize};

use super::{
    LEAVE_ONE_OUT, MACHINE, MEANS, NOTED, PAYS, extremes, format_range, gain_and_lose, geometric, in_words, join_names,
    size_shown,
};
use crate::chart::Chart;
use crate::judge::{geometric_mean, mean};
use crate::page::{Page, comma_separated};
use crate::runs::Point;
use crate::table::Table;
use crate::{FigureError, Session};
use warpsieve::run::{RunOptions, RunReport, Totals, ratio};

/// Arbitration policies, each with its name on the page and the setting that selects it. All policies are
/// compared with the first one. In the paper, a quantum of ATLAS lasts 10 million cycles, which is longer
/// than any of these kernels runs. Here a quantum is as long as the interval after which BLISS clears its
/// blacklist. The starvation threshold of ATLAS is reduced, too: from 100,000 cycles in the paper to 1,000.
const POLICIES: [(&str, &str); 7] = [
    ("fr-fcfs", "dram.policy={ kind = \"fr-fcfs\", hit_cap = 0 }"),
    ("fcfs", "dram.policy={ kind = \"fcfs\" }"),
    ("fr-fcfs, cap 16", "dram.policy={ kind = \"fr-fcfs\", hit_cap = 16 }"),
    ("fr-fcfs, cap 4", "dram.policy={ kind = \"fr-fcfs\", hit_cap = 4 }"),
    ("bliss", "dram.policy={ kind = \"bliss\", threshold = 4, interval = 10_000 }"),
    ("atlas", "dram.policy={ kind = \"atlas\", quantum = 10_000, starvation = 1_000, decay = 3 }"),
    ("par-bs", "dram.policy={ kind = \"par-bs\", marking_cap = 5 }"),
];

/// Indices of the policies that were made for fairness among the threads of a multicore processor.
const FAIR: [usize; 3] = [4, 5, 6];

/// Minimum use of the DRAM data buses over the run, in percent, at which a kernel is regarded as DRAM bound.
/// A bus cannot reach 100 %: it is idle during activates, during turnarounds and at the ends of a kernel.
const BOUND: f64 = 30.0;

/// Metrics of one kernel with one policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct DramRun {
    cycles: u64,
    /// Use of the data buses of all channels over the run, in percent.
    bus_percent: f64,
    /// Number of bursts read and written. The field `row_hits` is the number of these bursts that hit an open
    /// row.
    bursts: u64,
    row_hits: u64,
    activates: u64,
    bytes: u64,
    /// Mean time of a read in the L2 and the DRAM over all SMs, in core cycles.
    latency: f64,
    /// Highest mean read time of any SM, divided by the mean over all SMs. If the value is 1, all SMs wait
    /// equally long.
    unfairness: f64,
}

impl DramRun {
    fn of(report: &RunReport) -> Self {
        let counters = &report.counters;
        let Totals { dram, .. } = counters.totals();
        let memory_cycles = counters.cycles as f64 * f64::from(counters.dram_khz) / f64::from(counters.core_khz.max(1));
        let capacity = memory_cycles * counters.dram.len() as f64;
        let (latency, unfairness) = waiting(counters.stages.iter().map(|stages| &stages.l2));
        Self {
            cycles: counters.cycles,
            bus_percent: if capacity > 0.0 { 100.0 * dram.bus_busy_cycles as f64 / capacity } else { 0.0 },
            bursts: dram.reads + dram.writes,
            row_hits: dram.row_hits,
            activates: dram.activates,
            bytes: dram.bytes,
            latency,
            unfairness,
        }
    }

    fn row_hit_percent(&self) -> Option<f64> {
        (self.bursts > 0).then(|| 100.0 * ratio(self.row_hits, self.bursts))
    }
}

/// Returns two values: the mean read time over all SMs, and the highest mean read time of any SM divided by
/// the first value. SMs without reads are left out.
fn waiting<'a>(sms: impl Iterator<Item = &'a Stays>) -> (f64, f64) {
    let times: Vec<_> = sms.filter(|sm| sm.number > 0).map(|sm| ratio(sm.cycles, sm.number)).collect();
    let most = times.iter().copied().fold(0.0, f64::max);
    match mean(&times) {
        Some(mean) if mean > 0.0 => (mean, most / mean),
        _ => (0.0, 1.0),
    }
}

/// Results of the kernels that are DRAM bound.
struct DramResults {
    /// Number of kernels in the suite, whether DRAM bound or not.
    suite: usize,
    kernels: Vec<(String, PathBuf)>,
    /// Runs, indexed by policy and then by kernel.
    runs: Vec<Vec<DramRun>>,
}

impl DramResults {
    fn speedups(&self, policy: usize) -> Vec<f64> {
        let pairs = self.runs[0].iter().zip(&self.runs[policy]);
        pairs.map(|(first, run)| ratio(first.cycles, run.cycles.max(1))).collect()
    }

    /// Returns, for each kernel, the number of activates under a policy, divided by the number under the
    /// first policy.
    fn activates(&self, policy: usize) -> Vec<f64> {
        let pairs = self.runs[0].iter().zip(&self.runs[policy]).map(|(first, run)| (first.activates, run.activates));
        pairs.map(|(first, run)| if first > 0 && run > 0 { ratio(run, first) } else { 1.0 }).collect()
    }

    fn row_hits(&self, policy: usize) -> Vec<f64> {
        self.runs[policy].iter().filter_map(DramRun::row_hit_percent).collect()
    }

    fn unfairness(&self, policy: usize) -> Vec<f64> {
        self.runs[policy].iter().map(|run| run.unfairness).collect()
    }

    fn mean_of(&self, policy: usize, of: impl Fn(&DramRun) -> f64) -> f64 {
        mean(&self.runs[policy].iter().map(of).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    }
}

pub(super) fn dram(session: &Session) -> Result<Page, FigureError> {
    let suite = session.suite()?;
    let point = |path: &PathBuf, policy: usize| Point::new(path, MACHINE, &[], &[POLICIES[policy].1]);
    let measure = |points: &[Point]| {
        session.runner.run_reports("arbitrated", points, &RunOptions::default(), &|report| Ok(DramRun::of(&report)))
    };
    let first = measure(&suite.iter().map(|(_, path)| point(path, 0)).collect::<Vec<_>>())?;
    let (kernels, first): (Vec<_>, Vec<_>) =
        suite.iter().cloned().zip(first).filter(|(_, run)| run.bus_percent >= BOUND).unzip();
    let others: Vec<_> =
        (1..POLICIES.len()).flat_map(|policy| kernels.iter().map(move |(_, path)| point(path, policy))).collect();
    let others = measure(&others)?;
    let of_policy = |policy: usize| others[policy * kernels.len()..][..kernels.len()].to_vec();
    let runs = once(first).chain((0..POLICIES.len() - 1).map(of_policy)).collect();
    Ok(draw(session.is_quick, &DramResults { suite: suite.len(), kernels, runs })?)
}

fn draw(is_quick: bool, found: &DramResults) -> Result<Page, Report> {
    let mut page = Page::new("beyond/dram", is_quick, "Arbitration policies of the DRAM");
    page.text(&format!(
        "Arbitration policies of the DRAM channels of `{MACHINE}`, for those of the suite's {} kernels that the DRAM bounds, in their\n\
         {}. These are the {} kernels whose data buses are in use for at least {BOUND:.0} % of the run with `fr-fcfs`.\n\
         `fr-fcfs` has no limit to the row hits that overtake an older request; a *cap* limits them (the preset has a cap of 16).\n\
         `bliss` and `par-bs` have the values of their papers. A quantum of `atlas` lasts 10,000 cycles of the DRAM clock, because the\n\
         kernels would end within the 10 million cycles of the paper; a request starves after 1,000 cycles instead of 100,000.\n\
         Speed-ups and activates are relative to `fr-fcfs`. Row hit %: bursts that hit an open row. Unfairness: the mean time of a read\n\
         in L2 and DRAM, for the SM that waits longest, divided by the mean over the SMs; 1 if all wait equally long.\n\
         The model's energy of the DRAM devices is proportional to the bytes, which no policy changes by design. The activates show what a\n\
         device that pays for each opened row would gain or lose.\n\
         {MEANS}",
        found.suite,
        size_shown(is_quick),
        found.kernels.len()
    ));
    page.text(
        "## What fairness means for one kernel\n\
         `bliss`, `atlas` and `par-bs` are made for a multicore that runs a different program on each core: they keep one program from\n\
         slowing down the others. The machine runs one kernel at a time, so all SMs run the same program, and none of them is a victim of\n\
         another program. Here an SM takes the place of a core. An SM that waits longer than others delays the end of the kernel only if\n\
         it ends last. The measures of the papers, weighted speed-up and maximum slowdown, compare each program with its run alone. They\n\
         do not exist for parts of a kernel, so this page shows the time of the kernel and the spread of waiting times among SMs.",
    );
    let head = [
        "policy",
        "speed-up",
        LEAVE_ONE_OUT,
        "gain 5 %",
        "lose 5 %",
        "row hit %",
        LEAVE_ONE_OUT,
        "activates",
        LEAVE_ONE_OUT,
        "read latency",
        "unfairness",
        LEAVE_ONE_OUT,
    ];
    let rows = POLICIES.iter().enumerate().map(|(at, (policy, _))| {
        let speedups = found.speedups(at);
        let latency = format!("{:.0}", found.mean_of(at, |run| run.latency));
        once((*policy).to_owned())
            .chain(format_range(&speedups, 3, geometric_mean))
            .chain(gain_and_lose(&speedups))
            .chain(format_range(&found.row_hits(at), 1, mean))
            .chain(format_range(&found.activates(at), 3, geometric_mean))
            .chain([latency])
            .chain(format_range(&found.unfairness(at), 3, mean))
            .collect()
    });
    page.table(&head, rows.collect(), 1);
    by_kernel(&mut page, found);
    let names = found.kernels.iter().map(|(kernel, _)| [kernel.as_str()]);
    let columns = (1..POLICIES.len()).map(|at| (POLICIES[at].0, found.speedups(at)));
    let table = Table::new(["kernel"], names).columns(3, columns);
    let chart = Chart::relative("Arbitration policies of the DRAM", "speed-up over fr-fcfs");
    table.chart(&mut page, "", chart.logarithmic(), table.all());
    page.text(&format!("## Conclusions\n{}", findings(found)));
    page.csv = numbers(found)?;
    Ok(page)
}

fn by_kernel(page: &mut Page, found: &DramResults) {
    page.text(
        "## By kernel\nUse of the data buses, row hits and unfairness with `fr-fcfs`; speed-up with each other policy.",
    );
    let policies = POLICIES.map(|(policy, _)| policy);
    let head = [&["kernel", "bus %", "row hit %", "unfairness"][..], &policies[1..]].concat();
    let speedups: Vec<_> = (1..POLICIES.len()).map(|policy| found.speedups(policy)).collect();
    let rows = found.kernels.iter().enumerate().map(|(at, (kernel, _))| {
        let first = &found.runs[0][at];
        let row_hits = first.row_hit_percent().map_or("-".to_owned(), |percent| format!("{percent:.1}"));
        let cells = [kernel.clone(), format!("{:.1}", first.bus_percent), row_hits, format!("{:.3}", first.unfairness)];
        cells.into_iter().chain(speedups.iter().map(|speedups| format!("{:.3}", speedups[at]))).collect()
    });
    page.table(&head, rows.collect(), 1);
}

fn findings(found: &DramResults) -> String {
    let count = found.kernels.len();
    if count == 0 {
        return "The DRAM bounds no kernel, so its policy does not matter.".to_owned();
    }
    let mut text = String::new();
    for (at, (policy, _)) in POLICIES.iter().enumerate().skip(1) {
        let speedups = found.speedups(at);
        text.push_str(&format!("With `{policy}`, kernels run {} times as fast as with `fr-fcfs`", in_words(&speedups)));
        if let Some([most, least]) = extremes(&found.kernels, &speedups) {
            text.push_str(&format!(": from {:.2} in `{}` to {:.2} in `{}`", least.1, least.0, most.1, most.0));
        }
        text.push_str(".\n");
    }
    let means: Vec<_> = (0..POLICIES.len()).map(|policy| geometric(&found.speedups(policy))).collect();
    let paying: Vec<_> = (1..means.len()).filter(|at| means[*at] >= 1.0 + PAYS).map(|at| POLICIES[at].0).collect();
    let row_hits = |policy: usize| mean(&found.row_hits(policy)).unwrap_or(f64::NAN);
    text.push_str(&format!(
        "Policies that gain {:.0} % or more on average: {}. First come, first served changes the mean row hit rate from {:.1} to {:.1} %.\n",
        100.0 * PAYS,
        join_names(&paying),
        row_hits(0),
        row_hits(1)
    ));
    let unfairness = |policy: usize| found.mean_of(policy, |run| run.unfairness);
    let fairer: Vec<_> = FAIR.into_iter().filter(|at| unfairness(*at) < unfairness(0)).collect();
    let faster = fairer.iter().filter(|at| means[**at] >= 1.0 + PAYS).count();
    let fairer: Vec<_> = fairer.into_iter().map(|at| POLICIES[at].0).collect();
    text.push_str(&format!(
        "With `fr-fcfs`, the SM that waits longest waits {:.3} times as long as the mean. Of the policies made for fairness, these lower that\n\
         mean ratio: {}; {faster} of them gain {:.0} % or more of speed.\n",
        unfairness(0),
        join_names(&fairer),
        100.0 * PAYS
    ));
    let spread = found.runs[0].iter().filter(|run| run.unfairness >= 1.0 + NOTED).count();
    text.push_str(&format!(
        "In {spread} of {count} kernels, the SM that waits longest waits at least {:.0} % longer than the mean.",
        100.0 * NOTED
    ));
    text
}

/// Formats all measurements as CSV, by policy and kernel.
fn numbers(found: &DramResults) -> Result<String, Report> {
    let head = [
        "policy",
        "kernel",
        "cycles",
        "bus_percent",
        "bursts",
        "row_hits",
        "activates",
        "bytes",
        "latency",
        "unfairness",
    ];
    let rows = POLICIES.iter().zip(&found.runs).flat_map(|((policy, _), runs)| {
        found.kernels.iter().zip(runs).map(|((kernel, _), run)| {
            let &DramRun { cycles, bus_percent, bursts, row_hits, activates, bytes, latency, unfairness } = run;
            let counts = [bursts, row_hits, activates, bytes].map(|count| count.to_string());
            [(*policy).to_owned(), kernel.clone(), cycles.to_string(), format!("{bus_percent:.2}")]
                .into_iter()
                .chain(counts)
                .chain([format!("{latency:.2}"), format!("{unfairness:.4}")])
                .collect()
        })
    });
    comma_separated(&head, &rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::resolve_config;

    fn run(cycles: u64, row_hits: u64, unfairness: f64) -> DramRun {
        DramRun {
            cycles,
            bus_percent: 50.0,
            bursts: 10,
            row_hits,
            activates: 10 - row_hits,
            unfairness,
            ..DramRun::default()
        }
    }

    #[test]
    fn the_sm_that_waits_longest_is_compared_with_the_mean_of_those_that_read() {
        let sm = |number, cycles| Stays { number, cycles, ..Stays::default() };
        assert_eq!(waiting([sm(2, 200), sm(0, 0), sm(1, 300)].iter()), (200.0, 1.5));
        assert_eq!(waiting([sm(0, 0)].iter()), (0.0, 1.0));
    }

    #[test]
    fn speed_row_hits_and_fairness_are_judged_apart() {
        let kernels = ["vadd", "pest"].map(|name| (name.to_owned(), PathBuf::new())).into();
        let mut runs = vec![vec![run(100, 8, 1.2); 2]; POLICIES.len()];
        runs[1] = vec![run(200, 4, 1.0); 2];
        runs[4] = vec![run(50, 8, 1.1), run(100, 8, 1.1)];
        runs[6] = vec![run(125, 8, 1.0); 2];
        let page = draw(false, &DramResults { suite: 62, kernels, runs }).unwrap();
        let text = &page.markdown;
        assert!(text.contains("With `bliss`, kernels run 1.414 (1.000 to 2.000) times as fast as with `fr-fcfs`: from 1.00 in `pest` to 2.00 in `vadd`."), "{text}");
        assert!(text.contains("gain 1 % or more on average: `bliss`. First come"), "{text}");
        assert!(text.contains("row hit rate from 80.0 to 40.0 %"), "{text}");
        assert!(text.contains("mean ratio: `bliss` and `par-bs`; 1 of them gain 1 % or more"), "{text}");
        assert!(text.contains("In 2 of 2 kernels, the SM that waits longest waits at least 5 % longer"), "{text}");
        assert_eq!(page.csv.lines().count(), 1 + POLICIES.len() * 2);
    }

    #[test]
    fn a_suite_that_the_dram_does_not_bound_has_no_conclusions() {
        let none = DramResults { suite: 62, kernels: Vec::new(), runs: vec![Vec::new(); POLICIES.len()] };
        assert!(draw(true, &none).unwrap().markdown.contains("The DRAM bounds no kernel"));
    }

    #[test]
    fn every_policy_is_legal_and_has_the_kind_in_its_name() {
        for (name, setting) in POLICIES {
            let config = resolve_config(MACHINE, &[], &[setting]).unwrap().config;
            assert!(name.starts_with(config.dram.policy.typetag_name()), "{name}");
        }
        assert_eq!(FAIR.map(|at| POLICIES[at].0), ["bliss", "atlas", "par-bs"]);
    }
}
