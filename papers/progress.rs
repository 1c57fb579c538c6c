//! How many of several runs are done, on one line of a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows how many of several runs are done, if anybody looks.
#[must_use]
pub fn progress_bar(is_quiet: bool, runs: usize) -> ProgressBar {
    let shown = !is_quiet && std::io::stderr().is_terminal();
    let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(runs as u64), target);
    if let Ok(style) = ProgressStyle::with_template("{pos} of {len} runs, {eta} left; last: {msg}") {
        bar.set_style(style);
    }
    bar
}
