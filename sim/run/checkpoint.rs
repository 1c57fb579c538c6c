//! # Checkpoints
//! A checkpoint file contains the complete state of a run, from which another process can resume it. The file
//! includes every register, memory, channel and counter of the machine. It also includes the cycle of each
//! hardware block's next evaluation, and the position in the launch file or trace. Data that follow from the
//! launch are not included: programs, decode tables, and the CTAs of a trace.
//!
//! ```text
//! warpsieve checkpoint 1\n     file format
//! {"identity":…,"cycle":…}\n   identity of the run, as JSON
//! LZ4 frame with a checksum    the state, in the encoding of `postcard`
//! ```
//! A checkpoint file is replaced atomically, so that either the older or the newer checkpoint is always
//! valid. The encoding of the state is derived from the source code of each hardware block, so only the same
//! build of the program can read it. A checkpoint therefore contains the identity of the program, of the
//! configuration and of the contents of all input files. A run can resume from it only if all of them are
//! equal.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use lz4_flex::frame::{FrameDecoder, FrameEncoder, FrameInfo};
use rtl::kernel::Simulator;
use rtl::machine::Machine;
use serde::{Deserialize, Serialize};
use waves::atomic_file::{AtomicFile, CompletionGuard};

use super::drive::{HangDetectors, IdleCycles};
use super::history::History;
use super::loads::LoadCounters;
use super::series::SeriesState;
use super::steps::Place;
use super::{RunError, without_name};
use crate::content::Content;

/// First line of a checkpoint file, which identifies the file format.
const FORM: &str = "warpsieve checkpoint 1";
/// Maximum size in bytes of the checkpoint's header line. The line contains the configuration, which has some
/// hundred fields.
const MAX_HEADER_BYTES: u64 = 1 << 20;
/// Maximum size in bytes of an uncompressed state: a hundred times the state of a machine with a large
/// kernel. The limit protects against small files that expand without bound.
const MAX_STATE_BYTES: u64 = 1 << 30;

/// Writer that fails if the state becomes larger than the reader of checkpoints accepts.
struct AtMost<W> {
    inner: W,
    left: u64,
}

impl<W: Write> Write for AtMost<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(left) = self.left.checked_sub(bytes.len() as u64) else { return Err(io::Error::other(too_large())) };
        let written = self.inner.write(bytes)?;
        self.left = left;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn too_large() -> String {
    format!("its state has more than {} GiB, which is the limit", MAX_STATE_BYTES >> 30)
}

/// Identity of a run. A run can resume only from a checkpoint with the same identity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Digest of the simulator's executable.
    pub program: String,
    /// Value of every field of the configuration.
    pub configuration: BTreeMap<String, String>,
    /// Digest of the contents of every input file, by path.
    pub files: BTreeMap<String, String>,
}

/// Options of a run for writing checkpoints and for resuming from one.
#[derive(Clone, Debug, Default)]
pub struct Checkpoints {
    /// Identity of the run, which a checkpoint must match.
    pub identity: Identity,
    /// Path of the checkpoint file to write. It is written when the run is interrupted, when it reaches its
    /// cycle limit, and at the interval `every`.
    pub write: Option<PathBuf>,
    /// Interval between two checkpoints, in core cycles; at least 1.
    pub every: Option<u64>,
    /// Path of the checkpoint file from which to resume.
    pub resume: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    identity: Identity,
    /// Core cycle at which the checkpoint was written.
    cycle: u64,
}

/// State of a run outside the machine, such as its position in the launch file.
#[derive(Serialize, Deserialize)]
pub(super) struct RunState {
    /// Position of the run in its launch file.
    pub place: Place,
    /// Number of finished launches.
    pub launched: u64,
    pub idle: IdleCycles,
    pub kernels: Vec<(String, u64)>,
    pub warp_limits: Vec<(String, u8)>,
    pub loads: Vec<LoadCounters>,
    pub watches: HangDetectors,
    /// State of the time series, if one is written.
    pub series: Option<SeriesState>,
    /// History of the run, if it is recorded.
    pub history: Option<History>,
}

/// Complete state of a run between two ticks: the machine, the simulator, and the state outside the machine.
#[derive(Serialize, Deserialize)]
pub(super) struct State<M = Machine, S = Simulator, R = RunState> {
    pub machine: M,
    pub sim: S,
    pub run: R,
}

