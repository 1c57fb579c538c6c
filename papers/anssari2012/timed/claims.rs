//! What the thesis says of figures 4.1 to 4.6, held to the numbers with time.

use ::area::Table43;
use rtl::l2::L2Stats;
use rtl::tracker::TrackerStats;

use super::super::claims::{
    ALL_BUT_CUTCP, ALL_BUT_CUTCP_AND_SGEMM, COMPARABLE, HELPED, HURT, LBM, ON_PAR, SENSITIVE, SMALL, is_same,
};
use super::super::{HOP_MM, LARGEST, STRUCTURES, change};
use super::{Done, Measured, PASSING, PROPOSED, changes, dram_bytes, energy, forwards, mean, trackers};
use crate::judge::{Class, Row};
use warpsieve::run::{Counters, ratio};

/// Cycles that hide what a tracker takes are no more than this above the others, in parts of one.
const HIDDEN: f64 = 0.02;

/// Judges the numbers with time of the named benchmarks, each by itself, and says of those that fail what became of
/// their loads.
struct Claims<'a> {
    all: &'a [Measured],
    rows: Vec<Row>,
}

impl Claims<'_> {
    fn each(
        &mut self,
        what: &str,
        published: &str,
        names: &[&str],
        number: &dyn Fn(&Measured) -> [f64; 2],
        holds: &dyn Fn(f64) -> bool,
        why: &dyn Fn(&Measured) -> String,
    ) {
        let named: Vec<_> = self.all.iter().filter(|one| names.contains(&one.name)).collect();
        let ours: Vec<_> = named.iter().map(|one| format!("{} {}", one.name, changes(number(one)))).collect();
        let failed: Vec<_> = named.iter().filter(|one| !holds(number(one)[0])).collect();
        let row = Row::claim(Class::Sign, what, &ours.join(", "), published, failed.is_empty());
        let reasons: Vec<_> = failed.iter().map(|one| format!("{}: {}", one.name, why(one))).collect();
        self.rows.push(row.because(&reasons.join("; ")));
    }

    /// The mean of all benchmarks, which must stay below `limit`; one that does not says what each of them adds to it.
    fn mean(&mut self, what: &str, published: &str, limit: f64, number: &dyn Fn(&Measured) -> [f64; 2]) {
        let ours = mean(self.all, number);
        let row = Row::claim(Class::Sign, what, &changes(ours), published, ours[0] < limit);
        let each = self.all.iter().map(|one| format!("{} {}", one.name, changes(number(one))));
        self.rows.push(row.explained(|| each.collect::<Vec<_>>().join(", ")));
    }
}

/// Who answered on a system, with time and without.
fn who(one: &Measured, system: &str, size: usize) -> String {
    let done = one.on(system, size);
    let [found, supplied, gone, early] = forwards(&done.timed);
    let untimed = done.untimed;
    let without = 100.0 * ratio(untimed.remote_hits, untimed.loads - untimed.l1_hits);
    format!(
        "{found:.0} % of its misses are sent to another L1, of which {supplied:.0} % are supplied, {gone:.0} % find the line gone and \
         {early:.0} % not yet there (without time {without:.0} % of the misses are supplied)"
    )
}

/// How the DRAM reads and writes of a system differ from those of another, with time.
fn traffic(one: &Measured, system: (&str, usize), other: (&str, usize)) -> String {
    let of = |(system, size)| {
        let counters = &one.on(system, size).timed;
        let sum = |count: fn(&L2Stats) -> u64| counters.l2.iter().map(count).sum::<u64>();
        [
            sum(|bank| bank.fetches),
            sum(|bank| bank.writebacks),
            sum(|bank| bank.accesses),
            sum(|bank| bank.hits + bank.hit_pending),
        ]
    };
    let [[fetches, writebacks, reads, found], [others, other_writebacks, other_reads, other_found]] =
        [of(system), of(other)];
    format!(
        "the L2 fetches {fetches} lines (against {others}) and writes {writebacks} back ({other_writebacks}); of {reads} reads ({other_reads}) \
         it has {:.0} % ({:.0} %)",
        100.0 * ratio(found, reads),
        100.0 * ratio(other_found, other_reads)
    )
}

const FEWER_L2: &[&str] = &["BFS", "Histo", "SGEMM"];
const UNCHANGED: &[&str] = &["MRIQ", "Stencil"];
const COMPUTE_BOUND: &[&str] = &["CutCP", "MRIQ", "SGEMM"];
const MEMORY_BOUND: &[&str] = &["LBM AoS", "LBM SoA", "SPMV", "Stencil"];

pub(super) fn claims(costs: &Table43, all: &[Measured]) -> Vec<Row> {
    let mut claims = Claims { all, rows: Vec::new() };
    with_tracker(&mut claims);
    with_other_trackers(&mut claims);
    with_energy(costs, &mut claims);
    claims.rows.push(dominated(costs, all));
    with_time(&mut claims);
    with_policy(costs, &mut claims);
    claims.rows
}

