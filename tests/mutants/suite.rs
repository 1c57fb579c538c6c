//! Lists the tests, measures their durations, and records which mutants each test reaches (executes).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use crate::cargo::Binary;
use crate::process::{ProcessResult, Runner};
use crate::rules::Rules;

/// Maximum duration of a test without a mutant. A longer test counts as failed.
const LONGEST: Duration = Duration::from_secs(600);

/// Test, with the measurements from a run without a mutant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Test {
    /// Index of the test binary.
    pub binary: usize,
    pub name: String,
    pub seconds: f64,
    /// Numbers of the mutants whose code the test executes.
    pub reached: BTreeSet<u32>,
}

/// Calls a function for each item, on several threads. Starts no further calls after the first error.
///
/// # Errors
/// Returns an error if a call fails: the first such error.
pub fn for_each<T: Sync>(
    items: &[T],
    jobs: usize,
    run: impl Fn(usize, &T) -> Result<(), String> + Sync,
) -> Result<(), String> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    let work = |job| {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(e) = run(job, item) {
                failed.lock().expect("no thread panics here").get_or_insert(e);
                next.store(items.len(), Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| (0..jobs).for_each(|job| drop(scope.spawn(move || work(job)))));
    failed.into_inner().expect("no thread panics here").map_or(Ok(()), Err)
}

/// Returns the names of the tests in a binary. If `ignored` is true, returns only the tests marked as
/// ignored.
fn names(binary: &Binary, ignored: bool) -> Result<BTreeSet<String>, String> {
    let mut list = Command::new(&binary.path);
    list.args(["--list", "--format", "terse"]).args(ignored.then_some("--ignored")).current_dir(&binary.folder);
    let ended = list.output().map_err(|e| format!("{}: {e}", binary.path.display()))?;
    if !ended.status.success() {
        return Err(format!("{} does not list its tests: {}", binary.path.display(), ended.status));
    }
    let text = String::from_utf8_lossy(&ended.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// Returns all tests that are run for mutants, each with the index of its binary.
///
/// # Errors
/// Returns an error if a binary does not list its tests, or if an entry of `mutants.toml` skips no test.
pub fn list_tests(binaries: &[Binary], rules: &Rules) -> Result<Vec<(usize, String)>, String> {
    let mut tests = Vec::new();
    for (at, binary) in binaries.iter().enumerate() {
        let ignored = names(binary, true)?;
        tests.extend(names(binary, false)?.into_iter().filter(|name| !ignored.contains(name)).map(|name| (at, name)));
    }
    for skip in rules.skip.iter().filter(|skip| !skip.is_package()) {
        let before = tests.len();
        tests.retain(|(at, name)| !skip.matches(&binaries[*at], name));
        if tests.len() == before {
            return Err(format!("mutants.toml: skips nothing: {skip:?}"));
        }
    }
    Ok(tests)
}

/// Saved result of [`measure_all`]. It is valid as long as the test binaries are unchanged.
#[derive(Debug, Serialize, Deserialize)]
struct Baseline {
    binaries: Vec<(PathBuf, SystemTime)>,
    tests: Vec<Test>,
}

/// Returns all tests, with the mutants that each reaches. Reuses a saved result if no test binary was built
/// since.
///
/// # Errors
/// Returns an error if a test fails without a mutant, or if the results cannot be saved.
pub fn baseline(
    runner: &Runner<'_>,
    binaries: &[Binary],
    tests: &[(usize, String)],
    jobs: usize,
) -> Result<Vec<Test>, String> {
    let path = runner.folder.with_file_name("baseline.json");
    let built = |binary: &Binary| Some((binary.path.clone(), fs::metadata(&binary.path).ok()?.modified().ok()?));
    let binaries_now: Vec<_> = binaries.iter().filter_map(built).collect();
    let known = fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str::<Baseline>(&text).ok());
    if let Some(known) = known.filter(|known| known.binaries == binaries_now && known.tests.len() == tests.len()) {
        return Ok(known.tests);
    }
    let tests = measure_all(runner, binaries, tests, jobs)?;
    let baseline = Baseline { binaries: binaries_now, tests };
    let text = serde_json::to_string(&baseline).map_err(|e| format!("{}: {e}", path.display()))?;
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(baseline.tests)
}

/// Runs every test once without a mutant. Each test has its own process, so that mutants reached in its
/// threads and child processes are counted for this test only.
///
/// # Errors
/// Returns an error if a test fails.
fn measure_all(
    runner: &Runner<'_>,
    binaries: &[Binary],
    tests: &[(usize, String)],
    jobs: usize,
) -> Result<Vec<Test>, String> {
    let (done, red) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    for_each(tests, jobs, |job, (binary, name)| {
        let test = measure(runner, &binaries[*binary], *binary, name, job)?;
        let mut done = done.lock().expect("no thread panics here");
        match test {
            Some(test) => done.push(test),
            None => red.lock().expect("no thread panics here").push(format!("{}: {name}", binaries[*binary].name())),
        }
        if done.len() % 100 == 0 {
            eprintln!("  {} of {} tests without a mutant", done.len(), tests.len());
        }
        Ok(())
    })?;
    let red = red.into_inner().expect("no thread panics here");
    if !red.is_empty() {
        return Err(format!("tests fail without a mutant:\n  {}", red.join("\n  ")));
    }
    let mut done = done.into_inner().expect("no thread panics here");
    done.sort_by(|one, other| (one.binary, &one.name).cmp(&(other.binary, &other.name)));
    Ok(done)
}

/// Runs one test without a mutant and measures it. Returns `None` if the test fails twice.
fn measure(
    runner: &Runner<'_>,
    binary: &Binary,
    number: usize,
    name: &str,
    job: usize,
) -> Result<Option<Test>, String> {
    let (notes, log) = (runner.folder.join(format!("{job}.reached")), runner.folder.join(format!("{job}.log")));
    for _ in 0..2 {
        let _ = fs::remove_file(&notes);
        let start = Instant::now();
        let variable = ("MUTANT_REACHED", notes.to_str().ok_or("the folder's name is not UTF-8")?);
        if runner.run(binary, &[name], variable, LONGEST, &log)? == ProcessResult::Passed {
            let seconds = start.elapsed().as_secs_f64();
            return Ok(Some(Test { binary: number, name: name.to_owned(), seconds, reached: numbers(&notes) }));
        }
    }
    let kept = runner.folder.join(format!("{}.{}.log", binary.name(), name.replace("::", ".")));
    let _ = fs::rename(&log, &kept);
    eprintln!("  {name} fails without a mutant: {}", kept.display());
    Ok(None)
}

fn numbers(notes: &Path) -> BTreeSet<u32> {
    let text = fs::read_to_string(notes).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}
