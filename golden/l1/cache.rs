//! # L1 data cache by lists
//! Predicts what the L1D does with each event, given the events in the order in which the cache
//! took them (li2015 section 2.2, khairy2015 section 3.1): write-evict for global stores, write-back
//! for local ones, no write-allocate, allocate on miss, LRU or another policy. A cache with decoupled
//! tags (li2015 section 4) is the same behind a filter.
//!
//! A set is a list of lines from least to most recently used; a way without a line does not exist
//! here, so the twin knows lines, never way numbers. A line is a map of parts: one if lines come whole, else its sectors, of
//! which a load fetches those that it wants. Within one cycle the events follow each other
//! as the cache works: fill, recall, drain, then the access.
//!
//! [`Cache::predict`] tells what an event must lead to, [`Cache::step`] does it, [`Cache::check`]
//! does it only if the cache under test did the same, and explains the difference otherwise.

use std::collections::BTreeMap;
use std::fmt::Debug;

use super::bypass::{Bypass, Contents, Way};
use super::decoupled::{self, Filter, Standing};
use super::event::{
    Breach, Event, Fail, FailOrder, Fails, Load, LoadOutcome, Mismatch, Outcome, Parts, RecallOutcome, Space, Victim,
    WriteOutcome,
};
use super::mshr::{Mshr, NotPending, Verdict, Waits};
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

/// What is known of a line as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// A part of it is on its way.
    Reserved,
    Valid,
    Modified,
    /// Only its tag is here.
    Hollow,
}

/// A part of a line that is not absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// `doomed` if it must not stay.
    OnWay {
        doomed: bool,
    },
    Here,
}

/// A line with a way: hollow if it has no part.
#[derive(Clone, Debug)]
struct Held {
    line: u64,
    parts: BTreeMap<u8, Part>,
    /// Newer than memory.
    modified: bool,
}

impl Held {
    /// The tag of a line.
    fn hollow(line: u64) -> Self {
        Self { line, parts: BTreeMap::new(), modified: false }
    }

    fn status(&self) -> Status {
        let is_coming = self.parts.values().any(|part| *part != Part::Here);
        match (self.parts.is_empty(), is_coming, self.modified) {
            (true, ..) => Status::Hollow,
            (_, true, _) => Status::Reserved,
            (.., true) => Status::Modified,
            _ => Status::Valid,
        }
    }

    /// Those of some parts that are as said.
    fn which(&self, of: Parts, is_meant: impl Fn(Part) -> bool) -> Parts {
        let meant = of.each().filter(|part| self.parts.get(part).is_some_and(|state| is_meant(*state)));
        Parts(meant.fold(0, |all, part| all | 1 << part))
    }

    fn here(&self, of: Parts) -> Parts {
        self.which(of, |part| part == Part::Here)
    }

    fn coming(&self, of: Parts) -> Parts {
        self.which(of, |part| part != Part::Here)
    }
}

/// The twin; `W` names a waiting load.
#[derive(Debug)]
pub struct Cache<W> {
    config: Config,
    /// Per set: lines from least to most recently used.
    sets: Vec<Vec<Held>>,
    replacement: Box<dyn Replacement>,
    filter: Option<Filter>,
    mshr: Mshr<W>,
    /// They send loads past it.
    schemes: Vec<Box<dyn Bypass>>,
    /// A line that is written on its way stays when it arrives.
    keeps_overtaken: bool,
}

/// Where a line stands in what a set holds.
fn standing(held: &[Held], line: u64) -> Standing {
    match held.iter().find(|other| other.line == line).map(Held::status) {
        None => Standing::Candidate,
        Some(Status::Valid | Status::Hollow) => Standing::Clean,
        Some(Status::Reserved | Status::Modified) => Standing::Bound,
    }
}

