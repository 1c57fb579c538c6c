//! # Input files of the command-line tool
//! Each kind of input file has a reader, and samples that the reader accepts. The reader may refuse any other
//! file. Its error message must then name a location, and it must be possible to render it. No file may cause
//! a panic, a long run time or unbounded memory use. Samples are found in the source tree by their file
//! extensions. If the source tree has none, a small simulation writes them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, fs};

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, MietteDiagnostic};
use warpsieve::crash;
use warpsieve::limit::LimitedReport;
use warpsieve::run::{HostTime, Stopwatch};

use super::mutate::LONGEST;

/// Error that a reader returns for a file that it does not accept.
pub type Refusal = Box<dyn Diagnostic>;

/// Creates the error from a message, without an excerpt of the file.
pub fn in_words(what: impl fmt::Display) -> Refusal {
    Box::new(MietteDiagnostic::new(what.to_string()))
}

/// Converts the result of a reader whose errors contain an excerpt of the file. The excerpt is preserved.
pub fn with_excerpt<T>(read: Result<T, impl Diagnostic + 'static>) -> Result<(), Refusal> {
    read.map(drop).map_err(|error| Box::new(error) as Refusal)
}

/// Converts the result of a reader whose errors consist only of a message, without an excerpt of the file.
pub fn without_excerpt<T>(read: Result<T, impl fmt::Display>) -> Result<(), Refusal> {
    read.map(drop).map_err(in_words)
}

/// Kind of input file, with its reader and its samples.
pub struct Input {
    /// Name of the kind of file, and of its soak test on the command line.
    pub name: &'static str,
    /// Description of the kind of file and of what the soak test checks.
    pub about: &'static str,
    /// Origin of the sample files.
    pub samples: Samples,
    /// Function that reads a file of this kind. Its arguments are a path and the contents of the file; no
    /// file needs to exist at the path.
    pub read: fn(&Path, &[u8]) -> Result<(), Refusal>,
}

/// Origin of sample files that a reader accepts.
pub enum Samples {
    /// Files in the source tree that have one of these extensions and that the reader accepts.
    Found(&'static [&'static str]),
    /// Function that creates sample files by a small simulation. Its argument is the folder that contains the
    /// kernels.
    Made(fn(&Path) -> Result<Vec<Sample>, String>),
}

/// Sample file that the reader accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Path of the sample file, which need not exist.
    pub path: PathBuf,
    /// Contents of the sample file.
    pub bytes: Vec<u8>,
}

/// Time limit for reading one input file: a thousand times as long as reading a sample takes.
const SLOWEST: Duration = Duration::from_secs(10);
/// Limit on the peak memory of the test process in KiB.
const MAX_MEMORY: u64 = 1 << 20;
/// If a file has several problems, the command-line tool shows at most this many of them in its message.
const SHOWN: usize = 20;

/// Selects additional, more expensive checks of the reader on a mutant (damaged copy of a sample file).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtraChecks {
    /// True to render the reader's error as the command-line tool does, which takes as long as reading a
    /// dozen files.
    pub is_drawn: bool,
    /// True to check the peak memory of the process.
    pub is_weighed: bool,
}

impl ExtraChecks {
    /// Selects every additional check.
    pub const ALL: Self = Self { is_drawn: true, is_weighed: true };
}

impl Input {
    /// Returns the sample files, which are collected once per process.
    ///
    /// # Errors
    /// Returns an error if no sample files can be found or created.
    pub fn samples(&self, kernels: &Path) -> Result<Arc<Vec<Sample>>, String> {
        static KNOWN: Mutex<BTreeMap<&str, Arc<Vec<Sample>>>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(samples) = known.get(self.name) {
            return Ok(Arc::clone(samples));
        }
        let mut samples = match self.samples {
            Samples::Found(endings) => {
                let mut samples = Vec::new();
                let root = kernels.parent().filter(|root| *root != Path::new("")).unwrap_or(Path::new("."));
                collect(root, endings, &mut samples);
                samples
            }
            Samples::Made(make) => make(kernels)?,
        };
        samples.retain(|Sample { path, bytes }| {
            crash::catch_panic(|| (self.read)(path, bytes)).is_ok_and(|read| read.is_ok())
        });
        samples.sort_by(|a, b| a.path.cmp(&b.path));
        if samples.is_empty() {
            return Err(format!("there are no files for the soak {}", self.name));
        }
        let samples = Arc::new(samples);
        known.insert(self.name, Arc::clone(&samples));
        Ok(samples)
    }

