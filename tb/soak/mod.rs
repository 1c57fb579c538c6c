//! # Soak tests of the hardware
//! Soak tests are long random tests. Each module generates one kind of random test case, and runs it in the
//! testbench of a hardware block or on a whole machine. The crate `soak` repeats the tests, shrinks failing
//! test cases, and replays saved ones.

mod coalescer;
#[cfg(test)]
mod coverage;
mod dram;
mod frc;
mod hdl;
mod l1;
mod litmus;
mod machines;
mod sm;
mod throttle;
mod tracker;
mod xbar;

use ::soak::{Case, ShrunkCase, Soak, Work, file, shrink};

/// Returns all soak tests (long random tests) of the hardware.
#[must_use]
pub fn soaks() -> Vec<Soak> {
    vec![
        Soak::new("machines", machines::ABOUT, machines::draw, machines::reread),
        Soak::new("litmus", litmus::ABOUT, |_, seed| litmus::draw(seed), |_, _, text| litmus::reread(text)),
        Soak::of_seed("coalescer", coalescer::ABOUT, coalescer::ACCESSES, coalescer::run)
            .with_coverage(coalescer::crosses),
        Soak::of_seed("l1", l1::ABOUT, l1::INSTRUCTIONS, l1::run).with_coverage(l1::crosses),
        Soak::of_seed("frc", frc::ABOUT, frc::REQUESTS, frc::run).with_coverage(frc::crosses),
        Soak::of_seed("tracker", tracker::ABOUT, tracker::ACCESSES, tracker::run).with_coverage(tracker::crosses),
        Soak::of_seed("sm", sm::ABOUT, sm::STATEMENTS, sm::run).with_coverage(sm::crosses),
        Soak::of_seed("throttle", throttle::ABOUT, throttle::STEPS, throttle::run).with_coverage(throttle::crosses),
        Soak::of_seed("xbar", xbar::ABOUT, xbar::PACKETS, xbar::run).with_coverage(xbar::crosses),
        Soak::of_seed("dram", dram::ABOUT, dram::REQUESTS, dram::run_case).with_coverage(dram::crosses),
        Soak::of_seed("hdl", hdl::ABOUT, hdl::CYCLES, hdl::run),
    ]
}
