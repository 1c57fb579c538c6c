//! What an LSU has to do with others than its core and its memory: lines that the L2 recalls, lines that another SM
//! wants, and SM dueling.

use super::super::cache::CacheId;
use super::super::dueling::{Mode, Seen};
use super::super::miss_queue::{MissEntry, MissKind};
use super::super::ticket;
use super::{DuelIo, Lsu, LsuIo};
use crate::kernel::AnyEdge;
use crate::l2::{Invalidate, InvalidateAck, RecalledIo};
use crate::noc::packet::{Reply, ReplyKind, Sharing};
use crate::noc::stamps::Stamps;
use crate::tracker::{Answer, Forward, Found, SupplyIo};

impl Lsu {
    /// Still step 1: what others want of this L1. Returns whether a line was recalled.
    #[inline(always)]
    pub(super) fn serve_peers(&mut self, io: &mut LsuIo<'_>, at: &mut impl AnyEdge) -> bool {
        let recalled = io.recall.as_mut().is_some_and(|recall| self.take_recall(recall, at));
        if let Some(supply) = &mut io.supply {
            self.take_forward(supply, at);
        }
        recalled
    }

    /// Still step 1: drops a line that a bank gives up, and tells the bank. Returns whether it did.
    #[inline(never)]
    fn take_recall(&mut self, recall: &mut RecalledIo<'_>, at: &mut impl AnyEdge) -> bool {
        let Some(&Invalidate { line, leaver, .. }) = recall.inv.peek(at) else { return false };
        if !recall.inv_ack.ready(at) {
            return false;
        }
        recall.inv.drop_head(at);
        // The bank knows which SM has read the line, not for which of its caches.
        let found = self.caches.each_mut().map(|cache| cache.recall(at, line));
        if let Some(watch) = &mut self.noted.watch {
            watch.recall = Some((line, found));
        }
        recall.inv_ack.push(at, InvalidateAck { partition: self.partition(line), leaver });
        true
    }

    /// Still step 1: supplies another SM with a line that it wants, if it is here, and says whether it was.
    #[inline(never)]
    fn take_forward(&mut self, io: &mut SupplyIo<'_>, at: &mut impl AnyEdge) {
        let Some(&Forward { id, line, sm, ticket, sectors, row, .. }) = io.forward.peek(at) else { return };
        // Room for either, so that what is found never has to wait.
        if !io.answer.ready(at) || !io.supply.ready(at) {
            return;
        }
        io.forward.drop_head(at);
        let (found, bytes) = self.caches[CacheId::L1d as usize].supply(at, line, sectors);
        if let Some(bytes) = bytes {
            io.supply.push_with(at, |beat| {
                *beat = Reply {
                    kind: ReplyKind::Data,
                    id,
                    line,
                    sm,
                    ticket,
                    sectors,
                    data: *bytes,
                    stamps: Stamps::default(),
                };
            });
        }
        io.answer.push(at, Answer { partition: self.partition(line), row, found });
        if let Some(watch) = &mut self.noted.watch {
            watch.supply = Some((line, sectors, found == Found::Here));
        }
    }

    /// Has a line that a coherent load goes to dropped here: what comes after it must not find less (anssari2012
    /// section 3.2).
    #[inline(never)]
    pub(super) fn drop_copies(&mut self, at: &impl AnyEdge, line: u64) {
        let found = self.caches.each_mut().map(|cache| cache.drop_copy(at, line));
        if let Some(watch) = &mut self.noted.watch {
            watch.dropped = Some((line, found));
        }
    }

    /// What a request from the miss queue says to the sharing tracker.
    #[inline(never)]
    pub(super) fn sharing_of(entry: &MissEntry) -> Sharing {
        match entry.kind {
            MissKind::Read if ticket::cache(entry.ticket) == CacheId::L1d => Sharing::Keeps,
            // Its other sectors may have been written since they came: it must not be listed for this one.
            MissKind::Rest => Sharing::Takes,
            MissKind::Notice => Sharing::Drops,
            MissKind::Atomic | MissKind::Reduce => Sharing::Coherent,
            MissKind::Read | MissKind::Write | MissKind::WriteBack => Sharing::Aside,
        }
    }

    /// Takes the mode that SM dueling has sent, if it has.
    pub(super) fn take_mode(&mut self, duel: &mut DuelIo<'_>, at: &mut impl AnyEdge) {
        if let Some(&Mode { original }) = duel.mode.peek(at) {
            duel.mode.drop_head(at);
            self.caches[CacheId::L1d as usize].set_original(original);
            if let Some(watch) = &mut self.noted.watch {
                watch.original = Some(original);
            }
        }
    }

    /// Tells SM dueling of the load that was accepted at this edge, if one was.
    #[inline(never)]
    pub(super) fn tell(&mut self, duel: &mut DuelIo<'_>, at: &mut impl AnyEdge) {
        let (accesses, misses) = self.looked_up();
        if let Some(seen) = &mut duel.seen
            && accesses != self.known.told.0
        {
            seen.push(at, Seen { missed: misses != self.known.told.1 });
        }
        self.known.told = (accesses, misses);
    }

    /// Loads that the L1D accepted, and those among them that it could not serve.
    fn looked_up(&self) -> (u64, u64) {
        let stats = self.stats();
        (stats.accesses, stats.misses + stats.bypasses)
    }
}
