//! One of the two runs: its statistics, from a file or from a run that was kept.

use std::collections::BTreeMap;
use std::path::Path;

use miette::{IntoDiagnostic, Report, WrapErr, miette};
use papers::measured::{Measured, Part};
use rtl::l1::stages::Stays;
use rtl::sm::StallReason;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::super::output::counted;
use super::super::sweep::tidy::flatten;
use warpsieve::config::Resolved;
use warpsieve::content::Content;
use warpsieve::estimate::Energy;
use warpsieve::run::NO_EVICTIONS;
use warpsieve::statistics::{SCHEMA, of_run};

/// How a run ends that came to the end of its kernels.
const FINISHED: &str = "finished";

/// A run.
pub struct Side {
    /// The file, or what ran.
    pub name: String,
    pub statistics: Statistics,
    /// Every number of the statistics that is neither in a list nor of the host, by its key.
    pub numbers: BTreeMap<String, f64>,
    /// Its energy: of all, then by part.
    pub energy: Vec<Part>,
}

/// The statistics that are more than numbers under a key.
#[derive(Deserialize)]
pub struct Statistics {
    pub outcome: String,
    pub machine: String,
    pub designs: Vec<String>,
    pub config_hash: String,
    pub kernels: Vec<Kernel>,
    pub cycles: u64,
    pub core_mhz: f64,
    pub thread_instructions: u64,
    pub loads: Vec<Load>,
    /// By name; none in a file of a version that did not count them.
    #[serde(default)]
    pub stages: BTreeMap<String, Stays>,
    /// Kinds of caches without evictions, by key.
    #[serde(default)]
    no_evictions: Vec<String>,
    pub dram: Dram,
    pub check: String,
    energy: Option<Energy>,
    units: Units,
}

#[derive(Deserialize)]
struct Units {
    sm: Vec<Sm>,
    /// Units of every other kind.
    #[serde(flatten)]
    others: BTreeMap<String, Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
struct Sm {
    /// Instructions issued: an SM that had a warp has issued the last one of it at least.
    warp_instructions: u64,
    /// Cycles in which its schedulers issued.
    issued: u64,
    /// Cycles of its schedulers in launches in which it had no warp; none in a file of a version that did not count them.
    #[serde(default)]
    idle: u64,
    /// Cycles of its schedulers without an instruction, by reason.
    stalls: BTreeMap<String, Option<u64>>,
}

#[derive(Deserialize)]
pub struct Kernel {
    name: String,
    launches: u64,
}

/// A load instruction.
#[derive(Deserialize)]
pub struct Load {
    pub kernel: String,
    pub pc: u32,
    pub line: u32,
    pub accesses: u64,
    pub hits: u64,
    pub hit_pending: u64,
    pub misses: u64,
    pub bypasses: u64,
    pub answers: u64,
    pub latency: u64,
    pub latencies: Vec<u64>,
}

#[derive(Deserialize)]
pub struct Dram {
    pub read_latencies: Vec<u64>,
}

impl Side {
    /// Reads what `run --stats` wrote.
    ///
    /// # Errors
    /// If it is no such file, or one of another version.
    pub fn read(path: &Path) -> Result<Self, Report> {
        let name = path.display().to_string();
        let text =
            Content::Statistics.read(path).into_diagnostic().wrap_err_with(|| format!("{name} cannot be read"))?;
        Self::parse(name, &text)
    }

    /// Reads a text as if it stood in a file of this name.
    ///
    /// # Errors
    /// If it is none that `run --stats` wrote, or one of another version.
    pub fn parse(name: String, text: &str) -> Result<Self, Report> {
        let value: Value = serde_json::from_str(text).map_err(|error| miette!("{name} is no JSON: {error}"))?;
        let schema = value.get("schema").unwrap_or(&Value::Null);
        if *schema != SCHEMA {
            return Err(miette!("{name}: `schema` is {schema}, expected {SCHEMA}: a file that `run --stats` wrote"));
        }
        Self::parsed(name, value)
    }

    /// A run that was kept.
    ///
    /// # Errors
    /// If its statistics cannot be written as JSON.
    pub fn of(name: &str, resolved: &Resolved, measured: &Measured) -> Result<Self, Report> {
        let value = serde_json::to_value(of_run(resolved, &measured.report, None)).into_diagnostic()?;
        Ok(Self { energy: measured.energy.clone(), ..Self::parsed(name.to_owned(), value)? })
    }

    fn parsed(name: String, value: Value) -> Result<Self, Report> {
        let mut cells = Vec::new();
        flatten(String::new(), value.clone(), &mut cells);
        let numbers = cells.into_iter().filter_map(|(key, value)| Some((key, value.as_f64()?))).collect();
        let statistics: Statistics = serde_json::from_value(value)
            .map_err(|error| miette!("{name} is not what `run --stats` writes: {error}"))?;
        let energy = statistics.energy.as_ref().map(Part::all).unwrap_or_default();
        Ok(Self { name, statistics, numbers, energy })
    }

    /// The number under a key, 0 if there is none.
    pub fn number(&self, key: &str) -> f64 {
        self.numbers.get(key).copied().unwrap_or(0.0)
    }

    /// Hash of its configuration.
    pub fn hash(&self) -> &str {
        &self.statistics.config_hash
    }

    /// Units of a kind, such as `l2`; of what an SM has, such as `l1`, those of SMs that had warps.
    pub fn units(&self, of: &str) -> usize {
        let units = self.statistics.units.others.get(of).map_or(0, Vec::len);
        if ["l2", "dram"].contains(&of) { units } else { units.min(self.busy_sms().count()) }
    }

