//! Records the progress of a soak test (long random test) in a file: the seeds that each build has run, and
//! the work done. A later run of the soak test continues from the file.
//!
//! The whole file is replaced every few seconds. If a soak test is killed, the next run repeats the cases
//! since the last write.

use std::fmt;
use std::io::{ErrorKind, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use ::soak::Tally;
use miette::{IntoDiagnostic, Report, WrapErr, miette};
use papers::store::FINGERPRINT;
use serde::{Deserialize, Serialize, de};
use waves::atomic_file::AtomicFile;

/// Shortest interval between two writes of the file.
const WRITE_EVERY: Duration = Duration::from_secs(2);
const HEADING: &str = "# Written by `warpsieve soak --keep`: the seeds that have passed, by the build that ran them.\n";

/// Record of the cases of a soak test that have passed.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SoakProgress {
    /// Name of the soak test.
    pub soak: String,
    /// Work that each build of warpsieve has done, in the order in which the builds first ran the test.
    #[serde(rename = "build", default)]
    pub builds: Vec<Build>,
}

/// Work that one build of warpsieve has done for a soak test.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    version: String,
    /// Fingerprint (hash) of the sources from which the build was made.
    sources: String,
    /// Seeds whose cases have passed in this build.
    pub seeds: Seeds,
    cases: u64,
    runs: u64,
    cycles: u64,
    warp_instructions: u64,
}

/// Set of seeds, stored as sorted ranges with gaps between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seeds(Vec<RangeInclusive<u64>>);

impl Seeds {
    /// Adds a seed to the set.
    pub fn add(&mut self, seed: u64) {
        self.add_range(seed..=seed);
    }

    fn add_range(&mut self, range: RangeInclusive<u64>) {
        let (mut first, mut last) = range.into_inner();
        // Existing ranges that overlap or adjoin the new range are removed, and the new range is extended to
        // cover them.
        self.0.retain(|other| {
            let is_apart = other.start().checked_sub(1).is_some_and(|before| last < before)
                || other.end().checked_add(1).is_some_and(|behind| behind < first);
            if !is_apart {
                (first, last) = (first.min(*other.start()), last.max(*other.end()));
            }
            is_apart
        });
        let at = self.0.partition_point(|other| *other.end() < first);
        self.0.insert(at, first..=last);
    }

    /// Adds all seeds of another set to this set.
    pub fn add_all(&mut self, others: &Self) {
        others.0.iter().for_each(|range| self.add_range(range.clone()));
    }

    /// Returns the seeds from `first` on that are not in the set, in ascending order.
    pub fn others_from(&self, first: u64) -> impl Iterator<Item = u64> + use<> {
        let mut known = self.0.clone().into_iter().peekable();
        let mut next = Some(first);
        std::iter::from_fn(move || {
            while let Some(range) = known.peek()
                && let Some(seed) = next
                && seed >= *range.start()
            {
                if seed <= *range.end() {
                    next = range.end().checked_add(1);
                }
                known.next();
            }
            let seed = next?;
            next = seed.checked_add(1);
            Some(seed)
        })
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, range) in self.0.iter().enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            match range.start() == range.end() {
                true => write!(f, "{comma}{}", range.start())?,
                false => write!(f, "{comma}{}-{}", range.start(), range.end())?,
            }
        }
        Ok(())
    }
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut seeds = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = first.trim().parse().ok().zip(last.trim().parse().ok()).filter(|(first, last)| first <= last);
            let (first, last) =
                range.ok_or_else(|| format!("`{part}` is not a range of seeds, expected one such as `1-250`"))?;
            seeds.add_range(first..=last);
        }
        Ok(seeds)
    }
}

impl Serialize for Seeds {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Seeds {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

impl Build {
    fn this() -> Self {
        let (version, sources) = (env!("CARGO_PKG_VERSION").to_owned(), FINGERPRINT.to_owned());
        Self { version, sources, ..Self::default() }
    }

    /// Returns the amount of work done: cases, runs, cycles and warp instructions.
    pub fn tally(&self) -> Tally {
        let &Self { cases, runs, cycles, warp_instructions, .. } = self;
        Tally { cases, runs, cycles, warp_instructions }
    }

