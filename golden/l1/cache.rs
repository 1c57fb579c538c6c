//! # L1 data cache as lists of lines
//! Predicts the outcome of each event at the L1D (li2015 section 2.2, khairy2015 section 3.1). The events are
//! given in the order in which the clocked cache processed them. Policy: write-evict for global stores,
//! write-back for local stores, no-write-allocate, allocate on miss, LRU or another replacement policy. For a
//! cache with decoupled tags (li2015 section 4), a filter precedes the same model and decides which lines to
//! admit.
//!
//! A set is a list of lines from least to most recently used. Empty ways are not represented, so the model
//! tracks lines, never way numbers. A line is a map of sectors: one if whole lines are filled, otherwise the
//! sectors that loads fetched.
//!
//! In one cycle, the cache processes events in this order:
//! 1. fill: data arrive from memory
//! 2. recall: the L2 invalidates a line
//! 3. drain: a waiting load is replayed
//! 4. access: a load, store or atomic looks up the cache
//!
//! [`Cache::predict`] returns the required outcome of an event, and [`Cache::step`] applies it.
//! [`Cache::check`] applies it only if the cache under test had the same outcome, and otherwise explains the
//! difference.

use std::collections::BTreeMap;
use std::fmt::Debug;

use super::bypass::{Bypass, Contents, Path};
use super::decoupled::{self, Filter, Standing};
use super::event::{
    Breach, Event, Fail, FailOrder, Fails, Load, LoadOutcome, Mismatch, Outcome, PrefetchOutcome, RecallOutcome,
    Sectors, Space, Victim, WriteOutcome,
};
use super::mshr::{Mshr, NotPending, Verdict, Waits};
use super::prefetch::Seen;
use super::prefetch::unit::{Counts, Unit};
use super::victim::Victims;
use crate::index::SetIndex;
use crate::mshr_policy::{Ledger, MshrPolicy};
use crate::replacement::lru::Lru;
use crate::replacement::{Eviction, InsertedLine, Replacement};

/// Geometry and policies of the L1 data cache.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Index function, which maps a line to its set.
    pub index: SetIndex,
    /// Number of ways per set.
    pub ways: usize,
    /// Number of MSHR entries. It limits the number of lines in flight.
    pub mshr_entries: usize,
    /// Maximum number of loads that may wait for one line, including the load that missed first.
    pub mshr_slots: usize,
    /// Number of miss-queue slots.
    pub miss_queue: usize,
    /// Order of priority of the reservation fails: if several apply to an access, the first is reported.
    pub fail_order: FailOrder,
    /// Decoupled-tag filter, which decides which lines may use the cache; `None` admits all lines.
    pub filter: Option<decoupled::Config>,
    /// True if a global store updates the cached copy of its line; false if it invalidates the copy.
    pub updates: bool,
    /// True if the cache notifies the sharing tracker of each eviction. Each notice takes one miss-queue
    /// slot.
    pub notifies: bool,
}

/// State of a cache line as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// Reserved: at least one sector of the line is in flight.
    Reserved,
    Valid,
    Modified,
    /// Tag only: no sector of the line is present or in flight.
    TagOnly,
}

/// State of a sector that is present or in flight. An absent sector has no entry in the map of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SectorState {
    /// The sector is in flight. `doomed` is true if its fill must be dropped, because a write overtook it.
    OnWay {
        doomed: bool,
    },
    Here,
}

/// Line that occupies a way of the cache. It is tag-only if no sector is present or in flight.
#[derive(Clone, Debug)]
struct CacheLine {
    line: u64,
    parts: BTreeMap<u8, SectorState>,
    /// True if the line holds local stores that memory does not have yet.
    modified: bool,
    /// True if the line was prefetched and no load has used it yet.
    unused: bool,
    /// Eviction hint of the last load that used the line.
    eviction: Eviction,
}

impl CacheLine {
    /// Creates a tag-only line.
    fn tag_only(line: u64) -> Self {
        Self { line, parts: BTreeMap::new(), modified: false, unused: false, eviction: Eviction::Normal }
    }

    fn status(&self) -> Status {
        let is_coming = self.parts.values().any(|part| *part != SectorState::Here);
        match (self.parts.is_empty(), is_coming, self.modified) {
            (true, ..) => Status::TagOnly,
            (_, true, _) => Status::Reserved,
            (.., true) => Status::Modified,
            _ => Status::Valid,
        }
    }

    /// Returns those sectors in `of` that are present or in flight and for whose state `is_meant` returns
    /// true.
    fn select(&self, of: Sectors, is_meant: impl Fn(SectorState) -> bool) -> Sectors {
        let meant = of.each().filter(|part| self.parts.get(part).is_some_and(|state| is_meant(*state)));
        Sectors(meant.fold(0, |all, part| all | 1 << part))
    }

    fn here(&self, of: Sectors) -> Sectors {
        self.select(of, |part| part == SectorState::Here)
    }

    fn coming(&self, of: Sectors) -> Sectors {
        self.select(of, |part| part != SectorState::Here)
    }
}

