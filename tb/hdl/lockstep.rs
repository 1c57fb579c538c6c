//! # Lockstep simulation of a Rust model and its SystemVerilog module

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::ops::AddAssign;
use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Report, WrapErr, miette};

use rtl::kernel::{Edge, Wake};

use waves::atomic_file::Scratch;

use super::assertions::{Change, Violation, checkers_of, failures};
use super::hierarchy::instantiated;
use super::ports::{Ports, Signal, words};
use super::program::{OtherInput, Program, Running, Shape, Texts};
use super::registers::{Register, Values, registers};
use super::{Bench, Block, Mistake, Poke, Random, Size, module_of};

/// Number of cycles whose data are sent through the pipe to the simulation program at once.
pub(super) const BATCH: u64 = 64;

/// Number of cycles after which the messages of failed assertions are read again.
const READ_PERIOD: u64 = 16 * BATCH;

/// SystemVerilog module, ready to run in lockstep with its Rust model. There are also mutated copies of it,
/// each with one deliberate mistake.
pub struct Lockstep {
    block: &'static Block,
    size: Size,
    seed: u64,
    inputs: Vec<Signal>,
    /// Signals of an output row of the simulation program: first the registers, then the outputs.
    row: Vec<Signal>,
    registers: usize,
    program: Program,
}

/// Number of values compared in a lockstep run that found no difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Number of clock cycles simulated.
    pub cycles: u64,
    /// Number of output values compared. An output without a defined value in a cycle is not counted for that
    /// cycle.
    pub outputs: u64,
    /// Number of register bits of the module. All of them are compared in every cycle.
    pub register_bits: u64,
}

impl AddAssign for Agreement {
    fn add_assign(&mut self, Self { cycles, outputs, register_bits: _ }: Self) {
        self.cycles += cycles;
        self.outputs += outputs;
    }
}

/// First difference between the SystemVerilog module and the Rust model in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Cycle in which the difference occurred, counted from the start of the run.
    pub cycle: u64,
    /// Name that the differing output or register has in the Rust model.
    pub signal: String,
    /// Value of the signal in the SystemVerilog module, in hexadecimal.
    pub is: String,
    /// Value of the signal in the Rust model, in hexadecimal.
    pub expected: String,
    /// Values of all inputs in the cycle of the difference.
    pub driven: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cycle, signal, is, expected, driven } = self;
        write!(f, "cycle {cycle}: {signal} is {is}, expected {expected}; driven {driven}")
    }
}

impl Lockstep {
    /// Builds the simulation program of a module at the given size. It contains the original module, and one
    /// mutated copy per deliberate mistake. The original module is checked by its assertions, if it has some.
    ///
    /// # Errors
    /// Returns an error if a tool is missing or rejects the module, or if the code that a mistake replaces
    /// does not occur exactly once.
    pub fn new(block: &'static Block, size: Size, seed: u64, mistakes: &[Mistake]) -> Result<Self, Report> {
        let text = text_of(block)?;
        let wrong = mistakes.iter().map(|mistake| with_mistake(&text, mistake));
        let texts = [Ok(text.clone())].into_iter().chain(wrong).collect::<Result<Vec<_>, _>>()?;
        let name = block.kept_name(size, &texts.len().to_string());
        Self::build(block, (size, seed), &texts, &vec![None; texts.len()], (1, name))
    }

    /// Runs copies of a module, each with a violation of its contract, and checks all of them by the module's
    /// assertions. Returns the properties that failed in each copy. The first copy is the original module,
    /// with the inputs of the testbench. The run ends after `cycles` cycles, or when each violation has been
    /// reported.
    ///
    /// # Errors
    /// If a tool is missing or rejects the module, or if the module has no assertions.
    pub fn violate(
        block: &'static Block,
        (size, seed): (Size, u64),
        violations: &[Violation],
        cycles: u64,
    ) -> Result<Vec<BTreeSet<String>>, Report> {
        let text = text_of(block)?;
        let changed = violations.iter().map(|violation| match violation.change {
            Change::Module(mistake) => Ok((with_mistake(&text, &mistake)?, None)),
            Change::Input(input, value) => Ok((text.clone(), Some((input, value)))),
        });
        let all = [Ok((text.clone(), None))].into_iter().chain(changed).collect::<Result<Vec<_>, Report>>()?;
        let (texts, driven): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let name = block.kept_name(size, "violated");
        let lockstep = Self::build(block, (size, seed), &texts, &driven, (texts.len(), name))?;
        let folder = Scratch::new().into_diagnostic()?;
        let file = folder.path().join("messages");
        let program = lockstep.program.start_failing(File::create(&file).into_diagnostic()?)?;
        let failed = || -> Result<_, Report> {
            let told = fs::read(&file).into_diagnostic()?;
            Ok(failures(&String::from_utf8_lossy(&told), texts.len()))
        };
        lockstep.batches(program, cycles, |batch, _| {
            if !batch.first.is_multiple_of(READ_PERIOD) {
                return Ok(true);
            }
            let failed = failed()?;
            let are_seen = violations.iter().zip(&failed[1..]).all(|(one, failed)| failed.contains(one.property));
            Ok(!are_seen)
        })?;
        failed()
    }

