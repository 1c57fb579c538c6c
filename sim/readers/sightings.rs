//! # Sightings: the events of a line, an instruction or a warp, from a waveform dump
//! Ports, queue heads and issue stages have a signal with the line, program counter or warp that they
//! currently handle (`line`, `head_line`, `issue_pc`). A second signal tells whether it is valid (`valid`,
//! `head_valid`, `issue_valid`). A sighting is an interval in which a port, queue head or issue stage handles
//! the line, instruction or warp for which the user searches. It also contains the values of other signals at
//! the same place.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use super::readback::{Readback, Unreadable};

/// Names of further signals that a port, queue head or issue stage may have, in the order of display.
const BESIDES: [&str; 8] = ["kind", "sm", "warp", "pc", "line", "partition", "id", "beat"];
/// Signal at the tags of an L1 that shows the outcome of the access at the tags. The signal is read at the
/// clock edge at which the access leaves them.
const OUTCOME: &str = "status";
/// Prefix in the names of the signals at the tags of an L1. The outcome of an access is displayed only
/// with these signals.
const AT_TAGS: &str = "head_";

/// Line, instruction or warp that the search is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Cache line, given by its address divided by the line size.
    Line(u64),
    /// Instruction, given by its program counter.
    Pc(u64),
    /// Warp, given by its slot number in the SM.
    Warp(u64),
}

impl Subject {
    /// Last word of the signal names to search: `line` for cache lines, `pc` for program counters, `warp` for
    /// warps.
    fn word(self) -> &'static str {
        match self {
            Subject::Line(_) => "line",
            Subject::Pc(_) => "pc",
            Subject::Warp(_) => "warp",
        }
    }

    fn number(self) -> u64 {
        let (Subject::Line(number) | Subject::Pc(number) | Subject::Warp(number)) = self;
        number
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.word(), format_number(self.word(), self.number()))
    }
}

/// Formats a line, program counter or warp. Lines are in hexadecimal, as in waveform viewers.
fn format_number(word: &str, number: u64) -> String {
    if word == "line" { format!("{number:#x}") } else { number.to_string() }
}

/// Interval in which one port, queue head or issue stage handles the line, instruction or warp that was
/// searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Path of the port, queue head or issue stage, without the name of the machine.
    pub path: String,
    /// Start of the interval in ps.
    pub from: u64,
    /// End of the interval in ps; `None` if the interval had not ended when the dump ended.
    pub to: Option<u64>,
    /// Values of other signals at the same port, queue head or issue stage, by name, such as `kind LOAD`.
    pub besides: Vec<(&'static str, String)>,
}

/// Reason why no sighting is returned.
#[derive(Debug, thiserror::Error)]
pub enum SightingError {
    /// The file is not a readable dump.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// No signal in the dump carries what was searched for: a line, a program counter or a warp.
    #[error("{}: no port names its {word}, expected ports such as `{example}`", path.display())]
    NoPlaces {
        /// Path of the dump.
        path: PathBuf,
        /// Kind of the search: for a `line`, a `pc` or a `warp`.
        word: &'static str,
        /// Example of a signal name that the search expects.
        example: &'static str,
    },
    /// The line, program counter or warp that was searched for never appears.
    #[error("{}: {subject}{} never appears, expected one from {} to {}", path.display(), of_sm(*sm), range.0, range.1)]
    Unseen {
        /// Path of the dump.
        path: PathBuf,
        /// Line, program counter or warp that was searched for.
        subject: Subject,
        /// SM to which the search was restricted.
        sm: Option<u64>,
        /// Lowest and highest line, program counter or warp that appears.
        range: (String, String),
    },
    /// No signal ever shows a valid value of the kind searched for: a line, a program counter or a warp.
    #[error("{}: no {word}{} ever appears", path.display(), of_sm(*sm))]
    Nothing {
        /// Path of the dump.
        path: PathBuf,
        /// Kind of the search: for a `line`, a `pc` or a `warp`.
        word: &'static str,
        /// SM to which the search was restricted.
        sm: Option<u64>,
    },
}

fn of_sm(sm: Option<u64>) -> String {
    sm.map_or_else(String::new, |sm| format!(" of SM {sm}"))
}

