//! # Stream prefetching
//! Follows accesses that run through memory in one direction, and prefetches ahead of them (Srinath et al.,
//! "Feedback directed prefetching", HPCA 2007, section 2.1). A miss to a new region allocates a stream. Two
//! further misses nearby give the direction, and the second of them prefetches the next lines. From then on
//! pollution, which adapts them (section 3), is not modeled. The paper's choice of the LRU position at which
//! a prefetched line is inserted, based on pollution, is not modeled either. In the paper, L2 misses of a
//! single-threaded core train the streams; here, the L1D misses of an SM do.
//! | port        | dir | payload | contract                                                            |
//! |-------------|-----|---------|---------------------------------------------------------------------|
//! | `on_access` | in  | load    | compares the line with all streams, and changes at most one          |
//! | `next`      | out | target  | one line of the run that the last monitored load started            |
//!
//! Among matching streams, the most recently used one is selected; a new stream replaces the least recently
//! used one. A stream ends where its region would leave the page of the load. The paper begins a region at a
//! start-up distance ahead of the third miss and prefetches from its end on. Here the third miss prefetches
//! the lines of that distance, which equals the degree.
//!
//! Simplified from the paper: distance and degree are fixed. The paper's feedback from accuracy, lateness and
//! pollution, which adapts them (section 3), is not modeled. Insertion of prefetched lines by pollution is
//! not modeled either. The paper trains by L2 misses of a core with one thread; here the L1D misses of an SM
//! train.
//!
//! Part of `rtl/l1/cache.rs`.
//! Bench: its own tests and `tb/l1/prefetch.rs`.

use serde::{Deserialize, Serialize};

use super::{DemandLoad, Hooks, PrefetchPlace, Run, RunShape, Scheme, Target, low_bits};
use crate::config::Rules;
use crate::kernel::{Describe, DescribeExt, Edge, Encoding, FieldsExt, Logic};

/// Configuration of stream prefetching. The default values are the middle setting of those in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StreamConfig {
    /// Number of streams tracked at the same time.
    pub streams: u32,
    /// Size of the training window in lines. A further miss gives a direction only if it is at most this far
    /// from the stream's first miss.
    pub window: u32,
    /// Largest distance in lines between the start and the end of a monitored region.
    pub distance: u32,
    /// Number of lines to prefetch for each load that accesses a monitored region.
    pub degree: u32,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self { streams: 64, window: 16, distance: 16, degree: 2 }
    }
}

#[typetag::serde(name = "stream")]
impl Scheme for StreamConfig {
    fn hardware(&self, place: &PrefetchPlace<'_>) -> Option<Box<dyn Hooks>> {
        let streams = (0..self.streams).map(|number| Stream { rank: number as u8, ..Stream::default() });
        let run_shape = RunShape { line_bits: place.line_bits, step_bits: 2, most: self.degree };
        Some(Box::new(Streams {
            config: *self,
            streams: streams.collect(),
            run: Run::default(),
            run_shape,
            page_bits: place.page_bits,
        }))
    }

    fn validate(&self, rules: &mut Rules) {
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
    /// Line of the stream's first miss; later, the start of the monitored region.
    start: u64,
    /// Line of the stream's last miss during training; later, the end of the monitored region.
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
    /// most `window` lines from its first miss.
    fn trains(&self, line: u64, window: u32) -> bool {
        matches!(self.state, State::Allocated | State::Training) && line.abs_diff(self.start) <= u64::from(window)
    }

    /// Trains the stream by a miss in its training window. A miss against the direction of the stream
    /// restarts the training at the line of that miss.
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

    /// Moves the end of the monitored region by `degree` lines in the direction of the stream. Then moves its
    /// start, so that the region has at most `distance` lines between start and end. If the new end is on
    /// another page than the load, the stream ends instead.
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

/// Hardware of the stream prefetcher.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Streams {
    config: StreamConfig,
    streams: Box<[Stream]>,
    run: Run,
    run_shape: RunShape,
    page_bits: u32,
}

impl Streams {
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