    fn count(&mut self, more: Tally) {
        let Tally { cases, runs, cycles, warp_instructions } = self.tally().plus(more);
        (self.cases, self.runs, self.cycles, self.warp_instructions) = (cases, runs, cycles, warp_instructions);
    }
}

impl SoakProgress {
    /// Reads a progress file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or was not written by `soak --keep`.
    pub fn read(path: &Path) -> Result<Self, Report> {
        let text = input::read_text(path).into_diagnostic();
        Self::parse(path, &text.wrap_err_with(|| format!("{}: cannot be read", path.display()))?)
    }

    /// Parses a text as the contents of the progress file `path`.
    ///
    /// # Errors
    /// Returns an error if `soak --keep` did not write the text.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Report> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let before = &text[..text.floor_char_boundary(error.span().map_or(0, |span| span.start))];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            miette!("{}:{line}:{column}: not a file of `soak --keep`: {}", path.display(), error.message())
        })
    }

    /// Returns the seeds that have passed in any build.
    pub fn seeds(&self) -> Seeds {
        let mut all = Seeds::default();
        self.builds.iter().for_each(|build| all.add_all(&build.seeds));
        all
    }

    fn text(&self) -> Result<String, Report> {
        Ok(format!("{HEADING}{}", toml::to_string(self).into_diagnostic()?))
    }
}

/// Progress file of a running soak test.
pub struct ProgressFile {
    path: PathBuf,
    passed: SoakProgress,
    /// Contents of the file when it was last read or written; `None` if the file did not exist.
    text: Option<String>,
    /// Seed of the running case, and the work done before the case began.
    begun: Option<(u64, Tally)>,
    written: Instant,
}

impl ProgressFile {
    /// Opens the progress file of a soak test, or creates it if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written, or belongs to another soak test.
    pub fn open(path: &Path, soak: &str) -> Result<Self, Report> {
        let text = held(path)?;
        let passed = match &text {
            Some(text) => SoakProgress::parse(path, text)?,
            None => SoakProgress { soak: soak.to_owned(), builds: Vec::new() },
        };
        if passed.soak != soak {
            let path = path.display();
            return Err(miette!(
                "{path}: records the soak test `{}`, expected `{soak}`: a file records one test",
                passed.soak
            ));
        }
        let mut keeper = Self { path: path.to_owned(), passed, text, begun: None, written: Instant::now() };
        // The file is written now, so that an error is reported before any case has run.
        keeper.write()?;
        Ok(keeper)
    }

    /// Returns the record of the cases that have passed.
    pub fn passed_cases(&self) -> &SoakProgress {
        &self.passed
    }

    /// Records that the previous case has passed and that the next case begins. `tally` is the work that this
    /// process has done so far.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn begins(&mut self, seed: u64, tally: Tally) -> Result<(), Report> {
        self.passes(tally);
        self.begun = Some((seed, tally));
        if self.written.elapsed() >= WRITE_EVERY { self.write() } else { Ok(()) }
    }

    /// Records that the running case has passed. `tally` is the work that this process has done so far.
    pub fn passes(&mut self, tally: Tally) {
        let Some((seed, before)) = self.begun.take() else { return };
        let this = Build::this();
        let is_this = |build: &Build| (&build.version, &build.sources) == (&this.version, &this.sources);
        if !self.passed.builds.last().is_some_and(is_this) {
            self.passed.builds.push(this);
        }
        if let Some(build) = self.passed.builds.last_mut() {
            build.seeds.add(seed);
            build.count(tally.minus(before));
        }
    }

    /// Writes the progress file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, or if another process has changed it.
    pub fn write(&mut self) -> Result<(), Report> {
        let path = self.path.display();
        if held(&self.path)? != self.text {
            return Err(miette!("{path}: another process has changed the file since it was read; it stays unchanged"));
        }
        let text = self.passed.text()?;
        let mut file = AtomicFile::create(&self.path).into_diagnostic()?;
        file.write_all(text.as_bytes()).and_then(|()| file.commit()).into_diagnostic()?;
        (self.text, self.written) = (Some(text), Instant::now());
        Ok(())
    }
}

