//! Statements of the thesis anssari2012 about its Figures 4.1 to 4.6, checked against our results. The
//! results come either from models of the caches without timing or from the clocked machine.

use ::area::Table43;

use super::{BASELINE, BOTH, BYPASS_L2, FOUR, LARGEST, LAST_SHARER, SIZES, STRUCTURES, TRACKER, TWO, average, change};
use crate::judge::{Class, ComparisonRow, Effect};

/// Two values are "comparable", as the thesis puts it, if the relative increase from one to the other is at
/// most this fraction.
const COMPARABLE: f64 = 0.05;
/// Two values are "on par", as the thesis puts it, if the relative increase from one to the other is at most
/// this fraction.
const ON_PAR: f64 = 0.1;
/// A decrease is "significant", as the thesis puts it, if it is at least this fraction of the original value.
const SIGNIFICANT: f64 = 0.1;
/// Maximum increase of a miss rate that we regard as small. The increase is the difference of two fractions
/// from 0 to 1.
const SMALL_INCREASE: f64 = 0.15;

const SMALL: &[&str] = &["BFS", "CutCP", "Histo", "MRIQ", "SPMV", "Stencil"];
const LBM: &[&str] = &["LBM AoS", "LBM SoA"];
const SENSITIVE: &[&str] = &["Gridding", "LBM AoS", "SPMV"];
const REGULAR: &[&str] = &["CutCP", "SGEMM", "Stencil"];
const HELPED: &[&str] = &["BFS", "CutCP", "SPMV"];
pub(super) const HURT: &[&str] = &["Gridding", "Histo", "MRIQ", "SGEMM"];
const OF_MANY: &[&str] = &["CutCP"];
const OF_ALL: &[&str] = &["CutCP", "SGEMM"];
/// Benchmarks that consume less energy because their DRAM traffic is lower, according to the thesis.
const LESS_DRAM: &[&str] = &["CutCP", "Gridding", "LBM AoS", "SPMV"];
/// Benchmarks that consume less energy because their L2 is less active, according to the thesis.
const LESS_L2: &[&str] = &["BFS", "Histo", "SGEMM"];
/// Benchmarks whose energy is unchanged, according to the thesis.
const UNCHANGED: &[&str] = &["MRIQ", "Stencil"];

/// Results of a benchmark on all compared systems. The parameter `system` of the methods is the index of a
/// system.
pub(super) trait SystemResults {
    fn name(&self) -> &'static str;
    /// Returns the number of bytes read from and written to DRAM.
    fn dram(&self, system: usize) -> f64;
    /// Returns the miss rate of all L1s together.
    fn miss_rate(&self, system: usize) -> f64;
    /// Returns the energy of each structure, such as the L2, in nJ.
    fn energy(&self, costs: &Table43, system: usize) -> [f64; STRUCTURES.len()];
    /// Describes two differences between two systems: how their L1 misses are served (from the L2, from
    /// another L1 and so on), and how much DRAM traffic they have.
    fn describe_differences(&self, system: usize, other: usize) -> String;

    /// Returns the DRAM traffic of the first system, divided by that of the second system.
    fn dram_of(&self, (system, other): (usize, usize)) -> f64 {
        self.dram(system) / self.dram(other)
    }

    /// Returns the energy of the first system, divided by that of the second system.
    fn energy_of(&self, costs: &Table43, (system, other): (usize, usize)) -> f64 {
        let [system, other] = [system, other].map(|system| self.energy(costs, system).iter().sum::<f64>());
        system / other
    }
}

/// True if `part` is so close to 1 that the metric is regarded as unchanged. `part` is a ratio: a metric on
/// one system divided by the same metric on another system.
fn is_same(part: f64) -> bool {
    (part - 1.0).abs() <= Effect::RATIO.none
}

/// True if `part` shows a decrease. `part` is a ratio: a metric on one system divided by the same metric on
/// another system.
fn is_less(part: f64) -> bool {
    part <= 1.0 - Effect::RATIO.none
}

/// True if `part` shows an increase. `part` is a ratio: a metric on one system divided by the same metric on
/// another system.
pub(super) fn is_more(part: f64) -> bool {
    part >= 1.0 + Effect::RATIO.none
}

/// Collects comparisons of our results with statements of the thesis about named benchmarks. A comparison
/// that fails gets an explanation of how the caches behaved.
pub(super) struct Claims<'a, O> {
    pub(super) all: &'a [O],
    pub(super) rows: Vec<ComparisonRow>,
}

