//! Reference results, read from the file `suite.csv` in the folder of the kernels.

use std::path::Path;

use miette::{Context, IntoDiagnostic, Report};
use serde::Deserialize;

/// Results for caches without timing that do not come from this simulator. A value is `None` if its source
/// does not state it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reference {
    /// Name of the folder of our kernel.
    pub kernel: String,
    /// Name of our launch file with the most similar problem size.
    pub launch: String,
    /// Problem size for which the reference results were obtained.
    pub size: String,
    pub warp_instructions: Option<u64>,
    /// Average number of lines that a load of a warp requests.
    pub average: Option<f64>,
    /// Maximum number of lines that one load of a warp requests.
    pub most: Option<u64>,
    /// Hit rate in the L1, in percent.
    pub l1: Option<f64>,
    /// Hit rate in the L2 in percent.
    pub l2: Option<f64>,
    /// Reason why our results differ from the reference; empty if they agree or the reason is unknown.
    pub why: String,
}

pub(super) fn references(path: &Path) -> Result<Vec<Reference>, Report> {
    let context = || format!("the reference figures in {} cannot be read", path.display());
    let reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(path);
    let read = reader.and_then(|mut reader| reader.deserialize().collect());
    read.into_diagnostic().wrap_err_with(context)
}
