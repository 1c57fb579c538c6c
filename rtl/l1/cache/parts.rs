//! The accesses of a cache whose misses bring sectors. As for whole lines, but a load finds each sector that it touches
//! here, on its way or absent: the lanes of those that are here have their bytes at once, those of the others wait in the
//! entries that track them, and what is absent is asked for with one request and one entry.

use super::super::access::{AccessKind, MemorySpace};
use super::super::bypass::View;
use super::super::coalescer::LineAccess;
use super::super::miss_queue::{MissKind, MissQueue};
use super::super::mshr::{Lookup, Mshr, Waiter};
use super::super::pending::Pending;
use super::super::sectors::Sectors;
use super::super::tags::{Probe, Use, Victim};
use super::super::ticket;
use super::super::watch::{Fail, Outcome, Recalled};
use super::{Cache, conditions};
use crate::cells::line::{LINE_BYTES, SECTORS, bytes_of_sectors, sectors_touched};
use crate::kernel::AnyEdge;
use crate::noc::packet::Reply;
use crate::tracker::Found;

/// What the sectors that a load touches need.
#[derive(Clone, Copy, Debug)]
struct Needs {
    /// Those on their way, which are waited for.
    waits: u8,
    /// Those that must be asked for, and the entry that is free for them.
    absent: u8,
    entry: Option<u16>,
    /// Where they are to be.
    place: Place,
    /// The conditions for which the load is refused, a bit each.
    fails: u8,
}

/// Where a load finds or puts its sectors.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In the way of their line.
    Held(u32),
    /// In a way that another line gives.
    Given(Victim),
    /// Nowhere: every way is reserved.
    None,
}

impl Cache {
    /// What is known of the sectors of a line, beside the probe of its tag.
    fn sectors(&self, at: &impl AnyEdge, set: u32, probe: Probe) -> Sectors {
        let row = self.sectors.as_ref().map_or(&[][..], |store| store.read(at, set));
        match probe {
            Probe::Present { way, .. } | Probe::Reserved { way } => row[way as usize],
            Probe::Hollow { .. } | Probe::Absent => Sectors::default(),
        }
    }

    fn set_sectors(&mut self, at: &impl AnyEdge, place: (u32, u32), to: Sectors) {
        if let Some(store) = &mut self.sectors {
            store.write(at, place, to);
        }
    }

    /// What a load needs of a line of which so much is here; changes nothing.
    fn needs(&self, set: u32, (probe, held): (Probe, Sectors), head: &LineAccess, queue: &MissQueue) -> Needs {
        let &LineAccess { line, sectors, .. } = head;
        let (waits, absent) = (sectors & held.coming, sectors & !(held.here | held.coming));
        let place = match probe {
            Probe::Present { way, .. } | Probe::Reserved { way } => Place::Held(way),
            Probe::Hollow { way } => Place::Given(Victim { way, holds: false, modified: false }),
            Probe::Absent => self.victim(set, line).map_or(Place::None, Place::Given),
        };
        let mut fails = u8::from(!self.may_join(line, waits)) << Fail::MshrMerge as u8;
        let mut entry = None;
        if absent != 0 {
            entry = self.mshr.free_for(line, absent);
            let victim = if let Place::Given(victim) = place { Some(victim) } else { None };
            let queue_full = queue.room() < self.needed(victim);
            fails |= conditions(matches!(place, Place::None), entry.is_none(), queue_full);
        }
        Needs { waits, absent, entry, place, fails }
    }

    /// Whether every entry that tracks some of the sectors, which are on their way, takes one more waiter.
    fn may_join(&self, line: u64, waits: u8) -> bool {
        self.entries_of(line, waits).into_iter().flatten().all(|entry| self.mshr.is_open(entry))
    }

