//! What an LSU does for the instruction cache of its core, which has no way to memory of its own.

use super::super::instructions::{LineWanted, SupplierIo};
use super::super::ticket;
use super::{Lsu, LsuIo};
use crate::kernel::AnyEdge;
use crate::noc::packet::{Request, RequestKind, Sharing};

impl Lsu {
    /// The parts of steps 1 and 3 that are the instruction cache's, ahead of the LSU's own: a line that has come goes on to
    /// it, and a line that it wants is asked for. Each channel then is taken for this edge. Returns whether there is more to
    /// be asked for at the next.
    #[inline(never)]
    pub(super) fn serve_instructions(
        &mut self,
        core: &mut SupplierIo<'_>,
        io: &mut LsuIo<'_>,
        at: &mut impl AnyEdge,
    ) -> bool {
        if let Some(reply) = io.mem_rsp.peek(at).filter(|reply| ticket::is_of_instructions(reply.ticket)) {
            // The link has room for every line that is on its way.
            core.brought.push_with(at, |beat| {
                (beat.id, beat.line, beat.data) = (reply.id, reply.line, reply.data);
            });
            io.mem_rsp.drop_head(at);
        }
        self.send_wanted(core, io, at);
        core.wanted.waiting(at) && !io.mem_req.blocked(at)
    }

    /// Asks for a line of instructions. Where data want the network too, they take turns, so that neither starves.
    fn send_wanted(&mut self, core: &mut SupplierIo<'_>, io: &mut LsuIo<'_>, at: &mut impl AnyEdge) {
        let Some(&LineWanted { id, line }) = core.wanted.peek(at) else { return };
        if !io.mem_req.ready(at) {
            return;
        }
        let data_waits = !self.miss_queue.is_empty() || self.known.head_bypasses;
        let is_its_turn = !data_waits || self.instruction_turn;
        self.instruction_turn ^= data_waits;
        if !is_its_turn {
            return;
        }
        core.wanted.drop_head(at);
        let request = Request {
            kind: RequestKind::Read,
            id,
            line,
            sm: self.fixed.place.sm,
            partition: self.partition(line),
            ticket: ticket::INSTRUCTIONS,
            // Nobody else's L1 has it.
            sharing: Sharing::Aside,
            sectors: self.fixed.whole,
            ..Request::default()
        };
        io.mem_req.push(at, request);
    }
}