/// Reference model of the L1 data cache. The type `W` identifies a waiting load.
#[derive(Debug)]
pub struct Cache<W> {
    config: Config,
    /// Lines of each set, from least to most recently used.
    sets: Vec<Vec<CacheLine>>,
    replacement: Box<dyn Replacement>,
    filter: Option<Filter>,
    mshr: Mshr<W>,
    /// MSHR policy, with the requesters of the loads that wait in the MSHR.
    ledger: Option<Ledger>,
    /// Bypass schemes. A load bypasses the cache if any of them requires it.
    schemes: Vec<Box<dyn Bypass>>,
    prefetch: Option<Unit>,
    /// Victim cache, which holds clean lines that the cache has evicted.
    victims: Option<Victims>,
}

/// Returns the state of a line as seen by the decoupled filter. `held` contains the lines in the set of that
/// line.
fn standing(held: &[CacheLine], line: u64) -> Standing {
    match held.iter().find(|other| other.line == line).map(CacheLine::status) {
        None => Standing::Candidate,
        Some(Status::Valid | Status::TagOnly) => Standing::Clean,
        Some(Status::Reserved | Status::Modified) => Standing::Bound,
    }
}

impl<W: Waits + Debug + PartialEq> Cache<W> {
    /// Creates an empty cache with LRU replacement and without a bypass scheme, prefetcher or victim cache.
    pub fn new(config: Config) -> Self {
        let mshr = Mshr::new(config.mshr_entries, config.mshr_slots);
        let sets = config.index.sets();
        Cache {
            config,
            sets: vec![Vec::new(); sets],
            replacement: Box::new(Lru {}),
            filter: config.filter.map(|filter| Filter::new(filter, sets)),
            mshr,
            ledger: None,
            schemes: Vec::new(),
            prefetch: None,
            victims: None,
        }
    }

    /// Returns the index function, which maps a line to its set.
    pub fn index(&self) -> SetIndex {
        self.config.index
    }

    /// Sets the number of ways per set. Every set must be empty.
    pub fn resize(&mut self, ways: usize) {
        self.config.ways = ways;
    }

    /// Sets the replacement policy; the default is LRU.
    pub fn replace_by(&mut self, policy: Box<dyn Replacement>) {
        self.replacement = policy;
    }

    /// Adds a bypass scheme to the cache.
    pub fn bypass(&mut self, scheme: Box<dyn Bypass>) {
        self.schemes.push(scheme);
    }

    /// Adds a prefetcher to the cache.
    pub fn prefetch(&mut self, unit: Unit) {
        self.prefetch = Some(unit);
    }

    /// Adds an MSHR policy to the cache; by default, every load may use the MSHR.
    pub fn limit_by(&mut self, policy: Box<dyn MshrPolicy>) {
        self.ledger = Some(Ledger::new(policy, self.config.mshr_entries));
    }

    /// Adds a victim cache to the cache.
    pub fn keep_victims(&mut self, victims: Victims) {
        self.victims = Some(victims);
    }

    /// True if the cache has a prefetcher.
    pub fn prefetches(&self) -> bool {
        self.prefetch.is_some()
    }

    /// Returns the counters of the prefetcher.
    pub fn prefetch_counts(&self) -> Counts {
        self.prefetch.as_ref().map(|unit| unit.counts).unwrap_or_default()
    }

    /// Passes to the bypass schemes the lines that a profile permits to use the cache.
    pub fn admit(&mut self, lines: &[u64]) {
        self.schemes.iter_mut().for_each(|scheme| scheme.admit(lines));
    }

    /// True if a bypass scheme needs to know which instructions are contentious.
    pub fn needs_contention(&self) -> bool {
        self.schemes.iter().any(|scheme| scheme.needs_contention())
    }

    /// True if an instruction is contentious when it touches `touched` lines while `resident` warps are
    /// resident.
    pub fn contends(&self, touched: usize, resident: usize) -> bool {
        self.schemes.iter().any(|scheme| scheme.contends(touched, resident))
    }

    /// Enables eviction notices to the sharing tracker. Each notice takes one miss-queue slot.
    pub fn notify(&mut self) {
        self.config.notifies = true;
    }

