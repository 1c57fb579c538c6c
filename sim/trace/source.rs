//! CTAs of a kernel's trace, read while the machine runs.
//!
//! CTAs are read in the order of the trace. A CTA is read when the machine requests this CTA or a later one,
//! or in advance by a read-ahead thread. It is buffered until the machine takes it, and remains in memory
//! until its warps have ended.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use isa::recorded::{Code, Cta};
use rtl::sm::CtaSource;
use trace::{KernelTrace, TraceError, Warning};

/// Trace of a kernel, from which a running machine takes its CTAs.
#[derive(Debug)]
pub struct TraceSource {
    shared: Arc<SharedState>,
}

#[derive(Debug)]
struct SharedState {
    /// Approximate limit on the memory for CTAs that are read before they are requested, in bytes.
    most_ahead: usize,
    /// Trace file, locked by the thread that reads from it. A thread that needs both this lock and the lock
    /// of `state` must acquire the lock of the trace file first.
    trace: Mutex<KernelTrace>,
    state: Mutex<State>,
    /// Signals to the read-ahead thread that the machine has taken a CTA, or that it will not take any more.
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// CTAs that have been read, but not yet taken by the machine. The next field is their total size in
    /// bytes.
    ahead: BTreeMap<u32, Arc<Cta>>,
    bytes_ahead: usize,
    /// Instructions that occur in the CTAs read so far.
    code: Arc<Code>,
    /// CTAs that the machine has taken. The reference to a CTA is weak: it becomes invalid when the warps of
    /// the CTA have ended.
    taken: Vec<Weak<Cta>>,
    most_in_memory: usize,
    /// Number of the next CTA that will be read from the file.
    next: u32,
    end: Option<End>,
    /// True if the machine has requested a CTA that cannot be read because of an error.
    is_broken: bool,
    /// True if the machine will request no more CTAs.
    is_left: bool,
}

/// Reason why no further CTA is read from the file.
#[derive(Debug)]
enum End {
    /// The end of the trace was reached.
    Reached,
    /// A read error occurred. Contains the error; `None` after the error has been returned to the caller.
    Failed(Option<TraceError>),
}

impl TraceSource {
    /// Creates a source that provides the CTAs that have not been read from `trace` yet. If `most_ahead` is
    /// not 0, a read-ahead thread buffers up to `most_ahead` bytes of CTAs.
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
        let shared = Arc::new(SharedState { most_ahead, trace, state, changed: Condvar::new() });
        if most_ahead > 0 {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.read_ahead());
        }
        Self { shared }
    }

    /// True if the machine requested a CTA that cannot be provided because of a read error. From then on, the
    /// machine gets empty CTAs.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.shared.state().is_broken
    }

    /// Returns the read error if a requested CTA cannot be provided because of it. Later calls return `None`.
    pub fn take_error(&self) -> Option<TraceError> {
        match &mut *self.shared.state() {
            State { is_broken: true, end: Some(End::Failed(error)), .. } => error.take(),
            _ => None,
        }
    }

    /// Reads the rest of the file, because the checksum of a compressed file is at its end. Returns all
    /// warnings about the trace, or `None` if `is_stopped` interrupted the reading. The machine must not
    /// request any CTA afterward.
    ///
    /// # Errors
    /// Fails if the rest of the file is invalid.
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

    /// Makes the read-ahead thread exit.
    fn leave(&self) {
        self.shared.state().is_left = true;
        self.shared.changed.notify_all();
    }

    /// Maximum number of CTAs that were in memory at the same time.
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
    /// Updates the maximum number of CTAs that were in memory at the same time.
    fn count(&mut self) {
        self.taken.retain(|cta| cta.strong_count() > 0);
        self.most_in_memory = self.most_in_memory.max(self.taken.len() + self.ahead.len());
    }
}

impl SharedState {
    fn state(&self) -> MutexGuard<'_, State> {
        // The state is always consistent, even if a thread panicked while it held the lock, so it can still
        // be used.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trace(&self) -> MutexGuard<'_, KernelTrace> {
        let Ok(trace) = self.trace.lock() else { panic!("a thread has panicked while it read the trace") };
        trace
    }

    /// Main function of the read-ahead thread.
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

    /// Reads CTAs from the file up to and including the CTA with this number.
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
            // Another thread may have met a read error while this thread waited for the lock. A read after
            // an error yields no CTA, as at the end of the trace. The error must nevertheless remain the
            // recorded reason why no further CTA is read.
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

    /// Tests that a read error remains the recorded reason why no further CTA is read, even if another
    /// thread, such as the read-ahead thread, tries to continue reading after the error.
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
