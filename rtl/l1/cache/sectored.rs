//! Accesses of a cache whose misses fetch single sectors instead of whole lines. Each sector that a load
//! touches is present, in flight or absent. Lanes in present sectors get their bytes at once; all other lanes
//! wait in the MSHR entries that track their sectors. All absent sectors are fetched with one request and one
//! MSHR entry.

use super::super::access::{AccessKind, MemorySpace};
use super::super::bypass::View;
use super::super::coalescer::LineAccess;
use super::super::miss_queue::{MissKind, MissQueue};
use super::super::mshr::{Lookup, Mshr, Waiter};
use super::super::pending::Pending;
use super::super::sectors::Sectors;
use super::super::tags::{LineUse, Probe, Victim};
use super::super::ticket;
use super::super::watch::{Fail, Outcome, RecallEffect};
use super::{Cache, conditions, policy_bit};
use crate::cells::atomic::AtomicOp;
use crate::cells::line::{LINE_BYTES, SECTORS, bytes_of_sectors, touched_sectors};
use crate::kernel::AnyEdge;
use crate::noc::packet::Reply;
use crate::replacement::Source;
use crate::tracker::ForwardResult;

/// Resources that a load needs in a cache whose misses fetch sectors.
#[derive(Clone, Copy, Debug)]
struct Needs {
    /// Mask of the sectors that the load touches and that are in flight; the load waits for them.
    waits: u8,
    /// Mask of the sectors that the load touches and that must be fetched. The field `entry` is the free MSHR
    /// entry that will track them.
    absent: u8,
    entry: Option<u16>,
    /// Way that already holds the line of the load, or into which the load fetches the line.
    place: SectorPlace,
    /// Mask of the conditions for which the load is refused. Bit `n` stands for the `Fail` variant with value
    /// `n`.
    fails: u8,
}

/// Way that already holds the line of a load, or into which a miss fetches the line.
#[derive(Clone, Copy, Debug)]
enum SectorPlace {
    /// The line already occupies this way.
    Held(u32),
    /// The line is absent, and a miss allocates it in the way of this victim.
    Given(Victim),
    /// The line is absent, and no way is available, because every way of the set is reserved for a line in
    /// flight.
    None,
}

impl Cache {
    /// Returns the states of the sectors of a line. The sector states are read in parallel with the tag probe
    /// `probe`.
    fn sectors(&self, at: &impl AnyEdge, set: u32, probe: Probe) -> Sectors {
        let row = self.sectors.as_ref().map_or(&[][..], |store| store.read(at, set));
        match probe {
            Probe::Present { way, .. } | Probe::Reserved { way } => row[way as usize],
            Probe::TagOnly { .. } | Probe::Absent => Sectors::default(),
        }
    }

    fn set_sectors(&mut self, at: &impl AnyEdge, place: (u32, u32), to: Sectors) {
        if let Some(store) = &mut self.sectors {
            store.write(at, place, to);
        }
    }

    /// Determines the resources that a load needs, from the states of its sectors. Does not change the state
    /// of the cache.
    fn needs(&self, set: u32, (probe, held): (Probe, Sectors), head: &LineAccess, queue: &MissQueue) -> Needs {
        let &LineAccess { line, sectors, .. } = head;
        let (waits, absent) = (sectors & held.coming, sectors & !(held.here | held.coming));
        let place = match probe {
            Probe::Present { way, .. } | Probe::Reserved { way } => SectorPlace::Held(way),
            Probe::TagOnly { way } => SectorPlace::Given(Victim { way, holds: false, modified: false }),
            Probe::Absent => self.victim(set, line).map_or(SectorPlace::None, SectorPlace::Given),
        };
        let mut fails = u8::from(!self.may_join(line, waits)) << Fail::MshrMerge as u8;
        if fails == 0 && waits != 0 && self.limits_mshr() {
            let entries = self.entries_of(line, waits).into_iter().flatten();
            let fullest = entries.map(|entry| self.mshr.waiters(entry)).max().unwrap_or(0);
            fails |= policy_bit(self.refuses_merge(head, fullest));
        }
        let mut entry = None;
        if absent != 0 {
            entry = self.mshr.free_for(line, absent);
            let victim = if let SectorPlace::Given(victim) = place { Some(victim) } else { None };
            let queue_full = queue.room() < self.needed_queue_entries(victim);
            fails |= conditions(matches!(place, SectorPlace::None), entry.is_none(), queue_full)
                | policy_bit(entry.is_some() && self.refuses_miss(head));
        }
        Needs { waits, absent, entry, place, fails }
    }

