//! # L1 data cache by lists
//! Predicts what the L1D does with each event, given the events in the order in which the cache
//! took them (li2015 section 2.2, khairy2015 section 3.1): write-evict for global stores, write-back
//! for local ones, no write-allocate, allocate on miss, LRU or another policy. A cache with decoupled
//! tags (li2015 section 4) is the same behind a filter.
//!
//! A set is a list of lines from least to most recently used; a way without a line does not exist
//! here, so the twin knows lines, never way numbers. Within one cycle the events follow each other
//! as the cache works: fill, recall, drain, then the access.
//!
//! [`Cache::predict`] tells what an event must lead to, [`Cache::step`] does it, [`Cache::check`]
//! does it only if the cache under test did the same, and explains the difference otherwise.

use std::fmt::Debug;

use super::bypass::{Bypass, Contents, Way};
use super::decoupled::{self, Filter, Standing};
use super::event::{
    Breach, Event, Fail, FailOrder, Fails, Load, LoadOutcome, Mismatch, Outcome, RecallOutcome, Space, Victim,
    WriteOutcome,
};
use super::mshr::{Mshr, NotPending, Verdict};
use super::replacement::lru::Lru;
use super::replacement::{Newcomer, Replacement};
use crate::index::SetIndex;

/// Geometry of the cache.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Line to set.
    pub index: SetIndex,
    /// Lines of a set.
    pub ways: usize,
    /// Lines on their way at a time.
    pub mshr_entries: usize,
    /// Loads that wait for one line, the first included.
    pub mshr_slots: usize,
    /// Slots of the miss queue.
    pub miss_queue: usize,
    /// Which failing condition is reported first.
    pub fail_order: FailOrder,
    /// Which lines are let in, if not all.
    pub filter: Option<decoupled::Config>,
    /// A global store changes the copy, too.
    pub updates: bool,
    /// A line that gives way is told of, through the miss queue.
    pub notifies: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// On its way; `doomed` if it must not stay.
    Reserved {
        doomed: bool,
    },
    Valid,
    Modified,
    /// Only its tag is here.
    Hollow,
}

/// The twin; `W` names a waiting load.
#[derive(Debug)]
pub struct Cache<W> {
    config: Config,
    /// Per set: lines from least to most recently used.
    sets: Vec<Vec<(u64, Status)>>,
    replacement: Box<dyn Replacement>,
    filter: Option<Filter>,
    mshr: Mshr<W>,
    /// They send loads past it.
    schemes: Vec<Box<dyn Bypass>>,
    /// A line that is written on its way stays when it arrives.
    keeps_overtaken: bool,
}

/// Where a line stands in what a set holds.
fn standing(held: &[(u64, Status)], line: u64) -> Standing {
    match held.iter().find(|(other, _)| *other == line) {
        None => Standing::Candidate,
        Some((_, Status::Valid | Status::Hollow)) => Standing::Clean,
        Some((_, Status::Reserved { .. } | Status::Modified)) => Standing::Bound,
    }
}

impl<W: Copy + Debug + PartialEq> Cache<W> {
    /// An empty cache.
    pub fn new(config: Config) -> Self {
        let mshr = Mshr::new(config.mshr_entries, config.mshr_slots);
        let sets = config.index.sets();
        Cache {
            config,
            sets: vec![Vec::new(); sets],
            replacement: Box::new(Lru {}),
            filter: config.filter.map(|filter| Filter::new(filter, sets)),
            mshr,
            schemes: Vec::new(),
            keeps_overtaken: false,
        }
    }

    /// Its index function.
    pub fn index(&self) -> SetIndex {
        self.config.index
    }

    /// A set holds no more than so many lines from now on; none has any.
    pub fn set_ways(&mut self, ways: usize) {
        self.config.ways = ways;
    }

    /// Lines make room by a policy, which is LRU without.
    pub fn replace_by(&mut self, policy: Box<dyn Replacement>) {
        self.replacement = policy;
    }