    /// Returns the outcome that `event` must have in the present state of the cache.
    ///
    /// # Errors
    /// Returns the violation if no correct cache would process the event in this state.
    pub fn predict(&self, event: &Event<W>) -> Result<Outcome<W>, Breach> {
        match *event {
            Event::Load { load: Load { line, .. }, .. } if self.is_filtered(line) => Err(Breach::NotAdmitted(line)),
            Event::Load { load, .. } if self.ways_of(&load).any(|way| way == Path::Bypass) => {
                Err(Breach::Path(load.line))
            }
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
            Event::Bypass { load, chosen } => match self.find_line(load.line) {
                Some(held) if held.modified => Err(Breach::Modified(load.line)),
                _ if chosen && !self.bypasses(&load) => Err(Breach::Path(load.line)),
                _ => Ok(Outcome::Done),
            },
            Event::Reach { .. } | Event::PeriodEnd { .. } => Ok(Outcome::Done),
            Event::Deliver => Ok(Outcome::Delivered(self.prefetch.as_ref().and_then(Unit::delivery))),
            Event::Prefetch { line, queue_used, queued, .. } => {
                self.predict_prefetch(line, queue_used, queued).map(Outcome::Prefetched)
            }
            Event::Fill { line, parts } => {
                let waiters = self.mshr.waiters(line, parts).ok_or(Breach::Fill(NotPending(line)))?;
                let stays = |part| part == SectorState::OnWay { doomed: false };
                let kept = self.find_line(line).map_or(Sectors(0), |held| held.select(parts, stays));
                Ok(Outcome::Filled { kept, waiters })
            }
            Event::Recall { line } if self.kept_parts(line).is_some() => Ok(Outcome::Recalled(RecallOutcome::Dropped)),
            Event::Recall { line } => Ok(Outcome::Recalled(match self.find_line(line) {
                Some(held) if held.modified => RecallOutcome::Kept,
                held => match held.map(CacheLine::status) {
                    None | Some(Status::TagOnly) => RecallOutcome::Missed,
                    Some(Status::Reserved) => RecallOutcome::Pending,
                    Some(Status::Valid | Status::Modified) => RecallOutcome::Dropped,
                },
            })),
            Event::Supply { line, parts } => {
                let has = |held: &CacheLine| !held.modified && held.here(parts) == parts;
                Ok(Outcome::Supplied(self.find_line(line).is_some_and(has)))
            }
            Event::Drain => Ok(Outcome::Drained(self.mshr.head())),
            Event::Switch { .. } => Ok(Outcome::Done),
            Event::Flush => match self.mshr.occupancy() {
                0 => Ok(Outcome::Done),
                used => Err(Breach::FlushBusy(used)),
            },
        }
    }

    /// Applies `event` to the model and returns its outcome. An access that the cache refuses changes
    /// nothing.
    ///
    /// # Errors
    /// Returns the violation if no correct cache would process the event in the present state.
    pub fn step(&mut self, event: Event<W>) -> Result<Outcome<W>, Breach> {
        let outcome = self.predict(&event)?;
        self.apply(&event, &outcome)?;
        Ok(outcome)
    }

    /// Applies `event` to the model if the cache under test had the outcome that the model predicts.
    ///
    /// # Errors
    /// Returns a mismatch if the outcomes differ, or if no correct cache would process the event. The text
    /// contains the event, both outcomes and the state that determines the outcome. The model is left
    /// unchanged.
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

    /// Returns, for error messages, a description of the state that determines the outcome of `event`.
    pub fn explain(&self, event: &Event<W>) -> String {
        let (used, entries) = (self.mshr.occupancy(), self.config.mshr_entries);
        let mshr = format!("{used} of {entries} MSHR entries in use");
        let Some(line) = event.line() else { return mshr };
        let set = self.set_of(line);
        let shown = |held: &CacheLine| match held.parts.len() {
            // If at most one sector of a line is present or in flight, a single state describes the line.
            // This is always the case if lines are filled as a whole.
            0 | 1 => format!("{:#x} {:?}", held.line, held.status()),
            _ => format!("{:#x} {:?} {:?}", held.line, held.status(), held.parts),
        };
        let lines: Vec<String> = self.sets[set].iter().map(shown).collect();
        let draining = if self.mshr.is_draining(line, Sectors(u8::MAX)) { ", the line is draining" } else { "" };
        let counts: Vec<String> =
            self.known_lines(set).iter().map(|(line, count)| format!("{line:#x} {count}")).collect();
        let known = if self.filter.is_some() { format!(", counts [{}]", counts.join(", ")) } else { String::new() };
        let kept: Vec<String> = self.victims.iter().flat_map(Victims::lines).map(|line| format!("{line:#x}")).collect();
        let known = if kept.is_empty() { known } else { format!("{known}, victims [{}]", kept.join(", ")) };
        let ledger = self.ledger.as_ref().map_or(String::new(), |ledger| format!(", {ledger}"));
        format!("set {set} holds, oldest first, [{}]{known}; {mshr}{draining}{ledger}", lines.join(", "))
    }

    /// True if the invariants of the model hold. The lines and sectors in flight are exactly those that are
    /// pending in the MSHR. No set has more lines than ways. No line occurs twice in a set, or in both the
    /// cache and the victim cache. The filter is consistent with each set.
    pub fn is_consistent(&self) -> bool {
        let all = || self.sets.iter().flatten();
        let is_coming = |held: &&CacheLine| held.status() == Status::Reserved;
        let mut reserved: Vec<u64> = all().filter(is_coming).map(|held| held.line).collect();
        reserved.sort_unstable();
        let parts_agree = |held: &CacheLine| {
            let coming = held.coming(Sectors(u8::MAX)).each();
            coming.eq(self.mshr.pending_parts(held.line))
        };
        let once = |set: &Vec<CacheLine>| {
            set.iter().all(|held| set.iter().filter(|other| other.line == held.line).count() == 1)
        };
        let is_known = |set: usize, held: &Vec<CacheLine>| {
            self.filter.as_ref().is_none_or(|filter| filter.is_consistent(set, held.iter().map(|held| held.line)))
        };
        let is_kept = |line: u64| self.find_line(line).is_some();
        self.mshr.pending_lines().eq(reserved)
            && !self.victims.iter().flat_map(Victims::lines).any(is_kept)
            && all().all(parts_agree)
            && self.sets.iter().all(|set| set.len() <= self.config.ways && once(set))
            && self.sets.iter().enumerate().all(|(set, held)| is_known(set, held))
    }

