//! # Inputs: what the command reads from outside
//! Each has a reader and samples that it accepts. Anything else may be refused, by words that can be shown and name a place,
//! but nothing may panic, take long, or take memory without bound. The samples are looked for in the source tree, by their
//! endings, or made by a small run where the tree has none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, fs};

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, MietteDiagnostic};
use warpsieve::crash;
use warpsieve::limit::Limited;
use warpsieve::run::{HostTime, Stopwatch};

use super::mutate::LONGEST;

/// What a reader says of an input that it does not accept.
pub type Refusal = Box<dyn Diagnostic>;

/// A refusal in words alone.
pub fn in_words(what: impl fmt::Display) -> Refusal {
    Box::new(MietteDiagnostic::new(what.to_string()))
}

/// What a reader accepts, or its refusal with its excerpt.
pub fn told<T>(read: Result<T, impl Diagnostic + 'static>) -> Result<(), Refusal> {
    read.map(drop).map_err(|error| Box::new(error) as Refusal)
}

/// What a reader accepts, or its refusal in words alone.
pub fn said<T>(read: Result<T, impl fmt::Display>) -> Result<(), Refusal> {
    read.map(drop).map_err(in_words)
}

/// A kind of file.
pub struct Input {
    /// Its name on the command line, as a soak.
    pub name: &'static str,
    /// What is read and what is checked.
    pub about: &'static str,
    /// Where good ones come from.
    pub samples: Samples,
    /// Reads bytes as if they stood in a file.
    pub read: fn(&Path, &[u8]) -> Result<(), Refusal>,
}

/// Where good files come from.
pub enum Samples {
    /// Files of the source tree with one of these endings that the reader accepts.
    Found(&'static [&'static str]),
    /// A small run writes them; kernels lie in the folder given.
    Made(fn(&Path) -> Result<Vec<Sample>, String>),
}

/// A file that the reader accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Where it stands, or would.
    pub path: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Time for one input: a thousand times what the good files need.
const SLOWEST: Duration = Duration::from_secs(10);
/// Memory that this process may ever have held, in KiB.
const MOST_MEMORY: u64 = 1 << 20;
/// Problems of a refusal that the command shows.
const SHOWN: usize = 20;

/// What more is looked at than that an input is read or refused, in words that name a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The refusal is drawn as the command draws it, which takes as long as reading a dozen texts.
    pub is_drawn: bool,
    /// The system is asked for the memory of the process.
    pub is_weighed: bool,
}

impl Look {
    /// At everything.
    pub const ALL: Self = Self { is_drawn: true, is_weighed: true };
}

impl Input {
    /// The samples, found or made once in a process.
    ///
    /// # Errors
    /// If there are none.
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
        samples
            .retain(|Sample { path, bytes }| crash::caught(|| (self.read)(path, bytes)).is_ok_and(|read| read.is_ok()));
        samples.sort_by(|a, b| a.path.cmp(&b.path));
        if samples.is_empty() {
            return Err(format!("there are no files for the soak {}", self.name));
        }
        let samples = Arc::new(samples);
        known.insert(self.name, Arc::clone(&samples));
        Ok(samples)
    }

    /// Reads bytes as if they stood in a file.
    ///
    /// # Errors
    /// What goes wrong; a refusal does not.
    pub fn survives(&self, path: &Path, bytes: &[u8], look: Look) -> Result<(), String> {
        let watch = Stopwatch::start();
        let survived = crash::caught(|| match (self.read)(path, bytes) {
            Ok(()) => Ok(()),
            Err(refusal) => is_told(&*refusal, path, look.is_drawn),
        });
        survived.map_err(|internal| format!("panicked: {}", panicked(&internal)))??;
        // On a host that does something else the clock runs on; where others work in this process, its processors do.
        let HostTime { wall, cpu } = watch.time();
        let took = wall.min(cpu);
        if took > SLOWEST {
            return Err(format!("took {:.1} s", took.as_secs_f64()));
        }
        match peak_memory().filter(|peak| look.is_weighed && *peak > MOST_MEMORY) {
            Some(peak) => Err(format!("brought the memory of this process to {} MiB", peak >> 10)),
            None => Ok(()),
        }
    }

    /// The same for whoever looks for bytes that do not survive by what they reach, and takes a panic for one.
    ///
    /// # Panics
    /// If anything goes wrong.
    pub fn fuzz(&self, path: &Path, bytes: &[u8]) {
        if let Err(wrong) = self.survives(path, bytes, Look { is_drawn: true, is_weighed: false }) {
            panic!("{}: {wrong}", self.name);
        }
    }
}

/// What was said as it panicked, with its place.
fn panicked(internal: &str) -> String {
    let said = internal.strip_prefix("internal error: ").unwrap_or(internal);
    said.lines().take_while(|line| !line.starts_with("The model broke")).collect::<Vec<_>>().join("\n")
}

/// All files below a folder with one of these endings that are not too long; nothing hidden, nothing that was built.
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

/// Whether a refusal is fit to be shown: it says something, each of its problems has a place, and an excerpt can be drawn.
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
        if handler.render_report(&mut drawn, &Limited::of(refusal)).is_err() {
            return Err(format!("was refused by words that cannot be shown: {text}"));
        }
    }
    Ok(())
}

/// Whether a message names the file, or an excerpt of it, or all of the problems that it consists of do.
fn names_place(refusal: &dyn Diagnostic, path: &str) -> bool {
    if refusal.to_string().contains(path) {
        return true;
    }
    let label = refusal.labels().and_then(|mut labels| labels.next());
    if let Some((label, source)) = label.zip(refusal.source_code())
        && let Ok(excerpt) = source.read_span(label.inner(), 0, 0)
    {
        // A value of a file may be at odds with one of another file.
        return excerpt.name().is_some_and(|name| !name.is_empty());
    }
    let mut problems = refusal.related().into_iter().flatten().take(SHOWN).peekable();
    problems.peek().is_some() && problems.all(|problem| names_place(problem, path))
}

/// The most memory that this process ever held, in KiB, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// From now on the most memory is what is held now, where the system can be told so.
pub(super) fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}
