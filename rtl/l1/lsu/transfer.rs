//! Steps 1 to 3 of an LSU cycle: replies to the core, replies from memory, delivery of arrived lines to
//! waiting loads, and requests to memory.

use super::super::access::WarpReply;
use super::super::cache::CacheId;
use super::super::miss_queue::MissKind;
use super::super::pending::Times;
use super::super::ticket;
use super::Lsu;
use crate::kernel::{AnyEdge, Rx, Tx};
use crate::noc::packet::{Reply, ReplyKind, Request, RequestKind, Sharing};
use crate::noc::stamps::Stamps;

impl Lsu {
    /// Step 1 of an LSU cycle: sends a reply to the core, if an instruction is complete.
    #[inline(always)]
    pub(super) fn answer(&mut self, rsp: &mut Tx<'_, WarpReply>, at: &mut impl AnyEdge) {
        if self.pending.has_done() && rsp.is_ready(at) {
            let (cycle, mut load) = (at.cycle(), None);
            rsp.push_with(at, |reply| load = self.pending.take(reply).map(|times| (reply.pc, times)));
            if let Some((pc, Times { begun, looked_up })) = load {
                self.observed.stages.tags.count(looked_up - begun);
                if let Some(load) = self.observed.loads.get_mut(pc as usize) {
                    load.count_answer(cycle - begun);
                }
            }
        }
    }

    /// Step 1 of an LSU cycle, continued: accepts the reply at the head of the channel from memory. If the
    /// reply fills a line, returns the cache and the set of the line; otherwise returns `None`.
    pub(super) fn take_reply(&mut self, rsp: &mut Rx<'_, Reply>, at: &mut impl AnyEdge) -> Option<(CacheId, u32)> {
        let reply = rsp.peek(at)?;
        let mut filled = None;
        let (slot, lanes) = ticket::target(reply.ticket);
        match reply.kind {
            ReplyKind::Ack if ticket::is_write_back(reply.ticket) => self.write_backs -= 1,
            ReplyKind::Ack => self.pending.acknowledge(slot, lanes),
            ReplyKind::Data if ticket::is_bypass(reply.ticket) => self.pending.deliver(slot, lanes, &reply.data),
            ReplyKind::Data => {
                let cache = ticket::cache(reply.ticket);
                let (set, kept) = self.caches[cache as usize].fill(at, reply)?;
                filled = Some((cache, set));
                // After the fill, the cache has bytes to deliver only if a load waits for the line. If a
                // prefetch requested the line, there may be no such load.
                self.derived.ready |= u64::from(self.caches[cache as usize].has_ready()) << cache as u8;
                if let Some(watch) = &mut self.observed.watch {
                    watch.fill = Some((cache, reply.line, reply.sectors, kept));
                }
            }
        }
        if let Some(spans) = reply.stamps.spans(at.tick()) {
            let [requests, l2, replies] = spans.map(|ticks| in_cycles(ticks, at));
            self.observed.stages.requests.count(requests);
            self.observed.stages.l2.count(l2);
            self.observed.stages.replies.count(replies);
        }
        rsp.drop_head(at);
        filled
    }

    /// Step 2 of an LSU cycle: selects a cache by round robin, and delivers the line of its oldest filled
    /// MSHR entry to one waiting load. Returns `None` if no load waits for an arrived line. Otherwise returns
    /// true if no other load waits in this MSHR entry.
    pub(super) fn drain(&mut self, at: &impl AnyEdge) -> Option<bool> {
        if self.derived.ready == 0 {
            return None;
        }
        let number = self.drain_turn.grant(self.derived.ready)?;
        let cache = &mut self.caches[number as usize];
        let (line, waiter, last) = cache.drain(at, &mut self.pending)?;
        if !cache.has_ready() {
            self.derived.ready &= !(1 << number);
        }
        if let Some(watch) = &mut self.observed.watch {
            watch.drain = Some((CacheId::from_number(number), line, waiter));
        }
        Some(last)
    }

