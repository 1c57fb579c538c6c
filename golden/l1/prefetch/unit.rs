//! # Reference model of the prefetch queue
//! Holds two lists: the lines of the last trigger that are still to enter the prefetch queue, and the
//! prefetch queue itself. One line enters the queue per cycle. The cache looks up the oldest line in the
//! queue.

use std::collections::VecDeque;

use super::{CacheInfo, Prefetcher, Seen};

/// Limits on the resources that prefetches may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of lines in the prefetch queue.
    pub queue: usize,
    /// Maximum number of MSHR entries that hold a prefetch for which no load waits.
    pub mshr: usize,
    /// Maximum number of prefetches in the miss queue.
    pub miss_queue: usize,
}

/// Outcome for a line that is to enter the prefetch queue in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The line with this number entered the prefetch queue.
    Queued(u64),
    /// The line with this number was dropped, because the prefetch queue was full.
    QueueFull(u64),
    /// The line was dropped, because it does not lie on the same page as the line that triggered it.
    OtherPage,
}

/// Counters of prefetched lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of lines that prefetches requested from memory.
    pub issued: u64,
    /// Number of prefetched lines that were present when a load first used them.
    pub useful: u64,
    /// Number of prefetched lines that were still in flight when a load first used them.
    pub late: u64,
}

/// Prefetcher of a cache, with the lines that it is to prefetch.
#[derive(Debug)]
pub struct Unit {
    prefetcher: Box<dyn Prefetcher>,
    place: CacheInfo,
    /// Limits on the resources that prefetches may use.
    pub limits: Limits,
    /// Line of the latest trigger event, and the lines to prefetch for this event that have not yet entered
    /// the prefetch queue.
    upcoming: (i64, VecDeque<i64>),
    queue: VecDeque<u64>,
    /// Counters of prefetched lines since the start of the simulation.
    pub counts: Counts,
}

impl Unit {
    /// Creates a prefetch unit with an empty prefetch queue.
    #[must_use]
    pub fn new(prefetcher: Box<dyn Prefetcher>, place: CacheInfo, limits: Limits) -> Self {
        let (upcoming, queue) = ((0, VecDeque::new()), VecDeque::new());
        Self { prefetcher, place, limits, upcoming, queue, counts: Counts::default() }
    }

    /// Notifies the prefetcher of a load, which may trigger prefetches.
    pub fn on_access(&mut self, seen: &Seen) {
        if let Some(lines) = self.prefetcher.on_access(seen) {
            self.upcoming = (seen.line(), lines.into());
        }
    }

    /// Notifies the prefetcher that the data of a line arrived, which may trigger prefetches.
    pub fn on_fill(&mut self, line: u64, prefetched: bool) {
        if let Some(lines) = self.prefetcher.on_fill(line, prefetched) {
            self.upcoming = (line as i64, lines.into());
        }
    }

    /// Returns what happens to the line that is to enter the prefetch queue next; `None` if there is no such
    /// line.
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

    /// Adds the next line to the prefetch queue, or drops it.
    pub fn deliver(&mut self) {
        if let Some(Delivery::Queued(line)) = self.delivery() {
            self.queue.push_back(line);
        }
        self.upcoming.1.pop_front();
    }

    /// Returns the oldest line in the prefetch queue, which the cache looks up next.
    #[must_use]
    pub fn head(&self) -> Option<u64> {
        self.queue.front().copied()
    }

    /// Removes the oldest line from the prefetch queue, after its lookup.
    pub fn pop(&mut self) {
        self.queue.pop_front();
    }

    /// Discards all lines and resets the prefetcher at the end of a kernel.
    pub fn clear(&mut self) {
        self.upcoming.1.clear();
        self.queue.clear();
        self.prefetcher.clear();
    }
}
