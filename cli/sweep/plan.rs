//! Plans the runs of a sweep: each workload runs on each variant of the machine.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use miette::Report;
use papers::measured::WorkloadFile;
use papers::progress::progress_line;
use papers::runs::Job;
use papers::store::{Input, Key};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde_json::Value;

use super::super::files::Files;
use super::super::progress::Heartbeat;
use super::super::{output, run};
use super::file::{Choice, NamedItem, Parameter, SweepFile, text_of};
use warpsieve::config::{ConfigError, Request, ResolvedMachine};
use warpsieve::run::{RunError, Trace};

/// Workloads and variants of the machine that a sweep combines.
pub struct Plan {
    /// Parameters in the order of their columns in the table: the workload, then the parameters of the
    /// machine.
    pub columns: Vec<Column>,
    pub workloads: Vec<Workload>,
    pub variants: Vec<Variant>,
    /// Text that is part of the cache key of every result. It names all options that affect a result.
    pub kind: String,
}

/// Column of the result table that shows a parameter.
pub struct Column {
    pub name: String,
    /// Number of the column's group. Columns of settings that vary together share a group number; every other
    /// column has its own.
    pub group: usize,
}

/// Launch file or trace of a sweep.
pub struct Workload {
    pub name: String,
    pub subject: WorkloadFile,
    input: Input,
}

/// Variant of the machine that a sweep runs.
pub struct Variant {
    /// Label that distinguishes the variant from all other variants.
    pub label: String,
    /// Values of the machine's parameters in this variant, for the cells of the table.
    pub values: Vec<Value>,
    /// Index of the baseline variant. The speedup of this variant is the cycles of the baseline divided by
    /// its own cycles.
    pub baseline: usize,
    pub request: Request,
    /// Configuration of the variant with the values of all fields; `None` if a configuration rule rejected
    /// it.
    pub resolved: Option<Arc<ResolvedMachine>>,
}

/// Identity of a run: index of the workload, and index of the variant.
pub type Id = (usize, usize);

/// Run with its configuration. If several runs are identical except for their names, they are simulated once,
/// as one run with several ids.
pub struct Run<'a> {
    pub ids: Vec<Id>,
    pub workload: &'a Workload,
    pub resolved: Arc<ResolvedMachine>,
}

/// Returns the text that becomes part of the cache key of every result. The text names all options that
/// affect a result.
pub fn kind(check: bool, max_cycles: Option<u64>) -> String {
    let until = max_cycles.map(|last| format!("-until-{last}")).unwrap_or_default();
    format!("measured{}{until}", if check { "-check" } else { "" })
}

impl Workload {
    /// Reads a launch file and returns its workload. Errors in the file are thus reported before the first
    /// run.
    pub fn launch(name: &str, path: &Path, files: &mut Files) -> Result<Self, Report> {
        files.reads_launch(&warpsieve::run::open(path, None)?);
        Self::of(name, WorkloadFile::Launch(path.to_owned()))
    }

    fn trace(name: &str, path: &Path, files: &mut Files) -> Result<Self, Report> {
        let recording = Trace::open(path)?;
        output::warn(recording.warnings());
        recording.files().for_each(|path| files.reads("the trace", path));
        Self::of(name, WorkloadFile::Trace(recording))
    }

    fn of(name: &str, subject: WorkloadFile) -> Result<Self, Report> {
        let input = subject.input()?;
        Ok(Self { name: name.to_owned(), subject, input })
    }
}

