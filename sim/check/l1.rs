//! # Lockstep check of an SM's L1 caches against their golden models
//! The clocked caches of an LSU report the events of each clock edge. These events are replayed in untimed
//! golden models, and the outcomes are compared. Events are replayed in the order in which they happened:
//! fill, recall by the L2, supply of a line to another SM, replay of a waiting load, mode change by SM
//! dueling, prefetch, accesses. Testbenches and `--check` use this module.

use std::collections::BTreeSet;
use std::fmt;

use golden::index::SetIndex;
use golden::l1::banks::Banks;
use golden::l1::bypass::bypass_on_stall::BypassOnStall;
use golden::l1::bypass::{Bypass, CacheInfo, Scheme};
use golden::l1::cache::{Cache, Config};
use golden::l1::coalescer;
use golden::l1::decoupled::Config as Filter;
use golden::l1::event::{
    Event, Fail as TwinFail, FailOrder as TwinOrder, Fails, Load, LoadOutcome, Mismatch as Difference,
    Outcome as TwinOutcome, PrefetchOutcome as TwinPrefetch, RecallOutcome, Sectors, Space, Victim, WriteOutcome,
};
use golden::l1::mshr::{Replay, Waits};
use golden::l1::prefetch;
use golden::l1::prefetch::unit::{Counts, Delivery, Limits, Unit};
use golden::l1::victim::{self, Victims};
use golden::mshr_policy::{self, MshrPolicy};
use golden::replacement::{self, Eviction, Replacement};
use rtl::cells::line::{SECTOR_BYTES, sectors_of};
use rtl::index::IndexConfig;
use rtl::l1::access::{AccessKind, LANES, MemorySpace, WarpAccess};
use rtl::l1::cache::CacheId;
use rtl::l1::config::{CacheConfig, FailOrder, Fetch, L1Config, Organisation, StoreHit};
use rtl::l1::decoupled::{AgeMode, Comparison, DecoupledConfig, TagVictim};
use rtl::l1::mrpb::StallBypass;
use rtl::l1::mshr::Waiter;
use rtl::l1::prefetch::PrefetchLimits;
use rtl::l1::prefetch::unit::{Enqueued, PrefetchOutcome};
use rtl::l1::watch::{Access, Fail, Outcome, PrefetchLookup, RecallEffect, VictimMove, Watch};
use rtl::replacement::ReplacementConfig;
use rtl::replacement::priority::EvictionPriority;

use super::twin::twin;

/// Disagreement between a cache and its golden model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Path of the load-store unit whose cache disagrees, such as `sm3.l1`.
    pub path: String,
    /// Core cycle of the disagreement.
    pub cycle: u64,
    /// Description of the mismatch: the event, both outcomes, and the state on which they depend.
    pub text: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cycle {}, {}: {}", self.cycle, self.path, self.text)
    }
}

impl std::error::Error for Mismatch {}

/// Converts an eviction priority for the golden models.
#[must_use]
pub fn eviction_of(priority: EvictionPriority) -> Eviction {
    match priority {
        EvictionPriority::First => Eviction::First,
        EvictionPriority::Normal => Eviction::Normal,
        EvictionPriority::Last => Eviction::Last,
    }
}

/// Load that waits for a fill, together with the number of the sector that each of its lanes accesses.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Waiting {
    waiter: Waiter,
    part_of: [u8; LANES],
}

impl Waits for Waiting {
    fn part(mut self, parts: Sectors) -> Self {
        let is_in = |lane: usize| parts.0 >> self.part_of[lane] & 1 != 0;
        self.waiter.lanes &= (0..LANES).filter(|&lane| is_in(lane)).fold(0, |lanes, lane| lanes | 1 << lane);
        self
    }
}

/// Golden models of the L1 caches of one load-store unit.
#[derive(Debug)]
pub struct Lockstep {
    path: String,
    /// Golden models of the caches, indexed by [`CacheId`].
    twins: [Cache<Waiting>; 3],
    /// True if the L1D fetches single sectors, false if it fetches whole lines.
    by_sectors: bool,
    /// Sector that each lane accesses, for the instruction that was accepted most recently. The next field,
    /// `part_of`, holds the same for all instructions in the pending table, by row of the table.
    just_taken: [u8; LANES],
    part_of: Vec<[u8; LANES]>,
    /// Reason why the L1D cannot be compared with a golden model; `None` if it is compared.
    blind: Option<String>,
    line_bytes: u32,
    /// Expected result of the contention test for the instruction that was just accepted. The result is true
    /// if the instruction touches at least as many lines as each resident warp would get if the L1D were
    /// divided equally. `None` if no scheme uses the test.
    judged: Option<bool>,
    /// Instructions in flight for which the contention test was true, as a mask with one bit per row of the
    /// pending table.
    contending: u64,
    /// Instructions in flight for which the L1D has not accepted a load yet, as a mask with one bit per row
    /// of the pending table.
    fresh: u64,
    /// Golden model of the word banks of the L1D; `None` if the L1D has no word banks.
    banks: Option<Banks>,
    /// Number of cycles for which the most recently accepted instruction occupies the word banks.
    occupied: u64,
    /// First cycle in which the LSU may accept the next instruction.
    free_from: u64,
}

