//! Converts panics of the simulator into error reports.
//!
//! Hardware blocks of the model contain assertions, for example that a channel carries at most one beat per
//! cycle, and that an array is not accessed more often per cycle than it has ports. The message of a failed
//! assertion contains the cycle and the path of the hardware block. Such a failure is a bug in the model, not
//! a user error, so the user gets one message instead of a stack trace. `RUST_BACKTRACE=1` adds the trace.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use rtl::hook::{self, HookCall};

thread_local! {
    /// Last panic message of this thread while it executes [`catch_panic`]; empty if it has not panicked.
    /// `None` outside [`catch_panic`].
    static SEEN: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Number of threads that are executing [`catch_panic`].
static WATCHED: AtomicUsize = AtomicUsize::new(0);
/// Last panic message of a helper thread: a thread that may work for a thread in [`catch_panic`], but does
/// not execute [`catch_panic`] itself.
static HELPER: Mutex<String> = Mutex::new(String::new());

/// Runs `work` and returns its result.
///
/// After a panic, state that `work` has modified is invalid and must not be used.
///
/// # Errors
/// If `work` panics, returns the message and the source location of the panic.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(install_hook);
    // Calls of `catch_panic` may be nested, so the message of the enclosing call is saved in `outer`.
    let outer = SEEN.replace(Some(String::new()));
    WATCHED.fetch_add(1, Ordering::Relaxed);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    WATCHED.fetch_sub(1, Ordering::Relaxed);
    let mut seen = SEEN.replace(outer).unwrap_or_default();
    done.map_err(|_| {
        hook::forget();
        if seen.is_empty() {
            // This thread has recorded no message, so the panic occurred in a helper thread and was
            // propagated to this thread.
            seen = std::mem::take(&mut *HELPER.lock().unwrap_or_else(PoisonError::into_inner));
        }
        let blamed = if seen.starts_with("scheme `") { "The scheme" } else { "The model" };
        format!("internal error: {seen}\n{blamed} broke one of its own rules. No result of this run can be trusted.")
    })
}

/// Installs a panic hook that records panics of threads executing [`catch_panic`] and of their possible
/// helper threads. The hook prints such panics only if `RUST_BACKTRACE` is set.
fn install_hook() {
    let earlier = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let is_ours = SEEN.with_borrow_mut(|seen| seen.as_mut().map(|seen| *seen = message(info)).is_some());
        let is_helper = !is_ours && WATCHED.load(Ordering::Relaxed) > 0;
        if is_helper {
            *HELPER.lock().unwrap_or_else(PoisonError::into_inner) = message(info);
        }
        if !(is_ours || is_helper) || std::env::var_os("RUST_BACKTRACE").is_some() {
            earlier(info);
        }
    }));
}

/// Describes a call of one of a scheme's functions (hooks), for the message about an error in this call.
#[must_use]
pub fn format_hook_call(HookCall { hook, cycle, .. }: &HookCall) -> String {
    format!("scheme `{}` of `{}` in its hook `{}`, cycle {cycle}", hook.scheme, hook.slot, hook.name)
}

fn message(info: &PanicHookInfo<'_>) -> String {
    let text = info.payload_as_str().unwrap_or("a panic without a message");
    let text = match hook::current_call() {
        Some(call) => format!("{}: {text}", format_hook_call(&call)),
        None => text.to_owned(),
    };
    match info.location() {
        Some(place) => format!("{text}\n  at {}:{}", place.file(), place.line()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_message_with_its_place() {
        let report = catch_panic(|| -> u32 { panic!("cycle 118, sm3.l1: sent while ready is low") }).unwrap_err();
        assert!(report.starts_with("internal error: cycle 118, sm3.l1: sent while ready is low\n  at "), "{report}");
        assert!(report.contains("crash.rs:"), "{report}");
        assert_eq!(catch_panic(|| 7), Ok(7));
    }

    #[test]
    fn a_panic_in_a_hook_names_the_scheme_the_hook_and_the_cycle() {
        let numbers = hook::Numbers::default();
        let called = || {
            numbers.call(("l1.bypass", "mine", &["start", "on_lookup"]), 1, Some(118), || -> u32 {
                panic!("no such line")
            })
        };
        let report = catch_panic(called).unwrap_err();
        let named =
            "internal error: scheme `mine` of `l1.bypass` in its hook `on_lookup`, cycle 118: no such line\n  at ";
        assert!(report.starts_with(named), "{report}");
        assert!(
            report.ends_with("\nThe scheme broke one of its own rules. No result of this run can be trusted."),
            "{report}"
        );
        let next = catch_panic(|| -> u32 { panic!("of the model") }).unwrap_err();
        assert!(next.starts_with("internal error: of the model\n") && next.contains("\nThe model broke"), "{next}");
    }

    #[test]
    fn a_panic_of_a_thread_that_works_for_another_is_told_by_that_one() {
        let report = catch_panic(|| {
            let helper = std::thread::spawn(|| panic!("of a helper"));
            helper.join().unwrap_or_else(|broken| panic::resume_unwind(broken))
        });
        assert!(report.unwrap_err().starts_with("internal error: of a helper\n  at "));
    }

    #[test]
    fn work_that_catches_a_panic_of_its_own_is_still_watched_itself() {
        let report = catch_panic(|| -> u32 {
            assert!(catch_panic(|| panic!("inner")).is_err());
            panic!("outer")
        });
        assert!(report.unwrap_err().starts_with("internal error: outer\n  at "));
    }
}