    /// Passes an input file to the reader. Checks that the file is accepted or properly refused, within the
    /// limits on time and memory.
    ///
    /// # Errors
    /// Returns an error that describes how the reader misbehaved. A file that is properly refused causes no
    /// error.
    pub fn survives(&self, path: &Path, bytes: &[u8], look: ExtraChecks) -> Result<(), String> {
        let watch = Stopwatch::start();
        let survived = crash::catch_panic(|| match (self.read)(path, bytes) {
            Ok(()) => Ok(()),
            Err(refusal) => is_told(&*refusal, path, look.is_drawn),
        });
        survived.map_err(|internal| format!("panicked: {}", describe_panic(&internal)))??;
        // The time limit applies to the smaller of wall time and CPU time, because each can be too large for
        // other reasons: wall time includes waiting while other programs use the processors, and CPU time
        // includes other threads of this process.
        let HostTime { wall, cpu } = watch.time();
        let took = wall.min(cpu);
        if took > SLOWEST {
            return Err(format!("took {:.1} s", took.as_secs_f64()));
        }
        match peak_memory().filter(|peak| look.is_weighed && *peak > MAX_MEMORY) {
            Some(peak) => Err(format!("raised the memory of this process to {} MiB", peak >> 10)),
            None => Ok(()),
        }
    }

    /// Entry point for coverage-guided fuzzing. It panics if the reader fails, since fuzzers recognize
    /// failures by panics.
    ///
    /// # Panics
    /// Panics if [`Input::survives`] returns an error.
    pub fn fuzz(&self, path: &Path, bytes: &[u8]) {
        if let Err(wrong) = self.survives(path, bytes, ExtraChecks { is_drawn: true, is_weighed: false }) {
            panic!("{}: {wrong}", self.name);
        }
    }
}

/// Extracts the message and the source location from the report of a panic.
fn describe_panic(internal: &str) -> String {
    let said = internal.strip_prefix("internal error: ").unwrap_or(internal);
    said.lines().take_while(|line| !line.starts_with("The model broke")).collect::<Vec<_>>().join("\n")
}

/// Collects all files below a folder that have one of the extensions. Long files, hidden folders and build
/// outputs are skipped.
fn collect(folder: &Path, endings: &[&str], samples: &mut Vec<Sample>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && !name.starts_with('.') && !["target", "out"].contains(&&*name) {
            collect(&path, endings, samples);
        }
        let is_one = endings.iter().any(|ending| name.ends_with(ending));
        let is_short = |path: &Path| fs::metadata(path).is_ok_and(|there| there.len() <= LONGEST as u64);
        if kind.is_file()
            && is_one
            && is_short(&path)
            && let Ok(bytes) = fs::read(&path)
        {
            samples.push(Sample { path, bytes });
        }
    }
}

/// Checks the error that a reader returned for a refused file. The error must have a message, and each of its
/// problems must have a location. If `is_drawn` is true, the error is also rendered, which must succeed.
fn is_told(refusal: &dyn Diagnostic, path: &Path, is_drawn: bool) -> Result<(), String> {
    let text = refusal.to_string();
    if text.trim().is_empty() {
        return Err("was refused without a message".to_owned());
    }
    if !names_place(refusal, &path.display().to_string()) {
        return Err(format!("was refused without a place: {text}"));
    }
    if is_drawn {
        let mut drawn = String::new();
        let handler = GraphicalReportHandler::new_themed(GraphicalTheme::none()).with_wrap_lines(false);
        if handler.render_report(&mut drawn, &LimitedReport::of(refusal)).is_err() {
            return Err(format!("was refused with a message that cannot be printed: {text}"));
        }
    }
    Ok(())
}

/// True if an error of the reader has a location: it names the file or shows an excerpt of a file. If the
/// error lists several problems, each of them must have a location.
fn names_place(refusal: &dyn Diagnostic, path: &str) -> bool {
    if refusal.to_string().contains(path) {
        return true;
    }
    let label = refusal.labels().and_then(|mut labels| labels.next());
    if let Some((label, source)) = label.zip(refusal.source_code())
        && let Ok(excerpt) = source.read_span(label.inner(), 0, 0)
    {
        // If a value in the file conflicts with a value in another file, the excerpt may be from that other
        // file.
        return excerpt.name().is_some_and(|name| !name.is_empty());
    }
    let mut problems = refusal.related().into_iter().flatten().take(SHOWN).peekable();
    problems.peek().is_some() && problems.all(|problem| names_place(problem, path))
}

/// Returns the peak memory of this process in KiB, or `None` if the operating system does not report it.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// Resets the recorded peak memory to the current memory use, if the operating system supports this.
pub(super) fn reset_peak_memory() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}
