//! # Counters
//! Lists the statistics of blocks. Each counter is declared once, as a field of a struct.
//! `#[derive(Counted)]` takes names, units and meanings from the fields. Statistics, time series, waveforms
//! and the dictionary are all readers of this list.
//!
//! Counters are reported at the end of a run; they are not hardware.

use super::Describe;

/// Unit of a counter or of another value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Number of events.
    #[default]
    Events,
    /// Cycles of the block's clock.
    Cycles,
    /// Number of bytes.
    Bytes,
    /// Frequency in MHz.
    Megahertz,
    /// Energy in pJ.
    Picojoules,
    /// Length in nm.
    Nanometres,
    /// Length in mm.
    Millimetres,
    /// Time in seconds.
    Seconds,
    /// No unit: a name, a ratio, or a group of keys.
    Plain,
}

impl Quantity {
    /// Returns the name of the unit in lists; empty if the meaning of the counter says what is counted.
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
    /// Name within its group.
    pub name: &'static str,
    /// Meaning, as a sentence.
    pub about: &'static str,
    /// Unit of the value.
    pub unit: Quantity,
    /// Metric of Nsight Compute that counts the same events.
    pub nsight: Option<&'static str>,
    /// True if the summary of a run shows the counter.
    pub is_in_summary: bool,
}

impl Key {
    /// Creates the key of a count of events.
    #[must_use]
    pub const fn new(name: &'static str, about: &'static str) -> Self {
        Self { name, about, unit: Quantity::Events, nsight: None, is_in_summary: false }
    }

    /// Creates the key of a group, a name or a ratio, which has no unit.
    #[must_use]
    pub const fn plain(name: &'static str, about: &'static str) -> Self {
        Self::new(name, about).in_unit(Quantity::Plain)
    }

    /// Returns the key with another unit.
    #[must_use]
    pub const fn in_unit(self, unit: Quantity) -> Self {
        Self { unit, ..self }
    }

    /// Returns the key with the name of the corresponding metric of Nsight Compute.
    #[must_use]
    pub const fn nsight(self, metric: &'static str) -> Self {
        Self { nsight: Some(metric), ..self }
    }

    /// Returns the key of a counter that the summary of a run shows.
    #[must_use]
    pub const fn in_summary(self) -> Self {
        Self { is_in_summary: true, ..self }
    }
}

/// Value of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value: the machine lacks the counted component.
    Absent,
    /// Count of events, cycles or bytes.
    Count(u64),
    /// Ratio, time or energy.
    Number(f64),
    /// Text, such as a name.
    Text(&'a str),
    /// Histogram: counts by class. The meaning of the key defines the classes.
    Classes(&'a [u64]),
}

/// Kind of scope that a reader of counters opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeKind {
    /// Group of a component that the machine lacks. A reader that lists only what exists skips its contents.
    Absent,
    /// Group of keys.
    Group,
    /// List, whose elements are opened one by one.
    List,
    /// Element of a list.
    Element,
}

/// Reader of counters.
pub trait CounterReader {
    /// Opens a group. False if the reader skips the group, which must then be neither listed nor closed.
    fn enter(&mut self, key: &Key, opened: ScopeKind) -> bool;
    /// Closes the innermost open group.
    fn leave(&mut self);
    /// Reads a counter, or another value.
    fn counter(&mut self, key: &Key, value: Value<'_>);
    /// True if this reader needs every key that any machine can have, instead of the keys of this machine.
    fn lists_all(&self) -> bool {
        false
    }
}

/// Struct of counters.
pub trait Counted: Copy + Default {
    /// Optional components of a unit, which decide which of the counters are listed.
    type Has;
    /// Adds the counters of another unit.
    fn add(&mut self, other: &Self);
    /// Subtracts earlier counters of the same unit.
    fn subtract(&mut self, other: &Self);
    /// Lists the counters.
    fn list(&self, has: &Self::Has, to: &mut dyn CounterReader);

