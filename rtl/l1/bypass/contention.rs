//! # Contention test
//! Whether a load instruction touches so many lines that it had better leave the L1D alone: as many as each
//! resident warp has of the cache's lines, or more (anssari2012 section 3.3).
//!
//! | port    | dir | payload       | contract                                                      |
//! |---------|-----|---------------|---------------------------------------------------------------|
//! | `judge` | in  | lines, warps  | lines touched, 1 to 32, and resident warps; answered at once  |
//!
//! No division: of `n` lines, `t` are fewer than a warp's part `floor(n / warps)` just if `warps` is at most
//! `floor(n / (t + 1))`, and that is a constant for each `t`.
//! Area: the comparators that tell which lanes are the first in their lines, one for each pair of lanes; the sums of
//! these lanes and, in the core, of the resident warps; a constant for each number of lines.
//!
//! Part of `rtl/l1/lsu.rs`.
//! Twin: `golden/hybrid/mod.rs`.

use arbitrary_int::traits::Integer;
use arbitrary_int::u7;
use serde::{Deserialize, Serialize};

use super::super::access::LANES;
use super::super::coalescer::LineAccess;
use super::{Hooks, Place, Scheme, View};
use crate::kernel::{Describe, Edge, Logic, bits_of};

/// Warps that an SM has at most.
const MAX_WARPS: u32 = 64;
/// Their number.
pub type Warps = u7;

/// The test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Contention {
    /// By lines touched, from one: warps up to which that is no contention.
    most: [Warps; LANES],
    line_bits: u32,
}

impl Contention {
    /// The test of a cache of so many lines, whose addresses have `line_bits`.
    #[must_use]
    pub fn new(lines: u32, line_bits: u32) -> Self {
        let most = |touched: usize| Warps::from_u32((lines / (touched as u32 + 2)).min(Warps::MAX.into()));
        Self { most: std::array::from_fn(most), line_bits }
    }

    /// Whether an instruction contends that touches so many lines while so many warps are resident.
    #[must_use]
    pub fn judge(&self, lines: u32, warps: Warps) -> bool {
        warps > self.most[lines as usize - 1]
    }

    /// Lists the logic: there is no register.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { most: _, line_bits } = self;
        let lanes = LANES as u32;
        to.logic("same_line", Logic::Comparator { width: *line_bits, count: lanes * (lanes - 1) / 2 });
        to.logic("first", Logic::Gates { count: lanes * (lanes - 1) });
        to.logic("lines", Logic::Population { inputs: lanes });
        to.logic("resident", Logic::Population { inputs: MAX_WARPS });
        // A table of constants.
        to.logic("most", Logic::Gates { count: lanes * bits_of::<Warps>() });
        to.logic("contends", Logic::Less { width: bits_of::<Warps>(), count: 1 });
    }
}

/// The scheme: loads that contend go past if they would have to bring their line. It has no keys.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contentious {}

#[typetag::serde(name = "contentious")]
impl Scheme for Contentious {
    fn hardware(&self, _place: &Place<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(*self))
    }

    fn takes_several(&self) -> bool {
        true
    }

    fn judges(&self) -> bool {
        true
    }
}

#[typetag::serde]
impl Hooks for Contentious {
    fn sends_past(&self, _at: &Edge<'_>, head: &LineAccess, view: &View<'_>) -> bool {
        head.contends && view.is_absent(head.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines touched from which on an instruction contends.
    fn first(lines: u32, warps: u8) -> Option<u32> {
        let test = Contention::new(lines, 25);
        (1..=LANES as u32).find(|touched| test.judge(*touched, Warps::new(warps)))
    }

    #[test]
    fn the_caches_of_anssari2012_have_8_lines_a_warp_when_full_and_32_a_quarter_full() {
        assert_eq!(first(512, 64), Some(8));
        assert_eq!(first(512, 16), Some(32));
        assert_eq!(first(512, 15), None);
    }

    #[test]
    fn a_part_is_rounded_down() {
        // 128 lines among 48 warps are 2 each, among 43 too; among 42 they are 3.
        assert_eq!([48, 43, 42].map(|warps| first(128, warps)), [Some(2), Some(2), Some(3)]);
    }

    #[test]
    fn with_less_than_a_line_a_warp_every_instruction_contends() {
        assert_eq!(first(16, 48), Some(1));
        assert_eq!(first(1, 1), Some(1));
    }

    #[test]
    fn large_caches_leave_room_for_any_instruction_of_64_warps() {
        assert_eq!(first(1 << 20, 64), None);
        assert_eq!(first(33 * 64, 64), None);
        assert_eq!(first(33 * 64 - 1, 64), Some(32));
    }
}
