//! Statistics of one launch, or of all launches of a machine.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use warpsieve::config::ResolvedMachine;
use warpsieve::run::{RunReport, Verdict};
use warpsieve::statistics::of_run;
use warpsieve::summary::Summary;

/// Statistics of one launch, or of all launches of a machine.
#[pyclass(frozen, module = "warpsieve._native")]
pub(crate) struct LaunchResult {
    title: PathBuf,
    resolved: Arc<ResolvedMachine>,
    report: RunReport,
}

impl LaunchResult {
    pub fn new(title: PathBuf, resolved: Arc<ResolvedMachine>, report: RunReport) -> Self {
        Self { title, resolved, report }
    }
}

#[pymethods]
impl LaunchResult {
    /// Number of core cycles.
    #[getter]
    fn cycles(&self) -> u64 {
        self.report.counters.cycles
    }

    /// Name of the kernel, or `all launches`.
    #[getter]
    fn title(&self) -> String {
        self.title.display().to_string()
    }

    /// Messages of the failed checks.
    #[getter]
    fn failed(&self) -> Vec<String> {
        match &self.report.verdict {
            Verdict::Failed(failed) => failed.clone(),
            Verdict::Off | Verdict::Passed | Verdict::OrderDependent | Verdict::Undefined => Vec::new(),
        }
    }

    /// Notes on the run, for example that results depend on the order of warps.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.report.notes.clone()
    }

    /// Paths of the files that were written.
    #[getter]
    fn written(&self) -> Vec<PathBuf> {
        self.report.written.clone()
    }

    /// Summary table, as `warpsieve run` prints it.
    #[pyo3(signature = (width = None))]
    fn summary(&self, width: Option<usize>) -> String {
        let Self { title, resolved, report } = self;
        let width = width.unwrap_or(usize::MAX);
        Summary { launch: title, resolved, report, energy: None, width }.to_string()
    }

    /// Statistics as JSON, schema 1.
    fn statistics(&self) -> PyResult<String> {
        let statistics = of_run(&self.resolved, &self.report, None);
        serde_json::to_string(&statistics).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}
