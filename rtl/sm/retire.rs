//! Retirement: results and load replies reach the register file, warps and CTAs end.

use isa::program::{Dst, Inst, MemOp, Op};

use super::SmCore;
use super::address_unit::{BEAT_BYTES, extend};
use super::core::Loaded;
use super::decode::{Decoded, Pipe};
use crate::kernel::{Edge, Rx};
use crate::l1::access::{LANES, WarpReply, WarpReplyKind};

impl SmCore {
    /// Writes the results that have the result bus in this cycle.
    pub(super) fn write_back(&mut self, loaded: &Loaded, at: &Edge<'_>) {
        while let Some((flight, words)) = self.pipes.retire(at) {
            let decoded = &loaded.table[flight.pc as usize];
            let rows = u32::from(self.warps.get(flight.warp).rows);
            self.registers.write_words(at, rows, &decoded.rows[..usize::from(decoded.words)], flight.mask, words);
            for place in 0..decoded.preds.len() {
                if let Some(pred) = decoded.preds[place] {
                    self.registers.write_pred(at, flight.warp, pred, flight.mask, flight.preds[place]);
                }
            }
            self.release(loaded, flight.warp, decoded);
        }
    }

    /// Takes a reply of the LSU.
    pub(super) fn take_reply(&mut self, loaded: &Loaded, wb: &mut Rx<'_, WarpReply>, at: &mut Edge<'_>) {
        let reply = wb.pop(at);
        let warp = reply.warp;
        let due = match reply.kind {
            WarpReplyKind::Stored => self.warps.stored(warp),
            WarpReplyKind::Loaded => self.warps.loaded(warp),
        };
        assert!(due, "cycle {}, {}: {:?} reply to warp {warp}, which awaits none", at.cycle, self.path, reply.kind);
        if reply.kind == WarpReplyKind::Stored {
            return;
        }
        let decoded = &loaded.table[reply.pc as usize];
        let Op::Load(mem) = &decoded.inst.op else {
            panic!("cycle {}, {}: load reply for pc {}, which is no load", at.cycle, self.path, reply.pc)
        };
        let (beat, last) = self.address_unit.answered(warp, reply.pc);
        self.write_beat(at, &decoded.inst, mem, beat, &reply);
        if last {
            self.release(loaded, warp, decoded);
        }
    }

    /// Writes the elements that one beat of a load brings.
    fn write_beat(&mut self, at: &Edge<'_>, inst: &Inst, mem: &MemOp, beat: usize, reply: &WarpReply) {
        let bytes = mem.ty.bytes();
        let per_beat = (BEAT_BYTES / bytes) as usize;
        let rows = u32::from(self.warps.get(reply.warp).rows);
        let [low, high] = &reply.data;
        let elements = inst.dsts.iter().take(usize::from(mem.lanes)).enumerate();
        for (element, dst) in elements.skip(beat * per_beat).take(per_beat) {
            let Dst::Reg(reg) = dst else { continue };
            let row = rows + u32::from(reg.index);
            let shift = 8 * bytes * (element % per_beat) as u32;
            if bytes == 4 && !reg.wide {
                let word = if shift == 0 { low } else { high };
                self.registers.write_word(at, row, reply.mask, word);
                continue;
            }
            let value = |lane: usize| extend((u64::from(high[lane]) << 32 | u64::from(low[lane])) >> shift, mem.ty);
            let values: [u64; LANES] = std::array::from_fn(value);
            self.registers.write_word(at, row, reply.mask, &values.map(|value| value as u32));
            if reg.wide {
                self.registers.write_word(at, row + 1, reply.mask, &values.map(|value| (value >> 32) as u32));
            }
        }
    }

    /// Ends the lanes of `mask` of a warp.
    pub(super) fn exit(&mut self, at: &Edge<'_>, warp: u8, mask: u32) {
        if self.stacks.exit(at, warp, mask) {
            let slot = self.warps.get(warp).cta;
            self.warps.exit(warp);
            let live = self.warps.live() & self.ctas.warps(slot);
            if live == 0 {
                self.finish_cta(slot);
            } else {
                self.barriers.open(slot, live);
            }
        }
    }

    /// An instruction has written its registers.
    fn release(&mut self, loaded: &Loaded, warp: u8, decoded: &Decoded) {
        self.scoreboard.release(warp, &decoded.inst.writes, decoded.pipe == Pipe::Global);
        // Only a hazard that there was can have gone.
        if self.scoreboard.hazard() >> warp & 1 != 0 {
            let decoded = &loaded.table[self.stacks.pc(warp) as usize];
            self.scoreboard.refresh(warp, Some(&decoded.uses));
        }
        if self.warps.live() >> warp & 1 == 0 {
            self.finish_cta(self.warps.get(warp).cta);
        }
    }

    /// Ends a CTA whose warps have all exited, once nothing more can come back to them.
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
        }
    }
}
