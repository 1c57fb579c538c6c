//! Gains of the replacement policies over LRU, in the L1 and in the L2.

use std::iter::once;
use std::path::PathBuf;

use miette::Report;
use serde::{Deserialize, Serialize};

use super::{
    LEAVE_ONE_OUT, MACHINE, MEANS, NOTED, PAYS, SPEED_AND_BYTES, extremes, format_range, geometric, in_words,
    join_names, size_shown, speed_and_bytes,
};
use crate::chart::Chart;
use crate::judge::mean;
use crate::page::{Page, comma_separated};
use crate::runs::Point;
use crate::table::Table;
use crate::{FigureError, Session};
use warpsieve::run::{RunOptions, RunReport, Totals, ratio};

/// Cache whose replacement policy is varied in one section of the page.
struct CacheKind {
    /// Name of the cache on the page.
    name: &'static str,
    /// Group of the cache in the configuration.
    group: &'static str,
    /// Replacement policies that are compared. The first is LRU, with which all others are compared.
    policies: &'static [&'static str],
    /// Property of requests from which learning policies form their signatures: the program counter for the
    /// L1, and the memory region for the L2, whose requests carry no program counter.
    signature: &'static str,
    of: fn(&PolicyRun) -> &CacheCounts,
}

/// Caches whose policies are compared. Nearly all kernels evict lines from the L1. To keep the run time low,
/// the list for the L1 leaves out the policies between which `drrip` and `dip` choose.
const CACHES: [CacheKind; 2] = [
    CacheKind {
        name: "L1",
        group: "l1",
        policies: &["lru", "random", "tree-plru", "srrip", "drrip", "dip", "ship", "hawkeye"],
        signature: "pc",
        of: |run| &run.l1,
    },
    CacheKind {
        name: "L2",
        group: "l2",
        policies: &["lru", "random", "tree-plru", "srrip", "brrip", "drrip", "lip", "bip", "dip", "ship", "hawkeye"],
        signature: "region",
        of: |run| &run.l2,
    },
];

impl CacheKind {
    /// Returns the setting that selects a policy for the cache.
    fn setting(&self, policy: &str) -> String {
        let keys = match policy {
            "ship" | "hawkeye" => format!(", signature = \"{}\", bits = 8", self.signature),
            _ => String::new(),
        };
        format!("{}.replacement={{ kind = \"{policy}\"{keys} }}", self.group)
    }

    /// Returns the index of a policy among those of the cache; for an unknown policy, the index of LRU.
    fn index_of(&self, policy: &str) -> usize {
        self.policies.iter().position(|name| *name == policy).unwrap_or(0)
    }
}

/// Numbers of loads, hits and evictions, summed over the L1s or over the L2 banks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct CacheCounts {
    /// Number of lines that loads requested from the caches.
    pub loads: u64,
    /// Number of requested lines that were present or in flight.
    pub found: u64,
    pub evictions: u64,
}

impl CacheCounts {
    /// True if the caches evict at least one line per 100 loads. With fewer evictions, the policy has almost
    /// no effect.
    fn evicts(&self) -> bool {
        self.evictions > 0 && 100 * self.evictions >= self.loads
    }

    /// Returns the hit rate of loads in percent, or `None` if there were no loads.
    pub fn hits(&self) -> Option<f64> {
        (self.loads > 0).then(|| 100.0 * ratio(self.found, self.loads))
    }
}

/// Metrics of one kernel with one policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PolicyRun {
    pub cycles: u64,
    pub dram_bytes: u64,
    pub l1: CacheCounts,
    pub l2: CacheCounts,
}

impl PolicyRun {
    pub fn of(report: &RunReport) -> Self {
        let Totals { l1, l2, dram, .. } = report.counters.totals();
        Self {
            cycles: report.counters.cycles,
            dram_bytes: dram.bytes,
            l1: CacheCounts { loads: l1.accesses, found: l1.hits + l1.hit_pending, evictions: l1.evictions },
            l2: CacheCounts { loads: l2.accesses, found: l2.hits + l2.hit_pending, evictions: l2.evictions },
        }
    }
}

/// Results of the kernels that evict lines from one of the caches, with each replacement policy in this
/// cache.
struct CacheResults {
    cache: &'static CacheKind,
    kernels: Vec<(String, PathBuf)>,
    /// Runs, indexed by policy and then by kernel.
    runs: Vec<Vec<PolicyRun>>,
}

impl CacheResults {
    fn speedups(&self, policy: usize) -> Vec<f64> {
        let pairs = self.runs[0].iter().zip(&self.runs[policy]);
        pairs.map(|(lru, run)| ratio(lru.cycles, run.cycles.max(1))).collect()
    }

