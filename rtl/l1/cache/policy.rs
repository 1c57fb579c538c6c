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
        self.mshr_policy.is_some() && self.ask_mshr_policy(load, None)
    }

    /// True if the MSHR policy refuses a load of a line in flight, although the MSHR entry of the line could
    /// accept the load. `waiters` is the number of loads that already wait in the entry.
    #[inline(always)]
    pub(super) fn refuses_merge(&self, load: &LineAccess, waiters: u8) -> bool {
        self.mshr_policy.is_some() && self.ask_mshr_policy(load, Some(waiters))
    }

    /// True if the MSHR policy refuses a load. If `waiters` is `None`, the load would allocate a free entry;
    /// otherwise it would merge into an entry in which `waiters` loads already wait.
    #[inline(never)]
    fn ask_mshr_policy(&self, load: &LineAccess, waiters: Option<u8>) -> bool {
        let Some(policy) = &self.mshr_policy else { return false };
        let view = MshrView { free: self.mshr.count_free(), waiters: waiters.unwrap_or(0).into() };
        match waiters {
            None => !policy.may_allocate(&request_of(load), &view),
            Some(_) => !policy.may_merge(&request_of(load), &view),
        }
    }

    /// Reports to the MSHR policy that a load has allocated an MSHR entry and waits in it.
    #[inline(always)]
    pub(super) fn on_miss(&mut self, at: &impl AnyEdge, entry: u16, load: &LineAccess) {
        if self.mshr_policy.is_some() {
            self.report_load(at, entry, load, true);
        }
    }

    /// Reports to the MSHR policy that a load has merged into an MSHR entry that already tracked its line.
    #[inline(always)]
    pub(super) fn on_merge(&mut self, at: &impl AnyEdge, entry: u16, load: &LineAccess) {
        if self.mshr_policy.is_some() {
            self.report_load(at, entry, load, false);
        }
    }

    #[inline(never)]
    fn report_load(&mut self, at: &impl AnyEdge, entry: u16, load: &LineAccess, is_new: bool) {
        let Some(policy) = &mut self.mshr_policy else { return };
        if is_new {
            policy.on_allocate(at.edge(), entry.into(), &request_of(load));
        } else {
            policy.on_merge(at.edge(), entry.into(), &request_of(load));
        }
    }

    /// Reports to the MSHR policy that a load of warp `warp` has left an MSHR entry; `is_free` is true if it
    /// was the last one.
    #[inline(never)]
    pub(super) fn report_leave(&mut self, at: &impl AnyEdge, entry: u16, warp: u8, is_free: bool) {
        let Some(policy) = &mut self.mshr_policy else { return };
        policy.on_leave(at.edge(), entry.into(), warp);
        if is_free {
            policy.on_free(at.edge(), entry.into());
        }
    }
}