    /// True if every MSHR entry that tracks one of the sectors `waits`, which are in flight, can accept one
    /// more waiter.
    fn may_join(&self, line: u64, waits: u8) -> bool {
        self.entries_of(line, waits).into_iter().flatten().all(|entry| self.mshr.is_open(entry))
    }

    /// Returns the MSHR entries that track any of the in-flight sectors `sectors` of a line, without
    /// duplicates.
    pub(super) fn entries_of(&self, line: u64, sectors: u8) -> [Option<u16>; SECTORS as usize] {
        let mut left = sectors;
        std::array::from_fn(|sector| {
            let sector = 1 << sector;
            if left & sector == 0 {
                return None;
            }
            let (Lookup::Open(entry) | Lookup::Full(entry)) = self.mshr.lookup(line, sector) else { return None };
            left &= !self.mshr.sectors_of(entry);
            Some(entry)
        })
    }

    /// Returns a mask of the conditions for which a load would be refused now, in a cache whose misses fetch
    /// sectors. Bit `n` stands for the `Fail` variant with value `n`.
    pub(super) fn failing_of_sectors(&self, set: u32, probe: Probe, head: &LineAccess, queue: &MissQueue) -> u8 {
        let held = match (&self.sectors, probe) {
            (Some(store), Probe::Present { way, .. } | Probe::Reserved { way }) => store.peek(set, way),
            _ => Sectors::default(),
        };
        self.needs(set, (probe, held), head, queue).fails
    }

    /// Looks up the sectors of a load: it hits, merges, misses or is refused (status function of khairy2015
    /// section 3.1, applied sector by sector).
    #[inline(never)]
    pub(super) fn look_up_sectors(
        &mut self,
        at: &impl AnyEdge,
        set: u32,
        request: &LineAccess,
        queue: &mut MissQueue,
        pending: &mut Pending,
    ) -> (Outcome, Option<u32>) {
        let &LineAccess { line, sectors, slot, lanes, .. } = request;
        let probe = self.tags.probe(at, set, line);
        let held = self.sectors(at, set, probe);
        let Needs { waits, absent, entry, place, fails } = self.needs(set, (probe, held), request, queue);
        self.banks = 0;
        match (place, entry) {
            (SectorPlace::Held(way), _) if fails == 0 => {
                self.join(at, waits, request, pending);
                let here = sectors & held.here;
                self.banks = here;
                if here != 0 {
                    let data = &self.data.read(at, set * self.ways + way)[0];
                    pending.deliver(slot, pending.lanes_in(slot, lanes, here), &data.0);
                }
                let outcome = match entry {
                    Some(entry) => {
                        let rest = Sectors { coming: held.coming | absent, ..held };
                        self.fetch_missing_sectors(at, (set, way), (entry, absent, rest), request, queue, pending);
                        Outcome::Miss(None)
                    }
                    None => {
                        self.tags.touch(at, (set, way), LineUse::Load, request.source());
                        if waits == 0 { Outcome::Hit } else { Outcome::HitPending }
                    }
                };
                (outcome, Some(way))
            }
            (SectorPlace::Given(victim), Some(entry)) if fails == 0 => {
                let evicted = self.allocate(at, (set, victim), entry, request, queue);
                (Outcome::Miss(evicted), Some(victim.way))
            }
            _ => (Outcome::Refused(self.fail_order.first(fails), fails), None),
        }
    }

