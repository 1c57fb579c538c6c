//! # Decoupled L1D as a filter
//! Decides which loads the decoupled tag store of li2015 section 4 keeps out of the data array. The hardware
//! stores positions and free ways; this model keeps, per set, a list of known lines with their reuse counts.
//! Empty tags are not represented, and the cache behind the filter tracks which lines have data.

/// Parameters of the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Number of tags per set.
    pub tags: usize,
    /// Reuse count at which a line is admitted.
    pub threshold: u32,
    /// True if the reuse count must exceed the threshold; false if reaching the threshold suffices.
    pub above: bool,
    /// Reuse count of a line after its first request.
    pub first: u32,
    /// True if an access with both an eviction and an allocation ages the other lines twice; false if it ages
    /// them once.
    pub ages_twice: bool,
    /// True if the tags of lines with clean data may be replaced too.
    pub forgets_any: bool,
    /// True if the other lines of the set age when a line loses its data to a store.
    pub stores_age: bool,
    /// True if the filter starts in the original mode, which admits every line.
    pub starts_original: bool,
}

/// State of a line whose tag the filter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Tag only, without data.
    Candidate,
    /// Line with data identical to memory.
    Clean,
    /// Line whose data are in flight or newer than memory; its tag cannot be replaced.
    Bound,
}

/// Value at which reuse counts saturate (six bits).
const MAX_COUNT: u32 = 63;

/// State of the filter.
#[derive(Clone, Debug)]
pub struct Filter {
    config: Config,
    original: bool,
    /// Known lines and reuse counts per set, least recently used first.
    sets: Vec<Vec<(u64, u32)>>,
}

impl Filter {
    /// Creates a filter of `sets` sets without tags.
    pub fn new(config: Config, sets: usize) -> Self {
        Self { config, original: config.starts_original, sets: vec![Vec::new(); sets] }
    }

    /// True if a load of a line without data may allocate it.
    pub fn admits(&self, set: usize, line: u64) -> bool {
        let count = self.next_count(set, line);
        self.is_original()
            || if self.config.above { count > self.config.threshold } else { count >= self.config.threshold }
    }

    /// True if every tag of the set belongs to a line with data. A new line can then get a tag only if
    /// another line loses its data.
    pub fn is_short(&self, set: usize, line: u64, standing: impl Fn(u64) -> Standing) -> bool {
        let known = &self.sets[set];
        known.len() >= self.config.tags
            && known.iter().all(|(other, _)| *other != line && standing(*other) != Standing::Candidate)
    }

    /// Records a load that bypassed the cache. Returns the line that lost its data because its tag was
    /// replaced, if any.
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

    /// Records the allocation of a line, which may have evicted `loser`.
    pub fn on_allocate(&mut self, set: usize, line: u64, loser: Option<u64>, standing: impl Fn(u64) -> Standing) {
        let count = self.next_count(set, line);
        if !self.has_tag(set, line) && self.sets[set].len() >= self.config.tags {
            // Candidates are judged by the state before the access. If there is no candidate, the tag of
            // `loser` is replaced.
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

    /// Records that a line lost its data to a store.
    pub fn on_store_evict(&mut self, set: usize, line: u64) {
        self.demote(set, line);
        if self.config.stores_age {
            self.age(set, &[line], 1);
        }
    }

    /// Records the use of a line with data. Only loads increment its reuse count.
    pub fn on_hit(&mut self, set: usize, line: u64, by_load: bool) {
        let known = self.sets[set].iter().find(|(other, _)| *other == line).map_or(0, |(_, count)| *count);
        self.set_count(set, line, if by_load { (known + 1).min(MAX_COUNT) } else { known });
    }

    /// Changes the mode: admits every line if `original`, otherwise applies the threshold.
    pub fn switch(&mut self, original: bool, standing: impl Fn(u64) -> Standing) {
        self.original = original;
        if self.is_original() {
            for set in &mut self.sets {
                set.retain(|(line, _)| standing(*line) != Standing::Candidate);
            }
        }
    }

    /// Clears all tags at the end of a kernel.
    pub fn clear(&mut self) {
        self.sets.iter_mut().for_each(Vec::clear);
        self.original = self.config.starts_original;
    }

    /// Returns the known lines of a set with their reuse counts, least recently used first.
    pub fn known_lines(&self, set: usize) -> &[(u64, u32)] {
        &self.sets[set]
    }

    /// True if the set holds no more lines than tags, and every line with data has a tag.
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

    /// Returns the replaceable line with the lowest reuse count; ties go to the least recently used.
    fn least(&self, set: usize, may_go: impl Fn(u64) -> bool) -> Option<u64> {
        let known = self.sets[set].iter().filter(|(line, _)| may_go(*line));
        known.min_by_key(|(_, count)| *count).map(|(line, _)| *line)
    }

    fn forget(&mut self, set: usize, line: u64) {
        self.sets[set].retain(|(other, _)| *other != line);
    }

    /// Sets the reuse count of a line and makes it most recently used, allocating a tag if necessary.
    fn set_count(&mut self, set: usize, line: u64, count: u32) {
        self.forget(set, line);
        self.sets[set].push((line, count));
    }

    /// Demotes a line without data to a candidate with reuse count 0. In the original mode its tag is freed.
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