    /// Returns the lines of a set for which the decoupled filter has a tag, with their reuse counts. The
    /// least recently used line is first.
    pub fn known_lines(&self, set: usize) -> &[(u64, u32)] {
        self.filter.as_ref().map_or(&[], |filter| filter.known_lines(set))
    }

    /// True if the decoupled filter requires a load of the line to bypass the cache.
    pub fn is_filtered(&self, line: u64) -> bool {
        let filter = self.filter.as_ref().filter(|_| self.find_line(line).is_none());
        filter.is_some_and(|filter| !filter.admits(self.set_of(line), line))
    }

    /// Returns two subsets of the sectors that a load requests: the sectors in flight, and the sectors
    /// neither present nor in flight.
    fn missing_sectors(&self, load: &Load) -> (Sectors, Sectors) {
        let Some(held) = self.find_line(load.line) else { return (Sectors(0), load.parts) };
        let coming = held.coming(load.parts);
        (coming, load.parts.without(coming).without(held.here(load.parts)))
    }

    /// Returns the sectors of a line that the victim cache holds; `None` if it does not hold the line.
    fn kept_parts(&self, line: u64) -> Option<Sectors> {
        self.victims.as_ref()?.parts(line)
    }

    /// Returns the outcome of a load, or `None` if the victim cache lacks any of the requested sectors.
    fn predict_victim_hit(&self, &Load { line, parts, .. }: &Load, queue_used: usize) -> Option<LoadOutcome> {
        let victims = self.victims.as_ref()?;
        victims.parts(line).filter(|kept| parts.without(*kept).is_empty())?;
        let (victim, none) = self.victim_for(line);
        let needs_slot = victim.is_some_and(|victim| victim.modified);
        let is_read = self.mshr.draining_lines().any(|other| self.set_of(other) == self.set_of(line));
        let is_stuck = none || is_read || needs_slot && queue_used >= self.config.miss_queue;
        let moves = !is_stuck && victims.moves(line);
        Some(LoadOutcome::VictimHit { moves, victim: victim.filter(|_| moves) })
    }

    fn predict_load(&self, load: &Load, queue_used: usize) -> LoadOutcome {
        if let Some(outcome) = self.predict_victim_hit(load, queue_used) {
            return outcome;
        }
        let line = load.line;
        let (coming, absent) = self.missing_sectors(load);
        let mut all = Fails::default();
        if !coming.is_empty() {
            all.mshr_merge = self.mshr.verdict(line, coming) != Verdict::Merged;
            let refuses = |ledger: &Ledger| !ledger.may_merge(load.warp.into());
            all.mshr_policy |= !all.mshr_merge && self.ledger.as_ref().is_some_and(refuses);
        }
        let (victim, none) = self.victim_for(line);
        if !absent.is_empty() {
            let needed = 1 + usize::from(victim.is_some_and(|victim| victim.modified || self.config.notifies));
            all.line_alloc = none;
            all.mshr_entry = self.mshr.verdict(line, absent) != Verdict::Primary;
            let refuses = |ledger: &Ledger| !ledger.may_allocate(load.warp.into());
            all.mshr_policy |= !all.mshr_entry && self.ledger.as_ref().is_some_and(refuses);
            all.miss_queue = queue_used + needed > self.config.miss_queue;
        }
        match all.first(self.config.fail_order) {
            Some(first) => LoadOutcome::Refused { first, all },
            None if !absent.is_empty() => LoadOutcome::Miss { victim },
            None if !coming.is_empty() => LoadOutcome::HitPending,
            None => LoadOutcome::Hit,
        }
    }

    fn predict_prefetch(&self, line: u64, queue_used: usize, queued: usize) -> Result<PrefetchOutcome, Breach> {
        let unit = self.prefetch.as_ref().filter(|unit| unit.head() == Some(line)).ok_or(Breach::NotQueued(line))?;
        match self.find_line(line).map(CacheLine::status) {
            Some(Status::Reserved) => return Ok(PrefetchOutcome::InFlight),
            Some(_) => return Ok(PrefetchOutcome::Present),
            None if self.kept_parts(line).is_some() => return Ok(PrefetchOutcome::Present),
            None => {}
        }
        let (victim, none) = self.victim_for(line);
        let needed = 1 + usize::from(victim.is_some_and(|victim| victim.modified || self.config.notifies));
        let waits = none
            || self.mshr.verdict(line, Sectors(u8::MAX)) != Verdict::Primary
            || self.mshr.count_unwaited() >= unit.limits.mshr
            || queue_used + needed > self.config.miss_queue
            || queued >= unit.limits.miss_queue;
        Ok(if waits { PrefetchOutcome::Waits } else { PrefetchOutcome::Issued { victim } })
    }