/// Maximum number of rows of the pending table of a load-store unit.
const ROWS: usize = 64;

const ALL: [CacheId; 3] = [CacheId::L1d, CacheId::Const, CacheId::Texture];

impl Lockstep {
    /// Creates empty golden models of the caches of SM `sm`; `path` is the path of its load-store unit.
    /// `read_only` holds the constant and the texture cache. `own_periods` is true if the streaming monitor
    /// decides itself when its periods end, and false if the warp throttle decides this.
    ///
    /// # Errors
    /// Fails if the index function or the replacement policy of a read-only cache has no golden model. Also
    /// fails if the index function does not fit the cache geometry.
    pub fn new(
        path: &str,
        sm: u8,
        l1: &L1Config,
        read_only: [&CacheConfig; 2],
        own_periods: bool,
    ) -> Result<Self, String> {
        let filter =
            (l1.organisation == Organisation::Decoupled).then(|| filter(&l1.decoupled, l1.dueling.starts_original(sm)));
        let twin = |cache: &CacheConfig, index, filter| {
            Cache::new(Config {
                index,
                ways: cache.ways as usize,
                mshr_entries: cache.mshr_entries as usize,
                mshr_slots: cache.mshr_merges as usize,
                miss_queue: l1.miss_queue as usize,
                fail_order: match l1.fail_order {
                    FailOrder::MshrFirst => TwinOrder::MshrFirst,
                    FailOrder::QueueFirst => TwinOrder::QueueFirst,
                },
                filter,
                updates: l1.store_hit == StoreHit::Update,
                notifies: false,
            })
        };
        let index_of = |cache: &CacheConfig| set_index(&cache.index, cache.sets, l1.line_bytes);
        let [constants, texels] = read_only;
        let read_only = |cache: &CacheConfig| {
            let mut read_only = twin(cache, index_of(cache)?, None);
            read_only.replace_by(policy(&cache.replacement, cache.sets, cache.ways)?);
            Ok::<_, String>(read_only)
        };
        let texels = read_only(texels).map_err(|reason| format!("texture_cache: {reason}"))?;
        let constants = read_only(constants).map_err(|reason| format!("const_cache: {reason}"))?;
        // The golden model of the L1D is complete only if each scheme of the L1D has a golden model.
        // Otherwise the L1D is not checked.
        let l1d = index_of(&l1.cache()).map_err(|reason| format!("l1.index: {reason}")).and_then(|index| {
            let mut l1d = twin(&l1.cache(), index, filter);
            l1d.replace_by(policy(&l1.replacement, l1.sets, l1.ways).map_err(|reason| format!("l1.{reason}"))?);
            schemes(l1, own_periods)?.into_iter().for_each(|scheme| l1d.bypass(scheme));
            prefetcher(l1)?.into_iter().for_each(|unit| l1d.prefetch(unit));
            victims(l1)?.into_iter().for_each(|victims| l1d.keep_victims(victims));
            limits(l1)?.into_iter().for_each(|policy| l1d.limit_by(policy));
            Ok(l1d)
        });
        let blind = l1d.as_ref().err().cloned();
        let twins = [l1d.unwrap_or_else(|_| twin(&l1.cache(), constants.index(), None)), constants, texels];
        Ok(Self {
            path: path.to_owned(),
            twins,
            by_sectors: l1.fetch == Fetch::Sectors,
            just_taken: [0; LANES],
            part_of: vec![[0; LANES]; ROWS],
            blind,
            line_bytes: l1.line_bytes,
            judged: None,
            contending: 0,
            fresh: 0,
            banks: l1.banks.as_words().map(|words| Banks { tag_bank_bits: words.tag_bank_bits.clone() }),
            occupied: 0,
            free_from: 0,
        })
    }

    /// Reason why the L1D cannot be checked; `None` if it is checked.
    #[must_use]
    pub fn blind(&self) -> Option<&str> {
        self.blind.as_deref()
    }

    /// Records the instruction that the LSU accepts at the next edge. The record matters only if the L1D
    /// fetches sectors, if a scheme evaluates contention, or if the L1D has word banks.
    pub fn take(&mut self, access: &WarpAccess) {
        let in_line = u64::from(self.line_bytes - 1);
        self.just_taken = access.address.map(|address| ((address & in_line) / u64::from(SECTOR_BYTES)) as u8);
        let &WarpAccess { kind, space, uncached, resident, mask, address, size_log2, .. } = access;
        let lanes = coalescer::WarpAccess { active: mask, addresses: address, width: 1 << size_log2 };
        let touched = || coalescer::coalesce(&lanes, self.line_bytes as usize).map_or(0, |lines| lines.len());
        let is_read = kind == AccessKind::Load && !uncached && CacheId::of(space) == CacheId::L1d;
        let banks = self.banks.as_ref().filter(|_| is_read);
        self.occupied = banks.map_or(0, |banks| banks.cycles(&lanes, self.line_bytes.into()) as u64);
        let is_judged =
            (kind, space, uncached) == (AccessKind::Load, MemorySpace::Global, false) && resident.value() > 0;
        let l1d = &self.twins[CacheId::L1d as usize];
        self.judged = l1d.needs_contention().then(|| is_judged && l1d.contends(touched(), resident.value().into()));
    }

