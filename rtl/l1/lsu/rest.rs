//! When an LSU sleeps: for as long as nothing that it waits for can move.

use super::super::cache::CacheId;
use super::{Lsu, LsuIo};
use crate::kernel::{AnyEdge, Sleep};

impl Lsu {
    /// When to evaluate again. A refused or stalled head waits for a fill, a drained waiter, a sent request or room in
    /// the network; each of these either is a reason to stay awake or wakes this block.
    #[inline(always)]
    pub(super) fn sleep(&self, io: &mut LsuIo<'_>, at: &mut impl AnyEdge, head_moves: bool, sent: bool) -> Sleep {
        // The channels are asked last, and only as long as nothing else keeps the block awake.
        let is_awake = head_moves
            || self.head_may_turn(sent)
            || self.can_emit()
            || self.can_drain()
            || io.has_reply(at)
            || io.has_recall(at)
            || io.has_forward(at)
            || self.can_take(io, at)
            || self.can_send(io, at)
            || self.can_answer(io, at);
        if is_awake { Sleep::Next } else { self.next_choice().map_or(Sleep::UntilEvent, Sleep::At) }
    }

    /// Another way or another request may be chosen: the head was sent the other way because the queue for memory was
    /// full, which it no longer is, or another queue has its turn.
    #[inline(always)]
    fn head_may_turn(&self, sent: bool) -> bool {
        self.fixed.chooses && (sent || self.queue.turns())
    }

    /// The coalescer has a line request, and there is room for it.
    #[inline(always)]
    pub(super) fn can_emit(&self) -> bool {
        self.coalescer.busy() && self.queue.has_room(self.coalescer.warp())
    }

    /// A waiter's line has come.
    #[inline(always)]
    fn can_drain(&self) -> bool {
        self.known.ready != 0
    }

    /// The core has sent an instruction, and there is room for it.
    #[inline(always)]
    fn can_take(&self, io: &LsuIo<'_>, at: &impl AnyEdge) -> bool {
        !self.coalescer.busy() && io.core_req.waiting(at) && self.pending.free().is_some()
    }

    /// There is something for the network, which has room.
    #[inline(always)]
    fn can_send(&self, io: &mut LsuIo<'_>, at: &mut impl AnyEdge) -> bool {
        (!self.miss_queue.is_empty() || self.known.head_bypasses) && !io.mem_req.blocked(at)
    }

    /// An instruction is done, and the core can be told.
    #[inline(always)]
    fn can_answer(&self, io: &mut LsuIo<'_>, at: &mut impl AnyEdge) -> bool {
        self.pending.has_done() && !io.core_rsp.blocked(at)
    }

    /// In which cycle a waiting head may have to go another way.
    #[inline(always)]
    fn next_choice(&self) -> Option<u64> {
        if self.fixed.chooses && !self.queue.is_empty() {
            self.caches[CacheId::L1d as usize].next_choice()
        } else {
            None
        }
    }
}

impl LsuIo<'_> {
    /// Memory has answered.
    #[inline(always)]
    fn has_reply(&self, at: &impl AnyEdge) -> bool {
        self.mem_rsp.waiting(at)
    }

    /// The L2 recalls a line, and can be answered.
    #[inline(always)]
    fn has_recall(&mut self, at: &mut impl AnyEdge) -> bool {
        self.recall.as_mut().is_some_and(|io| io.inv.waiting(at) && !io.inv_ack.blocked(at))
    }

    /// Another SM wants a line, and it and the tracker can be told.
    #[inline(always)]
    fn has_forward(&mut self, at: &mut impl AnyEdge) -> bool {
        let io = self.supply.as_mut();
        io.is_some_and(|io| io.forward.waiting(at) && !io.answer.blocked(at) && !io.supply.blocked(at))
    }
}