    /// The entries that track some sectors on their way, each once.
    fn entries_of(&self, line: u64, sectors: u8) -> [Option<u16>; SECTORS as usize] {
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

    /// The conditions for which a load of sectors would be refused now.
    pub(super) fn failing_of_sectors(&self, set: u32, probe: Probe, head: &LineAccess, queue: &MissQueue) -> u8 {
        let held = match (&self.sectors, probe) {
            (Some(store), Probe::Present { way, .. } | Probe::Reserved { way }) => store.look(set, way),
            _ => Sectors::default(),
        };
        self.needs(set, (probe, held), head, queue).fails
    }

    /// The status function of a load (khairy2015 section 3.1), sector by sector.
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
            (Place::Held(way), _) if fails == 0 => {
                self.join(at.tick(), line, waits, (slot, lanes), pending);
                let here = sectors & held.here;
                self.banks = here;
                if here != 0 {
                    let data = &self.data.read(at, set * self.ways + way)[0];
                    pending.deliver(slot, pending.lanes_in(slot, lanes, here), &data.0);
                }
                let outcome = match entry {
                    Some(entry) => {
                        let rest = Sectors { coming: held.coming | absent, ..held };
                        self.ask_for_rest(at, (set, way), (entry, absent, rest), request, queue, pending);
                        Outcome::Miss(None)
                    }
                    None => {
                        self.tags.touch(at, set, way, Use::Load);
                        if waits == 0 { Outcome::Hit } else { Outcome::HitPending }
                    }
                };
                (outcome, Some(way))
            }
            (Place::Given(victim), Some(entry)) if fails == 0 => {
                let gone = self.allocate(at, (set, victim), entry, request, queue);
                (Outcome::Miss(gone), Some(victim.way))
            }
            _ => (Outcome::Refused(self.fail_order.first(fails), fails), None),
        }
    }

    /// Banks of the data that the accesses of this cycle have read.
    pub fn banks(&self) -> u8 {
        self.banks
    }

    /// A further load in the cycle of one that was accepted: served if all of it is here, as long as no scheme sends it
    /// past. Its sectors lie in banks that nobody has read. Returns whether it was served; otherwise nothing changed.
    pub fn load_beside(
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
        let goes_past = || self.schemes.sends_past(at.edge(), request, &View::new(self, queue));
        if sectors & !held.here != 0 || !self.schemes.is_empty() && goes_past() {
            return false;
        }
        debug_assert!(self.banks & sectors == 0, "a bank is read once a cycle");
        self.tags.touch(at, set, way, Use::Load);
        let set_way = set * self.ways + way;
        // Other banks of the port that was taken in this cycle, if one was.
        let data = if self.banks == 0 { self.data.read(at, set_way) } else { self.data.row(set_way) };
        self.banks |= sectors;
        pending.deliver(slot, lanes, &data[0].0);
        if !self.schemes.is_empty() {
            self.schemes.served(at.edge(), request, (set, Some(way)), Outcome::Hit);
        }
        true
    }

    /// The lanes that name sectors on their way wait for them.
    fn join(&mut self, tick: u64, line: u64, waits: u8, (slot, lanes): (u8, u32), pending: &Pending) {
        for entry in self.entries_of(line, waits).into_iter().flatten() {
            let lanes = pending.lanes_in(slot, lanes, waits & self.mshr.sectors_of(entry));
            self.mshr.at(tick).merge(entry, Waiter { slot, lanes });
        }
    }

    /// Asks for sectors of a line that has a way, and keeps that for the line until they have come.
    fn ask_for_rest(
        &mut self,
        at: &impl AnyEdge,
        (set, way): (u32, u32),
        (entry, absent, sectors): (u16, u8, Sectors),
        request: &LineAccess,
        queue: &mut MissQueue,
        pending: &Pending,
    ) {
        let &LineAccess { line, id, slot, lanes, .. } = request;
        self.tags.reopen(at, set, way);
        self.set_sectors(at, (set, way), sectors);
        let waiter = Waiter { slot, lanes: pending.lanes_in(slot, lanes, absent) };
        self.mshr.at(at.tick()).alloc(entry, (line, absent), set * self.ways + way, waiter);
        self.stats.sector_misses += 1;
        self.lost = false;
        queue.push_with(|entry| {
            entry.kind = MissKind::Rest;
            entry.since = at.tick();
            entry.id = id;
            entry.line = line;
            entry.ticket = ticket::fill(self.id, slot, waiter.lanes);
            entry.sectors = absent;
            entry.byte_mask = 0;
            entry.data = [0; LINE_BYTES];
        });
    }

    /// Sectors arrive in their way. Returns those that stay.
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

    /// A store or an atomic, sector by sector: what is here is changed, or dropped as it would be with its line, and what
    /// is on its way must not stay. Bytes of a local store go to memory where their sector is not here. `None`: waits for
    /// loads that still read the old bytes.
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
            Probe::Present { way, .. } | Probe::Reserved { way } | Probe::Hollow { way } => way,
            // Nothing is known of it, and nothing done to it.
            Probe::Absent => 0,
        };
        let touched = sectors_touched(byte_mask);
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
            self.tags.touch(at, set, way, if is_local { Use::Modify } else { Use::Other });
            let bytes = byte_mask & bytes_of_sectors(here);
            self.data.update(at, set * self.ways + way, 0, |cell| cell.merge(bytes, &request.data));
        }
        self.overtake_sectors(at.tick(), line, coming, Mshr::close);
        let overtaken = if self.keeps_overtaken { 0 } else { coming };
        let now = Sectors {
            here: if changes { held.here } else { held.here & !here },
            overtaken: held.overtaken | overtaken,
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

    /// Entries that track some of the sectors take no waiter from now on.
    fn overtake_sectors(&mut self, tick: u64, line: u64, coming: u8, close: fn(&mut Mshr, u16)) {
        for entry in self.entries_of(line, coming).into_iter().flatten() {
            close(self.mshr.at(tick), entry);
        }
    }

    /// As `give_up`: what is here of the line goes, and what is on its way must not stay.
    pub(super) fn give_up_sectors(
        &mut self,
        at: &impl AnyEdge,
        (set, probe): (u32, Probe),
        line: u64,
        close: fn(&mut Mshr, u16),
    ) -> Recalled {
        let way = match probe {
            Probe::Present { way, .. } | Probe::Reserved { way } => way,
            Probe::Hollow { way } => {
                self.tags.invalidate(at, set, way);
                return Recalled::Absent;
            }
            Probe::Absent => return Recalled::Absent,
        };
        let held = self.sectors(at, set, probe);
        if held.modified {
            return Recalled::Kept;
        }
        self.stats.recalls += 1;
        self.overtake_sectors(at.tick(), line, held.coming, close);
        let overtaken = if self.keeps_overtaken { held.overtaken } else { held.coming };
        self.set_sectors(at, (set, way), Sectors { here: 0, overtaken, ..held });
        if held.coming == 0 {
            self.tags.invalidate(at, set, way);
            return Recalled::Dropped;
        }
        Recalled::Overtook
    }

    /// As [`Cache::supply`]: all sectors that another SM wants must be here.
    pub(super) fn supply_sectors(
        &mut self,
        at: &impl AnyEdge,
        (set, probe): (u32, Probe),
        sectors: u8,
    ) -> (Found, Option<&[u8; LINE_BYTES]>) {
        let (Probe::Present { way, .. } | Probe::Reserved { way }) = probe else { return (Found::Gone, None) };
        let held = self.sectors(at, set, probe);
        if held.modified {
            return (Found::Gone, None);
        }
        // A line that is here in part stays listed: what else is asked for may be here.
        if sectors & !held.here != 0 {
            return (Found::Coming, None);
        }
        self.tags.touch(at, set, way, Use::Other);
        (Found::Here, Some(&self.data.read(at, set * self.ways + way)[0].0))
    }

    /// Each way's sectors on their way are those that the entries of its line track.
    pub(super) fn has_consistent_sectors(&self) -> bool {
        let Some(store) = &self.sectors else { return true };
        (0..self.data.spec().rows).all(|set_way| {
            let (set, way) = (set_way / self.ways, set_way % self.ways);
            let line = self.tags.line_in(set, way);
            let held = store.look(set, way);
            match self.tags.look(set, line) {
                Probe::Present { way: found, .. } | Probe::Reserved { way: found } if found == way => {
                    held.coming == self.mshr.pending_sectors(line) && held.here & held.coming == 0
                }
                _ => true,
            }
        })
    }
}
