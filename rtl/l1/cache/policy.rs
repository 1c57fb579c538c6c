//! Connection of the L1D to its MSHR policy: the decisions that the cache requests from the policy, and the
//! events that it reports to the policy. A prefetch is reported only if a load waits for its line.

use super::super::coalescer::LineAccess;
use super::Cache;
use crate::kernel::AnyEdge;
use crate::mshr_policy::{MshrRequest, MshrView};

/// Returns the fields of a load on which an MSHR policy can base its decision.
fn request_of(load: &LineAccess) -> MshrRequest {
    MshrRequest { requester: load.warp, line: load.line }
}

impl Cache {
    /// True if this cache has an MSHR policy.
    pub fn limits_mshr(&self) -> bool {
        self.mshr_policy.is_some()
    }

    /// True if the MSHR policy refuses a load that misses, although an MSHR entry is free.
    #[inline(always)]
    pub(super) fn refuses_miss(&self, load: &LineAccess) -> bool {
        self.mshr_policy.as_ref().is_some_and(|policy| {
            let view = MshrView { free: self.mshr.count_free(), waiters: 0 };
            !policy.may_allocate(&request_of(load), &view)
        })
    }

    /// True if the MSHR policy refuses a load of a line in flight, although the MSHR entry of the line could
    /// accept the load. `waiters` is the number of loads that already wait in the entry.
    #[inline(always)]
    pub(super) fn refuses_merge(&self, load: &LineAccess, waiters: u8) -> bool {
        self.mshr_policy.as_ref().is_some_and(|policy| {
            let view = MshrView { free: self.mshr.count_free(), waiters: waiters.into() };
            !policy.may_merge(&request_of(load), &view)
        })
    }

    /// Reports to the MSHR policy that a load has allocated an MSHR entry and waits in it.
    #[inline(always)]
    pub(super) fn on_miss(&mut self, at: &impl AnyEdge, entry: u16, load: &LineAccess) {
        if let Some(policy) = &mut self.mshr_policy {
            policy.on_allocate(at.edge(), entry.into(), &request_of(load));
        }
    }

    /// Reports to the MSHR policy that a load has merged into an MSHR entry that already tracked its line.
    #[inline(always)]
    pub(super) fn on_merge(&mut self, at: &impl AnyEdge, entry: u16, load: &LineAccess) {
        if let Some(policy) = &mut self.mshr_policy {
            policy.on_merge(at.edge(), entry.into(), &request_of(load));
        }
    }
}
