//! # Lockstep check of the lines of an L2 bank against golden models
//! Replays each use and insertion of a line in the golden models of the replacement policy and of the
//! partition, and compares the victims. In a bank with a partition, each access is replayed too, because the
//! monitors of a partition count accesses. Only the overlapped flow of the L2 is checked. The transient flow
//! of candel2018 always uses LRU, and its testbench (`tb/l2/transient.rs`) has a separate golden model.
//!
//! The check covers which lines the bank holds. The data of lines are not compared here: wrong data would
//! appear in the results of loads. Hits and misses are not compared either, because they follow from the
//! lines that the bank holds.

use golden::l2::partition;
use golden::replacement::order::LineSets;
use rtl::l2::L2Config;
use rtl::l2::watch::LineEvent;

use super::l1::{eviction_of, policy, set_index};
use super::twin::twin;

/// Golden model of the lines that the sets of one L2 bank hold.
#[derive(Debug)]
pub struct LineLockstep(LineSets);

impl LineLockstep {
    /// Creates the golden model of an empty bank, in a machine with `num_sms` SMs.
    ///
    /// # Errors
    /// Fails if the index function, the replacement policy or the partition has no golden model.
    pub fn new(l2: &L2Config, num_sms: u32) -> Result<Self, String> {
        let &L2Config { sets, ways, line_bytes, ref index, ref replacement, .. } = l2;
        let mut model = LineSets::new(set_index(index, sets, line_bytes)?, ways as usize);
        model.replace_by(policy(replacement, sets, ways)?);
        let scheme: Box<dyn partition::Scheme> =
            twin(&l2.partition).map_err(|reason| format!("partition: {reason}"))?;
        scheme.twin(num_sms as usize, ways as usize).into_iter().for_each(|partition| model.partition_by(partition));
        Ok(Self(model))
    }

    /// Checks the events of the bank since the previous call.
    ///
    /// # Errors
    /// Fails at the first event with different outcomes in the bank and in the golden model.
    pub fn step(&mut self, events: &[LineEvent]) -> Result<(), String> {
        events.iter().try_for_each(|event| self.follow(event))
    }

    fn follow(&mut self, event: &LineEvent) -> Result<(), String> {
        match event {
            &LineEvent::Used { line, priority } if self.0.holds(line) => {
                self.0.on_hit(line);
                self.0.hint(line, eviction_of(priority));
                Ok(())
            }
            &LineEvent::Accessed { line, sm } => {
                self.0.on_access(sm.into(), line);
                Ok(())
            }
            LineEvent::Used { line, .. } => Err(format!("line {line:#x} is used, which the twin has evicted")),
            LineEvent::Inserted { line, .. } if self.0.holds(*line) => {
                Err(format!("line {line:#x} is inserted, which the twin still has"))
            }
            LineEvent::Inserted { line, sm, priority, victim, in_flight } => {
                let expected = self.0.insert_by((*sm).into(), *line, |other| !in_flight.contains(&other));
                match expected {
                    Ok(expected) if expected == *victim => {
                        self.0.hint(*line, eviction_of(*priority));
                        Ok(())
                    }
                    Ok(expected) => Err(format!(
                        "line {line:#x} of SM {sm} evicts {}, the twin evicts {}",
                        describe(*victim),
                        describe(expected)
                    )),
                    Err(_) => {
                        Err(format!("line {line:#x} of SM {sm} evicts {}, the twin has no way", describe(*victim)))
                    }
                }
            }
        }
    }
}

