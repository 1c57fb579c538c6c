//! Verification of a run. Results are compared with those of the functional interpreter and of golden L1Ds,
//! and with the results that the launch file expects. Further checkers verify the memory model and the DRAM
//! commands.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use golden::dram::checker::Checker;
use golden::dram::command::Command;
use golden::interp::{self, Sms, UndefinedRead};
use golden::l1::reuse::{Histograms, Reuse};
use golden::l1::unified;
use golden::memory::FlatMemory;
use golden::reference::{Array, compare};
use input::noun;
use rtl::dram::config::Refresh;
use rtl::kernel::Simulator;
use rtl::l1::config::{Fetch, L1Config};
use rtl::machine::{CORE, DRAM, Machine, MachineConfig};
use rtl::sm::{InstructionStore, KernelImage, SharedConfig, occupancy};

use super::compared::{self, Part};
use super::consistency::MemoryModel;
use super::orders::{self, Difference};
use super::prepare::{Kernel, PreparedLaunch};
use crate::check::dram::ChoiceLockstep;
use crate::check::dueling::DuelLockstep;
use crate::check::icache::FetchLockstep;
use crate::check::l1::Lockstep;
use crate::check::l2::LineLockstep;
use crate::check::tracker::TrackerLockstep;
use crate::dram::judge;
use crate::launch::View;

/// Number of executed thread instructions at which the interpreter aborts a launch.
pub(super) const RUNAWAY: u64 = 1 << 40;
/// Maximum number of mismatches that are reported; further mismatches are only counted.
const MAX_REPORTS: usize = 8;

/// Golden models that run in parallel with the machine.
pub(super) struct Shadow {
    memory: FlatMemory,
    l1s: Vec<Lockstep>,
    /// Checker of the instruction cache of each SM; empty if the machine has no instruction caches.
    icaches: Vec<FetchLockstep>,
    /// True if a load can hit or miss depending on which bytes of the line its lanes access.
    sees_lanes: bool,
    duel: Option<DuelLockstep>,
    /// Checker of the lines of each L2 bank; empty if the banks cannot be checked.
    l2s: Vec<LineLockstep>,
    /// Reason why the lines of the L2 banks are not checked. `None` if they are checked, or if the banks
    /// use the transient flow, for which there is no checker.
    unchecked_l2: Option<String>,
    /// For each DRAM channel, the checker of the order in which the channel selects requests; empty if the
    /// channels cannot be checked.
    channels: Vec<ChoiceLockstep>,
    /// Reason why the order of the requests in the DRAM channels is not checked; `None` if it is checked.
    unchecked_dram: Option<String>,
    /// Last cycle of the DRAM clock that was evaluated.
    dram_cycle: u64,
    trackers: Vec<TrackerLockstep>,
    model: MemoryModel,
    /// For each SM, the line requests of its loads to the L1D as two streams: the first contains all
    /// requests, the second only those that do not bypass the L1D.
    streams: Vec<[Reuse; 2]>,
    reuse: [Histograms; 2],
    dram: Vec<Vec<Command>>,
    checker: Checker,
    reports: Vec<String>,
    more: u64,
    /// First few notes about results that depend on the order of warps, and the number of further notes.
    order_notes: (Vec<String>, u64),
    /// Registers that kernels read before writing them, identified by kernel, line and register name. The
    /// second element holds notes about the first few such registers.
    undefined: (BTreeSet<(String, u32, String)>, Vec<String>),
}

