//! Steps of an eviction in the transient flow: recall of the line from L1s, then writeback, then release. The
//! steps are the same for a way of a set and for an entry of the Fetch and Replacement Cache (FRC).

use super::super::super::coherence::{Invalidate, RecallIo};
use super::super::super::line::{LineState, Sharers, Tag};
use super::super::super::mshr::MshrEntry;
use super::super::lines::{LinePlace, Spot, part_of};
use super::evictions::{Eviction, Job};
use super::{Transient, spot_of};
use crate::cells::lines::{Lines, Wide};
use crate::dram::message::{BURST_BYTES, DramRequest};
use crate::kernel::{AnyEdge, Array, TxBank};
use crate::noc::interleave::Interleave;

/// Sets the mask of L1s that have a copy of the line at `(set, way)` to `new`. Returns the previous mask,
/// which belonged to the line that was in this way before.
pub(super) fn replace(sharers: &mut Array<Sharers>, at: &impl AnyEdge, (set, way): LinePlace, new: Wide) -> Wide {
    let Sharers(old) = *sharers.read_cell(at, set, way);
    sharers.write(at, set, way, Sharers(new));
    old
}

impl Transient {
    /// Starts the eviction of the victim in the way that is reserved for an MSHR entry. If the way is empty,
    /// there is no victim, and the fetch starts at once.
    pub(super) fn start_eviction(&mut self, at: &impl AnyEdge, entry: u32, id: u32, missed: u64) {
        let MshrEntry { set, way, .. } = self.core.mshr.entry(entry);
        let state = self.core.tags.row(set)[way as usize].state;
        let sharers = self.sharers.as_mut().map_or(Wide::NONE, |sharers| replace(sharers, at, (set, way), Wide::NONE));
        *self.evictions.way_mut(entry) = Eviction {
            sharers,
            inv_left: 0,
            dirty: state == LineState::Modified,
            unheard: self.acknowledged && state.is_here(),
            id,
            missed,
            reserved: at.cycle(),
        };
        self.core.stats.evictions += u64::from(state.is_here());
        self.step_out(at, entry);
    }

    /// Starts the next step of the eviction with number `who`, after its previous step is complete.
    pub(super) fn step_out(&mut self, at: &impl AnyEdge, who: u32) {
        let leaving = *self.eviction(who);
        if leaving.is_shared() {
            self.evictions.enqueue_recall(who);
        } else if leaving.concerns_memory() {
            self.enqueue_job(Job { write: true, who: who as u16, id: leaving.id, missed: 0 });
        }
        let is_gone = !leaving.is_shared() && !leaving.concerns_memory();
        if who >= self.core.config.mshr_entries {
            self.step_out_of_frc(at, who - self.core.config.mshr_entries, is_gone);
            return;
        }
        let MshrEntry { set, way, line, .. } = self.core.mshr.entry(who);
        let (_, tag) = self.core.split(self.core.local(line));
        self.core.tags.update(at, set, way, |cell| {
            if is_gone {
                *cell = Tag { tag, state: LineState::Reserved };
            } else if leaving.is_shared() {
                cell.state = LineState::Invalidating;
            } else {
                cell.state = LineState::WritingBack;
            }
        });
        if is_gone {
            // The fetched line may be the one that was just evicted. Both transfers then use the same channel
            // queue, so the fetch follows the writeback.
            let Eviction { id, missed, reserved, .. } = leaving;
            self.core.stats.delays.eviction += at.cycle() - reserved;
            self.enqueue_job(Job { write: false, who: who as u16, id, missed });
            self.pending.wake(set);
        }
    }

    /// Starts the next step of the eviction of the old line in an entry of the FRC (fetch and replacement
    /// cache). Releases the entry if the eviction is complete.
    fn step_out_of_frc(&mut self, at: &impl AnyEdge, entry: u32, is_gone: bool) {
        let Some(frc) = &mut self.frc else { self.core.breach(at, "a line leaves an FRC that does not exist") };
        let set = frc.entry(entry).set;
        if is_gone {
            frc.release(at, entry);
            self.pending.wake_where(|other| frc.share(set, other));
        } else if !frc.entry(entry).leaving.is_shared() {
            frc.write_back(at, entry);
        }
    }

