//! # Counters of schemes
//! Collects the counters that a scheme declares itself and lists in its hook `counters`. The typed statistics
//! of a hardware unit have a fixed list of fields. A scheme, which may be defined in another crate, cannot
//! add a field to this list. Its counters are therefore collected as a tree of keys and counts.
//!
//! The hook is called when statistics are read, never by the hardware. The counters of a scheme are part of
//! its state, so that checkpoints save them. The counters are reported at the end of a run; they are not
//! hardware.

use serde::{Deserialize, Serialize};

use crate::kernel::name::{Name, intern};
use crate::kernel::{CounterReader, Describe, Key, ScopeKind, Value, describe_in};

/// Group with the counters of all schemes of a hardware unit.
const SCHEMES: Key = Key::plain(
    "schemes",
    "Counters that schemes declare themselves, by slot and kind; only if a selected scheme declares any.",
);

/// Keys of the two nested groups that contain the counters of a scheme: the outer group for its configuration
/// key (slot), and the inner group for its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemeKeys {
    slot: Key,
    kind: Key,
}

impl SchemeKeys {
    /// Creates the keys for the scheme that the configuration key `slot` selects by `kind`. The outer group
    /// is named after the last part of the configuration key. The inner group is named after the kind, with
    /// underscores instead of hyphens.
    #[must_use]
    pub fn new(slot: Name, kind: Name) -> Self {
        let name = slot.rsplit('.').next().unwrap_or(slot);
        Self {
            slot: Key::plain(name, intern(format!("Counters of the schemes that `{slot}` can select."))),
            kind: Key::plain(
                intern(kind.replace('-', "_")),
                intern(format!("Counters of the scheme `{kind}`; only if `{slot}` selects it.")),
            ),
        }
    }

    /// Passes the counters of the scheme to a reader, inside the two groups.
    pub fn list(&self, to: &mut dyn CounterReader, list: impl FnOnce(&mut dyn CounterReader)) {
        if to.enter(&self.slot, ScopeKind::Group) {
            if to.enter(&self.kind, ScopeKind::Group) {
                list(to);
                to.leave();
            }
            to.leave();
        }
    }

    /// Lists the counters of the scheme as waveform signals, in a scope named after the kind.
    pub fn describe(&self, to: &mut dyn Describe, list: impl Fn(&mut dyn CounterReader)) {
        describe_in(self.kind.name, list, to);
    }
}

/// Counters of all schemes of a hardware unit, or their sums over several units, in listing order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemeCounts(Vec<(Key, Recorded)>);

/// Value that a scheme has listed under a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Recorded {
    Absent,
    AbsentGroup,
    Count(u64),
    Classes(Vec<u64>),
    Group(SchemeCounts),
}

impl SchemeCounts {
    /// Collects the counters that the function `list` reports to the reader it is given. Records groups that
    /// the configuration lacks as absent, without their counters, and omits empty groups.
    #[must_use]
    pub fn of(list: impl FnOnce(&mut dyn CounterReader)) -> Self {
        Self::collect(false, list)
    }

    /// Like [`Self::of`], but also collects the counters of the groups that the configuration lacks.
    #[must_use]
    pub fn all(list: impl FnOnce(&mut dyn CounterReader)) -> Self {
        Self::collect(true, list)
    }

    fn collect(lists_all: bool, list: impl FnOnce(&mut dyn CounterReader)) -> Self {
        let mut recorder = Recorder { root: Self::default(), open: Vec::new(), lists_all };
        list(&mut recorder);
        recorder.root
    }