impl Shadow {
    /// Creates the golden models of a machine. They start with the given memory contents.
    pub(super) fn new(memory: FlatMemory, config: &MachineConfig) -> Result<Self, String> {
        let read_only = [&config.const_cache, &config.texture_cache];
        let own_periods = !config.throttle.ends_periods();
        let is_tracked = config.tracker.is_on();
        let l1 = |i| {
            let twin = Lockstep::new(&format!("sm{i}.l1"), i, &config.l1, read_only, own_periods);
            let twin = if is_tracked { twin.map(Lockstep::with_tracker) } else { twin };
            twin.map_err(|e| e.to_string())
        };
        let interleave = config.interleave(config.l1.line_bytes);
        let (num_sms, protections) = (config.num_sms as usize, config.tracker.scheme.protections());
        let tracker = |_| TrackerLockstep::new(&config.tracker, num_sms, interleave, protections);
        // A link takes at least one cycle, even if its configured delay is 0.
        let to_and_from_duel = [config.link.inject, config.link.deliver].map(|cycles| u64::from(cycles.max(1)));
        let trackers = if is_tracked { config.num_partitions } else { 0 };
        // The transient flow of an L2 bank has no checker of lines.
        let num_checked_banks = if config.l2.is_transient() { 0 } else { config.num_partitions };
        let (l2s, unchecked_l2) = checkers(num_checked_banks, || LineLockstep::new(&config.l2, config.num_sms));
        let (channels, unchecked_dram) =
            checkers(config.num_channels(), || ChoiceLockstep::new(&config.dram, config.num_sms));
        Ok(Self {
            l2s,
            unchecked_l2,
            channels,
            unchecked_dram,
            dram_cycle: 0,
            trackers: (0..trackers).map(tracker).collect::<Result<_, _>>()?,
            model: MemoryModel::new(config),
            memory,
            sees_lanes: config.l1.bypass.tests_contention() || config.l1.fetch == Fetch::Sectors,
            l1s: (0..config.num_sms as u8).map(l1).collect::<Result<_, _>>()?,
            icaches: icaches(config)?,
            duel: config
                .has_duel()
                .then(|| DuelLockstep::new(&config.l1.dueling, config.num_sms as usize, to_and_from_duel)),
            streams: vec![Default::default(); config.num_sms as usize],
            reuse: Default::default(),
            dram: vec![Vec::new(); config.num_channels() as usize],
            checker: Checker::new(judge::timing(&config.dram), config.dram.refresh != Refresh::Off),
            reports: Vec::new(),
            more: 0,
            order_notes: Default::default(),
            undefined: Default::default(),
        })
    }

    /// Checks every hardware block that was evaluated at the last tick against its golden model.
    pub(super) fn follow(&mut self, machine: &mut Machine, sim: &Simulator) {
        let lsus = machine.evaluated_lsus(sim);
        let cycle = sim.tick() / u64::from(machine.clocks().period(usize::from(CORE)));
        if let Some(duel) = &mut self.duel
            && !lsus.is_empty()
        {
            duel.advance(cycle);
        }
        if self.sees_lanes {
            machine.accepted_accesses(sim.tick()).for_each(|(sm, access)| self.l1s[sm].take(access));
        }
        for i in lsus {
            if let Some(watch) = machine.take_watch(i) {
                if let Err(mismatch) = self.l1s[i].step(cycle, &watch) {
                    self.report(mismatch.to_string());
                }
                for (line, _) in watch.accepted_loads() {
                    let [all, served] = &mut self.streams[i];
                    all.record(line);
                    if !watch.is_bypass() {
                        served.record(line);
                    }
                }
                if let Some(Err(mismatch)) = self.duel.as_mut().map(|duel| duel.step(cycle, i, &watch)) {
                    self.report(mismatch);
                }
            }
        }
        for i in 0..self.icaches.len() {
            if let Some(watch) = machine.take_fetches(i)
                && let Err(mismatch) = self.icaches[i].step(cycle, &watch)
            {
                self.report(mismatch);
            }
        }
        for i in 0..machine.banks().len() {
            let events = machine.take_line_events(i);
            if let Some(Err(mismatch)) = self.l2s.get_mut(i).map(|twin| twin.step(&events)) {
                self.report(format!("cycle {cycle}, partition{i}.l2: {mismatch}"));
            }
        }
        if let Err(violation) = self.model.follow(machine, sim.tick(), &self.memory) {
            self.report(format!("cycle {cycle}: {violation}"));
        }
        for i in 0..self.trackers.len() {
            if let Some(seen) = machine.take_seen(i)
                && let Err(mismatch) = self.trackers[i].step(&seen)
            {
                self.report(format!("cycle {cycle}, partition{i}.tracker: {mismatch}"));
            }
        }
        let cycle = sim.tick() / u64::from(machine.clocks().period(usize::from(DRAM)));
        self.dram_cycle = cycle;
        for i in machine.evaluated_drams(sim) {
            let events = machine.take_channel_events(i);
            if let Some(Err(mismatch)) = self.channels.get_mut(i).map(|twin| twin.step(&events)) {
                self.report(format!("{}: {mismatch}", machine.config().channel_path(i as u32)));
            }
            let shown = machine.drams()[i].commands_of(cycle);
            self.dram[i].extend(shown.iter().filter_map(|shown| judge::command(&machine.config().dram, shown)));
        }
    }

