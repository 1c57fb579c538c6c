//! # Lines on their way out of a bank
//! Knows how far each line has come that leaves a bank of the transient flow, and in which order
//! messages to the L1s and bursts to memory go out. A line leaves from where it lies, a way or an FRC
//! entry: first the L1s that have copies are told to drop them, then it is written to memory if memory
//! does not know its bytes, and then its place is free.
//!
//! | port     | dir | payload | contract                                                     |
//! |----------|-----|---------|--------------------------------------------------------------|
//! | `tell`   | in  | leaver  | its line has copies in L1s                                   |
//! | `fetch`  | in  | entry   | an MSHR entry whose line is to be fetched                    |
//! | `write`  | in  | leaver  | its line is dirty, or memory acknowledges what leaves, and no L1 has a copy of it |
//!
//! What memory is asked for waits in a queue for each DRAM channel, so that none waits for another's.
//!
//! Every queue has a place for all that can be in it at once, so nothing here refuses anything.
//! A leaver is the MSHR entry whose line takes the way, or, counted on from there, an FRC entry.
//!
//! Part of `rtl/l2/bank.rs`.
//! Twin: `golden/l2/frc.rs`.
//! Bench: its own tests and `tb/l2/frc.rs`.

use serde::{Deserialize, Serialize};

use super::super::super::config::BankPlace;
use super::super::super::mshr::bits_for;
use crate::cells::fifo::Fifo;
use crate::kernel::{Describe, DescribeExt, FieldsExt, Payload};

/// What is left to be done before a line is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaving {
    /// L1s still to be told, one bit each.
    pub sharers: u128,
    /// L1s told that did not acknowledge yet.
    pub inv_left: u8,
    /// Memory does not know the bytes.
    pub dirty: bool,
    /// Memory has yet to acknowledge that the line leaves; only where it does.
    pub unheard: bool,
    /// Request that drove the line out.
    pub id: u32,
    /// Cycle of its look-up, if it has to wait for this: for the statistics.
    pub missed: u64,
    /// Cycle in which it got the place: for the statistics.
    pub reserved: u64,
}

impl Leaving {
    /// True while an L1 may have a copy.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.sharers != 0 || self.inv_left != 0
    }

    /// True while memory must hear of it.
    #[must_use]
    pub fn concerns_memory(&self) -> bool {
        self.dirty || self.unheard
    }

    /// Lists the registers; `l1s` is the number of L1s, 0 if they are not recalled from.
    pub fn describe(&self, l1s: u32, acknowledged: bool, to: &mut dyn Describe) {
        let Self { sharers, inv_left, dirty, unheard, id, missed: _, reserved: _ } = self;
        if l1s > 0 {
            to.mask("sharers", *sharers, l1s);
            to.sized("inv_left", u64::from(*inv_left), bits_for(l1s + 1));
        }
        to.flag("dirty", *dirty);
        if acknowledged {
            to.flag("unheard", *unheard);
        }
        to.bits("id", *id);
    }
}

/// Number of a leaver; its shape is the width.
#[derive(Clone, Copy, Debug, Default, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
struct Leaver(#[payload(name = "leaver", width = *shape)] u16);

/// Something for memory to do; its shape is the width of a leaver.
#[derive(Clone, Copy, Debug, Default, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
pub(super) struct Job {
    /// Write the line of a leaver, or tell memory that it leaves; else fetch the line of an MSHR entry.
    pub write: bool,
    /// Which one.
    #[payload(width = *shape)]
    pub who: u16,
    /// Request that is the reason.
    pub id: u32,
    /// Cycle of the look-up that missed, for a fetch: for the statistics.
    #[payload(skip)]
    pub missed: u64,
}

/// What a DRAM channel is asked for, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Jobs {
    queue: Fifo<Job>,
    /// Bursts sent of the oldest.
    sent: u32,
}

impl Jobs {
    fn describe(&self, bursts: u32, to: &mut dyn Describe) {
        let Self { queue, sent } = self;
        queue.describe(to);
        to.sized("sent", u64::from(*sent), bits_for(bursts));
    }
}

