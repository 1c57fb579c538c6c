//! Computes the changes between two runs, one section per group of counters.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use papers::measured::BlockEnergy;
use serde::Serialize;
use warpsieve::run::ratio;

use super::super::dictionary::{stages as all_stages, stalls as all_stalls};
use super::super::output::format_thousands;
use super::super::sweep::tidy::place;
use super::side::{Load, Side};
use super::sources::Sources;

/// Number of picojoules in a microjoule.
const PJ_PER_UJ: f64 = 1e6;
/// Exclusive upper bound of the lowest latency class of a histogram, in cycles.
const FIRST_LATENCY: u64 = 16;
/// Derived rates: name, keys whose sum is the numerator, and keys whose sum is the denominator.
const RATES: [(&str, &[&str], &[&str]); 7] = [
    ("L1D loads that hit", &["l1.hits"], &["l1.accesses"]),
    ("L1D loads that are pending hits", &["l1.hit_pending"], &["l1.accesses"]),
    ("L2 reads that hit", &["l2.hits"], &["l2.accesses"]),
    ("L2 reads that are pending hits", &["l2.hit_pending"], &["l2.accesses"]),
    ("DRAM accesses that hit the open row", &["dram.row_hits"], &["dram.reads", "dram.writes"]),
    ("DRAM cycles per read", &["dram.read_latency"], &["dram.reads"]),
    ("DRAM banks with waiting requests", &["dram.banks_waiting"], &["dram.waiting_cycles"]),
];

/// Complete comparison of two runs.
#[derive(Debug, Serialize)]
pub struct Changes {
    pub a: Run,
    pub b: Run,
    pub kernels: String,
    /// Notes shown before all changes, such as that the runs used different machines.
    pub notes: Vec<String>,
    pub cycles: Cycles,
    /// Fraction of the reference value that a change must exceed to be listed.
    pub least: f64,
    pub sections: Vec<Section>,
}

#[derive(Debug, Serialize)]
pub struct Run {
    pub name: String,
    pub machine: String,
    pub config_hash: String,
}

#[derive(Debug, Serialize)]
pub struct Cycles {
    pub a: u64,
    pub b: u64,
    pub change: i128,
    /// Speedup of run B over run A: the cycles of run A divided by the cycles of run B.
    pub speedup: Option<f64>,
}

/// Section of the comparison, with the changes of one kind of counter. If the rows add up to a total, they
/// are sorted by the size of their change, the largest first.
#[derive(Debug, Serialize)]
pub struct Section {
    pub name: &'static str,
    /// Explanation of the rows for the reader, such as what they count.
    pub about: &'static str,
    /// Column head above the names of the rows.
    pub row: &'static str,
    pub rows: Vec<Row>,
    pub left_out: Omitted,
}

#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub name: String,
    pub a: f64,
    pub b: f64,
    pub change: f64,
    /// Change of this row divided by the change of the section's total.
    pub weight: Option<f64>,
    /// Other counters of the same item, such as the hits or the latency of a load.
    pub further: Vec<OtherValue>,
    /// Meaning of the row; for a load, its source line.
    pub note: Option<String>,
    /// Value to which the change of this row is relative; `None` to use the reference value of the section.
    #[serde(skip)]
    of: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct OtherValue {
    pub name: &'static str,
    pub a: f64,
    pub b: f64,
    /// Value by which the change of this counter is divided to print it as a fraction.
    #[serde(skip)]
    of: f64,
}

/// Rows that are not listed because their change is too small.
#[derive(Debug, Serialize)]
pub struct Omitted {
    pub rows: usize,
    /// Name of the reference value. Changes of at most the fraction `least` of this value are not listed.
    pub of: &'static str,
    /// Sum of all rows that are not listed; `None` if the rows of the section do not add up to a total.
    pub sum: Option<Row>,
}

