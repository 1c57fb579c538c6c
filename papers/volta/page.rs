//! Results page about the V100.

use ::area::Technology;
use miette::{IntoDiagnostic, Report};

use super::design::{BASELINE, FRC, ONE_LOOKUP, TAGS, TRANSIENT, find_refused};
use super::size::{Kernel, SIZE};
use super::verdict::{KEPT, PAYS, Verdict};
use super::{FERMI, Runs, VOLTA};
use crate::FigureError;
use crate::chart::{Chart, Series};
use crate::counted::{self, NODE, RunMetrics};
use crate::judge::{geometric_mean, mean};
use crate::page::{Page, comma_separated};
use crate::structures::block;
use warpsieve::text::format_thousands;

/// Results of all kernels with all designs. The first element of `runs` is the baseline.
pub(super) struct PageResults {
    pub kernels: Vec<Kernel>,
    /// Names of the kernels that have no launch file of the size [`SIZE`].
    pub left_out: Vec<String>,
    pub runs: Vec<Runs>,
}

/// Speedup at which a kernel counts as faster. A kernel counts as slower if its speedup is at most the
/// reciprocal.
const NOTED: f64 = 1.05;
/// Names of the designs whose speedup is drawn for each kernel.
const DRAWN: [&str; 5] = ["pric", "dwt-pric", "decoupled-dueling", FRC, "tracker + policy"];

/// Name of one of the two machines that are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Volta,
    Fermi,
}

use On::{Fermi, Volta};

impl Runs {
    fn on(&self, on: On) -> &[RunMetrics] {
        match on {
            Volta => &self.volta,
            Fermi => &self.fermi,
        }
    }
}

impl PageResults {
    fn find_runs(&self, name: &str) -> Option<&Runs> {
        self.runs.iter().find(|runs| runs.design.name == name)
    }

    /// True if the kernel with index `at` counts as evidence, because designs can affect it: without a
    /// design, both machines evict lines from their L1s and from their L2.
    fn is_evidence(&self, at: usize) -> bool {
        [Fermi, Volta].iter().all(|on| self.runs[0].on(*on)[at].has_evictions())
    }

    /// Returns the kernels that count as evidence, each with its index. If `are_evidence` is false, returns
    /// all other kernels instead.
    fn kernels(&self, are_evidence: bool) -> impl Iterator<Item = (usize, &Kernel)> {
        self.kernels.iter().enumerate().filter(move |(at, _)| self.is_evidence(*at) == are_evidence)
    }

    /// Returns those elements of `values` that belong to kernels that count as evidence. `values` contains
    /// one element for each kernel.
    fn evidence<T: Clone>(&self, values: &[T]) -> Vec<T> {
        self.kernels(true).map(|(at, _)| values[at].clone()).collect()
    }

    /// Returns, for each kernel that counts as evidence, the metric with a design divided by the metric of
    /// the baseline.
    fn ratios(&self, runs: &Runs, on: On, of: impl Fn(&RunMetrics) -> f64) -> Vec<f64> {
        counted::parts(&self.evidence(runs.on(on)), &self.evidence(self.runs[0].on(on)), of)
    }

    fn speedups(&self, runs: &Runs, on: On) -> Vec<f64> {
        counted::speedups(&self.evidence(runs.on(on)), &self.evidence(self.runs[0].on(on)))
    }

    fn speedup(&self, runs: &Runs, on: On) -> f64 {
        geometric(&self.speedups(runs, on))
    }

    /// Returns the mean hit rate of the L1s in percent. Includes hits on lines in flight.
    fn hits(&self, runs: &Runs, on: On) -> f64 {
        let percent: Vec<_> = self.evidence(runs.on(on)).iter().filter_map(RunMetrics::hits).collect();
        mean(&percent).unwrap_or(f64::NAN)
    }

    fn verdict(&self, runs: &Runs) -> Verdict {
        Verdict::of(self.speedup(runs, Fermi), self.speedup(runs, Volta))
    }
}

fn geometric(values: &[f64]) -> f64 {
    geometric_mean(values).unwrap_or(f64::NAN)
}