/// The registers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Evictions {
    /// The line that leaves the way reserved for each MSHR entry.
    ways: Box<[Leaving]>,
    /// Leavers whose sharers are being told, in order.
    telling: Fifo<Leaver>,
    /// By channel.
    jobs: Box<[Jobs]>,
    /// Bursts of a line.
    bursts: u32,
    l1s: u32,
    /// Memory acknowledges every line that leaves.
    acknowledged: bool,
}

impl Evictions {
    /// Nothing is on its way out, of a bank with so many MSHR and FRC entries.
    pub fn new(mshr_entries: u32, frc_entries: u32, acknowledged: bool, place: &BankPlace) -> Self {
        let l1s = place.coherent_l1s;
        let leavers = mshr_entries + frc_entries;
        let width = bits_for(leavers);
        Self {
            ways: vec![Leaving::default(); mshr_entries as usize].into(),
            telling: Fifo::new(if l1s > 0 { leavers } else { 0 }, width),
            jobs: (0..place.channels.num_partitions)
                .map(|_| Jobs { queue: Fifo::new(leavers, width), sent: 0 })
                .collect(),
            bursts: place.bursts(),
            l1s,
            acknowledged,
        }
    }

    /// The line that leaves the way reserved for an MSHR entry.
    pub fn way(&self, entry: u32) -> &Leaving {
        &self.ways[entry as usize]
    }

    /// The same, to be changed.
    pub fn way_mut(&mut self, entry: u32) -> &mut Leaving {
        &mut self.ways[entry as usize]
    }

    /// Puts down a leaver whose sharers are to be told.
    pub fn tell(&mut self, who: u32) {
        self.telling.push(Leaver(who as u16));
    }

    /// The leaver whose sharers are being told.
    pub fn telling(&self) -> Option<u32> {
        self.telling.front().map(|&Leaver(who)| u32::from(who))
    }

    /// All of its sharers know.
    pub fn told(&mut self) {
        self.telling.drop_front();
    }

    /// Puts down something for a channel to do.
    pub fn ask(&mut self, channel: usize, job: Job) {
        self.jobs[channel].queue.push(job);
    }

    /// What a channel is being asked for, and how many bursts of it are out.
    pub fn job(&self, channel: usize) -> Option<(Job, u32)> {
        let Jobs { queue, sent } = &self.jobs[channel];
        queue.front().map(|&job| (job, *sent))
    }

    /// Another of its bursts is out, of so many; true if that was the last.
    pub fn sent(&mut self, channel: usize, bursts: u32) -> bool {
        let Jobs { queue, sent } = &mut self.jobs[channel];
        *sent += 1;
        let is_done = *sent == bursts;
        if is_done {
            *sent = 0;
            queue.drop_front();
        }
        is_done
    }

    /// True if nobody is to be told, and memory to be asked for nothing.
    pub fn is_idle(&self) -> bool {
        self.telling.is_empty() && self.jobs.iter().all(|jobs| jobs.queue.is_empty())
    }

    /// Lists the registers.
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
            packets: PacketShape { line_bits: 26, line_bytes: 64, sm_bits: 4, partition_bits: 1, tracked: false },
            interleave: Interleave::new(2, 256, 64),
            partition: 0,
            channels: Interleave::new(2, 256, 32),
            sharers: Interleave::new(1, 256, 32),
            line_bytes: 64,
            burst_bytes: 32,
            coherent_l1s: 0,
        };
        let mut evictions = Evictions::new(4, 0, false, &place);
        let fetch = |who| Job { who, ..Job::default() };
        evictions.ask(0, fetch(1));
        evictions.ask(1, fetch(2));
        evictions.ask(1, fetch(3));
        let next = |evictions: &Evictions, channel| evictions.job(channel).map(|(job, sent)| (job.who, sent));
        assert!(!evictions.sent(1, 2));
        assert_eq!((next(&evictions, 0), next(&evictions, 1)), (Some((1, 0)), Some((2, 1))));
        assert!(evictions.sent(1, 2));
        assert_eq!((next(&evictions, 0), next(&evictions, 1)), (Some((1, 0)), Some((3, 0))));
    }
}