    /// Tells the golden L1Ds which lines they may cache from now on. `lines` has one list per SM.
    pub(super) fn admit(&mut self, lines: &[Arc<[u64]>]) {
        self.l1s.iter_mut().zip(lines).for_each(|(l1, lines)| l1.admit(lines));
    }

    /// Mismatches found so far, limited to the first few.
    pub(super) fn reports(&self) -> &[String] {
        &self.reports
    }

    /// Two histograms of the reuse of lines, over all SMs and all finished kernels: by all loads, and only by
    /// the loads that did not bypass the L1D.
    pub(super) fn reuse(&self) -> [Histograms; 2] {
        self.reuse
    }

    /// Checks the machine at the end of a launch.
    pub(super) fn check_end(&mut self, machine: &Machine) {
        for (i, lsu) in machine.lsus().iter().enumerate() {
            if !lsu.is_consistent() {
                self.report(format!("sm{i}.l1: reserved ways and pending MSHR entries do not match"));
            }
        }
    }

    /// Sets the number of ways of the golden L1Ds for the loaded kernel. Shared memory and the L1D use the
    /// same storage, so the number depends on how much shared memory the kernel uses.
    pub(super) fn on_load(&mut self, config: &MachineConfig, image: &KernelImage) {
        let SharedConfig { carve_outs, .. } = &config.sm.shared;
        let Ok(ctas) = occupancy(&config.sm, image) else { return };
        if carve_outs.is_empty() {
            return;
        }
        let needed = u64::from(ctas) * image.shared_footprint();
        let L1Config { sets, ways, line_bytes, .. } = config.l1;
        let ways = unified::ways([sets, ways, line_bytes].map(u64::from), carve_outs, needed);
        self.l1s.iter_mut().for_each(|l1| l1.set_ways(ways as usize));
    }

    /// Checks all golden models after the L1s have been flushed.
    pub(super) fn check_flushed(&mut self, cycle: u64) {
        for i in 0..self.l1s.len() {
            if let Err(mismatch) = self.l1s[i].flush(cycle) {
                self.report(mismatch.to_string());
            }
        }
        for i in 0..self.icaches.len() {
            if let Err(mismatch) = self.icaches[i].end() {
                self.report(mismatch);
            }
        }
        for i in 0..self.trackers.len() {
            if let Err(mismatch) = self.trackers[i].flush() {
                self.report(format!("partition{i}.tracker: {mismatch}"));
            }
        }
        self.model.end_kernel();
        self.duel.iter_mut().for_each(DuelLockstep::restart);
        for streams in &mut self.streams {
            self.reuse.iter_mut().zip(streams).for_each(|(sum, stream)| sum.add(&stream.end()));
        }
    }

    /// Adds a memory range with the given contents to the golden models.
    pub(super) fn place(&mut self, name: &str, address: u64, bytes: Vec<u8>) -> Result<(), String> {
        self.model.wrote(address, bytes.len());
        self.memory.place(name, address, bytes).map_err(|e| e.to_string())
    }

    /// Removes the memory range that starts at an address from the golden models.
    pub(super) fn remove(&mut self, address: u64) {
        self.memory.remove(address);
    }

