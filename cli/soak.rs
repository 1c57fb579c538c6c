//! `warpsieve soak`: runs a soak test (long random test) until it reaches a limit or a case fails.

pub mod inputs;
pub mod progress_file;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, Report, WrapErr, miette};

use super::args::SoakArguments;
use super::output::{self, columns, format_count, format_thousands};
use super::{Exit, interrupt};
use ::soak::coverage::collect;
use ::soak::{CaseStart, FailedCase, Limits, ShrunkCase, Soak, Tally};
use papers::progress::progress_line;
use progress_file::{ProgressFile, Seeds, SoakProgress};
use warpsieve::config::suggestion;
use warpsieve::kernels::kernels_folder;

/// Time limit for reducing a failing case to a smaller one that still fails.
const SHRINK: Duration = Duration::from_secs(120);

pub(super) fn soak(arguments: &SoakArguments, hardware: fn() -> Vec<Soak>) -> Result<Exit, Report> {
    let soaks = || with_readers(hardware());
    let SoakArguments { name, list, replay, totals, .. } = arguments;
    if !totals.is_empty() {
        output::print(&table(totals)?)?;
        return Ok(Exit::Done);
    }
    if *list {
        let rows: Vec<_> = soaks().iter().map(|soak| vec![soak.name.to_owned(), soak.about.to_owned()]).collect();
        output::print(&columns(&["NAME", "WHAT IS VARIED AND CHECKED"], &rows))?;
        return Ok(Exit::Done);
    }
    let named = name.as_deref().map(|name| find(name, soaks())).transpose()?;
    match named {
        Some(soak) if replay.is_empty() => run(&soak, arguments, &soaks),
        named => again(named.as_ref(), replay, &soaks),
    }
}

/// Adds the soak tests of all file readers: those of the library, and those of this command.
fn with_readers(mut soaks: Vec<Soak>) -> Vec<Soak> {
    soaks.extend(::soak::inputs().iter().chain(inputs::inputs()).map(Soak::of_input));
    soaks
}

fn find(name: &str, mut soaks: Vec<Soak>) -> Result<Soak, Report> {
    let names: Vec<_> = soaks.iter().map(|soak| soak.name).collect();
    let at = names.iter().position(|&other| other == name);
    let at =
        at.ok_or_else(|| miette!(help = suggestion(name, "soak tests", &names), "there is no soak test `{name}`"))?;
    Ok(soaks.swap_remove(at))
}

/// State of a running soak test.
#[derive(Default)]
struct State {
    keeper: Option<ProgressFile>,
    tally: Tally,
}

fn run(soak: &Soak, arguments: &SoakArguments, soaks: &dyn Fn() -> Vec<Soak>) -> Result<Exit, Report> {
    let SoakArguments { count, seconds, seed, keep, found, coverage, .. } = arguments;
    let crosses = coverage.then(|| soak.crosses());
    if crosses.as_ref().is_some_and(Vec::is_empty) {
        return Err(cannot_tell(soak, soaks()));
    }
    let kernels = kernels_folder()?;
    let keeper = keep.as_deref().map(|path| ProgressFile::open(path, soak.name)).transpose()?;
    let known = keeper.as_ref().map(|keeper| keeper.passed_cases().seeds()).unwrap_or_default();
    let mut limits = Limits { count: *count, time: seconds.map(Duration::from_secs) };
    if keeper.is_some() && limits == Limits::default() {
        limits.count = Some(u64::MAX);
    }
    let is_kept = keeper.is_some();
    let state = Mutex::new(State { keeper, tally: Tally::default() });
    let started = Instant::now();
    let bar = progress_line(false, None, "{msg} [{elapsed}]");
    let from = if is_kept { String::new() } else { format!(", from seed {seed}") };
    let ended = interrupt::run_interruptible(
        || {
            let mut unkept = None;
            let mut begin = |begun: CaseStart| {
                let CaseStart { seed, tally } = begun;
                bar.set_message(format!("{}, now seed {seed}", format_tally(soak, &tally)));
                bar.tick();
                let mut state = held(&state);
                state.tally = tally;
                if let Some(Err(report)) = state.keeper.as_mut().map(|keeper| keeper.begins(seed, tally)) {
                    unkept.get_or_insert(report);
                }
            };
            let mut soaked = || soak.run(&kernels, known.others_from(*seed), limits, &mut begin);
            let (ended, met) = match crosses {
                Some(crosses) => {
                    let (ended, met) = collect(crosses, soaked);
                    (ended, Some(met))
                }
                None => (soaked(), None),
            };
            (ended, unkept, met)
        },
        || {
            bar.finish_and_clear();
            let mut state = held(&state);
            if let Some(Err(report)) = state.keeper.as_mut().map(ProgressFile::write) {
                output::print_report(&report);
            }
            output::print_error(&format!("interrupted: {}{from}: all passed", format_tally(soak, &state.tally)));
        },
    );
    bar.finish_and_clear();
    let (ended, unkept, met) = ended?;
    let mut state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(keeper) = &mut state.keeper {
        if let Ok(tally) = &ended {
            keeper.passes(*tally);
        }
        keeper.write()?;
    }
    if let Some(report) = unkept {
        return Err(report);
    }
    let exit = match ended {
        Ok(tally) => {
            let seconds = started.elapsed().as_secs_f64();
            let rate = format_thousands((tally.runs as f64 / seconds.max(1e-3)) as u64);
            let what = format_tally(soak, &tally);
            output::print(&format!("{what}{from}, in {seconds:.0} s, {rate} runs/s: all passed\n"))?;
            if let Some(keeper) = &state.keeper {
                output::print(&format!("recorded: {}\n", all(soak, keeper.passed_cases())))?;
            }
            Exit::Done
        }
        Err(failed) => {
            fails(soak, &failed, found)?;
            Exit::CheckFailed
        }
    };
    if let Some(met) = met {
        output::print(&met.table())?;
    }
    Ok(exit)
}

