//! Sleep logic of an LSU: while no event that the LSU waits for can occur, the simulator does not evaluate
//! the LSU.

use super::super::cache::CacheId;
use super::{Lsu, LsuIo};
use crate::kernel::{AnyEdge, Sleep};

impl Lsu {
    /// Returns when to evaluate the LSU again. A refused or stalled head of the access queue waits for one of
    /// these events: a line is filled, a waiting load leaves an MSHR entry, a request leaves the miss
    /// queue, or the network has room. Each of these events either keeps the LSU awake or wakes it.
    #[inline(always)]
    pub(super) fn sleep(&self, io: &mut LsuIo<'_>, at: &mut impl AnyEdge, head_moves: bool, sent: bool) -> Sleep {
        // Checks of channels take the most simulation time. They are last in the expression, so they are
        // evaluated only if no other condition keeps the LSU awake.
        let is_awake = head_moves
            || self.head_may_turn(sent)
            || self.can_emit()
            || self.coalescer.is_counting()
            || self.can_drain()
            || self.is_prefetching()
            || io.has_reply(at)
            || io.has_recall(at)
            || io.has_forward(at)
            || self.can_take(io, at)
            || self.can_send(io, at)
            || self.can_answer(io, at);
        if is_awake { Sleep::Next } else { self.next_choice().map_or(Sleep::UntilEvent, Sleep::At) }
    }

    /// True if, at the next edge, another queue may provide the head request, or the head request may change
    /// between cache and bypass. The latter is possible when the miss queue has sent an entry, because a full
    /// miss queue can be a reason to bypass.
    #[inline(always)]
    fn head_may_turn(&self, sent: bool) -> bool {
        self.constants.chooses && (sent || self.queue.head_may_change())
    }

    /// True if the coalescer has a line request and the access queue has room for it.
    #[inline(always)]
    pub(super) fn can_emit(&self) -> bool {
        self.coalescer.has_request() && self.queue.has_room(self.coalescer.warp())
    }

    /// True if a load still waits to receive the bytes of a line that has arrived.
    #[inline(always)]
    fn can_drain(&self) -> bool {
        self.derived.ready != 0
    }

    /// True if the core has sent an instruction, the coalescer is idle and a pending-table row is free.
    #[inline(always)]
    fn can_take(&self, io: &LsuIo<'_>, at: &impl AnyEdge) -> bool {
        !self.coalescer.is_busy() && io.core_req.has_beat(at) && self.pending.free().is_some()
    }

    /// True if a request is ready for the network and the network has room.
    #[inline(always)]
    fn can_send(&self, io: &mut LsuIo<'_>, at: &mut impl AnyEdge) -> bool {
        (!self.miss_queue.is_empty() || self.derived.head_bypasses) && !io.mem_req.is_blocked(at)
    }

    /// True if an instruction is complete and the core can accept the reply.
    #[inline(always)]
    fn can_answer(&self, io: &mut LsuIo<'_>, at: &mut impl AnyEdge) -> bool {
        self.pending.has_done() && !io.core_rsp.is_blocked(at)
    }

    /// Returns the next cycle in which a bypass scheme may change its decision for a load that waits at the
    /// head of the access queue.
    #[inline(always)]
    fn next_choice(&self) -> Option<u64> {
        if self.constants.chooses && !self.queue.is_empty() {
            self.caches[CacheId::L1d as usize].next_choice()
        } else {
            None
        }
    }
}

impl LsuIo<'_> {
    /// True if a reply from memory is waiting.
    #[inline(always)]
    fn has_reply(&self, at: &impl AnyEdge) -> bool {
        self.mem_rsp.has_beat(at)
    }

    /// True if a recall by the L2 is waiting and the acknowledgement can be sent.
    #[inline(always)]
    fn has_recall(&mut self, at: &mut impl AnyEdge) -> bool {
        self.recall.as_mut().is_some_and(|io| io.inv.has_beat(at) && !io.inv_ack.is_blocked(at))
    }

    /// True if a forwarded load of another SM is waiting, and both the line and the answer to the tracker can
    /// be sent.
    #[inline(always)]
    fn has_forward(&mut self, at: &mut impl AnyEdge) -> bool {
        let io = self.supply.as_mut();
        io.is_some_and(|io| io.forward.has_beat(at) && !io.answer.is_blocked(at) && !io.supply.is_blocked(at))
    }
}