    /// Configures the golden model of the L1D for a machine with a sharing tracker.
    #[must_use]
    pub fn with_tracker(mut self) -> Self {
        self.twins[CacheId::L1d as usize].notify();
        self
    }

    /// Checks the caches after the edge of `cycle`. A cache that was not evaluated at this edge reports no
    /// events; its golden model must then expect none.
    ///
    /// # Errors
    /// Fails at the first event with different outcomes in a cache and in its golden model.
    pub fn step(&mut self, cycle: u64, seen: &Watch) -> Result<(), Mismatch> {
        self.follow(cycle, seen).map_err(|text| Mismatch { path: self.path.clone(), cycle, text })
    }

    /// Checks the flush at the end of a kernel, before the edge of `cycle`.
    ///
    /// # Errors
    /// Fails if fills are still in flight.
    pub fn flush(&mut self, cycle: u64) -> Result<(), Mismatch> {
        let done = ALL.into_iter().try_for_each(|cache| self.check(cache, Event::Flush, &TwinOutcome::Done));
        done.map_err(|text| Mismatch { path: self.path.clone(), cycle, text })
    }

    /// Sets the number of ways of the L1D's golden model for all later events.
    pub fn set_ways(&mut self, ways: usize) {
        self.twins[CacheId::L1d as usize].resize(ways);
    }

    /// Gives the bypass schemes of the L1D's golden model the list of lines that may be cached in the L1D.
    /// The list applies to all later events.
    pub fn admit(&mut self, lines: &[u64]) {
        self.twins[CacheId::L1d as usize].admit(lines);
    }

