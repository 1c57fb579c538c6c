//! Panics of the model, turned into a report.
//!
//! Blocks assert the rules they live by (one beat a cycle on a channel, no more accesses than an
//! array has ports) and name cycle and path when one is broken. That is a mistake of the model, not
//! of its user, who gets one message instead of a stack trace; `RUST_BACKTRACE=1` gives the trace too.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

thread_local! {
    /// While [`caught`] works on this thread: what its panic said.
    static SEEN: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `work`; if it panics, the message and the place in the source.
///
/// Whatever `work` was changing is lost: its result is the only thing to be used afterwards.
///
/// # Errors
/// The report of a panic.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(listen);
    // Whoever calls may be in work of its own that is watched.
    let outer = SEEN.replace(Some(String::new()));
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    let seen = SEEN.replace(outer).unwrap_or_default();
    done.map_err(|_| {
        format!("internal error: {seen}\nThe model broke one of its own rules. Nothing of this run can be trusted.")
    })
}

/// From now on panics on a thread that is in [`caught`] are noted there, and shown only if a stack
/// trace is wanted.
fn listen() {
    let earlier = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let is_ours = SEEN.with_borrow_mut(|seen| seen.as_mut().map(|seen| *seen = message(info)).is_some());
        if !is_ours || std::env::var_os("RUST_BACKTRACE").is_some() {
            earlier(info);
        }
    }));
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

    #[test]
    fn work_that_catches_a_panic_of_its_own_is_still_watched_itself() {
        let report = caught(|| -> u32 {
            assert!(caught(|| panic!("inner")).is_err());
            panic!("outer")
        });
        assert!(report.unwrap_err().starts_with("internal error: outer\n  at "));
    }
}
