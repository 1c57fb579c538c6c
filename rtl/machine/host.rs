//! # Host interface of a machine
//! Defines the functions that the simulator (host code) calls between launches: to map and write memory,
//! start a kernel, read memory back, and test whether the machine is idle. No function takes simulated time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use thiserror::Error;

use super::node::Node;
use super::{L2, Machine, MachineConfig};
use crate::cells::line::LineData;
use crate::dram::channel::DramChannel;
use crate::dram::message::BURST_BYTES;
use crate::dram::recorded::ChannelPlace;
use crate::dram::store::StoreError;
use crate::dram::watch::ChannelEvent;
use crate::kernel::{BlockWithPorts, Clocks, Counted};
use crate::l1::lsu::Lsu;
use crate::l1::watch::Watch;
use crate::l2::watch::LineEvent;
use crate::l2::{HostCopies, Invalidate, InvalidateAck, L2Bank};
use crate::noc::packet::{Packet, Reply, Request};
use crate::noc::xbar::OutputStats;
use crate::sm::{Dispatcher, Fault, FetchWatch, KernelImage, LaunchError, SmCore, occupancy};
use crate::tracker::{Answer, BankObservation, Forward, Tracker};

/// Errors of the functions that the simulator calls on a machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    /// The address range exceeds the memory of the machine, or it was not mapped.
    #[error("{bytes} bytes at {address:#x} are not mapped: {reason}")]
    Memory {
        /// Address of the first byte of the range.
        address: u64,
        /// Length of the range in bytes.
        bytes: u64,
        /// Error that the DRAM channel reported.
        reason: String,
    },
}

/// Error: the machine still has operations in flight, so that the kernel cannot be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the machine is not idle")]
pub struct NotIdle;

/// All hardware blocks of one network: a crossbar, or several routers.
#[derive(Clone, Copy)]
pub struct Network<'a, P: Packet + 'static>(&'a [Box<BlockWithPorts<Node<P>>>]);

impl<P: Packet + 'static> Network<'_, P> {
    /// Returns the counters of output number `output` of the network.
    #[must_use]
    pub fn stats(&self, output: usize) -> OutputStats {
        let nodes: Vec<OutputStats> = self.0.iter().map(|node| node.stats(output)).collect();
        OutputStats::total(&nodes)
    }

    /// True if no packet is in flight in the network.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.0.iter().all(|node| node.is_idle())
    }
}

impl Machine {
    fn cores_mut(&mut self) -> &mut [Box<BlockWithPorts<SmCore>>] {
        self.net.all_mut(self.kinds.cores)
    }

    fn lsus_mut(&mut self) -> &mut [Box<BlockWithPorts<Lsu>>] {
        self.net.all_mut(self.kinds.lsus)
    }

    fn banks_mut(&mut self) -> &mut [Box<BlockWithPorts<L2Bank>>] {
        self.net.all_mut(self.kinds.banks)
    }

    fn drams_mut(&mut self) -> &mut [Box<BlockWithPorts<DramChannel>>] {
        self.net.all_mut(self.kinds.drams)
    }

    fn trackers_mut(&mut self) -> &mut [Box<BlockWithPorts<Tracker>>] {
        match self.kinds.tracking {
            Some(tracking) => self.net.all_mut(tracking.trackers),
            None => &mut [],
        }
    }

    fn is_tracking_idle(&self) -> bool {
        self.forward_networks().is_none_or(|(out, back)| out.is_idle() && back.is_idle())
            && self.trackers().iter().all(|block| block.is_idle())
    }

    /// Returns the configuration of the machine.
    #[must_use]
    pub fn config(&self) -> &MachineConfig {
        &self.config
    }

    /// Returns the clocks of the machine.
    #[must_use]
    pub fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// Returns all SM cores of the machine.
    #[must_use]
    pub fn cores(&self) -> &[Box<BlockWithPorts<SmCore>>] {
        self.net.all(self.kinds.cores)
    }

    /// Returns all load-store units, each with its L1 caches.
    #[must_use]
    pub fn lsus(&self) -> &[Box<BlockWithPorts<Lsu>>] {
        self.net.all(self.kinds.lsus)
    }

    /// Returns all L2 banks of the machine.
    #[must_use]
    pub fn banks(&self) -> &[Box<BlockWithPorts<L2Bank>>] {
        self.net.all(self.kinds.banks)
    }

