//! Requests and replies that an LSU forwards for the instruction cache of its core, which has no network port
//! of its own.

use super::super::instructions::{InstructionLineRequest, SupplierIo};
use super::super::ticket;
use super::{Lsu, LsuIo};
use crate::kernel::AnyEdge;
use crate::noc::packet::{Request, RequestKind, Sharing};

impl Lsu {
    /// Serves the instruction cache of the core, before steps 1 and 3 of the LSU cycle. Forwards an arrived
    /// instruction line to the core, and sends the read of a requested line. A network channel that carries
    /// instructions is not available to data at the same clock edge. Returns true if another request can be
    /// sent at the next edge.
    #[inline(never)]
    pub(super) fn serve_instructions(
        &mut self,
        core: &mut SupplierIo<'_>,
        io: &mut LsuIo<'_>,
        at: &mut impl AnyEdge,
    ) -> bool {
        if let Some(reply) = io.mem_rsp.peek(at).filter(|reply| ticket::is_of_instructions(reply.ticket)) {
            // The link to the core has room for every instruction line in flight, so it always accepts the
            // line.
            core.brought.push_with(at, |beat| {
                (beat.id, beat.line, beat.data) = (reply.id, reply.line, reply.data);
            });
            io.mem_rsp.drop_head(at);
        }
        self.send_line_request(core, io, at);
        core.wanted.has_beat(at) && !io.mem_req.is_blocked(at)
    }

    /// Sends the read of an instruction line. If data requests also need the network port, instructions and
    /// data alternate, so that neither starves.
    fn send_line_request(&mut self, core: &mut SupplierIo<'_>, io: &mut LsuIo<'_>, at: &mut impl AnyEdge) {
        let Some(&InstructionLineRequest { id, line }) = core.wanted.peek(at) else { return };
        if !io.mem_req.is_ready(at) {
            return;
        }
        let data_waits = !self.miss_queue.is_empty() || self.derived.head_bypasses;
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
            sm: self.constants.place.sm,
            partition: self.partition(line),
            ticket: ticket::INSTRUCTIONS,
            // The sharing tracker need not track instruction lines, because no L1 of another SM holds them.
            sharing: Sharing::Aside,
            sectors: self.constants.whole,
            ..Request::default()
        };
        io.mem_req.push(at, request);
    }
}
