//! # What every reproduced figure is made with
//! A figure says which runs it needs, and gets them from the [`runs::Runner`]: several at a time, and
//! from disk where they have been made before ([`store`]). It sets its numbers beside the published
//! ones and has each judged by rule ([`judge`]), draws them ([`chart`]), and hands over a [`page`]:
//! Markdown, CSV and SVG that appear whole or not at all.

pub mod chart;
#[cfg(test)]
mod fingerprint;
pub mod judge;
pub mod page;
pub mod runs;
pub mod store;

use miette::Report;

/// Why a figure was not drawn.
#[derive(Debug)]
pub enum Halt {
    /// Bad input, or a file that cannot be read or written.
    Input(Report),
    /// Runs that broke a rule of the model, computed something wrong, or did not come to an end.
    Failed(String),
    /// A signal of this number asked for the end. What was done by then is kept.
    Interrupted(usize),
}

impl From<Report> for Halt {
    fn from(report: Report) -> Self {
        Self::Input(report)
    }
}
