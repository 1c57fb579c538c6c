//! # Checkpoints
//! All that a run has come to, in a file from which another process goes on: every register, memory and channel of the
//! machine with all counters, the times at which blocks are due, and where in its launch file or trace the run is. What
//! follows from the launch is not in it: programs, decode tables, CTAs of a trace.
//!
//! ```text
//! warpsieve checkpoint 1\n     form
//! {"identity":…,"cycle":…}\n   who may go on with it, as JSON
//! LZ4 frame with a checksum    the state, in the encoding of `postcard`
//! ```
//! A file appears whole or not at all, so that of an older and a newer one there is always one. The state is that of this
//! very program: the form of a block is wherever its source says so, and only the same program knows it. So a file names
//! the program, the configuration and the contents of all files that were read, and goes on with no others.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use lz4_flex::frame::{FrameDecoder, FrameEncoder, FrameInfo};
use rtl::kernel::Simulator;
use rtl::machine::Machine;
use serde::{Deserialize, Serialize};
use waves::part_file::{PartFile, Unhurried};

use super::drive::{IdleCycles, Watches};
use super::history::History;
use super::loads::LoadCounters;
use super::series::Counted;
use super::steps::Place;
use super::{RunError, without_name};
use crate::content::Content;

/// First line of a file.
const FORM: &str = "warpsieve checkpoint 1";
/// Bytes of a header at most: a configuration has some hundred fields.
const MOST_HEADER_BYTES: u64 = 1 << 20;
/// Bytes of a state at most: a hundred times those of a machine with a large kernel. Few packed bytes may stand for many.
const MOST_STATE_BYTES: u64 = 1 << 30;

/// A writer of a state, which refuses what could not be read again.
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
    format!("its state has more than {} GiB, expected at most as many", MOST_STATE_BYTES >> 30)
}

/// What a run is of. Two runs go on from each other's checkpoints if it is the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The program, by a digest of it.
    pub program: String,
    /// Every field of the configuration with its value.
    pub configuration: BTreeMap<String, String>,
    /// Every file that was read, with a digest of its content.
    pub files: BTreeMap<String, String>,
}

/// Which checkpoints to write, and what to go on from.
#[derive(Clone, Debug, Default)]
pub struct Checkpoints {
    /// What the run is of.
    pub identity: Identity,
    /// File to write: when the run is interrupted, at its limit of cycles, and as often as `every` says.
    pub write: Option<PathBuf>,
    /// Core cycles from one to the next, 1 or more.
    pub every: Option<u64>,
    /// File to go on from.
    pub resume: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    identity: Identity,
    /// Core cycle up to which the run had come.
    cycle: u64,
}

/// What the machine alone does not know of a run.
#[derive(Serialize, Deserialize)]
pub(super) struct RunState {
    /// Where in its launch file.
    pub place: Place,
    /// Launches finished.
    pub launched: u64,
    pub idle: IdleCycles,
    pub kernels: Vec<(String, u64)>,
    pub warp_limits: Vec<(String, u8)>,
    pub loads: Vec<LoadCounters>,
    pub watches: Watches,
    /// What a time series has counted, if there is one.
    pub series: Option<Counted>,
    /// Its course, if one is kept.
    pub history: Option<History>,
}

/// A run between two ticks.
#[derive(Serialize, Deserialize)]
pub(super) struct State<M = Machine, S = Simulator, R = RunState> {
    pub machine: M,
    pub sim: S,
    pub run: R,
}

/// Writes a checkpoint in the place of the one before.
pub(super) fn write(
    path: &Path,
    identity: &Identity,
    cycle: u64,
    state: &State<&Machine, &Simulator, &RunState>,
) -> Result<(), RunError> {
    let written = || -> io::Result<()> {
        // Of an interrupted run it is all that is left.
        let _unhurried = Unhurried::begin();
        let mut file = PartFile::create(path)?;
        writeln!(file, "{FORM}")?;
        serde_json::to_writer(&mut file, &Header { identity: identity.clone(), cycle })?;
        writeln!(file)?;
        let checked = FrameInfo::new().content_checksum(true);
        let packed = AtMost { inner: FrameEncoder::with_frame_info(checked, file), left: MOST_STATE_BYTES };
        let packed = postcard::to_io(state, packed).map_err(io::Error::other)?;
        packed.inner.finish()?.keep().map(drop)
    };
    written().map_err(|error| {
        let error = error.to_string();
        RunError::input(path, &format!("the checkpoint cannot be written: {}", without_name(path, &error)))
    })
}

/// Reads a checkpoint of a run like this one.
pub(super) fn read(path: &Path, identity: &Identity) -> Result<State, RunError> {
    let file = File::open(path).map_err(|error| RunError::input(path, &unread(&error)))?;
    read_state(path, BufReader::new(file), identity)
}

fn unread(error: &io::Error) -> String {
    format!("the checkpoint cannot be read: {error}")
}

/// Whether a run could go on from these bytes, as far as that shows from reading them as if they stood in the file `path`.
///
/// # Errors
/// Why not.
pub fn goes_on(path: &Path, bytes: &[u8], identity: &Identity) -> Result<(), RunError> {
    read_state(path, bytes, identity).map(drop)
}

fn read_state(path: &Path, mut file: impl BufRead, identity: &Identity) -> Result<State, RunError> {
    let bad = |reason: String| RunError::input(path, &reason);
    let unread = |error| bad(unread(&error));
    let mistaken = Content::Checkpoint.mistaken(file.fill_buf().map_err(unread)?);
    let form = line(&mut file).map_err(unread)?;
    if form != FORM.as_bytes() {
        return Err(bad(match mistaken {
            Some(mistaken) => mistaken,
            None => format!("begins with another line than `{FORM}`, expected a checkpoint of this form"),
        }));
    }
    let header = line(&mut file).map_err(unread)?;
    let header: Header = serde_json::from_slice(&header).map_err(|error| bad(format!("its header: {error}")))?;
    if let Some(difference) = header.identity.difference(identity) {
        return Err(bad(format!("is the checkpoint of another run: {difference}")));
    }
    let mut bytes = Vec::new();
    let mut state = FrameDecoder::new(&mut file).take(MOST_STATE_BYTES + 1);
    state.read_to_end(&mut bytes).map_err(|error| bad(format!("is damaged: {error}")))?;
    if bytes.len() as u64 > MOST_STATE_BYTES {
        return Err(bad(too_large()));
    }
    let (state, rest) = postcard::take_from_bytes(&bytes).map_err(|error| bad(format!("is damaged: {error}")))?;
    if !rest.is_empty() || !file.fill_buf().map_err(unread)?.is_empty() {
        return Err(bad("is damaged: there are bytes behind its state".to_owned()));
    }
    Ok(state)
}

/// A line without its end.
fn line(file: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    file.take(MOST_HEADER_BYTES).read_until(b'\n', &mut line)?;
    line.pop_if(|last| *last == b'\n');
    Ok(line)
}

impl Identity {
    /// What is not the same in a run that wishes to go on from this one's checkpoint.
    fn difference(&self, now: &Self) -> Option<String> {
        if self.program != now.program {
            return Some("it was written by another build of the program, which alone can go on from it".to_owned());
        }
        let fields = |path: &String, then: &str, now: &str| format!("{path} is {then} there, {now} here");
        let files = |name: &String, _: &str, _: &str| format!("{name} has another content now");
        first_difference(&self.configuration, &now.configuration, fields)
            .or_else(|| first_difference(&self.files, &now.files, files))
    }
}

/// The first key with different values, as `tell` puts it.
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