    /// The SMs that had warps.
    fn busy_sms(&self) -> impl Iterator<Item = &Sm> {
        self.statistics.units.sm.iter().filter(|sm| sm.warp_instructions > 0)
    }

    /// Issue slots by what schedulers did with them, of each launch those of the SMs that had warps.
    pub fn slots(&self) -> BTreeMap<&str, f64> {
        let mut slots = BTreeMap::from([("issued", 0.0)]);
        for sm in self.busy_sms() {
            let reasons = sm.stalls.iter().map(|(reason, cycles)| (reason.as_str(), cycles.unwrap_or(0)));
            for (reason, cycles) in reasons.chain([("issued", sm.issued)]) {
                let idle = if reason == StallReason::NoWarp.name() { sm.idle } else { 0 };
                *slots.entry(reason).or_default() += cycles.saturating_sub(idle) as f64;
            }
        }
        slots
    }

    /// Says how many SMs never had a warp, and how many had none in some launch, if any.
    fn idle_sms(&self) -> Option<String> {
        let (all, busy) = (self.statistics.units.sm.len(), self.busy_sms().count());
        let of = counted(all as u64, "SM", "SMs");
        let at_times = self.busy_sms().filter(|sm| sm.idle > 0).count();
        let never = (busy < all).then(|| format!("{} of {of} had no warp", all - busy));
        let at_times = (at_times > 0).then(|| format!("{at_times} of {of} had no warp in some launch"));
        let said: Vec<_> = never.into_iter().chain(at_times).collect();
        (!said.is_empty()).then(|| said.join(", "))
    }

    /// Machine and designs.
    pub fn machine(&self) -> String {
        let Statistics { machine, designs, .. } = &self.statistics;
        [machine].into_iter().chain(designs).map(String::as_str).collect::<Vec<_>>().join(" + ")
    }

    /// The kernels, with their numbers of launches.
    pub fn kernels(&self) -> String {
        let kernel = |Kernel { name, launches }: &Kernel| match launches {
            1 => name.clone(),
            _ => format!("{name} x {launches}"),
        };
        self.statistics.kernels.iter().map(kernel).collect::<Vec<_>>().join(", ")
    }

    /// Refuses runs that did not do the same, or not all of it.
    pub fn is_comparable(&self, other: &Self) -> Result<(), Report> {
        for Self { name, statistics, .. } in [self, other] {
            if statistics.outcome != FINISHED {
                let outcome = &statistics.outcome;
                return Err(miette!("{name}: the run ended with `{outcome}`, expected `{FINISHED}`: it is not whole"));
            }
        }
        let (kernels, others) = (self.kernels(), other.kernels());
        if kernels != others {
            let (name, other) = (&self.name, &other.name);
            return Err(miette!("{name} ran {kernels}, {other} ran {others}: only runs of the same kernels compare"));
        }
        Ok(())
    }

    /// What the reader should know of two runs that compare.
    pub fn notes(&self, other: &Self) -> Vec<String> {
        let (mine, its) = (&self.statistics, &other.statistics);
        let mut notes = Vec::new();
        let mut differs = |what: &str, a: String, b: String| notes.push(format!("{what}: {a} and {b}"));
        if mine.machine != its.machine {
            differs("the machines differ", mine.machine.clone(), its.machine.clone());
        }
        if mine.core_mhz != its.core_mhz {
            differs("the core clocks differ, in MHz", mine.core_mhz.to_string(), its.core_mhz.to_string());
        }
        if mine.thread_instructions != its.thread_instructions {
            let [a, b] = [mine, its].map(|statistics| statistics.thread_instructions.to_string());
            differs("the runs executed different numbers of thread instructions", a, b);
        }
        let estimates =
            [mine, its].map(|statistics| statistics.energy.as_ref().map(|energy| (energy.node_nm, energy.hop_mm)));
        if let [Some(a), Some(b)] = estimates
            && a != b
        {
            let [a, b] = [a, b].map(|(node_nm, hop_mm)| format!("{node_nm} nm with wires of {hop_mm} mm"));
            differs("the energies are of different estimates", a, b);
        }
        if mine.config_hash == its.config_hash {
            notes.push("both ran on the same configuration".to_owned());
        }
        let failed = [self, other].into_iter().filter(|side| side.statistics.check == "failed");
        notes.extend(failed.map(|side| format!("{}: its check failed", side.name)));
        match [self, other].map(Self::idle_sms) {
            [None, None] => {}
            idle => {
                let [a, b] = idle.map(|idle| idle.unwrap_or_else(|| "none".to_owned()));
                let idle = if a == b { format!("{a} in A and in B") } else { format!("{a} in A, {b} in B") };
                let rest = "issue slots are those of the others, refusals those of SMs that had a warp at all";
                notes.push(format!("idle SMs: {idle}; {rest}"));
            }
        }
        for key in all_of(&mine.no_evictions, &its.no_evictions) {
            let runs = match [mine, its].map(|statistics| statistics.no_evictions.contains(key)) {
                [true, true] => "A and B",
                [true, false] => "A",
                [false, _] => "B",
            };
            notes.push(format!("no evictions from `{key}` in {runs}: {NO_EVICTIONS}"));
        }
        notes
    }
}

/// The words of both lists, each once.
fn all_of<'a>(one: &'a [String], other: &'a [String]) -> impl Iterator<Item = &'a String> {
    one.iter().chain(other.iter().filter(|word| !one.contains(word)))
}