    /// Makes a memory range read-only for kernels in the golden models.
    pub(super) fn protect(&mut self, bytes: Range<u64>) {
        self.memory.protect(bytes);
    }

    /// Updates the golden models after the host has written to memory.
    pub(super) fn wrote(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        for (at, byte) in (address..).zip(bytes) {
            self.memory.write(at, 1).map_err(|e| e.to_string())?[0] = *byte;
        }
        self.model.wrote(address, bytes.len());
        Ok(())
    }

    /// Performs the final check of the DRAM commands, and returns all mismatches of the run. `is_complete`
    /// must be true if nothing is in flight. Only in this case are the sums of counters checked.
    pub(super) fn finish(mut self, machine: &Machine, is_complete: bool) -> Vec<String> {
        for (i, twin) in (0..).zip(&mut std::mem::take(&mut self.channels)) {
            if let Err(mismatch) = twin.finish(self.dram_cycle) {
                self.report(format!("{}: {mismatch}", machine.config().channel_path(i)));
            }
        }
        for (i, commands) in (0..).zip(&std::mem::take(&mut self.dram)) {
            for violation in self.checker.check(commands) {
                self.report(format!("{}: {}", machine.config().channel_path(i), violation.text));
            }
        }
        for (i, bank) in machine.banks().iter().enumerate().filter(|_| is_complete) {
            if let Err(sum) = bank.stats().check_conservation() {
                self.report(format!("partition{i}.l2: {sum}"));
            }
        }
        if self.more > 0 {
            self.reports.push(format!("and {} more", self.more));
        }
        self.reports
    }

    fn report(&mut self, text: String) {
        push(&mut self.reports, &mut self.more, text);
    }

    fn note_undefined(&mut self, read: &UndefinedRead) {
        let (known, notes) = &mut self.undefined;
        if known.insert((read.kernel.clone(), read.line, read.register.clone())) && notes.len() < MAX_REPORTS {
            notes.push(read.to_string());
        }
    }

    /// Returns the notes about registers that kernels read before writing them.
    pub(super) fn undefined_notes(&self) -> Vec<String> {
        let (known, notes) = &self.undefined;
        let more = known.len() - notes.len();
        let reads = noun(more, "read", "reads");
        let more = (more > 0).then(|| format!("and {more} more {reads} of undefined registers"));
        notes.iter().cloned().chain(more).collect()
    }

    /// Returns notes about the caches and DRAM channels that are not compared with golden models, and why.
    pub(super) fn unchecked_blocks(&self) -> Vec<String> {
        let reasons = [
            ("the L1Ds", self.l1s.first().and_then(Lockstep::blind)),
            ("the lines of the L2 banks", self.unchecked_l2.as_deref()),
            ("the choices of the DRAM channels", self.unchecked_dram.as_deref()),
        ];
        let note = |(what, reason): (&str, Option<&str>)| {
            Some(format!("{what} are not compared with their twins: {}", reason?))
        };
        reasons.into_iter().filter_map(note).collect()
    }

    /// Returns the notes about results that were not checked because they depend on the order of warps.
    pub(super) fn order_notes(&self) -> Vec<String> {
        let (notes, more) = &self.order_notes;
        let depend = noun(*more, "depends", "depend");
        let more = (*more > 0).then(|| format!("and {more} more that {depend} on the order of warps"));
        notes.iter().cloned().chain(more).collect()
    }
}

/// Creates the checkers of `count` equal blocks. If a scheme of the blocks has no golden model, returns the
/// reason and no checkers.
fn checkers<C>(count: u32, new: impl Fn() -> Result<C, String>) -> (Vec<C>, Option<String>) {
    let checkers: Result<_, _> = (0..count).map(|_| new()).collect();
    checkers.map_or_else(|reason| (Vec::new(), Some(reason)), |checkers| (checkers, None))
}