impl<O: SystemResults> Claims<'_, O> {
    pub(super) fn each(
        &mut self,
        what: &str,
        published: &str,
        names: &[&str],
        number: impl Fn(&O) -> f64,
        holds: impl Fn(f64) -> bool,
        why: impl Fn(&O) -> String,
    ) {
        let named: Vec<_> = self.all.iter().filter(|one| names.contains(&one.name())).collect();
        let ours: Vec<_> = named.iter().map(|one| format!("{} {}", one.name(), change(number(one)))).collect();
        let failed: Vec<_> = named.iter().filter(|one| !holds(number(one))).collect();
        let row = ComparisonRow::claim(Class::Sign, what, &ours.join(", "), published, failed.is_empty());
        let reasons: Vec<_> = failed.iter().map(|one| format!("{}: {}", one.name(), why(one))).collect();
        self.rows.push(row.with_reason(&reasons.join("; ")));
    }

    fn dram(&mut self, what: &str, published: &str, names: &[&str], systems: (usize, usize), holds: fn(f64) -> bool) {
        self.each(
            what,
            published,
            names,
            |one| one.dram_of(systems),
            holds,
            |one| one.describe_differences(systems.0, systems.1),
        );
    }

    fn energy(
        &mut self,
        costs: &Table43,
        what: &str,
        published: &str,
        names: &[&str],
        systems: (usize, usize),
        holds: fn(f64) -> bool,
    ) {
        let in_uj = |one: &O, system: usize| {
            let parts = STRUCTURES.iter().zip(one.energy(costs, system));
            parts.map(|(name, nj)| format!("{name} {:.1}", nj / 1000.0)).collect::<Vec<_>>().join(", ")
        };
        let why = |one: &O| format!("energy in uJ: {}; compared with {}", in_uj(one, systems.0), in_uj(one, systems.1));
        self.each(what, published, names, |one| one.energy_of(costs, systems), holds, why);
    }

    /// Returns the mean of a metric over all benchmarks; `number` computes the metric for one benchmark.
    fn mean(&self, number: impl Fn(&O) -> f64) -> f64 {
        average(&self.all.iter().map(number).collect::<Vec<_>>())
    }

    /// Adds a comparison about the mean of the metric `number` over all benchmarks. If the comparison fails,
    /// its explanation lists the change of the metric for each benchmark.
    fn of_mean(&mut self, row: ComparisonRow, number: impl Fn(&O) -> f64) {
        let each = self.all.iter().map(|one| format!("{} {}", one.name(), change(number(one))));
        self.rows.push(row.explain_failure(|| each.collect::<Vec<_>>().join(", ")));
    }

    /// Adds a comparison of our mean over all benchmarks with the published mean. The comparison holds if our
    /// mean shows at least a third of the published effect.
    fn check_effect(&mut self, what: &str, published: f64, number: impl Fn(&O) -> f64) {
        let row = ComparisonRow::sign(what, self.mean(&number), published, Effect::RATIO);
        self.of_mean(row, number);
    }
}

/// Checks everything that the thesis states about Figures 4.1 to 4.6.
pub(super) fn claims(costs: &Table43, all: &[impl SystemResults]) -> Vec<ComparisonRow> {
    let mut claims = Claims { all, rows: Vec::new() };
    of_the_tracker(&mut claims);
    of_the_policy(&mut claims);
    past_the_l2(&mut claims);
    of_other_trackers(&mut claims);
    of_energy(costs, &mut claims);
    claims.rows
}

/// Returns the index of the system with a sharing tracker, and the index of the system without one. Both
/// systems have the L2 size `SIZES[size]`.
const fn tracker_systems(size: usize) -> (usize, usize) {
    (TRACKER + size, BASELINE + size)
}

