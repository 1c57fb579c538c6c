//! # Addresses of surface accesses
//! Computes the address of a surface access from its coordinates, one per lane, and checks its bounds. A load,
//! store or atomic of global memory follows. The instruction executes on the integer pipe.
//!
//! Assumption: the instruction has the timing of an integer addition. Kepler computes such addresses by several
//! instructions (`SUCLAMP`, `SUBFM`, `SUEAU`); later GPUs access a surface by one instruction (`SULD`, `SUST`).
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: `tb/sm/spaces.rs`.

use isa::program::Dst;
use isa::texture::{Bounds, SurfaceOp};

use super::access::for_lanes;
use crate::kernel::AnyEdge;
use crate::l1::access::LANES;
use crate::sm::SmCore;
use crate::sm::core::Loaded;
use crate::sm::execute::alu::put;
use crate::sm::execute::operands::Operands;
use crate::sm::front::decode::DecodedInst;
use crate::sm::front::issue::{Issue, IssueProgress};
use crate::sm::host::fault::FaultKind;

impl SmCore {
    /// Computes the addresses of the surface accesses of all lanes.
    pub(in crate::sm) fn compute_surface_addresses(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        issue: &Issue,
        decoded: &DecodedInst,
        op: &SurfaceOp,
    ) -> IssueProgress {
        let read = Operands::open((&self.registers, &self.warps, &self.ctas), loaded, at, issue, decoded);
        let [handle, x, y, z, ..] = &decoded.srcs;
        let handles = read.wide(handle);
        let coordinates = [x, y, z].map(|operand| *read.word(operand.low, &mut None));
        let (mut addresses, mut inside, mut wrong) = ([0; LANES], 0, None);
        for_lanes(issue.mask, |lane| {
            let handle = handles[lane];
            let Some((_, surface)) = loaded.image.program.texture(handle) else {
                wrong.get_or_insert((lane, FaultKind::Texture { handle }));
                return;
            };
            let at = coordinates.map(|of| of[lane]);
            match surface.element(op, at) {
                Some(address) => {
                    addresses[lane] = address;
                    inside |= 1 << lane;
                }
                None if op.bounds == Bounds::Zero => {}
                None => {
                    let [width, height, depth] = surface.extent;
                    let fault = FaultKind::Surface {
                        name: surface.name.clone(),
                        at: at[..usize::from(op.dims)].iter().map(|&at| at as i32).collect(),
                        bytes: op.bytes,
                        row: u64::from(width) * u64::from(surface.texel_bytes()),
                        extent: [height, depth],
                    };
                    wrong.get_or_insert((lane, fault));
                }
            }
        });
        if let Some((lane, fault)) = wrong {
            return self.stop(loaded, issue, decoded, lane as u8, fault);
        }
        if decoded.writes {
            let start = self.start(at, issue, (decoded.pipe, decoded.interval), decoded);
            let due = self.pipes.first_room(start + u64::from(decoded.latency));
            self.pipes.start(at, issue, due, |words| {
                if let dst @ Dst::Reg(_) = &decoded.inst.dsts[0] {
                    put(words, 0, dst, &addresses);
                }
                [inside; 2]
            });
            self.reserve(issue, &decoded.inst.writes);
        }
        IssueProgress::All
    }
}
