//! # Texture fetches
//! Turns coordinates into texel addresses, one per lane, and what comes back into components. No
//! filter stands here: a fetch brings the one texel in whose cell its point lies.
//!
//! A reply names warp and pc, but which texture the handle meant, and which lanes lie outside of it
//! and read zero, is known at issue only. Both wait in a table beside the register file, in the row
//! of the first result: no two instructions on their way write the same register.
//!
//! Lanes that bring different handles are served one handle after the other, like generic addresses
//! of different spaces.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: `tb/sm/spaces.rs`.

use isa::program::Dst;
use isa::texture::TexOp;
use isa::types::Space;
use serde::{Deserialize, Serialize};

use super::access::for_lanes;
use super::address_unit::Part;
use super::check::{check_lane, illegal};
use crate::kernel::{AnyEdge, Array, ArraySpec, Collide, Describe, Payload, Storage};
use crate::l1::access::{LANES, WarpReply};
use crate::sm::core::Loaded;
use crate::sm::execute::operands::Operands;
use crate::sm::front::decode::{Decoded, Pipe};
use crate::sm::front::issue::{Issue, Served, Turn};
use crate::sm::host::fault::FaultKind;
use crate::sm::{SmConfig, SmCore};

/// Bytes of the largest texel.
pub(in crate::sm) const TEXEL_BYTES: usize = 16;

/// A fetch on its way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
struct Fetch {
    /// Number of the texture.
    texture: u16,
    /// Lanes outside of it.
    outside: u32,
}

/// The fetches on their way, by the row of their first result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Fetches {
    rows: Array<Fetch>,
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
        Self { rows: Array::new(spec, ()) }
    }

    pub fn record(&mut self) {
        self.rows.record();
    }

    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { rows } = self;
        to.array("rows", rows);
    }
}

impl SmCore {
    /// Sends a texture fetch on its way, for the lanes that bring the handle of the lowest.
    pub(in crate::sm) fn fetch_texels(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        issue: &Issue,
        decoded: &Decoded,
        op: &TexOp,
    ) -> Served {
        let &Issue { warp, mask: whole, .. } = issue;
        let inst = &decoded.inst;
        let read = Operands::open((&self.registers, &self.warps, &self.ctas), loaded, at, issue, decoded);
        let [handle, x, y, z, ..] = &decoded.srcs;
        let handles = read.wide(handle);
        let coordinates = [x, y, z].map(|operand| *read.word(operand.low, &mut None));
        let rest = whole & !self.warps.get(warp).served;
        let first = rest.trailing_zeros() as usize % LANES;
        let handle = handles[first];
        let textures = &loaded.image.program.textures;
        let number = handle.checked_sub(1).and_then(|number| usize::try_from(number).ok());
        let Some((number, texture)) = number.and_then(|number| Some((number, textures.get(number)?))) else {
            return self.stop(loaded, issue, decoded, first as u8, FaultKind::Texture { handle });
        };
        let bytes = texture.texel_bytes();
        let (mut mask, mut outside, mut illegal_lane) = (0, 0, None);
        let mut address = [0; LANES];
        for_lanes(rest, |lane| {
            if handles[lane] != handle {
                return;
            }
            mask |= 1 << lane;
            match texture.texel(op, coordinates.map(|of| of[lane])) {
                None => outside |= 1 << lane,
                Some(texel) => {
                    address[lane] = texel;
                    let wrong = check_lane(&loaded.image, Space::Global, texel, bytes);
                    illegal_lane = illegal_lane.take().or(wrong.map(|wrong| (lane, wrong)));
                }
            }
        });
        if let Some((lane, wrong)) = illegal_lane {
            return self.stop(loaded, issue, decoded, lane as u8, illegal(&inst.op, address[lane], bytes, wrong));
        }
        // A fetch waits for the one before.
        let issue = &Issue { turn: Turn::Only, mask, ..*issue };
        let inside = mask & !outside;
        if inside == 0 {
            if decoded.writes {
                let due = self.pipes.first_room(at.cycle() + u64::from(decoded.latency));
                self.pipes.start(at, issue, due, |words| {
                    words.fill([0; LANES]);
                    [0; 2]
                });
                self.reserve(issue, &inst.writes);
            }
        } else if decoded.writes {
            let row = u32::from(issue.rows + decoded.rows[0]);
            self.fetches.rows.write(at, row, 0, Fetch { texture: number as u16, outside });
            let beats = self.address_unit.start_fetch(&Issue { mask: inside, ..*issue }, bytes as u8, &address);
            self.start(at, issue, (Pipe::Global, 1), decoded);
            self.warps.loads_sent(warp, beats);
            self.reserve_load(issue, &inst.writes);
        }
        self.serve(warp, whole, mask)
    }

    /// Writes the components that one beat of a fetch brings.
    #[inline(never)]
    pub(in crate::sm) fn write_texels(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        decoded: &Decoded,
        op: &TexOp,
        reply: &WarpReply,
    ) {
        let part = Part::of(reply);
        let rows = u32::from(self.first_row(reply.warp, reply.half));
        let Fetch { texture, outside } = self.fetches.rows.read(at, rows + u32::from(decoded.rows[0]))[0];
        let texture = &loaded.image.program.textures[usize::from(texture)];
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
            // What the texture lacks comes with the first beat.
            let place = if channel < texture.channels { channel * texture.ty.bytes() } else { 0 };
            let here = (part.offset..part.offset + part.bytes).contains(&place);
            if let (Dst::Reg(reg), true) = (dst, here) {
                self.registers.write_word(at, rows + u32::from(reg.index), reply.mask | outside, component);
            }
        }
    }
}
