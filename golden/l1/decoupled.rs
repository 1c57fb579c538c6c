//! # Decoupled L1D as a filter
//! A decoupled L1D has more tags than data lines, so that it can count the reuse of lines without data
//! (li2015 section 4). This model decides which loads must bypass the data array. The hardware stores
//! positions of data and free ways. The model stores instead, for each set, a list of the lines that have a
//! tag, with their reuse counts. Tags that are not in use are not represented. The cache model that uses this
//! filter tracks which lines have data.

/// Parameters of the decoupled-tag filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Number of tags per set of the decoupled tag store.
    pub tags: usize,
    /// Reuse count at which a line may use the data array.
    pub threshold: u32,
    /// True if a line is admitted when its reuse count exceeds the threshold; false if it is admitted when
    /// the count equals or exceeds the threshold.
    pub above: bool,
    /// Reuse count of a line after its first request.
    pub first: u32,
    /// True if an access that evicts one line and allocates another decrements the reuse counts of all other
    /// lines in the set twice; false if once.
    pub ages_twice: bool,
    /// True if a new line may take the tag of a line with clean data, and not only the tag of a line without
    /// data.
    pub forgets_any: bool,
    /// True if the reuse counts of the other lines in the set are decremented when a line loses its data to a
    /// store.
    pub stores_age: bool,
    /// True if the filter starts in the original mode, in which it admits every line.
    pub starts_original: bool,
}

/// State of a line for which the filter holds a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Line that has only a tag in the filter, and no data in the cache.
    Candidate,
    /// Line whose data are identical to memory.
    Clean,
    /// Line whose data are in flight or newer than memory. Its tag cannot be replaced.
    Bound,
}

/// Maximum value of a reuse count, which has six bits.
const MAX_COUNT: u32 = 63;

/// State of the decoupled-tag filter.
#[derive(Clone, Debug)]
pub struct Filter {
    config: Config,
    original: bool,
    /// For each set, the lines that have a tag, each with its reuse count. The least recently used line is
    /// first.
    sets: Vec<Vec<(u64, u32)>>,
}

impl Filter {
    /// Creates a filter with `sets` sets, in which no line has a tag.
    pub fn new(config: Config, sets: usize) -> Self {
        Self { config, original: config.starts_original, sets: vec![Vec::new(); sets] }
    }

    /// True if a load of a line without data may allocate the line in the data array.
    pub fn admits(&self, set: usize, line: u64) -> bool {
        let count = self.next_count(set, line);
        self.is_original()
            || if self.config.above { count > self.config.threshold } else { count >= self.config.threshold }
    }

    /// True if `line` has no tag and every tag of its set belongs to a line with data. The new line can then
    /// get a tag only if another line loses its data.
    pub fn is_short(&self, set: usize, line: u64, standing: impl Fn(u64) -> Standing) -> bool {
        let known = &self.sets[set];
        known.len() >= self.config.tags
            && known.iter().all(|(other, _)| *other != line && standing(*other) != Standing::Candidate)
    }

    /// Records a load that bypassed the cache, and gives its line a tag. If that tag belonged to a line with
    /// data, returns this line, which loses its data.
    pub fn on_bypass(&mut self, set: usize, line: u64, standing: impl Fn(u64) -> Standing) -> Option<u64> {
        let count = self.next_count(set, line);
        let mut lost = None;
        if !self.has_tag(set, line) && self.sets[set].len() >= self.config.tags {
            let forgets_any = self.config.forgets_any;
            let forgotten = self.least(set, |other| match standing(other) {
                Standing::Candidate => true,
                Standing::Clean => forgets_any,
                Standing::Bound => false,
            })?;
            lost = Some(forgotten).filter(|line| standing(*line) != Standing::Candidate);
            self.forget(set, forgotten);
        }
        self.set_count(set, line, count);
        if lost.is_some() {
            self.age(set, &[line], 1);
        }
        lost
    }