    /// Returns the mask of the banks that no other load of the cycle may use: the data banks of the load's
    /// sectors or, with word banks, the tag bank of its line.
    pub fn banks_of(&self, request: &LineAccess) -> u8 {
        self.word_banks.as_ref().map_or(request.sectors, |banks| 1 << banks.tag_bank(request.line))
    }

    /// Returns the mask of the banks that further loads cannot use in the same cycle as an accepted load: the
    /// banks that this load uses, or all banks if a line was read for eviction.
    pub fn banks_taken(&self, request: &LineAccess) -> u8 {
        let read = if self.word_banks.is_none() || self.banks == u8::MAX { self.banks } else { 0 };
        self.banks_of(request) | read
    }

    /// Serves a further load in the same cycle as an accepted load, if all its sectors are present and no
    /// scheme makes it bypass. The caller has checked that the banks of the load are unused. Returns true if
    /// the load was served; if false, the state has not changed.
    pub fn load_extra(
        &mut self,
        at: &impl AnyEdge,
        request: &LineAccess,
        queue: &MissQueue,
        pending: &mut Pending,
    ) -> bool {
        let &LineAccess { line, sectors, slot, lanes, .. } = request;
        let set = self.tags.set_of(line);
        let probe = self.tags.probe(at, set, line);
        let held = self.sectors(at, set, probe);
        let (Probe::Present { way, .. } | Probe::Reserved { way }) = probe else { return false };
        let goes_past = || self.schemes.bypasses(at.edge(), request, &View::new(self, queue));
        if sectors & !held.here != 0 || !self.schemes.is_empty() && goes_past() {
            return false;
        }
        debug_assert!(self.word_banks.is_some() || self.banks & sectors == 0, "a bank is read once per cycle");
        self.tags.touch(at, (set, way), LineUse::Load, request.source());
        let set_way = set * self.ways + way;
        // If an earlier load of this cycle has used the read port of the data array, this load shares the
        // port. This is possible because the two loads read different banks.
        let data = if self.banks == 0 { self.data.read(at, set_way) } else { self.data.row(set_way) };
        self.banks |= sectors;
        pending.deliver(slot, lanes, &data[0].0);
        if !self.schemes.is_empty() {
            self.schemes.on_lookup(at.edge(), request, (set, Some(way)), Outcome::Hit);
        }
        if self.prefetcher.is_some() {
            self.train(at, request, (set, Some(way)), Outcome::Hit);
        }
        true
    }

    /// Adds a load as a waiter to each MSHR entry that tracks any of the sectors `waits`. The waiter in an
    /// entry holds those lanes of the load that need sectors of this entry.
    fn join(&mut self, at: &impl AnyEdge, waits: u8, request: &LineAccess, pending: &Pending) {
        let &LineAccess { line, slot, lanes, .. } = request;
        for entry in self.entries_of(line, waits).into_iter().flatten() {
            let lanes = pending.lanes_in(slot, lanes, waits & self.mshr.sectors_of(entry));
            self.mshr.at(at.tick()).merge(entry, Waiter { slot, lanes });
            self.on_merge(at, entry, request);
        }
    }

    /// Fetches the missing sectors of a line that already occupies a way. The way stays reserved for the line
    /// until these sectors arrive.
    fn fetch_missing_sectors(
        &mut self,
        at: &impl AnyEdge,
        (set, way): (u32, u32),
        (entry, absent, sectors): (u16, u8, Sectors),
        request: &LineAccess,
        queue: &mut MissQueue,
        pending: &Pending,
    ) {
        let &LineAccess { line, id, slot, lanes, .. } = request;
        self.tags.reserve_again(at, (set, way), request.source());
        self.set_sectors(at, (set, way), sectors);
        let waiter = Waiter { slot, lanes: pending.lanes_in(slot, lanes, absent) };
        self.mshr.at(at.tick()).alloc(entry, (line, absent), set * self.ways + way, waiter);
        self.on_miss(at, entry, request);
        self.stats.sector_misses += 1;
        self.lost = false;
        queue.push_with(|entry| {
            entry.kind = MissKind::Rest;
            entry.since = at.tick();
            entry.id = id;
            entry.line = line;
            entry.ticket = ticket::fill(self.id, slot, waiter.lanes);
            entry.sectors = absent;
            entry.priority = request.hints.l2;
            entry.atomic = AtomicOp::default();
            entry.byte_mask = 0;
            entry.data = [0; LINE_BYTES];
        });
    }

