//! Statements of the thesis anssari2012 about Figures 4.1 to 4.6 and about run time, checked against results
//! of the clocked machine.

use ::area::Table43;
use rtl::l2::L2Stats;

use super::super::claims::{self, Claims, SystemResults, is_more};
use super::super::{BASELINE, BOTH, BYPASS_L2, HOP_MM, LARGEST, STRUCTURES, TRACKER, change};
use super::{BenchmarkRuns, SystemRun, dram_bytes, forwards};
use crate::judge::{Class, ComparisonRow, Effect};
use warpsieve::run::{Counters, ratio};

/// Maximum relative increase in cycles at which the latency of the sharing tracker is regarded as completely
/// hidden.
const HIDDEN: f64 = 0.02;

/// Index of the system with sharing tracker, bypass policy and an L2 of 1 MB.
const PROPOSED: usize = BOTH + LARGEST;

const COMPUTE_BOUND: &[&str] = &["CutCP", "MRIQ", "SGEMM"];
const MEMORY_BOUND: &[&str] = &["LBM AoS", "LBM SoA", "SPMV", "Stencil"];

impl SystemResults for BenchmarkRuns {
    fn name(&self) -> &'static str {
        self.name
    }

    fn dram(&self, system: usize) -> f64 {
        self.done[system].dram()[0]
    }

    fn miss_rate(&self, system: usize) -> f64 {
        self.done[system].miss_rate()[0]
    }

    fn energy(&self, costs: &Table43, system: usize) -> [f64; STRUCTURES.len()] {
        self.done[system].events[0].energy(costs, HOP_MM)
    }

    fn describe_differences(&self, system: usize, other: usize) -> String {
        let [ours, theirs] = [system, other].map(|system| L2Traffic::of(&self.done[system].timed));
        format!(
            "{}; the L2 fetches {} lines (compared with {}) and writes back {} ({}); of {} reads ({}), {:.0} % hit \
             ({:.0} %), and {} writes miss ({})",
            who(&self.done[system]),
            ours.fetched,
            theirs.fetched,
            ours.written_back,
            theirs.written_back,
            ours.reads,
            theirs.reads,
            100.0 * ratio(ours.found, ours.reads),
            100.0 * ratio(theirs.found, theirs.reads),
            ours.write_misses,
            theirs.write_misses
        )
    }
}

struct L2Traffic {
    fetched: u64,
    written_back: u64,
    reads: u64,
    found: u64,
    write_misses: u64,
}

impl L2Traffic {
    fn of(counters: &Counters) -> Self {
        let sum = |count: fn(&L2Stats) -> u64| counters.l2.iter().map(count).sum();
        Self {
            fetched: sum(|bank| bank.fetches),
            written_back: sum(|bank| bank.writebacks),
            reads: sum(|bank| bank.accesses),
            found: sum(|bank| bank.hits + bank.hit_pending),
            write_misses: sum(|bank| bank.write_misses),
        }
    }
}

/// Describes the outcomes of sharing tracker lookups on a system, on the clocked machine and in the model
/// without timing.
fn who(done: &SystemRun) -> String {
    let [found, supplied, gone, early] = forwards(&done.timed);
    let without = 100.0 * ratio(done.untimed.remote_hits, done.untimed.loads - done.untimed.l1_hits);
    format!(
        "{found:.0} % of its misses are forwarded to another L1, of which {supplied:.0} % are supplied, {gone:.0} % \
         find the line evicted and {early:.0} % find it still in flight (untimed: {without:.0} % of the misses are \
         supplied)"
    )
}

/// Returns all comparisons. This page only shows the statements about the figures. They are judged on the
/// page with results of the model without timing, because the thesis has no timing either.
pub(super) fn claims(costs: &Table43, all: &[BenchmarkRuns]) -> Vec<ComparisonRow> {
    let mut claims = Claims { all, rows: Vec::new() };
    with_time(&mut claims);
    byte_masks(&mut claims);
    let again = claims::claims(costs, all).into_iter().map(|row| {
        let verdict =
            if row.passed { "also holds on the clocked machine" } else { "does not hold on the clocked machine" };
        let why = format!("judged on the untimed caches; {verdict}; {}", row.why);
        row.mark_no_evidence(why.trim_end_matches("; "))
    });
    claims.rows.extend(again);
    claims.rows
}

/// Checks what the thesis expects about the run time of systems with a sharing tracker but without the bypass
/// policy.
fn with_time(claims: &mut Claims<'_, BenchmarkRuns>) {
    let why = |size: usize| {
        move |one: &BenchmarkRuns| {
            let [with, without] = [TRACKER, BASELINE].map(|system| &one.done[system + size]);
            format!("{} cycles, compared with {}; {}", with.timed.cycles, without.timed.cycles, who(with))
        }
    };
    let what = "4.3: cycles with a tracker, 1 MB, compute-bound";
    let hidden = "hidden completely, here at most +2 %";
    claims.each(what, hidden, COMPUTE_BOUND, |one| one.cycles(LARGEST), |part| part <= 1.0 + HIDDEN, why(LARGEST));
    let what = "4.3: cycles with a tracker, 128 KB, memory-bound";
    let fewer = "fewer, here by at least 2 %";
    let is_fewer = |part| part <= 1.0 - Effect::RATIO.none;
    claims.each(what, fewer, MEMORY_BOUND, |one| one.cycles(0), is_fewer, why(0));
}

/// Checks how the thesis explains the DRAM traffic that the L2 bypass adds. According to the thesis, a part
/// of this traffic arises because its simulator has no byte masks.
fn byte_masks(claims: &mut Claims<'_, BenchmarkRuns>) {
    let counts =
        |one: &BenchmarkRuns| Some(one.masked.as_ref()?.each_ref().map(|counters| dram_bytes(counters) as f64));
    // Byte masks reduce the DRAM traffic of both systems, with and without L2 bypass, so the ratio of the two
    // amounts would be misleading. Instead, the traffic that the bypass adds is divided by that of a system
    // without byte masks and without L2 bypass.
    let added = |one: &BenchmarkRuns| {
        let [proposed, passing] = counts(one)?;
        let whole = one.dram(PROPOSED);
        Some(((passing - proposed) / whole, one.dram(BYPASS_L2) / whole - 1.0))
    };
    let hurt = claims.all.iter().filter_map(|one| Some((one, added(one)?)));
    let hurt: Vec<_> = hurt.filter(|(_, (_, without))| is_more(1.0 + without)).collect();
    let percent = |part: f64| change(1.0 + part);
    let ours: Vec<_> = hurt
        .iter()
        .map(|(one, (with, without))| format!("{} {} (without masks {})", one.name, percent(*with), percent(*without)))
        .collect();
    let failed = hurt.iter().filter(|(_, (with, without))| *with > without - Effect::RATIO.none);
    let why = failed.filter_map(|(one, _)| {
        let [proposed, passing] = one.masked.as_ref()?.each_ref().map(L2Traffic::of);
        let without = one.describe_differences(BYPASS_L2, PROPOSED);
        Some(format!(
            "{}: with byte masks, the L2 fetches {} lines (compared with {}); without byte masks, {without}",
            one.name, passing.fetched, proposed.fetched
        ))
    });
    let why: Vec<_> = why.collect();
    let what = "4.3: DRAM data added by L2 bypass, with byte masks";
    let row =
        ComparisonRow::claim(Class::Sign, what, &ours.join(", "), "less, here by at least 2 points", why.is_empty());
    claims.rows.push(row.with_reason(&why.join("; ")));
}
