//! # What a host may do with a machine between launches
//! Map and fill memory, start a kernel, read memory back, see whether the machine is done. None of
//! it takes simulated time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use thiserror::Error;

use super::node::Node;
use super::{Machine, MachineConfig};
use crate::dram::channel::DramChannel;
use crate::dram::recorded::ChannelPlace;
use crate::dram::store::StoreError;
use crate::kernel::{Clocks, Counted, Wired};
use crate::l1::lsu::Lsu;
use crate::l1::watch::Watch;
use crate::l2::{Invalidate, InvalidateAck, L2Bank};
use crate::noc::packet::{Packet, Reply, Request};
use crate::noc::xbar::OutputStats;
use crate::sm::{Dispatcher, Fault, FetchWatch, KernelImage, LaunchError, SmCore, occupancy};
use crate::tracker::{Answer, Forward, Seen, Tracker};

/// Why the host's wish cannot be met.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    /// An address outside what the machine has or the host has mapped.
    #[error("{bytes} bytes at {address:#x} are not mapped: {reason}")]
    Memory {
        /// First byte.
        address: u64,
        /// How many.
        bytes: u64,
        /// What the memory said.
        reason: String,
    },
}

/// Something was still under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the machine is not idle")]
pub struct NotIdle;

/// The blocks of a network.
#[derive(Clone, Copy)]
pub struct Network<'a, P: Packet + 'static>(&'a [Box<Wired<Node<P>>>]);

impl<P: Packet + 'static> Network<'_, P> {
    /// Counts of one output of the network.
    #[must_use]
    pub fn stats(&self, output: usize) -> OutputStats {
        let nodes: Vec<OutputStats> = self.0.iter().map(|node| node.stats(output)).collect();
        OutputStats::total(&nodes)
    }

    /// True if no packet is inside.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.0.iter().all(|node| node.is_idle())
    }
}

fn settle_network<P: Packet + 'static>(nodes: &mut [Box<Wired<Node<P>>>], cycle: u64) {
    nodes.iter_mut().for_each(|node| node.settle(cycle));
}

impl Machine {
    fn cores_mut(&mut self) -> &mut [Box<Wired<SmCore>>] {
        self.net.all_mut(self.kinds.cores)
    }

    fn lsus_mut(&mut self) -> &mut [Box<Wired<Lsu>>] {
        self.net.all_mut(self.kinds.lsus)
    }

    fn banks_mut(&mut self) -> &mut [Box<Wired<L2Bank>>] {
        self.net.all_mut(self.kinds.banks)
    }

    fn drams_mut(&mut self) -> &mut [Box<Wired<DramChannel>>] {
        self.net.all_mut(self.kinds.drams)
    }

    fn trackers_mut(&mut self) -> &mut [Box<Wired<Tracker>>] {
        match self.kinds.tracking {
            Some(tracking) => self.net.all_mut(tracking.trackers),
            None => &mut [],
        }
    }

    fn is_tracking_idle(&self) -> bool {
        self.forward_networks().is_none_or(|(out, back)| out.is_idle() && back.is_idle())
            && self.trackers().iter().all(|block| block.is_idle())
    }

    /// Its configuration.
    #[must_use]
    pub fn config(&self) -> &MachineConfig {
        &self.config
    }

    /// Its clocks.
    #[must_use]
    pub fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// The cores.
    #[must_use]
    pub fn cores(&self) -> &[Box<Wired<SmCore>>] {
        self.net.all(self.kinds.cores)
    }

    /// The load-store units with their L1s.
    #[must_use]
    pub fn lsus(&self) -> &[Box<Wired<Lsu>>] {
        self.net.all(self.kinds.lsus)
    }

    /// The L2 banks.
    #[must_use]
    pub fn banks(&self) -> &[Box<Wired<L2Bank>>] {
        self.net.all(self.kinds.banks)
    }

    /// The DRAM channels.
    #[must_use]
    pub fn drams(&self) -> &[Box<Wired<DramChannel>>] {
        self.net.all(self.kinds.drams)
    }