impl Plan {
    /// Builds the plan from a sweep file. A variant whose configuration breaks a rule stays in the plan
    /// without a configuration. Returns the plan, and the error and label of each such variant.
    pub fn of(file: &SweepFile, files: &mut Files) -> Result<(Self, Vec<(String, ConfigError)>), Report> {
        let mut workloads = Vec::new();
        for NamedItem { name, of } in &file.launches {
            workloads.push(Workload::launch(name, of, files)?);
        }
        for NamedItem { name, of } in &file.traces {
            workloads.push(Workload::trace(name, of, files)?);
        }
        let (mut variants, mut refused) = (variants(&file.parameters), Vec::new());
        let all = resolve(&variants);
        for (variant, resolved) in variants.iter_mut().zip(all) {
            match resolved {
                Ok(resolved) => {
                    files.reads_machine(&resolved);
                    variant.resolved = Some(Arc::new(resolved));
                }
                Err(error) => refused.push((variant.label.clone(), error)),
            }
        }
        let kind = kind(file.check, file.max_cycles);
        Ok((Self { columns: columns(&file.parameters), workloads, variants, kind }, refused))
    }

    /// Returns every run with a valid configuration. All variants of the first workload come first, then
    /// those of the next workload.
    pub fn jobs(&self) -> Result<Vec<Job<Run<'_>>>, Report> {
        let mut jobs: Vec<Job<Run<'_>>> = Vec::new();
        let mut known: HashMap<Key, usize> = HashMap::new();
        for (w, workload) in self.workloads.iter().enumerate() {
            let mut wider = BTreeMap::new();
            for (v, variant) in self.variants.iter().enumerate() {
                let Some(resolved) = &variant.resolved else { continue };
                let resolved = match &workload.subject {
                    WorkloadFile::Trace(recording) => widen_addresses(recording, variant, resolved, &mut wider)?,
                    WorkloadFile::Launch(_) => Arc::clone(resolved),
                };
                let name = format!("{} on {}", workload.name, variant.label);
                let key = Key::new(&self.kind, &workload.input, &resolved);
                match known.entry(key.clone()) {
                    Entry::Occupied(same) => jobs[*same.get()].what.ids.push((w, v)),
                    Entry::Vacant(new) => {
                        new.insert(jobs.len());
                        jobs.push(Job { name, key, what: Run { ids: vec![(w, v)], workload, resolved } });
                    }
                }
            }
            for ((given, needed), variants) in wider {
                let name = &workload.name;
                let on = output::format_count(variants, "machine", "machines");
                output::print_error(&format!(
                    "{name}: addr_bits is {needed} instead of {given} on {on}: the width of the addresses in the trace"
                ));
            }
        }
        Ok(jobs)
    }

    /// Returns the values of a run's parameters, for the cells of the table.
    pub fn values(&self, (w, v): Id) -> impl Iterator<Item = Value> {
        [Value::from(self.workloads[w].name.as_str())].into_iter().chain(self.variants[v].values.iter().cloned())
    }

    /// Returns the baseline of a run. The speedup of the run is the cycles of the baseline divided by its own
    /// cycles.
    pub fn baseline(&self, (w, v): Id) -> Id {
        (w, self.variants[v].baseline)
    }
}

/// Checks the configurations of all variants and completes them with the values of all fields. This takes
/// long for many variants, so progress is shown on a terminal and in the logs of batch jobs.
fn resolve(variants: &[Variant]) -> Vec<Result<ResolvedMachine, ConfigError>> {
    let machines = output::noun(variants.len(), "machine", "machines");
    let bar =
        progress_line(false, Some(variants.len() as u64), &format!("checked {{pos}} of {{len}} {machines}{{left}}"));
    let (told, all) = (bar.clone(), output::format_count(variants.len() as u64, "machine", "machines"));
    let _heartbeat = Heartbeat::off_terminal(false, move || format!("checked {} of {all}", told.position()));
    let resolve = |variant: &Variant| {
        let resolved = ResolvedMachine::new(&variant.request);
        bar.inc(1);
        resolved
    };
    let resolved = variants.par_iter().map(resolve).collect();
    bar.finish_and_clear();
    resolved
}