    /// Fills sectors into the way of their line. Returns the mask of the sectors that stay valid.
    #[inline(never)]
    pub(super) fn fill_sectors(&mut self, at: &impl AnyEdge, (set, way): (u32, u32), reply: &Reply) -> u8 {
        let held = self.sectors(at, set, Probe::Reserved { way });
        let kept = reply.sectors & !held.overtaken;
        let now = Sectors {
            here: held.here | kept,
            coming: held.coming & !reply.sectors,
            overtaken: held.overtaken & !reply.sectors,
            modified: held.modified,
        };
        self.set_sectors(at, (set, way), now);
        if now.coming == 0 {
            self.tags.complete(at, (set, way), (now.here != 0).then_some(now.modified));
        }
        let bytes = bytes_of_sectors(reply.sectors);
        self.data.update(at, set * self.ways + way, 0, |cell| cell.merge(bytes, &reply.data));
        kept
    }

    /// Executes a store or an atomic sector by sector. Present sectors are updated or dropped by the rules
    /// for whole lines. Sectors in flight are invalidated on arrival. A local store updates present sectors
    /// only in the cache, and sends its bytes of all other sectors to memory. Returns `None` if the access
    /// must wait for loads that have not read the old bytes yet.
    #[inline(never)]
    pub(super) fn write_sectors(
        &mut self,
        at: &impl AnyEdge,
        request: &LineAccess,
        queue: &mut MissQueue,
        pending: &mut Pending,
    ) -> Option<Outcome> {
        let &LineAccess { kind, space, line, byte_mask, slot, lanes, .. } = request;
        let set = self.tags.set_of(line);
        self.probed = set;
        let probe = self.tags.probe(at, set, line);
        let held = self.sectors(at, set, probe);
        let way = match probe {
            Probe::Present { way, .. } | Probe::Reserved { way } | Probe::TagOnly { way } => way,
            // An absent line has no sectors in the cache, so this way number is not used.
            Probe::Absent => 0,
        };
        let touched = touched_sectors(byte_mask);
        let (here, coming) = (touched & held.here, touched & held.coming);
        let is_local = space == MemorySpace::Local;
        let goes_on = !is_local || here != touched;
        if goes_on && queue.room() == 0 {
            return Some(Outcome::Refused(Fail::MissQueue, 1 << Fail::MissQueue as u8));
        }
        let changes = is_local || self.updates && kind == AccessKind::Store && !request.uncached;
        if changes && self.mshr.drains(set * self.ways + way, here) {
            return None;
        }
        if changes && here != 0 {
            let by = if is_local { LineUse::Modify } else { LineUse::Other };
            self.tags.touch(at, (set, way), by, Source::of_line(line));
            let bytes = byte_mask & bytes_of_sectors(here);
            self.data.update(at, set * self.ways + way, 0, |cell| cell.merge(bytes, &request.data));
        }
        self.overtake_sectors(at.tick(), line, coming, Mshr::close);
        let now = Sectors {
            here: if changes { held.here } else { held.here & !here },
            overtaken: held.overtaken | coming,
            modified: held.modified || is_local && here != 0,
            ..held
        };
        if now != held {
            self.set_sectors(at, (set, way), now);
        }
        if now.is_gone() && probe != Probe::Absent {
            self.tags.invalidate(at, set, way);
        }
        if !goes_on {
            pending.acknowledge(slot, lanes);
            return Some(Outcome::WrittenBack);
        }
        self.send_on(at, request, if is_local { byte_mask & !bytes_of_sectors(here) } else { byte_mask }, queue);
        Some(match (here, coming) {
            (1.., _) if changes && !is_local => Outcome::Updated,
            (1.., _) if !is_local => Outcome::Evicted,
            (_, 1..) => Outcome::Overtook,
            _ => Outcome::StoreMissed,
        })
    }

