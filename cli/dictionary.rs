//! Provides the meanings of the counters and of the stall reasons. The meanings are their doc comments in the
//! sources.

use std::sync::LazyLock;

use rtl::kernel::Reason;
use rtl::l1::watch::Fail;
use rtl::l2::Stall as BankStall;
use rtl::sm::StallReason;
use serde::Serialize;
pub use warpsieve::statistics::Entry as Counter;
use warpsieve::statistics::dictionary;

/// Reason why a unit of the machine stalls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stall {
    /// Unit of the machine that stalls, such as a scheduler.
    pub unit: &'static str,
    /// Name of the stall reason.
    pub reason: &'static str,
    /// Condition under which the unit stalls for this reason.
    pub meaning: &'static str,
    /// Key of the counter that counts the cycles in which the unit stalls for this reason.
    pub counted: String,
}

/// Returns every key of the statistics file, in the order in which the file lists them.
pub fn counters() -> &'static [Counter] {
    static COUNTERS: LazyLock<Vec<Counter>> = LazyLock::new(dictionary);
    &COUNTERS
}

/// Returns every stall reason, ordered from the schedulers to the L2.
pub fn stalls() -> &'static [Stall] {
    static STALLS: LazyLock<Vec<Stall>> = LazyLock::new(|| {
        let schedulers = reasons::<StallReason>("SM scheduler", "stalls");
        schedulers
            .filter(|stall| stall.reason != StallReason::Issued.name())
            .chain(reasons::<Fail>("cache of the LSU", "reservation_fails"))
            .chain(reasons::<BankStall>("L2 bank", "l2.stalls"))
            .collect()
    });
    &STALLS
}

fn reasons<R: Reason>(unit: &'static str, group: &'static str) -> impl Iterator<Item = Stall> {
    let named = R::NAMES.iter().zip(R::MEANINGS);
    named.map(move |(reason, meaning)| Stall { unit, reason, meaning, counted: format!("{group}.{reason}") })
}

/// Returns the stages through which a load passes, in pipeline order. For each stage, gives its name and the
/// counter of the time that loads spend in the stage.
pub fn stages() -> impl Iterator<Item = (&'static str, &'static Counter)> {
    let stage = |counter: &'static Counter| Some((counter.key.strip_prefix("stages.")?, counter));
    counters().iter().filter_map(stage).filter(|(name, _)| !name.contains('.'))
}

/// Returns a text about a key. The text consists of the meaning of the key, of the key whose subkeys it
/// shares (if any), and of its Nsight Compute metric (if any).
#[must_use]
pub fn sentence(counter: &Counter) -> String {
    let Counter { meaning, like, nsight, .. } = counter;
    let keys = like.as_ref().map(|key| format!(" Keys as in `{key}`."));
    let nsight = nsight.map(|metric| format!(" In Nsight Compute: `{metric}`."));
    format!("{meaning}{}{}", keys.unwrap_or_default(), nsight.unwrap_or_default())
}
