//! # Contention test
//! Detects load instructions that access too many lines for the L1D. An instruction contends for the L1D if
//! it accesses, for one warp, at least as many lines as the warp's share of the L1D. This share is the number
//! of lines of the L1D divided by the number of resident warps, rounded down (anssari2012 section 3.3). With
//! the bypass scheme `contentious`, a load of a contending instruction bypasses the L1D if its line is
//! absent.
//!
//! | port    | dir | payload       | contract                                                      |
//! |---------|-----|---------------|---------------------------------------------------------------|
//! | `contends` | in  | lines, warps  | number of lines touched, 1 to 32, and of resident warps; answers in the same cycle |
//!
//! The test needs no division. A warp's share of a cache of `n` lines is `floor(n / warps)`. It exceeds `t`
//! touched lines if and only if `warps <= floor(n / (t + 1))`, which is a constant for each `t`.
//! Area: one comparator per pair of lanes, to find the first lane of each line. Two population counts: of
//! these first lanes and, in the core, of the resident warps. One constant per number of lines.
//!
//! Part of `rtl/l1/lsu.rs`.
//! Twin: `golden/hybrid/mod.rs`.

use arbitrary_int::traits::Integer;
use arbitrary_int::u7;
use serde::{Deserialize, Serialize};

use super::super::access::LANES;
use super::super::coalescer::LineAccess;
use super::{CacheGeometry, Hooks, Scheme, View};
use crate::kernel::{Describe, Edge, Logic, bits_of};

/// Largest number of warps of an SM.
const MAX_WARPS: u32 = 64;
/// Type of the number of resident warps of an SM.
pub type Warps = u7;

/// Contention test of one cache, as a table of thresholds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Contention {
    /// Element `t - 1` is for an instruction that touches `t` lines: the largest number of resident warps for
    /// which this instruction does not contend.
    most: [Warps; LANES],
    line_bits: u32,
}

impl Contention {
    /// Creates the test for a cache of `lines` lines, with line addresses of `line_bits` bits.
    #[must_use]
    pub fn new(lines: u32, line_bits: u32) -> Self {
        let most = |touched: usize| Warps::from_u32((lines / (touched as u32 + 2)).min(Warps::MAX.into()));
        Self { most: std::array::from_fn(most), line_bits }
    }

    /// True if an instruction that touches `lines` lines contends for the L1D while `warps` warps are
    /// resident, which means that it touches at least as many lines as a warp's share of the cache.
    #[must_use]
    pub fn contends(&self, lines: u32, warps: Warps) -> bool {
        warps > self.most[lines as usize - 1]
    }

    /// Adds to the hardware description: the logic of the contention test, which has no registers.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { most: _, line_bits } = self;
        let lanes = LANES as u32;
        to.logic("same_line", Logic::Comparator { width: *line_bits, count: lanes * (lanes - 1) / 2 });
        to.logic("first", Logic::Gates { count: lanes * (lanes - 1) });
        to.logic("lines", Logic::Population { inputs: lanes });
        to.logic("resident", Logic::Population { inputs: MAX_WARPS });
        // The thresholds are constants, so the hardware implements the table with logic gates instead of a
        // memory.
        to.logic("most", Logic::Gates { count: lanes * bits_of::<Warps>() });
        to.logic("contends", Logic::Less { width: bits_of::<Warps>(), count: 1 });
    }
}

/// Configuration of the bypass scheme `contentious`; it has no parameters. A load bypasses the L1D if its
/// line is absent and its instruction touches at least as many lines as its warp's share of the L1D.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contentious {}

#[typetag::serde(name = "contentious")]
impl Scheme for Contentious {
    fn hardware(&self, _place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(*self))
    }

    fn supports_multiple_lookups(&self) -> bool {
        true
    }

    fn supports_prefetch(&self) -> bool {
        true
    }

    fn tests_contention(&self) -> bool {
        true
    }
}

#[typetag::serde]
impl Hooks for Contentious {
    fn bypasses(&self, _at: &Edge<'_>, head: &LineAccess, view: &View<'_>) -> bool {
        head.contends && view.is_absent(head.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the smallest number of touched lines at which an instruction contends, in a cache of `lines`
    /// lines shared by `warps` warps.
    fn first(lines: u32, warps: u8) -> Option<u32> {
        let test = Contention::new(lines, 25);
        (1..=LANES as u32).find(|touched| test.contends(*touched, Warps::new(warps)))
    }

    #[test]
    fn the_caches_of_anssari2012_have_8_lines_a_warp_when_full_and_32_a_quarter_full() {
        assert_eq!(first(512, 64), Some(8));
        assert_eq!(first(512, 16), Some(32));
        assert_eq!(first(512, 15), None);
    }

    #[test]
    fn a_part_is_rounded_down() {
        // A warp's share of a cache of 128 lines is 2 lines if 48 or 43 warps are resident, and 3 lines if 42
        // are resident. An instruction contends if it touches at least as many lines as this share.
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
