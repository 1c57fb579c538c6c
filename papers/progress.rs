//! One line on a terminal that says how far a command is.

use std::fmt;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use input::noun;

/// Shows how many of several runs are done.
#[must_use]
pub fn progress_bar(is_quiet: bool, runs: usize) -> ProgressBar {
    progress_line(is_quiet, Some(runs as u64), "{pos} of {len} {runs}{left}; last: {msg}")
}

/// A line on a terminal with so many steps, if that is known; nothing where nobody looks. In the template, `{left}` says
/// how long it will take, as soon as that can be known, and `{runs}` is the word for that many steps.
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
    // A line that is not drawn now is drawn again soon.
    line.with_key("left", |state: &ProgressState, text: &mut dyn fmt::Write| {
        let _ = text.write_str(&left(state.eta()));
    })
    .with_key("runs", |state: &ProgressState, text: &mut dyn fmt::Write| {
        let _ = text.write_str(noun(state.len().unwrap_or(0), "run", "runs"));
    })
}

/// Nothing is known while nothing has been achieved: the estimate is 0 then.
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
        // What the style is given while nothing is done.
        assert_eq!(bar.eta(), Duration::ZERO);
    }
}