/// Reference value by which the changes of a section's rows are divided.
enum Scale {
    /// Scale of a section whose rows add up to a total. `of` is the reference value of all rows, and
    /// `changed` is the change of the total from run A to run B.
    Sum { of: f64, changed: f64 },
    /// Scale of a section whose rows overlap and have no total. The field is the reference value of all rows.
    Of(f64),
    /// Each row has a reference value of its own: the larger of its values in run A and run B.
    Own,
}

impl Changes {
    /// Compares two runs of the same kernels. Lists only changes that exceed the fraction `least` of their
    /// reference value.
    pub fn of(a: &Side, b: &Side, sources: &Sources, least: f64) -> Self {
        let run =
            |side: &Side| Run { name: side.name.clone(), machine: side.machine(), config_hash: side.hash().to_owned() };
        let [before, after] = [a, b].map(|side| side.statistics.cycles);
        let mut sections = vec![slots(a, b, least), refusals(a, b, least)];
        sections.extend([loads(a, b, sources, least), load_latencies(a, b, least), rates(a, b, least)]);
        sections.push(stages(a, b, least));
        sections.extend(stage_latencies(a, b, least));
        sections.extend([dram_latencies(a, b, least), energy(a, b, least), counters(a, b, least)]);
        Self {
            a: run(a),
            b: run(b),
            kernels: a.kernels(),
            notes: a.notes(b),
            cycles: Cycles {
                a: before,
                b: after,
                change: i128::from(after) - i128::from(before),
                speedup: (after > 0).then(|| ratio(before, after)),
            },
            least,
            sections,
        }
    }
}

impl Row {
    fn new(name: String, a: f64, b: f64) -> Self {
        Self { name, a, b, change: b - a, weight: None, further: Vec::new(), note: None, of: None }
    }

    /// True if the change of the row exceeds the fraction `least` of the reference value `of`. Also true if
    /// the change of any other counter of the row exceeds the fraction `least` of that counter's own
    /// reference value.
    fn is_large(&self, least: f64, of: f64) -> bool {
        let is_large = |further: &OtherValue| (further.b - further.a).abs() > least * further.of;
        self.change.abs() > least * of || self.further.iter().any(is_large)
    }

    fn is_there(&self) -> bool {
        self.a != 0.0 || self.b != 0.0 || self.further.iter().any(|further| further.a != 0.0 || further.b != 0.0)
    }
}