    /// Loads that a scheme sends there go past from now on.
    pub fn bypass(&mut self, scheme: Box<dyn Bypass>) {
        self.schemes.push(scheme);
    }

    /// These lines are worth a place from now on.
    pub fn admit(&mut self, lines: &[u64]) {
        self.schemes.iter_mut().for_each(|scheme| scheme.admit(lines));
    }

    /// Whether a scheme asks which instructions contend.
    pub fn judges(&self) -> bool {
        self.schemes.iter().any(|scheme| scheme.judges())
    }

    /// Whether an instruction contends that touches so many lines while so many warps are resident.
    pub fn contends(&self, touched: usize, resident: usize) -> bool {
        self.schemes.iter().any(|scheme| scheme.contends(touched, resident))
    }

    /// Lines that give way are told of from now on.
    pub fn notify(&mut self) {
        self.config.notifies = true;
    }

    /// Lines that are written on their way stay from now on.
    pub fn keep_overtaken(&mut self) {
        self.keeps_overtaken = true;
    }

    /// What `event` must lead to in the present state.
    ///
    /// # Errors
    /// If no correct cache lets the event happen.
    pub fn predict(&self, event: &Event<W>) -> Result<Outcome<W>, Breach> {
        match *event {
            Event::Load { load: Load { line, .. }, .. } if self.is_filtered(line) => Err(Breach::NotAdmitted(line)),
            Event::Load { load, .. } if self.ways_of(&load).any(|way| way == Way::Past) => Err(Breach::Path(load.line)),
            Event::Load { load: Load { line, .. }, queue_used, .. } => {
                Ok(Outcome::Load(self.predict_load(line, queue_used)))
            }
            Event::Store { line, space, queue_used } => self.predict_store(line, space, queue_used).map(Outcome::Write),
            Event::Atomic { line, queue_used } => self.predict_overtaking(line, queue_used).map(Outcome::Write),
            Event::Bypass { load: Load { line, .. }, chosen: true }
                if self.filter.is_some() && !self.is_filtered(line) =>
            {
                Err(Breach::Admitted(line))
            }
            Event::Bypass { load, chosen } => match self.status(load.line) {
                Some(Status::Modified) => Err(Breach::Modified(load.line)),
                _ if chosen && !self.sends_past(&load) => Err(Breach::Path(load.line)),
                _ => Ok(Outcome::Done),
            },
            Event::Reach { .. } | Event::PeriodEnd { .. } => Ok(Outcome::Done),
            Event::Fill { line } => {
                let waiters = self.mshr.waiters(line).ok_or(Breach::Fill(NotPending(line)))?;
                let kept = self.status(line) == Some(Status::Reserved { doomed: false });
                Ok(Outcome::Filled { kept, waiters })
            }
            Event::Recall { line } => Ok(Outcome::Recalled(match self.status(line) {
                None | Some(Status::Hollow) => RecallOutcome::Missed,
                Some(Status::Valid) => RecallOutcome::Dropped,
                Some(Status::Reserved { .. }) => RecallOutcome::Pending,
                Some(Status::Modified) => RecallOutcome::Kept,
            })),
            Event::Supply { line } => Ok(Outcome::Supplied(self.status(line) == Some(Status::Valid))),
            Event::Drain => Ok(Outcome::Drained(self.mshr.head())),
            Event::Switch { .. } => Ok(Outcome::Done),
            Event::Flush => match self.mshr.used() {
                0 => Ok(Outcome::Done),
                used => Err(Breach::FlushBusy(used)),
            },
        }
    }

    /// Does what `event` says. A refused access changes nothing.
    ///
    /// # Errors
    /// If no correct cache lets the event happen.
    pub fn step(&mut self, event: Event<W>) -> Result<Outcome<W>, Breach> {
        let outcome = self.predict(&event)?;
        self.apply(&event, &outcome)?;
        Ok(outcome)
    }

