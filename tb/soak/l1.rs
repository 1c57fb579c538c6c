//! Random L1Ds with plain or decoupled tags and any replacement policy. Compares every event with the golden
//! twin, and checks every byte that a load returns or memory receives.
//!
//! A case is a short stream of instructions for a small L1D of each scheme of the machines and designs. Some
//! cases are instead one long stream for an L1D that mixes all features. Some cases run a second time with
//! every block evaluated at every edge, with identical beats.

use rtl::kernel::Mode;

use super::Work;
use crate::kit::coverage::Cross;
use crate::l1::schemes::schemes;
use crate::l1::statuses;
use crate::l1::streams::Stream;

pub(super) const ABOUT: &str = "random L1Ds, decoupled or plain, any replacement policy: golden L1, bytes, modes agree";

pub(super) fn crosses() -> Vec<Cross> {
    vec![statuses::cross(), statuses::recalls()]
}

/// One out of `LONG` cases is a long stream.
const LONG: u64 = 4;
/// Number of instructions in a long stream, each with a few line requests.
pub(super) const INSTRUCTIONS: u64 = 10_000;
/// Number of instructions in each short stream.
const SHORT: u64 = 800;
/// One out of `TWICE` cases runs twice.
const TWICE: u64 = 8;

/// Runs the first `instructions` instructions of each stream of a seed's case.
pub(super) fn run(seed: u64, instructions: u64) -> Result<Work, String> {
    let streams = if seed.is_multiple_of(LONG) {
        vec![(Stream::draw(seed, INSTRUCTIONS as usize), INSTRUCTIONS)]
    } else {
        let short = |scheme| (Stream::of_scheme(scheme, seed, SHORT as usize), SHORT);
        schemes().iter().map(short).collect()
    };
    let mut work = Work::default();
    for (stream, all) in streams {
        let stream = stream.first(instructions);
        let ended = stream.run(Mode::default());
        let mut runs = 1;
        if (seed / LONG).is_multiple_of(TWICE) {
            let again = stream.run(Mode { evaluate_all: true, ..Mode::default() });
            if again != ended {
                return Err(format!("results depend on the mode of evaluation:\n{ended:?}\n{again:?}"));
            }
            runs = 2;
        }
        work.runs += runs;
        work.cycles += runs * ended.cycles;
        work.warp_instructions += runs * all.min(instructions);
    }
    Ok(work)
}
