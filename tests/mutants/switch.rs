//! Selects the active mutant. This module is added to every crate with mutants, as `__mutant`.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Value of `CHOSEN` that activates no mutant. With this value, the mutants that a test reaches are recorded.
const NOTED: u32 = u32::MAX;

static CHOSEN: OnceLock<u32> = OnceLock::new();
static SEEN: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// True if mutant `number` is active.
#[inline]
pub(crate) fn on(number: u32) -> bool {
    let chosen = *CHOSEN.get_or_init(chosen);
    if chosen == NOTED {
        note(number);
    }
    chosen == number
}

fn chosen() -> u32 {
    if std::env::var_os("MUTANT_REACHED").is_some() {
        return NOTED;
    }
    std::env::var("MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[inline(never)]
fn note(number: u32) {
    let bit = 1 << (number % 64);
    let word = &SEEN[number as usize / 64];
    if word.load(Ordering::Relaxed) & bit != 0 || word.fetch_or(bit, Ordering::Relaxed) & bit != 0 {
        return;
    }
    let path = std::env::var_os("MUTANT_REACHED").unwrap_or_default();
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path) {
        let _ = file.write_all(format!("{number}\n").as_bytes());
    }
}