    /// Does what `event` says if the cache under test did the same.
    ///
    /// # Errors
    /// If the two differ, or no correct cache lets the event happen: the text tells the event, both
    /// outcomes and the state that decided. The twin stays as it was.
    pub fn check(&mut self, event: Event<W>, seen: &Outcome<W>) -> Result<(), Mismatch> {
        let differs = match self.predict(&event) {
            Ok(expected) if expected == *seen => match self.apply(&event, seen) {
                Ok(()) => return Ok(()),
                Err(breach) => format!("but {breach}"),
            },
            Ok(expected) => format!("the twin {expected:?}"),
            Err(breach) => format!("but {breach}"),
        };
        let state = self.explain(&event);
        Err(Mismatch(format!("{event:?}: the cache says {seen:?}, {differs}; {state}")))
    }

    /// The part of the state that decides about `event`, in words.
    pub fn explain(&self, event: &Event<W>) -> String {
        let (used, entries) = (self.mshr.used(), self.config.mshr_entries);
        let mshr = format!("{used} of {entries} MSHR entries in use");
        let Some(line) = event.line() else { return mshr };
        let set = self.set_of(line);
        let lines: Vec<String> = self.sets[set].iter().map(|(line, status)| format!("{line:#x} {status:?}")).collect();
        let draining = if self.mshr.is_draining(line) { ", the line is draining" } else { "" };
        let counts: Vec<String> = self.known(set).iter().map(|(line, count)| format!("{line:#x} {count}")).collect();
        let known = if self.filter.is_some() { format!(", counts [{}]", counts.join(", ")) } else { String::new() };
        format!("set {set} holds, oldest first, [{}]{known}; {mshr}{draining}", lines.join(", "))
    }

    /// Invariant: the lines reserved in the sets are exactly those pending in the MSHR, no set is
    /// over-full, no line is held twice.
    pub fn is_consistent(&self) -> bool {
        let mut reserved: Vec<u64> = self
            .sets
            .iter()
            .flatten()
            .filter(|(_, status)| matches!(status, Status::Reserved { .. }))
            .map(|(line, _)| *line)
            .collect();
        reserved.sort_unstable();
        let once = |set: &Vec<(u64, Status)>| {
            set.iter().all(|(line, _)| set.iter().filter(|(other, _)| other == line).count() == 1)
        };
        let is_known = |set: usize, held: &Vec<(u64, Status)>| {
            self.filter.as_ref().is_none_or(|filter| filter.is_consistent(set, held.iter().map(|(line, _)| *line)))
        };
        self.mshr.pending_lines().eq(reserved)
            && self.sets.iter().all(|set| set.len() <= self.config.ways && once(set))
            && self.sets.iter().enumerate().all(|(set, held)| is_known(set, held))
    }

    /// The lines that the filter knows in a set, the one used longest ago first, with their counts.
    pub fn known(&self, set: usize) -> &[(u64, u32)] {
        self.filter.as_ref().map_or(&[], |filter| filter.known(set))
    }

    /// Whether a load of the line goes past.
    pub fn is_filtered(&self, line: u64) -> bool {
        let filter = self.filter.as_ref().filter(|_| self.status(line).is_none());
        filter.is_some_and(|filter| !filter.admits(self.set_of(line), line))
    }

    fn predict_load(&self, line: u64, queue_used: usize) -> LoadOutcome {
        let verdict = self.mshr.verdict(line);
        let all = match self.status(line) {
            Some(Status::Valid | Status::Modified) => return LoadOutcome::Hit,
            Some(Status::Reserved { .. }) if verdict == Verdict::Merged => {
                return LoadOutcome::HitPending;
            }
            Some(Status::Reserved { .. }) => Fails { mshr_merge: true, ..Fails::default() },
            None | Some(Status::Hollow) => {
                let (victim, line_alloc) = self.victim_for(line);
                let needed = 1 + usize::from(victim.is_some_and(|victim| victim.modified || self.config.notifies));
                Fails {
                    line_alloc,
                    mshr_entry: verdict != Verdict::Primary,
                    mshr_merge: false,
                    miss_queue: queue_used + needed > self.config.miss_queue,
                }
            }
        };
        match all.first(self.config.fail_order) {
            None => LoadOutcome::Miss { victim: self.victim_for(line).0 },
            Some(first) => LoadOutcome::Refused { first, all },
        }
    }