    /// Returns the number of the stream that a miss to a new region replaces: an invalid one, else the least
    /// recently used one.
    fn victim(&self) -> usize {
        let order = |stream: &Stream| (stream.state == State::Invalid, stream.rank);
        (0..self.streams.len()).max_by_key(|at| order(&self.streams[*at])).unwrap_or(0)
    }
}

#[typetag::serde]
impl Hooks for Streams {
    fn on_access(&mut self, _at: &Edge<'_>, load: &DemandLoad) {
        let (config, page_bits, line) = (self.config, self.page_bits, load.line);
        let found = if let Some(stream) = self.find(|stream| stream.monitors(line)) {
            stream
        } else if !load.missed {
            return;
        } else if let Some(stream) = self.find(|stream| stream.trains(line, config.window)) {
            stream.train(line);
            stream
        } else {
            let stream = self.promote(self.victim());
            *stream = Stream { state: State::Allocated, start: line, end: line, descends: false, rank: 0 };
            stream
        };
        if found.state == State::Monitoring {
            let (end, step) = (found.end, found.step());
            found.advance(&config, line, page_bits);
            self.run = Run::new(line, end.wrapping_add_signed(step), step, config.degree);
        }
    }

    fn next(&mut self, _at: &Edge<'_>) -> Option<Target> {
        self.run.next()
    }

    fn clear(&mut self) {
        self.streams.iter_mut().for_each(|stream| stream.state = State::Invalid);
        self.run = Run::default();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { config: StreamConfig { streams: count, .. }, streams, run, run_shape, page_bits } = self;
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
            run.describe(run_shape, to);
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

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;

    fn bench(streams: u32, distance: u32, degree: u32) -> Bench {
        Bench::new(StreamConfig { streams, window: 16, distance, degree })
    }

    fn miss(bench: &mut Bench, line: u64) -> Vec<u64> {
        bench.access(DemandLoad { line, missed: true, ..DemandLoad::default() })
    }

    fn hit(bench: &mut Bench, line: u64) -> Vec<u64> {
        bench.access(DemandLoad { line, ..DemandLoad::default() })
    }

    #[test]
    fn three_misses_in_one_direction_start_a_stream_that_loads_of_its_region_move() {
        let mut bench = bench(4, 6, 2);
        assert!([100, 103].iter().all(|line| miss(&mut bench, *line).is_empty()));
        assert_eq!(miss(&mut bench, 104), [105, 106]);
        assert_eq!(hit(&mut bench, 105), [107, 108]);
        assert!(hit(&mut bench, 109).is_empty(), "beyond the end of the region");
        assert!(hit(&mut bench, 101).is_empty(), "the region has moved on");
        assert_eq!(hit(&mut bench, 102), [109, 110]);
    }

    #[test]
    fn a_stream_may_descend_and_a_change_of_direction_begins_anew() {
        let mut bench = bench(4, 16, 1);
        for line in [100, 97, 99, 98] {
            assert!(miss(&mut bench, line).is_empty());
        }
        assert!(hit(&mut bench, 98).is_empty(), "99 and 98 are the first two misses");
        assert_eq!(miss(&mut bench, 95), [94]);
        assert_eq!(hit(&mut bench, 94), [93]);
        assert_eq!(hit(&mut bench, 93), [92]);
    }

    #[test]
    fn hits_train_nothing_and_misses_outside_of_the_window_have_streams_of_their_own() {
        let mut bench = bench(2, 16, 1);
        for line in [100, 101, 102, 103] {
            assert!(hit(&mut bench, line).is_empty());
        }
        for line in [100, 130, 101, 131] {
            assert!(miss(&mut bench, line).is_empty());
        }
        assert_eq!(miss(&mut bench, 102), [103]);
        // The miss of line 500 allocates a third stream. It replaces the stream of lines 130 and 131, which
        // is the least recently used of the two.
        assert!(miss(&mut bench, 500).is_empty());
        assert_eq!(hit(&mut bench, 102), [104]);
        assert!([132, 133].iter().all(|line| miss(&mut bench, *line).is_empty()));
        assert!(hit(&mut bench, 132).is_empty());
    }

    #[test]
    fn a_stream_ends_with_its_page() {
        let mut bench = bench(4, 16, 1);
        assert!([60, 61].iter().all(|line| miss(&mut bench, *line).is_empty()));
        assert_eq!(miss(&mut bench, 62), [63]);
        // Line 64 lies on the next page. The prefetcher may return such a line, and the prefetch unit around
        // it drops it.
        assert_eq!(hit(&mut bench, 63), [64]);
        assert!(hit(&mut bench, 63).is_empty());
    }
}
