//! Retirement: writes results and load replies to the register file, and ends warps and CTAs.

use isa::program::{Dst, Inst, MemOp, Op, Reg, RegMask};

use super::pipes::Flight;
use crate::kernel::{AnyEdge, Rx};
use crate::l1::access::{LANES, WarpReply, WarpReplyKind};
use crate::sm::SmCore;
use crate::sm::core::Loaded;
use crate::sm::front::decode::{DecodedInst, Pipe};
use crate::sm::memory::address_unit::{Part, extend};
use crate::sm::warp::warps::Warps;

impl SmCore {
    /// Writes back the results for which the result bus is reserved in this cycle.
    #[inline(always)]
    pub(in crate::sm) fn write_back(&mut self, loaded: &Loaded, at: &impl AnyEdge) {
        if self.pipes.are_due(at.cycle()) {
            self.retire_due(loaded, at);
        }
    }

    #[inline(never)]
    fn retire_due(&mut self, loaded: &Loaded, at: &impl AnyEdge) {
        for slot in self.pipes.due(at) {
            self.retire(loaded, at, slot);
        }
    }

    /// Writes back one result and releases its registers.
    #[inline(always)]
    fn retire(&mut self, loaded: &Loaded, at: &impl AnyEdge, slot: u8) {
        let (flight, words) = self.pipes.retire(at, slot);
        let Flight { warp, half, more, rows, pc, mask, preds, .. } = *flight;
        let decoded = &loaded.table[pc as usize];
        self.registers.write_words(at, rows.into(), (&decoded.rows, decoded.words), mask, words);
        if decoded.has_preds {
            for (pred, lanes) in decoded.preds.iter().zip(preds) {
                if let Some(pred) = *pred {
                    self.registers.write_pred(at, (warp, half), pred, mask, lanes);
                }
            }
        }
        if !more {
            self.release(loaded, warp, decoded);
        }
    }

    /// Returns the first register row of a warp, or of one half of a 64-lane warp.
    #[inline(always)]
    pub(in crate::sm) fn first_row(&self, warp: u8, half: u8) -> u16 {
        let first = self.warps.get(warp).rows;
        if half == 0 { first } else { first + self.ctas.share().rows }
    }

    /// Processes a reply of the LSU: load data, or a store acknowledgment.
    #[inline(never)]
    pub(in crate::sm) fn take_reply(&mut self, loaded: &Loaded, wb: &mut Rx<'_, WarpReply>, at: &mut impl AnyEdge) {
        let Some(reply) = wb.peek(at) else { return wb.drop_head(at) };
        let warp = reply.warp;
        if reply.kind == WarpReplyKind::Stored {
            self.count_reply(at, reply, Warps::complete_store);
            return wb.drop_head(at);
        }
        if loaded.recorded.is_some() {
            return self.take_recorded(loaded, wb, at);
        }
        let decoded = &loaded.table[reply.pc as usize];
        // Atomics also write memory, so barriers and fences wait for their replies as for the acknowledgments
        // of stores.
        let is_atomic = matches!(decoded.inst.op, Op::Atomic(..));
        self.count_reply(at, reply, if is_atomic { Warps::complete_store } else { Warps::complete_load });
        let mut written = decoded.inst.writes;
        match &decoded.inst.op {
            Op::Load(mem) if mem.lanes == 1 && mem.ty.bytes() == 4 && decoded.words == 1 => {
                let row = u32::from(self.first_row(warp, reply.half) + decoded.rows[0]);
                self.registers.write_word(at, row, reply.mask, &reply.data[0]);
            }
            Op::Load(mem) | Op::Atomic(_, mem) => written = self.write_beat(at, &decoded.inst, mem, reply),
            Op::Texture(op) => {
                self.write_texels(loaded, at, decoded, op, reply);
                if self.address_unit.on_reply(warp, reply.pc) {
                    written = RegMask::default();
                }
            }
            _ => panic!("cycle {}, {}: load reply for pc {}, which is not a load", at.cycle(), self.path, reply.pc),
        }
        wb.drop_head(at);
        if self.halves.complete(warp, &written) {
            self.release_set(loaded, warp, &written, true);
        }
    }