    fn predict_store(&self, line: u64, space: Space, queue_used: usize) -> Result<WriteOutcome, Breach> {
        // A local store that hits stays here, and so needs no miss-queue slot.
        if space == Space::Local && matches!(self.status(line), Some(Status::Valid | Status::Modified)) {
            return Ok(WriteOutcome::WrittenBack);
        }
        match self.predict_overtaking(line, queue_used)? {
            WriteOutcome::Evicted if self.config.updates && space == Space::Global => Ok(WriteOutcome::Updated),
            other => Ok(other),
        }
    }

    /// A write goes past the cache: no copy here may outlive it.
    fn predict_overtaking(&self, line: u64, queue_used: usize) -> Result<WriteOutcome, Breach> {
        if queue_used >= self.config.miss_queue {
            let all = Fails { miss_queue: true, ..Fails::default() };
            return Ok(WriteOutcome::Refused { first: Fail::MissQueue, all });
        }
        match self.status(line) {
            None | Some(Status::Hollow) => Ok(WriteOutcome::Missed),
            Some(Status::Modified) => Err(Breach::Modified(line)),
            Some(Status::Valid) => Ok(WriteOutcome::Evicted),
            Some(Status::Reserved { .. }) => Ok(WriteOutcome::Pending),
        }
    }

    /// Carries out an outcome that [`Cache::predict`] gave for this very state.
    fn apply(&mut self, event: &Event<W>, outcome: &Outcome<W>) -> Result<(), Breach> {
        match (*event, *outcome) {
            (Event::Reach { cycle }, _) => self.judge(|scheme| scheme.reach(cycle)),
            (Event::PeriodEnd { may_close }, _) => self.judge(|scheme| scheme.end_period(may_close)),
            _ => {}
        }
        match (*event, *outcome) {
            (Event::Load { load, .. }, Outcome::Load(LoadOutcome::Hit)) => {
                self.touch(load.line, true);
                self.served(&load, false);
            }
            (Event::Load { load, waiter, .. }, Outcome::Load(LoadOutcome::HitPending)) => {
                self.mshr.alloc(load.line, waiter);
                self.touch(load.line, true);
                self.served(&load, false);
            }
            (Event::Load { load, waiter, .. }, Outcome::Load(LoadOutcome::Miss { .. })) => {
                let (gone, _) = self.place_for(load.line);
                self.mshr.alloc(load.line, waiter);
                self.place(load.line, load.pc, gone);
                self.served(&load, true);
            }
            (Event::Bypass { load, chosen: true }, _) => self.went_past(&load),
            (Event::Store { line, .. }, Outcome::Write(WriteOutcome::WrittenBack)) => {
                self.touch(line, false);
                self.set_status(line, Status::Modified);
            }
            (Event::Store { line, .. }, Outcome::Write(WriteOutcome::Updated))
            | (Event::Supply { line }, Outcome::Supplied(true)) => self.touch(line, false),
            // What is left of the line is its tag, if anything.
            (Event::Store { line, .. } | Event::Atomic { line, .. }, Outcome::Write(WriteOutcome::Missed))
            | (Event::Recall { line }, Outcome::Recalled(RecallOutcome::Missed))
                if self.status(line).is_some() =>
            {
                self.drop_line(line);
            }
            (Event::Store { line, .. } | Event::Atomic { line, .. }, Outcome::Write(WriteOutcome::Evicted))
            | (Event::Recall { line }, Outcome::Recalled(RecallOutcome::Dropped)) => self.drop_line(line),
            (Event::Store { line, .. } | Event::Atomic { line, .. }, Outcome::Write(WriteOutcome::Pending))
            | (Event::Recall { line }, Outcome::Recalled(RecallOutcome::Pending)) => {
                self.set_status(line, Status::Reserved { doomed: !self.keeps_overtaken });
                self.mshr.close(line);
            }
            (Event::Fill { line }, Outcome::Filled { kept, .. }) => {
                self.mshr.fill(line).map_err(Breach::Fill)?;
                if kept {
                    self.set_status(line, Status::Valid);
                } else {
                    self.drop_line(line);
                }
            }
            (Event::Drain, _) => {
                self.mshr.pop();
            }
            (Event::Switch { original }, _) => self.switch(original),
            (Event::Flush, _) => {
                self.sets.iter_mut().for_each(Vec::clear);
                self.replacement.forget_lines();
                self.filter.iter_mut().for_each(Filter::clear);
                self.schemes.iter_mut().for_each(|scheme| scheme.clear());
            }
            // Refusals, stores that miss and other bypasses leave no trace.
            _ => {}
        }
        Ok(())
    }

