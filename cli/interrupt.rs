//! Handles SIGINT and SIGTERM. Work with partial results gets a short time to complete them. A simulation
//! stops at its next check of the clock and completes its files; a table gets the finished rows. All other
//! work is abandoned at once. No partial or temporary file remains.

use std::io;
use std::panic;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, Report, WrapErr};
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use waves::atomic_file::{self, CompletionGuard};

use super::{Exit, output};

/// Base of the exit status after a signal: a process that signal `n` ended has the status 128 + `n`, as in
/// shells.
pub(super) const STATUS_BASE: u8 = 128;
/// Time within which a second signal counts as the same request, sent to both the process and its group.
const AT_ONCE: Duration = Duration::from_millis(500);
/// Time for completing partial results. The process should end within a second.
const GRACE: Duration = Duration::from_millis(700);
/// Time for renaming files to their final names, and for writing a checkpoint. Without the checkpoint, an
/// interrupted run would be lost.
const UNHURRIED: Duration = Duration::from_secs(60);
/// Time for the final message on stderr, which may be a pipe that nobody reads.
const WORDS: Duration = Duration::from_millis(100);
/// Stack size of the worker thread in bytes, the usual size of a main thread's stack.
const STACK_BYTES: usize = 8 << 20;
/// Interval at which the worker thread is polled if nothing wakes the polling thread.
const POLL_PERIOD: Duration = Duration::from_millis(100);

/// Number of the signal that requests the end of the process; 0 if there was none.
static ASKED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();
/// True if some code polls `ASKED` and completes partial results.
static IS_HEARD: AtomicBool = AtomicBool::new(false);

/// Starts to catch SIGINT and SIGTERM, which end the process.
pub(super) fn listen() -> Result<(), Report> {
    let asked = Arc::clone(ASKED.get_or_init(Arc::default));
    let listening = || -> io::Result<()> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let waiting = thread::current();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let mut first: Option<Instant> = None;
            for signal in signals.forever() {
                match first {
                    Some(first) if first.elapsed() > AT_ONCE => end(signal as usize),
                    Some(_) => {}
                    None => {
                        first = Some(Instant::now());
                        asked.store(signal as usize, Ordering::Relaxed);
                        waiting.unpark();
                        // A separate thread waits, so that this one can receive the next signal.
                        thread::spawn(move || end_late(signal as usize));
                    }
                }
            }
        })?;
        Ok(())
    };
    listening().into_diagnostic().wrap_err("signals cannot be caught")
}

/// Returns the cell that holds the number of the signal that requests the end of the process, or 0. The
/// caller must poll the cell and end its work once the cell is nonzero.
pub(super) fn signal_cell() -> Arc<AtomicUsize> {
    IS_HEARD.store(true, Ordering::Relaxed);
    Arc::clone(ASKED.get_or_init(Arc::default))
}

/// Waits for the process to end by itself, and ends it when the time is up. Ends it at once if no code polls
/// the request.
fn end_late(signal: usize) {
    let begun = Instant::now();
    if IS_HEARD.load(Ordering::Relaxed) {
        thread::sleep(GRACE);
        while CompletionGuard::is_any() && begun.elapsed() < UNHURRIED {
            thread::sleep(POLL_PERIOD);
        }
    }
    thread::spawn(|| output::print_error("interrupted: incomplete files are not written"));
    thread::sleep(WORDS);
    end(signal)
}

/// Runs `work`, which does not poll for interrupts, on a separate thread. If a signal arrives, the calling
/// thread calls `tell` to report what is complete and what is missing, and ends the process.
pub(super) fn run_interruptible<T: Send>(work: impl FnOnce() -> T + Send, tell: impl FnOnce()) -> Result<T, Report> {
    let (asked, waiting) = (signal_cell(), thread::current());
    let done: io::Result<T> = thread::scope(|scope| {
        let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || {
            let done = work();
            waiting.unpark();
            done
        })?;
        while !worker.is_finished() {
            match asked.load(Ordering::Relaxed) {
                0 => thread::park_timeout(POLL_PERIOD),
                signal => {
                    tell();
                    end(signal)
                }
            }
        }
        Ok(worker.join().unwrap_or_else(|broken| panic::resume_unwind(broken)))
    });
    done.into_diagnostic().wrap_err("no thread can be started")
}

/// Returns the exit status of a command. `then` computes it from completed work. If the model violated one of
/// its own rules, prints the caught message and returns the status of a failed check.
pub(super) fn finish<T, E>(
    caught: Result<Result<T, E>, String>,
    then: impl FnOnce(T) -> Result<Exit, Report>,
) -> Result<Exit, Report>
where
    Report: From<E>,
{
    match caught {
        Ok(done) => then(done?),
        Err(internal) => {
            output::print_error(&internal);
            Ok(Exit::CheckFailed)
        }
    }
}

/// Ends the process at once, whatever its threads are doing.
fn end(signal: usize) -> ! {
    hdl::end_tools();
    atomic_file::discard_all();
    process::exit(i32::from(STATUS_BASE) + signal as i32)
}

/// Makes a write beyond the file size limit fail with an error, as on a full disk. By default, it would end
/// the process by SIGXFSZ.
pub(super) fn outlive_file_limit() {
    // If this fails, the signal ends the process, and the exit status in the shell also reports the error.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}