/// What the thesis says of the DRAM data of a tracker alone.
fn with_tracker(claims: &mut Claims<'_>) {
    let tracked = |one: &Measured| one.part(("tracker", 0), ("baseline", 0), Done::dram);
    claims.mean("4.1: DRAM data with a tracker, 128 KB, mean", "up to -9 %", 1.0, &tracked);
    let why = |size: usize, other: usize| {
        move |one: &Measured| {
            let traffic = traffic(one, ("tracker", size), ("baseline", other));
            format!("{}; {traffic}", who(one, "tracker", size))
        }
    };
    claims.each(
        "4.1: a tracker with 128 KB against 256 KB without",
        "comparable",
        SMALL,
        &|one| one.part(("tracker", 0), ("baseline", 1), Done::dram),
        &|part| part < 1.0 + COMPARABLE,
        &why(0, 1),
    );
    claims.each(
        "4.1: LBM, tracker alone, 1 MB",
        "no gain",
        LBM,
        &|one| one.dram("tracker", LARGEST),
        &is_same,
        &why(LARGEST, LARGEST),
    );
}

/// Those with fewer sharers, or apart from one another: what is said, of whom, and the system.
const OTHER_TRACKERS: [(&str, &str, &[&str], &str); 3] = [
    ("4.4: one sharer instead of sixteen", "the same, except CutCP", ALL_BUT_CUTCP, "1 sharer"),
    (
        "4.5: two isolated trackers instead of one",
        "the same, except CutCP and SGEMM",
        ALL_BUT_CUTCP_AND_SGEMM,
        "2 trackers",
    ),
    (
        "4.5: four isolated trackers instead of one",
        "the same, except CutCP and SGEMM",
        ALL_BUT_CUTCP_AND_SGEMM,
        "4 trackers",
    ),
];

fn with_other_trackers(claims: &mut Claims<'_>) {
    for (what, published, names, system) in OTHER_TRACKERS {
        let why = |one: &Measured| {
            let fewer = [system, PROPOSED].map(|system| {
                let TrackerStats { lookups, supplied, .. } = trackers(&one.on(system, LARGEST).timed);
                100.0 * ratio(supplied, lookups)
            });
            let traffic = traffic(one, (system, LARGEST), (PROPOSED, LARGEST));
            format!("{:.0} % of its misses are supplied, against {:.0} %; {traffic}", fewer[0], fewer[1])
        };
        let dram = |one: &Measured| one.part((system, LARGEST), (PROPOSED, LARGEST), Done::dram);
        claims.each(what, published, names, &dram, &is_same, &why);
    }
}

/// What the thesis says of the energy with a tracker alone.
fn with_energy(costs: &Table43, claims: &mut Claims<'_>) {
    let structures = |one: &Measured, system: &str| {
        let [timed, _] = one.on(system, LARGEST).events.map(|events| events.energy(costs, HOP_MM));
        let parts = STRUCTURES.iter().zip(timed).map(|(name, nj)| format!("{name} {:.1}", nj / 1000.0));
        parts.collect::<Vec<_>>().join(", ")
    };
    let in_uj = |one: &Measured| {
        let [with, without] = ["tracker", "baseline"].map(|system| structures(one, system));
        format!("in uJ {with} with a tracker; {without} without")
    };
    let with_tracker = |one: &Measured| energy(costs, one, ("tracker", LARGEST), ("baseline", LARGEST));
    let what = "4.6: energy with a tracker, 1 MB, where the L2 has less to do";
    claims.each(what, "less", FEWER_L2, &with_tracker, &|part| part < 1.0, &in_uj);
    let what = "4.6: energy with a tracker, 1 MB, elsewhere";
    claims.each(what, "virtually the same", UNCHANGED, &with_tracker, &is_same, &in_uj);
    let small = |one: &Measured| energy(costs, one, ("tracker", 0), ("baseline", 0));
    claims.mean("4.6: energy with a tracker, 128 KB, mean", "less", 1.0, &small);
}

/// What DRAM and L1s take of the energy of the baseline.
fn dominated(costs: &Table43, all: &[Measured]) -> Row {
    let is_dominated = |one: &&Measured| {
        let [[l1, _, _, _, dram], _] = one.on("baseline", LARGEST).events.map(|events| events.energy(costs, HOP_MM));
        let [whole, _] = one.on("baseline", LARGEST).energy(costs, HOP_MM);
        l1 + dram > whole / 2.0
    };
    let dominated = all.iter().filter(is_dominated).count();
    let ours = format!("more than half of the energy in {dominated} of {}", all.len());
    let holds = dominated * 10 >= all.len() * 8;
    let row = Row::claim(Class::Sign, "4.6: DRAM and L1", &ours, "dominant in almost every benchmark", holds);
    row.explained(|| "the other structures are in the energies by structure below".to_owned())
}

