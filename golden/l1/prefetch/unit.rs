//! # Prefetch queue by lists
//! Holds the lines that the last trigger has not delivered yet, and the prefetch queue of lines that wait for
//! their lookup. One line is delivered to the queue per cycle. The cache looks up the oldest line in the
//! queue.

use std::collections::VecDeque;

use super::{CacheInfo, Prefetcher, Seen};

/// Limits of prefetches.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of lines in the prefetch queue.
    pub queue: usize,
    /// Maximum number of MSHR entries that only a prefetch occupies, without a waiting load.
    pub mshr: usize,
    /// Maximum number of prefetches in the miss queue.
    pub miss_queue: usize,
}

/// Delivery of a line in one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The line was added to the queue.
    Queued(u64),
    /// The line was dropped because the queue was full.
    QueueFull(u64),
    /// The line was dropped because it lies on another page than its trigger.
    OtherPage,
}

/// Counts of prefetched lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of lines that prefetches requested from memory.
    pub issued: u64,
    /// Number of prefetched lines that a load found present.
    pub useful: u64,
    /// Number of prefetched lines that a load found still in flight.
    pub late: u64,
}

/// Prefetcher of a cache, with the lines that wait for their lookup.
#[derive(Debug)]
pub struct Unit {
    prefetcher: Box<dyn Prefetcher>,
    place: CacheInfo,
    /// Limits of the prefetches.
    pub limits: Limits,
    /// Line of the last trigger, and the lines that it has yet to deliver.
    upcoming: (i64, VecDeque<i64>),
    queue: VecDeque<u64>,
    /// Counts since the start.
    pub counts: Counts,
}

impl Unit {
    /// Creates the unit of a prefetcher with an empty queue.
    #[must_use]
    pub fn new(prefetcher: Box<dyn Prefetcher>, place: CacheInfo, limits: Limits) -> Self {
        let (upcoming, queue) = ((0, VecDeque::new()), VecDeque::new());
        Self { prefetcher, place, limits, upcoming, queue, counts: Counts::default() }
    }

    /// Trains the prefetcher with a load.
    pub fn on_access(&mut self, seen: &Seen) {
        if let Some(lines) = self.prefetcher.on_access(seen) {
            self.upcoming = (seen.line(), lines.into());
        }
    }

    /// Reports the arrival of a line.
    pub fn on_fill(&mut self, line: u64, prefetched: bool) {
        if let Some(lines) = self.prefetcher.on_fill(line, prefetched) {
            self.upcoming = (line as i64, lines.into());
        }
    }

    /// Returns the delivery of the next cycle; `None` if no triggered line remains to be delivered.
    #[must_use]
    pub fn delivery(&self) -> Option<Delivery> {
        let (trigger, lines) = &self.upcoming;
        let line = *lines.front()?;
        let page = |line: i64| line.div_euclid(self.place.page_lines);
        Some(match u64::try_from(line) {
            Ok(line) if page(line as i64) == page(*trigger) => {
                if self.queue.len() < self.limits.queue {
                    Delivery::Queued(line)
                } else {
                    Delivery::QueueFull(line)
                }
            }
            _ => Delivery::OtherPage,
        })
    }

    /// Adds the next line to the queue, or drops it.
    pub fn deliver(&mut self) {
        if let Some(Delivery::Queued(line)) = self.delivery() {
            self.queue.push_back(line);
        }
        self.upcoming.1.pop_front();
    }

    /// Returns the line to look up next.
    #[must_use]
    pub fn head(&self) -> Option<u64> {
        self.queue.front().copied()
    }

    /// Removes the line that was looked up.
    pub fn pop(&mut self) {
        self.queue.pop_front();
    }

    /// Forgets all lines at the end of a kernel.
    pub fn clear(&mut self) {
        self.upcoming.1.clear();
        self.queue.clear();
        self.prefetcher.clear();
    }
}
