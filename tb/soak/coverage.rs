//! # Functional coverage of the soak tests
//! A soak test (long random test) can declare functional coverage. This consists of crosses: combinations of
//! situations that the test cases should reach. `soak NAME --coverage` prints how often each point of a cross
//! was hit. The tests in this module run each soak test of the following table until every point is hit.
//!
//! | soak        | coverage                                                                         |
//! |-------------|----------------------------------------------------------------------------------|
//! | `coalescer` | accesses of every kind and width, to few lines and to many                       |
//! | `l1`        | statuses at the tags, with each kind of arrival in the cycle, under every scheme |
//! | `frc`       | counters of an L2 bank, without an FRC, with a small one and with a large one    |
//! | `tracker`   | races between loads, stores, drops and fills                                     |
//! | `sm`        | activity of schedulers of every policy in a cycle                                |
//! | `throttle`  | lost locality, warps that may load, closed caches, orders of a search            |
//! | `xbar`      | packets of every length behind a packet of the same input or another input       |
//! | `dram`      | pairs of commands at their least distance; changed streams, legal and illegal    |

use std::path::Path;

use super::soaks;
use ::soak::Limits;
use ::soak::coverage::collect;

/// Runs `count` test cases of a soak test. Together they must hit every point of its functional coverage.
fn reaches_all(name: &str, count: u64) {
    let soak = soaks().into_iter().find(|soak| soak.name == name).unwrap();
    let limits = Limits { count: Some(count), time: None };
    let (ended, coverage) = collect(soak.crosses(), || soak.run(Path::new(""), 1.., limits, &mut |_| ()));
    assert!(ended.is_ok(), "{}", ended.unwrap_err().wrong);
    coverage.assert_complete();
}

#[test]
fn random_l1ds_reach_every_status_beside_every_arrival_under_every_scheme() {
    reaches_all("l1", 32);
}

#[test]
fn random_programs_reach_every_race_under_a_tracker() {
    reaches_all("tracker", 30);
}

#[test]
fn random_banks_reach_every_counter_with_an_frc_of_every_size_and_without() {
    reaches_all("frc", 120);
}

#[test]
fn random_controllers_reach_every_pair_of_commands_at_its_least_distance() {
    reaches_all("dram", 120);
}

#[test]
fn random_accesses_are_of_every_kind_and_width_to_few_lines_and_many() {
    reaches_all("coalescer", 6);
}

#[test]
fn random_kernels_reach_every_reason_under_every_policy() {
    reaches_all("sm", 90);
}

#[test]
fn random_warps_and_counts_reach_every_part_of_the_throttles() {
    reaches_all("throttle", 8);
}

#[test]
fn random_traffic_has_every_length_behind_the_same_input_and_another() {
    reaches_all("xbar", 10);
}

#[test]
fn every_exclusion_is_about_points_that_are_left() {
    for soak in soaks() {
        soak.crosses().iter().for_each(|cross| assert_eq!(cross.check(), Ok(())));
    }
}
