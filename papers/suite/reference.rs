//! The reference figures, read from `suite.csv` in the folder of kernels.

use std::path::Path;

use miette::{Context, IntoDiagnostic, Report};
use serde::Deserialize;

/// What somebody else's sources of a kernel gave on caches without time; nothing where they state none.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reference {
    /// Folder of our kernel.
    pub kernel: String,
    /// Our launch file that is nearest in size.
    pub launch: String,
    /// Their size.
    pub size: String,
    pub warp_instructions: Option<u64>,
    /// Lines a load.
    pub average: Option<f64>,
    /// Most lines of a load.
    pub most: Option<u64>,
    /// Hits in the L1 in percent.
    pub l1: Option<f64>,
    /// Hits in the L2 in percent.
    pub l2: Option<f64>,
    /// Why our figures differ, if they do and it is known.
    pub why: String,
}

pub(super) fn references(path: &Path) -> Result<Vec<Reference>, Report> {
    let context = || format!("the reference figures in {} cannot be read", path.display());
    let reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(path);
    let read = reader.and_then(|mut reader| reader.deserialize().collect());
    read.into_diagnostic().wrap_err_with(context)
}