    /// Sends one recall of an evicted line to an L1. Returns true if a full channel prevents this.
    pub(super) fn recall(&mut self, recall: &mut Option<RecallIo<'_>>, at: &mut impl AnyEdge) -> bool {
        let Some(who) = self.evictions.recalling() else { return false };
        let Some(recall) = recall else { self.core.breach(at, "a copy to recall without a link to its L1") };
        if !recall.inv.is_ready(at) {
            return true;
        }
        // L1 lines may be longer than lines of the bank; the recall names the L1 line that contains the
        // evicted line.
        let line = self.core.place.interleave.unit(self.core.place.partition, self.eviction_line(who));
        let line = line >> self.core.place.parts_log2();
        let leaving = self.eviction_mut(who);
        let Some(sm) = leaving.sharers.first() else { self.core.breach(at, "a recall without an L1 that has a copy") };
        leaving.sharers = leaving.sharers.without_first();
        leaving.inv_left += 1;
        if leaving.sharers == Wide::NONE {
            self.evictions.finish_recalls();
        }
        recall.inv.push(at, Invalidate { line, sm: sm as u8, leaver: who as u16 });
        false
    }

    /// Accepts an L1's acknowledgment of a recall. After the last one, starts the next step of the eviction.
    pub(super) fn take_ack(&mut self, recall: &mut Option<RecallIo<'_>>, at: &mut impl AnyEdge) {
        let Some(recall) = recall else { return };
        let Some(ack) = recall.inv_ack.peek(at) else { return };
        let who = u32::from(ack.leaver);
        recall.inv_ack.drop_head(at);
        if self.eviction(who).inv_left == 0 {
            self.core.breach(at, "an acknowledgment without a waiter");
        }
        let leaving = self.eviction_mut(who);
        leaving.inv_left -= 1;
        if !leaving.is_shared() {
            self.step_out(at, who);
        }
    }

    /// Enqueues a write or a fetch of a line for the DRAM channel that contains the line.
    pub(super) fn enqueue_job(&mut self, job: Job) {
        let channel = match &self.core.place.channels {
            Interleave { num_partitions: 1, .. } => 0,
            channels => channels.partition(self.line_of(job) * u64::from(self.core.bursts)),
        };
        self.evictions.enqueue_job(channel as usize, job);
    }

    /// Sends one burst to each DRAM channel that has room. Returns true if more bursts can be sent in the
    /// next cycle.
    pub(super) fn send_bursts(&mut self, dram_req: &mut TxBank<'_, DramRequest>, at: &mut impl AnyEdge) -> bool {
        let mut more = false;
        for channel in 0..dram_req.len() {
            more |= self.send_burst(channel, dram_req, at);
        }
        more
    }

    /// Records that memory has the evicted line, or has been notified of its eviction, and starts the next
    /// step of the eviction.
    pub(super) fn finish_memory_step(&mut self, at: &impl AnyEdge, who: u32) {
        let leaving = self.eviction_mut(who);
        (leaving.dirty, leaving.unheard) = (false, false);
        self.step_out(at, who);
    }

    fn send_burst(&mut self, channel: usize, dram_req: &mut TxBank<'_, DramRequest>, at: &mut impl AnyEdge) -> bool {
        let Some((job, sent)) = self.evictions.job(channel) else { return false };
        let Job { write, who, id, .. } = job;
        let burst = self.line_of(job) * u64::from(self.core.bursts) + u64::from(sent);
        let (mut dram_req, burst) = self.core.channel_of(burst, dram_req);
        if !dram_req.is_ready(at) {
            return false;
        }
        let bursts = self.core.bursts;
        if write && !self.eviction(u32::from(who)).dirty {
            // The line is clean, so memory already has its bytes, and is only notified of the eviction.
            dram_req.push(at, DramRequest { id, burst, tag: who, acknowledged: true, ..DramRequest::default() });
            self.evictions.on_burst_sent(channel, 1);
            return self.evictions.job(channel).is_some();
        }
        let (tag, byte_mask, data) = self.burst_of(at, job, sent);
        let acknowledged = write && self.acknowledged && sent + 1 == bursts;
        let tag = if acknowledged { who } else { tag };
        // The requester of a write is the L2 itself (number 0), not an SM.
        let requester = if write { 0 } else { self.core.mshr.entry(who.into()).requester };
        dram_req.push(at, DramRequest { write, id, burst, tag, requester, acknowledged, byte_mask, data });
        let is_sent = self.evictions.on_burst_sent(channel, bursts);
        self.core.stats.writebacks += u64::from(is_sent && write);
        if is_sent && write && !acknowledged {
            self.finish_memory_step(at, u32::from(who));
            // The end of this eviction may have enqueued a fetch for a channel whose turn in this cycle is
            // already over, so a burst may be ready to be sent in the next cycle.
            return true;
        }
        self.evictions.job(channel).is_some()
    }