impl<W: Waits + Debug + PartialEq> Cache<W> {
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
            Event::Load { load, queue_used, .. } => Ok(Outcome::Load(self.predict_load(&load, queue_used))),
            Event::Store { line, parts, space, queue_used } => {
                self.predict_store((line, parts), space, queue_used).map(Outcome::Write)
            }
            Event::Atomic { line, parts, queue_used } => {
                self.predict_overtaking((line, parts), Space::Global, queue_used).map(Outcome::Write)
            }
            Event::Bypass { load: Load { line, .. }, chosen: true }
                if self.filter.is_some() && !self.is_filtered(line) =>
            {
                Err(Breach::Admitted(line))
            }
            Event::Bypass { load, chosen } => match self.held(load.line) {
                Some(held) if held.modified => Err(Breach::Modified(load.line)),
                _ if chosen && !self.sends_past(&load) => Err(Breach::Path(load.line)),
                _ => Ok(Outcome::Done),
            },
            Event::Reach { .. } | Event::PeriodEnd { .. } => Ok(Outcome::Done),
            Event::Fill { line, parts } => {
                let waiters = self.mshr.waiters(line, parts).ok_or(Breach::Fill(NotPending(line)))?;
                let stays = |part| part == Part::OnWay { doomed: false };
                let kept = self.held(line).map_or(Parts(0), |held| held.which(parts, stays));
                Ok(Outcome::Filled { kept, waiters })
            }
            Event::Recall { line } => Ok(Outcome::Recalled(match self.held(line) {
                Some(held) if held.modified => RecallOutcome::Kept,
                held => match held.map(Held::status) {
                    None | Some(Status::Hollow) => RecallOutcome::Missed,
                    Some(Status::Reserved) => RecallOutcome::Pending,
                    Some(Status::Valid | Status::Modified) => RecallOutcome::Dropped,
                },
            })),
            Event::Supply { line, parts } => {
                let has = |held: &Held| !held.modified && held.here(parts) == parts;
                Ok(Outcome::Supplied(self.held(line).is_some_and(has)))
            }
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
        let shown = |held: &Held| match held.parts.len() {
            // A line that comes whole, or of which no more than a part is known.
            0 | 1 => format!("{:#x} {:?}", held.line, held.status()),
            _ => format!("{:#x} {:?} {:?}", held.line, held.status(), held.parts),
        };
        let lines: Vec<String> = self.sets[set].iter().map(shown).collect();
        let draining = if self.mshr.is_draining(line, Parts(u8::MAX)) { ", the line is draining" } else { "" };
        let counts: Vec<String> = self.known(set).iter().map(|(line, count)| format!("{line:#x} {count}")).collect();
        let known = if self.filter.is_some() { format!(", counts [{}]", counts.join(", ")) } else { String::new() };
        format!("set {set} holds, oldest first, [{}]{known}; {mshr}{draining}", lines.join(", "))
    }

    /// Invariant: the lines reserved in the sets are exactly those pending in the MSHR, no set is
    /// over-full, no line is held twice.
    pub fn is_consistent(&self) -> bool {
        let all = || self.sets.iter().flatten();
        let is_coming = |held: &&Held| held.status() == Status::Reserved;
        let mut reserved: Vec<u64> = all().filter(is_coming).map(|held| held.line).collect();
        reserved.sort_unstable();
        let parts_agree = |held: &Held| {
            let coming = held.coming(Parts(u8::MAX)).each();
            coming.eq(self.mshr.pending_parts(held.line))
        };
        let once =
            |set: &Vec<Held>| set.iter().all(|held| set.iter().filter(|other| other.line == held.line).count() == 1);
        let is_known = |set: usize, held: &Vec<Held>| {
            self.filter.as_ref().is_none_or(|filter| filter.is_consistent(set, held.iter().map(|held| held.line)))
        };
        self.mshr.pending_lines().eq(reserved)
            && all().all(parts_agree)
            && self.sets.iter().all(|set| set.len() <= self.config.ways && once(set))
            && self.sets.iter().enumerate().all(|(set, held)| is_known(set, held))
    }

    /// The lines that the filter knows in a set, the one used longest ago first, with their counts.
    pub fn known(&self, set: usize) -> &[(u64, u32)] {
        self.filter.as_ref().map_or(&[], |filter| filter.known(set))
    }

    /// Whether a load of the line goes past.
    pub fn is_filtered(&self, line: u64) -> bool {
        let filter = self.filter.as_ref().filter(|_| self.held(line).is_none());
        filter.is_some_and(|filter| !filter.admits(self.set_of(line), line))
    }

    /// Of the parts that a load wants, those that are on their way, and those that are absent.
    fn wanted(&self, load: &Load) -> (Parts, Parts) {
        let Some(held) = self.held(load.line) else { return (Parts(0), load.parts) };
        let coming = held.coming(load.parts);
        (coming, load.parts.without(coming).without(held.here(load.parts)))
    }

    fn predict_load(&self, load: &Load, queue_used: usize) -> LoadOutcome {
        let line = load.line;
        let (coming, absent) = self.wanted(load);
        let mut all = Fails::default();
        if !coming.is_empty() {
            all.mshr_merge = self.mshr.verdict(line, coming) != Verdict::Merged;
        }
        let (victim, none) = self.victim_for(line);
        if !absent.is_empty() {
            let needed = 1 + usize::from(victim.is_some_and(|victim| victim.modified || self.config.notifies));
            all.line_alloc = none;
            all.mshr_entry = self.mshr.verdict(line, absent) != Verdict::Primary;
            all.miss_queue = queue_used + needed > self.config.miss_queue;
        }
        match all.first(self.config.fail_order) {
            Some(first) => LoadOutcome::Refused { first, all },
            None if !absent.is_empty() => LoadOutcome::Miss { victim },
            None if !coming.is_empty() => LoadOutcome::HitPending,
            None => LoadOutcome::Hit,
        }
    }

    fn predict_store(
        &self,
        (line, parts): (u64, Parts),
        space: Space,
        queue_used: usize,
    ) -> Result<WriteOutcome, Breach> {
        // A local store that finds all of its parts stays here, and so needs no miss-queue slot.
        if space == Space::Local && self.held(line).is_some_and(|held| held.here(parts) == parts) {
            return Ok(WriteOutcome::WrittenBack);
        }
        match self.predict_overtaking((line, parts), space, queue_used)? {
            WriteOutcome::Evicted if self.config.updates => Ok(WriteOutcome::Updated),
            other => Ok(other),
        }
    }

    /// A write goes past the cache: no copy here may outlive it. What a local one finds here stays, and is changed.
    fn predict_overtaking(
        &self,
        (line, parts): (u64, Parts),
        space: Space,
        queue_used: usize,
    ) -> Result<WriteOutcome, Breach> {
        if queue_used >= self.config.miss_queue {
            let all = Fails { miss_queue: true, ..Fails::default() };
            return Ok(WriteOutcome::Refused { first: Fail::MissQueue, all });
        }
        match self.held(line) {
            Some(held) if held.modified && space == Space::Global => Err(Breach::Modified(line)),
            Some(held) if space == Space::Global && !held.here(parts).is_empty() => Ok(WriteOutcome::Evicted),
            Some(held) if !held.coming(parts).is_empty() => Ok(WriteOutcome::Pending),
            _ => Ok(WriteOutcome::Missed),
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
                self.wait(&load, waiter);
                self.touch(load.line, true);
                self.served(&load, false);
            }
            (Event::Load { load, waiter, .. }, Outcome::Load(LoadOutcome::Miss { .. })) => {
                let (_, absent) = self.wanted(&load);
                let (gone, _) = self.place_for(load.line);
                self.wait(&load, waiter);
                if self.has_parts(load.line) {
                    self.touch(load.line, true)
                } else {
                    self.place(load.line, load.pc, gone)
                }
                self.set_parts(load.line, absent, Some(Part::OnWay { doomed: false }));
                self.served(&load, true);
            }
            (Event::Bypass { load, chosen: true }, _) => self.went_past(&load),
            (Event::Store { line, .. }, Outcome::Write(WriteOutcome::WrittenBack)) => self.change(line, true),
            (Event::Supply { line, .. }, Outcome::Supplied(true)) => self.touch(line, false),
            (Event::Store { .. } | Event::Atomic { .. }, Outcome::Write(WriteOutcome::Refused { .. })) => {}
            (Event::Store { line, parts, space: Space::Local, .. }, Outcome::Write(_)) => {
                if self.held(line).is_some_and(|held| !held.here(parts).is_empty()) {
                    self.change(line, true);
                }
                self.overtake(line, parts);
                self.drop_if_empty(line);
            }
            (Event::Store { line, parts, .. }, Outcome::Write(WriteOutcome::Updated)) => {
                self.change(line, false);
                self.overtake(line, parts);
            }
            (Event::Store { line, parts, .. } | Event::Atomic { line, parts, .. }, Outcome::Write(_)) => {
                self.drop_parts(line, parts);
                self.overtake(line, parts);
            }
            (Event::Recall { line }, Outcome::Recalled(outcome)) if outcome != RecallOutcome::Kept => {
                self.drop_parts(line, Parts(u8::MAX));
                self.overtake(line, Parts(u8::MAX));
            }
            (Event::Fill { line, parts }, Outcome::Filled { kept, .. }) => {
                self.mshr.fill(line, parts).map_err(Breach::Fill)?;
                self.set_parts(line, parts.without(kept), None);
                self.set_parts(line, kept, Some(Part::Here));
                self.drop_if_empty(line);
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
        let victim = gone.filter(|gone| self.has_parts(*gone));
        (victim.map(|line| Victim { line, modified: self.held(line).is_some_and(|held| held.modified) }), none)
    }

    /// The line whose way a miss of `line` takes, if that is not empty: its own tag, else what makes room;
    /// and whether it needs that and there is none.
    fn place_for(&self, line: u64) -> (Option<u64>, bool) {
        match self.held(line) {
            Some(held) if held.parts.is_empty() => return (Some(line), false),
            Some(_) => return (None, false),
            None => {}
        }
        let number = self.set_of(line);
        let set = &self.sets[number];
        let is_short = |filter: &Filter| filter.is_short(number, line, |other| standing(set, other));
        if set.len() < self.config.ways && !self.filter.as_ref().is_some_and(is_short) {
            return (None, false);
        }
        let may_go = |is_free: &dyn Fn(u64) -> bool| {
            let free = set.iter().filter(|held| held.status() != Status::Reserved && is_free(held.line));
            self.replacement.victim(&mut free.map(|held| held.line))
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
        let known = self.held(line).is_some();
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
            let may_go = |held: &Held| matches!(held.status(), Status::Valid | Status::Hollow);
            let Some(place) = self.sets[set].iter().position(may_go) else { return };
            self.sets[set].remove(place);
        }
        self.sets[set].push(Held::hollow(line));
    }

    /// Lets the schemes judge a period; tags without data go if one says so.
    fn judge(&mut self, end: impl Fn(&mut dyn Bypass) -> bool) {
        let mut drops = false;
        for scheme in &mut self.schemes {
            drops |= end(&mut **scheme);
        }
        if drops {
            self.sets.iter_mut().for_each(|set| set.retain(|held| held.status() != Status::Hollow));
        }
    }

    /// A line gets a place, perhaps that of another, and as yet no part.
    fn place(&mut self, line: u64, pc: u32, victim: Option<u64>) {
        let number = self.set_of(line);
        let set = &mut self.sets[number];
        if let Some(filter) = &mut self.filter {
            filter.placed(number, line, victim, |other| standing(set, other));
        }
        set.retain(|held| Some(held.line) != victim);
        let stay: Vec<_> = set.iter().map(|held| (held.line, held.status() != Status::Reserved)).collect();
        self.replacement.came(Newcomer { line, pc, set: number }, victim, &stay);
        set.push(Held::hollow(line));
    }

    /// The filter counts a load that goes past by choice.
    fn pass(&mut self, line: u64) {
        let number = self.set_of(line);
        let set = &mut self.sets[number];
        let lost = self.filter.as_mut().and_then(|filter| filter.passed(number, line, |other| standing(set, other)));
        if let Some(lost) = lost {
            set.retain(|held| held.line != lost);
            self.replacement.left(lost);
        }
    }

    /// A load joins what is on its way to it, and waits for what is absent.
    fn wait(&mut self, load: &Load, waiter: W) {
        let (coming, absent) = self.wanted(load);
        for parts in [coming, absent].into_iter().filter(|parts| !parts.is_empty()) {
            self.mshr.alloc(load.line, parts, waiter);
        }
    }

    /// A store changes what is here of a line; `local` if memory does not hear of it.
    fn change(&mut self, line: u64, local: bool) {
        self.touch(line, false);
        if let Some(held) = self.held_mut(line) {
            held.modified |= local;
        }
    }

    /// What is here of some parts goes.
    fn drop_parts(&mut self, line: u64, parts: Parts) {
        let here = self.held(line).map_or(Parts(0), |held| held.here(parts));
        self.set_parts(line, here, None);
        self.drop_if_empty(line);
    }

    /// What is on its way of some parts serves those who wait for it, and nobody else.
    fn overtake(&mut self, line: u64, parts: Parts) {
        let coming = self.held(line).map_or(Parts(0), |held| held.coming(parts));
        self.mshr.close(line, coming);
        if !self.keeps_overtaken {
            self.set_parts(line, coming, Some(Part::OnWay { doomed: true }));
        }
    }

    /// A line of which nothing is left loses its way, and a tag without data with it.
    fn drop_if_empty(&mut self, line: u64) {
        if self.held(line).is_some_and(|held| held.parts.is_empty()) {
            self.drop_line(line);
        }
    }

    /// A line goes because of a store or a recall.
    fn drop_line(&mut self, line: u64) {
        let number = self.set_of(line);
        self.sets[number].retain(|held| held.line != line);
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

    fn held(&self, line: u64) -> Option<&Held> {
        self.sets[self.set_of(line)].iter().find(|held| held.line == line)
    }

    fn held_mut(&mut self, line: u64) -> Option<&mut Held> {
        let set = self.set_of(line);
        self.sets[set].iter_mut().find(|held| held.line == line)
    }

    /// Whether more than a tag is here or on its way.
    fn has_parts(&self, line: u64) -> bool {
        self.held(line).is_some_and(|held| !held.parts.is_empty())
    }

    /// Parts of a line that has a way become this, or absent.
    fn set_parts(&mut self, line: u64, parts: Parts, to: Option<Part>) {
        let Some(held) = self.held_mut(line) else { return };
        for part in parts.each() {
            match to {
                Some(state) => held.parts.insert(part, state),
                None => held.parts.remove(&part),
            };
        }
    }

    /// Makes the line the most recently used of its set.
    fn touch(&mut self, line: u64, by_load: bool) {
        let set = self.set_of(line);
        // The sort is stable: all the others keep their order.
        self.sets[set].sort_by_key(|held| held.line == line);
        self.replacement.used(line);
        if let Some(filter) = &mut self.filter {
            filter.used(set, line, by_load);
        }
    }
}

impl<W: Waits + Debug + PartialEq> Contents for Cache<W> {
    fn set_of(&self, line: u64) -> usize {
        self.config.index.set_of_line(line)
    }

    fn knows(&self, line: u64) -> bool {
        self.held(line).is_some()
    }

    fn may_go(&self, set: usize) -> Option<Vec<u64>> {
        let held = &self.sets[set];
        let may_go = held.iter().filter(|held| held.status() != Status::Reserved);
        (held.len() == self.config.ways).then(|| may_go.map(|held| held.line).collect())
    }

    fn refusals(&self, load: &Load) -> Fails {
        match self.predict_load(load, self.config.miss_queue) {
            LoadOutcome::Refused { all, .. } => all,
            _ => Fails::default(),
        }
    }
}

#[cfg(test)]
mod tests;
