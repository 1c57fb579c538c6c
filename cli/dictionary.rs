//! What the counters and the stall reasons mean: the sentences that stand beside them in the sources, which
//! `cli/build/dictionary.rs` gathers.

use serde::Serialize;

/// A key of the statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counter {
    /// Its path; behind `[]` are the keys of an element.
    pub key: &'static str,
    /// What it holds.
    pub meaning: &'static str,
    /// The key that has the same keys inside, where they are listed.
    pub like: Option<&'static str>,
    /// There are several, in a list.
    pub is_list: bool,
}

/// A reason to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Stall {
    /// Who waits.
    pub unit: &'static str,
    /// Its name.
    pub reason: &'static str,
    /// When it holds.
    pub meaning: &'static str,
    /// The counter of its cycles.
    pub counted: &'static str,
}

/// Every key of the statistics, in their order.
pub const COUNTERS: &[Counter] = include!(concat!(env!("OUT_DIR"), "/counters.rs"));

/// Every reason, from the schedulers to the L2.
pub const STALLS: &[Stall] = include!(concat!(env!("OUT_DIR"), "/stalls.rs"));

/// Name and counter of each stage of a load, in their order.
pub fn stages() -> impl Iterator<Item = (&'static str, &'static Counter)> {
    let stage = |counter: &'static Counter| Some((counter.key.strip_prefix("stages.")?, counter));
    COUNTERS.iter().filter_map(stage).filter(|(name, _)| !name.contains('.'))
}

impl Counter {
    /// What it holds, and where its keys are listed.
    #[must_use]
    pub fn sentence(&self) -> String {
        let keys = self.like.map(|key| format!(" Keys: those of `{key}`."));
        format!("{}{}", self.meaning, keys.unwrap_or_default())
    }
}