    /// True if no scheme of the unit has a counter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the counters of another unit with the same schemes.
    ///
    /// # Panics
    /// Panics if the schemes of the two units have listed different keys.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, &u64::checked_add);
    }

    /// Subtracts counters that were read earlier from the same unit.
    ///
    /// # Panics
    /// Panics if a scheme listed different keys at the earlier time, or if a counter has decreased since
    /// then.
    pub fn subtract(&mut self, earlier: &Self) {
        self.combine(earlier, &u64::checked_sub);
    }

    /// Returns the sums of the counters of several units with the same schemes.
    ///
    /// # Panics
    /// Panics if the schemes of two units have listed different keys.
    #[must_use]
    pub fn total<'a>(units: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut units = units.into_iter();
        let first = units.next().cloned().unwrap_or_default();
        units.fold(first, |mut total, unit| {
            total.add(unit);
            total
        })
    }

    /// Passes the counters to a reader, in the group `schemes`; nothing if there are no counters.
    pub fn list(&self, to: &mut dyn CounterReader) {
        if !self.is_empty() && to.enter(&SCHEMES, ScopeKind::Group) {
            self.list_members(to);
            to.leave();
        }
    }

    /// Passes the counters to a reader, without a group around them.
    pub(crate) fn list_members(&self, to: &mut dyn CounterReader) {
        for (key, recorded) in &self.0 {
            match recorded {
                Recorded::Absent => to.counter(key, Value::Absent),
                Recorded::Count(count) => to.counter(key, Value::Count(*count)),
                Recorded::Classes(counts) => to.counter(key, Value::Classes(counts)),
                Recorded::AbsentGroup => {
                    if to.enter(key, ScopeKind::Absent) {
                        to.leave();
                    }
                }
                Recorded::Group(members) => {
                    if to.enter(key, ScopeKind::Group) {
                        members.list_members(to);
                        to.leave();
                    }
                }
            }
        }
    }

    fn combine(&mut self, other: &Self, with: &dyn Fn(u64, u64) -> Option<u64>) {
        let [own_keys, other_keys] = [&*self, other].map(|counts| counts.0.iter().map(|(key, _)| key.name));
        assert!(
            own_keys.clone().eq(other_keys.clone()),
            "the hook `counters` of a scheme must always list the same keys, not {:?} and then {:?}",
            other_keys.collect::<Vec<_>>(),
            own_keys.collect::<Vec<_>>()
        );
        for ((key, own), (_, other)) in self.0.iter_mut().zip(&other.0) {
            let name = key.name;
            let combined = |own: u64, other: u64| {
                let combined = with(own, other);
                combined.unwrap_or_else(|| {
                    panic!("the counter `{name}` of a scheme has decreased from {other} to {own}, or overflowed")
                })
            };
            match (own, other) {
                (Recorded::Absent, Recorded::Absent) | (Recorded::AbsentGroup, Recorded::AbsentGroup) => {}
                (Recorded::Count(own), Recorded::Count(other)) => *own = combined(*own, *other),
                (Recorded::Classes(own), Recorded::Classes(other)) if own.len() == other.len() => {
                    own.iter_mut().zip(other).for_each(|(own, other)| *own = combined(*own, *other));
                }
                (Recorded::Group(own), Recorded::Group(other)) => own.combine(other, with),
                (own, other) => panic!("the counter `{name}` of a scheme was {other:?}, and is now {own:?}"),
            }
        }
    }
}

/// Reader that collects the counters of the schemes of one hardware unit.
struct Recorder {
    root: SchemeCounts,
    /// Groups that are open, outermost first.
    open: Vec<(Key, SchemeCounts)>,
    lists_all: bool,
}

impl Recorder {
    /// Appends a value to the innermost open group. If the group already contains a group with the same key,
    /// the two are merged, because several schemes of one slot share the group of the slot.
    fn put(&mut self, key: Key, recorded: Recorded) {
        let here = self.open.last_mut().map_or(&mut self.root, |(_, members)| members);
        match (here.0.iter_mut().find(|(known, _)| *known == key), recorded) {
            (Some((_, Recorded::Group(known))), Recorded::Group(more)) => known.0.extend(more.0),
            (_, recorded) => here.0.push((key, recorded)),
        }
    }
}

impl CounterReader for Recorder {
    fn enter(&mut self, key: &Key, opened: ScopeKind) -> bool {
        match opened {
            ScopeKind::Absent if !self.lists_all => {
                self.put(*key, Recorded::AbsentGroup);
                return false;
            }
            ScopeKind::Absent | ScopeKind::Group => self.open.push((*key, SchemeCounts::default())),
            ScopeKind::List | ScopeKind::Element => panic!("`{}`: a scheme has no list of counters", key.name),
        }
        true
    }

