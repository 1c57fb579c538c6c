//! What the counters and the stall reasons mean: the sentences that stand beside them in the sources.

use std::sync::LazyLock;

use rtl::kernel::Reason;
use rtl::l1::watch::Fail;
use rtl::l2::Stall as BankStall;
use rtl::sm::StallReason;
use serde::Serialize;
pub use warpsieve::statistics::Entry as Counter;
use warpsieve::statistics::dictionary;

/// A reason to wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stall {
    /// Who waits.
    pub unit: &'static str,
    /// Its name.
    pub reason: &'static str,
    /// When it holds.
    pub meaning: &'static str,
    /// The counter of its cycles.
    pub counted: String,
}

/// Every key of the statistics, in their order.
pub fn counters() -> &'static [Counter] {
    static COUNTERS: LazyLock<Vec<Counter>> = LazyLock::new(dictionary);
    &COUNTERS
}

/// Every reason, from the schedulers to the L2.
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

/// Name and counter of each stage of a load, in their order.
pub fn stages() -> impl Iterator<Item = (&'static str, &'static Counter)> {
    let stage = |counter: &'static Counter| Some((counter.key.strip_prefix("stages.")?, counter));
    counters().iter().filter_map(stage).filter(|(name, _)| !name.contains('.'))
}

/// What a key holds, and where its keys are listed.
#[must_use]
pub fn sentence(counter: &Counter) -> String {
    let Counter { meaning, like, nsight, .. } = counter;
    let keys = like.as_ref().map(|key| format!(" Keys: those of `{key}`."));
    let nsight = nsight.map(|metric| format!(" In Nsight Compute: `{metric}`."));
    format!("{meaning}{}{}", keys.unwrap_or_default(), nsight.unwrap_or_default())
}
