//! # Counters
//! What blocks have counted. A struct of counters is the one list of them: names, units and meanings come from its fields
//! by `#[derive(Counted)]`, and statistics, time series, waveforms and the dictionary are readers of it.
//!
//! Counters are reported at the end of a run; they are no hardware.

use super::Describe;

/// What a counter counts, or what a number is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Events.
    #[default]
    Events,
    /// Cycles of the clock of the block.
    Cycles,
    /// Bytes.
    Bytes,
    /// MHz.
    Megahertz,
    /// pJ.
    Picojoules,
    /// nm.
    Nanometres,
    /// mm.
    Millimetres,
    /// Seconds.
    Seconds,
    /// No number of a unit: a name, a ratio, or a group of keys.
    Plain,
}

impl Quantity {
    /// Its name in lists; empty where the meaning of a counter says what is counted.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Events | Self::Plain => "",
            Self::Cycles => "cycles",
            Self::Bytes => "bytes",
            Self::Megahertz => "MHz",
            Self::Picojoules => "pJ",
            Self::Nanometres => "nm",
            Self::Millimetres => "mm",
            Self::Seconds => "seconds",
        }
    }
}

/// Name and meaning of a counter or of a group of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Name inside its group.
    pub name: &'static str,
    /// Meaning, in a sentence.
    pub about: &'static str,
    /// Unit.
    pub unit: Quantity,
    /// The metric of Nsight Compute that counts the same.
    pub nsight: Option<&'static str>,
}

impl Key {
    /// A count of events.
    #[must_use]
    pub const fn new(name: &'static str, about: &'static str) -> Self {
        Self { name, about, unit: Quantity::Events, nsight: None }
    }

    /// What counts nothing: a group, a name, or a ratio.
    #[must_use]
    pub const fn plain(name: &'static str, about: &'static str) -> Self {
        Self::new(name, about).in_unit(Quantity::Plain)
    }

    /// The same in another unit.
    #[must_use]
    pub const fn in_unit(self, unit: Quantity) -> Self {
        Self { unit, ..self }
    }

    /// The same, which Nsight Compute has under this name.
    #[must_use]
    pub const fn nsight(self, metric: &'static str) -> Self {
        Self { nsight: Some(metric), ..self }
    }
}

/// What stands behind a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Nothing: the machine does not have it.
    Absent,
    /// A count.
    Count(u64),
    /// A ratio, a time or an energy.
    Number(f64),
    /// A name.
    Text(&'a str),
    /// A histogram: counts by class. The meaning of the key says what the classes are.
    Classes(&'a [u64]),
}

/// What is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// A group that the machine does not have: a reader that lists what there is does not look inside.
    Absent,
    /// A group of keys.
    Group,
    /// A list, whose elements are opened one by one.
    List,
    /// An element of a list.
    Element,
}

/// A reader of counters.
pub trait CounterReader {
    /// Opens a group. False if the reader does not look inside: the group is not to be listed, nor closed.
    fn enter(&mut self, key: &Key, opened: Opened) -> bool;
    /// Closes the group opened last.
    fn leave(&mut self);
    /// A counter, or another value.
    fn counter(&mut self, key: &Key, value: Value<'_>);
    /// True if this reader wants every key that a machine may have, and not those that this one has.
    fn lists_all(&self) -> bool {
        false
    }
}

/// A struct of counters.
pub trait Counted: Copy + Default {
    /// What a unit has of what not every unit has: decides which counters are listed.
    type Has;
    /// Adds the counters of another unit.
    fn add(&mut self, other: &Self);
    /// Lists the counters.
    fn list(&self, has: &Self::Has, to: &mut dyn CounterReader);

    /// The sum of several units.
    #[must_use]
    fn total<'a>(units: impl IntoIterator<Item = &'a Self>) -> Self
    where
        Self: 'a,
    {
        units.into_iter().fold(Self::default(), |mut total, unit| {
            total.add(unit);
            total
        })
    }

    /// Lists the counters as signals of waveforms; histograms are left out.
    fn describe(&self, has: &Self::Has, to: &mut dyn Describe) {
        let mut tally = Tally::default();
        self.list(has, &mut tally);
        if !to.has_seen_stats(tally.signals, tally.sum) {
            self.list(has, &mut Signals { to, group: None });
        }
    }
}

