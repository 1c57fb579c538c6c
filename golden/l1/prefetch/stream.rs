//! # Stream prefetching
//! Tracks streams as Srinath et al. describe them (HPCA 2007, section 2.1). The streams are a list from the
//! least to the most recently used one. A stream in training stores its misses until they show a direction.
//! After training, it stores a monitored region of lines; loads in the region trigger prefetches and move the
//! region. The third miss completes the training and already triggers prefetches. A stream ends when its
//! region would move to another page than that of the load. Prefetch distance and degree are fixed: the
//! feedback of section 3 is not modeled.

use serde::Deserialize;

use super::{CacheInfo, Prefetcher, Scheme, Seen};

/// Configuration of the stream prefetcher.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Maximum number of streams that are tracked at a time.
    pub streams: usize,
    /// Size in lines of the training window on each side of a stream's first miss.
    pub window: i64,
    /// Prefetch distance in lines: maximum length of the monitored region.
    pub distance: i64,
    /// Prefetch degree: number of lines to prefetch per trigger event.
    pub degree: i64,
}

#[typetag::deserialize(name = "stream")]
impl Scheme for Config {
    fn twin(&self, place: &CacheInfo) -> Option<Box<dyn Prefetcher>> {
        Some(Box::new(Streams { config: *self, page_lines: place.page_lines, streams: Vec::new() }))
    }
}

#[derive(Clone, Debug)]
enum Stream {
    /// Stream in training, with its misses so far: one line, or two different lines.
    Training(Vec<i64>),
    /// Stream with a monitored region, which consists of line `from` and the next `length` lines in
    /// `direction` (1 or -1).
    Monitoring { from: i64, length: i64, direction: i64 },
}

impl Stream {
    fn monitors(&self, line: i64) -> bool {
        match self {
            Self::Training(_) => false,
            Self::Monitoring { from, length, direction } => (0..=*length).contains(&((line - from) * direction)),
        }
    }

    fn trains(&self, line: i64, window: i64) -> bool {
        matches!(self, Self::Training(misses) if (line - misses[0]).abs() <= window)
    }

    /// Returns the state of the stream after a further miss to `line`.
    fn train(self, line: i64) -> Self {
        let Self::Training(misses) = self else { return self };
        match misses[..] {
            [first] if line != first => Self::Training(vec![first, line]),
            [first, second] if line != second => {
                let direction = (second - first).signum();
                match (line - second).signum() == direction {
                    true => Self::Monitoring { from: first, length: (line - first) * direction, direction },
                    false => Self::Training(vec![line]),
                }
            }
            _ => Self::Training(misses),
        }
    }
}

#[derive(Clone, Debug)]
struct Streams {
    config: Config,
    page_lines: i64,
    /// Streams, ordered from the least to the most recently used.
    streams: Vec<Stream>,
}

impl Streams {
    /// Removes the most recently used stream that satisfies a condition from the list, and returns it.
    fn take(&mut self, is_meant: impl Fn(&Stream) -> bool) -> Option<Stream> {
        let place = self.streams.iter().rposition(is_meant)?;
        Some(self.streams.remove(place))
    }
}

impl Prefetcher for Streams {
    fn on_access(&mut self, seen: &Seen) -> Option<Vec<i64>> {
        let (Config { streams, window, distance, degree }, line) = (self.config, seen.line());
        let monitoring = self.take(|stream| stream.monitors(line));
        if monitoring.is_none() && !seen.missed {
            return None;
        }
        let trained = monitoring.or_else(|| Some(self.take(|stream| stream.trains(line, window))?.train(line)));
        match trained.unwrap_or_else(|| Stream::Training(vec![line])) {
            Stream::Monitoring { from, length, direction } => {
                let end = from + length * direction;
                let new = end + degree * direction;
                let page = |line: i64| line.div_euclid(self.page_lines);
                if page(new) == page(line) {
                    let length = (length + degree).min(distance);
                    self.streams.push(Stream::Monitoring { from: new - length * direction, length, direction });
                }
                Some((1..=degree).map(|ahead| end + ahead * direction).collect())
            }
            training => {
                self.streams.push(training);
                let surplus = self.streams.len().saturating_sub(streams);
                self.streams.drain(..surplus);
                None
            }
        }
    }

    fn clear(&mut self) {
        self.streams.clear();
    }
}
