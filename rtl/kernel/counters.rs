//! # Counters
//! Lists the statistics of hardware blocks. Each counter is declared once, as a field of a struct.
//! `#[derive(Counted)]` takes names, units and meanings from the fields. Statistics, time series, waveforms
//! and the dictionary of counters are all generated from this list.
//!
//! Counters serve only the reports of a run; they are not part of the hardware.

use serde::{Deserialize, Serialize};

use super::name::Name;
use super::{Describe, DescribeExt};

/// Unit of a counter or of another value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Quantity {
    /// Number of events.
    #[default]
    Events,
    /// Number of cycles of the hardware block's clock.
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
    /// No unit, for a name, a ratio, or a group of keys.
    Plain,
}

impl Quantity {
    /// Returns the name of the unit for lists; empty if the meaning of the counter already says what is
    /// counted.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Name of the counter within its group.
    #[serde(with = "super::name")]
    pub name: Name,
    /// Meaning of the counter, as a sentence.
    #[serde(with = "super::name")]
    pub about: Name,
    /// Unit of the counter's value.
    pub unit: Quantity,
    /// Metric of Nsight Compute that counts the same events, if any.
    #[serde(deserialize_with = "super::name::optional")]
    pub nsight: Option<Name>,
    /// True if the summary of a run includes the counter.
    pub is_in_summary: bool,
}

impl Key {
    /// Creates the key of a counter of events.
    #[must_use]
    pub const fn new(name: &'static str, about: &'static str) -> Self {
        Self { name, about, unit: Quantity::Events, nsight: None, is_in_summary: false }
    }

    /// Creates the key of a group, a name or a ratio, which has no unit.
    #[must_use]
    pub const fn plain(name: &'static str, about: &'static str) -> Self {
        Self::new(name, about).in_unit(Quantity::Plain)
    }

    /// Returns this key with another unit.
    #[must_use]
    pub const fn in_unit(self, unit: Quantity) -> Self {
        Self { unit, ..self }
    }

    /// Returns this key with the name of the corresponding Nsight Compute metric.
    #[must_use]
    pub const fn nsight(self, metric: &'static str) -> Self {
        Self { nsight: Some(metric), ..self }
    }

    /// Returns this key, marked for inclusion in the summary of a run.
    #[must_use]
    pub const fn in_summary(self) -> Self {
        Self { is_in_summary: true, ..self }
    }
}

/// Value that belongs to a key of the statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value, because the machine lacks the counted component.
    Absent,
    /// Number of events, cycles or bytes.
    Count(u64),
    /// Ratio, time or energy.
    Number(f64),
    /// Text, such as a name.
    Text(&'a str),
    /// Histogram: one count per class. The meaning of the key defines the classes.
    Classes(&'a [u64]),
}

/// Kind of group that a reader of counters opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeKind {
    /// Group of a component that the machine lacks. A reader that lists only existing components skips its
    /// contents.
    Absent,
    /// Group that contains counters.
    Group,
    /// List of groups. The elements of the list are opened one after the other.
    List,
    /// Element of a list of groups.
    Element,
}

/// Reader of counters, such as the writer of statistics or of waveforms.
pub trait CounterReader {
    /// Opens a group. Returns false if the reader skips the group; the caller must then neither list nor
    /// close it.
    fn enter(&mut self, key: &Key, opened: ScopeKind) -> bool;
    /// Closes the innermost open group.
    fn leave(&mut self);
    /// Reads a counter or another value.
    fn counter(&mut self, key: &Key, value: Value<'_>);
    /// True if this reader needs the keys of all possible machines instead of the keys of this machine.
    fn lists_all(&self) -> bool {
        false
    }
}

/// Struct whose fields are counters.
pub trait Counted: Copy + Default {
    /// Optional components of a hardware unit, which determine the counters that are listed.
    type Has;
    /// Adds the counters of another hardware unit of the same type.
    fn add(&mut self, other: &Self);
    /// Subtracts `other`, earlier values of the same hardware unit's counters.
    fn subtract(&mut self, other: &Self);
    /// Passes all counters to the reader `to`.
    fn list(&self, has: &Self::Has, to: &mut dyn CounterReader);

    /// Returns the sum of the counters of several hardware units.
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