    /// The network of requests.
    #[must_use]
    pub fn request_network(&self) -> Network<'_, Request> {
        Network(self.net.all(self.kinds.requests))
    }

    /// The network of replies.
    #[must_use]
    pub fn reply_network(&self) -> Network<'_, Reply> {
        Network(self.net.all(self.kinds.replies))
    }

    /// The networks of recalls and of their answers, where the L2 keeps the L1s coherent.
    #[must_use]
    pub fn recall_networks(&self) -> Option<(Network<'_, Invalidate>, Network<'_, InvalidateAck>)> {
        let recalls = self.kinds.recalls?;
        Some((Network(self.net.all(recalls.wishes)), Network(self.net.all(recalls.answers))))
    }

    /// The banks of the sharing tracker, if there is one.
    #[must_use]
    pub fn trackers(&self) -> &[Box<Wired<Tracker>>] {
        self.kinds.tracking.map_or(&[], |tracking| self.net.all(tracking.trackers))
    }

    /// The networks of forwards and of their answers, where L1s supply each other.
    #[must_use]
    pub fn forward_networks(&self) -> Option<(Network<'_, Forward>, Network<'_, Answer>)> {
        let tracking = self.kinds.tracking?;
        Some((Network(self.net.all(tracking.forwards)), Network(self.net.all(tracking.answers))))
    }

    /// How often a value in memory has changed so far: stores that have reached it, atomics that left
    /// another value than they found, CTAs that have ended.
    #[must_use]
    pub fn changes(&self) -> u64 {
        let banks = self.banks().iter().map(|bank| bank.stats().changes).sum::<u64>();
        let cores = self.cores().iter().map(|core| core.counters().shared_changes).sum::<u64>();
        // Stores that hit are local ones: those to global memory are seen at the L2, whether they update a copy
        // or not.
        let local = self.lsus().iter().map(|lsu| lsu.stats().store_hits).sum::<u64>();
        banks + cores + local + self.dispatcher().progress().0
    }

    /// Warps of a scheduler that a throttle found best for a kernel.
    #[must_use]
    pub fn warp_limit_of(&self, key: u16) -> Option<u8> {
        self.net.all(self.kinds.hub?)[0].0.limit_of(key)
    }

    /// The CTA dispatcher.
    #[must_use]
    pub fn dispatcher(&self) -> &Wired<Dispatcher> {
        &self.net.all(self.kinds.dispatcher)[0]
    }

    /// What a bank of the sharing tracker did since this was last asked, if observed.
    pub fn take_seen(&mut self, partition: usize) -> Option<Seen> {
        let trackers = self.kinds.tracking?.trackers;
        self.net.all_mut(trackers)[partition].take_seen()
    }

    /// Starts to report what the L1s and the sharing tracker do at each edge, and to refuse reads of cache lines that nobody
    /// wrote.
    pub fn observe(&mut self) {
        self.lsus_mut().iter_mut().for_each(|block| block.observe());
        self.cores_mut().iter_mut().for_each(|block| block.observe());
        self.trackers_mut().iter_mut().for_each(|block| block.observe());
        self.banks_mut().iter_mut().for_each(|block| block.refuse_unwritten());
    }

    /// What an L1 did since this was last asked, if observed.
    pub fn take_watch(&mut self, sm: usize) -> Option<Watch> {
        self.lsus_mut()[sm].take_watch()
    }

    /// What an instruction cache did since this was last asked, if there is one and it is observed.
    pub fn take_fetches(&mut self, sm: usize) -> Option<FetchWatch> {
        self.cores_mut()[sm].take_fetches()
    }

    /// Charges slept spans to the statistics; `tick` is the time of the last edge.
    pub fn settle(&mut self, tick: u64) {
        let cycle = |domain: u8| tick / u64::from(self.clocks.period(usize::from(domain))) + 1;
        let (core, xbar, l2, dram) = (cycle(super::CORE), cycle(super::XBAR), cycle(super::L2), cycle(super::DRAM));
        self.cores_mut().iter_mut().for_each(|c| c.settle(core));
        for lsu in self.lsus_mut() {
            lsu.settle(core);
        }
        settle_network(self.net.all_mut(self.kinds.requests), xbar);
        settle_network(self.net.all_mut(self.kinds.replies), xbar);
        if let Some(recalls) = self.kinds.recalls {
            settle_network(self.net.all_mut(recalls.wishes), xbar);
            settle_network(self.net.all_mut(recalls.answers), xbar);
        }
        if let Some(tracking) = self.kinds.tracking {
            settle_network(self.net.all_mut(tracking.forwards), xbar);
            settle_network(self.net.all_mut(tracking.answers), xbar);
        }
        self.banks_mut().iter_mut().for_each(|bank| bank.settle(l2));
        self.drams_mut().iter_mut().for_each(|channel| channel.settle(dram));
    }

    /// Turns all of memory into that behind a trace, where each word says where it belongs.
    pub fn record_memory(&mut self) {
        let burst_bits = self.config.burst_bits();
        let channels = self.config.channels(self.config.dram.burst_bytes());
        for (number, channel) in (0..).zip(self.net.all_mut(self.kinds.drams)) {
            let place = ChannelPlace { channel: number, channels };
            channel.record_memory(&self.config.channel_path(number), place, burst_bits);
        }
    }

    /// Makes memory exist, as zeros, in whole runs of the partitions.
    ///
    /// # Errors
    /// Beyond the end of the channels.
    pub fn map(&mut self, address: u64, bytes: u64) -> Result<(), HostError> {
        let last = address + bytes.max(1) - 1;
        let run_bytes = u64::from(self.config.interleave_bytes);
        let (first, last) = (address / run_bytes, last / run_bytes);
        let bursts = run_bytes / u64::from(self.config.dram.burst_bytes());
        let channels = self.config.channels(self.config.interleave_bytes);
        for run in first..=last {
            let (channel, local) = channels.place(run);
            let mapped = self.drams_mut()[channel].store_mut().map(local * bursts..(local + 1) * bursts);
            mapped.map_err(|reason| memory_error(address, bytes, &reason))?;
        }
        Ok(())
    }

    /// Writes memory as a host copy does: every cached copy is updated or gone.
    ///
    /// # Errors
    /// Memory that is not mapped.
    pub fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<(), HostError> {
        let line_bytes = self.config.l2.line_bytes as usize;
        let channels = self.config.channels(self.config.l2.line_bytes);
        for (line, offset, range) in cut(address, bytes.len(), line_bytes) {
            let piece = &bytes[range];
            let partition = channels.partitions.partition(line) as usize;
            // Bytes that are not in a bank stay so: they are written below.
            if let Some((&(mut data), _)) = self.banks()[partition].peek(line) {
                data[offset..offset + piece.len()].copy_from_slice(piece);
                self.banks_mut()[partition].poke(line, &data);
            }
            let burst_bytes = self.config.dram.burst_bytes() as usize;
            let bursts = (line_bytes / burst_bytes) as u64;
            let (channel, local) = channels.place(line);
            let store = self.drams_mut()[channel].store_mut();
            for (burst, inside, part) in cut(offset as u64, piece.len(), burst_bytes) {
                let poked = store.poke(local * bursts + burst, inside, &piece[part]);
                poked.map_err(|reason| memory_error(address, bytes.len() as u64, &reason))?;
            }
        }
        Ok(())
    }

    /// Reads memory as the host sees it: the newest copy, from the L2 or from DRAM.
    ///
    /// # Errors
    /// Memory that is not mapped.
    pub fn read_memory(&self, address: u64, bytes: usize) -> Result<Vec<u8>, HostError> {
        let mut read = Vec::with_capacity(bytes);
        let line_bytes = self.config.l2.line_bytes as usize;
        let channels = self.config.channels(self.config.l2.line_bytes);
        for (line, offset, range) in cut(address, bytes, line_bytes) {
            let partition = channels.partitions.partition(line) as usize;
            let held = self.banks()[partition].peek(line);
            let held = held.map(|(data, here)| (&data[offset..offset + range.len()], here >> offset));
            let is_whole = |here: u128| here.trailing_ones() as usize >= range.len();
            if let Some((data, _)) = held.filter(|(_, here)| is_whole(*here)) {
                read.extend_from_slice(data);
                continue;
            }
            let first = read.len();
            let burst_bytes = self.config.dram.burst_bytes() as usize;
            let bursts = (line_bytes / burst_bytes) as u64;
            let (channel, local) = channels.place(line);
            let store = self.drams()[channel].store();
            for (burst, inside, part) in cut(offset as u64, range.len(), burst_bytes) {
                let burst = store.peek(local * bursts + burst);
                let burst = burst.map_err(|reason| memory_error(address, bytes as u64, &reason))?;
                read.extend_from_slice(&burst[inside..inside + part.len()]);
            }
            if let Some((data, here)) = held {
                for at in (0..data.len()).filter(|at| here >> at & 1 != 0) {
                    read[first + at] = data[at];
                }
            }
        }
        Ok(read)
    }

    /// Loads a kernel into every core and the dispatcher. The caller wakes the dispatcher, and the cores
    /// if there is a throttle: its periods begin with the kernel, whether a core has warps or not.
    ///
    /// # Errors
    /// Not even one CTA fits an SM.
    pub fn load(&mut self, image: &Arc<KernelImage>) -> Result<(), LaunchError> {
        let per_sm = occupancy(&self.config.sm, image)?;
        for core in self.cores_mut() {
            core.load(Arc::clone(image))?;
        }
        let shared = u64::from(per_sm) * image.shared_footprint();
        let ways = self.config.l1_ways(shared);
        for lsu in self.net.all_mut(self.kinds.lsus) {
            lsu.count_loads(image.counted_instructions());
            if !self.config.sm.shared.carve_outs.is_empty() {
                lsu.set_ways(ways);
            }
        }
        if let Some(hub) = self.kinds.hub {
            self.net.all_mut(hub)[0].0.load(image.key());
        }
        self.net.answer();
        self.net.all_mut(self.kinds.dispatcher)[0].load(image.grid(), per_sm);
        Ok(())
    }

    /// Gives a machine that was read back from a saved state the kernel that runs on it, which is not saved. Of a trace
    /// the CTAs that have ended are passed over, and those that run are read again.
    pub fn take_up(&mut self, image: &Arc<KernelImage>) {
        for core in self.cores_mut() {
            core.take_up(Arc::clone(image));
        }
        let Some(source) = image.source() else { return };
        let waiting: BTreeSet<u32> = self.launches_in_flight().map(|launch| launch.cta).collect();
        let resident =
            self.cores().iter().enumerate().flat_map(|(sm, core)| {
                core.resident().map(move |(slot, number)| (number, (sm, slot))).collect::<Vec<_>>()
            });
        let resident: BTreeMap<u32, (usize, u8)> = resident.collect();
        for number in (0..self.dispatcher().launched()).filter(|number| !waiting.contains(number)) {
            match resident.get(&number) {
                Some(&(sm, slot)) => self.cores_mut()[sm].take_up_recorded(number, slot),
                None => drop(source.take(number, &mut |_| {})),
            }
        }
    }

    /// True when the kernel has run: all CTAs done, every store acknowledged.
    #[must_use]
    pub fn kernel_done(&self) -> bool {
        self.dispatcher().is_done()
            && self.cores().iter().all(|block| block.is_idle())
            && self.lsus().iter().all(|block| block.is_idle())
    }

    /// True when nothing at all is under way, write-backs included.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.kernel_done()
            && self.request_network().is_idle()
            && self.reply_network().is_idle()
            && self.recall_networks().is_none_or(|(out, back)| out.is_idle() && back.is_idle())
            && self.is_tracking_idle()
            && self.banks().iter().all(|block| block.is_idle())
            && self.drams().iter().all(|block| block.is_idle())
            && self.net.is_quiet()
    }

    /// Ends a kernel, `cycle` being its last core cycle: the L1s forget their lines, because a store of
    /// another SM leaves them as they were, the atomic buffers give up theirs, and every warp of the next
    /// one may issue.
    ///
    /// # Errors
    /// The kernel is still running.
    pub fn end_kernel(&mut self, cycle: u64) -> Result<(), NotIdle> {
        if !self.kernel_done() || !self.is_tracking_idle() {
            return Err(NotIdle);
        }
        self.lsus_mut().iter_mut().for_each(|block| block.flush());
        self.banks_mut().iter_mut().for_each(|block| block.end_kernel());
        self.trackers_mut().iter_mut().for_each(|block| block.flush());
        if let Some(duel) = self.kinds.duel {
            self.net.all_mut(duel)[0].restart();
        }
        self.cores_mut().iter_mut().for_each(|core| core.end_kernel(cycle));
        Ok(())
    }

    /// Has the L1Ds, one an SM, admit these lines alone from now on, which are in order.
    ///
    /// # Panics
    /// If there are not as many lists as SMs.
    pub fn admit(&mut self, lines: &[Arc<[u64]>]) {
        assert_eq!(lines.len(), self.lsus().len(), "a list of lines for each SM");
        for (lsu, lines) in self.lsus_mut().iter_mut().zip(lines) {
            lsu.admit(lines);
        }
    }

    /// True if something has happened after which the host asks how far the kernel is: the last CTA has ended, or a core
    /// has stopped.
    #[must_use]
    #[inline]
    pub fn is_called(&self) -> bool {
        self.net.is_called()
    }

    /// The first fault of any core; of several at one edge that of the SM with the lowest number.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        self.cores()[self.net.caller(self.kinds.cores)?].fault()
    }
}

/// Number of the unit, offset in it and position in the range, for every unit of `size` bytes that a
/// range touches.
fn cut(start: u64, bytes: usize, size: usize) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= bytes {
            return None;
        }
        let here = start + at as u64;
        let offset = (here % size as u64) as usize;
        let part = at..(at + size - offset).min(bytes);
        at = part.end;
        Some((here / size as u64, offset, part))
    })
}

fn memory_error(address: u64, bytes: u64, reason: &StoreError) -> HostError {
    HostError::Memory { address, bytes, reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_at_line_boundaries() {
        let found: Vec<_> = cut(0x7c, 140, 128).collect();
        assert_eq!(found, [(0, 124, 0..4), (1, 0, 4..132), (2, 0, 132..140)]);
        assert_eq!(cut(0x80, 0, 128).count(), 0);
    }
}
