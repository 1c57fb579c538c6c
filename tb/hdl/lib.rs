//! # Lockstep tests of SystemVerilog modules
//! Each SystemVerilog module implements one hardware block or component of the simulator in synthesizable
//! form. For example, `rtl/hdl/l1/ws_l1_mshr.sv` implements `rtl/l1/mshr.rs`. The testbench `tb/hdl/PATH.rs`
//! drives the Rust model, the module, and the golden model if there is one, with the same random legal
//! traffic. It compares every output and every register in every cycle. Verilator compiles the module into a
//! program that reads rows of inputs and writes rows of outputs and registers. All comparisons are made in
//! Rust.
//!
//! | module          | holds                                                                      |
//! |-----------------|----------------------------------------------------------------------------|
//! | `ports`         | [`Ports`]: inputs that a testbench drives in a cycle, and expected outputs |
//! | `traffic_modes` | traffic modes: probabilities of events that change over time               |
//! | `random`        | pseudorandom numbers from a seed                                           |
//! | `registers`     | names of registers in a module, derived from the Rust model's description  |
//! | `hierarchy`     | files of the modules that a module instantiates                            |
//! | `links`         | ports of a block: ready/valid links of the Rust model as pins              |
//! | `tool_cache`    | cache of tool outputs                                                      |
//! | `program`       | build of the verilated program, and the pipe to it                         |
//! | `assertions`    | contracts of modules as SystemVerilog assertions, and violations of them   |
//! | `lockstep`      | lockstep run of Rust model and module, and its first difference            |
//! | `machine`       | lockstep run of a module and a block of a running machine                  |
//! | `vectors`       | test vectors in a file, with a SystemVerilog testbench                     |
//! | `waves`         | waveforms of the Rust model and of the module                              |
//! | `proofs`        | formal proofs of properties, independent of traffic                        |
//! | `survey`        | simulators, memories and checked parameters of a module                    |
//! | `synthesis`     | gates by Yosys, next to the estimate of `area`                             |
//! | `paths`         | longest combinational paths, and the inputs that reach each output         |
//!
//! `docs/hdl.md` explains how to add a block.

/// Registers a SystemVerilog module together with its testbench: a function that creates the Rust model,
/// and deliberate errors that the testbench must detect.
macro_rules! block {
    ($build:expr, [$($mistake:expr),+ $(,)?]) => {
        inventory::submit! {
            $crate::Block { bench: module_path!(), build: $build, mistakes: &[$($mistake),+] }
        }

        #[cfg(test)]
        #[test]
        #[cfg_attr(not(has_verilator), ignore = "verilator or g++ is not installed")]
        fn the_module_agrees_with_its_twins_and_no_mistake_passes() {
            $crate::tests::check(module_path!());
        }
    };
}

/// Registers a formal proof: the sizes at which it is proven (tests prove only the first few), and
/// deliberate errors that make the proof fail.
macro_rules! proof {
    ($sizes:expr, $quick:literal in tests, [$($mistake:expr),+ $(,)?]) => {
        inventory::submit! {
            $crate::Proof { bench: module_path!(), sizes: $sizes, quick: $quick, mistakes: &[$($mistake),+] }
        }

        #[cfg(test)]
        #[test]
        #[cfg_attr(not(has_yosys), ignore = "yosys or yosys-abc is not installed")]
        fn the_property_is_proven_and_each_mistake_breaks_it() {
            $crate::tests::check_proof(module_path!());
        }
    };
}

/// Registers the checker of a SystemVerilog module, with deliberate violations of each of its properties.
macro_rules! assertions {
    ([$($violation:expr),+ $(,)?]) => {
        inventory::submit! {
            $crate::Checker { bench: module_path!(), violations: &[$($violation),+] }
        }

        #[cfg(test)]
        #[test]
        #[cfg_attr(not(has_verilator), ignore = "verilator or g++ is not installed")]
        fn each_property_of_the_checker_is_violated_by_a_deliberate_violation() {
            $crate::tests::check_assertions(module_path!());
        }
    };
}