    /// Closes the MSHR entries that track any of the sectors `coming`, which are in flight, so that no later
    /// load merges into them.
    fn overtake_sectors(&mut self, tick: u64, line: u64, coming: u8, close: fn(&mut Mshr, u16)) {
        for entry in self.entries_of(line, coming).into_iter().flatten() {
            close(self.mshr.at(tick), entry);
        }
    }

    /// Drops a line in a cache whose misses fetch sectors, as `drop_line` does in a cache of whole lines.
    /// Drops the present sectors. Sectors in flight are invalidated on arrival.
    pub(super) fn drop_sectors(
        &mut self,
        at: &impl AnyEdge,
        (set, probe): (u32, Probe),
        line: u64,
        close: fn(&mut Mshr, u16),
    ) -> RecallEffect {
        let way = match probe {
            Probe::Present { way, .. } | Probe::Reserved { way } => way,
            Probe::TagOnly { way } => {
                self.tags.invalidate(at, set, way);
                return RecallEffect::Absent;
            }
            Probe::Absent => return RecallEffect::Absent,
        };
        let held = self.sectors(at, set, probe);
        if held.modified {
            return RecallEffect::Kept;
        }
        self.stats.recalls += 1;
        self.overtake_sectors(at.tick(), line, held.coming, close);
        self.set_sectors(at, (set, way), Sectors { here: 0, overtaken: held.coming, ..held });
        if held.coming == 0 {
            self.tags.invalidate(at, set, way);
            return RecallEffect::Dropped;
        }
        RecallEffect::Overtook
    }

    /// Looks up a line that another SM requests, in a cache whose misses fetch sectors (see
    /// [`Cache::supply`]). Returns the bytes only if all requested sectors are present.
    pub(super) fn supply_sectors(
        &mut self,
        at: &impl AnyEdge,
        (set, probe): (u32, Probe),
        sectors: u8,
    ) -> (ForwardResult, Option<&[u8; LINE_BYTES]>) {
        let (Probe::Present { way, .. } | Probe::Reserved { way }) = probe else { return (ForwardResult::Gone, None) };
        let held = self.sectors(at, set, probe);
        if held.modified {
            return (ForwardResult::Gone, None);
        }
        // If a requested sector is absent, the L1D answers that the line is in flight, so that the sharing
        // tracker keeps listing this L1D: later requests of other SMs may need only sectors that are present.
        if sectors & !held.here != 0 {
            return (ForwardResult::Coming, None);
        }
        self.tags.touch(at, (set, way), LineUse::Other, Source::of_line(self.tags.line_in(set, way)));
        (ForwardResult::Here, Some(&self.data.read(at, set * self.ways + way)[0].0))
    }

    /// True if the MSHR entries of the line in each way track exactly the sectors that the way records as in
    /// flight. For consistency checks in tests.
    pub(super) fn has_consistent_sectors(&self) -> bool {
        let Some(store) = &self.sectors else { return true };
        (0..self.data.spec().rows).all(|set_way| {
            let (set, way) = (set_way / self.ways, set_way % self.ways);
            let line = self.tags.line_in(set, way);
            let held = store.peek(set, way);
            match self.tags.peek(set, line) {
                Probe::Present { way: found, .. } | Probe::Reserved { way: found } if found == way => {
                    held.coming == self.mshr.pending_sectors(line) && held.here & held.coming == 0
                }
                _ => true,
            }
        })
    }
}