    /// True if every reserved line of the golden models waits for a fill, and every pending fill has a
    /// reserved line.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        self.twins.iter().all(Cache::is_consistent)
    }

    fn follow(&mut self, cycle: u64, seen: &Watch) -> Result<(), String> {
        let Watch {
            period,
            fill,
            recall,
            supply,
            drain,
            original,
            dropped,
            prefetch,
            enqueued,
            access: _,
            extra: _,
            taken,
            judged,
        } = *seen;
        if let Some(may_close) = period {
            self.check(CacheId::L1d, Event::PeriodEnd { may_close }, &TwinOutcome::Done)?;
        }
        if let Some((cache, line, sectors, kept)) = fill {
            let event = Event::Fill { line, parts: self.parts_of(cache, sectors) };
            // The clocked cache does not report how many loads wait for the fill, so the comparison uses the
            // golden model's own number. The waiting loads are checked later, when each is replayed.
            let waiters = match self.twins[cache as usize].predict(&event) {
                Ok(TwinOutcome::Filled { waiters, .. }) => waiters,
                _ => 0,
            };
            self.check(cache, event, &TwinOutcome::Filled { kept: self.parts_of(cache, kept), waiters })?;
        }
        self.recall(recall)?;
        if let Some((line, sectors, supplied)) = supply {
            let event = Event::Supply { line, parts: self.parts_of(CacheId::L1d, sectors) };
            self.check(CacheId::L1d, event, &TwinOutcome::Supplied(supplied))?;
        }
        self.drain(drain)?;
        if let Some(original) = original {
            self.check(CacheId::L1d, Event::Switch { original }, &TwinOutcome::Done)?;
        }
        self.recall(dropped)?;
        self.prefetch(prefetch, enqueued, seen.access.is_some())?;
        if seen.access.is_some() {
            self.check(CacheId::L1d, Event::Reach { cycle }, &TwinOutcome::Done)?;
        }
        seen.accesses().try_for_each(|access| self.access(access))?;
        self.check_tag_banks(seen)?;
        if let Some(slot) = taken {
            self.part_of[usize::from(slot)] = self.just_taken;
            self.fresh |= 1 << slot;
            if cycle < self.free_from {
                let free_from = self.free_from;
                return Err(format!("an instruction is accepted before cycle {free_from}, when the banks are free"));
            }
            self.free_from = cycle + self.occupied;
        }
        self.judge(judged)
    }

    /// Checks two events of the L1D's prefetcher: the lookup of a prefetch, and the line put into the
    /// prefetch queue.
    fn prefetch(
        &mut self,
        looked_up: Option<PrefetchLookup>,
        enqueued: Option<Enqueued>,
        has_access: bool,
    ) -> Result<(), String> {
        if let Some(PrefetchLookup { line, queue_used, queued, outcome }) = looked_up {
            if has_access {
                return Err(format!("line {line:#x} is prefetched in the cycle of an access"));
            }
            let parts = self.parts_of(CacheId::L1d, sectors_of(self.line_bytes));
            let (queue_used, queued) = (queue_used as usize, queued as usize);
            let event = Event::Prefetch { line, parts, queue_used, queued };
            self.check(CacheId::L1d, event, &TwinOutcome::Prefetched(convert_prefetch(outcome)))?;
        }
        if self.twins[CacheId::L1d as usize].prefetches() || enqueued.is_some() {
            self.check(CacheId::L1d, Event::Deliver, &TwinOutcome::Delivered(enqueued.map(convert_delivery)))?;
        }
        Ok(())
    }

    /// Checks that the accesses of one cycle use different tag banks, if the L1D has word banks.
    fn check_tag_banks(&self, seen: &Watch) -> Result<(), String> {
        let Some(banks) = &self.banks else { return Ok(()) };
        let mut used = BTreeSet::new();
        for access in seen.accesses() {
            if let Access::Load { cache: CacheId::L1d, line, .. } = *access {
                let bank = banks.tag_bank(line * u64::from(self.line_bytes));
                if !used.insert(bank) {
                    return Err(format!("line {line:#x} is looked up in tag bank {bank}, as another one of its cycle"));
                }
            }
        }
        Ok(())
    }

    /// Returns the counts of prefetched lines in the L1D's golden model.
    #[must_use]
    pub fn prefetch_counts(&self) -> Counts {
        self.twins[CacheId::L1d as usize].prefetch_counts()
    }

    /// True if the L1D accepts this load and it is the first accepted load of its instruction.
    fn is_first(&mut self, cache: CacheId, slot: u8, outcome: Outcome) -> bool {
        let is_accepted = cache == CacheId::L1d && !matches!(outcome, Outcome::Refused(..));
        let is_fresh = self.fresh >> slot & 1 != 0;
        if is_accepted {
            self.fresh &= !(1 << slot);
        }
        is_accepted && is_fresh
    }

    /// Converts a mask of sectors to sector numbers of the golden model. The golden model has a single sector
    /// per line if the cache fetches whole lines.
    fn parts_of(&self, cache: CacheId, sectors: u8) -> Sectors {
        match cache {
            CacheId::L1d if self.by_sectors => Sectors(sectors),
            // If the cache fetches whole lines, a line has only one sector in the golden model.
            _ => Sectors(u8::from(sectors != 0)),
        }
    }

    /// Returns the sectors that a request accesses, in the numbering of the golden model.
    fn requested_sectors(&self, cache: CacheId, waiter: Waiter) -> Sectors {
        let lanes = (0..LANES).filter(|lane| waiter.lanes >> lane & 1 != 0);
        let part_of = self.part_of[usize::from(waiter.slot)];
        self.parts_of(cache, lanes.fold(0, |parts, lane| parts | 1 << part_of[lane]))
    }

    /// Checks the contention test of the instruction just accepted. If the cache or the golden model
    /// performed the test, both must have performed it, with the same result.
    fn judge(&mut self, judged: Option<(u8, bool)>) -> Result<(), String> {
        let (slot, contends) = match (judged, self.judged.take()) {
            (None, None) => return Ok(()),
            (Some((slot, contends)), Some(expected)) if contends == expected => (slot, contends),
            (seen, expected) => {
                return Err(format!("contention test of an instruction: {seen:?}, the twin {expected:?}"));
            }
        };
        self.contending = self.contending & !(1 << slot) | u64::from(contends) << slot;
        Ok(())
    }

    /// Returns the sector that each lane accesses, as numbered by the golden model. All numbers are 0 if the
    /// cache fetches whole lines.
    fn part_of_lanes(&self, cache: CacheId, waiter: Waiter) -> [u8; LANES] {
        let is_in_parts = cache == CacheId::L1d && self.by_sectors;
        if is_in_parts { self.part_of[usize::from(waiter.slot)] } else { [0; LANES] }
    }

    /// True if the request belongs to an instruction that the contention test found contentious.
    fn contends(&self, waiter: Waiter) -> bool {
        self.contending >> waiter.slot & 1 != 0
    }

    fn access(&mut self, access: &Access) -> Result<(), String> {
        match *access {
            Access::Load { cache, space, line, pc, priority, warp, waiter, queue_used, outcome } => {
                let parts = self.requested_sectors(cache, waiter);
                let (contends, first) = (self.contends(waiter), self.is_first(cache, waiter.slot, outcome));
                let eviction = eviction_of(priority);
                let load = Load { line, parts, pc, warp, first, space: space_of(space), contends, eviction };
                let waiter = Waiting { waiter, part_of: self.part_of_lanes(cache, waiter) };
                let event = Event::Load { load, waiter, queue_used: queue_used as usize };
                self.check(cache, event, &TwinOutcome::Load(load_outcome(outcome)?))
            }
            Access::Store { line, space, waiter, queue_used, outcome } => {
                if matches!(space, MemorySpace::Const | MemorySpace::Texture) {
                    return Err(format!("a store to {space:?}"));
                }
                let parts = self.requested_sectors(CacheId::L1d, waiter);
                let event = Event::Store { line, parts, space: space_of(space), queue_used: queue_used as usize };
                self.check(CacheId::L1d, event, &TwinOutcome::Write(write(outcome)?))
            }
            Access::Atomic { line, waiter, queue_used, outcome } => {
                let parts = self.requested_sectors(CacheId::L1d, waiter);
                let event = Event::Atomic { line, parts, queue_used: queue_used as usize };
                self.check(CacheId::L1d, event, &TwinOutcome::Write(write(outcome)?))
            }
            Access::Bypass { line, pc, priority, warp, waiter, chosen } => {
                let parts = self.requested_sectors(CacheId::L1d, waiter);
                let (contends, eviction) = (self.contends(waiter), eviction_of(priority));
                let load = Load { parts, pc, warp, contends, eviction, ..Load::of(line) };
                self.check(CacheId::L1d, Event::Bypass { load, chosen }, &TwinOutcome::Done)
            }
        }
    }

    /// Checks the invalidation of a line in all L1 caches, either by a recall from the L2 or by a coherent
    /// load.
    fn recall(&mut self, seen: Option<(u64, [RecallEffect; 3])>) -> Result<(), String> {
        let Some((line, found)) = seen else { return Ok(()) };
        ALL.into_iter().zip(found).try_for_each(|(cache, found)| {
            self.check(cache, Event::Recall { line }, &TwinOutcome::Recalled(recall_outcome(found)))
        })
    }

    /// Checks the replay of a waiting load. A load must be replayed in a cycle if and only if a golden model
    /// has a load to replay. If the golden models of several caches have a load to replay, the LSU may choose
    /// any of these caches.
    fn drain(&mut self, seen: Option<(CacheId, u64, Waiter)>) -> Result<(), String> {
        let Some((cache, line, waiter)) = seen else {
            return ALL.into_iter().try_for_each(|cache| self.check(cache, Event::Drain, &TwinOutcome::Drained(None)));
        };
        let (last, part_of) = match self.twins[cache as usize].predict(&Event::Drain) {
            Ok(TwinOutcome::Drained(Some(replay))) => (replay.last, replay.waiter.part_of),
            _ => (false, [0; LANES]),
        };
        let waiter = Waiting { waiter, part_of };
        self.check(cache, Event::Drain, &TwinOutcome::Drained(Some(Replay { line, waiter, last })))
    }

    fn check(&mut self, cache: CacheId, event: Event<Waiting>, seen: &TwinOutcome<Waiting>) -> Result<(), String> {
        if cache == CacheId::L1d && self.blind.is_some() {
            return Ok(());
        }
        self.twins[cache as usize].check(event, seen).map_err(|difference: Difference| match cache {
            CacheId::L1d => difference.to_string(),
            CacheId::Const => format!("const_cache: {difference}"),
            CacheId::Texture => format!("texture_cache: {difference}"),
        })
    }
}

