//! # Five schemes defined outside of warpsieve
//! Defines an L1 bypass by load instruction ([`by_pc`]), a prefetcher of neighboring lines ([`neighbor`]), an
//! MSHR policy with gears ([`mshr_gears`]), a replacement policy by predicted reuse distances
//! ([`reuse_distance`]) and a DRAM policy that serves the SMs in turn ([`sm_round_robin`]). Each scheme has a
//! golden model. Nothing in warpsieve refers to these schemes: linking this crate is enough to register them.

pub mod by_pc;
pub mod mshr_gears;
pub mod neighbor;
pub mod reuse_distance;
pub mod sm_round_robin;

use warpsieve::config::Builtin;

/// Designs of this crate, by their names in `--design`.
pub static DESIGNS: [Builtin; 5] = [
    Builtin { name: "by-pc", path: "designs/by-pc.toml", text: include_str!("../designs/by-pc.toml") },
    Builtin { name: "mshr-gears", path: "designs/mshr-gears.toml", text: include_str!("../designs/mshr-gears.toml") },
    Builtin { name: "neighbor", path: "designs/neighbor.toml", text: include_str!("../designs/neighbor.toml") },
    Builtin {
        name: "reuse-distance",
        path: "designs/reuse-distance.toml",
        text: include_str!("../designs/reuse-distance.toml"),
    },
    Builtin {
        name: "sm-round-robin",
        path: "designs/sm-round-robin.toml",
        text: include_str!("../designs/sm-round-robin.toml"),
    },
];

/// Splits a value into pieces of `bits` bits and returns the XOR of all pieces.
fn fold(value: u32, bits: u32) -> u32 {
    let pieces = (0..u32::BITS).step_by(bits as usize);
    pieces.fold(0, |folded, shift| folded ^ value >> shift) & ((1 << bits) - 1)
}

/// Computes the same hash as `fold`, but by division; used by the golden models.
fn hash_by_division(value: u32, bits: u32) -> u32 {
    let (mut folded, mut rest) = (0, value);
    while rest > 0 {
        folded ^= rest % (1 << bits);
        rest /= 1 << bits;
    }
    folded
}
