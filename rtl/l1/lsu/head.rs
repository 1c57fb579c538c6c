//! Step 4 of an LSU cycle: the head of the access queue bypasses its cache, is accepted or is refused.
//! Requests behind the head that hit are served in the same cycle.

use serde::{Deserialize, Serialize};

use super::super::access::{AccessKind, MemorySpace};
use super::super::cache::CacheId;
use super::super::coalescer::LineAccess;
use super::super::mshr::Waiter;
use super::super::watch::{Access, Fail, Outcome};
use super::{DuelIo, Lsu, StageStatus};
use crate::kernel::AnyEdge;
use crate::throttle::message::Miss;

/// Refusal of the request at the head of the access queue. The request stays refused until one of the
/// conditions that caused the refusal changes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Refusal {
    /// Cache that refused the request, and the set that the request probed.
    pub place: (CacheId, u32),
    /// Last cycle of this refusal that the statistics of reservation fails have already counted.
    pub counted: u64,
    /// Reason reported for the refusal.
    pub fail: Fail,
    /// Mask of all failing conditions. Bit `n` stands for the `Fail` variant with value `n`.
    pub all: u8,
}

/// Changes at one clock edge that can end the refusal of the request at the head of the access queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Changes {
    /// Cache and set of the reserved way that was filled at this edge; `None` if none was filled.
    pub filled: Option<(CacheId, u32)>,
    /// True if an MSHR entry was freed, because the last load that waited in it has received its bytes.
    pub freed: bool,
    /// True if a waiting load left its MSHR entry.
    pub left: bool,
    /// True if the miss queue sent an entry to the network.
    pub sent: bool,
    /// True if the L2 recalled a line. A refused miss can now be allocated in the invalidated way, and then
    /// needs no miss-queue entry for the writeback of a victim.
    pub recalled: bool,
}

impl Lsu {
    /// Updates the statistics of reservation fails: adds the cycles before `cycle` in which the head of the
    /// access queue was refused and that are not counted yet.
    pub(super) fn charge(&mut self, cycle: u64) {
        if let Some(Refusal { place: (cache, _), counted, fail, all }) = self.derived.refused {
            let cycles = cycle - counted - 1;
            let stats = &mut self.caches[cache as usize].stats;
            stats.fails[fail as usize] += cycles;
            for (bit, failing) in stats.failing.iter_mut().enumerate() {
                *failing += cycles * u64::from(all >> bit & 1);
            }
        }
    }

    /// True if the head of the access queue is a load that bypasses the cache because of its instruction or
    /// the configuration. Local accesses never bypass: a local line may be newer in the L1D than in memory.
    #[inline(never)]
    pub(super) fn bypasses(&self) -> bool {
        self.queue.front().is_some_and(|head| {
            head.kind == AccessKind::Load
                && head.space == MemorySpace::Global
                && (head.uncached || self.constants.sends_all)
        })
    }

    /// Prepares step 4 of an LSU cycle: applies a new L1D mode, selects the queue that provides the head
    /// request, and determines whether the head bypasses. Returns true if the head is still in the first of
    /// its two probe cycles.
    #[inline(never)]
    pub(super) fn choose(&mut self, duel: &mut Option<DuelIo<'_>>, at: &mut impl AnyEdge) -> bool {
        if let Some(duel) = duel {
            self.take_mode(duel, at);
        }
        if self.queue.select(at.cycle()) {
            self.charge(at.cycle());
            self.derived.refused = None;
            self.awaits_victim = false;
        }
        let probing = std::mem::take(&mut self.probing);
        let fixed = self.bypasses();
        self.derived.head_bypasses = !probing && (fixed || self.scheme_bypasses(at));
        if self.derived.head_bypasses {
            // A head request that bypasses is not looked up in the cache again, so it is no longer refused.
            self.charge(at.cycle());
            self.derived.refused = None;
        }
        probing
    }

    fn scheme_bypasses(&mut self, at: &impl AnyEdge) -> bool {
        let Some(head) = self.queue.front() else { return false };
        self.caches[CacheId::L1d as usize].bypasses(at, head, &self.miss_queue)
    }