    /// Builds the simulation program of copies of a module. The first `checked` copies are checked by the
    /// module's assertions.
    fn build(
        block: &'static Block,
        (size, seed): (Size, u64),
        texts: &[String],
        driven: &[OtherInput],
        (checked, name): (usize, Option<String>),
    ) -> Result<Self, Report> {
        let mut bench = (block.build)(size, Random::new(seed));
        Self::around(block, (size, seed), &mut *bench, (texts, driven), (checked, name))
    }

    /// Builds the simulation program of the original module for a block that `bench` describes, such as one
    /// of a machine.
    pub(super) fn of_bench(block: &'static Block, bench: &mut dyn Bench) -> Result<Self, Report> {
        Self::around(block, (Size::Any, 0), bench, (&[text_of(block)?], &[None]), (1, None))
    }

    /// Builds the simulation program of copies of a module for a block that `bench` describes.
    fn around(
        block: &'static Block,
        (size, seed): (Size, u64),
        bench: &mut dyn Bench,
        (texts, driven): (&[String], &[OtherInput]),
        (checked, name): (usize, Option<String>),
    ) -> Result<Self, Report> {
        let module = module_of(&block.path());
        let modules: Vec<_> = (0..texts.len()).map(|k| format!("{module}_{k}")).collect();
        let renamed =
            |(text, name): (&String, &String)| text.replace(&format!("module {module} "), &format!("module {name} "));
        let texts: Vec<_> = texts.iter().zip(&modules).map(renamed).collect();
        let mut checker = block.checker()?.map(|checker| checker.bound_to(&modules[..checked])).unwrap_or_default();
        let instantiated = instantiated(&texts)?;
        // A mistake in a module can violate the contract of a module that it instantiates, and that would end
        // the simulation.
        if let [_] = texts[..] {
            checker += &checkers_of(&instantiated)?;
        }

        let registers = registers(block.component(), bench);
        let mut ports = Ports::default();
        bench.cycle(&Edge::new(1, 1, &mut Wake::new(&[1])), &mut ports);
        let shape = Shape {
            modules: &modules,
            parameters: &bench.parameters(),
            inputs: &ports.inputs,
            registers: &registers,
            outputs: &ports.outputs,
            memories: bench.memories(),
            driven,
        };
        let texts = Texts { modules: &texts, checker: &checker, instantiated: &instantiated };
        let program = Program::new(&shape, &texts, name.as_deref())?;
        let count = registers.len();
        let row = registers.into_iter().map(|Register { signal, .. }| signal).chain(ports.outputs).collect();
        Ok(Self { block, size, seed, inputs: ports.inputs, row, registers: count, program })
    }

    /// Runs the Rust model and one module of the simulation program for the given number of cycles, or until
    /// they differ. Module 0 is the original module; each other module contains one deliberate mistake.
    ///
    /// # Errors
    /// Returns an error if the simulation program ends early.
    pub fn run(&self, module: usize, cycles: u64) -> Result<Result<Agreement, Difference>, Report> {
        let mut agreed = Agreement { register_bits: self.register_bits(), ..Agreement::default() };
        let mut differs = None;
        self.batches(self.program.start(module)?, cycles, |batch, got| {
            differs = self.compare(batch, got);
            agreed += batch.agreement();
            Ok(differs.is_none())
        })?;
        Ok(differs.map_or(Ok(agreed), Err))
    }

    /// Starts the original module, to be compared batch by batch.
    pub(super) fn start(&self) -> Result<Session, Report> {
        Ok(Session { program: self.program.start(0)?, waiting: None })
    }

