//! # Decoupled L1D as a filter
//! Which loads the tag store of li2015 section 4 keeps out of the data. It is seen here as a list, for
//! each set, of the lines that it knows and how often each was asked for; which of them have data is
//! the business of the cache behind it. A tag that holds nothing does not exist here, so that the twin
//! knows neither ways nor positions nor free places.

/// The filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Lines that a set knows.
    pub tags: usize,
    /// How often a line must have been asked for.
    pub threshold: u32,
    /// Whether it must have been asked for more often than that.
    pub above: bool,
    /// What a line counts that is asked for the first time.
    pub first: u32,
    /// Whether a line that comes and one that goes age the others once each.
    pub ages_twice: bool,
    /// Whether lines with clean data may be forgotten too.
    pub forgets_any: bool,
    /// Whether a line that goes because of a store ages the others.
    pub stores_age: bool,
    /// Whether it starts in the original mode.
    pub starts_original: bool,
}

/// Where a line stands that the filter knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Without data.
    Candidate,
    /// With data that memory has too.
    Clean,
    /// With data on their way, or newer than memory's.
    Bound,
}

/// Counts saturate here: six bits.
const MOST: u32 = 63;

/// The filter with all it knows.
#[derive(Clone, Debug)]
pub struct Filter {
    config: Config,
    original: bool,
    /// Lines known, the one used longest ago first, and their counts.
    sets: Vec<Vec<(u64, u32)>>,
}

impl Filter {
    /// A filter of so many sets that knows nothing.
    pub fn new(config: Config, sets: usize) -> Self {
        Self { config, original: config.starts_original, sets: vec![Vec::new(); sets] }
    }

    /// Whether a line without data is let in.
    pub fn admits(&self, set: usize, line: u64) -> bool {
        let count = self.next_count(set, line);
        self.is_original()
            || if self.config.above { count > self.config.threshold } else { count >= self.config.threshold }
    }

    /// Whether there is nothing to know a new line by unless another loses its data.
    pub fn is_short(&self, set: usize, line: u64, standing: impl Fn(u64) -> Standing) -> bool {
        let known = &self.sets[set];
        known.len() >= self.config.tags
            && known.iter().all(|(other, _)| *other != line && standing(*other) != Standing::Candidate)
    }

    /// A load went past. Returns the line that lost its data for it.
    pub fn passed(&mut self, set: usize, line: u64, standing: impl Fn(u64) -> Standing) -> Option<u64> {
        let count = self.next_count(set, line);
        let mut lost = None;
        if !self.knows(set, line) && self.sets[set].len() >= self.config.tags {
            let forgets_any = self.config.forgets_any;
            let forgotten = self.least(set, |other| match standing(other) {
                Standing::Candidate => true,
                Standing::Clean => forgets_any,
                Standing::Bound => false,
            })?;
            lost = Some(forgotten).filter(|line| standing(*line) != Standing::Candidate);
            self.forget(set, forgotten);
        }
        self.know(set, line, count);
        if lost.is_some() {
            self.age(set, &[line], 1);
        }
        lost
    }

    /// A line was let in, perhaps for another.
    pub fn placed(&mut self, set: usize, line: u64, loser: Option<u64>, standing: impl Fn(u64) -> Standing) {
        let count = self.next_count(set, line);
        if !self.knows(set, line) && self.sets[set].len() >= self.config.tags {
            // Who is a candidate is judged as the access found it; only then the loser goes.
            let forgotten = self.least(set, |other| standing(other) == Standing::Candidate).or(loser);
            if let Some(forgotten) = forgotten {
                self.forget(set, forgotten);
            }
        }
        if let Some(loser) = loser {
            self.demote(set, loser);
        }
        self.know(set, line, count);
        let steps = if loser.is_some() && self.config.ages_twice { 2 } else { 1 };
        self.age(set, &[line, loser.unwrap_or(line)], steps);
    }

    /// A line lost its data to a store.
    pub fn lost(&mut self, set: usize, line: u64) {
        self.demote(set, line);
        if self.config.stores_age {
            self.age(set, &[line], 1);
        }
    }

    /// A line with data was used, by a load or a store.
    pub fn used(&mut self, set: usize, line: u64, by_load: bool) {
        let known = self.sets[set].iter().find(|(other, _)| *other == line).map_or(0, |(_, count)| *count);
        self.know(set, line, if by_load { (known + 1).min(MOST) } else { known });
    }

    /// Lets every line in from now on, or those that the threshold admits.
    pub fn switch(&mut self, original: bool, standing: impl Fn(u64) -> Standing) {
        self.original = original;
        if self.is_original() {
            for set in &mut self.sets {
                set.retain(|(line, _)| standing(*line) != Standing::Candidate);
            }
        }
    }

    /// Forgets everything at the end of a kernel.
    pub fn clear(&mut self) {
        self.sets.iter_mut().for_each(Vec::clear);
        self.original = self.config.starts_original;
    }

    /// The lines known in a set, the one used longest ago first, with their counts.
    pub fn known(&self, set: usize) -> &[(u64, u32)] {
        &self.sets[set]
    }

    /// No set knows more lines than it can, and every line with data is known.
    pub fn is_consistent(&self, set: usize, with_data: impl Iterator<Item = u64>) -> bool {
        self.sets[set].len() <= self.config.tags && with_data.into_iter().all(|line| self.knows(set, line))
    }

    fn is_original(&self) -> bool {
        self.original || (self.config.threshold == 0 && !self.config.above)
    }

    fn knows(&self, set: usize, line: u64) -> bool {
        self.sets[set].iter().any(|(other, _)| *other == line)
    }

    fn next_count(&self, set: usize, line: u64) -> u32 {
        let known = self.sets[set].iter().find(|(other, _)| *other == line);
        known.map_or(self.config.first, |(_, count)| (count + 1).min(MOST))
    }

    /// The line counted least among those that may be forgotten, of equals the one used longest ago.
    fn least(&self, set: usize, may_go: impl Fn(u64) -> bool) -> Option<u64> {
        let known = self.sets[set].iter().filter(|(line, _)| may_go(*line));
        known.min_by_key(|(_, count)| *count).map(|(line, _)| *line)
    }

    fn forget(&mut self, set: usize, line: u64) {
        self.sets[set].retain(|(other, _)| *other != line);
    }

    /// Knows a line by this count, as the one used last.
    fn know(&mut self, set: usize, line: u64, count: u32) {
        self.forget(set, line);
        self.sets[set].push((line, count));
    }

    /// A line has no data any more: its history starts from zero, if it has one.
    fn demote(&mut self, set: usize, line: u64) {
        if self.is_original() {
            self.forget(set, line);
        }
        for (_, count) in self.sets[set].iter_mut().filter(|(other, _)| *other == line) {
            *count = 0;
        }
    }

    fn age(&mut self, set: usize, but: &[u64], steps: u32) {
        for (_, count) in self.sets[set].iter_mut().filter(|(line, _)| !but.contains(line)) {
            *count = count.saturating_sub(steps);
        }
    }
}

#[cfg(test)]
mod tests;
