//! Progress line of a command on a terminal.

use std::fmt;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use input::noun;

/// Creates a progress line that counts finished runs.
#[must_use]
pub fn progress_bar(is_quiet: bool, runs: usize) -> ProgressBar {
    progress_line(is_quiet, Some(runs as u64), "{pos} of {len} {runs}{left}; last: {msg}")
}

/// Creates a progress line for `steps` steps; `steps` is `None` if their number is unknown. The line stays
/// hidden if `is_quiet` is true or if stderr is not a terminal. In the template, `{left}` is replaced by the
/// estimated remaining time, if there is an estimate, and `{runs}` by "run" or "runs".
#[must_use]
pub fn progress_line(is_quiet: bool, steps: Option<u64>, template: &str) -> ProgressBar {
    let is_shown = !is_quiet && std::io::stderr().is_terminal();
    let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(steps, target);
    bar.set_style(style(template));
    bar
}

fn style(template: &str) -> ProgressStyle {
    let line = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    // Write errors are ignored, because the line will soon be drawn again.
    line.with_key("left", |state: &ProgressState, text: &mut dyn fmt::Write| {
        let _ = text.write_str(&left(state.eta()));
    })
    .with_key("runs", |state: &ProgressState, text: &mut dyn fmt::Write| {
        let _ = text.write_str(noun(state.len().unwrap_or(0), "run", "runs"));
    })
}

/// Formats the remaining time. Returns an empty text for an estimate of 0, which means that no step has
/// finished yet.
fn left(estimate: Duration) -> String {
    if estimate.is_zero() { String::new() } else { format!(", {:#} left", HumanDuration(estimate)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_blank_until_it_can_be_known() {
        assert_eq!(left(Duration::ZERO), "");
        assert_eq!(left(Duration::from_secs(20)), ", 20s left");
        let bar = ProgressBar::hidden();
        bar.set_length(10);
        // Until the first step has finished, the library indicatif passes an estimate of 0.
        assert_eq!(bar.eta(), Duration::ZERO);
    }
}
