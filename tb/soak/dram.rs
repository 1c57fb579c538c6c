//! Soak test (long random test) of DRAM controllers: random controllers and requests, with checks of every
//! command and every byte.
//!
//! A test case is one controller. Two independent checkers read its commands: the golden checker looks back
//! from each command, and a model of the memory device works forward. Both must accept the command stream. If
//! one command of the stream is changed, both must agree on whether the stream is still legal. Some test
//! cases also run with every hardware block evaluated at every clock edge, and must give equal results.

use golden::dram::checker::Checker;
use rtl::dram::config::Refresh;
use rtl::kernel::Mode;

use super::Work;
use crate::dram::bench::{checker_commands, run, run_checked};
use crate::dram::forward::{Device, change_stream};
use crate::dram::pairs;
use crate::dram::random::Case;
use crate::kit::Random;
use crate::kit::coverage::{Axis, Cross, hit};
use warpsieve::dram::judge;

pub(super) const ABOUT: &str = "random DRAM controllers and requests: bytes, commands by two checkers, modes agree";

/// Number of DRAM requests in a test case.
pub(super) const REQUESTS: u64 = 400;
/// Number of changed command streams per test case. The two checkers must agree on each of them.
const CHANGES: u32 = 25;
/// One out of `TWICE` test cases runs a second time, with every hardware block evaluated at every clock edge.
const TWICE: u64 = 8;

/// Name of the functional coverage of changed command streams. Some of these streams must be legal and some
/// illegal.
const CHANGED: &str = "streams of DRAM commands with one changed";
const LEGAL: &str = "legal";
const ILLEGAL: &str = "illegal";

pub(super) fn crosses() -> Vec<Cross> {
    let verdicts = Axis::new("verdict", [LEGAL, ILLEGAL]);
    vec![pairs::cross(), Cross { name: CHANGED, axes: vec![verdicts], excluded: Vec::new() }]
}

/// Runs the first `requests` DRAM requests of the test case that a seed determines.
pub(super) fn run_case(seed: u64, requests: u64) -> Result<Work, String> {
    let Case { config, mut offers, sink } = Case::draw(seed, REQUESTS as usize);
    offers.truncate(requests as usize);
    let ran = run_checked(&config, &offers, sink.clone());
    let commands = checker_commands(&config, &ran);
    let (timing, refresh) = (judge::timing(&config), config.refresh == Refresh::AllBank);
    let (checker, device) =
        (Checker::new(timing, refresh), Device::new(timing, config.bank_groups, config.banks_per_group));
    if !device.clone().takes_all(&commands, refresh) {
        return Err(format!("the device refuses a stream that the checker accepts: {config:?}"));
    }
    let mut random = Random::new(seed);
    for change in 0..CHANGES {
        let stream = change_stream(&commands, &config, &mut random);
        let found = checker.check(&stream);
        hit(CHANGED, &[if found.is_empty() { LEGAL } else { ILLEGAL }]);
        if device.clone().takes_all(&stream, refresh) != found.is_empty() {
            let first = found.first().map(ToString::to_string);
            return Err(format!("change {change}: the checker finds {first:?}, the device does not agree: {config:?}"));
        }
    }
    pairs::observe(&timing, &commands);
    let mut runs = 1;
    if seed.is_multiple_of(TWICE) {
        let again = run(&config, &offers, sink, Mode { evaluate_all: true, ..Mode::default() });
        if again != ran {
            return Err(format!("results depend on the mode of evaluation: {config:?}"));
        }
        runs = 2;
    }
    Ok(Work { runs, cycles: runs * ran.cycles, warp_instructions: 0 })
}