/// Creates the checkers of the instruction caches; none if the machine has no instruction caches.
fn icaches(config: &MachineConfig) -> Result<Vec<FetchLockstep>, String> {
    let InstructionStore::Cache(icache) = &config.sm.icache else { return Ok(Vec::new()) };
    let twin = |i| FetchLockstep::new(&format!("sm{i}.core.icache"), icache, config.l1.line_bytes, config.addr_bits);
    (0..config.num_sms).map(twin).collect()
}

/// Adds a text to a list. If the list already has the maximum length, the text is dropped and the count
/// `more` is incremented.
fn push(texts: &mut Vec<String>, more: &mut u64, text: String) {
    if texts.len() < MAX_REPORTS {
        texts.push(text);
    } else {
        *more += 1;
    }
}

/// Buffer or variable whose contents are compared after a launch.
pub(super) struct Compared<'c> {
    /// Kind of memory, as messages call it: buffer or variable.
    pub(super) what: &'static str,
    pub(super) name: &'c str,
    pub(super) address: u64,
    pub(super) bytes: usize,
}

impl Compared<'_> {
    fn read(&self, machine: &Machine) -> Result<Vec<u8>, String> {
        machine.read_memory(self.address, self.bytes).map_err(|e| e.to_string())
    }
}

/// Returns every buffer and variable of a launch file.
fn all_of(prepared: &PreparedLaunch) -> Vec<Compared<'_>> {
    let buffers = prepared.file.buffers.iter().zip(&prepared.addresses).map(|(buffer, &address)| Compared {
        what: "buffer",
        name: &buffer.name,
        address,
        bytes: buffer.bytes(),
    });
    let regions = prepared.regions.iter().map(|region| Compared {
        what: "variable",
        name: &region.name,
        address: region.address,
        bytes: region.bytes.len(),
    });
    buffers.chain(regions).collect()
}

/// Executes one launch of a launch file on the functional interpreter, and compares all memory with that of
/// the machine. Outputs are compared by their own rules.
pub(super) fn interpret(
    shadow: &mut Shadow,
    kernel: &Kernel,
    machine: &Machine,
    prepared: &PreparedLaunch,
) -> Result<(), String> {
    let (all, buffers) = (all_of(prepared), prepared.file.buffers.len());
    let parts = |i: usize| match i < buffers {
        true => compared::parts(&prepared.file, i),
        false => vec![Part::whole(all[i].name)],
    };
    interpret_and_compare(shadow, &to_interpreter(kernel), &kernel.image, machine, &all, &parts)
}

