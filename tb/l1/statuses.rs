//! # Statuses at the tags of an L1D, fills beside them, schemes
//! What becomes of an access depends on the cache, and on what arrives in its cycle: a fill is visible to the access
//! beside it. The points are every status beside every kind of arrival, under every scheme that a machine or a design has.

use rtl::l1::cache::CacheId;
use rtl::l1::watch::{Access, Fail, Outcome, Watch};
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

/// Counts what an edge showed: its events, and the reply that the LSU took.
pub(crate) fn observe(scheme: &str, watch: &Watch, taken: Option<&Reply>) {
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
