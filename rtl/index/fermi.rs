//! # The L1 set hash of GPGPU-Sim's Fermi model
//! The index is the low bits of the line address, with five higher address bits XORed into index bits 0 to 4.
//! The hash is defined only for 32 or 64 sets of 128-byte lines.

use serde::{Deserialize, Serialize};

use super::{Function, Shape, identity};
use crate::config::{Rules, Side};

/// Line size in bytes, the only one for which the hash is defined.
const LINE_BYTES: u32 = 128;

/// Byte-address bits that are XORed into index bits 0 to 4.
const FOLD: [u32; 5] = [13, 14, 15, 17, 19];

/// Configuration of the Fermi set-index hash; it has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fermi {}

#[typetag::serde(name = "fermi")]
impl Function for Fermi {
    fn column(&self, k: u32, Shape { bits, offset }: Shape) -> u16 {
        let fold = FOLD.iter().position(|&bit| bit == k + offset);
        identity(k, bits) ^ fold.map_or(0, |j| 1 << j)
    }

    fn validate(&self, sets: u32, line_bytes: u32, rules: &mut Rules) {
        let mut sides = vec![Side::new(
            "kind",
            format!("fermi with {sets} sets of {line_bytes} bytes"),
            "32 or 64 sets of 128 bytes",
        )];
        if line_bytes == LINE_BYTES {
            sides.push(Side::new("super.sets", sets, "32 or 64 with an index of kind fermi"));
        } else if matches!(sets, 32 | 64) {
            let legal = format!("{LINE_BYTES} with an index of kind fermi");
            sides.push(Side::new("super.line_bytes", line_bytes, legal));
        }
        let is_known = matches!(sets, 32 | 64) && line_bytes == LINE_BYTES;
        rules.expect_relation(is_known, sides, "the hash is known only for these sizes");
    }
}
