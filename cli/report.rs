//! `--report`: writes the results of a command as one self-contained HTML file, without scripts, fonts or
//! pictures from elsewhere. The file is also well-formed XML, so that programs can read it, and equal runs
//! give equal bytes.
//!
//! | file      | gives                                                         |
//! |-----------|---------------------------------------------------------------|
//! | `html`    | the page frame, tables, bars and charts                       |
//! | `single`  | the report of `run` and `replay`                              |
//! | `side`    | the report of `compare`                                       |
//! | `sweep`   | the report of `sweep`                                         |
//! | `figures` | the report of `reproduce`                                     |
//! | `machine` | the configuration fields, and the area of the hardware blocks |
//! | `course`  | charts over the cycles of a run                               |
//! | `counted` | counts of a run: loads, stalls, refusals, latencies           |
//! | `changes` | the comparison of two runs by `explain`                       |

mod changes;
mod counted;
mod course;
pub mod figures;
mod html;
mod machine;
pub mod side;
pub mod single;
pub mod sweep;

use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Report, WrapErr};
use waves::atomic_file::AtomicFile;

use super::output;

/// Opens the output file of a report. This happens before the runs, so that a name that cannot be written is
/// reported at once and not hours later.
pub fn open(path: &Path) -> Result<AtomicFile, Report> {
    AtomicFile::create(path).into_diagnostic().wrap_err(UNWRITTEN)
}

/// Writes a report to its opened file, and returns the path.
pub fn keep(file: AtomicFile, text: &str) -> Result<PathBuf, Report> {
    output::keep(file, text).wrap_err(UNWRITTEN)
}

const UNWRITTEN: &str = "the report cannot be written";