pub(super) fn draw(is_quick: bool, found: &PageResults) -> Result<Page, FigureError> {
    let mut page = Page::new("volta", is_quick, "The papers' designs on a V100");
    page.text(&about(is_quick, found));
    evidence(&mut page, found);
    if found.kernels(true).next().is_some() {
        page.text(&format!("## Designs that pay\n{}", answer(found)));
        answers(&mut page, found);
        page.text(&format!("## Kernels that gain\n{}", gains(found)));
        kernels(&mut page, found);
        memory(&mut page, found);
    }
    area(&mut page, found)?;
    refusals(&mut page);
    page.csv = numbers(found)?;
    Ok(page)
}

fn about(is_quick: bool, found: &PageResults) -> String {
    let PageResults { kernels, left_out, runs } = found;
    let which = if is_quick {
        format!(
            "They run their small files, which fit into the caches of `{VOLTA}`: this page only shows that everything runs."
        )
    } else {
        let others = match left_out.len() {
            1 => "kernel has".to_owned(),
            several => format!("{several} kernels have"),
        };
        format!(
            "Their data are at least four times as large as the L2 of `{VOLTA}` and twice as large as all its L1s together.\n\
             [kernels/README.md](../../kernels/README.md#data-that-exceed-the-caches-of-a-v100) explains why the other {others} no such file."
        )
    };
    format!(
        "`{VOLTA}` is a V100 as in Accel-Sim's QV100 configuration; `{FERMI}` is the GTX 480 of li2015 and khairy2015. Both run {} kernels with\n\
         a size `{SIZE}`, each with {} designs, and compare the results with those of the references.\n\
         {which}\n\
         Ratios are relative to the baseline, the machine without a design. Means of ratios are geometric.",
        kernels.len(),
        runs.len() - 1
    )
}

/// Adds the section that states which kernels count as evidence. Its table gives the evictions on both
/// machines without a design.
fn evidence(page: &mut Page, found: &PageResults) {
    let named = |are_evidence| found.kernels(are_evidence).map(|(_, kernel)| kernel.name.as_str()).collect::<Vec<_>>();
    let (counted, others) = (named(true), named(false));
    page.text(&format!(
        "## Evidence\n\
         A cache that evicts nothing keeps every line under any design. A kernel therefore counts only if both machines evict lines from L1s and L2\n\
         in the baseline: {} of {}. Not counted as evidence, and in no mean below: {}.",
        counted.len(),
        found.kernels.len(),
        join_names(&others)
    ));
    let base = &found.runs[0];
    let rows = found.kernels.iter().enumerate().map(|(at, kernel)| {
        let counts = [Fermi, Volta].map(|on| &base.on(on)[at]);
        let counts =
            counts.iter().flat_map(|one| [one.cycles, one.l1_evictions, one.l2_evictions].map(format_thousands));
        let verdict = if found.is_evidence(at) { "" } else { "no evidence" };
        [kernel.name.clone()].into_iter().chain(counts).chain([verdict.to_owned()]).collect()
    });
    let counts = ["L1 evictions", "L2 evictions"];
    let head = [&["kernel", "cycles, `fermi`"][..], &counts, &["cycles, `volta`"], &counts, &[""]].concat();
    page.table(&head, rows.collect(), 1);
}

