//! # Lockstep with a block of a running machine
//! Runs a launch file on a machine, and a SystemVerilog module next to one of its blocks. In every cycle of
//! the block's clock, the module gets what the links of the block show in the machine: the beats that the
//! block sees, and the room at its outputs. Every output and register of the module is compared with the
//! block. Nothing is recorded in a file.
//!
//! A testbench registers its block with `in_machine!`, and implements [`Watch`] for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use miette::{Report, miette};
use rtl::kernel::{Describe, Edge};
use rtl::machine::{Machine, MachineConfig};
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::launch::LaunchFile;
use warpsieve::run::{Progress, RunOptions, Tap, run_tapped};

use super::lockstep::{Agreement, BATCH, Batch, Difference, Lockstep, Session};
use super::ports::Ports;
use super::registers::Values;
use super::{Bench, Block, Memory, Poke, WordOf};

/// Returns the configuration of the machine preset `fermi`.
pub(crate) fn fermi() -> MachineConfig {
    let request = Request { machine: "fermi".to_owned(), ..Request::default() };
    ResolvedMachine::new(&request).expect("a machine that is built in").config
}

/// Block of a machine, or the reason why its module does not implement it.
pub type Watched = Result<Box<dyn Watch>, String>;

/// Block of a machine whose module can run next to it.
pub struct InMachine {
    /// Rust module path of the module's testbench (`module_path!()`).
    pub bench: &'static str,
    /// Function that returns the block with the given number in a machine.
    pub watch: fn(&MachineConfig, usize) -> Watched,
}

inventory::collect!(InMachine);

/// Block of a running machine, as its module sees it.
pub trait Watch {
    /// Returns the number of the block's clock, such as [`rtl::machine::DRAM`].
    fn clock(&self) -> u8;

    /// Returns the names and values of the module's parameters.
    fn parameters(&self, machine: &Machine) -> Vec<(&'static str, String)>;

    /// Lists the registers of the block, before an edge of its clock.
    fn describe(&self, machine: &Machine, to: &mut dyn Describe);

    /// Called after the registers were listed, and before the edge.
    fn remember(&mut self, machine: &Machine);

    /// Records the pins of the block at edge `tick`, in `cycle` of its clock, after the block was evaluated.
    fn pins(&mut self, machine: &Machine, at: (u64, u64), ports: &mut Ports);

    /// Returns what the block has done since the start of the run, as names and numbers.
    fn counts(&self, machine: &Machine) -> Vec<(&'static str, u64)>;

    /// Returns an input of the module, and the value that it has in the last cycle instead of the one that was
    /// recorded, because the host has changed the block since. Called before the registers of the next cycle
    /// are listed.
    fn late_input(&mut self, machine: &Machine) -> Option<(&'static str, u32)> {
        let _ = machine;
        None
    }

    /// Returns the words that the host writes to memories of the module before the first edge.
    fn contents(&self, machine: &Machine) -> Vec<Poke> {
        let _ = machine;
        Vec::new()
    }

    /// Returns the words of the module's memories that the host has changed by writing `bytes` bytes from
    /// `address` on.
    fn written(&self, machine: &Machine, address: u64, bytes: usize) -> Vec<Poke> {
        let _ = (machine, address, bytes);
        Vec::new()
    }

    /// Returns the same as [`Bench::instance_loops`].
    fn instance_loops(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the same as [`Bench::memories`].
    fn memories(&self) -> &'static [Memory] {
        &[]
    }

    /// Returns the same as [`Bench::packed`].
    fn packed(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the same as [`Bench::register_files`].
    fn register_files(&self) -> &'static [(&'static str, WordOf)] {
        &[]
    }

    /// Returns the same as [`Bench::other_form`].
    fn other_form(&self) -> &'static [&'static str] {
        &[]
    }
}

