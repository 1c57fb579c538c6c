//! # What soaks are to meet
//! A soak that can see what its cases meet declares it as crosses; `soak NAME --coverage` prints how often each point was
//! hit. Each of them also runs here, as long as it takes to meet all of it.
//!
//! | soak      | meets                                                                        |
//! |-----------|------------------------------------------------------------------------------|
//! | `l1`      | statuses at the tags, beside what arrives in their cycle, under every scheme |
//! | `frc`     | counters of an L2 bank, without an FRC, with a small one and with a large one |
//! | `tracker` | races between loads, stores, drops and fills                                 |
//! | `dram`    | pairs of commands at their least distance; changed streams of either verdict |

use super::{Soak, dram, frc, l1, tracker};
use crate::kit::coverage::Cross;

impl Soak {
    /// What its cases are to meet; nothing if it cannot tell.
    #[must_use]
    pub fn crosses(&self) -> Vec<Cross> {
        match self.name {
            "l1" => l1::crosses(),
            "frc" => frc::crosses(),
            "tracker" => tracker::crosses(),
            "dram" => dram::crosses(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Limits, soaks};
    use crate::kit::coverage::collected;

    /// Runs so many cases of a soak, which must reach every point.
    fn reaches_all(name: &str, count: u64) {
        let soak = soaks().into_iter().find(|soak| soak.name == name).unwrap();
        let limits = Limits { count: Some(count), time: None };
        let (ended, coverage) = collected(soak.crosses(), || soak.run(Path::new(""), 1.., limits, &mut |_| ()));
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
    fn every_exclusion_is_about_points_that_are_left() {
        for soak in soaks() {
            soak.crosses().iter().for_each(|cross| assert_eq!(cross.check(), Ok(())));
        }
    }
}