    /// Returns the sum of the counters of several units.
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

    /// Lists the counters as signals of waveforms; histograms are omitted.
    fn describe(&self, has: &Self::Has, to: &mut dyn Describe) {
        let mut tally = Tally::default();
        self.list(has, &mut tally);
        if !to.has_seen_stats(tally.signals, tally.sum) {
            self.list(has, &mut Signals { to, group: None });
        }
    }
}

/// Enumeration with one counter per variant.
pub trait Reason: Copy + PartialEq + 'static {
    /// All variants, in the order of the counters.
    const EVERY: &'static [Self];
    /// Keys of the variants.
    const NAMES: &'static [&'static str];
    /// Meanings of the variants.
    const MEANINGS: &'static [&'static str];
    /// Returns the position of the variant among all variants.
    fn index(self) -> usize;

    /// Returns the key of the variant's counter in the given unit.
    #[must_use]
    fn key(self, unit: Quantity) -> Key {
        Key::new(Self::NAMES[self.index()], Self::MEANINGS[self.index()]).in_unit(unit)
    }

    /// Pairs the counts of an array that is indexed by this enumeration with their variants.
    fn zip(counts: &[u64]) -> impl Iterator<Item = (Self, u64)> {
        Self::EVERY.iter().copied().zip(counts.iter().copied())
    }

    /// Pairs the counts of an array that is indexed by this enumeration with the names of their variants.
    fn zip_names(counts: &[u64]) -> impl Iterator<Item = (&'static str, u64)> {
        Self::NAMES.iter().copied().zip(counts.iter().copied())
    }
}

/// Lists a counter; absent unless `is_there`, which is false if the machine lacks the counted component.
pub fn count_if(to: &mut dyn CounterReader, key: &Key, is_there: bool, count: u64) {
    to.counter(key, if is_there { Value::Count(count) } else { Value::Absent });
}

/// Lists a group with one counter per variant; absent unless `is_there`. A variant for which `has` is false
/// is absent too.
pub fn count_by<R: Reason>(
    to: &mut dyn CounterReader,
    key: &Key,
    is_there: bool,
    counts: &[u64],
    has: &dyn Fn(R) -> bool,
) {
    if to.enter(key, if is_there { ScopeKind::Group } else { ScopeKind::Absent }) {
        for (reason, count) in R::zip(counts) {
            count_if(to, &reason.key(key.unit), has(reason), count);
        }
        to.leave();
    }
}

/// Lists a histogram; absent unless `is_there`.
pub fn count_classes(to: &mut dyn CounterReader, key: &Key, is_there: bool, counts: &[u64]) {
    to.counter(key, if is_there { Value::Classes(counts) } else { Value::Absent });
}

/// Lists a group of counters; absent if `counters` is `None`.
pub fn count_group<C: Counted>(to: &mut dyn CounterReader, key: &Key, counters: Option<&C>, has: &C::Has) {
    if to.enter(key, if counters.is_some() { ScopeKind::Group } else { ScopeKind::Absent }) {
        counters.copied().unwrap_or_default().list(has, to);
        to.leave();
    }
}

/// Lists the units of one kind as a list with one element per unit.
pub fn count_units<C: Counted>(to: &mut dyn CounterReader, key: &Key, units: &[C], has: &C::Has) {
    if to.enter(key, ScopeKind::List) {
        let any = [C::default()];
        let units = if to.lists_all() { &any } else { units };
        for unit in units {
            if to.enter(key, ScopeKind::Element) {
                unit.list(has, to);
                to.leave();
            }
        }
        to.leave();
    }
}

/// Reader that counts the signals of a struct of counters and sums their values.
#[derive(Default)]
struct Tally {
    signals: usize,
    sum: u64,
}

impl CounterReader for Tally {
    fn enter(&mut self, _: &Key, opened: ScopeKind) -> bool {
        opened == ScopeKind::Group
    }
    fn leave(&mut self) {}
    fn counter(&mut self, _: &Key, value: Value<'_>) {
        if let Value::Count(count) = value {
            self.signals += 1;
            self.sum = self.sum.wrapping_add(count);
        }
    }
}

