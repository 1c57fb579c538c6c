//! Tests the `warpsieve` command as a user runs it: exit status, messages, and files.
//!
//! | testpoint                                                         | file         |
//! |-------------------------------------------------------------------|--------------|
//! | area: tree, differences, table, picture, input files for CACTI    | `area`       |
//! | bad input of every kind: status 2, message, nothing written       | `bad_input`  |
//! | a killed and resumed run ends like an uninterrupted one           | `checkpoint` |
//! | a run: status 0, 1 and 3, summary, statistics, `--quiet`          | `run`        |
//! | runs of several designs, in one table                             | `compare`    |
//! | the DRAM channels on their own: reference streams, tables, errors | `dram`       |
//! | kernels that never end, without timing; order-dependent results   | `endless`    |
//! | CUDA programs: their own checks, emitted launches, refusals        | `exec`       |
//! | the changes between two runs, and their causes                    | `explain`    |
//! | files: no output overwrites another file, all outputs are listed  | `files`      |
//! | components in SystemVerilog: list, test vectors, errors           | `hdl`        |
//! | signals and limits of the system: no partial file remains         | `interrupt`  |
//! | input of unlimited size; names that would control a terminal      | `limits`     |
//! | the crate for a scheme of one's own                               | `new`        |
//! | profiles, and figures written as files                            | `profile`    |
//! | the bypass compiler: PTX in and out, reports, errors, figures     | `optimize`   |
//! | PTX files: listings, and instructions that cannot run             | `ptx`        |
//! | the tests of the Python package                                   | `python`     |
//! | the output of `list`, `config`, `counters`, `completions`, `man`  | `print`      |
//! | a sweep as a job array of Slurm                                   | `slurm`      |
//! | short soak tests, and their list                                  | `soak`       |
//! | sweeps: cached runs, kills, shards, tables, pictures, errors      | `sweep`      |
//! | reports: figures equal the statistics, one file, escaped names    | `report`     |
//! | reports as rendered by Chromium                                   | `browser`    |
//! | figures: cached runs, charts, rated rows, summary                 | `reproduce`  |
//! | traces: replay and export                                         | `replay`     |
//! | traces: known figures, JSON, warnings, bad files                  | `trace`      |
//! | the log of warp instructions                                      | `pipeline`   |
//! | waveforms: formats, triggers, interruption, full disk, timeline   | `waves`      |
//! | every waveform view in GTKWave itself                             | `gtkwave`    |

mod area;
mod bad_input;
mod browser;
mod checkpoint;
mod compare;
mod dram;
mod endless;
mod exec;
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
mod python;
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

/// Returns the root folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the `warpsieve` command with these arguments in the root folder of the workspace.
fn warpsieve(arguments: &[&str]) -> CommandResult {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
    CommandResult::of(
        command.args(arguments).current_dir(root()).env("XDG_CACHE_HOME", CACHE).env_remove("RUST_BACKTRACE"),
    )
}

/// Folder for cached runs, which tests use instead of the user's cache folder.
const CACHE: &str = env!("CARGO_TARGET_TMPDIR");

/// Exit status and printed output of a command.
#[derive(Debug)]
struct CommandResult {
    status: Option<i32>,
    out: String,
    err: String,
}

impl CommandResult {
    fn of(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { status: status.code(), out: text(stdout), err: text(stderr) }
    }

    /// Checks that the command rejected its input with all of these messages, and printed nothing to standard
    /// output.
    #[track_caller]
    fn assert_refused(&self, message: &[&str]) {
        assert_eq!(self.status, Some(2), "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        for part in message {
            assert!(self.err.contains(part), "no `{part}` in:\n{}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{self:?}");
    }
}