impl Section {
    fn new(
        [name, about, row, of]: [&'static str; 4],
        least: f64,
        scale: &Scale,
        rows: impl Iterator<Item = Row>,
    ) -> Self {
        let is_large = |row: &Row| {
            let of = match scale {
                Scale::Sum { of, .. } | Scale::Of(of) => *of,
                Scale::Own => row.a.abs().max(row.b.abs()),
            };
            row.is_large(least, row.of.unwrap_or(of))
        };
        let (mut rows, small): (Vec<_>, Vec<_>) = rows.filter(Row::is_there).partition(is_large);
        let sum = |of: fn(&Row) -> f64| small.iter().map(of).fold(0.0, |sum, next| sum + next);
        let mut together = None;
        if let Scale::Sum { changed, .. } = scale {
            let mut all = Row::new("left out".to_owned(), sum(|row| row.a), sum(|row| row.b));
            let weight = |row: &Row| (*changed != 0.0).then(|| row.change / changed);
            all.weight = weight(&all);
            rows.iter_mut().for_each(|row| row.weight = weight(row));
            rows.sort_by(largest_first);
            together = Some(all);
        }
        Self { name, about, row, rows, left_out: Omitted { rows: small.len(), of, sum: together } }
    }
}

fn largest_first(one: &Row, other: &Row) -> Ordering {
    other.change.abs().total_cmp(&one.change.abs())
}

/// Returns the changes of the schedulers' issue slots: slots with an issued instruction, and empty slots by
/// stall reason.
fn slots(a: &Side, b: &Side, least: f64) -> Section {
    let sides = [a, b].map(Side::slots);
    let reasons = merge_keys(&sides[0], &sides[1]).map(|(reason, a, b)| {
        let counted = format!("stalls.{reason}");
        let note = meaning(&counted).unwrap_or("The scheduler issued an instruction.");
        Row { note: Some(note.to_owned()), ..Row::new((*reason).to_owned(), a, b) }
    });
    let [before, after] = [&sides[0], &sides[1]].map(|slots| slots.values().sum::<f64>());
    Section::new(
        [
            "issue slots",
            "scheduler cycles of SMs that had warps, by use; the weight is the share of the change of all slots",
            "reason",
            "the slots",
        ],
        least,
        &Scale::Sum { of: before.max(after), changed: after - before },
        reasons,
    )
}

/// Returns the changes of reservation fails of the caches, by reason.
fn refusals(a: &Side, b: &Side, least: f64) -> Section {
    let keys = a.numbers.keys().chain(b.numbers.keys().filter(|key| !a.numbers.contains_key(*key)));
    let rows = keys.filter(|key| is_refusal(key)).map(|key| {
        // Upper bound of the number of reservation fails: each cache of this kind could fail once per cycle.
        let most = |side: &Side| {
            let units = side.units(key.split('.').next().unwrap_or("")) as u64;
            (units * side.statistics.cycles) as f64
        };
        let (of, note) = (most(a).max(most(b)), meaning(key).map(str::to_owned));
        Row { of: Some(of), note, ..Row::new(key.clone(), a.number(key), b.number(key)) }
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by(largest_first);
    Section::new(
        [
            "reservation fails",
            "cycles in which the oldest access of a cache stalled, summed over all of its kind; the cycles overlap",
            "reason",
            "the cycles of all caches of the kind",
        ],
        least,
        &Scale::Own,
        rows.into_iter(),
    )
}

/// Returns, for each load instruction, the changes of its requests to the L2, its accesses, its hits and its
/// latency.
fn loads(a: &Side, b: &Side, sources: &Sources, least: f64) -> Section {
    let by_place = |side: &'_ Side| -> BTreeMap<(String, u32, u32), [f64; 5]> {
        let counts = |load: &Load| {
            let &Load { ref kernel, pc, line, accesses, hits, hit_pending, misses, bypasses, answers, latency, .. } =
                load;
            let past = misses as f64 + bypasses as f64;
            let counts = [past, accesses as f64, hits as f64, hit_pending as f64, ratio(latency, answers)];
            ((kernel.clone(), line, pc), counts)
        };
        side.statistics.loads.iter().map(counts).collect()
    };
    let [mine, its] = [a, b].map(by_place);
    let places = mine.keys().chain(its.keys().filter(|place| !mine.contains_key(*place)));
    let accesses = [&mine, &its].map(|loads| loads.values().map(|counts| counts[1]).sum::<f64>());
    let accesses = accesses[0].max(accesses[1]);
    let rows: Vec<_> = places
        .map(|place| {
            let (kernel, line, _) = place;
            let [a, b] = [&mine, &its].map(|loads| loads.get(place).copied().unwrap_or_default());
            let count = |name, at: usize| OtherValue { name, a: a[at], b: b[at], of: accesses };
            let cycles = OtherValue { name: "latency", a: a[4], b: b[4], of: a[4].max(b[4]) };
            Row {
                further: vec![cycles, count("accesses", 1), count("hits", 2), count("pending hits", 3)],
                note: sources.line(kernel, *line),
                ..Row::new(format!("{kernel}, line {line}"), a[0], b[0])
            }
        })
        .collect();
    let changed = rows.iter().map(|row| row.change).sum();
    Section::new(
        [
            "loads",
            "lines requested from the L2, by misses and on the bypass path, and mean latency per warp; the weight is \
             the share of the change of all loads",
            "load",
            "the accesses of all loads, or of their latency,",
        ],
        least,
        &Scale::Sum { of: accesses, changed },
        rows.into_iter(),
    )
}

/// Returns the changes of derived rates, such as hit rates.
fn rates(a: &Side, b: &Side, least: f64) -> Section {
    let rate = |side: &Side, above: &[&str], below: &[&str]| {
        let [above, below] = [above, below].map(|keys| keys.iter().map(|key| side.number(key)).sum::<f64>());
        if below > 0.0 { above / below } else { 0.0 }
    };
    let rows = RATES
        .iter()
        .map(|(name, above, below)| Row::new((*name).to_owned(), rate(a, above, below), rate(b, above, below)));
    Section::new(["rates", "ratios of counters", "rate", "the larger value"], least, &Scale::Own, rows)
}

/// Returns the changes of all other counters, in the order of the statistics.
fn counters(a: &Side, b: &Side, least: f64) -> Section {
    let mut rows: Vec<_> = merge_keys(&a.numbers, &b.numbers).filter(|(key, ..)| is_counter(key)).collect();
    rows.sort_by_key(|(key, ..)| place(key));
    let rows = rows.into_iter().map(|(key, a, b)| Row::new(key.clone(), a, b));
    Section::new(
        [
            "counters",
            "all other counters, in the order of the statistics; `warpsieve counters NAME` describes one",
            "counter",
            "the larger value",
        ],
        least,
        &Scale::Own,
        rows,
    )
}

/// Returns the changes of the latency histogram of warp loads.
fn load_latencies(a: &Side, b: &Side, least: f64) -> Section {
    let all = |side: &Side| {
        let loads = &side.statistics.loads;
        let classes = loads.iter().map(|load| load.latencies.len()).max().unwrap_or(0);
        let of = |class: usize| {
            loads.iter().filter_map(|load| load.latencies.get(class)).map(|&answers| answers as f64).sum()
        };
        (0..classes).map(of).collect()
    };
    let about = "warp loads by latency in core cycles, from the LSU to the last byte";
    classes(["load latencies", about, "class", "the loads"], all(a), all(b), least)
}

/// Returns the changes of the average time in each stage, for loads and for the read requests that loads
/// cause.
fn stages(a: &Side, b: &Side, least: f64) -> Section {
    let rows = all_stages().map(|(name, counter)| {
        let [(a, stays), (b, others)] = [a, b].map(|side| {
            let stays = side.statistics.stages.get(name);
            stays.map_or((0.0, 0.0), |stays| (ratio(stays.cycles, stays.number), stays.number as f64))
        });
        let number = OtherValue { name: "number", a: stays, b: others, of: stays.max(others) };
        Row { further: vec![number], note: Some(counter.meaning.to_owned()), ..Row::new(name.to_owned(), a, b) }
    });
    let about = "mean core cycles that loads and their reads spent in each part of the machine";
    Section::new(["stages", about, "stage", "the larger value"], least, &Scale::Own, rows)
}

/// Returns one section per stage with the changes of its latency histogram.
fn stage_latencies(a: &Side, b: &Side, least: f64) -> impl Iterator<Item = Section> {
    all_stages().map(move |(name, counter)| {
        let of = |side: &Side| {
            let stays = side.statistics.stages.get(name);
            stays.map_or(Vec::new(), |stays| stays.latencies.iter().map(|&number| number as f64).collect())
        };
        let about = "stays in this stage by length in core cycles";
        classes([&counter.key, about, "class", "all stays"], of(a), of(b), least)
    })
}

/// Returns the changes of the latency histogram of DRAM reads.
fn dram_latencies(a: &Side, b: &Side, least: f64) -> Section {
    let all = |side: &Side| side.statistics.dram.read_latencies.iter().map(|&reads| reads as f64).collect();
    let about = "reads by latency in cycles of the DRAM clock";
    classes(["DRAM latencies", about, "class", "the reads"], all(a), all(b), least)
}

/// Returns the changes of a latency histogram, one row per latency class.
fn classes(names: [&'static str; 4], a: Vec<f64>, b: Vec<f64>, least: f64) -> Section {
    let number = a.len().max(b.len());
    let of = |counts: &[f64], class: usize| counts.get(class).copied().unwrap_or(0.0);
    let rows = (0..number).map(|class| Row::new(class_name(class, number), of(&a, class), of(&b, class)));
    let all = [&a, &b].map(|counts| counts.iter().sum::<f64>());
    Section::new(names, least, &Scale::Of(all[0].max(all[1])), rows)
}

/// Returns the name of the latency class with index `class`, such as `below 32`. `number` is the number of
/// classes in the histogram.
pub fn class_name(class: usize, number: usize) -> String {
    let below = FIRST_LATENCY.checked_shl(class as u32).map_or("more".to_owned(), format_thousands);
    if class + 1 < number { format!("below {below}") } else { "longer".to_owned() }
}

/// Returns the changes of the energy, one row per component. The rows add up to the energy of the whole
/// machine.
fn energy(a: &Side, b: &Side, least: f64) -> Section {
    let both = !a.energy.is_empty() && !b.energy.is_empty();
    let [mine, its] = [a, b].map(|side| if both { parts(&side.energy) } else { BTreeMap::new() });
    let rows = merge_keys(&mine, &its).map(|(block, a, b)| Row::new(block.clone(), a, b));
    let [before, after] = [&mine, &its].map(|parts| parts.values().sum::<f64>());
    Section::new(
        ["energy", "in uJ, an estimate; the weight is the share of the change of all", "component", "the energy"],
        least,
        &Scale::Sum { of: before.max(after), changed: after - before },
        rows,
    )
}

/// Returns the energy in uJ of each component. If a component contains other components, their energy is
/// excluded.
fn parts(energy: &[BlockEnergy]) -> BTreeMap<String, f64> {
    let uj = |part: &BlockEnergy| (part.dynamic_pj + part.leakage_pj) / PJ_PER_UJ;
    let blocks = energy.iter().filter(|part| !part.block.is_empty());
    let part = |part: &BlockEnergy| {
        let inside = format!("{}.", part.block);
        let inside = energy.iter().filter(|other| other.block.starts_with(&inside));
        let (number, sum) = inside.fold((0, 0.0), |(number, sum), part| (number + 1, sum + uj(part)));
        let name = if number > 0 { format!("{}, the rest", part.block) } else { part.block.clone() };
        (name, uj(part) - sum)
    };
    blocks.map(part).collect()
}

/// Returns each key that occurs in either map, with its values in map `a` and in map `b`.
fn merge_keys<'a, K: Ord>(a: &'a BTreeMap<K, f64>, b: &'a BTreeMap<K, f64>) -> impl Iterator<Item = (&'a K, f64, f64)> {
    let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
    keys.map(|key| (key, a.get(key).copied().unwrap_or(0.0), b.get(key).copied().unwrap_or(0.0)))
}

/// Returns the meaning of a stall reason, given the key of its counter.
pub fn meaning(key: &str) -> Option<&'static str> {
    all_stalls().iter().find(|stall| is_counted(&stall.counted, key)).map(|stall| stall.meaning)
}

/// True if `key` is the key `counted`, or ends with a dot and `counted`. The second form is the key of a
/// single unit.
fn is_counted(counted: &str, key: &str) -> bool {
    key.strip_suffix(counted).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

fn is_refusal(key: &str) -> bool {
    !key.starts_with("stalls.") && meaning(key).is_some()
}

/// True if the section of all other counters lists this key: no other section does.
fn is_counter(key: &str) -> bool {
    let elsewhere = ["schema", "cycles", "schedulers", "issued", "core_mhz"].contains(&key)
        || ["stalls.", "stages.", "energy."].iter().any(|group| key.starts_with(group));
    !elsewhere && !is_refusal(key)
}
