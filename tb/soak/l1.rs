//! Random L1Ds with tags of either organisation and any replacement policy: every event as the golden
//! twin has it, every byte that a load brings or memory gets.
//!
//! A case is a short stream of instructions to a small L1D of each kind that the machines and designs have, or, now and
//! then, a long one to an L1D that mixes all that there is; some cases run a second time with every block evaluated at
//! every edge, which must agree beat for beat.

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

/// One of so many cases is a long stream.
const LONG: u64 = 4;
/// Instructions of that, each a few line requests.
pub(super) const INSTRUCTIONS: u64 = 10_000;
/// Of each stream of the others.
const SHORT: u64 = 800;
/// One of so many cases runs twice.
const TWICE: u64 = 8;

/// Runs the first `instructions` of each stream of the case of a seed.
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
                return Err(format!("the mode of evaluation matters:\n{ended:?}\n{again:?}"));
            }
            runs = 2;
        }
        work.runs += runs;
        work.cycles += runs * ended.cycles;
        work.warp_instructions += runs * all.min(instructions);
    }
    Ok(work)
}
