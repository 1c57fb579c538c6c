//! # Utility-based cache partitioning by lines
//! Divides the lines of a set among groups of SMs such that further lines go where they avoid most misses per
//! line (UCP, Qureshi and Patt, MICRO 2006). For each group and sampled set, a list holds the lines that the
//! group would have if it had the cache alone, the last used first. The position of a reused line in the list
//! is the number of lines that it takes to hit, less one.
//!
//! The division follows the lookahead algorithm of the paper, on the full table of utilities: the number of
//! hits that a group would have with each number of lines.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Partition, Scheme, groups_of_sms};

/// Configuration of utility-based cache partitioning.
#[derive(Clone, Debug, Deserialize)]
pub struct Utility {
    groups: usize,
    sms: Vec<usize>,
    sample_every: usize,
    period: usize,
}

#[typetag::deserialize(name = "utility")]
impl Scheme for Utility {
    fn twin(&self, sms: usize, ways: usize) -> Option<Box<dyn Partition>> {
        // Until the first division, the ways of a set are dealt to the groups in turn.
        let shares = (0..self.groups).map(|group| (group..ways).step_by(self.groups).count()).collect();
        Some(Box::new(Monitored {
            config: self.clone(),
            ways,
            group_of: groups_of_sms(&self.sms, self.groups, sms),
            shares,
            alone: BTreeMap::new(),
            hits: vec![vec![0; ways]; self.groups],
            accesses: 0,
        }))
    }
}

/// Groups of SMs whose accesses are monitored.
#[derive(Debug)]
struct Monitored {
    config: Utility,
    ways: usize,
    group_of: Vec<usize>,
    shares: Vec<usize>,
    /// Lines that a group would have in a sampled set if it had the cache alone, from most to least recently
    /// used.
    alone: BTreeMap<(usize, usize), Vec<u64>>,
    /// Number of hits of each group, by the number of other lines that the group used since it last used the
    /// line that hit.
    hits: Vec<Vec<u64>>,
    /// Number of accesses since the last division.
    accesses: usize,
}

impl Monitored {
    /// Returns, for each group, the number of hits that it would have had with 0 lines, 1 line, 2 lines and
    /// so on.
    fn utilities(&self) -> Vec<Vec<u64>> {
        let sums = |hits: &Vec<u64>| (0..=self.ways).map(|lines| hits[..lines].iter().sum()).collect();
        self.hits.iter().map(sums).collect()
    }

    /// Divides the lines of a set among the groups.
    fn divide(&self) -> Vec<usize> {
        let utilities = self.utilities();
        let mut shares = vec![1; self.config.groups];
        loop {
            let left = self.ways - shares.iter().sum::<usize>();
            if left == 0 {
                return shares;
            }
            // Lists every choice of a group and a number of further lines for it, in ascending order. The
            // first choice with the largest gain per line is taken.
            let choices: Vec<_> = (0..shares.len())
                .flat_map(|group| (1..=left).map(move |more| (group, more)))
                .map(|(group, more)| {
                    let gain = utilities[group][shares[group] + more] - utilities[group][shares[group]];
                    (group, more, gain)
                })
                .collect();
            let exceeds = |one: (u64, usize), other: (u64, usize)| one.0 * other.1 as u64 > other.0 * one.1 as u64;
            let best = choices.iter().find(|(_, more, gain)| {
                *gain > 0 && !choices.iter().any(|(_, others, other)| exceeds((*other, *others), (*gain, *more)))
            });
            match best {
                Some((group, more, _)) => shares[*group] += more,
                None => {
                    let least = shares.iter().min().copied().unwrap_or(0);
                    shares.iter_mut().find(|share| **share == least).into_iter().for_each(|share| *share += 1);
                }
            }
        }
    }
}

impl Partition for Monitored {
    fn group(&self, sm: usize) -> usize {
        self.group_of[sm]
    }

    fn share(&self, group: usize) -> usize {
        self.shares[group]
    }

    fn takes_lines_of_others(&self) -> bool {
        true
    }

    fn on_access(&mut self, sm: usize, set: usize, line: u64) {
        let group = self.group_of[sm];
        if set.is_multiple_of(self.config.sample_every) {
            let alone = self.alone.entry((group, set)).or_default();
            match alone.iter().position(|other| *other == line) {
                Some(others) => {
                    let count = &mut self.hits[group][others];
                    *count = (*count + 1).min(u32::MAX.into());
                    alone.remove(others);
                }
                None => alone.truncate(self.ways - 1),
            }
            alone.insert(0, line);
        }
        self.accesses += 1;
        if self.accesses == self.config.period {
            self.shares = self.divide();
            self.hits.iter_mut().flatten().for_each(|count| *count /= 2);
            self.accesses = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(hits: [&[u64]; 2]) -> Vec<usize> {
        let config = Utility { groups: 2, sms: vec![], sample_every: 1, period: 1 };
        let ways = hits[0].len();
        let hits = hits.map(<[u64]>::to_vec).to_vec();
        let (group_of, shares) = (vec![0, 1], vec![1; 2]);
        Monitored { config, ways, group_of, shares, alone: BTreeMap::new(), hits, accesses: 0 }.divide()
    }

    #[test]
    fn a_group_whose_hits_begin_late_gets_all_the_lines_that_they_need() {
        // The second group has hits only with four lines, but then gains more per line than the first group.
        // A division that considers one line at a time would not see this.
        assert_eq!(divided([&[9, 8, 7, 6, 5], &[0, 0, 0, 100, 0]]), [1, 4]);
        // Here the first group gains more per line. After it has taken a line, too few are left for the hits
        // of the second group.
        assert_eq!(divided([&[9, 80, 70, 60, 5], &[0, 0, 0, 100, 0]]), [4, 1]);
    }

    #[test]
    fn lines_that_nobody_can_use_are_divided_equally() {
        assert_eq!(divided([&[50, 0, 0, 0], &[70, 0, 0, 0]]), [2, 2]);
        assert_eq!(divided([&[0, 1, 0, 0, 0], &[0, 0, 0, 0, 0]]), [3, 2]);
    }
}