    fn leave(&mut self) {
        if let Some((key, members)) = self.open.pop().filter(|(_, members)| !members.is_empty()) {
            self.put(key, Recorded::Group(members));
        }
    }

    fn counter(&mut self, key: &Key, value: Value<'_>) {
        let recorded = match value {
            Value::Absent => Recorded::Absent,
            Value::Count(count) => Recorded::Count(count),
            Value::Classes(counts) => Recorded::Classes(counts.to_vec()),
            Value::Number(_) | Value::Text(_) => {
                panic!("`{}`: the counters of a scheme are counts and histograms", key.name)
            }
        };
        self.put(*key, recorded);
    }

    fn lists_all(&self) -> bool {
        self.lists_all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Counted, Paths, Reason};

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Reason)]
    enum Cause {
        /// The table is full.
        Full,
        /// The line is unknown.
        Unknown,
    }

    #[derive(Clone, Copy, Debug, Default, Counted)]
    struct Mine {
        /// Loads seen.
        #[counted(summary)]
        seen: u64,
        /// Loads refused, by reason.
        #[counted(by = Cause)]
        refused: [u64; Cause::ALL.len()],
        /// Loads by the number of their lines.
        lines: [u64; 3],
    }

    fn counts(mine: Mine) -> SchemeCounts {
        SchemeCounts::of(|to| SchemeKeys::new("l1.prefetch", "next-but-one").list(to, |to| mine.list(&(), to)))
    }

    fn paths(counts: &SchemeCounts) -> Vec<(String, u64)> {
        let mut paths = Paths::default();
        counts.list(&mut paths);
        paths.names.into_iter().zip(paths.values).collect()
    }

    const ONE: Mine = Mine { seen: 5, refused: [1, 2], lines: [3, 0, 9] };
    const OTHER: Mine = Mine { seen: 40, refused: [0, 7], lines: [1, 1, 1] };

    #[test]
    fn counters_are_listed_under_slot_and_kind() {
        let expected = [("seen", 5), ("refused.full", 1), ("refused.unknown", 2)];
        let expected = expected.map(|(name, count)| (format!("schemes.prefetch.next_but_one.{name}"), count));
        assert_eq!(paths(&counts(ONE)), expected);
    }

    #[test]
    fn units_are_added_and_earlier_counts_are_subtracted_also_in_groups_and_histograms() {
        let sum = counts(Mine { seen: 45, refused: [1, 9], lines: [4, 1, 10] });
        let mut total = SchemeCounts::total(&[counts(ONE), counts(OTHER)]);
        assert_eq!(total, sum);
        total.subtract(&counts(OTHER));
        assert_eq!(total, counts(ONE));
        assert_eq!(SchemeCounts::total(&[]), SchemeCounts::default());
    }

    #[test]
    fn a_scheme_without_counters_leaves_no_trace() {
        let none = SchemeCounts::of(|to| SchemeKeys::new("throttle", "mine").list(to, |_| ()));
        assert!(none.is_empty() && paths(&none).is_empty());
    }

    #[test]
    fn several_schemes_of_a_slot_share_the_group_of_the_slot() {
        let both = SchemeCounts::all(|to| {
            for kind in ["one", "two"] {
                SchemeKeys::new("l1.victim", kind).list(to, |to| to.counter(&Key::new("kept", ""), Value::Count(1)));
            }
        });
        let Recorded::Group(kinds) = &both.0[0].1 else { panic!("{both:?}") };
        assert_eq!((both.0.len(), kinds.0.len()), (1, 2));
    }

    #[test]
    fn counts_survive_being_saved() {
        let text = serde_json::to_string(&counts(ONE)).unwrap();
        assert_eq!(serde_json::from_str::<SchemeCounts>(&text).unwrap(), counts(ONE));
    }

    #[test]
    #[should_panic(expected = "the counter `seen` of a scheme has decreased from 40 to 5")]
    fn a_counter_that_decreases_is_an_error() {
        counts(ONE).subtract(&counts(OTHER));
    }

    #[test]
    #[should_panic(expected = "must always list the same keys")]
    fn a_scheme_that_lists_other_keys_than_before_is_an_error() {
        counts(ONE).subtract(&SchemeCounts::default());
    }
}