    /// Returns all DRAM channels of the machine.
    #[must_use]
    pub fn drams(&self) -> &[Box<BlockWithPorts<DramChannel>>] {
        self.net.all(self.kinds.drams)
    }

    /// Returns the network that carries requests from the SMs to the L2 banks.
    #[must_use]
    pub fn request_network(&self) -> Network<'_, Request> {
        Network(self.net.all(self.kinds.requests))
    }

    /// Returns the network that carries replies from the L2 banks to the SMs.
    #[must_use]
    pub fn reply_network(&self) -> Network<'_, Reply> {
        Network(self.net.all(self.kinds.replies))
    }

    /// Returns two networks: the network that carries recalls, and the network that carries their
    /// acknowledgments. `None` if the L2 does not keep the L1s coherent.
    #[must_use]
    pub fn recall_networks(&self) -> Option<(Network<'_, Invalidate>, Network<'_, InvalidateAck>)> {
        let recalls = self.kinds.recalls?;
        Some((Network(self.net.all(recalls.wishes)), Network(self.net.all(recalls.answers))))
    }

    /// Returns the banks of the sharing tracker; none if the machine has no sharing tracker.
    #[must_use]
    pub fn trackers(&self) -> &[Box<BlockWithPorts<Tracker>>] {
        self.kinds.tracking.map_or(&[], |tracking| self.net.all(tracking.trackers))
    }

    /// Returns two networks: the network that carries forwarded loads, and the network that carries the
    /// answers to them. `None` if L1s do not supply lines to each other.
    #[must_use]
    pub fn forward_networks(&self) -> Option<(Network<'_, Forward>, Network<'_, Answer>)> {
        let tracking = self.kinds.tracking?;
        Some((Network(self.net.all(tracking.forwards)), Network(self.net.all(tracking.answers))))
    }

    /// Returns a measure of the progress of a kernel, for the detection of endless loops: the number of
    /// stores performed, atomics that changed a value, and CTAs that ended.
    #[must_use]
    pub fn changes(&self) -> u64 {
        let banks = self.banks().iter().map(|bank| bank.stats().changes).sum::<u64>();
        let cores = self.cores().iter().map(|core| core.counters().shared_changes).sum::<u64>();
        // An L1 counts only stores to local memory as store hits. Stores to global memory are counted at the
        // L2, even if they update a copy in an L1.
        let local = self.lsus().iter().map(|lsu| lsu.stats().store_hits).sum::<u64>();
        banks + cores + local + self.dispatchers().iter().map(|block| block.progress().0).sum::<u64>()
    }

    /// Returns the number of warps per scheduler that the throttle has found best for the kernel with hash
    /// `key`; `None` if it has found none.
    #[must_use]
    pub fn warp_limit_of(&self, key: u16) -> Option<u8> {
        self.net.all(self.kinds.hub?)[0].0.limit_of(key)
    }

    /// Returns the CTA dispatcher of the machine, or the first one if there are several.
    #[must_use]
    pub fn dispatcher(&self) -> &BlockWithPorts<Dispatcher> {
        &self.dispatchers()[0]
    }

    pub(super) fn dispatchers(&self) -> &[Box<BlockWithPorts<Dispatcher>>] {
        self.net.all(self.kinds.dispatchers)
    }

    /// Returns the events of the sharing-tracker bank of a partition since the previous call; `None` if
    /// events are not recorded.
    pub fn take_seen(&mut self, partition: usize) -> Option<BankObservation> {
        let trackers = self.kinds.tracking?.trackers;
        self.net.all_mut(trackers)[partition].take_seen()
    }

    /// Returns the uses and insertions of lines in the L2 bank of a partition since the previous call; empty
    /// if they are not recorded.
    pub fn take_line_events(&mut self, partition: usize) -> Vec<LineEvent> {
        self.banks_mut()[partition].take_seen()
    }

    /// Returns the requests, commands and replies of a DRAM channel since the previous call; empty if they
    /// are not recorded.
    pub fn take_channel_events(&mut self, channel: usize) -> Vec<ChannelEvent> {
        self.drams_mut()[channel].take_seen()
    }

    /// Starts to record what the L1s, the sharing tracker, the L2 banks and the DRAM channels do at each
    /// edge, and to panic on reads of L2 lines that were never written.
    pub fn observe(&mut self) {
        self.lsus_mut().iter_mut().for_each(|block| block.observe());
        self.cores_mut().iter_mut().for_each(|block| block.observe());
        self.trackers_mut().iter_mut().for_each(|block| block.observe());
        self.banks_mut().iter_mut().for_each(|block| {
            block.refuse_unwritten();
            block.observe();
        });
        self.drams_mut().iter_mut().for_each(|block| block.observe());
    }

    /// Returns the events of the L1 of an SM since the previous call; `None` if events are not recorded.
    pub fn take_watch(&mut self, sm: usize) -> Option<Watch> {
        self.lsus_mut()[sm].take_watch()
    }

    /// Returns the events of the instruction cache of an SM since the previous call; `None` if the SM has no
    /// instruction cache, or if events are not recorded.
    pub fn take_fetches(&mut self, sm: usize) -> Option<FetchWatch> {
        self.cores_mut()[sm].take_fetches()
    }

    /// Brings the statistics of all hardware blocks up to date: adds the cycles in which a block slept, up to
    /// `tick`, the tick of the last simulated clock edge.
    pub fn settle(&mut self, tick: u64) {
        self.net.settle(tick);
    }

    /// Brings the statistics of all hardware blocks except the cores up to date, like [`Self::settle`]. The
    /// machine can continue to run afterward.
    pub fn settle_memory(&mut self, tick: u64) {
        self.net.settle_others(self.kinds.cores, tick);
    }

    /// Fills all memory with the values for the replay of a trace: the value of each word is computed from
    /// its address.
    pub fn record_memory(&mut self) {
        let burst_bits = self.config.burst_bits();
        let channels = self.config.channels(self.config.dram.burst_bytes());
        for (number, channel) in (0..).zip(self.net.all_mut(self.kinds.drams)) {
            let place = ChannelPlace { channel: number, channels };
            channel.record_memory(&self.config.channel_path(number), place, burst_bits);
        }
    }

    /// Maps a range of memory, which is filled with zeros. The range is extended at both ends to multiples of
    /// `interleave_bytes`. If a cache has a prefetcher, the range is also extended to whole pages, because
    /// the prefetcher may read the rest of a page.
    ///
    /// # Errors
    /// Returns an error if the range exceeds the capacity of the DRAM channels.
    pub fn map(&mut self, address: u64, bytes: u64) -> Result<(), HostError> {
        let last = address + bytes.max(1) - 1;
        let MachineConfig { l1, l2, .. } = &self.config;
        let of_l1 = l1.prefetch.is_on().then_some(l1.prefetch_limits.page_bytes);
        let of_l2 = l2.prefetch.is_on().then_some(l2.prefetch_limits.page_bytes);
        // Page sizes are powers of two, so a whole page of the larger size consists of whole pages of the
        // smaller size.
        let page_bytes = u64::from(of_l1.max(of_l2).unwrap_or(1));
        let (address_of_page, end_of_page) = (address - address % page_bytes, last - last % page_bytes + page_bytes);
        let run_bytes = u64::from(self.config.interleave_bytes);
        let (first, last) = (address_of_page / run_bytes, (end_of_page - 1) / run_bytes);
        let bursts = run_bytes / u64::from(self.config.dram.burst_bytes());
        let channels = self.config.channels(self.config.interleave_bytes);
        for run in first..=last {
            let (channel, local) = channels.place(run);
            let mapped = self.drams_mut()[channel].store_mut().map(local * bursts..(local + 1) * bursts);
            mapped.map_err(|reason| memory_error(address, bytes, &reason))?;
        }
        Ok(())
    }

    /// Writes bytes to memory, like a memory copy from host to device. Updates copies in the L2; copies in
    /// L1s were invalidated at the end of the last kernel.
    ///
    /// # Errors
    /// Returns an error if the range is not mapped.
    pub fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<(), HostError> {
        let line_bytes = self.config.l2.line_bytes as usize;
        let channels = self.config.channels(self.config.l2.line_bytes);
        for (line, offset, range) in cut(address, bytes.len(), line_bytes) {
            let piece = &bytes[range];
            let partition = channels.partitions.partition(line) as usize;
            // Updates the copy of the line in the L2 bank, if the bank holds one. Bytes that are absent from
            // the copy remain absent. The loop that follows writes all bytes to DRAM as well.
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

    /// Performs the effect on the L2 of a copy from the host to a memory range, whose contents stay as they are:
    /// if copies allocate, brings the lines of the range into the L2, in ascending order. Of a range larger than
    /// twice the L2, only the end is brought in, which leaves the same lines under LRU. `tick` is the tick of
    /// the last simulated clock edge. Returns the number of lines.
    ///
    /// # Errors
    /// Returns an error if the range is not mapped.
    pub fn copy_to_l2(&mut self, tick: u64, address: u64, bytes: u64) -> Result<u64, HostError> {
        if self.config.l2.host_copies == HostCopies::Update {
            return Ok(0);
        }
        let (l2, line_bytes) = (&self.config.l2, u64::from(self.config.l2.line_bytes));
        let capacity = u64::from(l2.sets) * u64::from(l2.ways) * u64::from(self.config.num_partitions);
        let end = address.saturating_add(bytes).div_ceil(line_bytes);
        let first = (address / line_bytes).max(end.saturating_sub(2 * capacity));
        if bytes == 0 {
            return Ok(0);
        }
        let cycle = tick / u64::from(self.clocks().period(usize::from(L2)));
        for line in first..end {
            self.place_in_l2(cycle, line).map_err(|reason| memory_error(address, bytes, &reason))?;
        }
        Ok(end - first)
    }

    /// Places a line of memory in its L2 bank, and writes the line that it evicts to DRAM.
    fn place_in_l2(&mut self, cycle: u64, line: u64) -> Result<(), StoreError> {
        let channels = self.config.channels(self.config.l2.line_bytes);
        let burst_bytes = self.config.dram.burst_bytes() as usize;
        let bursts = u64::from(self.config.l2.line_bytes) / burst_bytes as u64;
        let (channel, local) = channels.place(line);
        let mut memory = LineData::default();
        let mut burst = [0; BURST_BYTES];
        for (number, bytes) in (local * bursts..(local + 1) * bursts).zip(memory.0.chunks_mut(burst_bytes)) {
            self.drams()[channel].store().read(number, &mut burst)?;
            bytes.copy_from_slice(&burst[..burst_bytes]);
        }
        let sm = (line % u64::from(self.config.num_sms)) as u8;
        let partition = channels.partitions.partition(line) as usize;
        let Some(victim) = self.banks_mut()[partition].place(cycle, line, sm, &memory) else { return Ok(()) };
        let (channel, local) = channels.place(victim.line);
        let store = self.drams_mut()[channel].store_mut();
        for (number, bytes) in (0..bursts as usize).zip(victim.bytes.0.chunks(burst_bytes)) {
            let newer = (victim.newer >> (number * burst_bytes)) as u64 & u64::MAX >> (BURST_BYTES - burst_bytes);
            burst[..burst_bytes].copy_from_slice(bytes);
            if newer != 0 {
                store.write(local * bursts + number as u64, newer, &burst)?;
            }
        }
        Ok(())
    }

    /// Reads bytes from memory, like a memory copy from device to host. Returns the newest copy, from the L2
    /// or from DRAM.
    ///
    /// # Errors
    /// Returns an error if the range is not mapped.
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

    /// Loads a kernel into every core and the dispatcher. The caller must then wake the dispatcher and, if
    /// there is a throttle, the cores. The throttle's monitoring periods start with the kernel, even if a
    /// core has no warps.
    ///
    /// # Errors
    /// Returns an error if not even one CTA fits into an SM.
    pub fn load(&mut self, image: &Arc<KernelImage>) -> Result<(), LaunchError> {
        self.load_on(0, image)
    }

    /// Loads a kernel into the dispatcher with number `dispatcher`, and into the cores to which it launches
    /// CTAs.
    ///
    /// # Errors
    /// Returns an error if not even one CTA fits into an SM.
    pub fn load_on(&mut self, dispatcher: usize, image: &Arc<KernelImage>) -> Result<(), LaunchError> {
        let per_sm = occupancy(&self.config.sm, image)?;
        let sms = self.sms_of(dispatcher);
        for core in &mut self.cores_mut()[sms.clone()] {
            core.load(Arc::clone(image))?;
        }
        let shared = u64::from(per_sm) * image.shared_footprint();
        let ways = self.config.l1_ways(shared);
        for lsu in &mut self.net.all_mut(self.kinds.lsus)[sms] {
            lsu.count_loads(image.counted_instructions());
            if !self.config.sm.shared.carve_outs.is_empty() {
                lsu.set_ways(ways);
            }
        }
        if let Some(hub) = self.kinds.hub {
            self.net.all_mut(hub)[0].0.load(image.key());
        }
        self.net.answer();
        self.net.all_mut(self.kinds.dispatchers)[dispatcher].load(image.grid(), per_sm);
        Ok(())
    }

    /// Returns the numbers of the SMs to which a dispatcher launches CTAs. These SMs are consecutive, and
    /// each dispatcher has the same number of them.
    fn sms_of(&self, dispatcher: usize) -> Range<usize> {
        let each = self.cores().len() / self.dispatchers().len();
        dispatcher * each..(dispatcher + 1) * each
    }

    /// Attaches the running kernel to a machine that was restored from a saved state, because the saved state
    /// does not contain the kernel. If the kernel is replayed from a trace, also reads the records of the
    /// resident CTAs again, and skips the records of the CTAs that have ended.
    pub fn attach_kernel(&mut self, image: &Arc<KernelImage>) {
        for core in self.cores_mut() {
            core.attach_kernel(Arc::clone(image));
        }
        let Some(source) = image.source() else { return };
        let waiting: BTreeSet<u32> = self.launches_in_flight().map(|launch| launch.cta).collect();
        let resident = self.cores().iter().enumerate().flat_map(|(sm, core)| {
            core.resident_ctas().map(move |(slot, number)| (number, (sm, slot))).collect::<Vec<_>>()
        });
        let resident: BTreeMap<u32, (usize, u8)> = resident.collect();
        for number in (0..self.dispatcher().launched_ctas()).filter(|number| !waiting.contains(number)) {
            match resident.get(&number) {
                Some(&(sm, slot)) => self.cores_mut()[sm].restore_recorded(number, slot),
                None => drop(source.take(number, &mut |_| {})),
            }
        }
    }

    /// True if the kernel has finished: all CTAs have ended, and every store has been acknowledged.
    #[must_use]
    pub fn is_kernel_done(&self) -> bool {
        self.dispatchers().iter().all(|block| block.is_done())
            && self.cores().iter().all(|block| block.is_idle())
            && self.lsus().iter().all(|block| block.is_idle())
    }

    /// True if nothing is in flight in the machine, including writebacks.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.net.is_idle()
    }

    /// Ends a kernel, whose last core cycle is `cycle`. The L1s invalidate all lines, because stores of other
    /// SMs have not updated them. The atomic buffers of the L2 are written back, and the limits on warps are
    /// reset for the next kernel.
    ///
    /// # Errors
    /// Returns an error if the kernel is still running.
    pub fn end_kernel(&mut self, cycle: u64) -> Result<(), NotIdle> {
        if !self.is_kernel_done() || !self.is_tracking_idle() {
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

    /// Sets the lines that each L1D may allocate from now on; `lines` contains one sorted list per SM.
    ///
    /// # Panics
    /// Panics if the number of lists differs from the number of SMs.
    pub fn admit(&mut self, lines: &[Arc<[u64]>]) {
        assert_eq!(lines.len(), self.lsus().len(), "a list of lines for each SM");
        for (lsu, lines) in self.lsus_mut().iter_mut().zip(lines) {
            lsu.admit(lines);
        }
    }

    /// True if a hardware block requests attention from the simulator, because the last CTA has ended or a
    /// core has stopped at a fault.
    #[must_use]
    #[inline]
    pub fn is_called(&self) -> bool {
        self.net.is_called()
    }

    /// Returns the first fault of any core, if there is one. If several cores have a fault at the same clock
    /// edge, returns the fault of the SM with the lowest number.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        self.cores()[self.net.caller(self.kinds.cores)?].fault()
    }
}

/// Splits a range of bytes at multiples of `size`, the size of a line or burst. Yields three values for each
/// piece: the number of the line or burst that contains the piece, the offset of the piece in this line or
/// burst, and the position of the piece in the range.
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
