//! SIGINT and SIGTERM. A simulation ends at its next look at the clock with all its files complete; other work is
//! abandoned where it is, and what is complete is told. No part of a file stays.

use std::io;
use std::panic;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, Report, WrapErr};
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use waves::part_file;

use super::{Exit, output};

/// Shells give a process ended by signal `n` the status 128 + `n`.
pub(super) const STATUS_BASE: u8 = 128;
/// A signal that comes so soon after the first is the same request, sent to the process and to its group.
const AT_ONCE: Duration = Duration::from_millis(500);
/// Stack of the thread that works, as large as that of the first usually is.
const STACK_BYTES: usize = 8 << 20;
/// Time between two looks at the thread that works, if nothing wakes who looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// From now on holds the number of the signal that asks for the end, or 0. Asked again later, the process ends at once.
pub(super) fn listen() -> Result<Arc<AtomicUsize>, Report> {
    listen_for(thread::current()).into_diagnostic().wrap_err("signals cannot be caught")
}

fn listen_for(waiting: thread::Thread) -> io::Result<Arc<AtomicUsize>> {
    let asked = Arc::new(AtomicUsize::new(0));
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let told = Arc::clone(&asked);
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut first: Option<Instant> = None;
        for signal in signals.forever() {
            if first.is_some_and(|first| first.elapsed() > AT_ONCE) {
                end(signal as usize);
            }
            first.get_or_insert_with(Instant::now);
            told.store(signal as usize, Ordering::Relaxed);
            waiting.unpark();
        }
    })?;
    Ok(asked)
}

/// Has work done that does not look whether it was asked to end. If it was, `tell` says on this thread what is complete
/// and what is missing, and the process ends.
pub(super) fn guarded<T: Send>(
    asked: &AtomicUsize,
    work: impl FnOnce() -> T + Send,
    tell: impl FnOnce(),
) -> Result<T, Report> {
    let waiting = thread::current();
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
    part_file::discard_all();
    process::exit(i32::from(STATUS_BASE) + signal as i32)
}

/// From now on a file that grows beyond the limit of the process is an error of who writes it, as a full disk is.
pub(super) fn outlive_file_limit() {
    // Without, the process is ended by the signal, which the error status of the shell tells just as well.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}