    /// Subtracts one beat from the outstanding beats of a warp, after the reply to this beat. `count` is the
    /// method of `Warps` that subtracts it: one method is for load beats, another for store beats.
    pub(in crate::sm) fn count_reply(
        &mut self,
        at: &impl AnyEdge,
        reply: &WarpReply,
        count: fn(&mut Warps, u8) -> bool,
    ) {
        let (warp, kind) = (reply.warp, reply.kind);
        let is_due = count(&mut self.warps, warp);
        assert!(is_due, "cycle {}, {}: {kind:?} reply to warp {warp}, which awaits none", at.cycle(), self.path);
    }

    /// Writes the part of a load that one beat carries to the destination registers. The elements of the load
    /// can have any size and number. Returns the registers written.
    #[inline(never)]
    fn write_beat(&mut self, at: &impl AnyEdge, inst: &Inst, mem: &MemOp, reply: &WarpReply) -> RegMask {
        let (bytes, part) = (mem.ty.bytes(), Part::of(reply));
        let mut written = RegMask::default();
        let rows = u32::from(self.first_row(reply.warp, reply.half));
        let [low, high] = &reply.data;
        for (first, dst) in (0..).step_by(bytes as usize).zip(&inst.dsts[..usize::from(mem.lanes)]) {
            let Dst::Reg(reg) = dst else { continue };
            let row = rows + u32::from(reg.index);
            if bytes > part.bytes {
                // The element is larger than the beat. Each beat carries one half of the element.
                let half = part.offset.wrapping_sub(first) / part.bytes;
                if half < 2 {
                    self.registers.write_word(at, row + half, reply.mask, low);
                    written.insert_reg(Reg { index: reg.index + half as u16, wide: false });
                }
                continue;
            }
            if !(part.offset..part.offset + part.bytes).contains(&first) {
                continue;
            }
            written.insert_reg(*reg);
            let place = (first - part.offset) / bytes;
            if bytes == 4 && !reg.wide {
                self.registers.write_word(at, row, reply.mask, &reply.data[place as usize]);
                continue;
            }
            let shift = 8 * bytes * place;
            let value = |lane: usize| extend((u64::from(high[lane]) << 32 | u64::from(low[lane])) >> shift, mem.ty);
            let values: [u64; LANES] = std::array::from_fn(value);
            self.registers.write_word(at, row, reply.mask, &values.map(|value| value as u32));
            if reg.wide {
                self.registers.write_word(at, row + 1, reply.mask, &values.map(|value| (value >> 32) as u32));
            }
        }
        written
    }

    /// Ends the lanes in `mask` of a warp, and the warp itself if no lane remains.
    pub(in crate::sm) fn exit(&mut self, at: &impl AnyEdge, warp: u8, mask: u64) {
        if self.stacks.exit(at, warp, mask) {
            self.end_warp(warp);
        }
    }

    /// Marks a warp as ended. This can open a barrier or finish the CTA.
    pub(in crate::sm) fn end_warp(&mut self, warp: u8) {
        let slot = self.warps.get(warp).cta;
        self.warps.exit(warp);
        let live = self.warps.live() & self.ctas.warps(slot);
        if live == 0 {
            self.finish_cta(slot);
        } else {
            self.barriers.open(slot, live);
        }
    }

    /// Releases the destination registers of an instruction in the scoreboard, after the instruction has
    /// written them.
    #[inline(always)]
    fn release(&mut self, loaded: &Loaded, warp: u8, decoded: &DecodedInst) {
        self.release_set(loaded, warp, &decoded.inst.writes, decoded.pipe == Pipe::Global);
    }

    /// Releases the registers `writes`, which have been written, in the scoreboard; `memory` is true if an
    /// access to device memory wrote them.
    #[inline(always)]
    pub(in crate::sm) fn release_set(&mut self, loaded: &Loaded, warp: u8, writes: &RegMask, memory: bool) {
        let stacks = &self.stacks;
        let uses = || &loaded.table[stacks.pc(warp) as usize].uses;
        self.scoreboard.release(warp, writes, memory, uses);
        if self.warps.live() >> warp & 1 == 0 {
            self.finish_cta(self.warps.get(warp).cta);
        }
    }

    /// Finishes a CTA once all its warps have exited and none of their loads and results is outstanding.
    #[inline(never)]
    fn finish_cta(&mut self, slot: u8) {
        let warps = self.ctas.warps(slot);
        let mut rest = warps;
        while rest != 0 {
            let warp = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            if !self.scoreboard.is_clear(warp) || self.warps.is_loading(warp) {
                return;
            }
        }
        if self.warps.live() & warps == 0 {
            self.ctas.finish(slot);
            self.barriers.clear(slot);
            self.streams.end(warps);
        }
    }
}
