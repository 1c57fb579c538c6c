//! # Table of streams
//! Detects accesses that run through memory in one direction, and returns the lines ahead of them (Srinath et
//! al., "Feedback directed prefetching", HPCA 2007, section 2.1). The L1D and the L2 banks use the same
//! table; `l1/prefetch/stream` states how it differs from the paper.
//!
//! Part of `rtl/l1/cache.rs` and `rtl/l2/bank.rs`.
//! Twin: `golden/l1/prefetch/stream.rs`.
//! Bench: `tb/l1/prefetch.rs` and `tb/l2/prefetch.rs`.

use serde::{Deserialize, Serialize};

use super::{Run, RunShape, low_bits};
use crate::config::Rules;
use crate::kernel::{Describe, DescribeExt, Encoding, FieldsExt, Logic};

/// Configuration of stream prefetching. The default values are the middle setting of those in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StreamConfig {
    /// Number of streams tracked at the same time.
    pub streams: u32,
    /// Size of the training window in lines. A later miss helps to determine the direction of a stream only
    /// if it is at most this many lines away from the first miss of the stream.
    pub window: u32,
    /// Largest distance in lines between the start and the end of a monitored region.
    pub distance: u32,
    /// Number of lines to prefetch for each demand access to a monitored region.
    pub degree: u32,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self { streams: 64, window: 16, distance: 16, degree: 2 }
    }
}

impl StreamConfig {
    /// Checks the parameters.
    pub(crate) fn validate(&self, rules: &mut Rules) {
        rules.range("streams", u64::from(self.streams), 1..=256, "a line is compared with all streams in one cycle");
        rules.range("window", u64::from(self.window), 1..=256, "the streams of a wider window would meet each other");
        rules.range("degree", u64::from(self.degree), 1..=16, "one line is prefetched per cycle");
        let why = "a region holds the lines of one prefetch at least";
        rules.range("distance", u64::from(self.distance), u64::from(self.degree).min(256)..=256, why);
    }
}

/// State of the training of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encoding)]
#[width(2)]
enum State {
    #[default]
    Invalid,
    /// The stream has had one miss.
    Allocated,
    /// The stream has had two misses, which give a direction.
    Training,
    /// The stream has had three misses in one direction, and its region is monitored.
    Monitoring,
}

/// Registers that track one stream of accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Stream {
    state: State,
    /// True if the stream runs toward lower line addresses.
    descends: bool,
    /// During training, the line of the stream's first miss. Later, the start of the monitored region.
    start: u64,
    /// During training, the line of the stream's last miss. Later, the end of the monitored region.
    end: u64,
    /// Position in the LRU order of the streams: the number of streams that were used more recently. The
    /// stream with the highest position is replaced next.
    rank: u8,
}

impl Stream {
    fn step(&self) -> i64 {
        if self.descends { -1 } else { 1 }
    }

    /// True if the stream is monitored and the line lies in its region.
    fn monitors(&self, line: u64) -> bool {
        let (low, high) = if self.descends { (self.end, self.start) } else { (self.start, self.end) };
        self.state == State::Monitoring && (low..=high).contains(&line)
    }

    /// True if a miss of the line can train the stream: the stream is not monitored yet, and the line is at
    /// most `window` lines from the stream's first miss.
    fn trains(&self, line: u64, window: u32) -> bool {
        matches!(self.state, State::Allocated | State::Training) && line.abs_diff(self.start) <= u64::from(window)
    }

    /// Trains the stream by a miss within its training window. If the miss is in the opposite direction of
    /// the stream, the training restarts at the line of this miss.
    fn train(&mut self, line: u64) {
        let last = if self.state == State::Allocated { self.start } else { self.end };
        if line == last {
            return;
        }
        let descends = line < last;
        (self.state, self.end) = match self.state {
            State::Allocated => (State::Training, line),
            _ if descends == self.descends => (State::Monitoring, line),
            _ => {
                self.start = line;
                (State::Allocated, line)
            }
        };
        self.descends = descends;
    }

    /// Moves the end of the monitored region by `degree` lines in the direction of the stream. Then moves the
    /// start of the region, so that start and end are at most `distance` lines apart. If the new end is on a
    /// different page than the accessed line, the stream ends instead.
    fn advance(&mut self, &StreamConfig { distance, degree, .. }: &StreamConfig, line: u64, page_bits: u32) {
        let end = self.end.wrapping_add_signed(self.step() * i64::from(degree));
        if end >> page_bits != line >> page_bits {
            self.state = State::Invalid;
            return;
        }
        self.end = end;
        if self.end.abs_diff(self.start) > u64::from(distance) {
            self.start = self.end.wrapping_add_signed(-self.step() * i64::from(distance));
        }
    }
}

