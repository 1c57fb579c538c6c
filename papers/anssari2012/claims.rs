//! What the thesis says of figures 4.1 to 4.6, held to the numbers without time.

use ::area::Table43;
use golden::hybrid::Counts;

use super::{BASELINE, BOTH, BYPASS_L2, FOUR, HOP_MM, LARGEST, LAST_SHARER, Row, TRACKER, TWO, change, mean, total};
use crate::judge::{self, Class};
use warpsieve::run::ratio;

/// Two numbers up to this far apart, in parts of one, are the same.
const SAME: f64 = 0.02;
/// Up to this far, comparable.
pub(super) const COMPARABLE: f64 = 0.05;
/// Up to this far, on par.
pub(super) const ON_PAR: f64 = 0.1;
/// Points, in parts of one, that a small increase of a miss rate has at most.
const SMALL_INCREASE: f64 = 0.15;

pub(super) const SMALL: &[&str] = &["BFS", "CutCP", "Histo", "MRIQ", "SPMV", "Stencil"];
pub(super) const LBM: &[&str] = &["LBM AoS", "LBM SoA"];
pub(super) const SENSITIVE: &[&str] = &["Gridding", "LBM AoS", "SPMV"];
pub(super) const HELPED: &[&str] = &["BFS", "CutCP", "SPMV"];
pub(super) const HURT: &[&str] = &["Gridding", "Histo", "MRIQ", "SGEMM"];
pub(super) const ALL_BUT_CUTCP: &[&str] =
    &["BFS", "Gridding", "Histo", "LBM AoS", "LBM SoA", "MRIQ", "SGEMM", "SPMV", "Stencil"];
pub(super) const ALL_BUT_CUTCP_AND_SGEMM: &[&str] =
    &["BFS", "Gridding", "Histo", "LBM AoS", "LBM SoA", "MRIQ", "SPMV", "Stencil"];

pub(super) fn is_same(part: f64) -> bool {
    (part - 1.0).abs() <= SAME
}

/// Judges named benchmarks, each by itself, and says of those that fail what their caches did.
struct Claims<'a> {
    all: &'a [Row],
    rows: Vec<judge::Row>,
}

impl Claims<'_> {
    /// DRAM data of a system in parts of another's.
    fn dram(
        &mut self,
        what: &str,
        published: &str,
        names: &[&str],
        (system, other): (usize, usize),
        holds: &dyn Fn(f64) -> bool,
    ) {
        let part = |row: &Row| row.dram(system) / row.dram(other);
        let named: Vec<_> = self.all.iter().filter(|row| names.contains(&row.name)).collect();
        let ours: Vec<_> = named.iter().map(|row| format!("{} {}", row.name, change(part(row)))).collect();
        let failed: Vec<_> = named.iter().filter(|row| !holds(part(row))).collect();
        let claim = judge::Row::claim(Class::Sign, what, &ours.join(", "), published, failed.is_empty());
        let why = failed.iter().map(|row| format!("{}: {}", row.name, moved(row, system, other)));
        self.rows.push(claim.because(&why.collect::<Vec<_>>().join("; ")));
    }

    /// The mean of all benchmarks, which must stay below `limit`; one that does not says what each adds to it.
    fn mean(&mut self, what: &str, published: &str, limit: f64, number: &dyn Fn(&Row) -> f64) {
        let ours = mean(self.all, number);
        let claim = judge::Row::claim(Class::Sign, what, &change(ours), published, ours < limit);
        let each =
            self.all.iter().map(|row| format!("{} {} of {} KB", row.name, change(number(row)), row.bytes / 1024));
        self.rows.push(claim.explained(|| each.collect::<Vec<_>>().join(", ")));
    }
}