    /// Returns, for each kernel, the bytes on the DRAM buses divided by the bytes under LRU. If a kernel
    /// moves no bytes under LRU, its ratio is set to 1 (unchanged).
    fn bytes(&self, policy: usize) -> Vec<f64> {
        let pairs = self.runs[0].iter().zip(&self.runs[policy]).map(|(lru, run)| (lru.dram_bytes, run.dram_bytes));
        pairs.map(|(lru, run)| if lru > 0 && run > 0 { ratio(run, lru) } else { 1.0 }).collect()
    }

    /// Returns the hit rates, in percent, of the kernels that contain loads.
    fn hits(&self, policy: usize) -> Vec<f64> {
        self.runs[policy].iter().filter_map(|run| (self.cache.of)(run).hits()).collect()
    }

    /// Returns the best policy for each kernel, with its speed-up. Among equally good policies, the first one
    /// is returned, so it is LRU if no other policy is faster.
    fn best(&self) -> Vec<(usize, f64)> {
        let all: Vec<_> = (0..self.runs.len()).map(|policy| self.speedups(policy)).collect();
        let of_kernel = |at: usize| {
            let each = all.iter().enumerate().map(|(policy, speedups)| (policy, speedups[at]));
            each.fold((0, 1.0), |best, next| if next.1 > best.1 { next } else { best })
        };
        (0..self.kernels.len()).map(of_kernel).collect()
    }
}

pub(super) fn replacement(session: &Session) -> Result<Page, FigureError> {
    let suite = session.suite()?;
    let measure = |points: &[Point]| {
        session.runner.run_reports("replaced", points, &RunOptions::default(), &|report| Ok(PolicyRun::of(&report)))
    };
    let lru = measure(&suite.iter().map(|(_, path)| Point::new(path, MACHINE, &[], &[])).collect::<Vec<_>>())?;
    let mut found = Vec::new();
    for cache in &CACHES {
        let (kernels, of_lru): (Vec<_>, Vec<_>) =
            suite.iter().cloned().zip(&lru).filter(|(_, run)| (cache.of)(run).evicts()).unzip();
        let point = |policy: &str| {
            let setting = cache.setting(policy);
            kernels.iter().map(move |(_, path)| Point::new(path, MACHINE, &[], &[&setting])).collect::<Vec<_>>()
        };
        let others = measure(&cache.policies[1..].iter().flat_map(|policy| point(policy)).collect::<Vec<_>>())?;
        let of_policy = |policy: usize| others[policy * kernels.len()..][..kernels.len()].to_vec();
        let runs = once(of_lru.into_iter().copied().collect());
        let runs = runs.chain((0..cache.policies.len() - 1).map(of_policy)).collect();
        found.push(CacheResults { cache, kernels, runs });
    }
    Ok(draw(session.is_quick, suite.len(), &found)?)
}

fn draw(is_quick: bool, kernels: usize, found: &[CacheResults]) -> Result<Page, Report> {
    let mut page = Page::new("beyond/replacement", is_quick, "Replacement policies of the L1 and of the L2");
    page.text(&format!(
        "Replacement policies in place of LRU, once in all L1s and once in all L2 banks of `{MACHINE}`, for the suite's {kernels} kernels\n\
         in their {}. `ship` and `hawkeye` learn by load instruction in the L1 and by memory region in the L2, each with 256 counters.\n\
         `drrip` chooses between `srrip` and `brrip`, and `dip` between `lru` and `bip`; the part about the L1 leaves out `brrip`, `bip` and `lip`.\n\
         A kernel counts for a cache if it evicts at least one line per 100 loads of this cache under LRU. For the others, a policy has\n\
         next to no choices. Speed-ups and bytes over the DRAM's buses are relative to LRU. Hit %: loads whose line is present or in flight.\n\
         *best*: kernels that no other policy makes faster, where the first policy of the table counts among equals.\n\
         {MEANS}",
        size_shown(is_quick)
    ));
    for results in found {
        section(&mut page, results);
    }
    let all: Vec<_> = found.iter().map(findings).collect();
    page.text(&format!("## Conclusions\n{}", all.join("\n")));
    page.csv = numbers(found)?;
    Ok(page)
}

