//! Exchanges between the lanes of a warp: shuffles, votes and matches. Lanes with the same member mask form a
//! group and exchange among themselves. If a group lacks a member, a fault stops the core. The SIMT stack
//! runs one path of a warp at a time, so a path cannot wait for lanes on another path.

use isa::lanes::{ConvergenceFault, WarpInputs, WarpOp, warp};
use isa::program::{BarrierKind, Dst, Op, Src};

use super::alu::put;
use super::operands::{Operands, Row};
use crate::kernel::AnyEdge;
use crate::l1::access::LANES;
use crate::sm::SmCore;
use crate::sm::core::Loaded;
use crate::sm::front::decode::DecodedInst;
use crate::sm::front::issue::{Issue, IssueProgress};
use crate::sm::host::fault::FaultKind;

impl SmCore {
    /// Executes an exchange between lanes. Stops the core if a matrix instruction lacks a lane of the warp,
    /// or another exchange a lane of the member mask.
    #[inline(never)]
    pub(in crate::sm) fn exchange(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        issue: &Issue,
        decoded: &DecodedInst,
        op: &WarpOp,
    ) -> IssueProgress {
        if op.needs_all_lanes() && issue.mask != u32::MAX {
            let (lane, mask) = (issue.mask.trailing_zeros() as u8, issue.mask);
            return self.stop(loaded, issue, decoded, lane, FaultKind::Lanes { mask });
        }
        let read = Operands::open((&self.registers, &self.warps, &self.ctas), loaded, at, issue, decoded);
        let word = |source: usize| *read.word(decoded.srcs[source].low, &mut None);
        let (a, b, c, pred) = (read.wide(&decoded.srcs[0]), word(1), word(2), read.pred(&decoded.inst.srcs[0]));
        let members = op.members().map(word);
        if let Some(members) = &members {
            let of_half = |lanes: u64| (lanes >> (LANES * usize::from(issue.half))) as u32;
            let wrong = |live| find_fault(op.name(), issue.mask, of_half(live), members);
            let wrong =
                wrong(self.stacks.alive(issue.warp)).and_then(|_| wrong(self.awaited_lanes(loaded, issue.warp)));
            if let Some(wrong) = wrong {
                return self.stop(loaded, issue, decoded, wrong.lane() as u8, FaultKind::Convergence(wrong));
            }
        }
        if decoded.writes {
            let mut due = self.start(at, issue, (decoded.pipe, decoded.interval), decoded);
            due += u64::from(decoded.latency);
            if decoded.queues {
                due = self.pipes.first_room(due);
            }
            let inputs = WarpInputs { a: &a, b: &b, c: &c, pred };
            self.pipes.start(at, issue, due, |words| {
                let (mut values, mut preds) = ([0; LANES], 0);
                for (lanes, _) in groups(issue.mask, members.as_ref()) {
                    let result = warp(op, lanes, inputs);
                    preds |= result.preds & lanes;
                    (0..LANES)
                        .filter(|lane| lanes >> lane & 1 != 0)
                        .for_each(|lane| values[lane] = result.values[lane]);
                }
                if let Dst::Reg(_) = decoded.inst.dsts[0] {
                    put(words, 0, &decoded.inst.dsts[0], &values);
                }
                [preds; 2]
            });
            self.reserve(issue, &decoded.inst.writes);
        }
        IssueProgress::All
    }

    /// Returns the mask of the lanes of a warp for which a barrier or an exchange must wait. These are all
    /// lanes that have not exited, except the lanes that have nothing left to do but exit. To compute this
    /// mask, hardware stores one bit per stack entry.
    fn awaited_lanes(&self, loaded: &Loaded, warp: u8) -> u64 {
        let alive = self.stacks.alive(warp);
        let (mut seen, mut awaited) = (0, 0);
        // The pc of a lane is the pc of the topmost stack entry that contains the lane.
        for entry in self.stacks.all(warp) {
            let lanes = entry.mask & alive & !seen;
            seen |= lanes;
            if !loaded.image.program.is_end(entry.pc) {
                awaited |= lanes;
            }
        }
        awaited
    }

    /// Stops the core, and returns true, if a warp reaches a barrier without all the lanes that must arrive.
    /// At a barrier with a thread count, one half of a 64-lane warp may arrive without the other half. That
    /// half counts as 32 threads.
    #[inline(never)]
    pub(in crate::sm) fn stop_if_split(&mut self, loaded: &Loaded, issue: &Issue, decoded: &DecodedInst) -> bool {
        const LOWER: u64 = u32::MAX as u64;
        let op = match decoded.inst.op {
            Op::BarrierWith(kind) => kind.name(),
            _ => BarrierKind::Sync.name(),
        };
        let (lanes, live) = (issue.lanes, self.awaited_lanes(loaded, issue.warp));
        if lanes == live {
            return false;
        }
        let is_whole = |half: u64| lanes & half == 0 || lanes & half == live & half;
        if decoded.inst.srcs[1] != Src::None && is_whole(LOWER) && is_whole(!LOWER) {
            return false;
        }
        let wrong = ConvergenceFault::Split { op, lanes, live };
        let issue = Issue { half: 0, ..*issue };
        self.stop(loaded, &issue, decoded, wrong.lane() as u8, FaultKind::Convergence(wrong));
        true
    }
}

/// Splits the lanes of `mask` into groups with the same member mask; returns each group with its member mask.
/// Without `members`, all lanes of `mask` form one group.
fn groups<'m>(mask: u32, members: Option<&'m Row>) -> impl Iterator<Item = (u32, u32)> + 'm {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let leader = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
        let named = members.map_or(mask, |members| members[leader]);
        let is_of_group = |lane: &usize| rest >> lane & 1 != 0 && members.is_none_or(|members| members[*lane] == named);
        let lanes = (leader..LANES).filter(is_of_group).fold(0, |lanes, lane| lanes | 1 << lane);
        rest &= !lanes;
        Some((lanes, named))
    })
}

/// Finds the first group whose lanes differ from its member mask, and returns its fault. A missing member
/// causes a fault only if it is in the mask `live`.
fn find_fault(op: &'static str, mask: u32, live: u32, members: &Row) -> Option<ConvergenceFault> {
    groups(mask, Some(members)).find_map(|(lanes, members)| match (lanes & !members, members & live & !lanes) {
        (0, 0) => None,
        (0, missing) => Some(ConvergenceFault::Missing { op, lanes, members, missing }),
        (lanes, _) => Some(ConvergenceFault::Outside { op, lanes, members }),
    })
}
