//! Holds the statistics of one of the two compared runs, read from a file or from the cache of results.

use std::collections::BTreeMap;
use std::path::Path;

use miette::{IntoDiagnostic, Report, WrapErr, miette};
use papers::measured::{BlockEnergy, RunMeasurement};
use rtl::l1::stages::Stays;
use rtl::sm::StallReason;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::super::output::format_count;
use super::super::sweep::tidy::flatten;
use warpsieve::config::ResolvedMachine;
use warpsieve::content::Content;
use warpsieve::estimate::Energy;
use warpsieve::run::NO_EVICTIONS;
use warpsieve::statistics::{SCHEMA, of_run};

/// Value of `outcome` for a run that completed all its kernels.
const FINISHED: &str = "finished";

/// One of the two runs that are compared.
pub struct Side {
    /// Path of the statistics file; for a cached run, its label.
    pub name: String,
    pub statistics: Statistics,
    /// All numbers of the statistics, by key, except numbers in lists and numbers about the computer that ran
    /// the simulator.
    pub numbers: BTreeMap<String, f64>,
    /// Energy of the whole machine, followed by the energy of each component.
    pub energy: Vec<BlockEnergy>,
}

/// Fields of the statistics file that the comparison reads by name, such as lists and nested tables.
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
    /// Time that loads and read requests spent in each stage, by name of the stage. Empty if an older version
    /// of warpsieve wrote the file.
    #[serde(default)]
    pub stages: BTreeMap<String, Stays>,
    /// Kinds of caches, such as `l1`, in which no cache evicted a line during the run.
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
    /// Units of the machine except SMs. The key is the kind of unit, such as `l2`.
    #[serde(flatten)]
    others: BTreeMap<String, Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
struct Sm {
    /// Number of warp instructions that the SM issued. It is above 0 for each SM that ran a warp, since a
    /// warp issues at least its exit instruction.
    warp_instructions: u64,
    /// Number of scheduler cycles of the SM that issued an instruction. A scheduler cycle is one cycle of one
    /// scheduler.
    issued: u64,
    /// Scheduler cycles during launches in which this SM had no warp. 0 if an older version of warpsieve
    /// wrote the file.
    #[serde(default)]
    idle: u64,
    /// Number of scheduler cycles of the SM without an issued instruction, by name of the stall reason.
    stalls: BTreeMap<String, Option<u64>>,
}

#[derive(Deserialize)]
pub struct Kernel {
    name: String,
    launches: u64,
}

