//! Formats the results of a run as a table for human readers.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use input::visible_line;
use rtl::cells::prefetch::PrefetchStats;
use rtl::dram::counts::Counts;
use rtl::kernel::Counted;
use rtl::l1::stats::L1Stats;
use rtl::l1::victim::VictimStats;
use rtl::l2::{L2Config, L2Stats};
use rtl::sm::{InstructionStats, StallReason};

use crate::config::ResolvedMachine;
use crate::estimate::{Energy, Unit};
use crate::run::{Counters, Evictions, NO_EVICTIONS, Outcome, RunReport, Verdict, ratio};
use crate::statistics::of_run;
use crate::text::{folded_within, format_count, format_thousands, host};

/// Number of stall reasons that are printed. The statistics contain all reasons.
const REASONS_SHOWN: usize = 4;
/// Number of levels in the hierarchy of hardware units for which energy is printed. The statistics contain
/// all levels.
const LEVELS_SHOWN: usize = 2;
/// Minimum fraction of the total energy for which a hardware unit gets a row.
const MIN_SHOWN: f64 = 0.001;

/// Results of a run, to be printed as a table.
#[derive(Clone, Copy, Debug)]
pub struct Summary<'a> {
    /// Path of the launch file, trace or host program.
    pub launch: &'a Path,
    /// Configuration of the machine that executed the run.
    pub resolved: &'a ResolvedMachine,
    /// Report on the results of the run.
    pub report: &'a RunReport,
    /// Energy of the run; `None` if no energy is printed.
    pub energy: Option<&'a Energy>,
    /// Maximum width of a printed line in characters.
    pub width: usize,
}

/// Row of the table: a label, and the texts in its columns.
pub type Row = (&'static str, Vec<String>);

impl Summary<'_> {
    /// Returns the name of the machine, followed by the names of its designs.
    #[must_use]
    pub fn machine(&self) -> String {
        let machine = std::iter::once(&self.resolved.machine.name).chain(&self.resolved.designs);
        machine.map(String::as_str).collect::<Vec<_>>().join(" + ")
    }

    /// Returns the rows that show performance counts.
    #[must_use]
    pub fn list_counts(&self) -> Vec<Row> {
        let RunReport { kernels, warp_limits, counters, .. } = self.report;
        let launched = kernels.iter().map(|(name, launches)| match launches {
            1 => name.clone(),
            _ => format!("{name} x {launches}"),
        });
        let mut rows = vec![("kernels", vec![launched.collect::<Vec<_>>().join(", ")])];
        if !warp_limits.is_empty() {
            let limits = warp_limits.iter().map(|(name, limit)| format!("{name} {limit}"));
            rows.push(("warp limits", vec![limits.collect::<Vec<_>>().join(", ")]));
        }
        let copies = counters.block_copies().collect::<Vec<_>>();
        let operations = counters.engine_operations().collect::<Vec<_>>();
        let unmodeled = [("traffic of block copies", copies), ("operations in tensor memory and the like", operations)];
        let unmodeled = unmodeled.into_iter().filter(|(_, counts)| !counts.is_empty()).map(|(what, counts)| {
            let counts: Vec<_> =
                counts.iter().map(|(name, count)| format!("{} {name}", format_thousands(*count))).collect();
            format!("{what}: {}", counts.join(", "))
        });
        let streams = self.report.streams;
        let side_by_side = (streams > 1).then(|| format!("{streams} streams side by side"));
        let unmodeled: Vec<_> = unmodeled.chain(side_by_side).collect();
        if !unmodeled.is_empty() {
            rows.push(("not modeled", unmodeled));
        }
        let microseconds = counters.cycles as f64 * 1e3 / f64::from(counters.core_khz.max(1));
        let time = format!("{microseconds:.1} us at {} MHz", f64::from(counters.core_khz) / 1e3);
        rows.push(("cycles", vec![format_thousands(counters.cycles), time, format!("IPC {:.2}", counters.ipc())]));
        let [warps, threads] = [counters.warp_instructions(), counters.thread_instructions()].map(format_thousands);
        rows.push(("instructions", vec![format!("{warps} warp-level"), format!("{threads} thread-level")]));
        if !counters.icache.is_empty() {
            rows.push(("L1I", fetches(&InstructionStats::total(&counters.icache))));
        }
        let totals = counters.totals();
        rows.push(("L1D", l1(&totals.l1)));
        rows.extend(refusals("L1D res fails", totals.l1.refusals()));
        if self.resolved.config.l1.prefetch.is_on() {
            rows.push(("prefetches", prefetches(&totals.l1.prefetch)));
        }
        if self.resolved.config.l1.victim.is_on() {
            rows.push(("victim cache", victims(&totals.l1)));
        }
        for (label, cache) in [("constants", &totals.const_cache), ("texels", &totals.texture_cache)] {
            // Rows for the constant and the texture cache are printed only if these caches were accessed,
            // since most kernels do not use them.
            if cache.accesses > 0 {
                rows.push((label, loads(cache)));
            }
        }
        rows.push(("L2", l2(&totals.l2)));
        if self.resolved.config.l2.prefetch.is_on() {
            rows.push(("L2 prefetches", prefetches(&totals.l2.prefetch)));
        }
        rows.extend(refusals("L2 stalls", totals.l2.refusals()));
        rows.push(("L2 misses", misses(counters, &self.resolved.config.l2)));
        rows.extend(evictions(self.report));
        rows.push(("DRAM", dram(&totals.dram)));
        rows.push(("stalls", stalls(counters)));
        for (group, name, count) in of_run(self.resolved, self.report, None).in_summary() {
            let cell = format!("{} {name}", format_thousands(count));
            match rows.last_mut().filter(|(label, _)| *label == group) {
                Some((_, cells)) => cells.push(cell),
                None => rows.push((group, vec![cell])),
            }
        }
        rows
    }

    /// Returns the rows that show the result of the checks, and why the run ended early if it did.
    #[must_use]
    pub fn list_checks(&self) -> Vec<Row> {
        let check = match self.report.verdict {
            Verdict::Off => "off: nothing to compare with",
            Verdict::Passed => "passed",
            Verdict::OrderDependent => "undecided where results depend on the order of warps, else passed",
            Verdict::Undefined => "undefined: a kernel read undefined registers, else passed",
            Verdict::Failed(_) => "FAILED",
        };
        let mut rows = vec![("check", vec![check.to_owned()])];
        if self.report.outcome != Outcome::Finished {
            rows.push(("ended", vec!["before the kernels were done".to_owned()]));
        }
        rows
    }
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (RunReport { counters, simulating, written, .. }, width) = (self.report, self.width);
        let name = format!("{} on {}", self.launch.display(), self.machine());
        writeln!(f, "{}", visible_line(&name))?;
        self.list_counts().iter().try_for_each(|(label, cells)| row(f, width, label, cells))?;
        if let Some(energy) = self.energy {
            row(f, width, "energy", &joules(energy.dynamic_pj, energy.leakage_pj))?;
            energy.blocks.iter().try_for_each(|unit| units(f, (unit, 1), energy.pj(), width))?;
        }
        self.list_checks().iter().try_for_each(|(label, cells)| row(f, width, label, cells))?;
        row(f, width, "host", &host(*simulating, counters.cycles, "cycles"))?;
        written.iter().try_for_each(|path| row(f, width, "wrote", &[path.display().to_string()]))
    }
}

