//! Soak test (long random test) of L1Ds with plain or decoupled tags and any replacement policy. Compares
//! every event with the golden model, and checks every byte that a load returns or that memory receives.
//!
//! Most test cases run a short stream of instructions on one small L1D of each scheme that a machine or
//! design uses. The other test cases run one long stream on an L1D that mixes all features. Some test cases
//! also run with every hardware block evaluated at every clock edge, and must give identical payloads in
//! identical cycles.

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

/// One out of `LONG` test cases is a long stream of instructions.
const LONG: u64 = 4;
/// Number of instructions in a long stream. Each instruction makes a few line requests.
pub(super) const INSTRUCTIONS: u64 = 10_000;
/// Number of instructions in each short stream.
const SHORT: u64 = 800;
/// One out of `TWICE` test cases runs a second time, with every hardware block evaluated at every clock edge.
const TWICE: u64 = 8;

/// Runs the first `instructions` instructions of each stream in the test case that a seed determines.
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
