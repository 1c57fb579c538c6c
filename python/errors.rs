//! Exceptions of the Python module `warpsieve.errors` for errors of the simulator. The text of an exception
//! is the same as the error message on the command line.

use miette::{Diagnostic, GraphicalTheme};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rtl::sm::LaunchError;
use warpsieve::limit;
use warpsieve::run::{DeviceError, RunError};

/// Class of the Python exception that reports an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Configuration,
    Ptx,
    Memory,
    Launch,
    Access,
    Fault,
    Stopped,
    Output,
    Internal,
}

impl Kind {
    fn class(self) -> &'static str {
        match self {
            Self::Configuration => "ConfigurationError",
            Self::Ptx => "PtxError",
            Self::Memory => "DeviceMemoryError",
            Self::Launch => "LaunchError",
            Self::Access => "AccessError",
            Self::Fault => "FaultError",
            Self::Stopped => "StoppedError",
            Self::Output => "OutputError",
            Self::Internal => "InternalError",
        }
    }
}

/// Error of the simulator.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub kind: Kind,
    pub text: String,
}

impl Failure {
    pub fn new(kind: Kind, text: &str) -> Self {
        Self { kind, text: text.to_owned() }
    }

    /// Formats an error, with an excerpt of the affected file for each of its problems.
    pub fn of(kind: Kind, error: &dyn Diagnostic) -> Self {
        Self { kind, text: limit::render(error, GraphicalTheme::none()) }
    }

    /// Formats an error of a run. `kind` is the kind of exception to use if the error is in the input.
    pub fn of_run(kind: Kind, error: &RunError) -> Self {
        let kind = match error {
            RunError::Launch(_) | RunError::Trace(_) | RunError::Input { .. } => kind,
            RunError::Ptx(_) => Kind::Ptx,
            RunError::Fault(_) => Kind::Fault,
            RunError::NoProgress(_) => Kind::Stopped,
        };
        Self::of(kind, error)
    }

    /// Formats the reason why a launch of the kernel `kernel` did not complete.
    pub fn of_launch(kernel: &str, error: &DeviceError) -> Self {
        let kind = match error {
            DeviceError::Launch(_) => Kind::Launch,
            DeviceError::Access(_) => Kind::Access,
            DeviceError::Fault(_) => Kind::Fault,
            DeviceError::Stopped(_) | DeviceError::Earlier => Kind::Stopped,
        };
        let names_kernel = !matches!(error, DeviceError::Launch(LaunchError::Shape { .. }) | DeviceError::Stopped(_));
        let text = if names_kernel { error.to_string() } else { format!("kernel `{kernel}`: {error}") };
        Self { kind, text }
    }

    /// Returns the Python exception for the error.
    pub fn into_error(self, py: Python<'_>) -> PyErr {
        let class = py.import("warpsieve.errors").and_then(|module| module.getattr(self.kind.class()));
        match class.and_then(|class| class.call1((&self.text,))) {
            Ok(error) => PyErr::from_value(error),
            Err(_) => PyRuntimeError::new_err(self.text),
        }
    }
}