/// Who answers on a system, and what DRAM moves, against another.
fn moved(row: &Row, system: usize, other: usize) -> String {
    let [ours, theirs] = [system, other].map(|system| &row.counts[system]);
    let supplied = |counts: &Counts| 100.0 * ratio(counts.remote_hits, counts.loads - counts.l1_hits);
    let found = |counts: &Counts| 100.0 * ratio(counts.l2_hits, counts.l2_accesses);
    format!(
        "other L1s supply {:.1} % of the misses (against {:.1} %), and {} times no longer have the line ({}); of {} lines asked of the \
         L2 ({}) it has {:.1} % ({:.1} %); DRAM reads {} ({}) and writes {} ({}), and {} ({}) stay dirty",
        supplied(ours),
        supplied(theirs),
        ours.nacks,
        theirs.nacks,
        ours.l2_accesses,
        theirs.l2_accesses,
        found(ours),
        found(theirs),
        ours.dram_reads,
        theirs.dram_reads,
        ours.dram_writes,
        theirs.dram_writes,
        ours.dram_owed,
        theirs.dram_owed
    )
}

pub(super) fn claims(costs: &Table43, all: &[Row]) -> Vec<judge::Row> {
    let mut claims = Claims { all, rows: Vec::new() };
    let large = (BASELINE + LARGEST, BOTH + LARGEST);
    claims.mean("4.1: DRAM data with a tracker, 128 KB, mean", "up to -9 %", 1.0, &|row| {
        row.dram(TRACKER) / row.dram(BASELINE)
    });
    let what = "4.1: a tracker with 128 KB against 256 KB without";
    claims.dram(what, "comparable", SMALL, (TRACKER, BASELINE + 1), &|part| part < 1.0 + COMPARABLE);
    claims.dram("4.1: LBM, tracker alone, 1 MB", "no gain", LBM, (TRACKER + LARGEST, large.0), &is_same);
    claims.mean("4.1: tracker and policy, 1 MB, mean", "-22 %", 1.0, &|row| row.dram(large.1));
    let what = "4.1: tracker and policy with 256 KB against 1 MB without, mean";
    claims.mean(what, "on par", 1.0 + ON_PAR, &|row| row.dram(BOTH + 1));
    let in_the_end = |row: &Row, system: usize| row.counts[system].dram_bytes_in_the_end();
    let what = "4.1: the same, with what stays dirty in the L2";
    claims.mean(what, "on par", 1.0 + ON_PAR, &|row| ratio(in_the_end(row, BOTH + 1), in_the_end(row, large.0)));
    let misses = |row: &Row| row.miss_rate(large.1) - row.miss_rate(TRACKER + LARGEST);
    let named: Vec<_> = all.iter().filter(|row| SENSITIVE.contains(&row.name)).collect();
    let ours: Vec<_> = named.iter().map(|row| format!("{} {:+.1} points", row.name, 100.0 * misses(row))).collect();
    let holds = named.iter().all(|row| (0.0..SMALL_INCREASE).contains(&misses(row)));
    let what = "4.2: L1 miss rate by the policy";
    claims.rows.push(judge::Row::claim(Class::Sign, what, &ours.join(", "), "small increase", holds));
    let past = (BYPASS_L2, large.1);
    let what = "4.3: loads that do not contend pass the L2 by: helped";
    claims.dram(what, "BFS, CutCP, SPMV", HELPED, past, &|part| part < 1.0);
    let what = "4.3: the same: hurt by write misses";
    claims.dram(what, "Gridding, Histo, MRIQ, SGEMM", HURT, past, &|part| part > 1.0);
    let what = "4.4: one sharer instead of sixteen";
    claims.dram(what, "the same, except CutCP", ALL_BUT_CUTCP, (LAST_SHARER, large.1), &is_same);
    for (what, system) in
        [("4.5: two isolated trackers instead of one", TWO), ("4.5: four isolated trackers instead of one", FOUR)]
    {
        let published = "the same, except CutCP and SGEMM";
        claims.dram(what, published, ALL_BUT_CUTCP_AND_SGEMM, (system, large.1), &is_same);
    }
    claims.mean("4.6: energy with tracker and policy, 1 MB, mean", "-28 %", 1.0, &|row| {
        total(costs, row, large.1, HOP_MM) / total(costs, row, large.0, HOP_MM)
    });
    claims.rows
}