/// Executes a launch on the functional interpreter, and compares all memory with that of the machine. `parts`
/// returns the sections of the buffer or variable with a given number. A result that depends on the order of
/// warps is not an error but is reported as a note. The memory of the machine then replaces that of the
/// interpreter.
pub(super) fn interpret_and_compare(
    shadow: &mut Shadow,
    launch: &interp::Launch<'_>,
    image: &KernelImage,
    machine: &Machine,
    all: &[Compared<'_>],
    parts: &dyn Fn(usize) -> Vec<Part>,
) -> Result<(), String> {
    let config = machine.config();
    let ctas = occupancy(&config.sm, image).map_err(|e| e.to_string())? as usize;
    let sms = Sms { count: config.num_sms as usize, ctas };
    let before = shadow.memory.clone();
    let ran = interp::run_finding_undefined(launch, sms, &mut shadow.memory);
    let (ran, undefined) = ran.map_err(|e| e.to_string())?;
    undefined.iter().for_each(|read| shadow.note_undefined(read));
    let mut disputed = find_differing(&shadow.memory, machine, all, parts)?;
    orders::ask(&mut disputed, launch, sms, &before, ran.thread_instructions);
    let kernel = &launch.program.name;
    for one in &disputed {
        if let Some(mismatch) = one.mismatch() {
            let (what, name) = (one.what, &one.part.name);
            shadow.report(format!(
                "after kernel `{kernel}`, {what} `{name}` differs from the functional interpreter's:\n{mismatch}"
            ));
        }
    }
    let notes: Vec<_> = disputed.iter().filter_map(|one| one.dependence(kernel)).collect();
    if !notes.is_empty() {
        for one in all {
            shadow.memory.replace(one.name, &one.read(machine)?);
        }
    }
    let (known, more) = &mut shadow.order_notes;
    notes.into_iter().for_each(|note| push(known, more, note));
    Ok(())
}

/// Returns the sections of buffers and variables in which the machine and `memory` differ.
fn find_differing(
    memory: &FlatMemory,
    machine: &Machine,
    all: &[Compared<'_>],
    parts: &dyn Fn(usize) -> Vec<Part>,
) -> Result<Vec<Difference>, String> {
    let mut disputed = Vec::new();
    for (i, one) in all.iter().enumerate() {
        let read = one.read(machine)?;
        let Some(golden) = memory.buffer(one.name).filter(|golden| read != golden.bytes) else { continue };
        for part in parts(i) {
            disputed.extend(Difference::new(one.what, one.name, part, &read, &golden.bytes));
        }
    }
    Ok(disputed)
}

/// Creates the memory of the functional interpreter with all buffers and variables, as it is before the first
/// launch.
pub(super) fn initial_memory(prepared: &PreparedLaunch) -> Result<FlatMemory, String> {
    let mut memory = FlatMemory::new();
    // Memory regions of PTX files are placed before buffers, because a buffer that represents a constant is
    // inside such a region and needs no memory of its own.
    for region in &prepared.regions {
        memory.place(&region.name, region.address, region.bytes.clone()).map_err(|e| e.to_string())?;
        if region.is_constant {
            memory.protect(region.range());
        }
    }
    for ((buffer, array), &address) in prepared.file.buffers.iter().zip(&prepared.initial).zip(&prepared.addresses) {
        if !prepared.map.ranges().iter().any(|range| range.name == buffer.name && range.start == address) {
            continue;
        }
        memory.place(&buffer.name, address, array.bytes().to_vec()).map_err(|e| e.to_string())?;
    }
    Ok(memory)
}

/// Converts a launch to the form that the functional interpreter executes.
pub(super) fn to_interpreter(kernel: &Kernel) -> interp::Launch<'_> {
    interp::Launch {
        program: &kernel.program,
        grid: kernel.image.grid(),
        block: kernel.image.block(),
        dynamic_shared: kernel.image.shared_bytes() - kernel.program.shared_bytes,
        params: &kernel.params,
        max_instructions: RUNAWAY,
    }
}

/// Compares the outputs of a finished run with the contents that the launch file expects, and returns a
/// message for each mismatch. Returns `None` if the launch file states no expected contents.
pub(super) fn judge(prepared: &PreparedLaunch, machine: &Machine) -> Result<Option<Vec<String>>, String> {
    let mut failed = Vec::new();
    let mut any = false;
    for (output, expected) in prepared.file.outputs.iter().zip(&prepared.expected) {
        let Some(expected) = expected else { continue };
        any = true;
        let got = read_view(prepared, machine, &output.view)?;
        if let Err(mismatch) = compare(&got, &expected.values, &expected.rule) {
            failed.push(format!("output `{}` is wrong:\n{mismatch}", output.name));
        } else if let Some((allowed, largest)) = expected.rule.lets_zeros_pass(&expected.values) {
            failed.push(format!(
                "output `{}` is not judged: zeros would pass, since its tolerance allows a deviation of {allowed:e} and the \
                 largest expected value is {largest:e}",
                output.name
            ));
        }
    }
    Ok(any.then_some(failed))
}

/// Reads elements of a buffer from the memory of the machine.
pub(super) fn read_view(prepared: &PreparedLaunch, machine: &Machine, view: &View) -> Result<Array, String> {
    let buffer = view.buffer.0;
    let (address, bytes) = (prepared.addresses[buffer], prepared.file.buffers[buffer].bytes());
    Ok(view.of(&machine.read_memory(address, bytes).map_err(|e| e.to_string())?))
}
