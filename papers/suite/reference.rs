//! Reference values, read from `suite.csv` in the kernels folder.

use std::path::Path;

use miette::{Context, IntoDiagnostic, Report};
use serde::Deserialize;

/// Results that other sources of a kernel gave on untimed caches. A value is `None` if they do not state it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reference {
    /// Folder of our kernel.
    pub kernel: String,
    /// Our launch file of the most similar size.
    pub launch: String,
    /// Problem size of the reference.
    pub size: String,
    pub warp_instructions: Option<u64>,
    /// Average number of lines per load.
    pub average: Option<f64>,
    /// Maximum number of lines of one load.
    pub most: Option<u64>,
    /// Hit rate in the L1 in percent.
    pub l1: Option<f64>,
    /// Hit rate in the L2 in percent.
    pub l2: Option<f64>,
    /// Reason why the values differ; empty if they agree or the reason is unknown.
    pub why: String,
}

pub(super) fn references(path: &Path) -> Result<Vec<Reference>, Report> {
    let context = || format!("the reference figures in {} cannot be read", path.display());
    let reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(path);
    let read = reader.and_then(|mut reader| reader.deserialize().collect());
    read.into_diagnostic().wrap_err_with(context)
}