    /// True if the head of the access queue was refused and none of its failing conditions has changed. The
    /// head is then refused again for the same reasons, without a new probe. In the meantime, no other
    /// request can allocate a way, an MSHR entry or a miss-queue entry, because all requests wait behind the
    /// head. The golden model, which runs in lockstep, checks this shortcut.
    pub(super) fn is_refused_again(&mut self, changes: &Changes) -> bool {
        let Some(Refusal { place, all, fail, .. }) = self.derived.refused else { return false };
        let fails_for = |fail: Fail| all >> fail as u8 & 1 != 0;
        let has_room = changes.freed && fails_for(Fail::MshrEntry) || changes.sent && fails_for(Fail::MissQueue);
        // When a load leaves an entry or an entry becomes free, an MSHR policy may accept the request.
        let decides = self.constants.limits_mshr && (changes.left || changes.freed);
        let again = !has_room && !decides && !changes.recalled && changes.filled != Some(place);
        if again && self.observed.watch.is_some() {
            self.show(self.miss_queue.len(), Outcome::Refused(fail, all));
        }
        again
    }

    /// Step 4 of an LSU cycle: probes the tags for the head of the access queue. Returns true if the head
    /// left the queue.
    pub(super) fn access(&mut self, at: &impl AnyEdge, bypassed: bool) -> bool {
        self.charge(at.cycle());
        self.derived.refused = None;
        self.derived.extra = 0;
        let has_waited = std::mem::take(&mut self.awaits_victim);
        if !self.queue.has_front() {
            self.observed.shown = StageStatus::Idle;
            return false;
        }
        if bypassed {
            self.observed.shown = StageStatus::Bypass;
            self.count_bypass(at);
            return true;
        }
        if self.derived.head_bypasses {
            self.observed.shown = StageStatus::Stall;
            return false;
        }
        self.probe(at, has_waited)
    }

    /// Counts the head of the access queue as a bypass, after its request was sent. Reports it to the bypass
    /// schemes, the throttle and the record of events.
    fn count_bypass(&mut self, at: &impl AnyEdge) {
        let chosen = !self.bypasses();
        let Some(head) = self.queue.front() else { return };
        let &LineAccess { uncached, hints, warp, line, slot, lanes, .. } = head;
        let pc = self.pending.pc(slot);
        let l1d = &mut self.caches[CacheId::L1d as usize];
        l1d.stats.accesses += 1;
        l1d.stats.bypasses += 1;
        if chosen {
            // While a streaming monitor makes all loads bypass the cache, loads that miss in the tags are
            // also reported to the throttle. From these reports the throttle can detect thrashing warps, and
            // let loads use the cache again.
            let missed = l1d.on_bypass(at, head);
            self.missed = (missed && self.constants.monitored).then_some(Miss { warp, lost: false });
        } else if self.constants.place.is_tracked && uncached {
            self.drop_copies(at, line);
        }
        self.pending.record_lookup(slot, at.cycle());
        if let Some(load) = self.observed.loads.get_mut(pc as usize) {
            load.count_bypass();
        }
        if let Some(watch) = &mut self.observed.watch {
            watch.access =
                Some(Access::Bypass { line, pc, priority: hints.l1, warp, waiter: Waiter { slot, lanes }, chosen });
        }
    }

    /// Probes the tags for the head of the access queue. Returns true if the request was accepted; false if
    /// it was refused or needs another cycle.
    fn probe(&mut self, at: &impl AnyEdge, has_waited: bool) -> bool {
        let Some(head) = self.queue.front() else { return false };
        let &LineAccess { kind, space, warp, slot, .. } = head;
        let queue_used = self.miss_queue.len();
        let id = CacheId::of(space);
        let cache = &mut self.caches[id as usize];
        let outcome = match kind {
            AccessKind::Load => cache.load(at, head, has_waited, &mut self.miss_queue, &mut self.pending),
            AccessKind::Store | AccessKind::Atomic | AccessKind::Reduce => {
                cache.write(at, head, &mut self.miss_queue, &mut self.pending)
            }
        };
        let Some(outcome) = outcome else {
            self.observed.shown = StageStatus::Stall;
            self.awaits_victim = kind == AccessKind::Load;
            return false;
        };
        if self.observed.watch.is_some() {
            self.show(queue_used, outcome);
        }
        if kind == AccessKind::Load {
            if let Some(load) = self.observed.loads.get_mut(self.pending.pc(slot) as usize) {
                load.count(outcome);
            }
            if self.constants.monitored && id == CacheId::L1d {
                let missed = matches!(outcome, Outcome::Miss(_));
                self.missed = missed.then(|| Miss { warp, lost: self.caches[id as usize].had_lost() });
            }
        }
        let accepted = self.count(at.cycle(), id, kind, outcome);
        if accepted {
            self.pending.record_lookup(slot, at.cycle());
        }
        if self.constants.lookups > 1 && accepted && kind == AccessKind::Load && id == CacheId::L1d {
            self.serve_further(at);
        }
        accepted
    }

