//! Random L1Ds with tags of either organisation and any replacement policy: every event as the golden
//! twin has it, every byte that a load brings or memory gets.
//!
//! A case is a long stream of instructions; some cases run a second time with every block evaluated at
//! every edge, which must agree beat for beat.

use rtl::kernel::Mode;

use super::Work;
use crate::l1::streams::Stream;

pub(super) const ABOUT: &str = "random L1Ds, decoupled or plain, any replacement policy: golden L1, bytes, modes agree";

/// Instructions of a case, each a few line requests.
pub(super) const INSTRUCTIONS: u64 = 10_000;
/// One of so many cases runs twice.
const TWICE: u64 = 8;

/// Runs the first `instructions` of the case of a seed.
pub(super) fn run(seed: u64, instructions: u64) -> Result<Work, String> {
    let stream = Stream::draw(seed, INSTRUCTIONS as usize).first(instructions);
    let ended = stream.run(Mode::default());
    let mut runs = 1;
    if seed.is_multiple_of(TWICE) {
        let again = stream.run(Mode { evaluate_all: true, ..Mode::default() });
        if again != ended {
            return Err(format!("the mode of evaluation matters:\n{ended:?}\n{again:?}"));
        }
        runs = 2;
    }
    Ok(Work { runs, cycles: runs * ended.cycles, warp_instructions: runs * instructions })
}
