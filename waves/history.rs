//! # History: the last cycles of a run, in memory
//!
//! Records samples like a dump, but drops samples that are older than a given span. The cycles before an
//! event can therefore be written after the event has happened. Dropped changes are merged into the state
//! with which the written history begins.

use std::collections::VecDeque;
use std::io;

use crate::scope::Selection;
use crate::signal::{SignalId, Tree};
use crate::sink::Sink;
use crate::values::Values;

/// Recent values of the selected signals.
#[derive(Debug, Clone)]
pub struct History {
    ids: Vec<SignalId>,
    /// Values of all selected signals at the oldest time of the history, after the changes of that time.
    oldest: Values,
    now: Values,
    /// Times of the history, oldest first. Each has the number of words in `changes` that the changes at that
    /// time occupy.
    steps: VecDeque<(u64, usize)>,
    /// Changes in the order of time. Each consists of the signal's index in `ids`, followed by the words of
    /// its value. The changes of the oldest time are contained in `oldest` instead.
    changes: VecDeque<u64>,
    /// Position of each selected signal in `ids`. The vector is indexed by signal id.
    places: Vec<u32>,
    span: u64,
}

impl History {
    /// Creates a history that keeps at least the last `span` time units.
    pub fn new(tree: &Tree, selection: &Selection, span: u64) -> History {
        let ids: Vec<SignalId> = selection.ids().collect();
        let mut places = vec![0; tree.len()];
        for (place, id) in (0..).zip(&ids) {
            places[id.index()] = place;
        }
        let values = Values::new(tree, selection);
        let (steps, changes) = (VecDeque::new(), VecDeque::new());
        History { ids, oldest: values.clone(), now: values, steps, changes, places, span }
    }

    /// Returns the current value of a signal of at most 64 bits, or `None` before its first value.
    pub fn value(&self, id: SignalId) -> Option<u64> {
        self.now.get(id).map(|words| words[0])
    }

    /// True if a value has changed at the current time.
    pub fn has_changed(&self) -> bool {
        self.steps.back().is_some_and(|&(_, length)| length > 0)
    }

    /// Returns the oldest time that the history still contains.
    pub fn first(&self) -> Option<u64> {
        self.steps.front().map(|&(time, _)| time)
    }

    /// Writes the history to another sink: first the state at the oldest time, then the changes.
    ///
    /// # Errors
    /// Returns an error if the other sink fails.
    pub fn replay(mut self, to: &mut impl Sink) -> io::Result<()> {
        let Some((first, _)) = self.steps.front().copied() else { return Ok(()) };
        self.fold();
        to.time(first)?;
        for &id in &self.ids {
            if let Some(value) = self.oldest.get(id) {
                to.sample_wide(id, value)?;
            }
        }
        let mut value = Vec::new();
        for &(time, length) in self.steps.iter().skip(1) {
            to.time(time)?;
            let mut left = length;
            while left > 0 {
                let id = next_change(&self.ids, &self.oldest, &mut self.changes, &mut value);
                left -= 1 + value.len();
                to.sample_wide(id, &value)?;
            }
        }
        Ok(())
    }

    /// Applies the changes at the oldest time in `steps` to the values in `oldest`, and removes them from
    /// `changes`.
    fn fold(&mut self) {
        let Some((_, length)) = self.steps.front_mut() else { return };
        let mut left = std::mem::take(length);
        let mut value = Vec::new();
        while left > 0 {
            let id = next_change(&self.ids, &self.oldest, &mut self.changes, &mut value);
            left -= 1 + value.len();
            self.oldest.take_wide(id, &value);
        }
    }

    fn note(&mut self, id: SignalId) {
        let Some(value) = self.now.get(id) else { return };
        self.changes.push_back(self.places[id.index()].into());
        self.changes.extend(value);
        if let Some((_, length)) = self.steps.back_mut() {
            *length += 1 + value.len();
        }
    }
}

/// Removes the oldest change from the list. Returns the signal that changed, and stores its new value in
/// `value`.
fn next_change(ids: &[SignalId], widths: &Values, changes: &mut VecDeque<u64>, value: &mut Vec<u64>) -> SignalId {
    let place = changes.pop_front().unwrap_or_default();
    let id = ids[place as usize];
    let words = crate::sink::words(widths.width(id));
    value.clear();
    value.extend(changes.drain(..words));
    id
}

impl Sink for History {
    fn time(&mut self, now: u64) -> io::Result<()> {
        self.steps.push_back((now, 0));
        // The oldest time is dropped only if the next one is old enough to cover the beginning of the span.
        while self.steps.get(1).is_some_and(|&(next, _)| next.saturating_add(self.span) <= now) {
            self.fold();
            self.steps.pop_front();
        }
        Ok(())
    }

    #[inline]
    fn sample(&mut self, id: SignalId, value: u64) -> io::Result<()> {
        if self.now.take(id, value) {
            self.note(id);
        }
        Ok(())
    }

    fn sample_wide(&mut self, id: SignalId, value: &[u64]) -> io::Result<()> {
        if self.now.take_wide(id, value) {
            self.note(id);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::{Display, Kind, TreeBuilder};

    /// Sink that records every call as text, for comparison.
    #[derive(Default)]
    struct Log(Vec<String>);

    impl Sink for Log {
        fn time(&mut self, now: u64) -> io::Result<()> {
            self.0.push(format!("#{now}"));
            Ok(())
        }
        fn sample(&mut self, id: SignalId, value: u64) -> io::Result<()> {
            self.sample_wide(id, &[value])
        }
        fn sample_wide(&mut self, id: SignalId, value: &[u64]) -> io::Result<()> {
            self.0.push(format!("{}={value:?}", id.index()));
            Ok(())
        }
    }

    fn history(span: u64) -> (History, SignalId, SignalId) {
        let mut build = TreeBuilder::new("machine");
        let count = build.signal("count", 8, Kind::Reg, Display::Unsigned);
        let line = build.signal("line", 100, Kind::Reg, Display::Hex);
        let tree = build.finish();
        (History::new(&tree, &Selection::default_of(&tree), span), count, line)
    }

    fn replay(history: History) -> String {
        let mut log = Log::default();
        history.replay(&mut log).expect("a log takes everything");
        log.0.join(" ")
    }

    #[test]
    fn a_replay_begins_with_the_state_of_the_oldest_time_that_is_kept() -> io::Result<()> {
        let (mut history, count, line) = history(3);
        for time in 0..10 {
            history.time(time)?;
            history.sample(count, time / 2)?;
            history.sample_wide(line, &[7, time / 8])?;
        }
        assert_eq!(replay(history), "#6 0=[3] 1=[7, 0] #7 #8 0=[4] 1=[7, 1] #9");
        Ok(())
    }

    #[test]
    fn a_long_sleep_is_not_forgotten_before_its_end_is_old() -> io::Result<()> {
        let (mut history, count, _) = history(5);
        for time in [0, 100, 104] {
            history.time(time)?;
            history.sample(count, time)?;
        }
        assert_eq!(replay(history.clone()), "#0 0=[0] #100 0=[100] #104 0=[104]");
        history.time(105)?;
        assert_eq!(replay(history), "#100 0=[100] #104 0=[104] #105");
        Ok(())
    }

    #[test]
    fn without_a_span_the_present_alone_is_kept() -> io::Result<()> {
        let (mut history, count, _) = history(0);
        assert_eq!(history.value(count), None);
        for time in [3, 9] {
            history.time(time)?;
            history.sample(count, 2 * time)?;
        }
        assert_eq!(history.value(count), Some(18));
        assert_eq!(replay(history), "#9 0=[18]");
        Ok(())
    }
}