fn row(f: &mut fmt::Formatter<'_>, width: usize, label: &str, cells: &[String]) -> fmt::Result {
    lines(width, label, cells).iter().try_for_each(|line| writeln!(f, "{line}"))
}

/// Formats a row of the table. On a narrow terminal, the row may take several lines.
fn lines(width: usize, label: &str, cells: &[String]) -> Vec<String> {
    let mut lines = vec![format!("  {label:<13}")];
    let mut at = 0;
    for cell in cells.iter().map(|cell| visible_line(cell)) {
        if at > 0 && 16 + 26 * at + cell.chars().count() > width {
            lines.push(" ".repeat(15));
            at = 0;
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(&format!(" {cell:<25}"));
        }
        at += 1;
    }
    lines.iter().map(|line| folded_within(width, line.trim_end(), 16)).collect()
}

/// Sums cycles by reason over all hardware units. Returns the reasons with nonzero sums, largest sum first.
#[must_use]
pub fn reasons(refusals: impl Iterator<Item = (&'static str, u64)>) -> Vec<(&'static str, u64)> {
    let mut reasons: BTreeMap<_, u64> = BTreeMap::new();
    refusals
        .filter(|&(_, cycles)| cycles > 0)
        .for_each(|(reason, cycles)| *reasons.entry(reason).or_default() += cycles);
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|&(_, cycles)| std::cmp::Reverse(cycles));
    reasons
}

/// Returns the row that shows the reservation fails of one kind of cache by reason, or `None` if there were
/// none. Each cycle in which such a cache is stalled counts as one reservation fail.
fn refusals(label: &'static str, refusals: impl Iterator<Item = (&'static str, u64)>) -> Option<Row> {
    let cells: Vec<_> =
        reasons(refusals).iter().map(|(reason, cycles)| format!("{reason} {}", format_thousands(*cycles))).collect();
    (!cells.is_empty()).then_some((label, cells))
}

