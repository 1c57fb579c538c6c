//! # Static way partitioning
//! Divides the SMs into groups, and gives each group a constant number of ways. A miss replaces a line only
//! in the ways of its SM's group (column caching: Chiou, Jain, Rudolph and Devadas, "Application-specific
//! memory management for embedded systems using software-controlled caches", DAC 2000). In that paper, the
//! mask of ways belongs to a region of memory; here it belongs to a group of SMs.
//!
//! The groups have consecutive ways, in the order of `ways`. If their sum is less than the ways of a set, the
//! remaining ways hold no lines. `sms` lists the group of each SM. If the list is empty, each of `n` groups
//! has an equal share of consecutive SMs: SM `s` belongs to group `s * n / SMs`, rounded down.
//!
//! The scheme has no registers: its masks are constants that the number of the SM selects.
//!
//! Part of `rtl/l2/bank.rs`.
//! Bench: its own tests and `tb/l2/partition.rs`.

use serde::{Deserialize, Serialize};

use super::{BankInfo, Hooks, Scheme, WayMask, group_of, validate_groups, ways_from};
use crate::config::Rules;
use crate::kernel::{Describe, DescribeExt, Logic};

/// Configuration of static way partitioning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ByRequester {
    /// Number of ways of each group of SMs.
    pub ways: Vec<u32>,
    /// Number of the group of each SM, counted from 0. An empty list divides the SMs equally, in the order of
    /// their numbers.
    pub sms: Vec<u32>,
}

/// The default values give each half of the SMs a half of the 16 ways of the baseline.
impl Default for ByRequester {
    fn default() -> Self {
        Self { ways: vec![8, 8], sms: Vec::new() }
    }
}

impl ByRequester {
    /// Returns the ways of each group.
    fn masks(&self) -> Vec<WayMask> {
        let firsts = self.ways.iter().scan(0_u32, |next, ways| {
            let first = *next;
            *next = next.saturating_add(*ways);
            Some(first)
        });
        firsts.zip(&self.ways).map(|(first, ways)| ways_from(first, *ways)).collect()
    }
}

#[typetag::serde(name = "by-requester")]
impl Scheme for ByRequester {
    fn hardware(&self, bank: &BankInfo<'_>) -> Option<Box<dyn Hooks>> {
        let masks = self.masks();
        let group = |sm| group_of(&self.sms, self.ways.len() as u32, sm, bank.sms);
        let of_sm = |sm| masks.get(group(sm) as usize).copied().unwrap_or(WayMask::MAX);
        let masks = (0..bank.sms).map(of_sm).collect();
        Some(Box::new(Groups { groups: self.ways.len() as u32, ways: bank.ways, masks }))
    }

    fn validate(&self, bank: &BankInfo<'_>, rules: &mut Rules) {
        let (groups, sms) = (self.ways.len() as u64, u64::from(bank.sms));
        rules.expect(
            (1..=sms).contains(&groups),
            "ways",
            format!("a list of {groups}"),
            &format!("a list of 1 to {sms}, with num_sms = {sms}"),
            "each group of SMs has a number of ways, and each group has an SM",
        );
        let sum: u64 = self.ways.iter().map(|&ways| u64::from(ways)).sum();
        rules.expect(
            !self.ways.contains(&0) && sum <= u64::from(bank.ways),
            "ways",
            format!("{:?}", self.ways),
            &format!("numbers from 1 whose sum is at most {0}, with l2.ways = {0}", bank.ways),
            "a miss needs a way, and no way belongs to two groups",
        );
        validate_groups(&self.sms, groups, bank, rules);
    }
}

/// Partition that gives each SM a constant mask of ways.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Groups {
    groups: u32,
    ways: u32,
    /// Mask of the ways of each SM.
    masks: Vec<WayMask>,
}

#[typetag::serde(name = "by-requester")]
impl Hooks for Groups {
    fn ways(&self, sm: u8, _set: u32) -> WayMask {
        self.masks.get(usize::from(sm)).copied().unwrap_or(WayMask::MAX)
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { groups, ways, masks } = self;
        to.part("partition", |to| {
            to.logic("sm", Logic::Decoder { outputs: masks.len() as u32 });
            to.logic("mask", Logic::Mux { ways: *groups, width: *ways });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(config: &ByRequester, sms: u32) -> Vec<WayMask> {
        let bank = BankInfo { path: "l2", sets: 1, ways: 16, tag_bits: 8, sms };
        let hooks = config.hardware(&bank).expect("it restricts the ways");
        (0..sms as u8).map(|sm| hooks.ways(sm, 0)).collect()
    }

    #[test]
    fn groups_of_equal_numbers_of_sms_have_ways_one_after_the_other() {
        let config = ByRequester { ways: vec![3, 2], sms: vec![] };
        assert_eq!(masks(&config, 4), [0b111, 0b111, 0b11000, 0b11000]);
        // If the number of SMs is odd, the first of the two groups has one SM more than the second.
        assert_eq!(masks(&config, 5), [0b111, 0b111, 0b111, 0b11000, 0b11000]);
    }

    #[test]
    fn a_list_gives_each_sm_the_ways_of_its_group() {
        let config = ByRequester { ways: vec![1, 15], sms: vec![1, 0, 1] };
        assert_eq!(masks(&config, 3), [0xfffe, 1, 0xfffe]);
    }

    #[test]
    fn groups_that_do_not_fit_the_bank_are_refused() {
        let lines = |ways: &[u32], sms: &[u32]| {
            let bank = BankInfo { path: "l2", sets: 1, ways: 16, tag_bits: 8, sms: 3 };
            let mut rules = Rules::default();
            ByRequester { ways: ways.into(), sms: sms.into() }.validate(&bank, &mut rules);
            rules.into_violations().len()
        };
        assert_eq!(lines(&[8, 8], &[]), 0);
        assert_eq!(lines(&[1, 1], &[1, 1, 0]), 0);
        for (ways, sms) in [
            (&[][..], &[][..]),
            (&[8, 9], &[]),
            (&[0, 8], &[]),
            (&[1, 1, 1, 1], &[]),
            (&[u32::MAX, 2], &[]),
            (&[8, 8], &[0, 1]),
            (&[8, 8], &[0, 1, 2]),
            (&[8, 8], &[1, 1, 1]),
        ] {
            assert_eq!(lines(ways, sms), 1, "{ways:?}, {sms:?}");
        }
    }
}
