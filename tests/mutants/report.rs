//! Saves the result of each mutant when it is known, and prints all results at the end.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::judge::Outcome;
use crate::scan::Site;

/// Contents of one line of `results.jsonl`, which is the result of one mutant.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    key: String,
    mutant: String,
    outcome: Outcome,
    seconds: f64,
}

/// Results of the mutants tested so far, by the keys of the mutants.
#[derive(Debug)]
pub struct Results {
    path: PathBuf,
    known: Mutex<BTreeMap<String, Outcome>>,
}

impl Results {
    /// Opens the results file. If `resume` is true, reads the results of earlier runs; otherwise deletes the
    /// file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or removed.
    pub fn open(path: &Path, resume: bool) -> Result<Self, String> {
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        let mut known = BTreeMap::new();
        if path.exists() && resume {
            let text = fs::read_to_string(path).map_err(failed)?;
            // If an earlier run was killed, its last line is incomplete and is ignored.
            let entries = text.lines().filter_map(|line| serde_json::from_str::<Entry>(line).ok());
            known.extend(entries.map(|entry| (entry.key, entry.outcome)));
        } else if path.exists() {
            fs::remove_file(path).map_err(failed)?;
        }
        Ok(Self { path: path.to_owned(), known: Mutex::new(known) })
    }

    pub fn of(&self, site: &Site) -> Option<Outcome> {
        self.known.lock().expect("no thread panics here").get(&site.key()).cloned()
    }

    /// Saves the result of a mutant.
    ///
    /// # Errors
    /// Returns an error if the result cannot be written.
    pub fn keep(&self, site: &Site, outcome: &Outcome, seconds: f64) -> Result<(), String> {
        let entry = Entry { key: site.key(), mutant: site.line(), outcome: outcome.clone(), seconds };
        let failed = |e: std::io::Error| format!("{}: {e}", self.path.display());
        let line = serde_json::to_string(&entry).map_err(|e| failed(e.into()))?;
        let mut known = self.known.lock().expect("no thread panics here");
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path).map_err(failed)?;
        file.write_all(format!("{line}\n").as_bytes()).map_err(failed)?;
        known.insert(entry.key, entry.outcome);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    mutants: usize,
    caught: usize,
    timed_out: usize,
    survived: usize,
    not_reached: usize,
}

impl Row {
    fn add(&mut self, outcome: &Outcome) {
        let column = match outcome {
            Outcome::Caught { .. } => &mut self.caught,
            Outcome::TimedOut { .. } => &mut self.timed_out,
            Outcome::Survived { .. } => &mut self.survived,
            Outcome::NotReached => &mut self.not_reached,
            Outcome::NotBuilt => return,
        };
        *column += 1;
        self.mutants += 1;
    }

    fn line(&self, folder: &str) -> String {
        let Self { mutants, caught, timed_out, survived, not_reached } = self;
        let score = 100.0 * (caught + timed_out) as f64 / (*mutants).max(1) as f64;
        format!("| {folder} | {mutants} | {caught} | {timed_out} | {survived} | {not_reached} | {score:.1} % |\n")
    }
}

/// Returns the name of the row to which a file belongs in the results table. It is `rtl/l1` for all files in
/// that folder, and `rtl` for files directly in `rtl`.
fn folder(file: &str) -> String {
    let parts: Vec<_> = file.split('/').collect();
    match parts[..] {
        [package, folder, _, ..] => format!("{package}/{folder}"),
        [package, ..] => package.to_owned(),
        [] => String::new(),
    }
}

/// Returns the table of results by folder, followed by a list of all surviving mutants.
pub fn summary(judged: &[(&Site, Outcome)], equivalent: usize) -> String {
    let (mut rows, mut all) = (BTreeMap::<String, Row>::new(), Row::default());
    for (site, outcome) in judged {
        rows.entry(folder(&site.file)).or_default().add(outcome);
        all.add(outcome);
    }
    let mut text = "| folder | mutants | caught | timed out | survived | not reached | score |\n".to_owned();
    text.push_str("|---|---|---|---|---|---|---|\n");
    rows.iter().for_each(|(folder, row)| text.push_str(&row.line(folder)));
    text.push_str(&all.line("all"));
    let _ = writeln!(text, "\n{equivalent} known as equivalent are not among those drawn from.");
    let mut survivors: Vec<_> = judged.iter().filter_map(survivor).collect();
    survivors.sort();
    if !survivors.is_empty() {
        let _ = writeln!(text, "\nSurvivors:");
    }
    survivors.into_iter().for_each(|(_, line)| text.push_str(&line));
    text
}

/// If a mutant survived, returns its sort key and its line in the list of survivors.
fn survivor((site, outcome): &(&Site, Outcome)) -> Option<((String, usize, usize), String)> {
    let note = match outcome {
        Outcome::Survived { ran, of } if ran < of => format!("{ran} of {of} tests that come past it were run"),
        Outcome::Survived { of, .. } => format!("{of} tests come past it"),
        Outcome::NotReached => "not reached".to_owned(),
        _ => return None,
    };
    let place = (site.file.clone(), site.mutant.line, site.mutant.column);
    Some((place, format!("{} ({note})\n", site.line())))
}

#[cfg(test)]
mod tests;