    /// Serves the requests behind an accepted L1D load, as long as they belong to the same instruction and
    /// hit in unused banks. Requests with an equal `slot` belong to the same instruction, because its row of
    /// the pending table is not reused while they wait. The last request served stays at the head of the
    /// queue; the caller removes it.
    #[inline(never)]
    fn serve_further(&mut self, at: &impl AnyEdge) {
        let l1d = &mut self.caches[CacheId::L1d as usize];
        let Some(head) = self.queue.front() else { return };
        let (slot, mut taken) = (head.slot, l1d.banks_taken(head));
        while self.derived.extra + 1 < self.constants.lookups
            && let Some(next) = self.queue.second()
            && next.slot == slot
            && l1d.banks_of(next) & taken == 0
            && l1d.load_extra(at, next, &self.miss_queue, &mut self.pending)
        {
            let &LineAccess { space, line, hints, lanes, warp, .. } = next;
            let pc = self.pending.pc(slot);
            taken |= l1d.banks_of(next);
            l1d.stats.accesses += 1;
            l1d.stats.hits += 1;
            if let Some(load) = self.observed.loads.get_mut(pc as usize) {
                load.count(Outcome::Hit);
            }
            if let Some(watch) = &mut self.observed.watch {
                watch.extra[self.derived.extra as usize] = Some(Access::Load {
                    cache: CacheId::L1d,
                    space,
                    line,
                    pc,
                    priority: hints.l1,
                    warp,
                    waiter: Waiter { slot, lanes },
                    queue_used: self.miss_queue.len(),
                    outcome: Outcome::Hit,
                });
            }
            self.derived.extra += 1;
            self.queue.drop_front();
        }
    }

    /// Records the outcome of the head of the access queue, for the testbench and the golden model.
    #[inline(never)]
    fn show(&mut self, queue_used: u32, outcome: Outcome) {
        let (Some(watch), Some(head)) = (&mut self.observed.watch, self.queue.front()) else { return };
        let &LineAccess { kind, space, uncached, hints, line, slot, lanes, warp, .. } = head;
        let (pc, priority) = (self.pending.pc(slot), hints.l1);
        let (cache, waiter) = (CacheId::of(space), Waiter { slot, lanes });
        let updates = || self.caches[cache as usize].updates_on_store();
        watch.access = Some(match kind {
            AccessKind::Load => Access::Load { cache, space, line, pc, priority, warp, waiter, queue_used, outcome },
            AccessKind::Store if uncached && space == MemorySpace::Global && updates() => {
                Access::Atomic { line, waiter, queue_used, outcome }
            }
            AccessKind::Store => Access::Store { line, space, waiter, queue_used, outcome },
            AccessKind::Atomic | AccessKind::Reduce => Access::Atomic { line, waiter, queue_used, outcome },
        });
    }

    /// Updates the statistics of a cache for the outcome of an access. Returns true if the access was
    /// accepted.
    #[inline]
    fn count(&mut self, cycle: u64, id: CacheId, kind: AccessKind, outcome: Outcome) -> bool {
        let cache = &mut self.caches[id as usize];
        let stats = &mut cache.stats;
        let count;
        (count, self.observed.shown) = match outcome {
            Outcome::Hit => (&mut stats.hits, StageStatus::Hit),
            Outcome::VictimHit(_) => (&mut stats.hits, StageStatus::VictimHit),
            Outcome::HitPending => (&mut stats.hit_pending, StageStatus::HitPending),
            Outcome::Miss(_) => (&mut stats.misses, StageStatus::Miss),
            Outcome::Refused(fail, all) => {
                stats.fails[fail as usize] += 1;
                for (bit, failing) in stats.failing.iter_mut().enumerate() {
                    *failing += u64::from(all >> bit & 1);
                }
                self.derived.refused = Some(Refusal { place: (id, cache.probed), counted: cycle, fail, all });
                self.observed.shown = StageStatus::ReservationFail;
                return false;
            }
            _ if kind.is_atomic() => (&mut stats.atomics, StageStatus::Atomic),
            Outcome::Evicted | Outcome::Updated | Outcome::WrittenBack => {
                (&mut stats.store_hits, StageStatus::StoreHit)
            }
            Outcome::StoreMissed | Outcome::Overtook => (&mut stats.store_misses, StageStatus::StoreMiss),
        };
        *count += 1;
        stats.accesses += u64::from(kind == AccessKind::Load);
        true
    }
}