/// Creates the golden model of a replacement policy, for a cache with `sets` sets of `ways` ways.
///
/// # Errors
/// Fails if the policy has no golden model.
pub fn policy(config: &ReplacementConfig, sets: u32, ways: u32) -> Result<Box<dyn Replacement>, String> {
    let scheme: Box<dyn replacement::Scheme> = twin(config).map_err(|reason| format!("replacement: {reason}"))?;
    Ok(scheme.twin(sets as usize, ways as usize))
}

/// Creates the golden models of the L1D's bypass schemes. Decoupled tags are excluded, since the golden model
/// of the cache itself includes them.
fn schemes(l1: &L1Config, own_periods: bool) -> Result<Vec<Box<dyn Bypass>>, String> {
    let place = CacheInfo { lines: (l1.sets * l1.ways) as usize, own_periods };
    let scheme: Box<dyn Scheme> = twin(&l1.bypass).map_err(|reason| format!("l1.bypass: {reason}"))?;
    let covered = match l1.mrpb.bypass {
        StallBypass::None => None,
        StallBypass::Associativity => Some(Fails { line_alloc: true, ..Fails::default() }),
        StallBypass::All => {
            Some(Fails { line_alloc: true, mshr_entry: true, mshr_merge: true, miss_queue: true, mshr_policy: true })
        }
    };
    let give_way = covered.map(|covered| Box::new(BypassOnStall { covered }) as Box<dyn Bypass>);
    Ok(scheme.twin(&place).into_iter().chain(give_way).collect())
}

/// Creates the golden model of the L1D's prefetcher, if the L1D has one.
fn prefetcher(l1: &L1Config) -> Result<Option<Unit>, String> {
    let &PrefetchLimits { queue, mshr_share, miss_queue_share, page_bytes } = &l1.prefetch_limits;
    let place = prefetch::CacheInfo { page_lines: (page_bytes / l1.line_bytes).into() };
    let limits = Limits { queue: queue as usize, mshr: mshr_share as usize, miss_queue: miss_queue_share as usize };
    let scheme: Box<dyn prefetch::Scheme> = twin(&l1.prefetch).map_err(|reason| format!("l1.prefetch: {reason}"))?;
    Ok(scheme.twin(&place).map(|prefetcher| Unit::new(prefetcher, place, limits)))
}

