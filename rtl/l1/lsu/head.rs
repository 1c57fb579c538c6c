//! Step 4: the head of the access queue, which goes past its cache, is accepted or is refused, and the requests behind it
//! that hit in the same cycle.

use serde::{Deserialize, Serialize};

use super::super::access::{AccessKind, MemorySpace};
use super::super::cache::CacheId;
use super::super::coalescer::LineAccess;
use super::super::mshr::Waiter;
use super::super::watch::{Access, Fail, Outcome};
use super::{DuelIo, Lsu, Shown};
use crate::kernel::AnyEdge;
use crate::throttle::message::Miss;

/// A refusal of the head, which lasts until one of its conditions changes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Refusal {
    /// Cache that refused, and its set.
    pub place: (CacheId, u32),
    /// Up to which cycle its cycles have been counted.
    pub counted: u64,
    /// The reason reported.
    pub fail: Fail,
    /// All failing conditions, a bit each.
    pub all: u8,
}

/// What one edge changed of all that a refused head can wait for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Changes {
    /// The cache and the set in which a reserved way got its line.
    pub filled: Option<(CacheId, u32)>,
    /// An MSHR entry lost its last waiter.
    pub freed: bool,
    /// The miss queue gave an entry to the network.
    pub sent: bool,
    /// A line was recalled: an invalid way may be the victim now, instead of a modified one, whose
    /// write-back would need room.
    pub recalled: bool,
}

impl Lsu {
    /// Accounts for the refusals of the head that were not counted yet, at all edges before `cycle`.
    pub(super) fn charge(&mut self, cycle: u64) {
        if let Some(Refusal { place: (cache, _), counted, fail, all }) = self.known.refused {
            let cycles = cycle - counted - 1;
            let stats = &mut self.caches[cache as usize].stats;
            stats.fails[fail as usize] += cycles;
            for (bit, failing) in stats.failing.iter_mut().enumerate() {
                *failing += cycles * u64::from(all >> bit & 1);
            }
        }
    }

    /// True if the head is a load that goes past the cache. A local line may be newer here than in
    /// memory, so local accesses never do.
    #[inline(never)]
    pub(super) fn bypasses(&self) -> bool {
        self.queue.front().is_some_and(|head| {
            head.kind == AccessKind::Load
                && head.space == MemorySpace::Global
                && (head.uncached || self.fixed.sends_all)
        })
    }

    /// What is at the head of several queues, and whether a scheme of the L1D, whose mode may be a new one, sends it past.
    /// Returns whether its tags are still being probed.
    #[inline(never)]
    pub(super) fn choose(&mut self, duel: &mut Option<DuelIo<'_>>, at: &mut impl AnyEdge) -> bool {
        if let Some(duel) = duel {
            self.take_mode(duel, at);
        }
        if self.queue.select(at.cycle()) {
            self.charge(at.cycle());
            self.known.refused = None;
        }
        let probing = std::mem::take(&mut self.probing);
        let fixed = self.bypasses();
        self.known.head_bypasses = !probing && (fixed || self.sends_past(at));
        if self.known.head_bypasses {
            // What it was refused for before matters no more.
            self.charge(at.cycle());
            self.known.refused = None;
        }
        probing
    }

    fn sends_past(&mut self, at: &impl AnyEdge) -> bool {
        let Some(head) = self.queue.front() else { return false };
        self.caches[CacheId::L1d as usize].sends_past(at, head, &self.miss_queue)
    }

    /// True if the head was refused and nothing that it was refused for has changed: it is refused
    /// again for the same reasons, and need not be probed; the twin of whoever watches holds it to
    /// that. The queue behind it stands, so no way is claimed, no entry taken and nothing queued for
    /// memory meanwhile.
    pub(super) fn refused_again(&mut self, changes: &Changes) -> bool {
        let Some(Refusal { place, all, fail, .. }) = self.known.refused else { return false };
        let fails_for = |fail: Fail| all >> fail as u8 & 1 != 0;
        let has_room = changes.freed && fails_for(Fail::MshrEntry) || changes.sent && fails_for(Fail::MissQueue);
        let again = !has_room && !changes.recalled && changes.filled != Some(place);
        if again && self.noted.watch.is_some() {
            self.show(self.miss_queue.len(), Outcome::Refused(fail, all));
        }
        again
    }

    /// Step 4: the head of the access queue at the tags. Returns whether it left the queue.
    pub(super) fn access(&mut self, at: &impl AnyEdge, bypassed: bool) -> bool {
        self.charge(at.cycle());
        self.known.refused = None;
        self.known.beside = 0;
        if !self.queue.has_front() {
            self.noted.shown = Shown::Idle;
            return false;
        }
        if bypassed {
            self.noted.shown = Shown::Bypass;
            self.count_past(at);
            return true;
        }
        if self.known.head_bypasses {
            self.noted.shown = Shown::Stall;
            return false;
        }
        self.probe(at)
    }

    /// The head has gone past its cache.
    fn count_past(&mut self, at: &impl AnyEdge) {
        let chosen = !self.bypasses();
        let Some(head) = self.queue.front() else { return };
        let &LineAccess { uncached, warp, line, slot, lanes, pc, .. } = head;
        let l1d = &mut self.caches[CacheId::L1d as usize];
        l1d.stats.accesses += 1;
        l1d.stats.bypasses += 1;
        if chosen {
            // What misses in a closed cache counts: it opens for warps that thrash.
            let missed = l1d.went_past(at, head);
            self.missed = (missed && self.fixed.monitored).then_some(Miss { warp, lost: false });
        } else if self.fixed.place.is_tracked && uncached {
            self.drop_copies(at, line);
        }
        self.pending.looked_up(slot, at.cycle());
        if let Some(load) = self.noted.loads.get_mut(pc as usize) {
            load.count_bypass();
        }
        if let Some(watch) = &mut self.noted.watch {
            watch.access = Some(Access::Bypass { line, pc, waiter: Waiter { slot, lanes }, chosen });
        }
    }