fn cannot_tell(soak: &Soak, soaks: Vec<Soak>) -> Report {
    let tell = soaks.into_iter().filter(|soak| !soak.crosses().is_empty());
    let tell: Vec<_> = tell.map(|soak| format!("`{}`", soak.name)).collect();
    miette!("soak test `{}` has no coverage, expected one of {}", soak.name, tell.join(", "))
}

fn held(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reports a failing case, reduces it, and saves the reduced case.
fn fails(soak: &Soak, failed: &FailedCase, folder: &Path) -> Result<(), Report> {
    let FailedCase { seed, reproduce, tally, wrong, .. } = failed;
    let passed = format_tally(soak, tally);
    output::print_error(&format!("{passed} passed; seed {seed} failed: {wrong}\nTo reproduce:\n{reproduce}"));
    let bar = progress_line(false, None, "reducing the case [{elapsed}]");
    let found = failed.shrunk(SHRINK);
    bar.finish_and_clear();
    let Some(found) = found else {
        output::print_error("The case alone does not fail again in this way, so it cannot be reduced.");
        return Ok(());
    };
    let written = fs::create_dir_all(folder).and_then(|()| found.write(folder, soak.name, *seed));
    let path = written
        .into_diagnostic()
        .wrap_err_with(|| format!("{}: the case cannot be saved in this folder", folder.display()))?;
    let path = path.display();
    output::print_error(&format!(
        "It still fails with {}, saved in {path}:\nwarpsieve soak --replay {path}",
        found.shrunk
    ));
    Ok(())
}

/// Reruns cases that were saved when they failed.
fn again(soak: Option<&Soak>, files: &[PathBuf], soaks: &dyn Fn() -> Vec<Soak>) -> Result<Exit, Report> {
    let kernels = kernels_folder()?;
    let mut exit = Exit::Done;
    for path in files {
        let shown = path.display();
        let of_file = || {
            let name = ShrunkCase::soak_of(path).ok_or_else(|| {
                miette!(
                    "{shown}: the name has no soak test, expected one such as ptx-17.ptx, or the test before `--replay`"
                )
            })?;
            find(name, soaks())
        };
        let mine;
        let soak = match soak {
            Some(soak) => soak,
            None => {
                mine = of_file()?;
                &mine
            }
        };
        if !path.is_file() {
            return Err(miette!("{shown}: is not a file"));
        }
        match soak.replay(&kernels, path) {
            Ok(()) => output::print(&format!("{shown}: passed\n"))?,
            Err(wrong) => {
                output::print_error(&format!("{shown}: failed: {wrong}"));
                exit = Exit::CheckFailed;
            }
        }
    }
    Ok(exit)
}

/// Returns a table of the passed cases that progress files (`--keep`) record, one row per soak test.
fn table(files: &[PathBuf]) -> Result<String, Report> {
    let mut soaks: BTreeMap<String, (Tally, Seeds, usize)> = BTreeMap::new();
    for path in files {
        let passed = SoakProgress::read(path)?;
        let (tally, seeds, builds) = soaks.entry(passed.soak.clone()).or_default();
        seeds.add_all(&passed.seeds());
        *tally = tally.plus(sum(&passed));
        *builds += passed.builds.len();
    }
    let row = |soak: &str, tally: Tally, builds: usize, seeds: String| {
        let Tally { cases, runs, cycles, warp_instructions } = tally;
        let numbers = [cases, runs, cycles, warp_instructions, builds as u64].map(format_thousands);
        [vec![soak.to_owned()], numbers.to_vec(), vec![seeds]].concat()
    };
    let mut rows: Vec<_> =
        soaks.iter().map(|(soak, (tally, seeds, builds))| row(soak, *tally, *builds, seeds.to_string())).collect();
    let tally = soaks.values().fold(Tally::default(), |all, (tally, ..)| all.plus(*tally));
    let builds = soaks.values().map(|(_, _, builds)| builds).sum();
    rows.push(row("all", tally, builds, String::new()));
    Ok(columns(&["SOAK", "CASES", "RUNS", "CYCLES", "WARP INSTRUCTIONS", "BUILDS", "SEEDS"], &rows))
}

fn sum(passed: &SoakProgress) -> Tally {
    passed.builds.iter().fold(Tally::default(), |all, build| all.plus(build.tally()))
}

/// Formats the total work that all builds of the program have done for a soak test, and the seeds that
/// passed.
fn all(soak: &Soak, passed: &SoakProgress) -> String {
    format!("{}, seeds {}", format_tally(soak, &sum(passed)), passed.seeds())
}

/// Formats the amount of work done. Soak tests of file readers have no simulated cycles, and soak tests of
/// single components have no instructions.
fn format_tally(soak: &Soak, tally: &Tally) -> String {
    let Tally { cases, runs, cycles, warp_instructions } = *tally;
    let (cases, runs) = (format_count(cases, "case", "cases"), format_count(runs, "run", "runs"));
    let mut text = format!("soak {}: {cases}, {runs}", soak.name);
    if cycles > 0 {
        text.push_str(&format!(", {}", format_count(cycles, "cycle", "cycles")));
    }
    if warp_instructions > 0 {
        text.push_str(&format!(", {}", format_count(warp_instructions, "warp instruction", "warp instructions")));
    }
    text
}
