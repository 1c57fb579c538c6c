//! # Hooks under way
//! A scheme is a user's code, called once or more in a cycle. If it panics or never returns, the run must say which scheme
//! it was, which hook of it, and when. The wrapper around the hooks of a slot notes each call here.
//!
//! A call costs two stores to memory of its thread. Nothing is allocated, locked or looked up but by the first call of a
//! hook, and a slot without a scheme has no wrapper.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::kernel::name::Name;

/// A hook of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Key of the configuration that chooses the scheme: `l1.bypass`.
    pub slot: &'static str,
    /// Its kind.
    pub scheme: Name,
    /// The method.
    pub name: &'static str,
}

/// A call that has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// What was called.
    pub hook: Hook,
    /// Cycle of the last call that was told one.
    pub cycle: u64,
    /// Number of the call in its thread.
    pub number: u64,
    /// Number of the thread among those that ever called a hook.
    pub thread: u64,
}

/// Numbers of the hooks of a wrapper, from the first on; 0 before its first call.
#[derive(Debug, Default)]
pub struct Numbers(Cell<u64>);

/// Hooks by number, from 1.
static HOOKS: Mutex<Vec<Hook>> = Mutex::new(Vec::new());
/// Threads that have called a hook and are still there.
static THREADS: Mutex<Vec<Weak<Thread>>> = Mutex::new(Vec::new());

/// What other threads may know of one.
#[derive(Debug, Default)]
struct Thread {
    /// Number of the call, then that of the hook in the low bits; 0 if none is under way.
    call: AtomicU64,
    cycle: AtomicU64,
    number: u64,
}

/// Bits for the number of a hook.
const HOOK_BITS: u32 = 16;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static THREAD: Arc<Thread> = enlisted();
}

fn held<T>(list: &Mutex<Vec<T>>) -> MutexGuard<'_, Vec<T>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

fn enlisted() -> Arc<Thread> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let thread = Arc::new(Thread { number: NUMBER.fetch_add(1, Ordering::Relaxed), ..Thread::default() });
    let mut threads = held(&THREADS);
    threads.retain(|other| other.strong_count() > 0);
    threads.push(Arc::downgrade(&thread));
    thread
}

impl Numbers {
    /// Calls the hook of this place among `names`, those of all hooks of the slot.
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

/// Numbers of the hooks of a scheme: one list for all its wrappers.
#[cold]
fn enter(slot: &'static str, scheme: Name, names: &[&'static str]) -> u64 {
    let mut hooks = held(&HOOKS);
    let known = hooks.iter().position(|hook| hook.slot == slot && hook.scheme == scheme);
    let at = known.unwrap_or_else(|| {
        let at = hooks.len();
        hooks.extend(names.iter().map(|&name| Hook { slot, scheme, name }));
        at
    });
    at as u64 + 1
}

/// No call of this thread is under way: it has returned, or was left by a panic that was caught.
pub fn forget() {
    THREAD.with(|thread| thread.call.store(0, Ordering::Relaxed));
}

/// The call of this thread that is under way.
#[must_use]
pub fn under_way() -> Option<Call> {
    THREAD.try_with(|thread| seen(thread)).ok().flatten()
}

/// The calls of all threads that are under way.
#[must_use]
pub fn all_under_way() -> Vec<Call> {
    let threads: Vec<_> = held(&THREADS).iter().filter_map(Weak::upgrade).collect();
    threads.iter().filter_map(|thread| seen(thread)).collect()
}

fn seen(thread: &Thread) -> Option<Call> {
    let call = thread.call.load(Ordering::Relaxed);
    let hook = (call & ((1 << HOOK_BITS) - 1)).checked_sub(1)?;
    let hook = *held(&HOOKS).get(hook as usize)?;
    Some(Call { hook, cycle: thread.cycle.load(Ordering::Relaxed), number: call >> HOOK_BITS, thread: thread.number })
}

#[cfg(test)]
mod tests {
    use std::panic;

    use super::*;

    const NAMES: [&str; 2] = ["start", "served"];

    #[test]
    fn a_call_is_known_until_it_returns_also_to_another_thread() {
        let numbers = Numbers::default();
        let inner = numbers.call(("l1.bypass", "test", &NAMES), 1, Some(118), || {
            let mine = under_way().unwrap();
            let seen = std::thread::spawn(all_under_way).join().unwrap();
            assert!(seen.contains(&mine), "{seen:?}");
            mine
        });
        assert_eq!((inner.hook, inner.cycle), (Hook { slot: "l1.bypass", scheme: "test", name: "served" }, 118));
        assert_eq!(under_way(), None);
        let next = numbers.call(("l1.bypass", "test", &NAMES), 0, None, || under_way().unwrap());
        assert_eq!((next.hook.name, next.number), ("start", inner.number + 1));
    }

    #[test]
    fn a_call_that_panics_is_known_while_the_panic_is_told_and_can_be_forgotten() {
        let numbers = Numbers::default();
        let broken = panic::catch_unwind(panic::AssertUnwindSafe(|| {
            numbers.call(("throttle", "test", &NAMES), 0, Some(7), || panic!("expected by the test"))
        }));
        assert!(broken.is_err());
        assert_eq!(under_way().map(|call| (call.hook.slot, call.cycle)), Some(("throttle", 7)));
        forget();
        assert_eq!(under_way(), None);
    }
}