    /// Returns the position of an input in a row, as the number of its first word.
    pub(super) fn input_word(&self, input: &str) -> Option<usize> {
        let place = self.inputs.iter().position(|signal| signal.name == input)?;
        Some(self.inputs[..place].iter().map(|signal| words(signal.width)).sum())
    }

    /// Returns the number of register bits of the module.
    pub(super) fn register_bits(&self) -> u64 {
        self.row[..self.registers].iter().map(|signal| u64::from(signal.width)).sum()
    }

    /// Returns the first difference between a batch and the output rows of the module.
    pub(super) fn compare(&self, batch: &Batch, got: &[u32]) -> Option<Difference> {
        batch.position_of_difference(got).map(|at| self.difference(batch, got, at))
    }

    /// Runs the Rust model and the module in batches of cycles. Passes each batch, with the module's output
    /// rows, to `show`. Stops when `show` returns false.
    fn batches(
        &self,
        program: Running,
        cycles: u64,
        mut show: impl FnMut(&Batch, &[u32]) -> Result<bool, Report>,
    ) -> Result<(), Report> {
        let mut bench = (self.block.build)(self.size, Random::new(self.seed));
        let mut session = Session { program, waiting: None };
        let mut first = 0;
        loop {
            // While the simulation program processes one batch, the Rust model computes the next batch.
            let batch = Batch::draw(&mut *bench, first, (cycles - first).min(BATCH));
            first += batch.cycles;
            let is_last = batch.cycles == 0;
            if let Some((before, got)) = session.exchange(Some(batch).filter(|_| !is_last))?
                && !show(&before, &got)?
            {
                return Ok(());
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Runs the original module, without a mistake, and passes the signal values of each cycle to `show`.
    pub(super) fn play(
        &self,
        cycles: u64,
        mut show: impl FnMut(u64, Rows<'_>) -> Result<(), Report>,
    ) -> Result<(), Report> {
        let words_of = |signals: &[Signal]| signals.iter().map(|signal| words(signal.width)).sum::<usize>();
        let (driven, out) = (words_of(&self.inputs), words_of(&self.row));
        self.batches(self.program.start(0)?, cycles, |batch, got| {
            for at in 0..batch.cycles as usize {
                let row = at * out..(at + 1) * out;
                let rows = Rows {
                    driven: &batch.driven[at * driven..(at + 1) * driven],
                    expected: &batch.expected[row.clone()],
                    looked_at: &batch.looked_at[row.clone()],
                    got: &got[row],
                };
                show(batch.first + at as u64, rows)?;
            }
            Ok(true)
        })
    }

    /// Returns the input, register and output signals, each in the order of their words in a row.
    pub(super) fn signals(&self) -> (&[Signal], &[Signal], &[Signal]) {
        let (registers, outputs) = self.row.split_at(self.registers);
        (&self.inputs, registers, outputs)
    }

    /// Returns the path of the module and the name of the component that it implements.
    pub(super) fn path_and_name(&self) -> (String, &'static str) {
        (self.block.path(), self.block.component())
    }

    /// Describes the difference found at word index `at` of a batch.
    fn difference(&self, batch: &Batch, got: &[u32], at: usize) -> Difference {
        let row = got.len() / batch.cycles as usize;
        let (cycle, mut word) = (at / row, at % row);
        let mut start = cycle * row;
        let mut signals = self.row.iter();
        let signal = loop {
            let Some(signal) = signals.next() else { unreachable!("a row is its signals") };
            let own = words(signal.width);
            if word < own {
                break signal;
            }
            (word, start) = (word - own, start + own);
        };
        let value = |row: &[u32]| hexadecimal(&row[start..][..words(signal.width)]);
        let mut driven =
            batch.driven.chunks_exact(batch.driven.len() / batch.cycles as usize).nth(cycle).unwrap_or_default();
        let drive = |Signal { name, width }: &Signal| {
            let (own, rest) = driven.split_at(words(*width));
            driven = rest;
            format!("{name}={}", hexadecimal(own))
        };
        let driven = self.inputs.iter().map(drive).collect::<Vec<_>>().join(" ");
        let cycle = batch.first + cycle as u64;
        Difference { cycle, signal: signal.name.clone(), is: value(got), expected: value(&batch.expected), driven }
    }
}

/// Running module that is compared batch by batch.
pub(super) struct Session {
    program: Running,
    /// Batch that the module is processing.
    waiting: Option<Batch>,
}

impl Session {
    /// Returns the batch that was sent before, with the output rows of the module, and sends the next batch.
    pub fn exchange(&mut self, next: Option<Batch>) -> Result<Option<(Batch, Vec<u32>)>, Report> {
        let Self { program, waiting } = self;
        let before = match waiting.take() {
            Some(batch) => {
                let got = program.receive(batch.cycles as usize)?;
                Some((batch, got))
            }
            None => None,
        };
        if let Some(next) = next {
            next.send_to(program)?;
            *waiting = Some(next);
        }
        Ok(before)
    }
}

/// Values of one cycle: inputs, expected values, a mask of the bits to compare, and the module's values.
pub(super) struct Rows<'a> {
    pub driven: &'a [u32],
    pub expected: &'a [u32],
    pub looked_at: &'a [u32],
    pub got: &'a [u32],
}

/// Inputs and expected values of several consecutive cycles, computed by the Rust model.
pub(super) struct Batch {
    first: u64,
    cycles: u64,
    /// Number of output values in the batch that are defined and therefore compared.
    outputs: u64,
    pub driven: Vec<u32>,
    pub expected: Vec<u32>,
    pub looked_at: Vec<u32>,
    /// Words that the host writes to memories of the module, each with the number of the cycle in this batch
    /// before which it writes.
    pub pokes: Vec<(usize, Vec<Poke>)>,
}

impl Batch {
    pub fn draw(bench: &mut dyn Bench, first: u64, cycles: u64) -> Self {
        let (mut ports, mut wake, mut pokes) = (Ports::later(), Wake::new(&[1]), Vec::new());
        for cycle in first + 1..=first + cycles {
            let at = &Edge::new(cycle, cycle, &mut wake);
            let words = bench.pokes();
            if !words.is_empty() {
                pokes.push(((cycle - first - 1) as usize, words));
            }
            bench.describe(&mut Values { row: &mut ports.expected, other_form: bench.other_form() });
            ports.looked_at.resize(ports.expected.len(), u32::MAX);
            bench.cycle(at, &mut ports);
        }
        Self::of(ports, (first, cycles), pokes)
    }

    /// Creates a batch of `cycles` cycles from `first` on, from the values in these cycles.
    pub fn of(ports: Ports, (first, cycles): (u64, u64), pokes: Vec<(usize, Vec<Poke>)>) -> Self {
        let Ports { looked, driven, expected, looked_at, .. } = ports;
        Self { first, cycles, outputs: looked, driven, expected, looked_at, pokes }
    }

    /// Returns the number of values that are compared in this batch.
    pub fn agreement(&self) -> Agreement {
        Agreement { cycles: self.cycles, outputs: self.outputs, register_bits: 0 }
    }

    /// Sends the inputs to a simulation program, and what the host writes between them.
    fn send_to(&self, program: &mut Running) -> Result<(), Report> {
        let width = self.driven.len() / self.cycles as usize;
        let mut sent = 0;
        for (before, words) in &self.pokes {
            if sent < before * width {
                program.send(&self.driven[sent..before * width])?;
                sent = before * width;
            }
            program.poke(words)?;
        }
        if sent < self.driven.len() { program.send(&self.driven[sent..]) } else { Ok(()) }
    }

    fn position_of_difference(&self, got: &[u32]) -> Option<usize> {
        let mut words = got.iter().zip(&self.expected).zip(&self.looked_at);
        words.position(|((got, expected), looked_at)| (got ^ expected) & looked_at != 0)
    }
}

/// Returns the text of a module.
fn text_of(block: &Block) -> Result<String, Report> {
    let path = block.file();
    fs::read_to_string(&path).into_diagnostic().wrap_err_with(|| path.display().to_string())
}

fn hexadecimal(words: &[u32]) -> String {
    let digits: String = words.iter().rev().map(|word| format!("{word:08x}")).collect();
    let digits = digits.trim_start_matches('0');
    format!("0x{}", if digits.is_empty() { "0" } else { digits })
}

/// Returns the source text of a module after a deliberate mistake was inserted.
pub(super) fn with_mistake(text: &str, mistake: &Mistake) -> Result<String, Report> {
    match text.matches(mistake.instead_of).count() {
        1 => Ok(text.replacen(mistake.instead_of, mistake.is, 1)),
        count => Err(miette!("`{}` occurs {count} times, expected once", mistake.instead_of)),
    }
}

/// Returns the folder of the SystemVerilog modules in the source tree.
#[must_use]
pub fn hdl_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rtl/hdl")
}