    /// The line that would give way for `line`, and whether it needs one and there is none.
    fn victim_for(&self, line: u64) -> (Option<Victim>, bool) {
        let (gone, none) = self.place_for(line);
        let victim = gone.filter(|gone| self.status(*gone) != Some(Status::Hollow));
        (victim.map(|line| Victim { line, modified: self.status(line) == Some(Status::Modified) }), none)
    }

    /// The line whose way a miss of `line` takes, if that is not empty: its own tag, else what makes room;
    /// and whether it needs that and there is none.
    fn place_for(&self, line: u64) -> (Option<u64>, bool) {
        if self.status(line).is_some() {
            return (Some(line), false);
        }
        let number = self.set_of(line);
        let set = &self.sets[number];
        let is_short = |filter: &Filter| filter.is_short(number, line, |other| standing(set, other));
        if set.len() < self.config.ways && !self.filter.as_ref().is_some_and(is_short) {
            return (None, false);
        }
        let may_go = |is_free: &dyn Fn(u64) -> bool| {
            let free = set.iter().filter(|(line, status)| !matches!(status, Status::Reserved { .. }) && is_free(*line));
            self.replacement.victim(&mut free.map(|(line, _)| *line))
        };
        // Only a local load is here when all are protected: a global one goes past.
        let victim = may_go(&|other| !self.protects(other)).or_else(|| may_go(&|_| true));
        (victim, victim.is_none())
    }

    fn protects(&self, line: u64) -> bool {
        self.schemes.iter().any(|scheme| scheme.protects(self.set_of(line), line))
    }

    fn served(&mut self, load: &Load, missed: bool) {
        let set = self.set_of(load.line);
        self.schemes.iter_mut().for_each(|scheme| scheme.served(load, set, missed));
    }

    /// A load goes past by choice.
    fn went_past(&mut self, load: &Load) {
        let (line, set) = (load.line, self.set_of(load.line));
        let known = self.status(line).is_some();
        self.pass(line);
        if self.schemes.iter().any(|scheme| scheme.leaves_tags()) {
            if known { self.touch(line, true) } else { self.keep_tag(line) }
        }
        self.schemes.iter_mut().for_each(|scheme| scheme.went_past(load, set, known));
    }

    /// The ways that the cache's schemes want a load to take.
    fn ways_of(&self, load: &Load) -> impl Iterator<Item = Way> {
        self.schemes.iter().map(move |scheme| scheme.way(load, self))
    }

    /// Whether the cache's schemes may send a load past it.
    fn sends_past(&self, load: &Load) -> bool {
        self.filter.is_some() || self.ways_of(load).any(|way| way != Way::Through)
    }

    /// A load of `line` went past: its tag takes the way of the least recently used that may be lost.
    fn keep_tag(&mut self, line: u64) {
        let set = self.set_of(line);
        if self.sets[set].len() == self.config.ways {
            let may_go = |status: &Status| matches!(status, Status::Valid | Status::Hollow);
            let Some(place) = self.sets[set].iter().position(|(_, status)| may_go(status)) else { return };
            self.sets[set].remove(place);
        }
        self.sets[set].push((line, Status::Hollow));
    }

