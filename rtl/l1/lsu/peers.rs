//! Messages between an LSU and units other than its core and its memory: recalls by the L2, lines supplied to
//! other SMs, and SM dueling.

use super::super::cache::CacheId;
use super::super::dueling::{LoadReport, Mode};
use super::super::miss_queue::{MissEntry, MissKind};
use super::super::ticket;
use super::{DuelIo, Lsu, LsuIo};
use crate::kernel::AnyEdge;
use crate::l2::{Invalidate, InvalidateAck, RecalledIo};
use crate::noc::packet::{Reply, ReplyKind, Sharing};
use crate::noc::stamps::Stamps;
use crate::tracker::{Answer, Forward, ForwardResult, SupplyIo};

impl Lsu {
    /// Step 1 of an LSU cycle, continued: serves recalls by the L2, and loads of other SMs forwarded by the
    /// sharing tracker. Returns true if a line was recalled.
    #[inline(always)]
    pub(super) fn serve_peers(&mut self, io: &mut LsuIo<'_>, at: &mut impl AnyEdge) -> bool {
        let recalled = io.recall.as_mut().is_some_and(|recall| self.take_recall(recall, at));
        if let Some(supply) = &mut io.supply {
            self.take_forward(supply, at);
        }
        recalled
    }

    /// Step 1 of an LSU cycle, continued: drops a line that an L2 bank evicts, and acknowledges the recall.
    /// Returns true if there was a recall.
    #[inline(never)]
    fn take_recall(&mut self, recall: &mut RecalledIo<'_>, at: &mut impl AnyEdge) -> bool {
        let Some(&Invalidate { line, leaver, .. }) = recall.inv.peek(at) else { return false };
        if !recall.inv_ack.is_ready(at) {
            return false;
        }
        recall.inv.drop_head(at);
        // All caches of the LSU are searched, because the L2 bank records only which SM has read the line.
        let found = self.caches.each_mut().map(|cache| cache.recall(at, line));
        if let Some(watch) = &mut self.observed.watch {
            watch.recall = Some((line, found));
        }
        recall.inv_ack.push(at, InvalidateAck { partition: self.partition(line), leaver });
        true
    }

    /// Step 1 of an LSU cycle, continued: if the L1D has the line that another SM requests, sends it to that
    /// SM. Reports to the sharing tracker whether the line was sent.
    #[inline(never)]
    fn take_forward(&mut self, io: &mut SupplyIo<'_>, at: &mut impl AnyEdge) {
        let Some(&Forward { id, line, sm, ticket, sectors, row, .. }) = io.forward.peek(at) else { return };
        // Both channels must have room before the lookup, so that the result of the lookup never has to be
        // buffered.
        if !io.answer.is_ready(at) || !io.supply.is_ready(at) {
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
        if let Some(watch) = &mut self.observed.watch {
            watch.supply = Some((line, sectors, found == ForwardResult::Here));
        }
    }

    /// Drops all copies of a line in the caches of this LSU when a coherent load reads the line from the L2.
    /// Otherwise a later load could hit a copy with an older value (anssari2012 section 3.2).
    #[inline(never)]
    pub(super) fn drop_copies(&mut self, at: &impl AnyEdge, line: u64) {
        let found = self.caches.each_mut().map(|cache| cache.drop_copy(at, line));
        if let Some(watch) = &mut self.observed.watch {
            watch.dropped = Some((line, found));
        }
    }

    /// Returns the hint in the request of a miss-queue entry, which tells the sharing tracker what the L1D
    /// does with the line.
    #[inline(never)]
    pub(super) fn sharing_of(entry: &MissEntry) -> Sharing {
        match entry.kind {
            MissKind::Read if ticket::cache(entry.ticket) == CacheId::L1d => Sharing::Keeps,
            MissKind::Prefetch => Sharing::Keeps,
            // This read fetches only the missing sectors of a line. Sectors of the line that arrived earlier
            // may be stale by now. So this read must not make the tracker list the L1D as a supplier of the
            // line.
            MissKind::Rest => Sharing::Takes,
            MissKind::Notice => Sharing::Drops,
            MissKind::Atomic | MissKind::Reduce => Sharing::Coherent,
            MissKind::Read | MissKind::Write | MissKind::WriteBack => Sharing::Aside,
        }
    }

    /// Applies the L1D mode that SM dueling has sent, if a new one has arrived.
    pub(super) fn take_mode(&mut self, duel: &mut DuelIo<'_>, at: &mut impl AnyEdge) {
        if let Some(&Mode { original }) = duel.mode.peek(at) {
            duel.mode.drop_head(at);
            self.caches[CacheId::L1d as usize].set_original(original);
            if let Some(watch) = &mut self.observed.watch {
                watch.original = Some(original);
            }
        }
    }

    /// Reports to SM dueling the load that the L1D accepted at this clock edge, if there was one.
    #[inline(never)]
    pub(super) fn report_to_dueling(&mut self, duel: &mut DuelIo<'_>, at: &mut impl AnyEdge) {
        let (accesses, misses) = self.lookup_counts();
        if let Some(seen) = &mut duel.seen
            && accesses != self.derived.reported.0
        {
            seen.push(at, LoadReport { missed: misses != self.derived.reported.1 });
        }
        self.derived.reported = (accesses, misses);
    }

    /// Returns `(accepted, missed)`: the number of loads that the L1D accepted, and the number of those that
    /// missed or bypassed.
    fn lookup_counts(&self) -> (u64, u64) {
        let stats = self.stats();
        (stats.accesses, stats.misses + stats.bypasses)
    }
}