    /// Step 3 of an LSU cycle: sends one request to the network. Returns true if the head of the access queue
    /// was sent, on the bypass path.
    pub(super) fn send(&mut self, req: &mut Tx<'_, Request>, at: &mut impl AnyEdge) -> bool {
        let wants_bypass = self.derived.head_bypasses;
        if (self.miss_queue.is_empty() && !wants_bypass) || !req.is_ready(at) {
            return false;
        }
        let is_its_turn = self.miss_queue.is_empty() || self.bypass_turn;
        if wants_bypass && is_its_turn && self.send_bypass(req, at) {
            self.bypass_turn = false;
            return true;
        }
        self.send_queued(req, at);
        false
    }

    /// Sends the load at the head of the access queue on the bypass path. Returns false, without sending the
    /// load, if the miss queue holds a write to the same line, because the write must be sent first.
    fn send_bypass(&self, req: &mut Tx<'_, Request>, at: &mut impl AnyEdge) -> bool {
        let Some(head) = self.queue.front().filter(|head| !self.miss_queue.holds_write(head.line)) else {
            return false;
        };
        let request = Request {
            kind: RequestKind::Read,
            id: head.id,
            line: head.line,
            sm: self.constants.place.sm,
            partition: self.partition(head.line),
            ticket: ticket::bypass(head.slot, head.lanes),
            sharing: match (self.constants.place.is_tracked, head.uncached) {
                (false, _) => Sharing::Aside,
                (true, false) => Sharing::Takes,
                (true, true) => Sharing::Coherent,
            },
            priority: head.hints.l2,
            sectors: if self.constants.by_sector { head.sectors } else { self.constants.whole },
            stamps: Stamps::from_send_tick(at.tick()),
            ..Request::default()
        };
        req.push(at, request);
        true
    }

    /// Sends the oldest entry of the miss queue to the network.
    fn send_queued(&mut self, req: &mut Tx<'_, Request>, at: &mut impl AnyEdge) {
        let Some(entry) = self.miss_queue.head() else { return };
        let partition = self.partition(entry.line);
        let reads = matches!(entry.kind, MissKind::Read | MissKind::Rest | MissKind::Prefetch);
        let stamps = if reads { Stamps::from_send_tick(at.tick()) } else { Stamps::default() };
        if reads {
            self.observed.stages.miss_queue.count(in_cycles(at.tick() - entry.since, at));
        }
        req.push_with(at, |request| {
            request.kind = match entry.kind {
                MissKind::Read | MissKind::Rest | MissKind::Prefetch | MissKind::Notice => RequestKind::Read,
                MissKind::Write | MissKind::WriteBack => RequestKind::Write,
                MissKind::Atomic => RequestKind::Atomic,
                MissKind::Reduce => RequestKind::Reduce,
            };
            request.id = entry.id;
            request.line = entry.line;
            request.sm = self.constants.place.sm;
            request.partition = partition;
            request.ticket = entry.ticket;
            request.atomic = entry.atomic;
            request.sharing = if self.constants.place.is_tracked { Self::sharing_of(entry) } else { Sharing::Aside };
            request.priority = entry.priority;
            request.sectors = entry.sectors;
            request.byte_mask = entry.byte_mask;
            request.data = entry.data;
            request.stamps = stamps;
        });
        self.write_backs += u16::from(entry.kind == MissKind::WriteBack);
        if entry.kind == MissKind::Prefetch
            && let Some(prefetcher) = self.caches[CacheId::L1d as usize].prefetcher_mut()
        {
            prefetcher.send();
        }
        self.miss_queue.pop();
        self.bypass_turn = self.derived.head_bypasses;
    }
}

/// Converts a time in ticks of the simulator's common time base to core cycles. All clocks have their first
/// edge at tick 0, so the current tick divided by the current cycle is the clock period.
#[inline(always)]
fn in_cycles(ticks: u64, at: &impl AnyEdge) -> u64 {
    let period = at.tick() / at.cycle().max(1);
    ticks / period.max(1)
}
