//! Panics of the model, turned into a report.
//!
//! Blocks assert the rules they live by (one beat a cycle on a channel, no more accesses than an
//! array has ports) and name cycle and path when one is broken. That is a mistake of the model, not
//! of its user, who gets one message instead of a stack trace; `RUST_BACKTRACE=1` keeps the trace.

use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Arc, Mutex, PoisonError};

/// Runs `work`; if it panics, the message and the place in the source.
///
/// Whatever `work` was changing is lost: its result is the only thing to be used afterwards.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let seen = Arc::new(Mutex::new(None));
    let earlier = panic::take_hook();
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        let seen = Arc::clone(&seen);
        panic::set_hook(Box::new(move |info| {
            *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(message(info));
        }));
    }
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    panic::set_hook(earlier);
    done.map_err(|_| {
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).take();
        let what = seen.unwrap_or_else(|| "see the trace above".to_owned());
        format!("internal error: {what}\nThe model broke one of its own rules. Nothing of this run can be trusted.")
    })
}

fn message(info: &PanicHookInfo<'_>) -> String {
    let text = info.payload_as_str().unwrap_or("a panic without a message");
    match info.location() {
        Some(place) => format!("{text}\n  at {}:{}", place.file(), place.line()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_message_with_its_place() {
        let report = caught(|| -> u32 { panic!("cycle 118, sm3.l1: sent while ready is low") }).unwrap_err();
        assert!(report.starts_with("internal error: cycle 118, sm3.l1: sent while ready is low\n  at "), "{report}");
        assert!(report.contains("crash.rs:"), "{report}");
        assert_eq!(caught(|| 7), Ok(7));
    }
}