    /// Returns tag, byte mask and data for burst number `sent` of a job (a writeback or a fetch).
    #[inline(always)]
    fn burst_of(&mut self, at: &impl AnyEdge, job: Job, sent: u32) -> (u16, u64, [u8; BURST_BYTES]) {
        let Job { write, who, missed, .. } = job;
        let who = u32::from(who);
        if !write {
            if sent == 0 {
                self.core.stats.miss_delay += at.cycle() - missed;
            }
            return ((who * self.core.bursts + sent) as u16, 0, [0; BURST_BYTES]);
        }
        let place = self.eviction_place(who);
        let Self { core, frc, .. } = self;
        let (memory, (row, column)) = match spot_of(frc, core.config.ways, place) {
            Spot::Way(place) => (&core.lines.data, place),
            Spot::Beside(memory, cell) => (&*memory, cell),
        };
        let burst_bytes = core.place.burst_bytes as usize;
        let bytes = &memory.read_cell(at, row, column).0[sent as usize * burst_bytes..][..burst_bytes];
        (0, u64::MAX >> (BURST_BYTES - burst_bytes), part_of(bytes))
    }

    /// Returns the number within the bank of the line that a job (a writeback or a fetch) transfers.
    fn line_of(&self, Job { write, who, .. }: Job) -> u64 {
        let who = u32::from(who);
        if write { self.eviction_line(who) } else { self.core.local(self.core.mshr.entry(who).line) }
    }

    /// Returns the remaining steps of the eviction with number `who`. A number at or above the number of MSHR
    /// entries denotes an entry of the FRC (fetch and replacement cache).
    fn eviction(&self, who: u32) -> &Eviction {
        match &self.frc {
            Some(frc) if who >= self.core.config.mshr_entries => {
                &frc.entry(who - self.core.config.mshr_entries).leaving
            }
            _ => self.evictions.way(who),
        }
    }

    fn eviction_mut(&mut self, who: u32) -> &mut Eviction {
        match &mut self.frc {
            Some(frc) if who >= self.core.config.mshr_entries => frc.eviction_mut(who - self.core.config.mshr_entries),
            _ => self.evictions.way_mut(who),
        }
    }

    /// Returns the set and way of the line that eviction number `who` removes. A way number at or above the
    /// number of ways of a set denotes a way of the FRC (fetch and replacement cache).
    fn eviction_place(&self, who: u32) -> LinePlace {
        match &self.frc {
            Some(frc) if who >= self.core.config.mshr_entries => {
                let entry = who - self.core.config.mshr_entries;
                (frc.entry(entry).set, self.core.config.ways + frc.cell(entry).1)
            }
            _ => {
                let MshrEntry { set, way, .. } = self.core.mshr.entry(who);
                (set, way)
            }
        }
    }

    /// Returns the number within the bank of the line that the eviction with number `who` removes.
    fn eviction_line(&self, who: u32) -> u64 {
        match &self.frc {
            Some(frc) if who >= self.core.config.mshr_entries => {
                let entry = frc.entry(who - self.core.config.mshr_entries);
                self.core.join(entry.set, entry.tag)
            }
            _ => {
                let (set, way) = self.eviction_place(who);
                self.core.join(set, self.core.tags.row(set)[way as usize].tag)
            }
        }
    }
}