fn of_the_tracker(claims: &mut Claims<'_, impl SystemResults>) {
    // The thesis states "up to 9% average DRAM data demand reduction for 128KB". We read this as two
    // statements: the mean reduction for 128 KB is 9 %, and it is the largest of all L2 sizes.
    let means: Vec<f64> = (0..SIZES.len()).map(|size| claims.mean(|one| one.dram_of(tracker_systems(size)))).collect();
    let what = "4.1: DRAM data with a tracker, 128 KB, mean";
    claims.of_mean(ComparisonRow::factor(what, means[0], 0.91, 1.0), |one| one.dram_of(tracker_systems(0)));
    let names = SIZES.map(|kb| format!("{kb} KB"));
    let saved: Vec<_> = names.iter().zip(&means).map(|(name, mean)| (name.as_str(), 1.0 - mean)).collect();
    let row = ComparisonRow::ordering("4.1: mean reduction by a tracker, by L2 size", &saved);
    claims.of_mean(row, |one| one.dram_of(tracker_systems(0)));
    comparable(claims);
    let farthest = |one: &dyn Fn(usize) -> f64| {
        let far = |size: &usize| (one(*size) - 1.0).abs();
        (0..SIZES.len()).max_by(|one, two| far(one).total_cmp(&far(two))).unwrap_or(LARGEST)
    };
    claims.each(
        "4.1: LBM, tracker alone, L2 size with the largest change",
        "minimal benefits, here within 2 %",
        LBM,
        |one| one.dram_of(tracker_systems(farthest(&|size| one.dram_of(tracker_systems(size))))),
        is_same,
        |one| {
            let size = farthest(&|size| one.dram_of(tracker_systems(size)));
            format!("with {} KB, {}", SIZES[size], one.describe_differences(TRACKER + size, BASELINE + size))
        },
    );
}

/// Compares a 128 KB L2 with a sharing tracker to a 256 KB L2 without one. Benchmarks that do not profit from
/// the larger L2 are left out, because for them the comparison proves nothing.
fn comparable(claims: &mut Claims<'_, impl SystemResults>) {
    let systems = (TRACKER, BASELINE + 1);
    let doubled = (BASELINE + 1, BASELINE);
    let is_telling =
        |name: &&str| claims.all.iter().filter(|one| one.name() == *name).any(|one| !is_same(one.dram_of(doubled)));
    let (telling, others): (Vec<_>, Vec<_>) = SMALL.iter().copied().partition(is_telling);
    let published = "comparable, here at most +5 %";
    claims.dram("4.1: tracker with 128 KB compared with 256 KB without", published, &telling, systems, |part| {
        part <= 1.0 + COMPARABLE
    });
    if let (Some(row), false) = (claims.rows.last_mut(), others.is_empty()) {
        let left_out =
            format!("no evidence from {}, because 256 KB save less than 2 % of their DRAM data", others.join(", "));
        let reasons: Vec<_> = [row.why.as_str(), &left_out].into_iter().filter(|why| !why.is_empty()).collect();
        row.why = reasons.join("; ");
        row.is_evidence = !telling.is_empty();
    }
}

fn of_the_policy(claims: &mut Claims<'_, impl SystemResults>) {
    let large = (BOTH + LARGEST, BASELINE + LARGEST);
    let added = (BOTH + LARGEST, TRACKER + LARGEST);
    claims.check_effect("4.1: DRAM data with tracker and policy, 1 MB, mean", 0.78, |one| one.dram_of(large));
    let quarter = (BOTH + 1, BASELINE + LARGEST);
    let ours = claims.mean(|one| one.dram_of(quarter));
    let what = "abstract: tracker and policy with 256 KB compared with 1 MB without, mean";
    let row =
        ComparisonRow::claim(Class::Sign, what, &change(ours), "on par, here at most +10 %", ours <= 1.0 + ON_PAR);
    claims.of_mean(row, |one| one.dram_of(quarter));
    claims.dram(
        "4.1: LBM AoS, effect of the policy",
        "significant, here at least 10 % less",
        &["LBM AoS"],
        added,
        |part| part <= 1.0 - SIGNIFICANT,
    );
    claims.dram("4.1: regular accesses, effect of the policy", "no change, here within 2 %", REGULAR, added, is_same);
    let misses = |one: &dyn SystemResults| one.miss_rate(added.0) - one.miss_rate(added.1);
    let named: Vec<_> = claims.all.iter().filter(|one| SENSITIVE.contains(&one.name())).collect();
    let ours: Vec<_> = named.iter().map(|one| format!("{} {:+.1} points", one.name(), 100.0 * misses(*one))).collect();
    let failed: Vec<_> = named.iter().filter(|one| !(0.0..SMALL_INCREASE).contains(&misses(**one))).collect();
    let published = "small increase, here 0 to 15 points";
    let what = "4.2: L1 miss rate, effect of the policy";
    let row = ComparisonRow::claim(Class::Sign, what, &ours.join(", "), published, failed.is_empty());
    let why = failed.iter().map(|one| format!("{}: {}", one.name(), one.describe_differences(added.0, added.1)));
    let row = row.with_reason(&why.collect::<Vec<_>>().join("; "));
    claims.rows.push(row);
}