/// Registers the block of a machine next to which a module can run.
macro_rules! in_machine {
    ($watch:expr) => {
        inventory::submit! {
            $crate::InMachine { bench: module_path!(), watch: $watch }
        }
    };
}

mod assertions;
mod cells;
mod dram;
mod hierarchy;
mod index;
mod l1;
mod l2;
mod links;
mod lockstep;
mod machine;
mod noc;
mod paths;
mod ports;
mod program;
mod proofs;
mod random;
mod registers;
mod sm;
mod survey;
mod synthesis;
mod throttle;
mod tool_cache;
mod top;
mod tracker;
mod traffic_modes;
mod vectors;
mod waves;

use std::path::PathBuf;

use rtl::kernel::{Describe, Edge};

pub use assertions::{Change, Checker, Violation, checkers};
pub use lockstep::{Agreement, Difference, Lockstep, hdl_folder};
pub use machine::{InMachine, MachineRun, Watch, Watched};
pub use paths::{Delay, LongestPath, PathKind, Reach, describe_block};
pub use ports::Ports;
pub use program::end_tools;
pub use proofs::{CounterExample, Invariant, Proof, proofs};
pub use random::{Random, is_thorough, sample};
pub use survey::Survey;
pub use synthesis::{Gates, Synthesis};
pub use vectors::Vectors;

use traffic_modes::TrafficModes;

/// SystemVerilog module in `rtl/hdl/`, with the testbench that drives it.
pub struct Block {
    /// Rust module path of the testbench (`module_path!()`), from which the path of the SystemVerilog module
    /// follows.
    pub bench: &'static str,
    /// Function that creates the testbench: the Rust model of the given size in its initial state, with
    /// random traffic from the given generator.
    pub build: fn(Size, Random) -> Box<dyn Bench>,
    /// Deliberate mistakes in the SystemVerilog module that the testbench must detect.
    pub mistakes: &'static [Mistake],
}

inventory::collect!(Block);

/// Size of the module under test, which determines the module's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Small size, at which rare events often coincide. The deliberate mistakes are tested at this size.
    Small,
    /// Size that the module has in the machine preset `fermi`, if that machine contains it.
    Fermi,
    /// Size as in `fermi`, but with a single set, for synthesis. In real hardware, the sets would be in an
    /// SRAM.
    Synthesised,
    /// Random size of the module.
    Any,
}

/// Deliberate mistake in a SystemVerilog module, to test that the testbench detects it.
#[derive(Clone, Copy, Debug)]
pub struct Mistake {
    /// Original code, which must occur exactly once in the module's file.
    pub instead_of: &'static str,
    /// Wrong code that replaces the original code.
    pub is: &'static str,
    /// Reason why the changed module behaves like the original one; `None` if the testbench must detect the
    /// change.
    pub equivalent: Option<&'static str>,
}

impl Mistake {
    /// Creates a deliberate error in the code of the module, which the testbench must detect.
    #[must_use]
    pub const fn new(instead_of: &'static str, is: &'static str) -> Self {
        Self { instead_of, is, equivalent: None }
    }

    /// Creates an equivalent mutant: a change of the module's code that does not change its behavior. `why`
    /// explains why the behavior stays the same.
    #[must_use]
    pub const fn equivalent(instead_of: &'static str, is: &'static str, why: &'static str) -> Self {
        Self { instead_of, is, equivalent: Some(why) }
    }
}

/// Testbench of one module: the Rust model of the hardware, with its random traffic.
pub trait Bench {
    /// Returns the names and values of the SystemVerilog module's parameters.
    fn parameters(&self) -> Vec<(&'static str, String)>;

    /// Runs one clock cycle: generates random inputs, evaluates the Rust model, and records the expected
    /// outputs. If there is a golden model, it is evaluated and compared here too.
    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports);

    /// Lists the registers of the Rust model with their current values. Called before [`Bench::cycle`] in
    /// each clock cycle.
    fn describe(&self, to: &mut dyn Describe) {
        let _ = to;
    }

