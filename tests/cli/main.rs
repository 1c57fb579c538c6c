//! The command as a user meets it: exit status, wording, and files.
//!
//! | testpoint                                                        | file        |
//! |------------------------------------------------------------------|-------------|
//! | area: tree, differences, table, picture, files for CACTI          | `area`      |
//! | bad input of every kind: status 2, message, nothing written      | `bad_input` |
//! | a run that is killed and goes on                                 | `checkpoint` |
//! | a run: status 0, 1 and 3, summary, statistics, `--quiet`         | `run`       |
//! | runs side by side                                                | `compare`   |
//! | the DRAM channels alone: reference streams, tables, refusals     | `dram`      |
//! | kernels that never end, without time; what depends on an order   | `endless`   |
//! | what changed between two runs, and why                          | `explain`   |
//! | files: no output replaces another file, all written are listed   | `files`     |
//! | parts in SystemVerilog: list, vectors, refusals                  | `hdl`       |
//! | signals and limits of the system: nothing is left half-written   | `interrupt` |
//! | what has no end or no measure; names that control a terminal      | `limits`    |
//! | a crate with a scheme of one's own                               | `new`       |
//! | profiles, and figures as files                                  | `profile`   |
//! | the bypass compiler: PTX in and out, reports, refusals, figures  | `optimize`  |
//! | PTX files: listings, and what cannot be run                      | `ptx`       |
//! | what `list`, `config`, `counters`, `completions` and `man` print | `print`     |
//! | a sweep by a job array of Slurm                                   | `slurm`     |
//! | short soaks, and their list                                      | `soak`      |
//! | sweeps: kept runs, kills, shards, tables, pictures, refusals      | `sweep`     |
//! | reports: figures of the statistics, one file, names escaped        | `report`    |
//! | reports as Chromium lays them out                                 | `browser`   |
//! | figures: kept runs, charts, judged rows, summary                  | `reproduce` |
//! | traces replayed, and written                                      | `replay`    |
//! | traces: figures known beforehand, JSON, warnings, bad files      | `trace`     |
//! | the log of warp instructions                                     | `pipeline`  |
//! | waveforms: formats, triggers, interruption, full disk, timeline  | `waves`     |
//! | every view in GTKWave itself                                     | `gtkwave`   |

mod area;
mod bad_input;
mod browser;
mod checkpoint;
mod compare;
mod dram;
mod endless;
mod explain;
mod files;
mod gtkwave;
mod hdl;
mod interrupt;
mod limits;
mod new;
mod optimize;
mod pipeline;
mod print;
mod profile;
mod ptx;
mod replay;
mod report;
mod reproduce;
mod run;
mod slurm;
mod soak;
mod sweep;
mod trace;
mod waves;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The command with these arguments, in the folder of the workspace.
fn warpsieve(arguments: &[&str]) -> Ended {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
    Ended::of(command.args(arguments).current_dir(root()).env("XDG_CACHE_HOME", CACHE).env_remove("RUST_BACKTRACE"))
}

/// Where runs are kept instead of the user's folder.
const CACHE: &str = env!("CARGO_TARGET_TMPDIR");

/// How a command ended.
#[derive(Debug)]
struct Ended {
    status: Option<i32>,
    out: String,
    err: String,
}

impl Ended {
    fn of(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { status: status.code(), out: text(stdout), err: text(stderr) }
    }

    /// Refused as bad input, with all of this in the message and nothing on stdout.
    #[track_caller]
    fn refused(&self, message: &[&str]) {
        assert_eq!(self.status, Some(2), "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        for part in message {
            assert!(self.err.contains(part), "no `{part}` in:\n{}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{self:?}");
    }
}