fn describe(victim: Option<u64>) -> String {
    victim.map_or("no line".to_owned(), |line| format!("line {line:#x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Request, ResolvedMachine};
    use rtl::replacement::priority::EvictionPriority;

    fn lockstep(ways: u32, sets: &[&str]) -> LineLockstep {
        let geometry = ["l2.sets=1".to_owned(), format!("l2.ways={ways}")];
        let sets = geometry.into_iter().chain(sets.iter().map(|&set| set.to_owned())).collect();
        let request = Request { machine: "fermi".to_owned(), designs: vec![], sets };
        LineLockstep::new(&ResolvedMachine::new(&request).unwrap().config.l2, 15).unwrap()
    }

    fn inserted(line: u64, victim: Option<u64>, in_flight: &[u64]) -> LineEvent {
        let in_flight = in_flight.into();
        LineEvent::Inserted { line, sm: 0, priority: EvictionPriority::Normal, victim, in_flight }
    }

    fn inserted_by(sm: u8, line: u64, victim: Option<u64>) -> LineEvent {
        LineEvent::Inserted { line, sm, priority: EvictionPriority::Normal, victim, in_flight: vec![] }
    }

    fn used(line: u64) -> LineEvent {
        LineEvent::Used { line, priority: EvictionPriority::Normal }
    }

    #[test]
    fn the_priority_of_the_last_access_decides_before_the_policy() {
        let mut hinted = lockstep(2, &["l2.hints=true"]);
        let first = LineEvent::Used { line: 2, priority: EvictionPriority::First };
        hinted.step(&[inserted(1, None, &[]), inserted(2, None, &[]), first]).unwrap();
        let wrong = hinted.step(&[inserted(3, Some(1), &[])]).unwrap_err();
        assert_eq!(wrong, "line 0x3 of SM 0 evicts line 0x1, the twin evicts line 0x2");
    }

    #[test]
    fn the_victim_is_that_of_the_policy_among_the_lines_that_are_present() {
        let mut lru = lockstep(2, &[]);
        lru.step(&[inserted(1, None, &[]), inserted(2, None, &[1]), used(1)]).unwrap();
        lru.step(&[inserted(3, Some(1), &[2])]).unwrap();
        let wrong = lru.step(&[inserted(4, Some(3), &[])]).unwrap_err();
        assert_eq!(wrong, "line 0x4 of SM 0 evicts line 0x3, the twin evicts line 0x2");
    }

    #[test]
    fn a_line_that_is_used_or_inserted_must_be_in_its_set_or_not() {
        let mut lru = lockstep(2, &[]);
        let wrong = lru.step(&[used(7)]).unwrap_err();
        assert_eq!(wrong, "line 0x7 is used, which the twin has evicted");
        let wrong = lru.step(&[inserted(1, None, &[]), inserted(1, None, &[])]).unwrap_err();
        assert_eq!(wrong, "line 0x1 is inserted, which the twin still has");
        let wrong = lru.step(&[inserted(2, None, &[1]), inserted(3, None, &[1, 2])]).unwrap_err();
        assert_eq!(wrong, "line 0x3 of SM 0 evicts no line, the twin has no way");
    }

    #[test]
    fn a_group_of_a_partition_evicts_its_own_lines() {
        let mut parts = lockstep(2, &["l2.partition={ kind = \"by-requester\", ways = [1, 1], sms = [] }"]);
        let other = inserted_by(14, 2, None);
        parts.step(&[inserted(1, None, &[]), other, inserted(3, Some(1), &[])]).unwrap();
        let wrong = parts.step(&[inserted(4, Some(2), &[])]).unwrap_err();
        assert_eq!(wrong, "line 0x4 of SM 0 evicts line 0x2, the twin evicts line 0x3");
    }

    #[test]
    fn the_twin_of_a_partition_that_learns_observes_every_access() {
        let keys = "{ kind = \"utility\", groups = 2, sms = [], sample_every = 1, period = 8 }";
        let mut parts = lockstep(3, &[&format!("l2.partition={keys}")]);
        let by_other = |line, victim| inserted_by(14, line, victim);
        // SM 0 has two ways at first. SM 14 then reuses two lines, and SM 0 none.
        parts.step(&[inserted(1, None, &[]), inserted(2, None, &[]), by_other(3, None)]).unwrap();
        parts.step(&[inserted(4, Some(1), &[])]).unwrap();
        let accesses = [3, 5, 3, 5, 3, 5, 3].map(|line| LineEvent::Accessed { line, sm: 14 });
        parts.step(&accesses).unwrap();
        parts.step(&[inserted(6, Some(2), &[]), by_other(7, Some(3))]).unwrap();
        parts.step(&[LineEvent::Accessed { line: 7, sm: 14 }, by_other(8, Some(4))]).unwrap();
        let wrong = parts.step(&[by_other(9, Some(6))]).unwrap_err();
        assert_eq!(wrong, "line 0x9 of SM 14 evicts line 0x6, the twin evicts line 0x7");
    }
}
