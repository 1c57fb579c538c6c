//! # Cache of the LSU
//! Combines tags, data and MSHR with the status function of loads and the write path of stores and atomics
//! (li2015 section 2.2, khairy2015 section 3.1). The L1D, the constant cache and the texture cache are
//! instances of this hardware block; the constant and texture caches serve only loads.
//!
//! | port    | dir | payload      | contract                                                      |
//! |---------|-----|--------------|---------------------------------------------------------------|
//! | `load`  | in  | `LineAccess` | one per cycle over all caches; a refused access changes nothing |
//! | `beside` | in  | `LineAccess` | further L1D loads in a cycle that has accepted a load; each is served if it hits in unused banks |
//! | `write` | in  | `LineAccess` | shares the port of `load`; stores, reductions and atomics of the L1D |
//! | `fill`  | in  | `Reply`      | a line that the cache requested                               |
//! | `drain` | out | waiting load | delivers the bytes of a filled line; one load per cycle over all caches |
//! | `recall` | in | line         | one per cycle, through separate ports, in machines where the L2 recalls lines |
//! | `supply` | in | line         | one per cycle, through separate ports, for another SM, in machines with a sharing tracker |
//!
//! All requests to memory enter the miss queue, which the three caches share; results enter the pending
//! table. The data array has two read ports. One can serve a load that waited for its line. In the same
//! cycle, the other can serve a hit or the writeback of a modified victim.
//!
//! In an L1D that fetches sectors, the data array has one bank per sector of a line. With `l1.lookups` above
//! 1, further loads can read the banks that the first access of the cycle leaves unused. All loads of a cycle
//! together read at most as many bytes as a line has, so the data ports and the path to the pending table
//! need no additional width. A further load is served only if it hits, because the MSHR and the miss queue
//! have one port each, which the first access uses. So at most one miss, pending hit, store, atomic or bypass
//! is served per cycle.
//!
//! In an L1D with word banks, each further load must use a tag bank that no earlier access of the cycle uses.
//! The coalescer spaces the loads so that each data bank has a cycle for each word of a load
//! (`word_banks.rs`).
//!
//! Part of `rtl/l1/lsu.rs`.
//! Bench: `tb/l1/lsu.rs`, `tb/l1/cycles.rs` and `tb/l1/streams.rs`.

mod choice;
mod policy;
mod prefetch;
mod sectored;
mod victim;

use serde::{Deserialize, Serialize};

use super::access::{AccessKind, MemorySpace};
use super::bypass::Schemes;
use super::coalescer::LineAccess;
use super::config::{CacheConfig, FailOrder, Fetch, L1Config, StoreHit};
use super::decoupled::Moves;
use super::lsu::LsuPlace;
use super::miss_queue::{MissKind, MissQueue};
use super::mshr::{Lookup, Mshr, MshrShape, WHOLE, Waiter};
use super::pending::Pending;
use super::prefetch::unit::Prefetcher;
use super::sectors::{SectorStore, Sectors};
use super::stats::{L1Features, L1Stats};
use super::tag_store::TagStore;
use super::tags::{LineUse, Probe, Victim};
use super::ticket;
use super::victim::unit::{VictimCache, VictimShape};
use super::watch::{Fail, Outcome, RecallEffect};
use super::word_banks::WordBanks;
use crate::cells::atomic::AtomicOp;
use crate::cells::line::LineData;
use crate::cells::line::{LINE_BYTES, SECTOR_BYTES, bytes_of_sectors, sectors_of};
use crate::choice::CacheGeometry;
use crate::index::IndexUnit;
use crate::kernel::{
    AnyEdge, Array, ArraySpec, Collide, Counted, CounterReader, Describe, DescribeExt, Logic, Storage, bits_for,
};
use crate::mshr_policy;
use crate::noc::packet::Reply;
use crate::replacement::Source;
use crate::replacement::priority::EvictionPriority;
use crate::throttle::Losses;
use crate::tracker::ForwardResult;

/// Number of caches of the LSU: L1D, constant cache and texture cache.
pub const CACHES: usize = 3;

/// Identifier of a cache of the LSU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheId {
    /// L1 data cache, for global and local memory.
    L1d,
    /// Constant cache, for constant memory.
    Const,
    /// Texture cache, for texture memory.
    Texture,
}

impl CacheId {
    /// Returns the cache with the given number: 0 for the L1D, 1 for the constant cache, 2 for the texture
    /// cache.
    pub(super) fn from_number(number: u32) -> Self {
        match number {
            0 => Self::L1d,
            1 => Self::Const,
            _ => Self::Texture,
        }
    }