/// An enum that counters are kept by.
pub trait Reason: Copy + PartialEq + 'static {
    /// Every variant, in the order of the counters.
    const EVERY: &'static [Self];
    /// Keys.
    const NAMES: &'static [&'static str];
    /// Meanings.
    const MEANINGS: &'static [&'static str];
    /// Place among all.
    fn index(self) -> usize;

    /// The key of counts in a unit.
    #[must_use]
    fn key(self, unit: Quantity) -> Key {
        Key::new(Self::NAMES[self.index()], Self::MEANINGS[self.index()]).in_unit(unit)
    }

    /// Counts of an array that is kept by this, each with its variant.
    fn zip(counts: &[u64]) -> impl Iterator<Item = (Self, u64)> {
        Self::EVERY.iter().copied().zip(counts.iter().copied())
    }

    /// The same with the names of the variants.
    fn named(counts: &[u64]) -> impl Iterator<Item = (&'static str, u64)> {
        Self::NAMES.iter().copied().zip(counts.iter().copied())
    }
}

/// Lists a counter that is null where the machine does not have it.
pub fn count_if(to: &mut dyn CounterReader, key: &Key, is_there: bool, count: u64) {
    to.counter(key, if is_there { Value::Count(count) } else { Value::Absent });
}

/// Lists a group with a counter for each variant; null where the machine does not have that.
pub fn count_by<R: Reason>(
    to: &mut dyn CounterReader,
    key: &Key,
    is_there: bool,
    counts: &[u64],
    has: &dyn Fn(R) -> bool,
) {
    if to.enter(key, if is_there { Opened::Group } else { Opened::Absent }) {
        for (reason, count) in R::zip(counts) {
            count_if(to, &reason.key(key.unit), has(reason), count);
        }
        to.leave();
    }
}

/// Lists a histogram; null where the machine does not have it.
pub fn count_classes(to: &mut dyn CounterReader, key: &Key, is_there: bool, counts: &[u64]) {
    to.counter(key, if is_there { Value::Classes(counts) } else { Value::Absent });
}

/// Lists a group of counters; null where the machine does not have it.
pub fn count_group<C: Counted>(to: &mut dyn CounterReader, key: &Key, counters: Option<&C>, has: &C::Has) {
    if to.enter(key, if counters.is_some() { Opened::Group } else { Opened::Absent }) {
        counters.copied().unwrap_or_default().list(has, to);
        to.leave();
    }
}

/// Lists the units of a kind, one element each.
pub fn count_units<C: Counted>(to: &mut dyn CounterReader, key: &Key, units: &[C], has: &C::Has) {
    if to.enter(key, Opened::List) {
        let any = [C::default()];
        let units = if to.lists_all() { &any } else { units };
        for unit in units {
            if to.enter(key, Opened::Element) {
                unit.list(has, to);
                to.leave();
            }
        }
        to.leave();
    }
}

/// How many signals counters are, and their sum.
#[derive(Default)]
struct Tally {
    signals: usize,
    sum: u64,
}

impl CounterReader for Tally {
    fn enter(&mut self, _: &Key, opened: Opened) -> bool {
        opened == Opened::Group
    }
    fn leave(&mut self) {}
    fn counter(&mut self, _: &Key, value: Value<'_>) {
        if let Value::Count(count) = value {
            self.signals += 1;
            self.sum = self.sum.wrapping_add(count);
        }
    }
}

/// Counters as signals.
struct Signals<'a> {
    to: &'a mut dyn Describe,
    group: Option<&'static str>,
}

impl CounterReader for Signals<'_> {
    fn enter(&mut self, key: &Key, opened: Opened) -> bool {
        let is_listed = opened == Opened::Group;
        if is_listed {
            self.group = Some(key.name);
        }
        is_listed
    }
    fn leave(&mut self) {
        self.group = None;
    }
    fn counter(&mut self, key: &Key, value: Value<'_>) {
        if let Value::Count(count) = value {
            self.to.stat_in(self.group, key.name, count);
        }
    }
}

/// Paths of all counters, `l1.reservation_fails.mshr_entry`, and their values: what a time series has as columns.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    open: Vec<&'static str>,
    /// Paths, in order.
    pub names: Vec<String>,
    /// Values, in order.
    pub values: Vec<u64>,
    /// Values alone are wanted: another reader has the names.
    skips_names: bool,
}

impl Paths {
    /// A reader of values alone, whose names another one has.
    #[must_use]
    pub fn values() -> Self {
        Self { skips_names: true, ..Self::default() }
    }
}

