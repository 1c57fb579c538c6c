//! # Next-line prefetching
//! Smith (ACM Computing Surveys 14(3), 1982, section 2.1) compares three triggers: every reference, every
//! miss, and every miss or first reference to a prefetched line.

use serde::Deserialize;

use super::{CacheInfo, Prefetcher, Scheme, Seen};

/// Configuration of the next-line prefetcher.
#[derive(Clone, Debug, Deserialize)]
pub struct Config {
    /// Prefetch degree: number of lines to prefetch per trigger event.
    pub degree: i64,
    /// Name of the trigger: the kind of event that starts a prefetch.
    pub trigger: String,
}

#[typetag::deserialize(name = "next-line")]
impl Scheme for Config {
    fn twin(&self, _place: &CacheInfo) -> Option<Box<dyn Prefetcher>> {
        Some(Box::new(self.clone()))
    }
}

impl Prefetcher for Config {
    fn on_access(&mut self, seen: &Seen) -> Option<Vec<i64>> {
        let is_trigger = match self.trigger.as_str() {
            "always" => true,
            "miss" => seen.missed,
            _ => seen.missed | seen.is_first_use,
        };
        is_trigger.then(|| (1..=self.degree).map(|ahead| seen.line() + ahead).collect())
    }
}