/// Result of a run of a machine and a module in lockstep.
#[derive(Clone, Debug, Default)]
pub struct MachineRun {
    /// Values compared until the end of the run or the first difference.
    pub agreed: Agreement,
    /// First difference between the module and the block, if there is one.
    pub difference: Option<Difference>,
    /// What the block did in these cycles, as names and numbers.
    pub counts: Vec<(&'static str, u64)>,
}

impl Block {
    /// Runs a launch file on a machine, with the module next to block `number` of its kind. Ends after
    /// `cycles` cycles of the block's clock, at the first difference, or with the last launch.
    ///
    /// # Errors
    /// Returns an error if the module does not implement the block of this machine, if a tool is missing or
    /// rejects the module, or if the run fails.
    pub fn run_in_machine(
        &'static self,
        number: usize,
        launch: LaunchFile,
        config: &MachineConfig,
        cycles: u64,
        interrupt: &Arc<AtomicUsize>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<MachineRun, Report> {
        let refused = |why: String| miette!("rtl/hdl/ has no module for this `{}`: {why}", self.path());
        let in_machine = self.in_machine().ok_or_else(|| refused("it is no block of a machine".to_owned()))?;
        let watch = (in_machine.watch)(config, number).map_err(refused)?;
        let options = RunOptions { interrupt: Arc::new(AtomicUsize::new(0)), ..RunOptions::default() };
        let mut tap = LockstepTap {
            block: self,
            watch,
            limit: cycles,
            asked: interrupt,
            end: Arc::clone(&options.interrupt),
            lockstep: None,
            session: None,
            ports: Ports::later(),
            pokes: Vec::new(),
            first: 0,
            cycle: 0,
            described: None,
            run: MachineRun::default(),
            error: None,
        };
        let ran = run_tapped(launch, config, &options, &mut tap, progress);
        tap.finish();
        if let Some(error) = tap.error {
            return Err(error);
        }
        ran?;
        Ok(tap.run)
    }

    fn in_machine(&self) -> Option<&'static InMachine> {
        inventory::iter::<InMachine>.into_iter().find(|known| known.bench == self.bench)
    }

    /// True if the module implements a block that a machine contains as a whole, and can run next to it.
    #[must_use]
    pub fn is_in_machine(&self) -> bool {
        self.in_machine().is_some()
    }

    /// Returns the paths of all modules that can run in a machine.
    #[must_use]
    pub fn paths_in_machine() -> Vec<String> {
        let mut paths: Vec<_> =
            inventory::iter::<InMachine>.into_iter().map(|block| super::path_of(block.bench)).collect();
        paths.sort();
        paths
    }
}

/// Block of a machine at one edge, in the form of a testbench without traffic of its own.
struct Snapshot<'a> {
    watch: &'a mut dyn Watch,
    machine: &'a Machine,
}

impl Bench for Snapshot<'_> {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        self.watch.parameters(self.machine)
    }
    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        self.watch.pins(self.machine, (at.tick, at.cycle), ports);
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.watch.describe(self.machine, to);
    }
    fn instance_loops(&self) -> &'static [&'static str] {
        self.watch.instance_loops()
    }
    fn memories(&self) -> &'static [Memory] {
        self.watch.memories()
    }
    fn packed(&self) -> &'static [&'static str] {
        self.watch.packed()
    }
    fn register_files(&self) -> &'static [(&'static str, WordOf)] {
        self.watch.register_files()
    }
    fn other_form(&self) -> &'static [&'static str] {
        self.watch.other_form()
    }
}

/// Tap on a machine that runs a module next to one of its blocks.
struct LockstepTap<'a> {
    block: &'static Block,
    watch: Box<dyn Watch>,
    /// Number of cycles after which the run ends.
    limit: u64,
    /// Number of a signal that asks for the end of the process, or 0.
    asked: &'a AtomicUsize,
    /// Nonzero ends the run.
    end: Arc<AtomicUsize>,
    lockstep: Option<Lockstep>,
    session: Option<Session>,
    /// Values of the cycles since `first`, which have not been sent to the module yet.
    ports: Ports,
    pokes: Vec<(usize, Vec<Poke>)>,
    first: u64,
    /// Next cycle of the block's clock.
    cycle: u64,
    /// Tick of the edge for which the registers have been listed, until its pins are recorded.
    described: Option<u64>,
    run: MachineRun,
    error: Option<Report>,
}

