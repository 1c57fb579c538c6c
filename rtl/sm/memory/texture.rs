//! # Texture fetches
//! Computes texel addresses from texture coordinates, one per lane, and converts the returned texels to
//! components.
//!
//! A point-sampled fetch returns the one texel whose cell contains the point. A filtered fetch issues once for
//! each texel around the point (2, 4 or 8), and finally once more to advance the warp. Each issue waits until
//! the previous texel has arrived, and so takes a whole round trip; hardware fetches the texels together. Each
//! reply adds the weighted components to the destination registers. Its weights are computed from the
//! coordinates, whose registers do not change before the last issue. No destination register is a coordinate.
//!
//! A reply carries only warp and pc. At issue, the unit must therefore store the texture that the handle
//! selects, and the lanes outside the texture, which read zero. A table next to the register file stores the
//! texture and these lanes, in the row of the first result register. This row is unique, because no two
//! instructions in flight write the same register.
//!
//! Lanes with different texture handles are served one handle after the other. Generic addresses in different
//! address spaces are served in the same way.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: `tb/sm/spaces.rs`.

use arbitrary_int::u4;
use isa::program::Dst;
use isa::texture::{TexOp, Texture, blend};
use isa::types::{Space, Type};
use serde::{Deserialize, Serialize};

use super::access::for_lanes;
use super::address_unit::Part;
use super::check::{check_lane, illegal};
use crate::kernel::{AnyEdge, Array, ArraySpec, Collide, Describe, DescribeExt, FieldsExt, Payload, Storage};
use crate::l1::access::{LANES, WarpReply};
use crate::sm::core::Loaded;
use crate::sm::execute::operands::Operands;
use crate::sm::front::decode::{DecodedInst, Pipe};
use crate::sm::front::issue::{HalfOrder, Issue, IssueProgress};
use crate::sm::host::fault::FaultKind;
use crate::sm::{SmConfig, SmCore};

/// Size of the largest texel in bytes.
pub(in crate::sm) const TEXEL_BYTES: usize = 16;

/// Texture fetch in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
struct Fetch {
    /// Index of the texture in the program.
    texture: u16,
    /// Lanes whose coordinates lie outside of the texture.
    outside: u32,
}

/// Texture fetches in flight.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Fetches {
    /// Table indexed by the row of the first result register of a fetch.
    rows: Array<Fetch>,
    /// For each warp, number of texels for which its filtered fetch has issued, 0 to 8.
    corners: Vec<u4>,
}

impl Fetches {
    pub fn new(path: &str, config: &SmConfig) -> Self {
        let spec = ArraySpec {
            path: format!("{path}.fetches"),
            storage: Storage::Sram,
            rows: config.registers / LANES as u32,
            columns: 1,
            reads: 1,
            writes: 1,
            collide: Collide::Forbidden,
        };
        Self { rows: Array::new(spec, ()), corners: vec![u4::default(); config.warps as usize] }
    }

    pub fn record(&mut self) {
        self.rows.record();
    }

    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { rows, corners } = self;
        to.array("rows", rows);
        to.entries("warp", corners.iter(), |corner, to| to.bits("corner", *corner));
    }
}

impl SmCore {
    /// Issues a texture fetch for all lanes whose texture handle equals that of the lowest lane not yet
    /// served.
    pub(in crate::sm) fn fetch_texels(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        issue: &Issue,
        decoded: &DecodedInst,
        op: &TexOp,
    ) -> IssueProgress {
        let &Issue { warp, mask: whole, .. } = issue;
        let inst = &decoded.inst;
        let read = Operands::open((&self.registers, &self.warps, &self.ctas), loaded, at, issue, decoded);
        let [handle, x, y, z, ..] = &decoded.srcs;
        let handles = read.wide(handle);
        let coordinates = [x, y, z].map(|operand| *read.word(operand.low, &mut None));
        let rest = whole & !self.warps.get(warp).served;
        let first = rest.trailing_zeros() as usize % LANES;
        let handle = handles[first];
        let Some((number, texture)) = loaded.image.program.texture(handle) else {
            return self.stop(loaded, issue, decoded, first as u8, FaultKind::Texture { handle });
        };
        let is_filtered = texture.is_filtered(op);
        if is_filtered && op.result != Type::F32 {
            let name = texture.name.clone();
            return self.stop(loaded, issue, decoded, first as u8, FaultKind::Filter { name });
        }
        let corner = if is_filtered { self.fetches.corners[usize::from(warp)].value() } else { 0 };
        let mut mask = 0;
        for_lanes(rest, |lane| mask |= u32::from(handles[lane] == handle) << lane);
        if corner == texture.corners(op) {
            // All texels of the filtered fetch have arrived.
            self.fetches.corners[usize::from(warp)] = u4::default();
            return self.serve(warp, whole, mask);
        }
        let bytes = texture.texel_bytes();
        let (mut outside, mut illegal_lane) = (0, None);
        let mut address = [0; LANES];
        for_lanes(mask, |lane| match texture.corner(op, coordinates.map(|of| of[lane]), corner).0 {
            None => outside |= 1 << lane,
            Some(texel) => {
                address[lane] = texel;
                let wrong = check_lane(&loaded.image, Space::Global, texel, bytes);
                illegal_lane = illegal_lane.take().or(wrong.map(|wrong| (lane, wrong)));
            }
        });
        if let Some((lane, wrong)) = illegal_lane {
            return self.stop(loaded, issue, decoded, lane as u8, illegal(&inst.op, address[lane], bytes, wrong));
        }
        // Each fetch reserves the destination registers itself. The next fetch of this instruction, for
        // another texel, another texture handle or the other half of the warp, therefore waits until this
        // fetch has written its result.
        let issue = &Issue { turn: HalfOrder::Only, mask, ..*issue };
        let inside = mask & !outside;
        if inside == 0 {
            if decoded.writes && corner == 0 {
                let due = self.pipes.first_room(at.cycle() + u64::from(decoded.latency));
                self.pipes.start(at, issue, due, |words| {
                    words.fill([0; LANES]);
                    [0; 2]
                });
                self.reserve(issue, &inst.writes);
            }
        } else if decoded.writes {
            let row = u32::from(issue.rows + decoded.rows[0]);
            // After the first texel of a filtered fetch, lanes outside keep their sums.
            let outside = if corner == 0 { outside } else { 0 };
            self.fetches.rows.write(at, row, 0, Fetch { texture: number as u16, outside });
            let beats = self.address_unit.start_fetch(&Issue { mask: inside, ..*issue }, bytes as u8, &address);
            self.start(at, issue, (Pipe::Global, 1), decoded);
            self.warps.loads_sent(warp, beats);
            self.reserve_load(issue, &inst.writes);
        }
        if is_filtered && decoded.writes {
            self.fetches.corners[usize::from(warp)] += u4::new(1);
            return IssueProgress::Part;
        }
        self.serve(warp, whole, mask)
    }

