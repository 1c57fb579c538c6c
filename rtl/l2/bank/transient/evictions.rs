//! # Evictions in progress in a bank
//! Tracks the progress of each eviction in the transient flow, and orders the recalls to L1s and the bursts
//! to memory. A line is evicted from its way or FRC entry in three steps. First the line is recalled from the
//! L1s that have copies. If dirty, it is then written to memory. Finally its way or entry is free.
//!
//! | port     | dir | payload | contract                                                     |
//! |----------|-----|---------|--------------------------------------------------------------|
//! | `recall` | in  | eviction | number of an eviction whose line has copies in L1s           |
//! | `fetch`  | in  | entry   | MSHR entry of a line to be fetched                           |
//! | `write`  | in  | eviction | number of an eviction whose line is dirty, or that memory acknowledges, with no copies in L1s left |
//!
//! Each DRAM channel has a separate job queue, so that no channel waits for another. Every queue has room for
//! all possible jobs, so this component never stalls. The number of an eviction is the number of the MSHR
//! entry whose line takes the way. Numbers beyond the MSHR entries denote FRC entries.
//!
//! Part of `rtl/l2/bank.rs`.
//! Twin: `golden/l2/frc.rs`.
//! Bench: its own tests and `tb/l2/frc.rs`.

use serde::{Deserialize, Serialize};

use super::super::super::config::BankPlace;
use crate::cells::fifo::Fifo;
use crate::cells::lines::{Lines, Wide};
use crate::kernel::{Describe, DescribeExt, FieldsExt, Payload, bits_for};

/// Remaining steps of the eviction of one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Eviction {
    /// L1s to which a recall of the line must still be sent, one bit per L1.
    pub sharers: Wide,
    /// Number of recalls that were sent and not yet acknowledged.
    pub inv_left: u8,
    /// True if the line must still be written to memory.
    pub dirty: bool,
    /// True if memory has not acknowledged the eviction yet. Used only if memory acknowledges evictions.
    pub unheard: bool,
    /// Sequence number of the request that caused the eviction.
    pub id: u32,
    /// Cycle of the lookup of the request that waits for the way; for statistics only, not modeled as
    /// hardware.
    pub missed: u64,
    /// Cycle in which the way was reserved; for statistics only, not modeled as hardware.
    pub reserved: u64,
}

impl Eviction {
    /// True while an L1 may still have a copy of the evicted line.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.sharers != Wide::NONE || self.inv_left != 0
    }

    /// True while the line must still be written to memory, or memory must still acknowledge the eviction.
    #[must_use]
    pub fn concerns_memory(&self) -> bool {
        self.dirty || self.unheard
    }

    /// Lists the registers of one eviction for waveforms, digests and area estimates. `l1s` is the number of
    /// L1s from which lines are recalled, or 0 if lines are not recalled.
    pub fn describe(&self, l1s: u32, acknowledged: bool, to: &mut dyn Describe) {
        let Self { sharers, inv_left, dirty, unheard, id, missed: _, reserved: _ } = self;
        if l1s > 0 {
            sharers.describe("sharers", l1s, to);
            to.sized("inv_left", u64::from(*inv_left), bits_for(l1s + 1));
        }
        to.flag("dirty", *dirty);
        if acknowledged {
            to.flag("unheard", *unheard);
        }
        to.bits("id", *id);
    }
}

/// Number of an eviction, as an element of a queue. Its width in bits depends on the configuration.
#[derive(Clone, Copy, Debug, Default, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
struct EvictionNumber(#[payload(name = "leaver", width = *shape)] u16);

/// Job for a DRAM channel: a fetch, a writeback, or a notice that a line was evicted. The width in bits of an
/// eviction number depends on the configuration.
#[derive(Clone, Copy, Debug, Default, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
pub(super) struct Job {
    /// True if the job writes the line of an eviction to memory or notifies memory of the eviction. False if
    /// it fetches the line of an MSHR entry.
    pub write: bool,
    /// If `write` is true, number of the eviction to which the job belongs; otherwise number of the MSHR
    /// entry whose line is fetched.
    #[payload(width = *shape)]
    pub who: u16,
    /// Sequence number of the request that caused the job.
    pub id: u32,
    /// Cycle of the lookup that missed, for a fetch; for statistics only, not modeled as hardware.
    #[payload(skip)]
    pub missed: u64,
}

/// Queue of jobs for one DRAM channel, in order of execution.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Jobs {
    queue: Fifo<Job>,
    /// Number of bursts of the oldest job that have been sent.
    sent: u32,
}

impl Jobs {
    fn describe(&self, bursts: u32, to: &mut dyn Describe) {
        let Self { queue, sent } = self;
        queue.describe(to);
        to.sized("sent", u64::from(*sent), bits_for(bursts));
    }
}

/// Registers of all evictions in progress in a bank.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Evictions {
    /// For each MSHR entry, the eviction from the way that is reserved for the entry's line.
    ways: Box<[Eviction]>,
    /// Queue of the evictions that still have recalls to send, oldest first.
    telling: Fifo<EvictionNumber>,
    /// Job queue of each DRAM channel.
    jobs: Box<[Jobs]>,
    /// Number of bursts per line.
    bursts: u32,
    l1s: u32,
    /// True if memory acknowledges every eviction.
    acknowledged: bool,
}