    /// Records that the cache allocates a line. `loser` is the line that the cache evicts to make room, if
    /// any.
    pub fn on_allocate(&mut self, set: usize, line: u64, loser: Option<u64>, standing: impl Fn(u64) -> Standing) {
        let count = self.next_count(set, line);
        if !self.has_tag(set, line) && self.sets[set].len() >= self.config.tags {
            // The line without data that has the lowest reuse count gives up its tag. If every line of the
            // set has data, `loser` gives up its tag. `standing` returns the state that a line had before
            // this access.
            let forgotten = self.least(set, |other| standing(other) == Standing::Candidate).or(loser);
            if let Some(forgotten) = forgotten {
                self.forget(set, forgotten);
            }
        }
        if let Some(loser) = loser {
            self.demote(set, loser);
        }
        self.set_count(set, line, count);
        let steps = if loser.is_some() && self.config.ages_twice { 2 } else { 1 };
        self.age(set, &[line, loser.unwrap_or(line)], steps);
    }

    /// Records that the cache invalidated the data of a line because of a store or a recall.
    pub fn on_store_evict(&mut self, set: usize, line: u64) {
        self.demote(set, line);
        if self.config.stores_age {
            self.age(set, &[line], 1);
        }
    }

    /// Records an access to a line with data. Only a load increments the reuse count of the line.
    pub fn on_hit(&mut self, set: usize, line: u64, by_load: bool) {
        let known = self.sets[set].iter().find(|(other, _)| *other == line).map_or(0, |(_, count)| *count);
        self.set_count(set, line, if by_load { (known + 1).min(MAX_COUNT) } else { known });
    }

    /// Changes the mode of the filter: if `original` is true, it admits every line; otherwise it applies the
    /// threshold.
    pub fn switch(&mut self, original: bool, standing: impl Fn(u64) -> Standing) {
        self.original = original;
        if self.is_original() {
            for set in &mut self.sets {
                set.retain(|(line, _)| standing(*line) != Standing::Candidate);
            }
        }
    }

    /// Clears all tags of the filter at the end of a kernel.
    pub fn clear(&mut self) {
        self.sets.iter_mut().for_each(Vec::clear);
        self.original = self.config.starts_original;
    }

    /// Returns the lines of a set that have a tag, with their reuse counts. The least recently used line is
    /// first.
    pub fn known_lines(&self, set: usize) -> &[(u64, u32)] {
        &self.sets[set]
    }

    /// True if the filter is consistent with the cache: no more lines of the set have tags than the
    /// configuration permits, and each line in `with_data` has one.
    pub fn is_consistent(&self, set: usize, with_data: impl Iterator<Item = u64>) -> bool {
        self.sets[set].len() <= self.config.tags && with_data.into_iter().all(|line| self.has_tag(set, line))
    }

    fn is_original(&self) -> bool {
        self.original || (self.config.threshold == 0 && !self.config.above)
    }

    fn has_tag(&self, set: usize, line: u64) -> bool {
        self.sets[set].iter().any(|(other, _)| *other == line)
    }

    fn next_count(&self, set: usize, line: u64) -> u32 {
        let known = self.sets[set].iter().find(|(other, _)| *other == line);
        known.map_or(self.config.first, |(_, count)| (count + 1).min(MAX_COUNT))
    }

    /// Returns the line with the lowest reuse count among those that satisfy `is_evictable`. Among equal counts,
    /// returns the least recently used line.
    fn least(&self, set: usize, is_evictable: impl Fn(u64) -> bool) -> Option<u64> {
        let known = self.sets[set].iter().filter(|(line, _)| is_evictable(*line));
        known.min_by_key(|(_, count)| *count).map(|(line, _)| *line)
    }

    fn forget(&mut self, set: usize, line: u64) {
        self.sets[set].retain(|(other, _)| *other != line);
    }

    /// Sets the reuse count of a line and makes the line the most recently used. Allocates a tag if the line
    /// has none.
    fn set_count(&mut self, set: usize, line: u64, count: u32) {
        self.forget(set, line);
        self.sets[set].push((line, count));
    }

    /// Sets the reuse count of a line that lost its data to 0, so that it is a candidate for replacement. In
    /// the original mode, the tag of the line is freed.
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
