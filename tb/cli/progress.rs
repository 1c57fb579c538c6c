//! One line on a terminal that says how far a run is, or how many of several are done.

use std::fmt;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::output::grouped;
use crate::run::Progress;

/// The progress line; nothing where stderr is no terminal.
pub(super) struct ProgressLine {
    bar: ProgressBar,
    started: Instant,
    launches: u64,
}

impl ProgressLine {
    pub fn new(is_quiet: bool) -> Self {
        let shown = !is_quiet && std::io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        bar.set_style(style("{msg}, CTA {pos} of {len}{left}"));
        Self { bar, started: Instant::now(), launches: 0 }
    }

    pub fn show(&mut self, progress: Progress) {
        let Progress { cycles, launches, ctas_done, ctas_total } = progress;
        if launches != self.launches {
            self.launches = launches;
            self.bar.reset_eta();
        }
        let rate = cycles as f64 / self.started.elapsed().as_secs_f64().max(1e-3);
        let message = format!("launch {}: {} cycles, {}/s", launches + 1, grouped(cycles), grouped(rate as u64));
        self.bar.set_length(ctas_total);
        self.bar.set_position(ctas_done);
        self.bar.set_message(message);
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Shows how many of several runs are done, if anybody looks.
pub(crate) fn progress_bar(is_quiet: bool, runs: usize) -> ProgressBar {
    let shown = !is_quiet && std::io::stderr().is_terminal();
    let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(runs as u64), target);
    bar.set_style(style("{pos} of {len} runs{left}; last: {msg}"));
    bar
}

/// A line in which `{left}` says how long it will take, as soon as that can be known.
pub(super) fn style(template: &str) -> ProgressStyle {
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