    /// Writes the texel components that one beat carries to the destination registers of the texture fetch.
    #[inline(never)]
    pub(in crate::sm) fn write_texels(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        decoded: &DecodedInst,
        op: &TexOp,
        reply: &WarpReply,
    ) {
        let part = Part::of(reply);
        let rows = u32::from(self.first_row(reply.warp, reply.half));
        let Fetch { texture, outside } = self.fetches.rows.read(at, rows + u32::from(decoded.rows[0]))[0];
        let texture = &loaded.image.program.textures[usize::from(texture)];
        let weights = texture.is_filtered(op).then(|| self.weights(loaded, at, decoded, (op, texture), reply));
        let mut components = [[0; LANES]; 4];
        for_lanes(reply.mask, |lane| {
            let mut texel = [0; TEXEL_BYTES];
            let [low, high] = reply.data.each_ref().map(|word| word[lane].to_le_bytes());
            texel[part.offset as usize..][..4].copy_from_slice(&low);
            texel[part.offset as usize + 4..][..4].copy_from_slice(&high);
            for (component, value) in components.iter_mut().zip(texture.decode(op, &texel)) {
                component[lane] = value;
            }
        });
        for ((channel, dst), component) in (0..).zip(&decoded.inst.dsts).zip(&components) {
            // The registers of components that the texture format lacks are written when the first beat
            // arrives.
            let place = if channel < texture.channels { channel * texture.ty.bytes() } else { 0 };
            let here = (part.offset..part.offset + part.bytes).contains(&place);
            let (Dst::Reg(reg), true) = (dst, here) else { continue };
            let row = rows + u32::from(reg.index);
            let Some((is_first, weights)) = &weights else {
                self.registers.write_word(at, row, reply.mask | outside, component);
                continue;
            };
            let mut sum = [0; LANES];
            if !is_first {
                self.registers.take_reads(at, 1);
                sum = *self.registers.word(row);
            }
            for_lanes(reply.mask, |lane| sum[lane] = blend(sum[lane], component[lane], weights[lane]));
            self.registers.write_word(at, row, reply.mask | outside, &sum);
        }
    }

    /// Returns the weights, in the lanes of a reply, of the texel that a filtered fetch has received, and
    /// whether it is the first of its texels.
    fn weights(
        &self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        decoded: &DecodedInst,
        (op, texture): (&TexOp, &Texture),
        reply: &WarpReply,
    ) -> (bool, [f64; LANES]) {
        let &WarpReply { warp, half, pc, mask, .. } = reply;
        let rows = self.first_row(warp, half);
        let issue = Issue { half, rows, ..Issue::whole(0, warp, pc, mask) };
        let read = Operands::open((&self.registers, &self.warps, &self.ctas), loaded, at, &issue, decoded);
        let [_, x, y, z, ..] = &decoded.srcs;
        let coordinates = [x, y, z].map(|operand| *read.word(operand.low, &mut None));
        let corner = self.fetches.corners[usize::from(warp)].value() - 1;
        let mut weights = [0.0; LANES];
        for_lanes(mask, |lane| weights[lane] = texture.corner(op, coordinates.map(|of| of[lane]), corner).1);
        (corner == 0, weights)
    }
}