/// Creates the golden model of the L1D's MSHR policy, if the L1D has one.
fn limits(l1: &L1Config) -> Result<Option<Box<dyn MshrPolicy>>, String> {
    let scheme: Box<dyn mshr_policy::Scheme> =
        twin(&l1.mshr_policy).map_err(|reason| format!("l1.mshr_policy: {reason}"))?;
    Ok(scheme.twin())
}

/// Creates the golden model of the L1D's victim cache, if the L1D has one.
fn victims(l1: &L1Config) -> Result<Option<Victims>, String> {
    let scheme: Box<dyn victim::Scheme> = twin(&l1.victim).map_err(|reason| format!("l1.victim: {reason}"))?;
    Ok(scheme.twin().map(Victims::new))
}

/// Converts a memory space to the two spaces of the golden model, global and local. Constants and textures
/// become global, since all threads share them.
fn space_of(space: MemorySpace) -> Space {
    match space {
        MemorySpace::Local => Space::Local,
        MemorySpace::Global | MemorySpace::Const | MemorySpace::Texture => Space::Global,
    }
}

fn filter(config: &DecoupledConfig, starts_original: bool) -> Filter {
    // `probe_extra`, the latency of a tag probe, is not passed on, because the golden model has no timing.
    let &DecoupledConfig {
        tag_ways,
        threshold,
        threshold_cmp,
        rc_init,
        age_mode,
        tag_victim,
        store_evict_ages,
        probe_extra: _,
    } = config;
    Filter {
        tags: tag_ways as usize,
        threshold,
        above: threshold_cmp == Comparison::Above,
        first: rc_init,
        ages_twice: age_mode == AgeMode::Twice,
        forgets_any: tag_victim == TagVictim::Any,
        stores_age: store_evict_ages,
        starts_original,
    }
}

/// Returns the golden model of a set-index function, for a cache with `sets` sets.
///
/// # Errors
/// Fails if the function has no golden model or does not fit the cache geometry.
pub fn set_index(index: &IndexConfig, sets: u32, line_bytes: u32) -> Result<SetIndex, String> {
    let scheme: Box<dyn golden::index::IndexScheme> = twin(index)?;
    let (function, address_bits) = scheme.function(sets.ilog2());
    SetIndex::new(function, line_bytes.ilog2(), address_bits).map_err(|e| e.to_string())
}

fn victim_of((line, modified): (u64, bool)) -> Victim {
    Victim { line, modified }
}

fn load_outcome(outcome: Outcome) -> Result<LoadOutcome, String> {
    Ok(match outcome {
        Outcome::Hit => LoadOutcome::Hit,
        Outcome::HitPending => LoadOutcome::HitPending,
        Outcome::VictimHit(VictimMove::Stays) => LoadOutcome::VictimHit { moves: false, victim: None },
        Outcome::VictimHit(VictimMove::ToL1d(gone)) => {
            LoadOutcome::VictimHit { moves: true, victim: gone.map(victim_of) }
        }
        Outcome::Miss(victim) => LoadOutcome::Miss { victim: victim.map(victim_of) },
        Outcome::Refused(first, all) => LoadOutcome::Refused { first: reason(first), all: reasons(all) },
        Outcome::Evicted | Outcome::Updated | Outcome::WrittenBack | Outcome::StoreMissed | Outcome::Overtook => {
            return Err(format!("a load has the outcome {outcome:?}, which only stores have"));
        }
    })
}

fn write(outcome: Outcome) -> Result<WriteOutcome, String> {
    Ok(match outcome {
        Outcome::Evicted => WriteOutcome::Evicted,
        Outcome::Updated => WriteOutcome::Updated,
        Outcome::WrittenBack => WriteOutcome::WrittenBack,
        Outcome::StoreMissed => WriteOutcome::Missed,
        Outcome::Overtook => WriteOutcome::Pending,
        Outcome::Refused(first, all) => WriteOutcome::Refused { first: reason(first), all: reasons(all) },
        Outcome::Hit | Outcome::HitPending | Outcome::VictimHit(_) | Outcome::Miss(_) => {
            return Err(format!("a store has the outcome {outcome:?}, which only loads have"));
        }
    })
}

fn recall_outcome(found: RecallEffect) -> RecallOutcome {
    match found {
        RecallEffect::Absent => RecallOutcome::Missed,
        RecallEffect::Dropped => RecallOutcome::Dropped,
        RecallEffect::Overtook => RecallOutcome::Pending,
        RecallEffect::Kept => RecallOutcome::Kept,
    }
}

