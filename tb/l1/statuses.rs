//! # Coverage of L1D access statuses
//! The status of an access depends on the cache and on what arrives in the same cycle. For example, a fill is
//! visible to an access of the same cycle. The coverage combines every status with every kind of arrival,
//! under the L1D scheme of every machine and design.

use rtl::l1::cache::CacheId;
use rtl::l1::watch::{Access, Fail, Outcome, RecallEffect, Watch};
use rtl::noc::packet::{Reply, ReplyKind};

use super::schemes::schemes;
use crate::kit::coverage::{Axis, Cross, hit};

const STATUSES: &str = "L1D statuses by arrival in the same cycle";

/// Kinds of data that may arrive from memory in a cycle. They are: nothing, a line that the cache keeps, a
/// line that it drops, and data for a bypassing load. A line is dropped if it was written or recalled while
/// in flight.
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

/// Declares the functional coverage of access statuses, by L1D scheme and kind of arrival.
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

/// Events that affect the recalled line in the same cycle as its recall.
const BESIDE: [&str; 4] = ["nothing", "a fill", "a waiter leaves", "an access"];

/// Declares the functional coverage of lines that the L2 recalls from the L1D. Recalls work the same way
/// under all schemes, so the scheme is not an axis of the coverage.
pub(crate) fn recalls() -> Cross {
    Cross { name: RECALLS, axes: vec![Axis::new("event", BESIDE), Axis::new("copy", FOUND)], excluded: Vec::new() }
}

/// Counts a coverage point for each recall: the state of the recalled line, combined with other events of
/// this line in the same cycle.
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
    let extra = [
        matches!(watch.fill, Some((CacheId::L1d, line, ..)) if is_it(line)),
        matches!(watch.drain, Some((CacheId::L1d, line, _)) if is_it(line)),
        watch.accesses().any(|access| is_it(of_access(access))),
    ];
    if extra == [false; 3] {
        hit(RECALLS, &[BESIDE[0], found]);
    }
    for (name, _) in BESIDE[1..].iter().zip(extra).filter(|(_, is_beside)| *is_beside) {
        hit(RECALLS, &[name, found]);
    }
}

/// Counts the coverage points of one clock edge: accesses, fills, recalls, and the memory reply that the LSU
/// accepted.
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

/// Returns the status of an access to the L1D. Returns `None` for a read-only cache, which is not part of
/// this coverage.
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
        // Only some schemes have an MSHR policy. The testbench of the MSHR policies checks the loads that a
        // policy refuses.
        Outcome::Refused(Fail::MshrPolicy, _) => return None,
        _ if is_atomic => "atomic",
        Outcome::Evicted | Outcome::Updated | Outcome::WrittenBack => "store_hit",
        Outcome::StoreMissed | Outcome::Overtook => "store_miss",
    })
}