/// Adds the tables and the chart of one cache to the page.
fn section(page: &mut Page, found: &CacheResults) {
    let CacheResults { cache, kernels, runs } = found;
    let policies = cache.policies;
    page.text(&format!("## Policies of the {}\n{} kernels evict lines.", cache.name, kernels.len()));
    let best = found.best();
    let head = [&["policy"][..], &SPEED_AND_BYTES, &["hit %", LEAVE_ONE_OUT, "best"]].concat();
    let rows = policies.iter().enumerate().map(|(at, policy)| {
        let means = speed_and_bytes(&found.speedups(at), &found.bytes(at));
        let hits = format_range(&found.hits(at), 1, mean);
        let wins = best.iter().filter(|(policy, _)| *policy == at).count();
        [(*policy).to_owned()].into_iter().chain(means).chain(hits).chain([wins.to_string()]).collect()
    });
    page.table(&head, rows.collect(), 1);
    page.text("By kernel: hit rate under LRU, speed-up with each other policy, and the best policy.");
    let head = [&["kernel", "loads", "hit %"][..], &policies[1..], &["best"]].concat();
    let speedups: Vec<_> = (1..policies.len()).map(|policy| found.speedups(policy)).collect();
    let rows = kernels.iter().enumerate().map(|(at, (kernel, _))| {
        let counts = (cache.of)(&runs[0][at]);
        let hits = counts.hits().map_or("-".to_owned(), |percent| format!("{percent:.1}"));
        let each = speedups.iter().map(|speedups| format!("{:.3}", speedups[at]));
        let best = policies[best[at].0].to_owned();
        [kernel.clone(), counts.loads.to_string(), hits].into_iter().chain(each).chain([best]).collect()
    });
    page.table(&head, rows.collect(), 1);
    let columns = policies[1..].iter().zip(&speedups).map(|(policy, speedups)| (*policy, speedups.clone()));
    let table = Table::new(["kernel"], kernels.iter().map(|(kernel, _)| [kernel.as_str()])).columns(3, columns);
    let chart = Chart::relative(&format!("Replacement policies of the {}", cache.name), "speed-up over LRU");
    table.chart(page, &format!("-{}", cache.group), chart.logarithmic(), table.all());
}

/// Returns the conclusions for one cache.
fn findings(found: &CacheResults) -> String {
    let CacheKind { name, policies, .. } = found.cache;
    let count = found.kernels.len();
    if count == 0 {
        return format!("In the {name}, no kernel evicts enough lines for a policy to matter.");
    }
    let means: Vec<_> = (0..policies.len()).map(|policy| geometric(&found.speedups(policy))).collect();
    let top = (0..means.len()).fold(0, |best, next| if means[next] > means[best] { next } else { best });
    let paying: Vec<_> = (1..means.len()).filter(|at| means[*at] >= 1.0 + PAYS).map(|at| policies[at]).collect();
    let losing: Vec<_> = (1..means.len()).filter(|at| means[*at] <= 1.0 - PAYS).map(|at| policies[at]).collect();
    let mut text = match top {
        0 => format!("In the {name}, no policy is faster than LRU on average over {count} kernels."),
        _ => {
            let speedups = found.speedups(top);
            let range = extremes(&found.kernels, &speedups).map_or(String::new(), |[most, least]| {
                format!(": from {:.2} in `{}` to {:.2} in `{}`", least.1, least.0, most.1, most.0)
            });
            format!(
                "In the {name}, `{}` is the best policy on average: {count} kernels run {} times as fast as with LRU{range}.",
                policies[top],
                in_words(&speedups)
            )
        }
    };
    text.push_str(&format!(
        "\nPolicies that gain {0:.0} % or more on average: {1}. Policies that lose as much: {2}.\n",
        100.0 * PAYS,
        join_names(&paying),
        join_names(&losing)
    ));
    let [lru, most] = [0, top].map(|policy| mean(&found.hits(policy)).unwrap_or(f64::NAN));
    if top > 0 {
        text.push_str(&format!("It changes the mean hit rate from {lru:.1} to {most:.1} %. "));
    }
    let best = found.best();
    let ideal: Vec<_> = best.iter().map(|(_, speedup)| *speedup).collect();
    let noted = ideal.iter().filter(|speedup| **speedup >= 1.0 + NOTED).count();
    let mut wins: Vec<_> = (0..policies.len()).map(|at| best.iter().filter(|one| one.0 == at).count()).collect();
    let kept = std::mem::take(&mut wins[0]);
    let most = wins.iter().copied().max().unwrap_or(0);
    text.push_str(&format!(
        "With the best policy for each kernel, kernels run {} times as fast; {noted} of {count} gain {:.0} % or more.\n\
         LRU is the best policy for {kept} kernels",
        in_words(&ideal),
        100.0 * NOTED
    ));
    if most > 0 {
        let often: Vec<_> = (1..wins.len()).filter(|at| wins[*at] == most).map(|at| policies[at]).collect();
        text.push_str(&format!("; of the others, {} most often: for {most}", join_names(&often)));
    }
    let [ship, hawkeye] = ["ship", "hawkeye"].map(|policy| found.speedups(found.cache.index_of(policy)));
    let against: Vec<_> = hawkeye.iter().zip(&ship).map(|(hawkeye, ship)| hawkeye / ship).collect();
    text.push_str(&format!(".\nWith `hawkeye`, kernels run {} times as fast as with `ship`.", in_words(&against)));
    text
}