/// Checks the statements about loads that bypass the L2. This bypass is the second element of the thesis's
/// bypass policy.
fn past_the_l2(claims: &mut Claims<'_, impl SystemResults>) {
    let past = (BYPASS_L2, BOTH + LARGEST);
    let what = "4.3: L2 bypass by loads that do not contend: helped";
    claims.dram(what, "less, here by at least 2 %", HELPED, past, is_less);
    let what = "4.3: L2 bypass by loads that do not contend: hurt by write misses";
    claims.dram(what, "more, here by at least 2 %", HURT, past, is_more);
}

fn of_other_trackers(claims: &mut Claims<'_, impl SystemResults>) {
    let both = BOTH + LARGEST;
    let but = |names: &[&str]| -> Vec<&'static str> {
        claims.all.iter().map(SystemResults::name).filter(|name| !names.contains(name)).collect()
    };
    let (not_of_many, not_of_all) = (but(OF_MANY), but(OF_ALL));
    let what = "4.4: one sharer instead of sixteen";
    claims.dram(what, "the same, here within 2 %", &not_of_many, (LAST_SHARER, both), is_same);
    claims.dram(
        "4.4: one sharer instead of sixteen, the exception",
        "more, here by at least 2 %",
        OF_MANY,
        (LAST_SHARER, both),
        is_more,
    );
    let what = "4.5: four isolated trackers instead of one";
    claims.dram(what, "the same, here within 2 %", &not_of_all, (FOUR, both), is_same);
    claims.dram(
        "4.5: two isolated trackers instead of one",
        "the same, here within 2 %",
        &not_of_all,
        (TWO, both),
        is_same,
    );
    if let Some(row) = claims.rows.pop() {
        let why = format!("the thesis says this together with the statement about four trackers; {}", row.why);
        claims.rows.push(row.mark_no_evidence(why.trim_end_matches("; ")));
    }
    claims.dram(
        "4.5: four isolated trackers instead of one, the exceptions",
        "more, here by at least 2 %",
        OF_ALL,
        (FOUR, both),
        is_more,
    );
}

fn of_energy(costs: &Table43, claims: &mut Claims<'_, impl SystemResults>) {
    let with = tracker_systems(LARGEST);
    let less = "less, here by at least 2 %";
    claims.energy(costs, "4.6: energy with a tracker, 1 MB, less DRAM data", less, LESS_DRAM, with, is_less);
    claims.energy(costs, "4.6: energy with a tracker, 1 MB, less L2 activity", less, LESS_L2, with, is_less);
    claims.energy(
        costs,
        "4.6: energy with a tracker, 1 MB, others",
        "virtually the same, here within 2 %",
        UNCHANGED,
        with,
        is_same,
    );
    let small = claims.mean(|one| one.energy_of(costs, tracker_systems(0)));
    let row = ComparisonRow::claim(
        Class::Sign,
        "4.6: energy with a tracker, 128 KB, mean",
        &change(small),
        less,
        is_less(small),
    );
    claims.of_mean(row, |one| one.energy_of(costs, tracker_systems(0)));
    let large = (BOTH + LARGEST, BASELINE + LARGEST);
    claims.check_effect("4.6: energy with tracker and policy, 1 MB, mean", 0.72, |one| one.energy_of(costs, large));
    let row = check_dominant(costs, claims.all);
    claims.rows.push(row);
}

/// Checks that DRAM and L1s consume most of the energy of the baseline.
fn check_dominant(costs: &Table43, all: &[impl SystemResults]) -> ComparisonRow {
    let part = |one: &dyn SystemResults| {
        let energy = one.energy(costs, BASELINE + LARGEST);
        (energy[0] + energy[STRUCTURES.len() - 1]) / energy.iter().sum::<f64>()
    };
    let dominated = all.iter().filter(|one| part(*one) > 0.5).count();
    let ours = format!("more than half of the energy in {dominated} of {}", all.len());
    let published = "dominant in almost every benchmark, here 8 of 10";
    let row = ComparisonRow::claim(
        Class::Sign,
        "4.6: energy of DRAM and L1s",
        &ours,
        published,
        dominated * 10 >= all.len() * 8,
    );
    row.explain_failure(|| {
        let others = all.iter().filter(|one| part(*one) <= 0.5);
        others.map(|one| format!("{} {:.0} %", one.name(), 100.0 * part(one))).collect::<Vec<_>>().join(", ")
    })
}
