//! SIGINT and SIGTERM. Work that can be completed up to where it is gets a moment to do so: a simulation ends at its next
//! look at the clock with all its files complete, a table gets the rows that are done. All else is abandoned at once. No
//! part of a file stays, nor a temporary file.

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
use waves::part_file::{self, Unhurried};

use super::{Exit, output};

/// Shells give a process ended by signal `n` the status 128 + `n`.
pub(super) const STATUS_BASE: u8 = 128;
/// A signal that comes so soon after the first is the same request, sent to the process and to its group.
const AT_ONCE: Duration = Duration::from_millis(500);
/// Time for completing what can be completed. Nobody is to wait longer than a second.
const GRACE: Duration = Duration::from_millis(700);
/// Time for files that are being given their names, and for a checkpoint, from which alone a run can go on.
const UNHURRIED: Duration = Duration::from_secs(60);
/// Time for saying on stderr that the process ends, which may be a pipe that nobody reads.
const WORDS: Duration = Duration::from_millis(100);
/// Stack of the thread that works, as large as that of the first usually is.
const STACK_BYTES: usize = 8 << 20;
/// Time between two looks at the thread that works, if nothing wakes who looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Number of the signal that asks for the end, or 0.
static ASKED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();
/// Whether somebody looks at it, and completes what can be.
static IS_HEARD: AtomicBool = AtomicBool::new(false);

/// From now on signals end the process.
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
                        // The next signal is waited for meanwhile.
                        thread::spawn(move || end_late(signal as usize));
                    }
                }
            }
        })?;
        Ok(())
    };
    listening().into_diagnostic().wrap_err("signals cannot be caught")
}

/// Holds the number of the signal that asks for the end, or 0. Whoever asks for it looks at it, and ends when told to.
pub(super) fn asked() -> Arc<AtomicUsize> {
    IS_HEARD.store(true, Ordering::Relaxed);
    Arc::clone(ASKED.get_or_init(Arc::default))
}

/// Ends the process if it has not ended by itself in time: at once if nobody looks whether it was asked to.
fn end_late(signal: usize) {
    let begun = Instant::now();
    if IS_HEARD.load(Ordering::Relaxed) {
        thread::sleep(GRACE);
        while Unhurried::is_any() && begun.elapsed() < UNHURRIED {
            thread::sleep(LOOK_EVERY);
        }
    }
    thread::spawn(|| output::complain("interrupted: what was not complete by then is not written"));
    thread::sleep(WORDS);
    end(signal)
}

/// Has work done that does not look whether it was asked to end. If it was, `tell` says on this thread what is complete
/// and what is missing, and the process ends.
pub(super) fn guarded<T: Send>(work: impl FnOnce() -> T + Send, tell: impl FnOnce()) -> Result<T, Report> {
    let (asked, waiting) = (asked(), thread::current());
    let done: io::Result<T> = thread::scope(|scope| {
        let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || {
            let done = work();
            waiting.unpark();
            done
        })?;
        while !worker.is_finished() {
            match asked.load(Ordering::Relaxed) {
                0 => thread::park_timeout(LOOK_EVERY),
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

/// How a command ends: as `then` says of what its work came to, or, if the model broke one of its own rules in it, with
/// what was caught and the status of a run that cannot be trusted.
pub(super) fn ended<T, E>(
    caught: Result<Result<T, E>, String>,
    then: impl FnOnce(T) -> Result<Exit, Report>,
) -> Result<Exit, Report>
where
    Report: From<E>,
{
    match caught {
        Ok(done) => then(done?),
        Err(internal) => {
            output::complain(&internal);
            Ok(Exit::CheckFailed)
        }
    }
}

/// Ends the process, whatever its threads are at.
fn end(signal: usize) -> ! {
    hdl::end_tools();
    part_file::discard_all();
    process::exit(i32::from(STATUS_BASE) + signal as i32)
}

/// From now on a file that grows beyond the limit of the process is an error of who writes it, as a full disk is.
pub(super) fn outlive_file_limit() {
    // Without, the process is ended by the signal, which the error status of the shell tells just as well.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}