/// Counters of one load instruction.
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
    /// Reads a file that `run --stats` wrote.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not a statistics file, or has another schema version.
    pub fn read(path: &Path) -> Result<Self, Report> {
        let name = path.display().to_string();
        let text =
            Content::Statistics.read(path).into_diagnostic().wrap_err_with(|| format!("{name} cannot be read"))?;
        Self::parse(name, &text)
    }

    /// Parses a text as a statistics file of the given name.
    ///
    /// # Errors
    /// Returns an error if the text is not a statistics file, or has another schema version.
    pub fn parse(name: String, text: &str) -> Result<Self, Report> {
        let value: Value = serde_json::from_str(text).map_err(|error| miette!("{name} is not JSON: {error}"))?;
        let schema = value.get("schema").unwrap_or(&Value::Null);
        if *schema != SCHEMA {
            return Err(miette!("{name}: `schema` is {schema}, expected {SCHEMA} in a file of `run --stats`"));
        }
        Self::parse_value(name, value)
    }

    /// Builds one side of the comparison from the result of a cached run.
    ///
    /// # Errors
    /// Returns an error if the statistics cannot be written as JSON.
    pub fn of(name: &str, resolved: &ResolvedMachine, measured: &RunMeasurement) -> Result<Self, Report> {
        let value = serde_json::to_value(of_run(resolved, &measured.report, None)).into_diagnostic()?;
        Ok(Self { energy: measured.energy.clone(), ..Self::parse_value(name.to_owned(), value)? })
    }

    fn parse_value(name: String, value: Value) -> Result<Self, Report> {
        let mut cells = Vec::new();
        flatten(String::new(), value.clone(), &mut cells);
        let numbers = cells.into_iter().filter_map(|(key, value)| Some((key, value.as_f64()?))).collect();
        let statistics: Statistics = serde_json::from_value(value)
            .map_err(|error| miette!("{name} is not a statistics file of `run --stats`: {error}"))?;
        let energy = statistics.energy.as_ref().map(BlockEnergy::all).unwrap_or_default();
        Ok(Self { name, statistics, numbers, energy })
    }

    /// Returns the value of a key, or 0 if the statistics lack the key.
    pub fn number(&self, key: &str) -> f64 {
        self.numbers.get(key).copied().unwrap_or(0.0)
    }

    /// Returns the hash of the machine configuration.
    pub fn hash(&self) -> &str {
        &self.statistics.config_hash
    }

    /// Returns the number of units of a kind, such as `l2`. If each SM contains such a unit, as with `l1`,
    /// counts only the units of SMs that ran a warp.
    pub fn units(&self, of: &str) -> usize {
        let units = self.statistics.units.others.get(of).map_or(0, Vec::len);
        if ["l2", "dram"].contains(&of) { units } else { units.min(self.busy_sms().count()) }
    }

    /// Returns the SMs that ran at least one warp.
    fn busy_sms(&self) -> impl Iterator<Item = &Sm> {
        self.statistics.units.sm.iter().filter(|sm| sm.warp_instructions > 0)
    }

    /// Returns the issue slots of the schedulers: slots with an issued instruction, and empty slots by stall
    /// reason. For each launch, only SMs that ran a warp are included.
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

    /// Returns a note on SMs without work: the number of SMs that never ran a warp, and the number of SMs
    /// that ran none in at least one launch. Returns `None` if every SM ran a warp in every launch.
    fn idle_sms(&self) -> Option<String> {
        let (all, busy) = (self.statistics.units.sm.len(), self.busy_sms().count());
        let of = format_count(all as u64, "SM", "SMs");
        let at_times = self.busy_sms().filter(|sm| sm.idle > 0).count();
        let never = (busy < all).then(|| format!("{} of {of} had no warp", all - busy));
        let at_times = (at_times > 0).then(|| format!("{at_times} of {of} had no warp in some launch"));
        let said: Vec<_> = never.into_iter().chain(at_times).collect();
        (!said.is_empty()).then(|| said.join(", "))
    }

    /// Returns the names of the machine and of its designs.
    pub fn machine(&self) -> String {
        let Statistics { machine, designs, .. } = &self.statistics;
        [machine].into_iter().chain(designs).map(String::as_str).collect::<Vec<_>>().join(" + ")
    }

    /// Returns the names of the kernels, each with its number of launches.
    pub fn kernels(&self) -> String {
        let kernel = |Kernel { name, launches }: &Kernel| match launches {
            1 => name.clone(),
            _ => format!("{name} x {launches}"),
        };
        self.statistics.kernels.iter().map(kernel).collect::<Vec<_>>().join(", ")
    }

    /// Returns an error if the two runs ran different kernels, or if one of them did not complete.
    pub fn is_comparable(&self, other: &Self) -> Result<(), Report> {
        for Self { name, statistics, .. } in [self, other] {
            if statistics.outcome != FINISHED {
                let outcome = &statistics.outcome;
                return Err(miette!("{name}: the run ended with `{outcome}`, expected `{FINISHED}`: it is incomplete"));
            }
        }
        let (kernels, others) = (self.kernels(), other.kernels());
        if kernels != others {
            let (name, other) = (&self.name, &other.name);
            return Err(miette!(
                "{name} ran {kernels}, {other} ran {others}: only runs of equal kernels can be compared"
            ));
        }
        Ok(())
    }

    /// Returns notes on differences between two runs of the same kernels, such as different machines.
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
            differs("the energy estimates have different parameters", a, b);
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
                let rest =
                    "issue slots exclude the idle SMs of each launch, reservation fails the SMs without any warp";
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

/// Returns the words that occur in either list, each once.
fn all_of<'a>(one: &'a [String], other: &'a [String]) -> impl Iterator<Item = &'a String> {
    one.iter().chain(other.iter().filter(|word| !one.contains(word)))
}
