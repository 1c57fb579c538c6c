//! Handles the signals SIGINT and SIGTERM. Work that has partial results gets a short time to complete them.
//! A simulation stops the next time that it checks for a signal, and completes its output files. A command
//! that writes a table writes the rows finished so far. All other work is abandoned at once. No partial or
//! temporary file remains.

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

/// Number that is added to the signal number to get the exit status of a process that a signal ended. Shells
/// add the same number.
pub(super) const STATUS_BASE: u8 = 128;
/// Time after a signal during which a second signal is ignored. A single key press may cause two signals: one
/// to the process, and one to its process group.
const AT_ONCE: Duration = Duration::from_millis(500);
/// Time that running work gets after a signal to complete its partial results. The process should end within
/// a second.
const GRACE: Duration = Duration::from_millis(700);
/// Time that is allowed for renaming files to their final names and for writing a checkpoint. Without the
/// checkpoint, the interrupted run could not be continued.
const UNHURRIED: Duration = Duration::from_secs(60);
/// Time that is allowed for the final message on stderr, which may be a pipe whose reader has stopped
/// reading.
const WORDS: Duration = Duration::from_millis(100);
/// Stack size of the worker thread in bytes, which equals the usual stack size of a main thread.
const STACK_BYTES: usize = 8 << 20;
/// Longest interval between two checks for a signal or for the end of the worker thread.
const POLL_PERIOD: Duration = Duration::from_millis(100);

/// Number of the signal that requests the end of the process; 0 if there was none.
static ASKED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();
/// True if running work checks `ASKED` for a signal, and completes its partial results.
static IS_HEARD: AtomicBool = AtomicBool::new(false);

/// Starts to catch SIGINT and SIGTERM, so that either signal ends the process in an orderly way.
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
                        // The grace period is spent on another thread, so that this thread can receive the
                        // next signal.
                        thread::spawn(move || end_late(signal as usize));
                    }
                }
            }
        })?;
        Ok(())
    };
    listening().into_diagnostic().wrap_err("signals cannot be caught")
}

/// Returns the shared variable that is 0 until a signal arrives, and then holds the number of the signal. The
/// caller must check the variable regularly and end its work once it is nonzero.
pub(super) fn signal_cell() -> Arc<AtomicUsize> {
    IS_HEARD.store(true, Ordering::Relaxed);
    Arc::clone(ASKED.get_or_init(Arc::default))
}

/// Gives running work time to end the process by itself, and then ends the process. If no running work checks
/// for signals, ends the process at once.
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

/// Runs `work`, which does not check for signals, on another thread. If a signal arrives, the calling thread
/// calls `tell` to report what is complete and what is missing, and then ends the process.
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

/// Returns the exit status of a command. If the work is complete, `then` computes the status. If the work
/// failed with an internal error of the model, prints the error and returns the status of a failed check.
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

/// Ends the process at once, no matter what its threads are doing.
fn end(signal: usize) -> ! {
    hdl::end_tools();
    atomic_file::discard_all();
    process::exit(i32::from(STATUS_BASE) + signal as i32)
}

/// Makes a write beyond the limit on the file size fail with an error, as on a full disk. By default, the
/// signal SIGXFSZ would end the process.
pub(super) fn outlive_file_limit() {
    // If this call fails, SIGXFSZ still ends the process, and the exit status still tells the shell the
    // cause.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}