    /// Returns the cache that serves a memory space.
    #[must_use]
    pub fn of(space: MemorySpace) -> Self {
        match space {
            MemorySpace::Global | MemorySpace::Local => Self::L1d,
            MemorySpace::Const => Self::Const,
            MemorySpace::Texture => Self::Texture,
        }
    }
}

/// State of one cache of the LSU.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Cache {
    path: String,
    id: CacheId,
    fail_order: FailOrder,
    tags: TagStore,
    data: Array<LineData>,
    /// Sector states of each line; `None` if misses fetch whole lines.
    sectors: Option<SectorStore>,
    /// Number of loads that the cache looks up per cycle.
    lookups: u32,
    /// Mask of the data banks (one per sector) that were read by the last access and by the further loads
    /// served in the same cycle. All bits are set if that access read a modified victim line for its
    /// writeback. Meaningless in a cache without sectors.
    banks: u8,
    /// Assignment of lines and words to banks, in an L1D with word banks; otherwise `None`.
    word_banks: Option<WordBanks>,
    ways: u32,
    /// Mask of all bytes of a line.
    whole: u128,
    all_sectors: u8,
    mshr: Mshr,
    /// MSHR policy of the L1D, if it has one.
    mshr_policy: Option<Box<dyn mshr_policy::Hooks>>,
    /// Bypass schemes, which decide which loads bypass this cache.
    schemes: Schemes,
    /// Prefetcher of the L1D, if it has one.
    prefetcher: Option<Box<Prefetcher>>,
    /// Victim cache of the L1D, if it has one.
    victims: Option<Box<VictimCache>>,
    /// Detector of lost locality, used by the warp throttle. It detects that a warp misses a line which it
    /// fetched before and which was then evicted.
    losses: Option<Box<dyn Losses>>,
    /// True if the last miss was to a line that the same warp had fetched before and that had then been
    /// evicted.
    lost: bool,
    /// Number of the set that the last access probed. A refused access stays refused at least until a way of
    /// this set changes, an MSHR entry or a miss-queue entry becomes free, or the MSHR policy decides
    /// differently.
    pub probed: u32,
    /// True if a global store updates the cached copy; if false, the store evicts it.
    updates: bool,
    /// True if evictions are reported to the sharing tracker.
    notifies: bool,
    pub stats: L1Stats,
}

impl Cache {
    /// Creates an empty cache at the hierarchical path `path`. The L1D configuration `l1` provides the line
    /// size. It also provides the priority of the fail reasons, for cycles in which several apply.
    pub fn new(path: String, id: CacheId, config: &CacheConfig, l1: &L1Config, place: &LsuPlace) -> Self {
        let &LsuPlace { line_bits, is_recalled, is_tracked, .. } = place;
        // Recalls by the L2 and line supplies to other SMs need the same extra ports of the arrays, since
        // both look up lines in parallel with the accesses of the SM. A machine supports recalls or line
        // supplies, but not both.
        let is_recalled = is_recalled || is_tracked;
        let &CacheConfig { sets, ways, mshr_entries, mshr_merges, ref index, ref replacement } = config;
        let line_bytes = l1.line_bytes;
        let lines = sets * ways;
        let data = ArraySpec {
            path: format!("{path}.data"),
            storage: Storage::Sram,
            rows: lines,
            columns: 1,
            reads: 2 + u32::from(is_tracked && id == CacheId::L1d),
            writes: 2,
            collide: Collide::New,
        };
        let index = IndexUnit::new(index, sets, line_bytes, line_bits);
        let tags = match id {
            CacheId::L1d => TagStore::of_l1d(&path, l1, index, line_bits, is_recalled),
            CacheId::Const | CacheId::Texture => {
                let group = if id == CacheId::Const { "const_cache" } else { "texture_cache" };
                let place = CacheGeometry { group, path: &path, sets, ways };
                TagStore::plain(&place, replacement, index, line_bits, is_recalled)
            }
        };
        let schemes = match id {
            CacheId::L1d => Schemes::new(&path, l1),
            CacheId::Const | CacheId::Texture => Schemes::default(),
        };
        let is_sectored = id == CacheId::L1d && l1.fetch == Fetch::Sectors;
        let lookups = if id == CacheId::L1d { l1.lookups } else { 1 };
        let num_sectors = if is_sectored { line_bytes / SECTOR_BYTES } else { 1 };
        let set_way_bits = bits_for(lines);
        let shape = MshrShape { line_bits, set_way_bits, sectors: num_sectors };
        let victim_shape =
            VictimShape { line_bits, line_bytes, sectors: num_sectors, set_bits: sets.ilog2(), mshr_entries };
        let victims = match id {
            CacheId::L1d => l1.victim.unit(&path, victim_shape, is_recalled),
            CacheId::Const | CacheId::Texture => None,
        };
        let mshr_policy = match id {
            CacheId::L1d => l1.mshr_policy.watched_hooks(&l1.mshr_info(&path)),
            CacheId::Const | CacheId::Texture => None,
        };
        let of_words = |words| WordBanks::new(words, line_bytes, line_bits);
        Self {
            id,
            fail_order: l1.fail_order,
            tags,
            data: Array::new(data, line_bytes),
            sectors: is_sectored.then(|| SectorStore::new(&path, (sets, ways), num_sectors, (lookups, is_recalled))),
            lookups,
            banks: 0,
            word_banks: l1.banks.as_words().filter(|_| id == CacheId::L1d).map(of_words),
            ways,
            whole: u128::MAX >> (LINE_BYTES as u32 - line_bytes),
            all_sectors: sectors_of(line_bytes),
            mshr: Mshr::new(mshr_entries, mshr_merges, shape),
            mshr_policy,
            schemes,
            prefetcher: None,
            victims,
            losses: None,
            lost: false,
            probed: 0,
            updates: id == CacheId::L1d && l1.store_hit == StoreHit::Update,
            notifies: id == CacheId::L1d && is_tracked,
            stats: L1Stats::default(),
            path,
        }
    }

