//! The CTAs of a kernel's trace, read while it runs.
//!
//! A CTA is read when it is asked for, or on the way to one behind it that is asked for first. It is
//! kept until it has been taken; then it lives as long as its warps.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use isa::recorded::{Code, Cta};
use rtl::sm::CtaSource;
use trace::{KernelTrace, TraceError};

/// A kernel's trace as a running machine sees it.
#[derive(Debug)]
pub struct TraceSource {
    /// Bits of an address of the machine.
    address_bits: u32,
    reader: Mutex<Reader>,
    is_broken: AtomicBool,
}

#[derive(Debug)]
struct Reader {
    trace: KernelTrace,
    /// CTAs that were read before they were asked for.
    ahead: BTreeMap<u32, Arc<Cta>>,
    /// CTAs that were handed out.
    taken: Vec<Weak<Cta>>,
    most_in_memory: usize,
    /// Number of the next CTA in the file.
    next: u32,
    error: Option<TraceError>,
}

impl TraceSource {
    /// The CTAs that `trace` has not read yet, for a machine with so many address bits.
    #[must_use]
    pub fn new(trace: KernelTrace, address_bits: u32) -> Self {
        let reader =
            Reader { trace, ahead: BTreeMap::new(), taken: Vec::new(), most_in_memory: 0, next: 0, error: None };
        Self { address_bits, reader: Mutex::new(reader), is_broken: AtomicBool::new(false) }
    }

    /// Whether reading has failed: the CTAs behind are empty.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }

    /// Why reading has failed.
    pub fn take_error(&self) -> Option<TraceError> {
        self.reader().error.take()
    }

    /// CTAs that were in memory at once, at most.
    #[must_use]
    pub fn most_in_memory(&self) -> usize {
        self.reader().most_in_memory
    }

    fn reader(&self) -> MutexGuard<'_, Reader> {
        // A panic elsewhere ends the run; what was read until then is whole.
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    /// Reads up to a CTA.
    fn reach(&mut self, number: u32, address_bits: u32) -> Result<(), TraceError> {
        while self.next <= number {
            let Some(cta) = self.trace.next_cta()? else { return Ok(()) };
            let highest = self.trace.highest_address();
            if highest >> address_bits != 0 {
                let [x, y, z] = cta.index;
                let needed = u64::BITS - highest.leading_zeros();
                return Err(self.trace.refuse(format!(
                    "CTA ({x},{y},{z}), which ends here, touches {highest:#x}, but the machine has {address_bits} \
                     address bits: `--set addr_bits={needed}` gives it enough"
                )));
            }
            self.ahead.insert(self.next, Arc::new(cta));
            self.next += 1;
        }
        Ok(())
    }
}

impl CtaSource for TraceSource {
    fn take(&self, number: u32, learn: &mut dyn FnMut(&Code)) -> Option<Arc<Cta>> {
        let mut reader = self.reader();
        if let Err(error) = reader.reach(number, self.address_bits) {
            reader.error.get_or_insert(error);
            self.is_broken.store(true, Ordering::Relaxed);
        }
        learn(reader.trace.code());
        reader.taken.retain(|cta| cta.strong_count() > 0);
        let in_memory = reader.taken.len() + reader.ahead.len();
        reader.most_in_memory = reader.most_in_memory.max(in_memory);
        let cta = reader.ahead.remove(&number);
        reader.taken.extend(cta.as_ref().map(Arc::downgrade));
        cta
    }
}
