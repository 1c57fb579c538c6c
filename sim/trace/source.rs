//! The CTAs of a kernel's trace, read while the machine runs.
//!
//! A CTA is read when it is asked for, or on the way to one behind it that is asked for first; or before, by a thread that
//! reads ahead. It is kept until it has been taken; then it lives as long as its warps.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use isa::recorded::{Code, Cta};
use rtl::sm::CtaSource;
use trace::{KernelTrace, TraceError, Warning};

/// A kernel's trace as a running machine sees it.
#[derive(Debug)]
pub struct TraceSource {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Bytes that CTAs may take which nobody has asked for yet, about.
    most_ahead: usize,
    /// With whoever reads; locked before the state if both are.
    trace: Mutex<KernelTrace>,
    state: Mutex<State>,
    /// A CTA was taken, or nobody takes any more.
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// CTAs that were read and not taken, and the bytes that they take.
    ahead: BTreeMap<u32, Arc<Cta>>,
    bytes_ahead: usize,
    /// The instructions of all that were read.
    code: Arc<Code>,
    /// CTAs that were handed out.
    taken: Vec<Weak<Cta>>,
    most_in_memory: usize,
    /// Number of the next CTA in the file.
    next: u32,
    end: Option<End>,
    /// Somebody has asked for a CTA that is behind an error.
    is_broken: bool,
    /// Nobody asks any more.
    is_left: bool,
}

/// Why no more is read.
#[derive(Debug)]
enum End {
    /// There is no more.
    Reached,
    /// `None` once it was told.
    Failed(Option<TraceError>),
}

impl TraceSource {
    /// The CTAs that `trace` has not read yet. So many bytes of memory of them are read before they are asked for, by a
    /// thread of its own if it is more than none.
    #[must_use]
    pub fn new(trace: KernelTrace, most_ahead: usize) -> Self {
        let state = State {
            ahead: BTreeMap::new(),
            bytes_ahead: 0,
            code: Arc::new(trace.code().clone()),
            taken: Vec::new(),
            most_in_memory: 0,
            next: 0,
            end: None,
            is_broken: false,
            is_left: false,
        };
        let (trace, state) = (Mutex::new(trace), Mutex::new(state));
        let shared = Arc::new(Shared { most_ahead, trace, state, changed: Condvar::new() });
        if most_ahead > 0 {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.read_ahead());
        }
        Self { shared }
    }

    /// Whether reading has failed before a CTA that was asked for: it and those behind are empty.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.shared.state().is_broken
    }

    /// Why reading has failed, if a CTA was asked for that is missing for it.
    pub fn take_error(&self) -> Option<TraceError> {
        match &mut *self.shared.state() {
            State { is_broken: true, end: Some(End::Failed(error)), .. } => error.take(),
            _ => None,
        }
    }

    /// Reads what follows the CTAs that were asked for, to the end of the file: only there stand the last checksums of a
    /// compressed one. Returns all warnings about the trace; `None` if `is_stopped` has said to leave off. No CTA can be
    /// asked for any more.
    ///
    /// # Errors
    /// Whatever is wrong with the rest of the file.
    pub fn finish(&self, is_stopped: impl Fn() -> bool) -> Result<Option<Vec<Warning>>, TraceError> {
        self.leave();
        let mut trace = self.shared.trace();
        if let Some(End::Failed(error)) = &mut self.shared.state().end
            && let Some(error) = error.take()
        {
            return Err(error);
        }
        while !is_stopped() {
            if trace.next_cta()?.is_none() {
                return Ok(Some(trace.warnings().to_vec()));
            }
        }
        Ok(None)
    }

    /// Ends the thread that reads ahead.
    fn leave(&self) {
        self.shared.state().is_left = true;
        self.shared.changed.notify_all();
    }

    /// CTAs that were in memory at once, at most.
    #[must_use]
    pub fn most_in_memory(&self) -> usize {
        self.shared.state().most_in_memory
    }
}

impl Drop for TraceSource {
    fn drop(&mut self) {
        self.leave();
    }
}

impl State {
    /// Counts the CTAs that are in memory.
    fn count(&mut self) {
        self.taken.retain(|cta| cta.strong_count() > 0);
        self.most_in_memory = self.most_in_memory.max(self.taken.len() + self.ahead.len());
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // What was read until a panic is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trace(&self) -> MutexGuard<'_, KernelTrace> {
        let Ok(trace) = self.trace.lock() else { panic!("a thread has panicked while it read the trace") };
        trace
    }

    /// The life of the thread that reads ahead.
    fn read_ahead(&self) {
        let is_idle = |state: &mut State| !state.is_left && state.end.is_none() && state.bytes_ahead >= self.most_ahead;
        loop {
            let waited = self.changed.wait_while(self.state(), is_idle);
            let state = waited.unwrap_or_else(PoisonError::into_inner);
            if state.is_left || state.end.is_some() {
                return;
            }
            drop(state);
            self.read_next(&mut self.trace());
        }
    }

    /// Reads up to a CTA.
    fn reach(&self, number: u32) {
        let is_due = |state: &State| state.next <= number && state.end.is_none();
        if is_due(&self.state()) {
            let mut trace = self.trace();
            while is_due(&self.state()) {
                self.read_next(&mut trace);
            }
        }
    }

    fn read_next(&self, trace: &mut KernelTrace) {
        let read = trace.next_cta();
        let mut state = self.state();
        if state.code.operations().len() < trace.code().operations().len() {
            state.code = Arc::new(trace.code().clone());
        }
        match read {
            Ok(Some(cta)) => {
                let number = state.next;
                state.bytes_ahead += cta.bytes();
                state.ahead.insert(number, Arc::new(cta));
                state.next += 1;
                state.count();
            }
            // Whoever waited for the trace finds no more behind an error: that stays why no more is read.
            Ok(None) => _ = state.end.get_or_insert(End::Reached),
            Err(error) => state.end = Some(End::Failed(Some(error))),
        }
    }
}

impl CtaSource for TraceSource {
    fn take(&self, number: u32, learn: &mut dyn FnMut(&Code)) -> Option<Arc<Cta>> {
        let Self { shared } = self;
        shared.reach(number);
        let mut state = shared.state();
        let cta = state.ahead.remove(&number);
        state.is_broken |= cta.is_none() && matches!(state.end, Some(End::Failed(_)));
        state.bytes_ahead -= cta.as_ref().map_or(0, |cta| cta.bytes());
        state.taken.extend(cta.as_ref().map(Arc::downgrade));
        state.count();
        shared.changed.notify_all();
        let code = Arc::clone(&state.code);
        drop(state);
        learn(&code);
        cta
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use trace::Limits;

    use super::*;

    /// The thread that reads ahead may come to an end that another reader has found.
    #[test]
    fn an_error_stays_one_to_whoever_reads_on_behind_it() {
        let text = "-kernel name = k\n-grid dim = (2,1,1)\n-block dim = (32,1,1)\n#traces format = x\n#BEGIN_TB\n\
                    thread block = 0,0,0\n#END_TB\nnonsense\n";
        let trace = KernelTrace::new(Cursor::new(text), "k.traceg", Limits::default()).unwrap();
        let source = TraceSource::new(trace, 0);
        assert!(source.take(0, &mut |_| {}).is_some());
        source.shared.reach(1);
        source.shared.read_next(&mut source.shared.trace());
        assert!(source.take(1, &mut |_| {}).is_none() && source.is_broken());
        assert!(source.take_error().is_some_and(|error| error.to_string().contains("`nonsense`")));
    }
}