    fn predict_store(
        &self,
        (line, parts): (u64, Sectors),
        space: Space,
        queue_used: usize,
    ) -> Result<WriteOutcome, Breach> {
        // A local store whose sectors are all present stays in the cache and needs no miss-queue slot.
        if space == Space::Local && self.find_line(line).is_some_and(|held| held.here(parts) == parts) {
            return Ok(WriteOutcome::WrittenBack);
        }
        match self.predict_overtaking((line, parts), space, queue_used)? {
            WriteOutcome::Evicted if self.config.updates => Ok(WriteOutcome::Updated),
            other => Ok(other),
        }
    }

    /// Returns the outcome of a store or atomic that is sent to memory. A global write must leave no stale
    /// copy in the cache. A local store updates the sectors that are present.
    fn predict_overtaking(
        &self,
        (line, parts): (u64, Sectors),
        space: Space,
        queue_used: usize,
    ) -> Result<WriteOutcome, Breach> {
        if queue_used >= self.config.miss_queue {
            let all = Fails { miss_queue: true, ..Fails::default() };
            return Ok(WriteOutcome::Refused { first: Fail::MissQueue, all });
        }
        match self.find_line(line) {
            Some(held) if held.modified && space == Space::Global => Err(Breach::Modified(line)),
            Some(held) if space == Space::Global && !held.here(parts).is_empty() => Ok(WriteOutcome::Evicted),
            Some(held) if !held.coming(parts).is_empty() => Ok(WriteOutcome::Pending),
            _ => Ok(WriteOutcome::Missed),
        }
    }