impl CounterReader for Paths {
    fn enter(&mut self, key: &Key, opened: Opened) -> bool {
        if opened == Opened::Group {
            self.open.push(key.name);
        }
        opened == Opened::Group
    }

    fn leave(&mut self) {
        self.open.pop();
    }

    fn counter(&mut self, key: &Key, value: Value<'_>) {
        if let Value::Count(count) = value {
            if !self.skips_names {
                let names: Vec<_> = self.open.iter().copied().chain([key.name]).collect();
                self.names.push(names.join("."));
            }
            self.values.push(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use derive::{Counted, Reason};

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Reason)]
    enum Cause {
        /// The queue is full.
        QueueFull,
        /// The port is taken.
        PortTaken,
    }

    #[derive(Default)]
    struct Has {
        sectors: bool,
        stores: bool,
    }

    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counted)]
    struct Parts {
        /// Hits of a part.
        hits: u64,
    }

    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counted)]
    #[counted(has = Has)]
    #[counted(sum(all, "Hits and misses.", hits + misses))]
    struct Stats {
        /// Hits.
        hits: u64,
        /// Misses.
        misses: u64,
        /// Sectors.
        #[counted(bytes, only(has.sectors))]
        sectors: u64,
        /// Stores.
        #[counted(if_any(has.stores), key = "writes")]
        stores: u64,
        /// Cycles of waiting.
        #[counted(cycles, by = Cause, each = reason == Cause::QueueFull || has.stores)]
        waits: [u64; Cause::ALL.len()],
        /// Latencies: below 2, and longer.
        latencies: [u64; 2],
        /// A part.
        #[counted(only(has.sectors))]
        part: Parts,
        /// Never listed.
        #[counted(skip)]
        hidden: u64,
    }

    /// A line a call, with what is unusual about the key.
    #[derive(Default)]
    struct Lines(Vec<String>);

    impl CounterReader for Lines {
        fn enter(&mut self, key: &Key, opened: Opened) -> bool {
            self.0.push(format!("{} {opened:?}", key.name));
            opened != Opened::Absent
        }
        fn leave(&mut self) {
            self.0.push("leave".to_owned());
        }
        fn counter(&mut self, key: &Key, value: Value<'_>) {
            self.0.push(format!("{} {}: {value:?}", key.name, key.unit.name()));
        }
    }

    const STATS: Stats = Stats {
        hits: 1,
        misses: 2,
        sectors: 3,
        stores: 4,
        waits: [5, 6],
        latencies: [7, 8],
        part: Parts { hits: 9 },
        hidden: 10,
    };

    #[test]
    fn a_struct_lists_its_fields_and_what_a_unit_does_not_have_is_absent() {
        let mut lines = Lines::default();
        STATS.list(&Has::default(), &mut lines);
        let expected = [
            "hits : Count(1)",
            "misses : Count(2)",
            "sectors bytes: Absent",
            "all : Count(3)",
            "waits Group",
            "queue_full cycles: Count(5)",
            "port_taken cycles: Absent",
            "leave",
            "latencies : Classes([7, 8])",
            "part Absent",
        ];
        assert_eq!(lines.0, expected);
        let mut paths = Paths::default();
        STATS.list(&Has { sectors: true, stores: true }, &mut paths);
        let names = ["hits", "misses", "sectors", "writes", "all", "waits.queue_full", "waits.port_taken", "part.hits"];
        assert_eq!(
            (paths.names.as_slice(), paths.values),
            (&names.map(str::to_owned)[..], vec![1, 2, 3, 4, 3, 5, 6, 9])
        );
    }

    #[test]
    fn units_are_added_field_by_field() {
        let twice = Stats::total(&[STATS, STATS]);
        let expected = Stats {
            hits: 2,
            misses: 4,
            sectors: 6,
            stores: 8,
            waits: [10, 12],
            latencies: [14, 16],
            part: Parts { hits: 18 },
            hidden: 20,
        };
        assert_eq!(twice, expected);
        assert_eq!(Stats::total(&[]), Stats::default());
    }

    #[test]
    fn a_reason_has_the_name_and_the_meaning_of_its_variant() {
        assert_eq!(Cause::PortTaken.name(), "port_taken");
        assert_eq!(Cause::PortTaken.key(Quantity::Cycles).about, "The port is taken.");
        assert_eq!(Cause::zip(&[5, 6]).collect::<Vec<_>>(), [(Cause::QueueFull, 5), (Cause::PortTaken, 6)]);
    }
}
