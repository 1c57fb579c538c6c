//! # Scheme hooks in progress
//! Records which hook of a scheme each thread is executing. A scheme is user code whose hooks may be called
//! several times per cycle. If a hook panics or never returns, the error report must name the scheme, the
//! hook and the cycle. The wrapper around the hooks of a scheme records each call here.
//!
//! A call costs two writes to thread-local memory. Only the first call of a hook allocates memory, locks a
//! mutex or searches a list. If the configuration selects no scheme, there is no wrapper and no cost.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::kernel::name::Name;

/// Names that identify a hook: the configuration key, the scheme and the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Configuration key that selects the scheme, such as `l1.bypass`.
    pub slot: &'static str,
    /// Kind of the scheme, as named in the configuration.
    pub scheme: Name,
    /// Name of the method.
    pub name: &'static str,
}

/// Call of a hook that has not returned yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookCall {
    /// Hook that was called.
    pub hook: Hook,
    /// Cycle of the most recent hook call on this thread that had the cycle as an argument.
    pub cycle: u64,
    /// Sequence number of the call within its thread.
    pub number: u64,
    /// Number of the thread; threads are numbered in the order in which they first call a hook.
    pub thread: u64,
}

/// Position of the first hook of a scheme's wrapper in the global list of hooks, counted from 1. The other
/// hooks of the scheme follow in the list. The value is 0 until a hook of this wrapper is called for the
/// first time.
#[derive(Debug, Default)]
pub struct Numbers(Cell<u64>);

/// Hooks of all schemes of which at least one hook has been called. The number of a hook is its position in
/// the list, counted from 1.
static HOOKS: Mutex<Vec<Hook>> = Mutex::new(Vec::new());
/// Threads that have called a hook; entries of finished threads are removed when a new thread is registered.
static THREADS: Mutex<Vec<Weak<Thread>>> = Mutex::new(Vec::new());

/// Hook call in progress on one thread, in a form that other threads may read.
#[derive(Debug, Default)]
struct Thread {
    /// Sequence number of the call, with the hook number in the low [`HOOK_BITS`] bits; 0 if no call is in
    /// progress.
    call: AtomicU64,
    cycle: AtomicU64,
    number: u64,
}

/// Width of a hook number in bits.
const HOOK_BITS: u32 = 16;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static THREAD: Arc<Thread> = register_thread();
}

fn lock<T>(list: &Mutex<Vec<T>>) -> MutexGuard<'_, Vec<T>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

fn register_thread() -> Arc<Thread> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let thread = Arc::new(Thread { number: NUMBER.fetch_add(1, Ordering::Relaxed), ..Thread::default() });
    let mut threads = lock(&THREADS);
    threads.retain(|other| other.strong_count() > 0);
    threads.push(Arc::downgrade(&thread));
    thread
}

impl Numbers {
    /// Calls `work`, which executes one hook, and records the call until `work` returns. `names` lists all
    /// hooks of the scheme; `hook` is the position of this hook in `names`.
    #[inline]
    pub fn call<R>(
        &self,
        (slot, scheme, names): (&'static str, Name, &[&'static str]),
        hook: usize,
        cycle: Option<u64>,
        work: impl FnOnce() -> R,
    ) -> R {
        let mut first = self.0.get();
        if first == 0 {
            first = enter(slot, scheme, names);
            self.0.set(first);
        }
        let number = CALLS.get() + 1;
        CALLS.set(number);
        THREAD.with(|thread| {
            if let Some(cycle) = cycle {
                thread.cycle.store(cycle, Ordering::Relaxed);
            }
            thread.call.store(number << HOOK_BITS | (first + hook as u64), Ordering::Relaxed);
        });
        let done = work();
        forget();
        done
    }
}

/// Returns the position of the first hook of a scheme in the global list of hooks, counted from 1. Adds the
/// hooks of the scheme to the list if they are missing; all wrappers of a scheme share the entries.
#[cold]
fn enter(slot: &'static str, scheme: Name, names: &[&'static str]) -> u64 {
    let mut hooks = lock(&HOOKS);
    let known = hooks.iter().position(|hook| hook.slot == slot && hook.scheme == scheme);
    let at = known.unwrap_or_else(|| {
        let at = hooks.len();
        hooks.extend(names.iter().map(|&name| Hook { slot, scheme, name }));
        at
    });
    at as u64 + 1
}

/// Records that this thread no longer executes a hook. Called after the hook has returned, or after its panic
/// was caught and reported.
pub fn forget() {
    THREAD.with(|thread| thread.call.store(0, Ordering::Relaxed));
}

/// Returns the hook call in progress on this thread.
#[must_use]
pub fn current_call() -> Option<HookCall> {
    THREAD.try_with(|thread| thread_call(thread)).ok().flatten()
}

/// Returns the hook calls in progress on all threads.
#[must_use]
pub fn current_calls() -> Vec<HookCall> {
    let threads: Vec<_> = lock(&THREADS).iter().filter_map(Weak::upgrade).collect();
    threads.iter().filter_map(|thread| thread_call(thread)).collect()
}

fn thread_call(thread: &Thread) -> Option<HookCall> {
    let call = thread.call.load(Ordering::Relaxed);
    let hook = (call & ((1 << HOOK_BITS) - 1)).checked_sub(1)?;
    let hook = *lock(&HOOKS).get(hook as usize)?;
    Some(HookCall {
        hook,
        cycle: thread.cycle.load(Ordering::Relaxed),
        number: call >> HOOK_BITS,
        thread: thread.number,
    })
}

#[cfg(test)]
mod tests {
    use std::panic;

    use super::*;

    const NAMES: [&str; 2] = ["start", "on_lookup"];

    #[test]
    fn a_call_is_known_until_it_returns_also_to_another_thread() {
        let numbers = Numbers::default();
        let inner = numbers.call(("l1.bypass", "test", &NAMES), 1, Some(118), || {
            let mine = current_call().unwrap();
            let seen = std::thread::spawn(current_calls).join().unwrap();
            assert!(seen.contains(&mine), "{seen:?}");
            mine
        });
        assert_eq!((inner.hook, inner.cycle), (Hook { slot: "l1.bypass", scheme: "test", name: "on_lookup" }, 118));
        assert_eq!(current_call(), None);
        let next = numbers.call(("l1.bypass", "test", &NAMES), 0, None, || current_call().unwrap());
        assert_eq!((next.hook.name, next.number), ("start", inner.number + 1));
    }

    #[test]
    fn a_call_that_panics_is_known_while_the_panic_is_told_and_can_be_forgotten() {
        let numbers = Numbers::default();
        let broken = panic::catch_unwind(panic::AssertUnwindSafe(|| {
            numbers.call(("throttle", "test", &NAMES), 0, Some(7), || panic!("expected by the test"))
        }));
        assert!(broken.is_err());
        assert_eq!(current_call().map(|call| (call.hook.slot, call.cycle)), Some(("throttle", 7)));
        forget();
        assert_eq!(current_call(), None);
    }
}
