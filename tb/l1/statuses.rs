//! # Coverage of L1D statuses, fills in the same cycle, and schemes
//! The status of an access depends on the cache and on arrivals of the same cycle. A fill, for example, is
//! visible to an access of its cycle. The points cross every status with every kind of arrival, under every
//! L1D scheme of a machine or design.

use rtl::l1::cache::CacheId;
use rtl::l1::watch::{Access, Fail, Outcome, RecallEffect, Watch};
use rtl::noc::packet::{Reply, ReplyKind};

use super::schemes::schemes;
use crate::kit::coverage::{Axis, Cross, hit};

const STATUSES: &str = "L1D statuses by arrival in the same cycle";

/// Arrivals of a cycle. Fill path 1 fills the cache, which drops the line if it was written or recalled in
/// flight; fill path 2 bypasses the cache.
const ARRIVES: [&str; 4] = ["nothing", "line kept", "line dropped", "data of a bypass"];

const AT_TAGS: [&str; 11] = [
    "hit",
    "hit_pending",
    "miss",
    "bypass",
    "store_hit",
    "store_miss",
    "atomic",
    "line_alloc",
    "mshr_entry",
    "mshr_merge",
    "miss_queue",
];

/// Declares the coverage of statuses, by scheme and arrival.
pub(crate) fn cross() -> Cross {
    Cross {
        name: STATUSES,
        axes: vec![
            Axis::new("scheme", schemes().iter().map(|scheme| scheme.name)),
            Axis::new("arrives", ARRIVES),
            Axis::new("status", AT_TAGS),
        ],
        excluded: Vec::new(),
    }
}

const RECALLS: &str = "recalls of the L1D by other events of the line";

const FOUND: [&str; 4] = ["absent", "dropped", "in flight", "kept"];

/// Events that concern the recalled line in the cycle of its recall.
const BESIDE: [&str; 4] = ["nothing", "a fill", "a waiter leaves", "an access"];

/// Declares the coverage of recalls by the L2. Recalls work alike under all schemes, so there is no axis for
/// the scheme.
pub(crate) fn recalls() -> Cross {
    Cross { name: RECALLS, axes: vec![Axis::new("event", BESIDE), Axis::new("copy", FOUND)], excluded: Vec::new() }
}

/// Counts the state in which a recall found its line, and other events of that line in the same cycle.
fn observe_recall(watch: &Watch) {
    let Some((line, [found, ..])) = watch.recall else { return };
    let found = match found {
        RecallEffect::Absent => FOUND[0],
        RecallEffect::Dropped => FOUND[1],
        RecallEffect::Overtook => FOUND[2],
        RecallEffect::Kept => FOUND[3],
    };
    let is_it = |other: u64| other == line;
    let of_access = |access: &Access| match *access {
        Access::Load { line, .. } | Access::Bypass { line, .. } => line,
        Access::Store { line, .. } | Access::Atomic { line, .. } => line,
    };
    let beside = [
        matches!(watch.fill, Some((CacheId::L1d, line, ..)) if is_it(line)),
        matches!(watch.drain, Some((CacheId::L1d, line, _)) if is_it(line)),
        watch.accesses().any(|access| is_it(of_access(access))),
    ];
    if beside == [false; 3] {
        hit(RECALLS, &[BESIDE[0], found]);
    }
    for (name, _) in BESIDE[1..].iter().zip(beside).filter(|(_, is_beside)| *is_beside) {
        hit(RECALLS, &[name, found]);
    }
}

/// Counts the events of one edge: accesses, fills and recalls, and the reply that the LSU took.
pub(crate) fn observe(scheme: &str, watch: &Watch, taken: Option<&Reply>) {
    observe_recall(watch);
    let arrives = match (watch.fill, taken) {
        (Some((CacheId::L1d, _, _, kept)), _) => ARRIVES[if kept != 0 { 1 } else { 2 }],
        (None, Some(reply)) if reply.kind == ReplyKind::Data => ARRIVES[3],
        _ => ARRIVES[0],
    };
    for status in watch.accesses().filter_map(status) {
        hit(STATUSES, &[scheme, arrives, status]);
    }
}

/// Returns the status of an access, or `None` for the read-only caches, which this coverage leaves out.
fn status(access: &Access) -> Option<&'static str> {
    let (outcome, is_atomic) = match *access {
        Access::Bypass { .. } => return Some("bypass"),
        Access::Load { cache: CacheId::Const | CacheId::Texture, .. } => return None,
        Access::Load { outcome, .. } | Access::Store { outcome, .. } => (outcome, false),
        Access::Atomic { outcome, .. } => (outcome, true),
    };
    Some(match outcome {
        Outcome::Hit | Outcome::VictimHit(_) => "hit",
        Outcome::HitPending => "hit_pending",
        Outcome::Miss(_) => "miss",
        Outcome::Refused(Fail::LineAlloc, _) => "line_alloc",
        Outcome::Refused(Fail::MshrEntry, _) => "mshr_entry",
        Outcome::Refused(Fail::MshrMerge, _) => "mshr_merge",
        Outcome::Refused(Fail::MissQueue, _) => "miss_queue",
        _ if is_atomic => "atomic",
        Outcome::Evicted | Outcome::Updated | Outcome::WrittenBack => "store_hit",
        Outcome::StoreMissed | Outcome::Overtook => "store_miss",
    })
}
