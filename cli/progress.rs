//! Shows the progress of a command: as one line on a terminal, otherwise as a message every ten seconds.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use papers::progress::progress_line;

use super::output::{self, format_count, format_thousands};
use warpsieve::run::Progress;

/// Progress line of a simulation on stderr. It is not shown unless stderr is a terminal.
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
        let (cycles, rate) = (format_count(cycles, "cycle", "cycles"), format_thousands(rate as u64));
        let message = format!("launch {}: {cycles}, {rate}/s", launches + 1);
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

/// Interval between two progress messages if stderr is not a terminal.
const SAY_EVERY: Duration = Duration::from_secs(10);
/// Interval between two updates of a progress line on a terminal.
const TURN_EVERY: Duration = Duration::from_millis(100);

/// Reports the progress of a command periodically until this value is dropped. Logs of batch jobs then show
/// that the command is still running.
pub(super) struct Heartbeat(Option<(Sender<()>, JoinHandle<()>)>);

impl Heartbeat {
    /// Calls `say` every ten seconds and writes the returned text to stderr. Does nothing if stderr is a
    /// terminal or `is_quiet` is true.
    pub fn off_terminal(is_quiet: bool, say: impl Fn() -> String + Send + 'static) -> Self {
        if is_quiet || io::stderr().is_terminal() {
            return Self(None);
        }
        Self::every(SAY_EVERY, move || output::print_error(&say()))
    }

    fn every(period: Duration, say: impl Fn() + Send + 'static) -> Self {
        let (end, ended) = mpsc::channel();
        let speaker = thread::spawn(move || {
            while ended.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                say();
            }
        });
        Self(Some((end, speaker)))
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        if let Some((end, speaker)) = self.0.take() {
            drop(end);
            // The result of the join is ignored, since the thread returns no value.
            let _ = speaker.join();
        }
    }
}

/// Shows that an external program is running, and how long it has been running.
pub(super) struct Busy {
    bar: ProgressBar,
    _heartbeat: Heartbeat,
}

impl Busy {
    pub fn new(with: String) -> Self {
        let bar = progress_line(false, None, "{spinner} {msg}, {elapsed}");
        bar.set_message(with.clone());
        bar.enable_steady_tick(TURN_EVERY);
        let started = Instant::now();
        let say = move || format!("{with}, {} s", started.elapsed().as_secs());
        Self { bar, _heartbeat: Heartbeat::off_terminal(false, say) }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_heartbeat_speaks_until_it_is_dropped() {
        let (said, counter) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let own = Arc::clone(&said);
        let heartbeat = Heartbeat::every(Duration::from_millis(1), move || {
            own.fetch_add(1, Ordering::Relaxed);
        });
        while said.load(Ordering::Relaxed) < 3 {
            thread::yield_now();
        }
        drop(heartbeat);
        let after = said.load(Ordering::Relaxed);
        thread::sleep(Duration::from_millis(5));
        assert_eq!(said.load(Ordering::Relaxed), after);
        // Dropping a `Heartbeat` must end it at once, even if its interval is an hour.
        let own = Arc::clone(&counter);
        drop(Heartbeat::every(Duration::from_secs(3600), move || {
            own.fetch_add(1, Ordering::Relaxed);
        }));
        assert_eq!(counter.load(Ordering::Relaxed), 0);
    }
}
