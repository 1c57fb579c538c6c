//! Tests that read and write complete traces.
//!
//! | testpoint                                                                    | file      |
//! |------------------------------------------------------------------------------|-----------|
//! | all address modes and tracer versions, and unusual but legal texts, are read | `reading` |
//! | a cached line is parsed like any other line, whether it is intact or damaged | `known`   |
//! | malformed texts are rejected, with position and wording                      | `refused` |
//! | reading a text and writing it loses nothing and uses the tracer's modes      | `round`   |
//! | xz and zstd files are read, and damaged ones are detected                    | `packed`  |
//! | `.tracez` files are read, and damaged ones are detected                      | `tracez`  |

mod known;
mod packed;
mod reading;
mod refused;
mod round;
mod tracez;

use std::io::Cursor;

use isa::recorded::{Cta, Warp, lanes_of};

use super::{KernelTrace, Limits, TraceError};

/// Returns the trace of a kernel with one warp of 32 threads, with the given header lines and instruction
/// lines.
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

/// Reads a whole trace. Returns all its CTAs, and the reader.
fn read(text: &str) -> Result<(Vec<Cta>, KernelTrace), TraceError> {
    let mut kernel = open(text)?;
    let ctas: Result<Vec<Cta>, TraceError> = kernel.by_ref().collect();
    Ok((ctas?, kernel))
}

/// Reads a trace with a single warp. Returns the warp and the reader.
#[track_caller]
fn only_warp(text: &str) -> (Warp, KernelTrace) {
    let (mut ctas, kernel) = read(text).unwrap();
    assert_eq!((ctas.len(), ctas[0].warps.len()), (1, 1));
    (ctas.remove(0).warps.remove(0), kernel)
}

/// Returns the addresses of the active lanes in the first instruction of a trace.
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