/// Writes a checkpoint file, which replaces the previous one.
pub(super) fn write(
    path: &Path,
    identity: &Identity,
    cycle: u64,
    state: &State<&Machine, &Simulator, &RunState>,
) -> Result<(), RunError> {
    let written = || -> io::Result<()> {
        // After an interrupted run, the checkpoint is all that remains. The process must therefore not exit
        // before the file is complete.
        let _unhurried = CompletionGuard::begin();
        let mut file = AtomicFile::create(path)?;
        writeln!(file, "{FORM}")?;
        serde_json::to_writer(&mut file, &Header { identity: identity.clone(), cycle })?;
        writeln!(file)?;
        let checked = FrameInfo::new().content_checksum(true);
        let packed = AtMost { inner: FrameEncoder::with_frame_info(checked, file), left: MAX_STATE_BYTES };
        let packed = postcard::to_io(state, packed).map_err(io::Error::other)?;
        packed.inner.finish()?.commit().map(drop)
    };
    written().map_err(|error| {
        let error = error.to_string();
        RunError::input(path, &format!("the checkpoint cannot be written: {}", without_name(path, &error)))
    })
}

/// Reads a checkpoint, which must have been written by a run with this identity.
pub(super) fn read(path: &Path, identity: &Identity) -> Result<State, RunError> {
    let file = File::open(path).map_err(|error| RunError::input(path, &unread(&error)))?;
    read_state(path, BufReader::new(file), identity)
}

fn unread(error: &io::Error) -> String {
    format!("the checkpoint cannot be read: {error}")
}

/// Checks whether a run with this identity could resume from `bytes`, the contents of the checkpoint file
/// `path`.
///
/// # Errors
/// Fails if the bytes are not a valid checkpoint for this identity.
pub fn goes_on(path: &Path, bytes: &[u8], identity: &Identity) -> Result<(), RunError> {
    read_state(path, bytes, identity).map(drop)
}

fn read_state(path: &Path, mut file: impl BufRead, identity: &Identity) -> Result<State, RunError> {
    let bad = |reason: String| RunError::input(path, &reason);
    let unread = |error| bad(unread(&error));
    let mistaken = Content::Checkpoint.mismatch_message(file.fill_buf().map_err(unread)?);
    let form = line(&mut file).map_err(unread)?;
    if form != FORM.as_bytes() {
        return Err(bad(match mistaken {
            Some(mistaken) => mistaken,
            None => format!("does not begin with the line `{FORM}`, expected a checkpoint of this format"),
        }));
    }
    let header = line(&mut file).map_err(unread)?;
    let header: Header = serde_json::from_slice(&header).map_err(|error| bad(format!("its header: {error}")))?;
    if let Some(difference) = header.identity.difference(identity) {
        return Err(bad(format!("is the checkpoint of another run: {difference}")));
    }
    let mut bytes = Vec::new();
    let mut state = FrameDecoder::new(&mut file).take(MAX_STATE_BYTES + 1);
    state.read_to_end(&mut bytes).map_err(|error| bad(format!("is damaged: {error}")))?;
    if bytes.len() as u64 > MAX_STATE_BYTES {
        return Err(bad(too_large()));
    }
    let (state, rest) = postcard::take_from_bytes(&bytes).map_err(|error| bad(format!("is damaged: {error}")))?;
    if !rest.is_empty() || !file.fill_buf().map_err(unread)?.is_empty() {
        return Err(bad("is damaged: there are bytes after its state".to_owned()));
    }
    Ok(state)
}

/// Reads one line and removes the newline at its end.
fn line(file: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    file.take(MAX_HEADER_BYTES).read_until(b'\n', &mut line)?;
    line.pop_if(|last| *last == b'\n');
    Ok(line)
}

impl Identity {
    /// Describes the first difference between the checkpoint's identity and the identity `now` of the
    /// resuming run.
    fn difference(&self, now: &Self) -> Option<String> {
        if self.program != now.program {
            return Some(
                "it was written by another build of the program, and only that build can resume it".to_owned(),
            );
        }
        let fields = |path: &String, then: &str, now: &str| format!("{path} was {then}, now it is {now}");
        let files = |name: &String, _: &str, _: &str| format!("{name} has changed");
        first_difference(&self.configuration, &now.configuration, fields)
            .or_else(|| first_difference(&self.files, &now.files, files))
    }
}

/// Compares two maps. `tell` formats the first key whose values differ, together with both values; the result
/// is returned.
fn first_difference(
    then: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
    tell: impl Fn(&String, &str, &str) -> String,
) -> Option<String> {
    let value = |of: &BTreeMap<String, String>, key| of.get(key).cloned().unwrap_or_else(|| "absent".to_owned());
    let keys = then.keys().chain(now.keys());
    let different = keys.map(|key| (key, value(then, key), value(now, key))).find(|(_, then, now)| then != now);
    different.map(|(key, then, now)| tell(key, &then, &now))
}