/// Reader that lists counters as signals.
struct Signals<'a> {
    to: &'a mut dyn Describe,
    group: Option<&'static str>,
}

impl CounterReader for Signals<'_> {
    fn enter(&mut self, key: &Key, opened: ScopeKind) -> bool {
        let is_listed = opened == ScopeKind::Group;
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

/// Reader that collects the paths of all counters, such as `l1.reservation_fails.mshr_entry`, and their
/// values: the columns of a time series.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    open: Vec<&'static str>,
    /// Paths of the counters, in the order in which they are listed.
    pub names: Vec<String>,
    /// Values of the counters, in the order in which they are listed.
    pub values: Vec<u64>,
    /// True to collect values only, because another reader has collected the names.
    skips_names: bool,
}

impl Paths {
    /// Creates a reader that collects values only, for when another reader has collected the names.
    #[must_use]
    pub fn values() -> Self {
        Self { skips_names: true, ..Self::default() }
    }
}

impl CounterReader for Paths {
    fn enter(&mut self, key: &Key, opened: ScopeKind) -> bool {
        if opened == ScopeKind::Group {
            self.open.push(key.name);
        }
        opened == ScopeKind::Group
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
        /// Hits of one component.
        hits: u64,
    }

    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counted)]
    #[counted(has = Has)]
    #[counted(sum(all, "Hits and misses.", hits + misses))]
    struct Stats {
        /// Hits.
        hits: u64,
        /// Misses.
        #[counted(summary)]
        misses: u64,
        /// Sectors.
        #[counted(bytes, only(has.sectors))]
        sectors: u64,
        /// Stores.
        #[counted(if_any(has.stores), key = "writes")]
        stores: u64,
        /// Cycles spent waiting.
        #[counted(cycles, by = Cause, each = reason == Cause::QueueFull || has.stores)]
        waits: [u64; Cause::ALL.len()],
        /// Latencies: below 2, and longer.
        latencies: [u64; 2],
        /// Counters of one component.
        #[counted(only(has.sectors))]
        part: Parts,
        /// Counter that is never listed.
        #[counted(skip)]
        hidden: u64,
    }

    /// Reader that collects the names of the counters in the summary.
    #[derive(Default)]
    struct InSummary(Vec<&'static str>);

    impl CounterReader for InSummary {
        fn enter(&mut self, _: &Key, _: ScopeKind) -> bool {
            true
        }
        fn leave(&mut self) {}
        fn counter(&mut self, key: &Key, _: Value<'_>) {
            self.0.extend(key.is_in_summary.then_some(key.name));
        }
    }

    /// Reader that formats one line per call: key, unit and value.
    #[derive(Default)]
    struct Lines(Vec<String>);

    impl CounterReader for Lines {
        fn enter(&mut self, key: &Key, opened: ScopeKind) -> bool {
            self.0.push(format!("{} {opened:?}", key.name));
            opened != ScopeKind::Absent
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
    fn only_counters_that_are_declared_for_it_are_in_the_summary() {
        let mut found = InSummary::default();
        STATS.list(&Has::default(), &mut found);
        assert_eq!(found.0, ["misses"]);
    }

    #[test]
    fn units_are_added_and_subtracted_field_by_field() {
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
        let mut once = twice;
        once.subtract(&STATS);
        assert_eq!(once, STATS);
    }

    #[test]
    fn a_reason_has_the_name_and_the_meaning_of_its_variant() {
        assert_eq!(Cause::PortTaken.name(), "port_taken");
        assert_eq!(Cause::PortTaken.key(Quantity::Cycles).about, "The port is taken.");
        assert_eq!(Cause::zip(&[5, 6]).collect::<Vec<_>>(), [(Cause::QueueFull, 5), (Cause::PortTaken, 6)]);
    }
}