    /// Lists the counters as waveform signals; histograms are omitted.
    fn describe(&self, has: &Self::Has, to: &mut dyn Describe) {
        let list = |to: &mut dyn CounterReader| self.list(has, to);
        Tally::of(&list).describe(&list, to);
    }
}

/// Lists counters as waveform signals in a scope named `scope`; histograms are omitted. If there are no
/// counters, the scope is omitted too.
pub(crate) fn describe_in(scope: Name, list: impl Fn(&mut dyn CounterReader), to: &mut dyn Describe) {
    let tally = Tally::of(&list);
    if tally.signals > 0 {
        to.part(scope, |to| tally.describe(&list, to));
    }
}

/// Enumeration with one counter per variant.
pub trait Reason: Copy + PartialEq + 'static {
    /// All variants, in the order of their counters.
    const EVERY: &'static [Self];
    /// Keys of the variants in the statistics.
    const NAMES: &'static [&'static str];
    /// Meanings of the variants' counters.
    const MEANINGS: &'static [&'static str];
    /// Returns the position of the variant in [`Self::EVERY`].
    fn index(self) -> usize;

    /// Returns the key of the variant's counter, with the given unit of measure.
    #[must_use]
    fn key(self, unit: Quantity) -> Key {
        Key::new(Self::NAMES[self.index()], Self::MEANINGS[self.index()]).in_unit(unit)
    }

    /// Pairs each variant with its count in `counts`, an array with one count per variant.
    fn zip(counts: &[u64]) -> impl Iterator<Item = (Self, u64)> {
        Self::EVERY.iter().copied().zip(counts.iter().copied())
    }

    /// Pairs the name of each variant with its count in `counts`, an array with one count per variant.
    fn zip_names(counts: &[u64]) -> impl Iterator<Item = (&'static str, u64)> {
        Self::NAMES.iter().copied().zip(counts.iter().copied())
    }
}

/// Passes a counter to a reader. The counter is absent if `is_there` is false, because the machine lacks the
/// counted component.
pub fn count_if(to: &mut dyn CounterReader, key: &Key, is_there: bool, count: u64) {
    to.counter(key, if is_there { Value::Count(count) } else { Value::Absent });
}

/// Passes a group with one counter per variant to a reader. The group is absent if `is_there` is false; a
/// variant is absent if `has` is false for it.
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

/// Passes a histogram to a reader; the histogram is absent if `is_there` is false.
pub fn count_classes(to: &mut dyn CounterReader, key: &Key, is_there: bool, counts: &[u64]) {
    to.counter(key, if is_there { Value::Classes(counts) } else { Value::Absent });
}

/// Passes a group of counters to a reader; the group is absent if `counters` is `None`.
pub fn count_group<C: Counted>(to: &mut dyn CounterReader, key: &Key, counters: Option<&C>, has: &C::Has) {
    if to.enter(key, if counters.is_some() { ScopeKind::Group } else { ScopeKind::Absent }) {
        counters.copied().unwrap_or_default().list(has, to);
        to.leave();
    }
}

/// Passes the counters of several hardware units of one kind to a reader, as a list with one element per
/// unit.
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

/// Reader that determines the number of signals of a struct of counters, and the sum of their values.
#[derive(Default)]
struct Tally {
    signals: usize,
    sum: u64,
}

impl Tally {
    fn of(list: &impl Fn(&mut dyn CounterReader)) -> Self {
        let mut tally = Self::default();
        list(&mut tally);
        tally
    }

    /// Lists the counters as waveform signals by calling `list`, unless the reader has already seen these
    /// values. `self` holds the number and the sum of the counters, by which the reader recognizes unchanged
    /// values.
    fn describe(self, list: &impl Fn(&mut dyn CounterReader), to: &mut dyn Describe) {
        if !to.has_seen_stats(self.signals, self.sum) {
            list(&mut Signals { to, group: None });
        }
    }
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

/// Reader that lists counters as waveform signals.
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

/// Reader that collects the columns of a time series: the path of each counter, such as
/// `l1.reservation_fails.mshr_entry`, and its value.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    open: Vec<&'static str>,
    /// Paths of the counters, in listing order.
    pub names: Vec<String>,
    /// Values of the counters, in listing order.
    pub values: Vec<u64>,
    /// True to collect values only, because another reader has already collected the paths.
    skips_names: bool,
}

impl Paths {
    /// Creates a reader that collects values only, because another reader has already collected the paths.
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