impl Evictions {
    /// Returns the registers of a bank in which no line is being evicted. The queues have room for one
    /// eviction per entry of the MSHR and of the FRC (fetch and replacement cache).
    pub fn new(mshr_entries: u32, frc_entries: u32, acknowledged: bool, place: &BankPlace) -> Self {
        let l1s = place.coherent_l1s;
        let leavers = mshr_entries + frc_entries;
        let width = bits_for(leavers);
        Self {
            ways: vec![Eviction::default(); mshr_entries as usize].into(),
            telling: Fifo::new(if l1s > 0 { leavers } else { 0 }, width),
            jobs: (0..place.channels.num_partitions)
                .map(|_| Jobs { queue: Fifo::new(leavers, width), sent: 0 })
                .collect(),
            bursts: place.bursts(),
            l1s,
            acknowledged,
        }
    }

    /// Returns the eviction from the way that is reserved for MSHR entry `entry`.
    pub fn way(&self, entry: u32) -> &Eviction {
        &self.ways[entry as usize]
    }

    /// Returns the eviction from the way that is reserved for MSHR entry `entry`, for modification.
    pub fn way_mut(&mut self, entry: u32) -> &mut Eviction {
        &mut self.ways[entry as usize]
    }

    /// Enqueues an eviction whose line must be recalled from L1s.
    pub fn enqueue_recall(&mut self, who: u32) {
        self.telling.push(EvictionNumber(who as u16));
    }

    /// Returns the number of the eviction for which recalls are being sent; `None` if there is none.
    pub fn recalling(&self) -> Option<u32> {
        self.telling.front().map(|&EvictionNumber(who)| u32::from(who))
    }

    /// Removes the oldest eviction from the recall queue, after all its recalls have been sent.
    pub fn finish_recalls(&mut self) {
        self.telling.drop_front();
    }

    /// Enqueues a job for DRAM channel `channel`.
    pub fn enqueue_job(&mut self, channel: usize, job: Job) {
        self.jobs[channel].queue.push(job);
    }

    /// Returns the oldest job of a DRAM channel, and how many of its bursts have been sent; `None` if there
    /// is no job.
    pub fn job(&self, channel: usize) -> Option<(Job, u32)> {
        let Jobs { queue, sent } = &self.jobs[channel];
        queue.front().map(|&job| (job, *sent))
    }

    /// Records that a burst of the oldest job on DRAM channel `channel` was sent. The job has `bursts`
    /// bursts; after its last burst, removes the job and returns true.
    pub fn on_burst_sent(&mut self, channel: usize, bursts: u32) -> bool {
        let Jobs { queue, sent } = &mut self.jobs[channel];
        *sent += 1;
        let is_done = *sent == bursts;
        if is_done {
            *sent = 0;
            queue.drop_front();
        }
        is_done
    }

    /// True if no recall is to be sent and no job is queued.
    pub fn is_idle(&self) -> bool {
        self.telling.is_empty() && self.jobs.iter().all(|jobs| jobs.queue.is_empty())
    }

    /// Lists the registers of all evictions in progress for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { ways, telling, jobs, bursts, l1s, acknowledged } = self;
        to.entries("way_of", ways.iter(), |leaving, to| leaving.describe(*l1s, *acknowledged, to));
        if *l1s > 0 {
            to.part("telling", |to| telling.describe(to));
        }
        match &**jobs {
            [jobs] => to.part("jobs", |to| jobs.describe(*bursts, to)),
            channels => to.entries("jobs", channels, |jobs, to| jobs.describe(*bursts, to)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noc::interleave::Interleave;
    use crate::noc::packet::PacketShape;

    #[test]
    fn what_one_channel_is_asked_for_waits_for_no_other() {
        let place = BankPlace {
            packets: PacketShape {
                line_bits: 26,
                line_bytes: 64,
                sm_bits: 4,
                partition_bits: 1,
                tracked: false,
                hints: false,
            },
            interleave: Interleave::new(2, 256, 64),
            partition: 0,
            channels: Interleave::new(2, 256, 32),
            sharers: Interleave::new(1, 256, 32),
            line_bytes: 64,
            burst_bytes: 32,
            coherent_l1s: 0,
            requester_bits: None,
            sms: 15,
        };
        let mut evictions = Evictions::new(4, 0, false, &place);
        let fetch = |who| Job { who, ..Job::default() };
        evictions.enqueue_job(0, fetch(1));
        evictions.enqueue_job(1, fetch(2));
        evictions.enqueue_job(1, fetch(3));
        let next = |evictions: &Evictions, channel| evictions.job(channel).map(|(job, sent)| (job.who, sent));
        assert!(!evictions.on_burst_sent(1, 2));
        assert_eq!((next(&evictions, 0), next(&evictions, 1)), (Some((1, 0)), Some((2, 1))));
        assert!(evictions.on_burst_sent(1, 2));
        assert_eq!((next(&evictions, 0), next(&evictions, 1)), (Some((1, 0)), Some((3, 0))));
    }
}
