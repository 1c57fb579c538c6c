//! `warpsieve explain`: shows what changed between two runs of the same kernels, and why.

pub(super) mod changes;
pub(super) mod side;
pub(super) mod sources;
pub(super) mod text;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use miette::{IntoDiagnostic, Report, miette};
use papers::measured::RunMeasurement;

use super::args::{ExplainArguments, Format};
use super::files::Files;
use super::sweep::plan::{Column, Plan, Variant, Workload, kind};
use super::sweep::runs::{self, PreparedJobs, SweepOptions};
use super::{Exit, output};
use changes::Changes;
use side::Side;
use sources::Sources;
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::content::Content;

/// Number of bytes at the start of a file that are searched to recognize a statistics file.
const HEAD: u64 = 4096;

pub(super) fn explain(arguments: &ExplainArguments) -> Result<Exit, Report> {
    let ExplainArguments { first, second, against, ptx, least, format, .. } = arguments;
    let (sides, sources) = match second {
        Some(second) => ([Side::read(first)?, Side::read(second)?], Sources::of_file(ptx.as_deref())?),
        None if against.is_empty() => return Err(lacks_side(first)),
        None => {
            let sources = Sources::of_launch(&warpsieve::run::open(first, None)?);
            match run(first, arguments)? {
                Ok(sides) => (sides, sources),
                Err(exit) => return Ok(exit),
            }
        }
    };
    let [a, b] = &sides;
    a.is_comparable(b)?;
    let changes = Changes::of(a, b, &sources, *least / 100.0);
    output::print(&match format {
        Format::Table => text::text(&changes),
        Format::Json => serde_json::to_string_pretty(&changes).into_diagnostic()? + "\n",
    })?;
    Ok(Exit::Done)
}

/// Returns the error for a command line that names only one run. If the argument is a statistics file, the
/// error asks for a second file. If the argument is a launch file, the error asks for a second machine.
fn lacks_side(first: &Path) -> Report {
    let mut head = Vec::new();
    // A file that cannot be read is treated as a launch file, the usual first argument.
    let _ = File::open(first).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let given = first.display();
    match Content::of(&head) {
        Some(Content::Statistics | Content::Json) => {
            miette!("{given} is one run, expected a second statistics file: `warpsieve explain {given} B.json`")
        }
        _ => miette!(
            "{given} is only run B, expected `--against` with the design or settings of A: `--against baseline`"
        ),
    }
}

/// Runs a launch file on both machines, or takes the results from the cache. If a run fails, returns its exit
/// status instead of the results.
fn run(launch: &Path, arguments: &ExplainArguments) -> Result<Result<[Side; 2], Exit>, Report> {
    let ExplainArguments { machine, against, jobs, cache, quiet, .. } = arguments;
    let request = machine.request();
    let mut files = Files::default();
    let mut variants = Vec::new();
    for request in [reference_request(&request, against), request] {
        let resolved = Arc::new(ResolvedMachine::new(&request)?);
        files.reads_machine(&resolved);
        let label = label(&resolved, &request);
        variants.push(Variant { label, values: Vec::new(), baseline: 0, request, resolved: Some(resolved) });
    }
    let hash = |variant: &Variant| variant.resolved.as_ref().map(|resolved| resolved.hash());
    if hash(&variants[0]) == hash(&variants[1]) {
        let label = &variants[1].label;
        return Err(miette!(
            "both runs are on {label}, expected two machines: `--set` holds for both unless `--against` sets its key"
        ));
    }
    let plan = Plan {
        columns: vec![Column { name: "launch".to_owned(), group: 0 }],
        workloads: vec![Workload::launch(&launch.display().to_string(), launch, &mut files)?],
        variants,
        kind: kind(false, None),
    };
    let runner = [runs::runner(cache.as_deref(), *jobs, *quiet)?];
    let PreparedJobs { jobs, done, refused } = runs::prepare(&runner, plan.jobs()?);
    runs::report_skipped(&refused, false)?;
    let how = SweepOptions { check: false, max_cycles: None, is_quiet: *quiet };
    let exit = runs::run(&runner[0], &jobs, done, &how, &|_, _| Ok(()))?.judge(&jobs);
    if exit != Exit::Done {
        return Ok(Err(exit));
    }
    let side = |number: usize| {
        let job = &jobs[number];
        let kept: Option<RunMeasurement> = runner[0].read_stored(&job.key);
        let measured = kept.ok_or_else(|| miette!("{}: its cached result no longer exists", job.name))?;
        Side::of(&job.name, &job.what.resolved, &measured)
    };
    Ok(Ok([side(0)?, side(1)?]))
}

/// Returns the machine, designs and settings of the reference run: those of `request`, except where `against`
/// gives others.
fn reference_request(request: &Request, against: &[String]) -> Request {
    let key = |set: &str| set.split('=').next().unwrap_or("").trim().to_owned();
    let (sets, designs): (Vec<_>, Vec<_>) = against.iter().cloned().partition(|text| text.contains('='));
    let mut other = request.clone();
    other.sets.retain(|own| sets.iter().all(|set| key(set) != key(own)));
    other.sets.extend(sets);
    if !designs.is_empty() {
        other.designs = designs;
    }
    other
}

fn label(resolved: &ResolvedMachine, request: &Request) -> String {
    let designs = resolved.designs.iter().map(|design| format!("+ {design}"));
    [resolved.machine.name.clone()].into_iter().chain(designs).chain(request.sets.clone()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn designs_are_replaced_and_settings_laid_over() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let request = |designs: &[&str], sets: &[&str]| Request {
            machine: "fermi".to_owned(),
            designs: texts(designs),
            sets: texts(sets),
        };
        let own = request(&["pric"], &["l1.ways=8", "l1.sets=64"]);
        assert_eq!(
            reference_request(&own, &texts(&["baseline"])),
            request(&["baseline"], &["l1.ways=8", "l1.sets=64"])
        );
        assert_eq!(reference_request(&own, &texts(&["l1.ways=4"])), request(&["pric"], &["l1.sets=64", "l1.ways=4"]));
    }
}
