//! Whole texts in and out.
//!
//! | testpoint                                                              | file      |
//! |------------------------------------------------------------------------|-----------|
//! | every address mode, every tracer version, odd but readable texts       | `reading` |
//! | a line of an instruction seen before, whole or damaged                  | `known`   |
//! | what is refused, with its place and wording                            | `refused` |
//! | text to records to text: nothing is lost, modes are the tracer's       | `round`   |
//! | xz and zstd                                                            | `packed`  |

mod known;
mod packed;
mod reading;
mod refused;
mod round;

use std::io::Cursor;

use isa::recorded::{Cta, Warp, lanes_of};

use super::{KernelTrace, Limits, TraceError};

/// A kernel of one warp of 32 threads, with these header lines and instructions.
fn kernel_of(header: &str, instructions: &str) -> String {
    let insts = instructions.lines().count();
    format!(
        "-kernel name = k\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n{header}\n\
         #traces format = ...\n\n#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = {insts}\n{instructions}\n\n#END_TB\n"
    )
}

const VOLTA: &str = "-binary version = 70\n-accelsim tracer version = 5\n";

fn volta(instructions: &str) -> String {
    kernel_of(VOLTA, instructions)
}

fn open(text: &str) -> Result<KernelTrace, TraceError> {
    KernelTrace::new(Cursor::new(text.as_bytes().to_vec()), "t.traceg", Limits::default())
}

/// All CTAs, and the reader behind them.
fn read(text: &str) -> Result<(Vec<Cta>, KernelTrace), TraceError> {
    let mut kernel = open(text)?;
    let ctas: Result<Vec<Cta>, TraceError> = kernel.by_ref().collect();
    Ok((ctas?, kernel))
}

/// The only warp of a text.
#[track_caller]
fn only_warp(text: &str) -> (Warp, KernelTrace) {
    let (mut ctas, kernel) = read(text).unwrap();
    assert_eq!((ctas.len(), ctas[0].warps.len()), (1, 1));
    (ctas.remove(0).warps.remove(0), kernel)
}

/// The addresses of active lanes in the first step of a text.
#[track_caller]
fn addresses(text: &str) -> Vec<u64> {
    let (warp, _) = only_warp(text);
    let step = warp.steps()[0];
    let all = warp.addresses(&step).unwrap();
    lanes_of(step.mask).map(|lane| all[lane]).collect()
}

fn warnings(kernel: &KernelTrace) -> Vec<String> {
    kernel.warnings().iter().map(ToString::to_string).collect()
}