    /// Returns the names of the register arrays whose elements the module stores as one word each. The fields
    /// of an element are bit ranges of this word, as in an SRAM row. A name `INSTANCE.NAME` means only the
    /// arrays within an instance.
    fn packed(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the names of the numbered scopes that the module builds in a generate loop of the same name,
    /// with an instance `unit` in each iteration.
    fn instance_loops(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the memories of the module whose contents the host can change.
    fn memories(&self) -> &'static [Memory] {
        &[]
    }

    /// Returns the words that the host writes to memories before the next cycle. Called before
    /// [`Bench::cycle`] in each clock cycle.
    fn pokes(&mut self) -> Vec<Poke> {
        Vec::new()
    }

    /// Returns the memories that the module stores in an instance of `ws_cells_register_file`, by the path of
    /// the instance.
    fn register_files(&self) -> &'static [(&'static str, WordOf)] {
        &[]
    }

    /// Returns the number of register bits that never change. Synthesis removes these bits.
    fn constant_bits(&self) -> u64 {
        0
    }

    /// Returns the names of registers that the Rust model stores in another form than the module. They are
    /// not compared.
    fn other_form(&self) -> &'static [&'static str] {
        &[]
    }
}

/// Memory of a module whose contents the host can read and write without passing time, like the DRAM of a
/// machine.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Hierarchical path of the array of words in the module, such as `memory.words_q`.
    pub array: &'static str,
    /// Width of a word in bits.
    pub width: u32,
}

/// Word that the host writes to a memory of a module.
#[derive(Clone, Debug)]
pub struct Poke {
    /// Number of the memory, in the order of [`Bench::memories`].
    pub memory: usize,
    /// Number of the word.
    pub address: u64,
    /// New value of the word, least significant byte first.
    pub bytes: Vec<u8>,
}

/// What a word of a memory stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordOf {
    /// A row of the memory, with all its entries.
    Row,
    /// An entry of the memory. The words of the entries of a row follow each other.
    Entry,
}

impl Block {
    /// Returns the path of the module in `rtl/hdl/`, without prefix and file extension, such as `l1/mshr`.
    #[must_use]
    pub fn path(&self) -> String {
        path_of(self.bench)
    }

    /// Returns the parameters of the module at the given size, and the number of its register bits.
    #[must_use]
    pub fn shape(&self, size: Size) -> (Vec<(&'static str, String)>, u64) {
        let bench = (self.build)(size, Random::new(1));
        (bench.parameters(), synthesis::count_structures(&*bench).bits)
    }

    /// Returns the name under which the output of a tool is cached, or `None` if it is not cached. Outputs
    /// are cached only in tests, and not for random sizes, because these never repeat.
    fn kept_name(&self, size: Size, made: &str) -> Option<String> {
        (cfg!(test) && size != Size::Any).then(|| format!("{}-{size:?}-{made}", self.path().replace('/', ".")))
    }

    /// Returns the path of the SystemVerilog file. The file has the name of the module that it contains.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        file_of(&self.path())
    }

    /// Returns the name of the hardware component, which is the last part of the module's path.
    fn component(&self) -> &'static str {
        self.bench.rsplit("::").next().unwrap_or(self.bench)
    }
}

/// Converts the Rust module path of a testbench to the path of its SystemVerilog module in `rtl/hdl/`.
fn path_of(bench: &str) -> String {
    let (_, path) = bench.split_once("::").unwrap_or(("", bench));
    path.replace("::", "/")
}

/// Returns the name of the SystemVerilog module at a path: the prefix `ws_`, then the path with `_` instead
/// of `/`.
fn module_of(path: &str) -> String {
    format!("ws_{}", path.replace('/', "_"))
}

/// Returns the file of the SystemVerilog module at a path in `rtl/hdl/`.
fn file_of(path: &str) -> PathBuf {
    hdl_folder().join(path).with_file_name(module_of(path) + ".sv")
}

/// Returns all SystemVerilog modules with their testbenches, sorted by path.
#[must_use]
pub fn blocks() -> Vec<&'static Block> {
    let mut blocks: Vec<_> = inventory::iter::<Block>.into_iter().collect();
    blocks.sort_by_key(|block| block.bench);
    blocks
}

#[cfg(test)]
mod tests;