/// Prints the row of a hardware unit and the rows of the units inside it. Units with too small a share of the
/// energy are omitted.
fn units(f: &mut fmt::Formatter<'_>, (unit, depth): (&Unit, usize), whole_pj: f64, width: usize) -> fmt::Result {
    if unit.dynamic_pj + unit.leakage_pj < MIN_SHOWN * whole_pj {
        return Ok(());
    }
    let name = match unit.units {
        1 => unit.block.to_string(),
        units => format!("{} x {units}", unit.block),
    };
    let label = format!("{:indent$}{name}", "", indent = 2 * depth);
    writeln!(f, "{}", unit_line(width, &label, &joules(unit.dynamic_pj, unit.leakage_pj)))?;
    if depth < LEVELS_SHOWN {
        unit.children.iter().try_for_each(|child| units(f, (child, depth + 1), whole_pj, width))?;
    }
    Ok(())
}

/// Formats the row of a hardware unit. On a narrow terminal, the columns are closer together.
fn unit_line(width: usize, label: &str, cells: &[String]) -> String {
    let line = |apart: usize| {
        let cells: Vec<_> = cells.iter().map(|cell| format!("{cell:<apart$}")).collect();
        format!("  {label:<18}{}", cells.join(" ")).trim_end().to_owned()
    };
    let wide = line(21);
    if wide.chars().count() <= width { wide } else { line(18) }
}

fn joules(dynamic_pj: f64, leakage_pj: f64) -> Vec<String> {
    let micro = |pj: f64| format!("{:.3} uJ", pj / 1e6);
    let [all, dynamic, leakage] = [dynamic_pj + leakage_pj, dynamic_pj, leakage_pj].map(micro);
    vec![all, format!("{dynamic} dynamic"), format!("{leakage} leakage")]
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * ratio(part, whole))
}

/// Returns the column texts about instruction fetches. Each miss in an instruction cache causes one read of
/// the L2.
fn fetches(icache: &InstructionStats) -> Vec<String> {
    let InstructionStats { accesses, hits, hit_pending, misses, .. } = *icache;
    vec![
        format_count(accesses, "fetch", "fetches"),
        format!("{} hits", percent(hits, accesses)),
        format!("{} pending hits", percent(hit_pending, accesses)),
        format_count(misses, "read of the L2", "reads of the L2"),
    ]
}

fn l1(cache: &L1Stats) -> Vec<String> {
    let mut cells = loads(cache);
    cells.push(format_count(cache.store_hits + cache.store_misses, "store", "stores"));
    cells
}

/// Returns the column texts about the prefetches into the L1Ds or the L2 banks.
fn prefetches(stats: &PrefetchStats) -> Vec<String> {
    let PrefetchStats { issued, useful, late, useless, .. } = *stats;
    vec![
        format!("{} sent", format_thousands(issued)),
        format!("{} useful", percent(useful, issued)),
        format!("{} late", percent(late, issued)),
        format!("{} useless", percent(useless, issued)),
    ]
}

/// Returns the column texts about the victim caches of the L1Ds.
fn victims(l1: &L1Stats) -> Vec<String> {
    let VictimStats { hits, swaps, kept } = l1.victim;
    vec![
        format!("{} of the hits", percent(hits, l1.hits)),
        format!("{} swapped", percent(swaps, hits)),
        format!("{} kept", percent(kept, l1.evictions)),
    ]
}

/// Returns the column texts about the loads that accessed one kind of cache.
fn loads(cache: &L1Stats) -> Vec<String> {
    let L1Stats { accesses, hits, hit_pending, .. } = *cache;
    vec![
        format_count(accesses, "load", "loads"),
        format!("{} hits", percent(hits, accesses)),
        format!("{} pending hits", percent(hit_pending, accesses)),
    ]
}

fn l2(bank: &L2Stats) -> Vec<String> {
    let L2Stats { accesses, hits, hit_pending, writebacks, .. } = *bank;
    let mut cells = vec![
        format_count(accesses, "read", "reads"),
        format!("{} hits", percent(hits, accesses)),
        format!("{} pending hits", percent(hit_pending, accesses)),
        format_count(writebacks, "write-back", "write-backs"),
    ];
    if bank.atomics() > 0 {
        cells.push(format_count(bank.atomics(), "atomic", "atomics"));
    }
    cells
}