    /// The head asks its cache. Returns whether it was accepted.
    fn probe(&mut self, at: &impl AnyEdge) -> bool {
        let Some(head) = self.queue.front() else { return false };
        let &LineAccess { kind, space, warp, slot, pc, .. } = head;
        let queue_used = self.miss_queue.len();
        let id = CacheId::of(space);
        let cache = &mut self.caches[id as usize];
        let outcome = match kind {
            AccessKind::Load => Some(cache.load(at, head, &mut self.miss_queue, &mut self.pending)),
            AccessKind::Store | AccessKind::Atomic | AccessKind::Reduce => {
                cache.write(at, head, &mut self.miss_queue, &mut self.pending)
            }
        };
        let Some(outcome) = outcome else {
            self.noted.shown = Shown::Stall;
            return false;
        };
        if self.noted.watch.is_some() {
            self.show(queue_used, outcome);
        }
        if kind == AccessKind::Load {
            if let Some(load) = self.noted.loads.get_mut(pc as usize) {
                load.count(outcome);
            }
            if self.fixed.monitored && id == CacheId::L1d {
                let missed = matches!(outcome, Outcome::Miss(_));
                self.missed = missed.then(|| Miss { warp, lost: self.caches[id as usize].had_lost() });
            }
        }
        let accepted = self.count(at.cycle(), id, kind, outcome);
        if accepted {
            self.pending.looked_up(slot, at.cycle());
        }
        if self.fixed.lookups > 1 && accepted && kind == AccessKind::Load && id == CacheId::L1d {
            self.serve_beside(at);
        }
        accepted
    }

    /// Serves what is behind the head, a load that the L1D has accepted, as long as it is of the same instruction and hits
    /// in banks that are left. A row of the pending table is one instruction's as long as requests of it wait here. The last
    /// one served stays at the head, for the caller to drop.
    #[inline(never)]
    fn serve_beside(&mut self, at: &impl AnyEdge) {
        let l1d = &mut self.caches[CacheId::L1d as usize];
        let Some(&LineAccess { slot, sectors, .. }) = self.queue.front() else { return };
        let mut taken = sectors | l1d.banks();
        while self.known.beside + 1 < self.fixed.lookups
            && let Some(next) = self.queue.second()
            && next.slot == slot
            && next.sectors & taken == 0
            && l1d.load_beside(at, next, &self.miss_queue, &mut self.pending)
        {
            let &LineAccess { space, line, lanes, sectors, pc, .. } = next;
            taken |= sectors;
            l1d.stats.accesses += 1;
            l1d.stats.hits += 1;
            if let Some(load) = self.noted.loads.get_mut(pc as usize) {
                load.count(Outcome::Hit);
            }
            if let Some(watch) = &mut self.noted.watch {
                watch.beside[self.known.beside as usize] = Some(Access::Load {
                    cache: CacheId::L1d,
                    space,
                    line,
                    pc,
                    waiter: Waiter { slot, lanes },
                    queue_used: self.miss_queue.len(),
                    outcome: Outcome::Hit,
                });
            }
            self.known.beside += 1;
            self.queue.drop_front();
        }
    }

    /// Tells whoever watches what became of the head.
    #[inline(never)]
    fn show(&mut self, queue_used: u32, outcome: Outcome) {
        let (Some(watch), Some(head)) = (&mut self.noted.watch, self.queue.front()) else { return };
        let &LineAccess { kind, space, uncached, line, slot, lanes, pc, .. } = head;
        let (cache, waiter) = (CacheId::of(space), Waiter { slot, lanes });
        let updates = || self.caches[cache as usize].updates();
        watch.access = Some(match kind {
            AccessKind::Load => Access::Load { cache, space, line, pc, waiter, queue_used, outcome },
            AccessKind::Store if uncached && space == MemorySpace::Global && updates() => {
                Access::Atomic { line, waiter, queue_used, outcome }
            }
            AccessKind::Store => Access::Store { line, space, waiter, queue_used, outcome },
            AccessKind::Atomic | AccessKind::Reduce => Access::Atomic { line, waiter, queue_used, outcome },
        });
    }

    /// Counts what became of an access. Returns whether it was accepted.
    #[inline]
    fn count(&mut self, cycle: u64, id: CacheId, kind: AccessKind, outcome: Outcome) -> bool {
        let cache = &mut self.caches[id as usize];
        let stats = &mut cache.stats;
        let count;
        (count, self.noted.shown) = match outcome {
            Outcome::Hit => (&mut stats.hits, Shown::Hit),
            Outcome::HitPending => (&mut stats.hit_pending, Shown::HitPending),
            Outcome::Miss(_) => (&mut stats.misses, Shown::Miss),
            Outcome::Refused(fail, all) => {
                stats.fails[fail as usize] += 1;
                for (bit, failing) in stats.failing.iter_mut().enumerate() {
                    *failing += u64::from(all >> bit & 1);
                }
                self.known.refused = Some(Refusal { place: (id, cache.probed), counted: cycle, fail, all });
                self.noted.shown = Shown::ReservationFail;
                return false;
            }
            _ if kind.is_atomic() => (&mut stats.atomics, Shown::Atomic),
            Outcome::Evicted | Outcome::Updated | Outcome::WrittenBack => (&mut stats.store_hits, Shown::StoreHit),
            Outcome::StoreMissed | Outcome::Overtook => (&mut stats.store_misses, Shown::StoreMiss),
        };
        *count += 1;
        stats.accesses += u64::from(kind == AccessKind::Load);
        true
    }
}