/// Port, queue head or issue stage whose signals show a line, program counter or warp. A signal is given by
/// its index in the dump's list of signals.
struct Place {
    path: String,
    subject: usize,
    valid: usize,
    besides: Vec<(&'static str, usize)>,
    outcome: Option<usize>,
    /// SM that contains the port, queue head or issue stage; `None` if it is outside the SMs.
    sm: Option<u64>,
}

/// Returns all sightings in a dump, in order of time. `sm` restricts the search to one SM.
///
/// # Errors
/// Fails if the dump cannot be read or there is no sighting.
pub fn sightings(mut dump: Readback, subject: Subject, sm: Option<u64>) -> Result<Vec<Sighting>, SightingError> {
    let path = dump.path().to_owned();
    let word = subject.word();
    let places = places(&dump.paths, word);
    if places.is_empty() {
        let example =
            if word == "pc" { "machine.sm0.core.scheduler0.issue_pc" } else { "machine.sm0.l1.core_req.valid" };
        return Err(SightingError::NoPlaces { path, word, example });
    }
    let signals = |place: &Place| {
        let besides = place.besides.iter().map(|&(_, at)| at);
        [place.subject, place.valid].into_iter().chain(besides).chain(place.outcome).collect::<Vec<_>>()
    };
    dump.load(places.iter().flat_map(signals).collect::<BTreeSet<usize>>())?;
    let mut found = Vec::new();
    let mut range: Option<(u64, u64)> = None;
    for place in &places {
        for (number, asker, sighting) in stays(&dump, place) {
            if sm.is_some_and(|sm| asker != Some(sm)) {
                continue;
            }
            range = Some(range.map_or((number, number), |(low, high)| (low.min(number), high.max(number))));
            if number == subject.number() {
                found.push(sighting);
            }
        }
    }
    found.sort_by(|a, b| (a.from, a.to, &a.path).cmp(&(b.from, b.to, &b.path)));
    match range {
        _ if !found.is_empty() => Ok(found),
        Some((low, high)) => {
            let range = (format_number(word, low), format_number(word, high));
            Err(SightingError::Unseen { path, subject, sm, range })
        }
        None => Err(SightingError::Nothing { path, word, sm }),
    }
}

/// Finds all ports, queue heads and issue stages with a signal whose name ends in `word`. `paths` holds the
/// paths of all signals.
fn places(paths: &[String], word: &str) -> Vec<Place> {
    let by_path: std::collections::HashMap<&str, usize> =
        paths.iter().enumerate().map(|(at, path)| (path.as_str(), at)).collect();
    let place = |(subject, path): (usize, &String)| {
        let (scope, name) = path.rsplit_once('.')?;
        let prefix = name.strip_suffix(word).filter(|prefix| prefix.is_empty() || prefix.ends_with('_'))?;
        let find = |name: &str| by_path.get(format!("{scope}.{name}").as_str()).copied();
        let valid = find(&format!("{prefix}valid"))?;
        let besides = BESIDES.into_iter().filter(|other| *other != word);
        let besides = besides.filter_map(|other| Some((other, find(&format!("{prefix}{other}"))?))).collect();
        let short = scope.split_once('.').map_or(scope, |(_, below)| below);
        let sm = short.split('.').next().and_then(|first| first.strip_prefix("sm")).and_then(|sm| sm.parse().ok());
        let outcome = find(OUTCOME).filter(|_| prefix == AT_TAGS);
        Some(Place { path: short.to_owned(), subject, valid, besides, outcome, sm })
    };
    paths.iter().enumerate().filter_map(place).collect()
}

/// Returns all intervals in which a port, queue head or issue stage handles any line, program counter or
/// warp. Each interval has its start, the number of the line, program counter or warp, the SM if known, and
/// the values of further signals.
fn stays(dump: &Readback, place: &Place) -> Vec<(u64, Option<u64>, Sighting)> {
    let besides = place.besides.iter().map(|&(_, at)| at);
    let signals: Vec<usize> = [place.subject, place.valid].into_iter().chain(besides).collect();
    let moments: BTreeSet<u64> = signals.iter().flat_map(|&at| dump.changes(at)).map(|(time, _)| *time).collect();
    let mut stays: Vec<(u64, Option<u64>, Sighting)> = Vec::new();
    let mut here: Option<Vec<Option<u64>>> = None;
    for time in moments {
        let is_valid = dump.value(place.valid, time).is_some_and(|valid| valid != 0);
        let now: Option<Vec<Option<u64>>> = is_valid.then(|| signals.iter().map(|&at| dump.value(at, time)).collect());
        if now == here {
            continue;
        }
        if let (Some(_), Some((_, _, sighting))) = (&here, stays.last_mut()) {
            sighting.to = Some(time);
            let outcome = place.outcome.and_then(|at| Some((at, dump.value(at, time)?)));
            sighting.besides.extend(outcome.map(|(at, code)| (OUTCOME, text(dump, OUTCOME, at, code))));
        }
        // A new interval begins if the place holds something whose number is known: the number of the line,
        // the program counter or the number of the warp.
        here = now.filter(|values| values[0].is_some());
        if let Some(values) = &here {
            let said = place.besides.iter().zip(&values[2..]);
            let sm = said.clone().find_map(|((name, _), value)| value.filter(|_| *name == "sm"));
            let said = said.filter_map(|(&(name, at), value)| Some((name, text(dump, name, at, (*value)?))));
            let sighting = Sighting { path: place.path.clone(), from: time, to: None, besides: said.collect() };
            stays.push((values[0].unwrap_or_default(), sm.or(place.sm), sighting));
        }
    }
    stays
}

fn text(dump: &Readback, name: &str, at: usize, value: u64) -> String {
    dump.state(at, value).map_or_else(|| format_number(name, value), str::to_owned)
}