/// Formats all measurements as CSV, by cache, policy and kernel.
fn numbers(found: &[CacheResults]) -> Result<String, Report> {
    let head = [
        "cache",
        "policy",
        "kernel",
        "cycles",
        "dram_bytes",
        "l1_loads",
        "l1_found",
        "l1_evictions",
        "l2_loads",
        "l2_found",
        "l2_evictions",
    ];
    let mut rows = Vec::new();
    for CacheResults { cache, kernels, runs } in found {
        for (policy, runs) in cache.policies.iter().zip(runs) {
            for ((kernel, _), &PolicyRun { cycles, dram_bytes, l1, l2 }) in kernels.iter().zip(runs) {
                let names = [cache.group, policy, kernel].map(str::to_owned);
                let counts = [cycles, dram_bytes, l1.loads, l1.found, l1.evictions, l2.loads, l2.found, l2.evictions];
                rows.push(names.into_iter().chain(counts.map(|count| count.to_string())).collect::<Vec<_>>());
            }
        }
    }
    comma_separated(&head, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::resolve_config;

    fn run(cycles: u64, found: u64) -> PolicyRun {
        let l1 = CacheCounts { loads: 10, found, evictions: 5 };
        PolicyRun { cycles, dram_bytes: 64, l1, l2: CacheCounts::default() }
    }

    /// Creates the results of two kernels. Their cycles are the same under all policies except `policy`,
    /// under which they take `cycles`.
    fn results(policy: &str, cycles: [u64; 2]) -> CacheResults {
        let kernels = ["vadd", "bfs"].map(|name| (name.to_owned(), PathBuf::new())).into();
        let mut runs = vec![vec![run(100, 5); 2]; CACHES[0].policies.len()];
        runs[CACHES[0].index_of(policy)] = cycles.map(|cycles| run(cycles, 8)).into();
        CacheResults { cache: &CACHES[0], kernels, runs }
    }

    #[test]
    fn the_best_policy_is_told_on_average_and_by_kernel() {
        let found = results("hawkeye", [50, 125]);
        assert_eq!(found.best(), [(7, 2.0), (0, 1.0)]);
        let page = draw(false, 2, &[found]).unwrap();
        let text = &page.markdown;
        assert!(
            text.contains("`hawkeye` is the best policy on average: 2 kernels run 1.265 (0.800 to 2.000) times"),
            "{text}"
        );
        assert!(text.contains("from 0.80 in `bfs` to 2.00 in `vadd`"), "{text}");
        assert!(text.contains("more on average: `hawkeye`. Policies that lose as much: none."), "{text}");
        assert!(text.contains("It changes the mean hit rate from 50.0 to 80.0 %."), "{text}");
        assert!(text.contains("1 of 2 gain 5 % or more"), "{text}");
        assert!(
            text.contains("LRU is the best policy for 1 kernels; of the others, `hawkeye` most often: for 1."),
            "{text}"
        );
        assert_eq!(page.csv.lines().count(), 1 + 8 * 2);
    }

    #[test]
    fn a_cache_without_evictions_and_policies_that_only_lose_leave_lru() {
        let none =
            CacheResults { cache: &CACHES[1], kernels: Vec::new(), runs: vec![Vec::new(); CACHES[1].policies.len()] };
        let page = draw(true, 2, &[results("random", [200, 400]), none]).unwrap();
        let text = &page.markdown;
        assert!(text.contains("In the L1, no policy is faster than LRU on average over 2 kernels."), "{text}");
        assert!(text.contains("Policies that lose as much: `random`."), "{text}");
        assert!(text.contains("LRU is the best policy for 2 kernels.\n"), "{text}");
        assert!(text.contains("In the L2, no kernel evicts enough lines"), "{text}");
    }

    #[test]
    fn a_kernel_counts_from_one_eviction_per_hundred_loads_on() {
        let evicts = |loads, evictions| CacheCounts { loads, found: 0, evictions }.evicts();
        assert!(evicts(100, 1) && !evicts(101, 1) && !evicts(0, 0) && evicts(0, 1));
    }

    #[test]
    fn every_policy_is_legal_in_both_caches() {
        for cache in &CACHES {
            for policy in cache.policies {
                let resolved = resolve_config(MACHINE, &[], &[&cache.setting(policy)]).unwrap();
                let l1 = resolved.config.l1.replacement.typetag_name();
                let l2 = resolved.config.l2.replacement.typetag_name();
                assert_eq!(if cache.group == "l1" { [l1, l2] } else { [l2, l1] }, [*policy, "lru"]);
            }
        }
    }
}