    /// Changes the state of the model as an outcome requires. [`Cache::predict`] must have returned the
    /// outcome for the present state.
    fn apply(&mut self, event: &Event<W>, outcome: &Outcome<W>) -> Result<(), Breach> {
        match (*event, *outcome) {
            (Event::Reach { cycle }, _) => self.end_periods(|scheme| scheme.reach(cycle)),
            (Event::PeriodEnd { may_close }, _) => self.end_periods(|scheme| scheme.end_period(may_close)),
            _ => {}
        }
        match (*event, *outcome) {
            (Event::Load { load, .. }, Outcome::Load(LoadOutcome::Hit)) => {
                self.touch(load.line, Some(&load));
                self.notify_access(&load, false, false);
            }
            (Event::Load { load, .. }, Outcome::Load(LoadOutcome::VictimHit { moves, .. })) => {
                if let Some(victims) = &mut self.victims {
                    victims.hit(load.line);
                }
                if moves {
                    self.swap_victim(&load);
                }
                self.notify_access(&load, false, false);
            }
            (Event::Load { load, waiter, .. }, Outcome::Load(LoadOutcome::HitPending)) => {
                let is_late = self.is_late(&load);
                self.wait(&load, waiter);
                self.touch(load.line, Some(&load));
                self.notify_access(&load, false, is_late);
            }
            (Event::Load { load, waiter, .. }, Outcome::Load(LoadOutcome::Miss { .. })) => {
                let (_, absent) = self.missing_sectors(&load);
                let (replaced, _) = self.place_for(load.line);
                self.wait(&load, waiter);
                if self.has_parts(load.line) {
                    self.touch(load.line, Some(&load))
                } else {
                    self.keep_evicted(load.line, replaced);
                    self.place(&load, replaced)
                }
                self.set_parts(load.line, absent, Some(SectorState::OnWay { doomed: false }));
                self.notify_access(&load, true, false);
            }
            (Event::Bypass { load, chosen: true }, _) => self.notify_bypass(&load),
            (Event::Store { line, .. }, Outcome::Write(WriteOutcome::WrittenBack)) => self.change(line, true),
            (Event::Supply { line, .. }, Outcome::Supplied(true)) => self.touch(line, None),
            (Event::Store { .. } | Event::Atomic { .. }, Outcome::Write(WriteOutcome::Refused { .. })) => {}
            (Event::Store { line, .. } | Event::Atomic { line, .. }, Outcome::Write(_))
                if self.kept_parts(line).is_some() =>
            {
                self.victims.iter_mut().for_each(|victims| victims.remove(line));
            }
            (Event::Store { line, parts, space: Space::Local, .. }, Outcome::Write(_)) => {
                if self.find_line(line).is_some_and(|held| !held.here(parts).is_empty()) {
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
                self.victims.iter_mut().for_each(|victims| victims.remove(line));
                self.drop_parts(line, Sectors(u8::MAX));
                self.overtake(line, Sectors(u8::MAX));
            }
            (Event::Fill { line, parts }, Outcome::Filled { kept, .. }) => {
                self.mshr.fill(line, parts).map_err(Breach::Fill)?;
                self.ledger.iter_mut().for_each(|ledger| ledger.fill((line, parts.0)));
                let prefetched = self.find_line(line).is_some_and(|held| held.unused);
                if let Some(unit) = &mut self.prefetch {
                    unit.on_fill(line, prefetched);
                }
                self.set_parts(line, parts.without(kept), None);
                self.set_parts(line, kept, Some(SectorState::Here));
                self.drop_if_empty(line);
            }
            (Event::Drain, _) => {
                if let (Some(ledger), Some((line, parts))) = (&mut self.ledger, self.mshr.head_key()) {
                    ledger.leave((line, parts.0));
                }
                self.mshr.pop();
            }
            (Event::Deliver, _) => self.prefetch.iter_mut().for_each(Unit::deliver),
            (Event::Prefetch { .. }, Outcome::Prefetched(PrefetchOutcome::Waits)) => {}
            (Event::Prefetch { line, parts, .. }, Outcome::Prefetched(outcome)) => {
                if matches!(outcome, PrefetchOutcome::Issued { .. }) {
                    self.fetch_ahead(line, parts);
                }
                self.prefetch.iter_mut().for_each(Unit::pop);
            }
            (Event::Switch { original }, _) => self.switch(original),
            (Event::Flush, _) => {
                self.sets.iter_mut().for_each(Vec::clear);
                self.replacement.forget_lines();
                self.filter.iter_mut().for_each(Filter::clear);
                self.schemes.iter_mut().for_each(|scheme| scheme.clear());
                self.prefetch.iter_mut().for_each(Unit::clear);
                self.victims.iter_mut().for_each(Victims::clear);
            }
            // All other events leave the state unchanged: refused accesses, stores that miss, and bypasses
            // that no scheme chose.
            _ => {}
        }
        Ok(())
    }

    /// Returns `(victim, fails)` for a miss of `line`. `victim` is the line with data that the miss would
    /// evict, if any. `fails` is true if the miss needs a way but no line may be evicted.
    fn victim_for(&self, line: u64) -> (Option<Victim>, bool) {
        let (replaced, none) = self.place_for(line);
        let victim = replaced.filter(|replaced| self.has_parts(*replaced));
        (victim.map(|line| Victim { line, modified: self.find_line(line).is_some_and(|held| held.modified) }), none)
    }

    /// Returns `(place, fails)` for a miss of `line`. `place` is the line whose way the miss takes, or `None`
    /// if a way is free. This is `line` itself if the cache holds only its tag; otherwise it is the victim,
    /// which may be tag-only. `fails` is true if the miss needs a way but no line may be evicted.
    fn place_for(&self, line: u64) -> (Option<u64>, bool) {
        match self.find_line(line) {
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
        let select_victim = |is_free: &dyn Fn(u64) -> bool| {
            let free = || set.iter().filter(|held| held.status() != Status::Reserved && is_free(held.line));
            let first = free().map(|held| held.eviction).min();
            let mut candidates = free().filter(|held| Some(held.eviction) == first).map(|held| held.line);
            self.replacement.victim(&mut candidates)
        };
        // If all lines that may be evicted are protected, one of them is evicted nevertheless. Only a local
        // load reaches this case, since a global load bypasses.
        let victim = select_victim(&|other| !self.protects(other)).or_else(|| select_victim(&|_| true));
        (victim, victim.is_none())
    }

    fn protects(&self, line: u64) -> bool {
        self.schemes.iter().any(|scheme| scheme.protects(self.set_of(line), line))
    }

    /// Notifies the bypass schemes and the prefetcher of a load that the cache accepted. `is_late` is true if
    /// the load is the first one to wait for a prefetched line in flight.
    fn notify_access(&mut self, load: &Load, missed: bool, is_late: bool) {
        let set = self.set_of(load.line);
        self.schemes.iter_mut().for_each(|scheme| scheme.on_access(load, set, missed));
        if self.prefetch.is_none() {
            return;
        }
        let line = self.find_line_mut(load.line).filter(|held| !missed && held.unused);
        let is_first_use = line.is_some_and(|held| std::mem::take(&mut held.unused));
        if let Some(unit) = &mut self.prefetch {
            unit.counts.late += u64::from(is_late);
            unit.counts.useful += u64::from(is_first_use && !is_late);
            unit.on_access(&Seen { load: *load, missed, is_first_use });
        }
    }

    /// True if the load would be the first one to wait for a prefetched line in flight.
    fn is_late(&self, load: &Load) -> bool {
        let (coming, _) = self.missing_sectors(load);
        self.mshr.is_unwaited(load.line, coming)
    }

    /// Allocates a line for a prefetch, and marks the prefetched sectors as in flight.
    fn fetch_ahead(&mut self, line: u64, parts: Sectors) {
        let (replaced, _) = self.place_for(line);
        self.keep_evicted(line, replaced);
        self.place(&Load::of(line), replaced);
        self.set_parts(line, parts, Some(SectorState::OnWay { doomed: false }));
        self.mshr.prefetch(line, parts);
        self.ledger.iter_mut().for_each(|ledger| ledger.allocate((line, parts.0), None));
        if let Some(held) = self.find_line_mut(line) {
            held.unused = true;
        }
        if let Some(unit) = &mut self.prefetch {
            unit.counts.issued += 1;
        }
    }

    /// Updates the victim cache after a miss or a prefetch of `line`. The evicted line `replaced`, if any, moves
    /// to the victim cache if it is clean. An incomplete copy of `line` in the victim cache is dropped.
    fn keep_evicted(&mut self, line: u64, replaced: Option<u64>) {
        let evicted = self.clean_parts(replaced);
        if let Some(victims) = &mut self.victims {
            victims.remove(line);
            evicted.into_iter().for_each(|(line, parts)| victims.evict(line, parts));
        }
    }

    /// Moves a line from the victim cache to the L1D. If the L1D evicts a clean line to make room, that line
    /// moves to the victim cache.
    fn swap_victim(&mut self, load: &Load) {
        let line = load.line;
        let (replaced, _) = self.place_for(line);
        let (evicted, parts) = (self.clean_parts(replaced), self.kept_parts(line));
        self.victims.iter_mut().for_each(|victims| victims.swap(line, evicted));
        self.place(load, replaced);
        self.set_parts(line, parts.unwrap_or(Sectors(0)), Some(SectorState::Here));
    }

    /// Returns the evicted line `replaced` and its present sectors; `None` if the line is modified or tag-only.
    fn clean_parts(&self, replaced: Option<u64>) -> Option<(u64, Sectors)> {
        let held = self.find_line(replaced?).filter(|held| !held.modified && !held.parts.is_empty())?;
        Some((held.line, held.here(Sectors(u8::MAX))))
    }

    /// Updates tags, filter and bypass schemes after a load has bypassed because of a scheme or the filter.
    fn notify_bypass(&mut self, load: &Load) {
        let (line, set) = (load.line, self.set_of(load.line));
        let known = self.find_line(line).is_some();
        self.record_bypass(line);
        if self.schemes.iter().any(|scheme| scheme.leaves_tags()) {
            if known { self.touch(line, Some(load)) } else { self.keep_tag(line) }
        }
        self.schemes.iter_mut().for_each(|scheme| scheme.on_bypass(load, set, known));
    }

    /// Yields, for each bypass scheme, the path that it requires for a load.
    fn ways_of(&self, load: &Load) -> impl Iterator<Item = Path> {
        self.schemes.iter().map(move |scheme| scheme.way(load, self))
    }

    /// True if a bypass scheme or the decoupled filter permits the load to bypass.
    fn bypasses(&self, load: &Load) -> bool {
        self.filter.is_some() || self.ways_of(load).any(|way| way != Path::Lookup)
    }

    /// Inserts a tag-only line for a bypassed load. In a full set, the line replaces the least recently used
    /// line that is neither in flight nor modified. No other component must be notified of the replaced line:
    /// a cache whose bypass scheme inserts tag-only lines has neither a victim cache nor a decoupled filter.
    /// Its replacement policy is LRU, whose only state is the order of the lines in the set.
    fn keep_tag(&mut self, line: u64) {
        let set = self.set_of(line);
        if self.sets[set].len() == self.config.ways {
            let is_evictable = |held: &CacheLine| matches!(held.status(), Status::Valid | Status::TagOnly);
            let Some(place) = self.sets[set].iter().position(is_evictable) else { return };
            self.sets[set].remove(place);
        }
        self.sets[set].push(CacheLine::tag_only(line));
    }

    /// Notifies the bypass schemes that a period may have ended. Drops all tag-only lines if a scheme
    /// requests that. As in [`Cache::keep_tag`], no other component must be notified of the dropped lines.
    fn end_periods(&mut self, end: impl Fn(&mut dyn Bypass) -> bool) {
        let mut drops = false;
        for scheme in &mut self.schemes {
            drops |= end(&mut **scheme);
        }
        if drops {
            self.sets.iter_mut().for_each(|set| set.retain(|held| held.status() != Status::TagOnly));
        }
    }

    /// Allocates a way for the line of a load, replacing `victim` if there is one. The line is at first
    /// tag-only.
    fn place(&mut self, load: &Load, victim: Option<u64>) {
        let &Load { line, pc, eviction, .. } = load;
        let number = self.set_of(line);
        let set = &mut self.sets[number];
        if let Some(filter) = &mut self.filter {
            filter.on_allocate(number, line, victim, |other| standing(set, other));
        }
        let replaced = set.iter().find(|held| Some(held.line) == victim).map(|held| held.eviction);
        set.retain(|held| Some(held.line) != victim);
        let could_go = |held: &CacheLine| {
            held.status() != Status::Reserved && replaced.is_none_or(|replaced| replaced == held.eviction)
        };
        let stay: Vec<_> = set.iter().map(|held| (held.line, could_go(held))).collect();
        self.replacement.on_insert(InsertedLine { line, pc, set: number, first_way: 0 }, victim, &stay);
        set.push(CacheLine { eviction, ..CacheLine::tag_only(line) });
    }

    /// Records in the decoupled filter that a load bypassed because of the filter or a scheme. If the filter
    /// reuses the tag of another line, that line is dropped from the cache.
    fn record_bypass(&mut self, line: u64) {
        let number = self.set_of(line);
        let set = &mut self.sets[number];
        let lost = self.filter.as_mut().and_then(|filter| filter.on_bypass(number, line, |other| standing(set, other)));
        if let Some(lost) = lost {
            set.retain(|held| held.line != lost);
            self.replacement.on_invalidate(lost);
        }
    }

    /// Adds a waiting load to the MSHR. The load merges into the entries of its sectors in flight, and
    /// allocates an entry for its absent sectors.
    fn wait(&mut self, load: &Load, waiter: W) {
        let (coming, absent) = self.missing_sectors(load);
        if let Some(ledger) = &mut self.ledger {
            for (line, parts) in self.mshr.tracking(load.line, coming) {
                ledger.merge((line, parts.0), load.warp.into());
            }
            if !absent.is_empty() {
                ledger.allocate((load.line, absent.0), Some(load.warp.into()));
            }
        }
        for parts in [coming, absent].into_iter().filter(|parts| !parts.is_empty()) {
            self.mshr.alloc(load.line, parts, waiter);
        }
    }

    /// Makes a stored line the most recently used. If `local` is true, memory does not receive the store, so
    /// the line is marked as modified.
    fn change(&mut self, line: u64, local: bool) {
        self.touch(line, None);
        if let Some(held) = self.find_line_mut(line) {
            held.modified |= local;
        }
    }

    /// Invalidates those of the given sectors of a line that are present.
    fn drop_parts(&mut self, line: u64, parts: Sectors) {
        let here = self.find_line(line).map_or(Sectors(0), |held| held.here(parts));
        self.set_parts(line, here, None);
        self.drop_if_empty(line);
    }

    /// Records that a write overtook those of the given sectors of a line that are in flight. No further load
    /// may merge with these sectors, and their fill is dropped.
    fn overtake(&mut self, line: u64, parts: Sectors) {
        let coming = self.find_line(line).map_or(Sectors(0), |held| held.coming(parts));
        self.mshr.close(line, coming);
        self.set_parts(line, coming, Some(SectorState::OnWay { doomed: true }));
    }

    /// Frees the way of a line if no sector of it is present or in flight. This includes tag-only lines.
    fn drop_if_empty(&mut self, line: u64) {
        if self.find_line(line).is_some_and(|held| held.parts.is_empty()) {
            self.drop_line(line);
        }
    }

    /// Removes a line from the cache, because no sector of it is present or in flight anymore.
    fn drop_line(&mut self, line: u64) {
        let number = self.set_of(line);
        self.sets[number].retain(|held| held.line != line);
        self.replacement.on_invalidate(line);
        if let Some(filter) = &mut self.filter {
            filter.on_store_evict(number, line);
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

    fn find_line(&self, line: u64) -> Option<&CacheLine> {
        self.sets[self.set_of(line)].iter().find(|held| held.line == line)
    }

    fn find_line_mut(&mut self, line: u64) -> Option<&mut CacheLine> {
        let set = self.set_of(line);
        self.sets[set].iter_mut().find(|held| held.line == line)
    }

    /// True if at least one sector of the line is present or in flight.
    fn has_parts(&self, line: u64) -> bool {
        self.find_line(line).is_some_and(|held| !held.parts.is_empty())
    }

    /// Sets the state of the given sectors of a line that occupies a way; `None` makes the sectors absent.
    fn set_parts(&mut self, line: u64, parts: Sectors, to: Option<SectorState>) {
        let Some(held) = self.find_line_mut(line) else { return };
        for part in parts.each() {
            match to {
                Some(state) => held.parts.insert(part, state),
                None => held.parts.remove(&part),
            };
        }
    }

    /// Makes a line the most recently used, and notifies the replacement policy and the decoupled filter.
    /// `load` is the load that uses the line, whose eviction hint the line takes. `None` stands for other
    /// uses; they keep the line's hint.
    fn touch(&mut self, line: u64, load: Option<&Load>) {
        let set = self.set_of(line);
        // Moves the line to the end of the list. The sort is stable, so all other lines keep their order.
        self.sets[set].sort_by_key(|held| held.line == line);
        self.replacement.on_hit(line, load.map_or(0, |load| load.pc));
        if let (Some(load), Some(held)) = (load, self.find_line_mut(line)) {
            held.eviction = load.eviction;
        }
        if let Some(filter) = &mut self.filter {
            filter.on_hit(set, line, load.is_some());
        }
    }
}

impl<W: Waits + Debug + PartialEq> Contents for Cache<W> {
    fn set_of(&self, line: u64) -> usize {
        self.config.index.set_of_line(line)
    }

    fn has_tag(&self, line: u64) -> bool {
        self.find_line(line).is_some()
    }

    fn eviction_candidates(&self, set: usize) -> Option<Vec<u64>> {
        let held = &self.sets[set];
        let candidates = held.iter().filter(|held| held.status() != Status::Reserved);
        (held.len() == self.config.ways).then(|| candidates.map(|held| held.line).collect())
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
