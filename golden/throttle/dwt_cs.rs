//! # Dynamic warp throttling via cores sampling (DWT-CS)
//! Reference model of the search for the best warp limit (khairy2015 section 4.2). The model has no cycles or
//! messages: each step takes a table of counts per core and returns a table of limits per core.

use std::cmp::Reverse;
use std::collections::VecDeque;

use serde::Deserialize;

use super::{Answer, Counts, Scheme, Search};

/// Cores whose miss counts decide whether a period is thrashing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// All cores together: the sum of their counts must exceed the threshold.
    Sum,
    /// Any core: the counts of at least one core must exceed the threshold.
    AnyCore,
    /// Only the core on which the coordinator runs; the coordinator is the unit that decides on the limits.
    CoordinatorOnly,
}

/// Configuration of dynamic warp throttling via cores sampling (DWT-CS).
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Number of misses per thousand instructions above which a period is thrashing.
    pub mpki: u64,
    /// Number of consecutive thrashing periods after which the search starts.
    pub above: usize,
    /// Number of kernels for which the best warp limit is stored.
    pub memo: usize,
    /// Cores whose miss counts decide whether a period is thrashing.
    pub trigger: Trigger,
    /// Number of the core on which the coordinator runs; cores are numbered from 1.
    pub coordinator: usize,
}

#[typetag::deserialize(name = "dwt-cs")]
impl Scheme for Config {
    fn search(&self, cores: usize, most: usize) -> Option<Box<dyn Search>> {
        Some(Box::new(Sampling::new(*self, cores, most)))
    }
}

/// State of the search for the best warp limit.
#[derive(Clone, Debug)]
pub struct Sampling {
    config: Config,
    cores: usize,
    /// Number of warps per scheduler, which is the highest possible limit.
    most: usize,
    kernel: u16,
    /// One flag for each period of the current kernel so far: true if the period was thrashing.
    periods: Vec<bool>,
    /// Warp limit that each core tries in the current sampling round.
    tried: Vec<usize>,
    /// Best result of the previous sampling round: number of instructions and warp limit. Used only with a
    /// single core, which cannot try the old limit and a new one in the same round.
    before: Option<(u64, usize)>,
    known: VecDeque<(u16, usize)>,
}

impl Sampling {
    /// Creates the state of the search before the first kernel. `most` is the highest possible limit.
    pub fn new(config: Config, cores: usize, most: usize) -> Self {
        let (periods, tried, known) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { config, cores, most, kernel: 0, periods, tried, before: None, known }
    }

    fn is_above(&self, of: impl Iterator<Item = Counts>) -> bool {
        let (misses, instructions) = of.fold((0, 0), |(m, i), counts| (m + counts.misses, i + counts.instructions));
        misses * 1000 > instructions * self.config.mpki
    }
}

impl Search for Sampling {
    fn begin(&mut self, kernel: u16) {
        self.kernel = kernel;
        (self.periods, self.tried, self.before) = (Vec::new(), Vec::new(), None);
    }

    fn period(&mut self, counts: &[Counts]) -> Answer {
        let is_above = match self.config.trigger {
            Trigger::Sum => self.is_above(counts.iter().copied()),
            Trigger::AnyCore => counts.iter().any(|&alone| self.is_above(std::iter::once(alone))),
            Trigger::CoordinatorOnly => self.is_above(std::iter::once(counts[self.config.coordinator - 1])),
        };
        self.periods.push(is_above);
        let above = self.config.above;
        if self.periods.len() < above || !self.periods[self.periods.len() - above..].iter().all(|above| *above) {
            return Answer::Nothing;
        }
        match self.known.iter().find(|(kernel, _)| *kernel == self.kernel) {
            Some((_, limit)) => Answer::Fixed(*limit),
            None => {
                let numbers = 1..=self.cores;
                self.tried = numbers.map(|number| number.min(self.most)).collect();
                Answer::Sample(self.tried.clone())
            }
        }
    }

    fn end_round(&mut self, instructions: &[u64]) -> Answer {
        let done = instructions.iter().copied().zip(self.tried.iter().copied()).chain(self.before);
        let Some((count, winner)) = done.filter(|(count, _)| *count > 0).max_by_key(|&(n, limit)| (n, Reverse(limit)))
        else {
            return Answer::Fixed(self.most);
        };
        let highest = self.tried.iter().copied().max().unwrap_or(self.most);
        if winner == highest && highest < self.most {
            if self.cores == 1 {
                self.before = Some((count, winner));
                self.tried = vec![winner + 1];
            } else {
                let fresh = (winner + 1..=self.most).take(self.cores - 1);
                self.tried = fresh.chain(std::iter::repeat(winner)).take(self.cores).collect();
            }
            return Answer::Sample(self.tried.clone());
        }
        if self.known.len() == self.config.memo {
            self.known.pop_front();
        }
        self.known.push_back((self.kernel, winner));
        Answer::Fixed(winner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: Config = Config { mpki: 10, above: 3, memo: 8, trigger: Trigger::Sum, coordinator: 8 };

    fn thrash(search: &mut Sampling) -> Answer {
        let counts = [Counts { misses: 101, instructions: 10_000 }; 15];
        (0..2).for_each(|_| assert_eq!(search.period(&counts), Answer::Nothing));
        search.period(&counts)
    }

    #[test]
    fn the_second_round_tries_sixteen_to_twenty_four_on_nine_cores_beside_six_at_fifteen() {
        let mut search = Sampling::new(CONFIG, 15, 24);
        assert_eq!(thrash(&mut search), Answer::Sample((1..=15).collect()));
        let fifteenth: Vec<u64> = (1..=15).collect();
        let expected: Vec<usize> = (16..=24).chain([15; 6]).collect();
        assert_eq!(search.end_round(&fifteenth), Answer::Sample(expected));
        assert_eq!(search.end_round(&[9; 15]), Answer::Fixed(15));
        search.begin(0);
        assert_eq!(thrash(&mut search), Answer::Fixed(15));
    }

    #[test]
    fn of_equal_counts_the_lower_limit_wins_and_a_core_without_warps_never() {
        let mut search = Sampling::new(CONFIG, 15, 24);
        thrash(&mut search);
        let mut counts = [0; 15];
        (counts[3], counts[7]) = (40, 40);
        assert_eq!(search.end_round(&counts), Answer::Fixed(4));
    }
}