fn convert_prefetch(outcome: PrefetchOutcome) -> TwinPrefetch {
    match outcome {
        PrefetchOutcome::Issued(victim) => TwinPrefetch::Issued { victim: victim.map(victim_of) },
        PrefetchOutcome::Present => TwinPrefetch::Present,
        PrefetchOutcome::InFlight => TwinPrefetch::InFlight,
        PrefetchOutcome::Waits => TwinPrefetch::Waits,
    }
}

fn convert_delivery(enqueued: Enqueued) -> Delivery {
    match enqueued {
        Enqueued::Queued(line) => Delivery::Queued(line),
        Enqueued::QueueFull(line) => Delivery::QueueFull(line),
        Enqueued::OtherPage => Delivery::OtherPage,
    }
}

fn reason(fail: Fail) -> TwinFail {
    match fail {
        Fail::LineAlloc => TwinFail::LineAlloc,
        Fail::MshrEntry => TwinFail::MshrEntry,
        Fail::MshrMerge => TwinFail::MshrMerge,
        Fail::MissQueue => TwinFail::MissQueue,
        Fail::MshrPolicy => TwinFail::MshrPolicy,
    }
}

fn reasons(all: u8) -> Fails {
    let has = |fail: Fail| all >> fail as u8 & 1 != 0;
    Fails {
        line_alloc: has(Fail::LineAlloc),
        mshr_entry: has(Fail::MshrEntry),
        mshr_merge: has(Fail::MshrMerge),
        miss_queue: has(Fail::MissQueue),
        mshr_policy: has(Fail::MshrPolicy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::preset;
    use rtl::l1::bypass::contention::{Contentious, Warps};
    use rtl::l1::config::{BanksConfig, WordBanksConfig};

    /// L1 with one set of two ways, two MSHR entries with two merge slots each, and a miss queue of four
    /// requests.
    fn l1() -> L1Config {
        L1Config { sets: 1, ways: 2, mshr_entries: 2, mshr_merges: 2, miss_queue: 4, ..preset("fermi").l1 }
    }

    fn lockstep() -> Lockstep {
        let l1 = L1Config { ways: 1, miss_queue: 2, ..l1() };
        let read_only = CacheConfig { ways: 2, ..l1.cache() };
        Lockstep::new("sm3.l1", 3, &l1, [&read_only; 2], true).unwrap()
    }

    fn load_of(line: u64, outcome: Outcome) -> Watch {
        let waiter = Waiter { slot: 1, lanes: 1 };
        let (cache, space) = (CacheId::L1d, MemorySpace::Global);
        let priority = EvictionPriority::Normal;
        let access = Access::Load { cache, space, line, pc: 0, priority, warp: 0, waiter, queue_used: 0, outcome };
        Watch { access: Some(access), ..Watch::default() }
    }

    #[test]
    fn a_cache_that_does_as_its_twin_passes() {
        let mut lockstep = lockstep();
        lockstep.step(1, &load_of(7, Outcome::Miss(None))).unwrap();
        let waiter = Waiter { slot: 1, lanes: 1 };
        let fill = Some((CacheId::L1d, 7, 0b1111, 0b1111));
        let arrived = Watch { fill, drain: Some((CacheId::L1d, 7, waiter)), ..Watch::default() };
        lockstep.step(9, &arrived).unwrap();
        lockstep.step(10, &load_of(7, Outcome::Hit)).unwrap();
        assert!(lockstep.is_consistent());
    }

    #[test]
    fn a_false_hit_is_reported_with_cycle_path_and_state() {
        let error = lockstep().step(118, &load_of(7, Outcome::Hit)).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("cycle 118, sm3.l1: Load { load: Load { line: 7,"), "{text}");
        assert!(text.contains("the cache says Load(Hit), the twin Load(Miss { victim: None })"), "{text}");
        assert!(text.contains("0 of 2 MSHR entries in use"), "{text}");
    }

    #[test]
    fn a_waiter_that_stays_too_long_is_reported() {
        let mut lockstep = lockstep();
        lockstep.step(1, &load_of(7, Outcome::Miss(None))).unwrap();
        let late = Watch { fill: Some((CacheId::L1d, 7, 0b1111, 0b1111)), ..Watch::default() };
        let text = lockstep.step(9, &late).unwrap_err().to_string();
        assert!(text.starts_with("cycle 9, sm3.l1: Drain: the cache says Drained(None)"), "{text}");
    }

    #[test]
    fn a_waiter_that_leaves_unasked_is_reported() {
        let drain = Some((CacheId::L1d, 7, Waiter { slot: 1, lanes: 1 }));
        assert!(lockstep().step(9, &Watch { drain, ..Watch::default() }).is_err());
    }

    #[test]
    fn a_fill_of_the_wrong_cache_is_reported() {
        let mut lockstep = lockstep();
        lockstep.step(1, &load_of(7, Outcome::Miss(None))).unwrap();
        let wrong = Watch { fill: Some((CacheId::Texture, 7, 0b1111, 0b1111)), ..Watch::default() };
        let text = lockstep.step(9, &wrong).unwrap_err().to_string();
        assert!(text.starts_with("cycle 9, sm3.l1: texture_cache: Fill { line: 7, parts: Sectors(1) }"), "{text}");
    }

    #[test]
    fn an_atomic_that_leaves_the_copy_alone_is_reported() {
        let mut lockstep = lockstep();
        lockstep.step(1, &load_of(7, Outcome::Miss(None))).unwrap();
        let outcome = Outcome::StoreMissed;
        let seen = Watch {
            access: Some(Access::Atomic { line: 7, waiter: Waiter { slot: 1, lanes: 1 }, queue_used: 0, outcome }),
            ..Watch::default()
        };
        let text = lockstep.step(2, &seen).unwrap_err().to_string();
        assert!(text.contains("the cache says Write(Missed), the twin Write(Pending)"), "{text}");
    }

    #[test]
    fn an_outcome_of_the_wrong_kind_is_reported() {
        let text = lockstep().step(4, &load_of(7, Outcome::Overtook)).unwrap_err().to_string();
        assert_eq!(text, "cycle 4, sm3.l1: a load has the outcome Overtook, which only stores have");
    }

    #[test]
    fn loads_that_contend_are_followed_to_their_misses() {
        let l1 = L1Config { bypass: Contentious {}.into(), ..l1() };
        let new = || Lockstep::new("sm3.l1", 3, &l1, [&l1.cache(); 2], true).unwrap();
        let waiter = Waiter { slot: 1, lanes: 1 };
        // Two warps share a cache of two lines, so the share of each warp is one line. An access to one line
        // already touches the whole share of its warp, so the instruction counts as contentious.
        let take = |lockstep: &mut Lockstep, resident| {
            lockstep.take(&WarpAccess { resident: Warps::new(resident), mask: 1, ..WarpAccess::default() });
        };
        let judged = |contends| Watch { judged: Some((1, contends)), ..Watch::default() };
        let mut lockstep = new();
        take(&mut lockstep, 2);
        lockstep.step(1, &judged(true)).unwrap();
        let text = lockstep.step(2, &load_of(7, Outcome::Miss(None))).unwrap_err().text;
        assert!(text.contains("the path of the load of line 0x7 contradicts the bypass schemes"), "{text}");
        let priority = EvictionPriority::Normal;
        let past = Access::Bypass { line: 7, pc: 0, priority, warp: 0, waiter, chosen: true };
        lockstep.step(2, &Watch { access: Some(past), ..Watch::default() }).unwrap();
        take(&mut lockstep, 1);
        lockstep.step(3, &judged(false)).unwrap();
        let text = lockstep.step(4, &Watch { access: Some(past), ..Watch::default() }).unwrap_err().text;
        assert!(text.contains("the path of the load of line 0x7 contradicts the bypass schemes"), "{text}");
        for (resident, seen) in [(2, judged(false)), (1, judged(true)), (1, Watch::default())] {
            let mut lockstep = new();
            take(&mut lockstep, resident);
            let text = lockstep.step(1, &seen).unwrap_err().text;
            assert!(text.starts_with("contention test of an instruction: "), "{text}");
        }
    }

    /// Returns golden models of caches whose L1D has word banks.
    fn with_word_banks() -> Lockstep {
        let l1 = L1Config { banks: BanksConfig::Words(WordBanksConfig::default()), ..l1() };
        Lockstep::new("sm3.l1", 3, &l1, [&l1.cache(); 2], true).unwrap()
    }

    #[test]
    fn an_instruction_that_enters_before_the_word_banks_are_free_is_reported() {
        // The 32 lanes access 32 different words in the same bank, which takes 32 cycles.
        let address = std::array::from_fn(|lane| 128 * lane as u64);
        let load = WarpAccess { mask: u32::MAX, size_log2: 2, address, ..WarpAccess::default() };
        let taken = Watch { taken: Some(1), ..Watch::default() };
        for (cycle, is_early) in [(41, true), (42, false)] {
            let mut lockstep = with_word_banks();
            lockstep.take(&load);
            lockstep.step(10, &taken).unwrap();
            lockstep.take(&load);
            let passed = lockstep.step(cycle, &taken);
            assert_eq!(passed.is_err(), is_early, "{passed:?}");
        }
    }

    #[test]
    fn two_lookups_in_one_tag_bank_are_reported() {
        let second =
            |line: u64| Watch { extra: [load_of(line, Outcome::Hit).access, None, None], ..load_of(0, Outcome::Hit) };
        for (line, is_refused) in [(1, false), (2, false), (5, true)] {
            assert_eq!(with_word_banks().check_tag_banks(&second(line)).is_err(), is_refused, "line {line}");
        }
    }

    #[test]
    fn a_flush_while_a_line_is_on_its_way_is_reported() {
        let mut lockstep = lockstep();
        lockstep.step(1, &load_of(7, Outcome::Miss(None))).unwrap();
        assert!(lockstep.flush(2).is_err());
    }
}