/// Registers of all streams of a prefetcher.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Streams {
    config: StreamConfig,
    streams: Box<[Stream]>,
    run_shape: RunShape,
    page_bits: u32,
}

impl Streams {
    /// Creates registers that track no stream yet, for line addresses of `line_bits` bits and pages of
    /// 2^`page_bits` lines.
    #[must_use]
    pub fn new(config: &StreamConfig, line_bits: u32, page_bits: u32) -> Self {
        let streams = (0..config.streams).map(|number| Stream { rank: number as u8, ..Stream::default() });
        let run_shape = RunShape { line_bits, step_bits: 2, most: config.degree };
        Self { config: *config, streams: streams.collect(), run_shape, page_bits }
    }

    /// Records a demand access to a line. Returns the run of prefetches that the access starts. An access
    /// starts a run if its line is in a monitored region, or if it completes the training of a stream.
    pub fn observe(&mut self, line: u64, missed: bool) -> Option<Run> {
        let (config, page_bits) = (self.config, self.page_bits);
        let found = if let Some(stream) = self.find(|stream| stream.monitors(line)) {
            stream
        } else if !missed {
            return None;
        } else if let Some(stream) = self.find(|stream| stream.trains(line, config.window)) {
            stream.train(line);
            stream
        } else {
            let stream = self.promote(self.victim());
            *stream = Stream { state: State::Allocated, start: line, end: line, descends: false, rank: 0 };
            stream
        };
        if found.state != State::Monitoring {
            return None;
        }
        let (end, step) = (found.end, found.step());
        found.advance(&config, line, page_bits);
        Some(Run::new(line, end.wrapping_add_signed(step), step, config.degree))
    }

    /// Ends all streams.
    pub fn clear(&mut self) {
        self.streams.iter_mut().for_each(|stream| stream.state = State::Invalid);
    }

    /// Returns the most recently used stream for which `is_meant` is true, and moves it to the front of the
    /// LRU order.
    fn find(&mut self, is_meant: impl Fn(&Stream) -> bool) -> Option<&mut Stream> {
        let matching = self.streams.iter().enumerate().filter(|(_, stream)| is_meant(stream));
        let at = matching.min_by_key(|(_, stream)| stream.rank)?.0;
        Some(self.promote(at))
    }

    fn promote(&mut self, at: usize) -> &mut Stream {
        let last = self.streams[at].rank;
        self.streams.iter_mut().for_each(|stream| stream.rank += u8::from(stream.rank < last));
        self.streams[at].rank = 0;
        &mut self.streams[at]
    }

    /// Returns the number of the stream that a miss to a new region replaces: an invalid stream or, if there
    /// is none, the least recently used stream.
    fn victim(&self) -> usize {
        let order = |stream: &Stream| (stream.state == State::Invalid, stream.rank);
        (0..self.streams.len()).max_by_key(|at| order(&self.streams[*at])).unwrap_or(0)
    }

    /// Adds to the hardware description: the registers and logic of all streams. The caller's function `run`
    /// adds the registers of the current run of prefetches.
    pub fn describe(&self, to: &mut dyn Describe, run: impl FnOnce(&RunShape, &mut dyn Describe)) {
        let Self { config: StreamConfig { streams: count, .. }, streams, run_shape, page_bits } = self;
        let (count, line_bits) = (*count, run_shape.line_bits);
        let rank_bits = count.max(2).next_power_of_two().ilog2();
        to.part("stream", |to| {
            to.entries("stream", streams.iter(), |stream, to| {
                let Stream { state, descends, start, end, rank } = stream;
                to.state("state", *state);
                to.flag("descends", *descends);
                to.sized("start", low_bits(*start, line_bits), line_bits);
                to.sized("end", low_bits(*end, line_bits), line_bits);
                to.sized("rank", u64::from(*rank), rank_bits);
            });
            run(run_shape, to);
            // Each stream has two comparators for the ends of its region, and one for the distance from its
            // first miss.
            to.logic("in_region", Logic::Less { width: line_bits, count: 2 * count });
            for _ in 0..count {
                to.logic("from_start", Logic::Adder { width: line_bits });
            }
            to.logic("in_window", Logic::Less { width: line_bits, count });
            to.logic("first", Logic::Mux { ways: count, width: 2 * line_bits + 3 });
            to.logic("advance", Logic::Adder { width: line_bits });
            to.logic("length", Logic::Adder { width: line_bits });
            to.logic("same_page", Logic::Comparator { width: line_bits.saturating_sub(*page_bits), count: 1 });
            crate::replacement::describe_ranks(count, rank_bits, to);
        });
    }
}
