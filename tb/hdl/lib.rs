//! # Lockstep with SystemVerilog
//! A module of `hdl` implements a block of `rtl` in synthesizable SystemVerilog. For example,
//! `rtl/hdl/l1/ws_l1_mshr.sv` implements the block of path `l1/mshr`. `tb/hdl/PATH.rs` drives the Rust block,
//! the module, and the golden twin if there is one, with the same random legal traffic. It compares every
//! output and every register in every cycle. Verilator compiles the module into a program that reads rows of
//! inputs and writes rows of outputs and registers. All comparisons are made in Rust.
//!
//! | module          | holds                                                                     |
//! |-----------------|---------------------------------------------------------------------------|
//! | `ports`         | [`Ports`]: ports of one cycle, as a bench drives and expects them         |
//! | `traffic_modes` | traffic modes: probabilities of events that change over time              |
//! | `random`        | pseudorandom numbers from a seed                                          |
//! | `registers`     | names of registers in a module, derived from the Rust block's description |
//! | `tool_cache`    | cache of tool outputs                                                     |
//! | `program`       | build of the verilated program, and the pipe to it                        |
//! | `lockstep`      | lockstep run of block and module, and its first difference                |
//! | `vectors`       | traffic as a file, with a SystemVerilog bench                             |
//! | `waves`         | waveforms of both sides of a run                                          |
//! | `proofs`        | formal proofs of properties, independent of traffic                       |
//! | `synthesis`     | gates by Yosys, next to the estimate of `area`                            |
//!
//! `docs/hdl.md` explains how to add a block.

/// Registers a block with its bench: the constructor of the device, and the mistakes that the bench must
/// detect.
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

/// Registers a formal proof: its sizes (tests prove only the first few), and mistakes that violate the
/// property.
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

mod cells;
mod dram;
mod index;
mod l1;
mod l2;
mod lockstep;
mod ports;
mod program;
mod proofs;
mod random;
mod registers;
mod sm;
mod synthesis;
mod throttle;
mod tool_cache;
mod tracker;
mod traffic_modes;
mod vectors;
mod waves;

use std::path::PathBuf;

use rtl::kernel::{Describe, Edge};

pub use lockstep::{Agreement, Difference, Lockstep, hdl_folder};
pub use ports::Ports;
pub use program::end_tools;
pub use proofs::{CounterExample, Invariant, Proof, proofs};
pub use random::{Random, is_thorough, sample};
pub use synthesis::{Gates, Synthesis};
pub use vectors::Vectors;

use traffic_modes::TrafficModes;

/// SystemVerilog module of `rtl/hdl/` with the bench that drives it.
pub struct Block {
    /// `module_path!()` of the bench, which gives the path of the module.
    pub bench: &'static str,
    /// Constructor of an empty device of a size, with the traffic of a seed.
    pub build: fn(Size, Random) -> Box<dyn Bench>,
    /// Mistakes that the bench must detect.
    pub mistakes: &'static [Mistake],
}

inventory::collect!(Block);

/// Size of the module under test, from which its parameters follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Small size, in which events often coincide. Mistakes are searched at this size.
    Small,
    /// Size in the machine `fermi`, if the machine has the block.
    Fermi,
    /// Size of `fermi` with a single set, for synthesis: in the machine, a memory holds the sets.
    Synthesised,
    /// Random size.
    Any,
}

/// Deliberate mistake in the SystemVerilog that the bench must detect.
#[derive(Clone, Copy, Debug)]
pub struct Mistake {
    /// Original text, which occurs exactly once in the module's file.
    pub instead_of: &'static str,
    /// Wrong text that replaces the original.
    pub is: &'static str,
    /// Reason why the change cannot be observed, if it cannot.
    pub equivalent: Option<&'static str>,
}

impl Mistake {
    /// Creates a mistake that the bench must detect.
    #[must_use]
    pub const fn new(instead_of: &'static str, is: &'static str) -> Self {
        Self { instead_of, is, equivalent: None }
    }

    /// Creates a change that cannot be observed, for the reason `why`.
    #[must_use]
    pub const fn equivalent(instead_of: &'static str, is: &'static str, why: &'static str) -> Self {
        Self { instead_of, is, equivalent: Some(why) }
    }
}

/// Block of `rtl` with its traffic.
pub trait Bench {
    /// Returns the parameters of the module, by name.
    fn parameters(&self) -> Vec<(&'static str, String)>;

    /// Runs one clock cycle: draws the inputs, evaluates the block, and records the expected outputs. The
    /// golden twin runs in lockstep and is compared here.
    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports);

    /// Lists the registers, with their values before the cycle.
    fn describe(&self, to: &mut dyn Describe) {
        let _ = to;
    }

    /// Returns the numbered scopes that the module stores as one word each. Their fields are bit ranges of
    /// the word, as in a memory cell.
    fn packed(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the number of described bits that never change, which synthesis removes.
    fn constant_bits(&self) -> u64 {
        0
    }

    /// Returns the names of registers that the simulator stores in another form. They are not compared.
    fn other_form(&self) -> &'static [&'static str] {
        &[]
    }
}

impl Block {
    /// Returns the path of the module in `rtl/hdl/`, without its ending, such as `l1/mshr`.
    #[must_use]
    pub fn path(&self) -> String {
        path_of(self.bench)
    }

    /// Returns the parameters of the module at a size, and the number of its register bits.
    #[must_use]
    pub fn shape(&self, size: Size) -> (Vec<(&'static str, String)>, u64) {
        let bench = (self.build)(size, Random::new(1));
        (bench.parameters(), synthesis::count_structures(&*bench).bits)
    }

    /// Returns the cache name for a tool's output in tests. `None` outside of tests, and for random sizes,
    /// which never repeat.
    fn kept_name(&self, size: Size, made: &str) -> Option<String> {
        (cfg!(test) && size != Size::Any).then(|| format!("{}-{size:?}-{made}", self.path().replace('/', ".")))
    }

    /// Returns the file of the module, which has the name of the module.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        file_of(&self.path())
    }

    /// Returns the name of the component, which is the last name of its path.
    fn component(&self) -> &'static str {
        self.bench.rsplit("::").next().unwrap_or(self.bench)
    }
}

/// Returns the path in `rtl/hdl/` of the module of a bench.
fn path_of(bench: &str) -> String {
    let (_, path) = bench.split_once("::").unwrap_or(("", bench));
    path.replace("::", "/")
}

/// Returns the name of the module of a path: a prefix, then the path with `_` for `/`.
fn module_of(path: &str) -> String {
    format!("ws_{}", path.replace('/', "_"))
}

/// Returns the file of the module of a path.
fn file_of(path: &str) -> PathBuf {
    hdl_folder().join(path).with_file_name(module_of(path) + ".sv")
}

/// Returns all blocks, sorted by path.
#[must_use]
pub fn blocks() -> Vec<&'static Block> {
    let mut blocks: Vec<_> = inventory::iter::<Block>.into_iter().collect();
    blocks.sort_by_key(|block| block.bench);
    blocks
}

#[cfg(test)]
mod tests;
