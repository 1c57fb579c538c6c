//! How many of several runs are done, on one line of a terminal.

use std::fmt;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Shows how many of several runs are done, if anybody looks.
#[must_use]
pub fn progress_bar(is_quiet: bool, runs: usize) -> ProgressBar {
    let shown = !is_quiet && std::io::stderr().is_terminal();
    let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(runs as u64), target);
    bar.set_style(style("{pos} of {len} runs{left}; last: {msg}"));
    bar
}

/// A line in which `{left}` says how long it will take, as soon as that can be known.
#[must_use]
pub fn style(template: &str) -> ProgressStyle {
    let line = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    // A line that is not drawn now is drawn again soon.
    line.with_key("left", |state: &ProgressState, text: &mut dyn fmt::Write| {
        let _ = text.write_str(&left(state.eta()));
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
