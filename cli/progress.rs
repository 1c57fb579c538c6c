//! One line on a terminal that says how far a run is.

use std::time::Instant;

use indicatif::ProgressBar;
use papers::progress::progress_line;

use super::output::grouped;
use warpsieve::run::Progress;

/// The progress line; nothing where stderr is no terminal.
pub(super) struct ProgressLine {
    bar: ProgressBar,
    started: Instant,
    launches: u64,
}

impl ProgressLine {
    pub fn new(is_quiet: bool) -> Self {
        let bar = progress_line(is_quiet, Some(0), "{msg}, CTA {pos} of {len}{left}");
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