    /// Sets the detector of lost locality for the warp throttle. The detector finds misses to lines that the
    /// same warp fetched before and that were then evicted.
    pub fn notice_losses(&mut self, losses: Option<Box<dyn Losses>>) {
        self.losses = losses;
    }

    /// True if the last miss was to a line that the same warp had fetched before and that had then been
    /// evicted.
    pub fn had_lost(&self) -> bool {
        self.lost
    }

    /// Makes any later read of a row of the data array panic if the row was never written.
    pub fn refuse_unwritten(&mut self) {
        self.data.refuse_unwritten();
    }

    /// Starts to maintain digests (hashes) of the array contents.
    pub fn record(&mut self) {
        self.tags.record();
        self.data.record();
        if let Some(sectors) = &mut self.sectors {
            sectors.record();
        }
        if let Some(losses) = &mut self.losses {
            losses.record();
        }
        self.schemes.record();
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.record();
        }
        if let Some(victims) = &mut self.victims {
            victims.record();
        }
        if let Some(policy) = &mut self.mshr_policy {
            policy.record();
        }
    }

    /// True if no line is in flight and no load waits for the bytes of a line.
    pub fn is_idle(&self) -> bool {
        self.mshr.is_empty()
    }

    /// Invalidates all lines at the end of a kernel. Modified lines are dropped without a writeback: they
    /// belong to local memory, whose contents are not needed after the kernel.
    ///
    /// # Panics
    /// Panics if a line is still in flight.
    pub fn flush(&mut self) {
        assert!(self.mshr.is_empty(), "{}: flushed while fills are in flight", self.path);
        self.tags.clear();
        if let Some(sectors) = &mut self.sectors {
            sectors.clear();
        }
        if let Some(losses) = &mut self.losses {
            losses.clear();
        }
        self.schemes.clear();
        self.clear_prefetches();
        if let Some(victims) = &mut self.victims {
            victims.clear();
        }
        if let Some(policy) = &mut self.mshr_policy {
            policy.clear();
        }
    }

    /// Flushes the cache and limits it to `ways` ways.
    pub fn set_ways(&mut self, ways: u32) {
        self.flush();
        self.tags.set_ways(ways);
    }

    /// True if tags and MSHR agree: every reserved way has exactly one pending MSHR entry, and no line has
    /// more than one tag.
    pub fn is_consistent(&self) -> bool {
        self.tags.count_reserved() == self.mshr.pending_lines()
            && self.tags.is_consistent()
            && self.has_consistent_sectors()
            && self.has_distinct_victims()
    }

    /// Returns the index of the set to which a line maps.
    pub fn set_of(&self, line: u64) -> u32 {
        self.tags.set_of(line)
    }

    /// True if a load still waits to receive the bytes of a line that has arrived.
    pub fn has_ready(&self) -> bool {
        self.mshr.has_ready()
    }

    /// Fills a line, or some sectors of a line. Returns the set and the mask of the sectors that stay valid.
    /// Returns `None`, without filling, if waiting loads still have to read the previous line of the way.
    ///
    /// # Panics
    /// Panics if no MSHR entry is pending for the line.
    pub fn fill(&mut self, at: &impl AnyEdge, reply: &Reply) -> Option<(u32, u8)> {
        let &Reply { line, sectors, .. } = reply;
        let Some((entry, set_way)) = self.mshr.pending_entry(line, sectors) else {
            panic!("cycle {}, {}: fill of line {line:#x} without a waiter", at.cycle(), self.path)
        };
        if self.mshr.drains(set_way, sectors) {
            return None;
        }
        let ready = self.mshr.ready_entries();
        self.mshr.at(at.tick()).fill_entry(entry);
        let (set, way) = (set_way / self.ways, set_way % self.ways);
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.fill(at, (set, way), line, self.mshr.ready_entries() != ready);
        }
        if self.sectors.is_some() {
            return Some((set, self.fill_sectors(at, (set, way), reply)));
        }
        let kept = self.tags.fill(at, set, way);
        self.data.update(at, set_way, 0, |cell| cell.0 = reply.data);
        Some((set, if kept { self.all_sectors } else { 0 }))
    }

    /// Delivers the bytes of an arrived line to one waiting load. If loads wait for several arrived lines,
    /// the line that arrived first is served. Returns `(line, load, last)`; `last` is true if no other load
    /// waits for the line.
    pub fn drain(&mut self, at: &impl AnyEdge, pending: &mut Pending) -> Option<(u64, Waiter, bool)> {
        let filled = self.mshr.ready_entries();
        let entry = self.mshr_policy.as_ref().and_then(|_| self.mshr.first_ready());
        let (line, set_way, waiter) = self.mshr.at(at.tick()).pop()?;
        let last = self.mshr.ready_entries() != filled;
        if let Some(entry) = entry {
            self.report_leave(at, entry, pending.warp(waiter.slot), last);
        }
        let data = &self.data.read(at, set_way)[0];
        pending.deliver(waiter.slot, waiter.lanes, &data.0);
        Some((line, waiter, last))
    }

    /// True if a global store updates the cached copy of its line; if false, the store evicts it.
    pub fn updates_on_store(&self) -> bool {
        self.updates
    }

    /// Copies the counters of the tags, the prefetcher and the victim cache into the statistics of the cache.
    pub fn settle(&mut self) {
        let Moves { promotions, demotions } = self.tags.moves();
        (self.stats.promotions, self.stats.demotions) = (promotions, demotions);
        if let Some(prefetcher) = &self.prefetcher {
            self.stats.prefetch = prefetcher.stats;
        }
        if let Some(victims) = &self.victims {
            self.stats.victim = victims.stats;
        }
    }

    /// Returns the number of miss-queue entries that a miss needs: one for the read, and one more if the
    /// victim needs a writeback or an eviction notice.
    #[inline(always)]
    fn needed_queue_entries(&self, victim: Option<Victim>) -> u32 {
        1 + u32::from(victim.is_some_and(|victim| victim.modified || self.notifies && victim.holds))
    }

    /// Selects the way in which a miss allocates its line; `None` if no way is available.
    #[inline(always)]
    fn victim(&self, set: u32, line: u64) -> Option<Victim> {
        if self.schemes.is_empty() { self.tags.victim(set, line) } else { self.chosen_victim(set, line) }
    }

    /// Selects the victim way of a miss. A victim selected by a bypass scheme takes precedence over that of
    /// the replacement policy.
    #[inline(never)]
    fn chosen_victim(&self, set: u32, line: u64) -> Option<Victim> {
        self.schemes.victim(&self.tags, set).or_else(|| self.tags.victim(set, line))
    }

    /// Executes a load (status function of khairy2015 section 3.1): it hits, merges with a line in flight,
    /// misses or is refused. A hit in the victim cache takes two cycles: the call in the first cycle returns
    /// `None`, and the call in the second cycle has `has_waited` set to true.
    pub fn load(
        &mut self,
        at: &impl AnyEdge,
        request: &LineAccess,
        has_waited: bool,
        queue: &mut MissQueue,
        pending: &mut Pending,
    ) -> Option<Outcome> {
        let set = self.tags.set_of(request.line);
        self.probed = set;
        let (outcome, way) = if let Some(entry) = self.entry_of(request) {
            if !has_waited {
                return None;
            }
            (Outcome::VictimHit(self.serve_victim(at, (set, entry), request, queue, pending)), None)
        } else if self.sectors.is_some() {
            self.look_up_sectors(at, set, request, queue, pending)
        } else {
            self.look_up(at, set, request, queue, pending)
        };
        if !self.schemes.is_empty() {
            self.schemes.on_lookup(at.edge(), request, (set, way), outcome);
        }
        if self.prefetcher.is_some() {
            self.train(at, request, (set, way), outcome);
        }
        Some(outcome)
    }

    /// Executes a load in a cache that fetches whole lines. Returns the outcome, and the way that serves the
    /// load now or after its fill.
    #[inline(always)]
    fn look_up(
        &mut self,
        at: &impl AnyEdge,
        set: u32,
        request: &LineAccess,
        queue: &mut MissQueue,
        pending: &mut Pending,
    ) -> (Outcome, Option<u32>) {
        let line = request.line;
        let waiter = Waiter { slot: request.slot, lanes: request.lanes };
        match self.tags.probe(at, set, line) {
            Probe::Present { way, .. } => {
                self.tags.touch(at, (set, way), LineUse::Load, request.source());
                let data = &self.data.read(at, set * self.ways + way)[0];
                pending.deliver(waiter.slot, waiter.lanes, &data.0);
                (Outcome::Hit, Some(way))
            }
            Probe::Reserved { way } => {
                let Lookup::Open(entry) = self.mshr.lookup(line, WHOLE) else {
                    return (Outcome::Refused(Fail::MshrMerge, 1 << Fail::MshrMerge as u8), None);
                };
                if self.refuses_merge(request, self.mshr.waiters(entry)) {
                    return (Outcome::Refused(Fail::MshrPolicy, 1 << Fail::MshrPolicy as u8), None);
                }
                self.mshr.at(at.tick()).merge(entry, waiter);
                self.on_merge(at, entry, request);
                self.tags.touch(at, (set, way), LineUse::Load, request.source());
                (Outcome::HitPending, Some(way))
            }
            probe @ (Probe::Absent | Probe::TagOnly { .. }) => {
                let victim = match probe {
                    Probe::TagOnly { way } => Some(Victim { way, holds: false, modified: false }),
                    _ => self.victim(set, line),
                };
                let entry = self.mshr.free_for(line, WHOLE);
                let needed = self.needed_queue_entries(victim);
                let queue_full = queue.room() < needed;
                match (victim, entry) {
                    (Some(victim), Some(entry)) if !queue_full && !self.refuses_miss(request) => {
                        let evicted = self.allocate(at, (set, victim), entry, request, queue);
                        (Outcome::Miss(evicted), Some(victim.way))
                    }
                    _ => (self.refuse(request, victim.is_none(), entry.is_none(), queue_full), None),
                }
            }
        }
    }

    /// Allocates all resources for a miss, or for a prefetch, which is a request without lanes. Returns
    /// `(line, modified)` of the evicted line, or `None` if no line was evicted.
    fn allocate(
        &mut self,
        at: &impl AnyEdge,
        (set, victim): (u32, Victim),
        entry: u16,
        request: &LineAccess,
        queue: &mut MissQueue,
    ) -> Option<(u64, bool)> {
        let &LineAccess { line, id, warp, slot, lanes, sectors, .. } = request;
        let prefetches = lanes == 0;
        let set_way = set * self.ways + victim.way;
        let (tracked, asked) = if self.sectors.is_some() { (sectors, sectors) } else { (WHOLE, self.all_sectors) };
        let old = victim.holds.then(|| (self.tags.line_in(set, victim.way), victim.modified));
        if let Some((old, true)) = old {
            self.write_back(at, (set, victim.way), old, id, queue);
        }
        if self.victims.is_some() {
            self.keep_victim(at, (set, victim), line);
        }
        if self.notifies
            && let Some((evicted, false)) = old
        {
            queue.push_with(|entry| {
                entry.kind = MissKind::Notice;
                entry.id = id;
                entry.line = evicted;
                entry.priority = EvictionPriority::Normal;
                (entry.ticket, entry.sectors, entry.byte_mask) = (0, self.all_sectors, 0);
                entry.atomic = AtomicOp::default();
            });
        }
        self.stats.evictions += u64::from(victim.holds);
        if let Some(losses) = &mut self.losses {
            let evicted = old.map(|(line, _)| line);
            self.lost = losses.on_miss(at.edge(), (set, victim.way), evicted, (warp, line));
        }
        self.tags.claim(at, set, victim, request.source());
        if let Some(store) = &mut self.sectors {
            store.write(at, (set, victim.way), Sectors { coming: asked, ..Sectors::default() });
        }
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.claim(at, (set, victim.way), prefetches);
        }
        let mshr = self.mshr.at(at.tick());
        if prefetches {
            mshr.alloc_prefetch(entry, (line, tracked), set_way);
        } else {
            mshr.alloc(entry, (line, tracked), set_way, Waiter { slot, lanes });
            self.on_miss(at, entry, request);
        }
        queue.push_with(|entry| {
            entry.kind = if prefetches { MissKind::Prefetch } else { MissKind::Read };
            entry.since = at.tick();
            entry.id = id;
            entry.line = line;
            entry.ticket = ticket::fill(self.id, slot, lanes);
            entry.sectors = asked;
            entry.priority = request.hints.l2;
            entry.atomic = AtomicOp::default();
            entry.byte_mask = 0;
            entry.data = [0; LINE_BYTES];
        });
        old
    }

    /// Reads the bytes of a modified victim line before they are overwritten, and enqueues the writeback in
    /// the miss queue.
    fn write_back(&mut self, at: &impl AnyEdge, (set, way): (u32, u32), line: u64, id: u32, queue: &mut MissQueue) {
        let here = self.sectors.as_ref().map(|store| bytes_of_sectors(store.peek(set, way).here));
        let data = &self.data.read(at, set * self.ways + way)[0];
        self.banks = u8::MAX;
        queue.push_with(|entry| {
            entry.kind = MissKind::WriteBack;
            entry.id = id;
            entry.line = line;
            entry.ticket = ticket::write_back();
            entry.priority = EvictionPriority::Normal;
            entry.sectors = self.all_sectors;
            entry.atomic = AtomicOp::default();
            entry.byte_mask = here.unwrap_or(self.whole);
            entry.data = data.0;
        });
    }

    /// Returns the outcome of a refused miss: the fail reason to report, and the mask of all reasons. The
    /// flags tell which resources are not available.
    fn refuse(&self, request: &LineAccess, line_alloc: bool, mshr_entry: bool, miss_queue: bool) -> Outcome {
        let is_refused = !mshr_entry && self.refuses_miss(request);
        let all = conditions(line_alloc, mshr_entry, miss_queue) | policy_bit(is_refused);
        Outcome::Refused(self.fail_order.first(all), all)
    }

    /// Executes a store (li2015 section 2.2) or an atomic. An atomic is sent to the L2 and invalidates the
    /// cached copy, since only the L2 computes the new value. Returns `None` if the access must wait for
    /// loads of the line that have not read the old bytes yet.
    pub fn write(
        &mut self,
        at: &impl AnyEdge,
        request: &LineAccess,
        queue: &mut MissQueue,
        pending: &mut Pending,
    ) -> Option<Outcome> {
        if self.sectors.is_some() {
            return self.write_sectors(at, request, queue, pending);
        }
        let &LineAccess { kind, space, line, slot, lanes, .. } = request;
        let set = self.tags.set_of(line);
        self.probed = set;
        let probe = self.tags.probe(at, set, line);
        if let (Probe::Present { way, .. }, MemorySpace::Local) = (probe, space) {
            let set_way = set * self.ways + way;
            if self.mshr.drains(set_way, WHOLE) {
                return None;
            }
            self.tags.touch(at, (set, way), LineUse::Modify, Source::of_line(line));
            self.data.update(at, set_way, 0, |cell| cell.merge(request.byte_mask, &request.data));
            pending.acknowledge(slot, lanes);
            return Some(Outcome::WrittenBack);
        }
        if queue.room() == 0 {
            return Some(Outcome::Refused(Fail::MissQueue, 1 << Fail::MissQueue as u8));
        }
        let outcome = match probe {
            Probe::Present { way, .. } if self.updates && kind == AccessKind::Store && !request.uncached => {
                let set_way = set * self.ways + way;
                if self.mshr.drains(set_way, WHOLE) {
                    return None;
                }
                self.tags.touch(at, (set, way), LineUse::Other, Source::of_line(line));
                self.data.update(at, set_way, 0, |cell| cell.merge(request.byte_mask, &request.data));
                Outcome::Updated
            }
            Probe::Present { way, .. } => {
                self.tags.invalidate(at, set, way);
                Outcome::Evicted
            }
            Probe::Reserved { way } => {
                self.overtake(at, (set, way), line, Mshr::close);
                Outcome::Overtook
            }
            Probe::TagOnly { way } => {
                self.tags.invalidate(at, set, way);
                Outcome::StoreMissed
            }
            Probe::Absent => Outcome::StoreMissed,
        };
        self.send_on(at, request, request.byte_mask, queue);
        Some(outcome)
    }

    /// Enqueues the memory request of a store or an atomic. `byte_mask` selects the bytes to send.
    fn send_on(&mut self, at: &impl AnyEdge, request: &LineAccess, byte_mask: u128, queue: &mut MissQueue) {
        let &LineAccess { kind, space, line, slot, lanes, .. } = request;
        if let Some(losses) = &mut self.losses
            && space == MemorySpace::Global
        {
            losses.on_store(at.edge(), line);
        }
        if let Some(victims) = &mut self.victims {
            victims.remove(line);
        }
        let (kind, ticket) = match kind {
            AccessKind::Atomic => (MissKind::Atomic, ticket::bypass(slot, lanes)),
            AccessKind::Reduce => (MissKind::Reduce, ticket::of(slot, lanes)),
            AccessKind::Load | AccessKind::Store => (MissKind::Write, ticket::of(slot, lanes)),
        };
        queue.push_with(|entry| {
            entry.kind = kind;
            entry.id = request.id;
            entry.line = line;
            entry.ticket = ticket;
            entry.sectors = self.all_sectors;
            entry.priority = request.hints.l2;
            entry.atomic = request.atomic;
            entry.byte_mask = byte_mask;
            entry.data = request.data;
        });
    }

    /// Drops a line because an L2 bank evicts and recalls it. A fill in flight is dropped even if its data is
    /// newer than the recalled copy, at the cost of a miss. Detecting newer data would require ordered
    /// messages across two networks.
    pub fn recall(&mut self, at: &impl AnyEdge, line: u64) -> RecallEffect {
        self.drop_line(at, line, Mshr::recall)
    }

    /// Drops a line because a coherent load must read memory instead of any L1 copy. Uses the access port of
    /// the tags, not the recall port.
    pub fn drop_copy(&mut self, at: &impl AnyEdge, line: u64) -> RecallEffect {
        self.drop_line(at, line, Mshr::close)
    }

    fn drop_line(&mut self, at: &impl AnyEdge, line: u64, close: fn(&mut Mshr, u16)) -> RecallEffect {
        let set = self.tags.set_of(line);
        let probe = self.tags.probe(at, set, line);
        if self.victims.as_mut().is_some_and(|victims| victims.remove(line)) {
            self.stats.recalls += 1;
            return RecallEffect::Dropped;
        }
        if self.sectors.is_some() {
            return self.drop_sectors(at, (set, probe), line, close);
        }
        match probe {
            // The cache keeps a modified line of local memory although the L2 bank recalls it. The line
            // belongs to one thread, so no other thread reads the older copy in the L2 bank. A writeback
            // before the acknowledgement could deadlock: the bank would wait for the writeback, which waits
            // behind requests that wait for the bank.
            Probe::Present { modified: true, .. } => RecallEffect::Kept,
            Probe::Present { way, .. } => {
                self.tags.invalidate(at, set, way);
                self.stats.recalls += 1;
                RecallEffect::Dropped
            }
            Probe::Reserved { way } => {
                self.overtake(at, (set, way), line, close);
                self.stats.recalls += 1;
                RecallEffect::Overtook
            }
            Probe::TagOnly { way } => {
                self.tags.invalidate(at, set, way);
                RecallEffect::Absent
            }
            Probe::Absent => RecallEffect::Absent,
        }
    }

    /// Looks up a line that another SM requests. Returns the answer for the sharing tracker: the line is
    /// present, in flight, or not available. Also returns the bytes of the line if it is present; a modified
    /// line is not available.
    #[inline(never)]
    pub fn supply(&mut self, at: &impl AnyEdge, line: u64, sectors: u8) -> (ForwardResult, Option<&[u8; LINE_BYTES]>) {
        let set = self.tags.set_of(line);
        let probe = self.tags.probe(at, set, line);
        if self.sectors.is_some() {
            return self.supply_sectors(at, (set, probe), sectors);
        }
        match probe {
            Probe::Present { way, modified: false } => {
                self.tags.touch(at, (set, way), LineUse::Other, Source::of_line(line));
                (ForwardResult::Here, Some(&self.data.read(at, set * self.ways + way)[0].0))
            }
            Probe::Reserved { .. } => (ForwardResult::Coming, None),
            Probe::Present { modified: true, .. } | Probe::TagOnly { .. } | Probe::Absent => {
                (ForwardResult::Gone, None)
            }
        }
    }

    /// Marks a line in flight so that it is invalidated on arrival, and closes its MSHR entry to later loads.
    /// `close` is the MSHR function that closes the entry: [`Mshr::close`] uses the access port,
    /// [`Mshr::recall`] the recall port.
    fn overtake(&mut self, at: &impl AnyEdge, (set, way): (u32, u32), line: u64, close: fn(&mut Mshr, u16)) {
        self.tags.overtake(at, set, way);
        if let Lookup::Open(entry) | Lookup::Full(entry) = self.mshr.lookup(line, WHOLE) {
            close(self.mshr.at(at.tick()), entry);
        }
    }

    /// Lists the counters that the bypass schemes, the prefetcher and the victim cache of the cache define
    /// themselves.
    pub fn scheme_counters(&self, to: &mut dyn CounterReader) {
        self.schemes.counters(to);
        if let Some(prefetcher) = &self.prefetcher {
            prefetcher.counters(to);
        }
        if let Some(victims) = &self.victims {
            victims.counters(to);
        }
        self.tags.counters(to);
        if let Some(policy) = &self.mshr_policy {
            policy.counters(to);
        }
    }

    /// Adds to the hardware description: tags, data, sectors, MSHR and the optional components of the cache.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self {
            path: _,
            id,
            fail_order: _,
            tags,
            data,
            sectors,
            lookups,
            banks: _,
            word_banks,
            ways: _,
            whole: _,
            all_sectors: _,
            mshr,
            mshr_policy,
            schemes,
            prefetcher,
            victims,
            losses,
            lost: _,
            probed: _,
            updates: _,
            notifies: _,
            stats,
        } = self;
        to.part("tags", |to| tags.describe(to));
        to.array("data", data);
        if let Some(sectors) = sectors {
            sectors.describe(to);
        }
        if let Some(banks) = word_banks {
            // Each data bank has a multiplexer that selects the row of one of the loads looked up in a cycle.
            // The logic that computes the tag banks of the loads is described by the coalescer.
            let (words, width) = (banks.words(), data.spec().rows.next_power_of_two().ilog2());
            to.logic("bank_row", Logic::Mux { ways: *lookups, width: words * width });
            to.logic("bank_taken", Logic::Gates { count: 2 * (1 << banks.number_bits()) * (lookups - 1) });
        } else if *lookups > 1 {
            // Each data bank holds one sector and reads the row of the load that uses this sector. No two
            // loads of a cycle may use the same bank.
            let banks = self.all_sectors.count_ones();
            let width = data.spec().rows.next_power_of_two().ilog2();
            to.logic("bank_row", Logic::Mux { ways: *lookups, width: banks * width });
            to.logic("bank_taken", Logic::Gates { count: 2 * banks * (lookups - 1) });
            to.logic("bank_lookup", Logic::Mux { ways: *lookups, width: banks });
        }
        to.part("mshr", |to| mshr.describe(to));
        if let Some(policy) = mshr_policy {
            policy.describe(to);
        }
        schemes.describe(to);
        if let Some(prefetcher) = prefetcher {
            prefetcher.describe(to);
        }
        if let Some(victims) = victims {
            victims.describe(to);
        }
        if let Some(losses) = losses {
            losses.describe(to);
        }
        // Decoupled tags, the prefetcher and the victim cache add their own counters to the hardware
        // description, so their counters are excluded here.
        let has = L1Features {
            stores: *id == CacheId::L1d,
            sectors: sectors.is_some(),
            decoupled: false,
            recalls: true,
            prefetches: false,
            victims: false,
            mshr_policy: mshr_policy.is_some(),
        };
        stats.describe(&has, to);
    }
}

/// Returns a mask of the conditions for which a miss is refused. Bit `n` stands for the `Fail` variant with
/// value `n`.
fn conditions(line_alloc: bool, mshr_entry: bool, miss_queue: bool) -> u8 {
    let bit = |fails: bool, fail: Fail| u8::from(fails) << fail as u8;
    bit(line_alloc, Fail::LineAlloc) | bit(mshr_entry, Fail::MshrEntry) | bit(miss_queue, Fail::MissQueue)
}

/// If `is_refused` is true, returns a mask in which only the bit of [`Fail::MshrPolicy`] is set; otherwise
/// returns 0.
fn policy_bit(is_refused: bool) -> u8 {
    u8::from(is_refused) << Fail::MshrPolicy as u8
}