impl LockstepTap<'_> {
    /// Returns true if the run is over, for this tap.
    fn is_over(&self) -> bool {
        self.error.is_some() || self.run.difference.is_some() || self.cycle >= self.limit
    }

    fn period(&self, machine: &Machine) -> u64 {
        u64::from(machine.clocks().period(usize::from(self.watch.clock())))
    }

    /// Lists the registers of the block for the next cycle. Before that, completes the last cycle.
    fn describe(&mut self, machine: &Machine) {
        self.amend(machine);
        if self.cycle - self.first >= BATCH {
            self.exchange();
        }
        let other_form = self.watch.other_form();
        self.watch.describe(machine, &mut Values { row: &mut self.ports.expected, other_form });
        self.ports.looked_at.resize(self.ports.expected.len(), u32::MAX);
        self.watch.remember(machine);
    }

    /// Records the pins of the block at the edge of the next cycle, and completes this cycle.
    fn record(&mut self, machine: &Machine, tick: u64) {
        self.watch.pins(machine, (tick, self.cycle), &mut self.ports);
        self.cycle += 1;
        self.run.counts = self.watch.counts(machine);
        if self.is_over() || self.asked.load(Ordering::Relaxed) != 0 {
            self.end.store(1, Ordering::Relaxed);
        }
    }

    /// Changes an input of the last cycle, if the host has changed the block since.
    fn amend(&mut self, machine: &Machine) {
        let Some((input, value)) = self.watch.late_input(machine) else { return };
        let Some(word) = self.lockstep.as_ref().and_then(|lockstep| lockstep.input_word(input)) else { return };
        let cycles = (self.cycle - self.first) as usize;
        // Before the first cycle, the block is as after a reset.
        let Some(row) = self.ports.driven.len().checked_div(cycles) else { return };
        self.ports.driven[(cycles - 1) * row + word] = value;
    }

    /// Adds the words that the host writes to the module before the next cycle.
    fn poke(&mut self, words: Vec<Poke>) {
        if !words.is_empty() {
            self.pokes.push(((self.cycle - self.first) as usize, words));
        }
    }

    /// Sends the recorded cycles to the module, and compares the cycles that were sent before.
    fn exchange(&mut self) {
        let ports = std::mem::replace(&mut self.ports, Ports::later());
        let (cycles, pokes) = (self.cycle - self.first, std::mem::take(&mut self.pokes));
        let batch = Batch::of(ports, (self.first, cycles), pokes);
        self.first = self.cycle;
        self.compare(Some(batch).filter(|_| cycles > 0));
    }

    fn compare(&mut self, next: Option<Batch>) {
        let (Some(lockstep), Some(session)) = (&self.lockstep, &mut self.session) else { return };
        match session.exchange(next) {
            Ok(Some((batch, got))) => {
                self.run.difference = self.run.difference.take().or_else(|| lockstep.compare(&batch, &got));
                self.run.agreed += batch.agreement();
            }
            Ok(None) => {}
            Err(error) => self.error = Some(error),
        }
    }

    /// Compares all cycles that were recorded and not compared yet.
    fn finish(&mut self) {
        if self.error.is_none() && self.run.difference.is_none() && self.described.is_none() {
            self.exchange();
        }
        if self.error.is_none() && self.run.difference.is_none() {
            self.compare(None);
        }
    }
}

impl Tap for LockstepTap<'_> {
    fn begin(&mut self, machine: &Machine) {
        let contents = self.watch.contents(machine);
        self.poke(contents);
        let started = Lockstep::of_bench(self.block, &mut Snapshot { watch: &mut *self.watch, machine })
            .and_then(|lockstep| Ok((lockstep.start()?, lockstep)));
        match started {
            Ok((session, lockstep)) => {
                self.run.agreed.register_bits = lockstep.register_bits();
                (self.session, self.lockstep) = (Some(session), Some(lockstep));
            }
            Err(error) => {
                self.error = Some(error);
                self.end.store(1, Ordering::Relaxed);
            }
        }
    }

    fn before(&mut self, machine: &Machine, tick: u64) {
        let period = self.period(machine);
        // Between the previous edge and this one, the block was not evaluated.
        while self.cycle * period < tick && !self.is_over() {
            self.describe(machine);
            self.record(machine, self.cycle * period);
        }
        if self.cycle * period == tick && !self.is_over() {
            self.describe(machine);
            self.described = Some(tick);
        }
    }

    fn after(&mut self, machine: &Machine, tick: u64) {
        if self.described == Some(tick) {
            self.described = None;
            self.record(machine, tick);
        }
    }

    fn wrote(&mut self, machine: &Machine, address: u64, bytes: usize) {
        let words = self.watch.written(machine, address, bytes);
        self.poke(words);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::blocks;
    use super::*;

    /// Runs a module next to block 0 of its kind in `fermi`, while a kernel runs.
    fn run(path: &str, kernel: &str, cycles: u64) -> MachineRun {
        let block = blocks().into_iter().find(|block| block.path() == path).unwrap();
        let launch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels").join(kernel);
        let launch = warpsieve::run::open(&launch, None).unwrap();
        block.run_in_machine(0, launch, &fermi(), cycles, &Arc::default(), &mut |_| {}).unwrap()
    }

    #[test]
    #[cfg_attr(not(has_verilator), ignore = "verilator or g++ is not installed")]
    fn a_channel_of_a_machine_and_its_module_agree_while_a_kernel_runs() {
        let MachineRun { agreed, difference, counts } = run("dram/channel", "histo", 40_000);
        assert_eq!(difference, None);
        let count = |name: &str| counts.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count);
        assert_eq!(agreed.cycles, 40_000);
        assert!(count("reads") > 1000 && count("precharges") > 10, "{counts:?}");
    }
}