fn join_names(names: &[impl AsRef<str>]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// Describes which designs increase performance on which of the two machines.
fn answer(found: &PageResults) -> String {
    let ideas = || found.runs.iter().filter(|runs| !runs.design.paper.is_empty());
    let percent = 100.0 * PAYS;
    let mut text = format!(
        "A design pays on a machine if its mean gain is {percent:.0} % or more. Its gain survives if `{VOLTA}` keeps at least {:.0} % of the gain on `{FERMI}`,\n\
         and shrinks if `{VOLTA}` keeps less.\n",
        100.0 * KEPT
    );
    let paying = ideas().filter(|runs| found.speedup(runs, Fermi) >= 1.0 + PAYS).count();
    text.push_str(&format!("Of the {} designs of the papers, {paying} pay on `{FERMI}`:\n\n", ideas().count()));
    for verdict in [Verdict::Survives, Verdict::Shrinks, Verdict::Gone, Verdict::Costs, Verdict::Comes, Verdict::Never]
    {
        let of: Vec<_> = ideas().filter(|runs| found.verdict(runs) == verdict).collect();
        if !of.is_empty() {
            let shown = of.iter().map(|runs| {
                let [old, new] = [Fermi, Volta].map(|on| found.speedup(runs, on));
                format!("`{}` ({old:.3}, {new:.3})", runs.design.name)
            });
            text.push_str(&format!("- {}: {}\n", verdict.name(), shown.collect::<Vec<_>>().join(", ")));
        }
    }
    text.push_str("\nIn parentheses: the mean speed-ups on `fermi` and on `volta`.\n");
    let [old, new] = [Fermi, Volta].map(|on| found.hits(&found.runs[0], on));
    text.push_str(&format!(
        "In the baseline, {old:.1} % of the loads of a kernel hit in the L1s of `{FERMI}` on average, and {new:.1} % in those of `{VOLTA}`.\n"
    ));
    if let (Some(frc), Some(transient)) = (found.find_runs(FRC), found.find_runs(TRANSIENT)) {
        let over = |on| geometric(&counted::speedups(&found.evidence(frc.on(on)), &found.evidence(transient.on(on))));
        text.push_str(&format!(
            "candel2018 compares its `{FRC}` with an L2 that evicts the victim from its way before the fetch. Speed-up over that L2\n\
             (`{TRANSIENT}`): {:.3} on `{FERMI}`, {:.3} on `{VOLTA}`. Neither of the two has sectors: a miss fetches the whole line.\n",
            over(Fermi),
            over(Volta)
        ));
    }
    let together: Vec<_> = found.runs.iter().filter(|runs| runs.design.parts.len() > 1).collect();
    let best = |of: &[&Runs]| {
        let of = of.iter().map(|runs| (runs.design.name, found.speedup(runs, Volta)));
        of.max_by(|(_, one), (_, other)| one.total_cmp(other))
    };
    if let (Some((all, most)), Some((one, single))) = (best(&together), best(&ideas().collect::<Vec<_>>())) {
        text.push_str(&format!(
            "The best combination on `{VOLTA}` is `{all}` ({most:.3}); the best design of a single paper is `{one}` ({single:.3}).\n"
        ));
    }
    text
}

/// Adds a table and a chart of the speedups of all designs.
fn answers(page: &mut Page, found: &PageResults) {
    let head = [
        "design",
        "paper",
        "on `fermi`",
        "on `volta`",
        "gain 5 %, `fermi`",
        "`volta`",
        "lose 5 %, `fermi`",
        "`volta`",
        "",
    ];
    let compared = &found.runs[1..];
    let rows = compared.iter().map(|runs| {
        let counted = |on, is: fn(f64) -> bool| found.speedups(runs, on).into_iter().filter(|one| is(*one)).count();
        let gain = |on| counted(on, |speedup| speedup >= NOTED).to_string();
        let lose = |on| counted(on, |speedup| speedup <= NOTED.recip()).to_string();
        let means = [Fermi, Volta].map(|on| format!("{:.3}", found.speedup(runs, on)));
        let counts = [gain(Fermi), gain(Volta), lose(Fermi), lose(Volta)];
        let [name, paper] = [runs.design.name, runs.design.paper].map(str::to_owned);
        let verdict = found.verdict(runs).name().to_owned();
        [name, paper].into_iter().chain(means).chain(counts).chain([verdict]).collect()
    });
    page.table(&head, rows.collect(), 2);
    let chart = Chart::relative("Speed-up of the designs", "geometric mean of the kernels");
    by_design(page, "", chart, compared, |runs, on| found.speedup(runs, on));
    let settings = compared.iter().filter(|runs| runs.design.on_volta == TAGS);
    let settings: Vec<_> =
        settings.map(|runs| format!("`{}` with `{}`", runs.design.name, runs.design.on_volta.join(" "))).collect();
    if !settings.is_empty() {
        page.text(&format!(
            "The columns *gain* and *lose* count the kernels that gain or lose 5 % or more. To have twice as many tags as lines, `{VOLTA}` runs {}.",
            settings.join(", ")
        ));
    }
    let lookups = |runs: &Runs| runs.design.lookups(VOLTA);
    let (most, single): (_, Vec<_>) = (
        lookups(&found.runs[0]),
        compared.iter().filter(|runs| lookups(runs) == 1).map(|runs| runs.design.name).collect(),
    );
    if let (Some(one), false) = (found.find_runs(ONE_LOOKUP), single.is_empty()) {
        page.text(&format!(
            "The L1 of `{VOLTA}` looks up at most {most} lines of a load per cycle. {} look up one (`l1.lookups = 1`); this restriction alone gives a speed-up of {:.3}.",
            join_names(&single),
            found.speedup(one, Volta)
        ));
    }
}

/// Adds a bar chart with one group of bars per design and one series per machine.
fn by_design(page: &mut Page, suffix: &str, chart: Chart, designs: &[Runs], of: impl Fn(&Runs, On) -> f64) {
    let groups = designs.iter().map(|runs| runs.design.name.to_owned()).collect();
    let series = [(FERMI, Fermi), (VOLTA, Volta)];
    let series = series.map(|(name, on)| Series::new(name, designs.iter().map(|runs| of(runs, on)))).into();
    page.chart(suffix, &Chart { groups, series, ..chart });
}

/// Lists the kernels that become faster with a design on either machine, each with the design that makes it
/// fastest.
fn gains(found: &PageResults) -> String {
    let best = |at: usize, on| {
        // If several designs are equally fast, the first of them is chosen, because it is the simplest. The
        // order is reversed, because `max_by` returns the last of several maxima.
        let all = found.runs[1..].iter().rev().map(|runs| (runs.design.name, found.speedups(runs, on)[at]));
        all.max_by(|(_, one), (_, other)| one.total_cmp(other)).unwrap_or((BASELINE, 1.0))
    };
    let mut only = [Vec::new(), Vec::new(), Vec::new()];
    for (at, (_, kernel)) in found.kernels(true).enumerate() {
        let [(old, most_old), (new, most_new)] = [Fermi, Volta].map(|on| best(at, on));
        match (most_old >= NOTED, most_new >= NOTED) {
            (true, true) => only[0].push(format!("{} (`{old}` {most_old:.2}, `{new}` {most_new:.2})", kernel.name)),
            (true, false) => only[1].push(format!("{} (`{old}` {most_old:.2})", kernel.name)),
            (false, true) => only[2].push(format!("{} (`{new}` {most_new:.2})", kernel.name)),
            (false, false) => {}
        }
    }
    let [both, fermi, volta] = only;
    let line = |what: &str, kernels: Vec<String>| {
        let named = if kernels.is_empty() { "none".to_owned() } else { kernels.join(", ") };
        format!("- {what}, {}: {named}\n", kernels.len())
    };
    let percent = 100.0 * (NOTED - 1.0);
    format!(
        "Kernels that gain {percent:.0} % or more with some design, each with its best design:\n\n{}{}{}",
        line("on both", both),
        line(&format!("on `{FERMI}` only"), fermi),
        line(&format!("on `{VOLTA}` only"), volta)
    )
}

/// Adds a table and a chart of the speedup of each kernel on the V100.
fn kernels(page: &mut Page, found: &PageResults) {
    page.text(&format!("## Kernels\nL1 hit rates in the baseline, then speed-ups on `{VOLTA}`."));
    let compared = &found.runs[1..];
    let speedups: Vec<_> = compared.iter().map(|runs| found.speedups(runs, Volta)).collect();
    let head = ["kernel", "L1 %, `fermi`", "L1 %, `volta`"];
    let head: Vec<_> = head.into_iter().chain(compared.iter().map(|runs| runs.design.name)).collect();
    let hit = |one: &RunMetrics| one.hits().map_or("-".to_owned(), |percent| format!("{percent:.1}"));
    let base = &found.runs[0];
    let rows = found.kernels(true).enumerate().map(|(row, (at, kernel))| {
        let hits = [hit(&base.fermi[at]), hit(&base.volta[at])];
        let speedups = speedups.iter().map(|of| format!("{:.3}", of[row]));
        [kernel.name.clone()].into_iter().chain(hits).chain(speedups).collect()
    });
    page.table(&head, rows.collect(), 1);
    let groups = found.kernels(true).map(|(_, kernel)| kernel.name.clone()).collect();
    let drawn = compared.iter().filter(|runs| DRAWN.contains(&runs.design.name));
    let series = drawn.map(|runs| Series::new(runs.design.name, found.speedups(runs, Volta))).collect();
    let chart = Chart::relative("Speed-up on volta", "speed-up over no design").logarithmic();
    page.chart("-kernels", &Chart { groups, series, ..chart }.with_mean().sort_groups());
}

/// Adds the section on L1 hit rates, DRAM traffic and energy with each design.
fn memory(page: &mut Page, found: &PageResults) {
    page.text(&format!(
        "## Hits, traffic, energy\n\
         Mean hit rate of the L1s, including pending hits. DRAM traffic in bytes, and energy at {} nm\n\
         ([method](../area.md#energy-of-a-run)), relative to the baseline.",
        NODE.nm()
    ));
    let dram = |runs: &Runs, on| geometric(&found.ratios(runs, on, |one| one.dram_bytes as f64));
    let energy = |runs: &Runs, on| geometric(&found.ratios(runs, on, RunMetrics::pj));
    let head = ["design", "L1 %, `fermi`", "`volta`", "DRAM, `fermi`", "`volta`", "energy, `fermi`", "`volta`"];
    let rows = found.runs.iter().map(|runs| {
        let hits = [Fermi, Volta].map(|on| format!("{:.1}", found.hits(runs, on)));
        let parts = [dram(runs, Fermi), dram(runs, Volta), energy(runs, Fermi), energy(runs, Volta)];
        let parts = parts.map(|part| format!("{part:.3}"));
        [runs.design.name.to_owned()].into_iter().chain(hits).chain(parts).collect()
    });
    page.table(&head, rows.collect(), 1);
    by_design(page, "-hits", Chart::new("Hits of the L1", "percent"), &found.runs, |runs, on| found.hits(runs, on));
    let compared = &found.runs[1..];
    by_design(page, "-dram", Chart::relative("Bytes to and from the DRAM", "relative to the baseline"), compared, dram);
    by_design(page, "-energy", Chart::relative("Energy", "relative to the baseline"), compared, energy);
}

/// Adds a table of the area that each design adds to the machine.
fn area(page: &mut Page, found: &PageResults) -> Result<(), Report> {
    let technology = Technology::built_in().into_diagnostic()?;
    page.text(&format!(
        "## Area\nArea that each design adds to a machine, at {} nm, in mm2 and relative to all L1s.",
        NODE.nm()
    ));
    let mut rows: Vec<Vec<String>> = found.runs[1..].iter().map(|runs| vec![runs.design.name.to_owned()]).collect();
    for machine in [FERMI, VOLTA] {
        let base = block(technology, machine, &[], &[])?;
        for (row, runs) in rows.iter_mut().zip(&found.runs[1..]) {
            let with = block(technology, machine, runs.design.parts, runs.design.sets(machine))?;
            let more = with.um2 - base.um2;
            row.extend([format!("{:+.3}", more / 1e6), format!("{:+.2}", 100.0 * more / base.um2_of("l1"))]);
        }
    }
    page.table(&["design", "mm2, `fermi`", "% of L1s", "mm2, `volta`", "% of L1s"], rows, 1);
    Ok(())
}

/// Adds a list of the designs that [`VOLTA`] does not support.
fn refusals(page: &mut Page) {
    let refused = find_refused();
    page.text(&format!("## Designs that `{VOLTA}` refuses"));
    if refused.is_empty() {
        page.text(&format!("`{VOLTA}` accepts every design."));
        return;
    }
    page.text(&format!("Of all designs, and of the combinations above, `{VOLTA}` refuses:"));
    page.table(&["design", "reason"], refused.into_iter().map(|(name, why)| vec![name, why]).collect(), 2);
}

/// Formats the measurements of all kernels with all designs as CSV.
fn numbers(found: &PageResults) -> Result<String, Report> {
    let head = [&["machine", "design", "kernel"][..], &RunMetrics::HEAD, &["l1_evictions", "l2_evictions"]].concat();
    let mut rows = Vec::new();
    for runs in &found.runs {
        for (machine, on) in [(VOLTA, Volta), (FERMI, Fermi)] {
            for (kernel, one) in found.kernels.iter().zip(runs.on(on)) {
                let names = [machine, runs.design.name, &kernel.name].map(str::to_owned);
                let evictions = [one.l1_evictions, one.l2_evictions].map(|count| count.to_string());
                rows.push(names.into_iter().chain(one.cells()).chain(evictions).collect());
            }
        }
    }
    comma_separated(&head, &rows)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::design::DESIGNS;
    use super::*;

    fn run_of(cycles: u64) -> RunMetrics {
        let (dynamic_pj, leakage_pj) = (cycles as f64, 0.0);
        let (l1_evictions, l2_evictions) = (9, 7);
        RunMetrics {
            cycles,
            loads: 100,
            found: 40,
            l1_evictions,
            l2_evictions,
            dram_bytes: 640,
            dynamic_pj,
            leakage_pj,
        }
    }

    /// Creates results of two kernels with several designs. For each design, `of` contains its name, the
    /// cycles of both kernels on the old machine, and the cycles of both kernels on the new machine.
    fn found(of: &[(&str, [u64; 2], [u64; 2])]) -> PageResults {
        let runs = of.iter().map(|(name, fermi, volta)| {
            let design = DESIGNS.iter().find(|design| design.name == *name).unwrap();
            Runs { design, volta: volta.map(run_of).into(), fermi: fermi.map(run_of).into() }
        });
        let kernel = |name: &str| Kernel { name: name.to_owned(), path: PathBuf::new() };
        let kernels = ["vadd", "syrk"].map(kernel).into();
        PageResults { kernels, left_out: vec!["lud".to_owned()], runs: runs.collect() }
    }

    #[test]
    fn the_answer_follows_from_the_runs() {
        let found = found(&[
            (BASELINE, [100, 100], [100, 100]),
            ("pric", [100, 25], [100, 50]),
            ("streaming", [100, 50], [100, 100]),
            (TRANSIENT, [100, 100], [200, 200]),
            (FRC, [100, 100], [100, 100]),
            ("dwt-pric + frc", [100, 25], [100, 81]),
        ]);
        let answer = answer(&found);
        assert!(answer.contains("Of the 3 designs of the papers, 2 pay on `fermi`"), "{answer}");
        assert!(answer.contains("- shrinks: `pric` (2.000, 1.414)\n"), "{answer}");
        assert!(answer.contains("- is gone: `streaming` (1.414, 1.000)\n"), "{answer}");
        assert!(answer.contains("- pays on neither: `frc` (1.000, 1.000)\n"), "{answer}");
        assert!(answer.contains("(`transient`): 1.000 on `fermi`, 2.000 on `volta`"), "{answer}");
        assert!(
            answer.contains("`dwt-pric + frc` (1.111); the best design of a single paper is `pric` (1.414)"),
            "{answer}"
        );
        assert!(answer.contains("40.0 % of the loads of a kernel hit"), "{answer}");
        let gains = gains(&found);
        assert!(gains.contains("- on both, 1: syrk (`pric` 4.00, `pric` 2.00)\n"), "{gains}");
        assert!(gains.contains("- on `volta` only, 0: none\n"), "{gains}");
    }

    #[test]
    fn a_page_has_its_rule_its_charts_and_all_numbers() {
        let found = found(&[(BASELINE, [100, 100], [100, 100]), ("pric", [100, 25], [100, 50])]);
        let page = draw(false, &found).unwrap();
        assert!(page.markdown.contains("explains why the other kernel has no such file"), "{}", page.markdown);
        assert_eq!(page.csv.lines().count(), 1 + 2 * 2 * 2);
        let suffixes: Vec<_> = page.charts.iter().map(|(suffix, _)| suffix.as_str()).collect();
        assert_eq!(suffixes, ["", "-kernels", "-hits", "-dram", "-energy"]);
        assert!(page.markdown.contains("| fetch-on-write "), "{}", page.markdown);
    }

    #[test]
    fn a_kernel_without_evictions_on_either_machine_is_named_and_in_no_mean() {
        let mut found = found(&[(BASELINE, [100, 100], [100, 100]), ("pric", [50, 100], [50, 100])]);
        let speedup = |found: &PageResults| found.speedup(&found.runs[1], Volta);
        assert!((speedup(&found) - 2_f64.sqrt()).abs() < 1e-9);
        found.runs[0].fermi[0].l2_evictions = 0;
        assert_eq!(speedup(&found), 1.0);
        let page = draw(false, &found).unwrap();
        let named = "in the baseline: 1 of 2. Not counted as evidence, and in no mean below: `vadd`.";
        assert!(page.markdown.contains(named), "{}", page.markdown);
        assert_eq!(page.csv.lines().count(), 1 + 2 * 2 * 2);
        found.runs[0].volta[1].l1_evictions = 0;
        let page = draw(false, &found).unwrap();
        assert!(page.markdown.contains("in the baseline: 0 of 2."), "{}", page.markdown);
        assert!(!page.markdown.contains("## Designs that pay") && page.charts.is_empty(), "{}", page.markdown);
    }
}
