//! # Statuses at the tags of an L1D, fills beside them, schemes
//! What becomes of an access depends on the cache, and on what arrives in its cycle: a fill is visible to the access
//! beside it. The points are every status beside every kind of arrival, under every scheme that a machine or a design has.

use rtl::l1::cache::CacheId;
use rtl::l1::watch::{Access, Fail, Outcome, Recalled, Watch};
use rtl::noc::packet::{Reply, ReplyKind};

use super::schemes::schemes;
use crate::kit::coverage::{Axis, Cross, hit};

const STATUSES: &str = "L1D statuses beside what arrives";

/// What arrives in the cycle: fill path 1 into the cache, which keeps the line unless it was written or recalled on its
/// way, or fill path 2 past it.
const ARRIVES: [&str; 4] = ["nothing", "line kept", "line dropped", "data past it"];

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

/// The points.
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

const RECALLS: &str = "recalls of the L1D beside what happens to the line";

const FOUND: [&str; 4] = ["absent", "dropped", "on its way", "kept"];

/// Of the line, in the cycle of its recall.
const BESIDE: [&str; 4] = ["nothing", "a fill", "a waiter leaves", "an access"];

/// Recalls, which are the same under every scheme.
pub(crate) fn recalls() -> Cross {
    Cross { name: RECALLS, axes: vec![Axis::new("beside", BESIDE), Axis::new("copy", FOUND)], excluded: Vec::new() }
}

/// Counts what a recall found, and what else happened to its line.
fn observe_recall(watch: &Watch) {
    let Some((line, [found, ..])) = watch.recall else { return };
    let found = match found {
        Recalled::Absent => FOUND[0],
        Recalled::Dropped => FOUND[1],
        Recalled::Overtook => FOUND[2],
        Recalled::Kept => FOUND[3],
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

/// Counts what an edge showed: its events, and the reply that the LSU took.
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

/// What became of an access; read-only caches have no statuses here.
fn status(access: &Access) -> Option<&'static str> {
    let (outcome, is_atomic) = match *access {
        Access::Bypass { .. } => return Some("bypass"),
        Access::Load { cache: CacheId::Const | CacheId::Texture, .. } => return None,
        Access::Load { outcome, .. } | Access::Store { outcome, .. } => (outcome, false),
        Access::Atomic { outcome, .. } => (outcome, true),
    };
    Some(match outcome {
        Outcome::Hit => "hit",
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