/// What the thesis expects of the time with a tracker alone.
fn with_time(claims: &mut Claims<'_>) {
    let why = |one: &Measured| {
        let size = if one.cycles(LARGEST) > 1.0 + HIDDEN { LARGEST } else { 0 };
        let [with, without] = ["tracker", "baseline"].map(|system| &one.on(system, size).timed);
        format!("{} cycles against {}; {}", with.cycles, without.cycles, who(one, "tracker", size))
    };
    let large = |one: &Measured| [one.cycles(LARGEST), f64::NAN];
    let what = "4.3: cycles with a tracker, 1 MB, compute-bound";
    claims.each(what, "hidden completely", COMPUTE_BOUND, &large, &|part| part <= 1.0 + HIDDEN, &why);
    let small = |one: &Measured| [one.cycles(0), f64::NAN];
    let what = "4.3: cycles with a tracker, 128 KB, memory-bound";
    claims.each(what, "fewer", MEMORY_BOUND, &small, &|part| part < 1.0, &why);
}

/// What the thesis says of tracker and policy together.
fn with_policy(costs: &Table43, claims: &mut Claims<'_>) {
    let dram = |one: &Measured| one.dram(PROPOSED, LARGEST);
    claims.mean("4.1: tracker and policy, 1 MB, mean", "-22 %", 1.0, &dram);
    let quarter = |one: &Measured| one.dram(PROPOSED, 1);
    let what = "4.1: tracker and policy with 256 KB against 1 MB without, mean";
    let ours = mean(claims.all, quarter);
    let row = Row::claim(Class::Sign, what, &changes(ours), "on par", ours[0] < 1.0 + ON_PAR);
    let each = claims.all.iter().map(|one| {
        let owed = [(PROPOSED, 1), ("baseline", LARGEST)].map(|(system, size)| one.on(system, size).untimed);
        let [part, whole] = owed.map(|counts| counts.dram_bytes_in_the_end());
        format!(
            "{} {} of {} KB: {} ({} without time with what stays dirty in the L2)",
            one.name,
            changes(quarter(one)),
            one.bytes / 1024,
            traffic(one, (PROPOSED, 1), ("baseline", LARGEST)),
            change(ratio(part, whole))
        )
    });
    let row = row.explained(|| each.collect::<Vec<_>>().join("; "));
    claims.rows.push(row);
    claims.each(
        "4.2: misses of the L1 with the policy, of those without, 1 MB",
        "small increase",
        SENSITIVE,
        &|one| one.part((PROPOSED, LARGEST), ("tracker", LARGEST), Done::miss_rate),
        &|part| (1.0..1.5).contains(&part),
        &|one| traffic(one, (PROPOSED, LARGEST), ("tracker", LARGEST)),
    );
    passing(claims);
    let saved = |one: &Measured| energy(costs, one, (PROPOSED, LARGEST), ("baseline", LARGEST));
    claims.mean("4.6: energy with tracker and policy, 1 MB, mean", "-28 %", 1.0, &saved);
}

/// What the thesis says of the second element of the policy.
fn passing(claims: &mut Claims<'_>) {
    let why = |one: &Measured| {
        let misses = [PASSING, PROPOSED].map(|system| {
            let banks = &one.on(system, LARGEST).timed.l2;
            banks.iter().map(|bank| bank.write_misses).sum::<u64>()
        });
        let traffic = traffic(one, (PASSING, LARGEST), (PROPOSED, LARGEST));
        format!("{} writes miss (against {}); {traffic}", misses[0], misses[1])
    };
    let past = |one: &Measured| one.past_the_l2();
    let what = "4.3: loads whose lines an L1 keeps pass the L2 by, DRAM data: helped";
    claims.each(what, "BFS, CutCP, SPMV", HELPED, &past, &|part| part < 1.0, &why);
    let what = "4.3: the same: hurt by write misses";
    claims.each(what, "Gridding, Histo, MRIQ, SGEMM", HURT, &past, &|part| part > 1.0, &why);
    // Byte masks spare both systems fetches, so that their own proportion says little: what passing adds, of the same whole.
    let added = |one: &Measured| {
        let [proposed, passing] = one.masked.as_ref()?.each_ref().map(|counters| dram_bytes(counters) as f64);
        Some((passing - proposed) / one.on(PROPOSED, LARGEST).dram()[0])
    };
    let named: Vec<_> = claims.all.iter().filter_map(|one| Some((one, added(one)?, past(one)[0] - 1.0))).collect();
    let percent = |part: f64| change(1.0 + part);
    let ours: Vec<_> = named
        .iter()
        .map(|(one, with, without)| format!("{} {} (of {})", one.name, percent(*with), percent(*without)))
        .collect();
    let more = named.iter().filter(|(_, with, without)| *without > 0.0 && with >= without);
    let fetched = |counters: &Counters| counters.l2.iter().map(|bank| bank.fetches).sum::<u64>();
    let more = more.filter_map(|(one, ..)| {
        let [proposed, passing] = one.masked.as_ref()?.each_ref().map(fetched);
        Some(format!(
            "{}: the L2 fetches {passing} lines with masks (against {proposed}); without, {}",
            one.name,
            why(one)
        ))
    });
    let more: Vec<_> = more.collect();
    let what = "4.3: what is added, with an L2 that knows the bytes that were written";
    let row = Row::claim(Class::Sign, what, &ours.join(", "), "less", more.is_empty());
    claims.rows.push(row.because(&more.join("; ")));
}