/// Returns a row that shows how many lines each kind of cache evicted, and a row about the caches that
/// evicted none.
fn evictions(report: &RunReport) -> Vec<Row> {
    let all = report.evictions();
    let cell = |&Evictions { cache, evictions, bypasses, .. }: &Evictions| match (evictions, bypasses) {
        (0, 0) => format!("{cache} none"),
        (0, _) => format!("{cache} none, {}", format_count(bypasses, "bypass", "bypasses")),
        _ => format!("{cache} {}", format_thousands(evictions)),
    };
    let mut rows = vec![("evictions", all.iter().map(cell).collect())];
    let none: Vec<_> = all.iter().filter(|of| of.has_none).map(|of| of.cache).collect();
    if !none.is_empty() {
        rows.push(("no evictions", vec![format!("{}: {NO_EVICTIONS}", none.join(", "))]));
    }
    rows
}

/// Returns the column texts about L2 misses, as measured by candel2018 section 5.
fn misses(counters: &Counters, l2: &L2Config) -> Vec<String> {
    let mut cells = vec![
        format_thousands(counters.l2_misses()),
        format!("{:.2} per 1,000 operations", counters.mpko()),
        format!("{:.1} cycles of delay", counters.miss_delay()),
    ];
    if l2.frc_entries() > 0 {
        cells.push(format!("{:.1} % by the FRC", 100.0 * counters.frc_share()));
    }
    cells
}

fn dram(channels: &Counts) -> Vec<String> {
    let Counts { reads, writes, row_hits, bytes, .. } = *channels;
    vec![
        format_count(reads, "read", "reads"),
        format!("{} row hits", percent(row_hits, reads + writes)),
        format_count(writes, "write", "writes"),
        format_count(bytes, "byte", "bytes"),
    ]
}

/// Returns the most frequent stall reasons, each as a percentage of all issue slots.
fn stalls(counters: &Counters) -> Vec<String> {
    let slots = counters.slots();
    let all = slots.sum();
    let reasons = slots.by_reason().filter(|(reason, _)| *reason != StallReason::Issued);
    let mut reasons: Vec<_> = reasons.map(|(reason, cycles)| (cycles, reason.name())).collect();
    reasons.sort_by_key(|&(cycles, _)| std::cmp::Reverse(cycles));
    reasons.retain(|&(cycles, _)| cycles > 0);
    let reasons = reasons.iter().take(REASONS_SHOWN).map(|&(cycles, name)| format!("{name} {}", percent(cycles, all)));
    let never = counters.cores.iter().filter(|core| core.warp_instructions == 0).count();
    let idle: u64 = counters.idle.iter().sum();
    let idle = match (never, idle) {
        (0, 0) => None,
        (0, idle) => Some(format!("{} of SMs idle in a launch", percent(idle, all))),
        (never, _) => {
            let all = format_count(counters.cores.len() as u64, "SM", "SMs");
            Some(format!("{never} of {all} had no warp"))
        }
    };
    reasons.chain(idle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_takes_more_lines_on_a_narrow_terminal() {
        let cells = ["236,656 loads", "0.0 % hits", "0.1 % pending hits"].map(str::to_owned);
        let wide = "  L1D           236,656 loads             0.0 % hits                0.1 % pending hits";
        assert_eq!(lines(usize::MAX, "L1D", &cells), [wide]);
        let narrow = lines(80, "L1D", &cells);
        assert_eq!(narrow[1], "                0.1 % pending hits");
        assert!(narrow.len() == 2 && wide.starts_with(&narrow[0]), "{narrow:?}");
    }

    #[test]
    fn a_cell_that_is_wider_than_the_terminal_is_wrapped_below_itself() {
        let cells = ["every fill found an empty way, so no replacement scheme can save a miss there".to_owned()];
        let narrow = lines(60, "no evictions", &cells).join("\n");
        assert!(narrow.lines().all(|line| line.len() <= 60), "{narrow}");
        assert_eq!(narrow.lines().nth(1), Some("                replacement scheme can save a miss there"));
    }

    #[test]
    fn the_energy_of_a_block_fits_a_narrow_terminal() {
        let cells = joules(2_171_000.0, 14_865_000.0);
        let wide = "    sm x 15         17.036 uJ             2.171 uJ dynamic      14.865 uJ leakage";
        assert_eq!(unit_line(usize::MAX, "  sm x 15", &cells), wide);
        let narrow = unit_line(80, "  sm x 15", &cells);
        assert_eq!(narrow, "    sm x 15         17.036 uJ          2.171 uJ dynamic   14.865 uJ leakage");
    }
}
