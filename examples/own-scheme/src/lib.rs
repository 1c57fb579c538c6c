//! # Two schemes that are not warpsieve's
//! A bypass of the L1 by the load instruction ([`by_pc`]) and a replacement by predicted reuse distances
//! ([`reuse_distance`]), each with its twin. Nothing of warpsieve names them: they are there because they are linked.

pub mod by_pc;
pub mod reuse_distance;

use warpsieve::config::Builtin;

/// The designs of this crate, by the names they have in `--design`.
pub static DESIGNS: [Builtin; 2] = [
    Builtin { name: "by-pc", path: "designs/by-pc.toml", text: include_str!("../designs/by-pc.toml") },
    Builtin {
        name: "reuse-distance",
        path: "designs/reuse-distance.toml",
        text: include_str!("../designs/reuse-distance.toml"),
    },
];

/// The exclusive or of all pieces of so many bits.
fn fold(value: u32, bits: u32) -> u32 {
    let pieces = (0..u32::BITS).step_by(bits as usize);
    pieces.fold(0, |folded, shift| folded ^ value >> shift) & ((1 << bits) - 1)
}

/// The same for the twins, by division.
fn hash_by_division(value: u32, bits: u32) -> u32 {
    let (mut folded, mut rest) = (0, value);
    while rest > 0 {
        folded ^= rest % (1 << bits);
        rest /= 1 << bits;
    }
    folded
}
