//! SIGINT and SIGTERM: a run that is asked to end does so at its next look at the clock, with all
//! its files complete. Asked twice, the process ends at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Shells give a process ended by signal `n` the status 128 + `n`.
pub(super) const STATUS_BASE: u8 = 128;

/// From now on holds the number of the signal that asks for the end, or 0.
pub(super) fn listen() -> io::Result<Arc<AtomicUsize>> {
    let asked = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM] {
        let again = Arc::new(AtomicBool::new(false));
        flag::register_conditional_shutdown(signal, i32::from(STATUS_BASE) + signal, Arc::clone(&again))?;
        flag::register(signal, again)?;
        flag::register_usize(signal, Arc::clone(&asked), signal as usize)?;
    }
    Ok(asked)
}