    /// Lets the schemes judge a period; tags without data go if one says so.
    fn judge(&mut self, end: impl Fn(&mut dyn Bypass) -> bool) {
        let mut drops = false;
        for scheme in &mut self.schemes {
            drops |= end(&mut **scheme);
        }
        if drops {
            self.sets.iter_mut().for_each(|set| set.retain(|(_, status)| *status != Status::Hollow));
        }
    }

    /// A line gets a place, perhaps that of another.
    fn place(&mut self, line: u64, pc: u32, victim: Option<u64>) {
        let number = self.set_of(line);
        let set = &mut self.sets[number];
        if let Some(filter) = &mut self.filter {
            filter.placed(number, line, victim, |other| standing(set, other));
        }
        set.retain(|(other, _)| Some(*other) != victim);
        let could_go = |status: Status| !matches!(status, Status::Reserved { .. });
        let stay: Vec<_> = set.iter().map(|(other, status)| (*other, could_go(*status))).collect();
        self.replacement.came(Newcomer { line, pc, set: number }, victim, &stay);
        set.push((line, Status::Reserved { doomed: false }));
    }

    /// The filter counts a load that goes past by choice.
    fn pass(&mut self, line: u64) {
        let number = self.set_of(line);
        let set = &mut self.sets[number];
        let lost = self.filter.as_mut().and_then(|filter| filter.passed(number, line, |other| standing(set, other)));
        if let Some(lost) = lost {
            set.retain(|(other, _)| *other != lost);
            self.replacement.left(lost);
        }
    }

    /// A line goes because of a store or a recall.
    fn drop_line(&mut self, line: u64) {
        let number = self.set_of(line);
        self.sets[number].retain(|(other, _)| *other != line);
        self.replacement.left(line);
        if let Some(filter) = &mut self.filter {
            filter.lost(number, line);
        }
    }

    fn switch(&mut self, original: bool) {
        let Self { config, sets, filter, .. } = self;
        if let Some(filter) = filter {
            filter.switch(original, |line| standing(&sets[config.index.set_of_line(line)], line));
        }
    }

    fn set_of(&self, line: u64) -> usize {
        self.config.index.set_of_line(line)
    }

    fn status(&self, line: u64) -> Option<Status> {
        let set = &self.sets[self.set_of(line)];
        set.iter().find(|(other, _)| *other == line).map(|(_, status)| *status)
    }

    fn set_status(&mut self, line: u64, to: Status) {
        let set = self.set_of(line);
        for (_, status) in self.sets[set].iter_mut().filter(|(other, _)| *other == line) {
            *status = to;
        }
    }

    /// Makes the line the most recently used of its set.
    fn touch(&mut self, line: u64, by_load: bool) {
        let set = self.set_of(line);
        // The sort is stable: all the others keep their order.
        self.sets[set].sort_by_key(|(other, _)| *other == line);
        self.replacement.used(line);
        if let Some(filter) = &mut self.filter {
            filter.used(set, line, by_load);
        }
    }
}

impl<W: Copy + Debug + PartialEq> Contents for Cache<W> {
    fn set_of(&self, line: u64) -> usize {
        self.config.index.set_of_line(line)
    }

    fn knows(&self, line: u64) -> bool {
        self.status(line).is_some()
    }

    fn may_go(&self, set: usize) -> Option<Vec<u64>> {
        let held = &self.sets[set];
        let may_go = held.iter().filter(|(_, status)| !matches!(status, Status::Reserved { .. }));
        (held.len() == self.config.ways).then(|| may_go.map(|(line, _)| *line).collect())
    }

    fn refusals(&self, line: u64) -> Fails {
        match self.predict_load(line, self.config.miss_queue) {
            LoadOutcome::Refused { all, .. } => all,
            _ => Fails::default(),
        }
    }
}

#[cfg(test)]
mod tests;