/// Returns the contents of a file; `None` if the file does not exist.
fn held(path: &Path) -> Result<Option<String>, Report> {
    match input::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).into_diagnostic().wrap_err_with(|| format!("{}: cannot be read", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn seeds(text: &str) -> Seeds {
        text.parse().unwrap()
    }

    #[test]
    fn seeds_of_several_pieces_become_ranges_in_order() {
        let mut all = Seeds::default();
        for seed in [5, 1, 2, 9, 3, 7, 6, u64::MAX, 0] {
            all.add(seed);
        }
        assert_eq!(all.to_string(), "0-3, 5-7, 9, 18446744073709551615");
        all.add_all(&seeds("4, 8-20"));
        assert_eq!(all.to_string(), "0-20, 18446744073709551615");
        assert_eq!(seeds("3-4, 1-2,"), seeds("1-4"));
        assert_eq!(seeds("").to_string(), "");
        let wrong = |text: &str| text.parse::<Seeds>().unwrap_err();
        for text in ["4-3", "x", "1-", "-1", "1 2"] {
            assert_eq!(wrong(text), format!("`{text}` is not a range of seeds, expected one such as `1-250`"));
        }
    }

    #[test]
    fn a_soak_goes_on_with_the_seeds_that_no_piece_ran() {
        let others = |text: &str, first| seeds(text).others_from(first).take(4).collect::<Vec<_>>();
        assert_eq!(others("1-3, 5, 8", 1), [4, 6, 7, 9]);
        assert_eq!(others("1-3, 5, 8", 6), [6, 7, 9, 10]);
        assert_eq!(others("1-3, 5, 8", 8), [9, 10, 11, 12]);
        assert_eq!(others("", 7), [7, 8, 9, 10]);
        assert_eq!(others("18446744073709551615", u64::MAX - 1), [u64::MAX - 1]);
    }

    fn tally(cases: u64) -> Tally {
        Tally { cases, runs: 2 * cases, cycles: 10 * cases, warp_instructions: 3 * cases }
    }

    #[test]
    fn what_passes_is_kept_by_build_and_the_case_under_way_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.toml");
        fs::write(&path, "soak = \"ptx\"\n[[build]]\nversion = \"0\"\nsources = \"a\"\nseeds = \"1-2\"\ncases = 2\nruns = 4\ncycles = 0\nwarp_instructions = 0\n").unwrap();
        let mut keeper = ProgressFile::open(&path, "ptx").unwrap();
        for (number, seed) in keeper.passed_cases().seeds().others_from(1).take(3).enumerate() {
            keeper.begins(seed, tally(number as u64)).unwrap();
        }
        keeper.write().unwrap();
        let passed = SoakProgress::read(&path).unwrap();
        assert_eq!((passed.builds.len(), passed.seeds().to_string()), (2, "1-4".to_owned()));
        assert_eq!((passed.builds[1].seeds.to_string(), passed.builds[1].tally()), ("3-4".to_owned(), tally(2)));
        assert_eq!(
            (passed.builds[1].version.as_str(), passed.builds[1].sources.as_str()),
            (env!("CARGO_PKG_VERSION"), FINGERPRINT)
        );
        assert!(fs::read_to_string(&path).unwrap().starts_with(HEADING));
    }

    #[test]
    fn a_file_of_another_soak_one_that_is_none_and_one_that_changes_are_refused_and_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.toml");
        let mut keeper = ProgressFile::open(&path, "l1").unwrap();
        let refused = |path: &Path, soak| ProgressFile::open(path, soak).err().unwrap().to_string();
        let shown = path.display();
        assert_eq!(
            refused(&path, "ptx"),
            format!("{shown}: records the soak test `l1`, expected `ptx`: a file records one test")
        );
        fs::write(&path, "soak = \"l1\"\n").unwrap();
        let changed = format!("{shown}: another process has changed the file since it was read; it stays unchanged");
        assert_eq!(keeper.write().unwrap_err().to_string(), changed);
        fs::write(&path, "soak = \"l1\"\nsaok = 1\n").unwrap();
        let wrong = refused(&path, "l1");
        assert!(
            wrong.starts_with(&format!("{shown}:2:1: not a file of `soak --keep`: unknown field `saok`")),
            "{wrong}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "soak = \"l1\"\nsaok = 1\n");
    }
}