/// Returns the configuration of a variant, with the number of address bits that a trace needs. `wider` counts
/// the variants whose address width had to be increased.
fn widen_addresses(
    recording: &Trace,
    variant: &Variant,
    resolved: &Arc<ResolvedMachine>,
    wider: &mut BTreeMap<(u32, u32), u64>,
) -> Result<Arc<ResolvedMachine>, Report> {
    let (given, needed) = (resolved.config.addr_bits, recording.address_bits());
    if needed <= given {
        return Ok(Arc::clone(resolved));
    }
    *wider.entry((given, needed)).or_default() += 1;
    Ok(Arc::new(ResolvedMachine::new(&run::widen_addresses(variant.request.clone(), needed))?))
}

/// Returns the columns of the table that show parameters. A configuration key that several parameters set has
/// only one column.
fn columns(parameters: &[Parameter]) -> Vec<Column> {
    let mut columns = vec![Column { name: "launch".to_owned(), group: 0 }];
    for (at, parameter) in parameters.iter().enumerate() {
        let keys = parameter.choices.iter().flat_map(|choice| choice.sets.iter().map(|set| set.key.clone()));
        for name in [parameter.name.clone()].into_iter().chain(keys) {
            if columns.iter().all(|column| column.name != name) {
                columns.push(Column { name, group: at + 1 });
            }
        }
    }
    columns
}

/// Returns every combination of choices for the parameters. The choice for the last parameter varies fastest.
fn variants(parameters: &[Parameter]) -> Vec<Variant> {
    let columns = columns(parameters);
    let all: usize = parameters.iter().map(|parameter| parameter.choices.len()).product();
    let numbers = |mut number: usize| {
        let mut chosen: Vec<usize> = parameters
            .iter()
            .rev()
            .map(|parameter| {
                let choice = number % parameter.choices.len();
                number /= parameter.choices.len();
                choice
            })
            .collect();
        chosen.reverse();
        chosen
    };
    let variant = |number| {
        let chosen = numbers(number);
        let with = || parameters.iter().zip(&chosen).map(|(parameter, &at)| (parameter, &parameter.choices[at]));
        let baseline = with().zip(&chosen).fold(0, |number, ((parameter, _), &at)| {
            number * parameter.choices.len() + parameter.baseline.unwrap_or(at)
        });
        let sets = || with().flat_map(|(_, choice)| &choice.sets);
        let value = |column: &Column| {
            let own = with().find(|(parameter, _)| parameter.name == column.name).map(|(_, choice)| &choice.value);
            let set = || sets().find(|set| set.key == column.name).map(|set| &set.value);
            own.or_else(set).cloned().unwrap_or_default()
        };
        let request = Request {
            machine: with().find_map(|(_, choice)| choice.machine.clone()).unwrap_or_default(),
            designs: with().flat_map(|(_, choice)| choice.designs.clone()).collect(),
            sets: sets().map(|set| set.text.clone()).collect(),
        };
        Variant {
            label: label(with()),
            values: columns.iter().skip(1).map(value).collect(),
            baseline,
            request,
            resolved: None,
        }
    };
    (0..all).map(variant).collect()
}

/// Returns the label of a combination of choices: the machine if there are several, the designs, and all
/// settings. A setting is named even if the sweep has only one value for it, since it changes the machine.
fn label<'a>(chosen: impl Iterator<Item = (&'a Parameter, &'a Choice)>) -> String {
    let part = |(at, (parameter, choice)): (usize, (&Parameter, &Choice))| {
        let value = text_of(&choice.value);
        match at {
            0 if parameter.choices.len() < 2 => None,
            0 | 1 => Some(value),
            _ => Some(format!("{}={value}", parameter.name)),
        }
    };
    chosen.enumerate().filter_map(part).collect::<Vec<_>>().join(" ")
}

/// Returns the reason why a run was rejected, as a single line if possible.
pub fn why(error: &RunError) -> String {
    match error {
        RunError::Launch(error) => error.lines().join("\n"),
        other => other.to_string(),
    }
}
