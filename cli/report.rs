//! `--report`: what a command found as one HTML file to send to somebody. It needs nothing else: no script, no font, no
//! picture from elsewhere. It is XML as well, so that programs can read it, and the same runs give the same bytes.
//!
//! | file        | gives                                                       |
//! |-------------|-------------------------------------------------------------|
//! | `html`      | the page around everything, tables and bars                 |
//! | `single`    | the report of `run` and `replay`                            |
//! | `side`      | that of `compare`                                           |
//! | `sweep`     | that of `sweep`                                             |
//! | `figures`   | that of `reproduce`                                         |
//! | `machine`   | the fields of a configuration, and the area of its blocks   |
//! | `course`    | charts over the time of a run                               |
//! | `counted`   | what a run counted: loads, stalls, refusals, latencies      |
//! | `changes`   | what `explain` says of two runs                             |

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
use waves::part_file::PartFile;

use super::output;

/// A report to write. It is opened ahead of the runs: a name that cannot be written is found out now, not hours later.
pub fn open(path: &Path) -> Result<PartFile, Report> {
    PartFile::create(path).into_diagnostic().wrap_err(UNWRITTEN)
}

/// Writes a report.
pub fn keep(file: PartFile, text: &str) -> Result<PathBuf, Report> {
    output::keep(file, text).wrap_err(UNWRITTEN)
}

const UNWRITTEN: &str = "the report cannot be written";
