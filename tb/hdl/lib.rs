//! # Lockstep with SystemVerilog
//! `hdl/PATH.sv` is the twin of a part of `rtl` as synthesisable SystemVerilog; `tb/hdl/PATH.rs` drives both, and the golden
//! twin where there is one, with the same random legal traffic, and compares every output and every register in every
//! cycle. The module runs as a program that Verilator makes of it: rows of inputs go in, rows of outputs and
//! registers come out, and all comparison is here.
//!
//! | module      | holds                                                                       |
//! |-------------|-----------------------------------------------------------------------------|
//! | `ports`     | [`Ports`]: the ports of one cycle, as a bench drives and expects them         |
//! | `moods`     | how often things happen                                                     |
//! | `random`    | numbers from a seed                                                         |
//! | `registers` | what a description lists, under the names that the module has for it          |
//! | `kept`      | what tools have made of the same before                                       |
//! | `program`   | the verilated program: how it is made, and the pipe to it                     |
//! | `lockstep`  | a run of both, and what differs first                                         |
//! | `vectors`   | traffic as a file, with a SystemVerilog bench                                 |
//! | `waves`     | both sides of a run as waveforms                                            |
//! | `proofs`    | properties that hold whatever the traffic is                                  |
//! | `synthesis` | gates by Yosys, beside the estimate of `area`                                 |
//!
//! `docs/hdl.md` says how to add a block.

/// Makes a block of a bench: how a device is built, and the mistakes to notice.
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

/// States what is proven of the module of a bench: sizes, the first of which a test proves, and mistakes that break it.
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
mod kept;
mod l1;
mod l2;
mod lockstep;
mod moods;
mod ports;
mod program;
mod proofs;
mod random;
mod registers;
mod sm;
mod synthesis;
mod throttle;
mod tracker;
mod vectors;
mod waves;

use rtl::kernel::{Describe, Edge};

pub use lockstep::{Agreed, Differs, Lockstep, hdl_folder};
pub use ports::Ports;
pub use program::end_tools;
pub use proofs::{CounterExample, Proof, Proven, proofs};
pub use random::{Random, is_thorough, sampled};
pub use synthesis::{Gates, Synthesis};
pub use vectors::Vectors;

use moods::Moods;

/// A module of `hdl/` with the bench that drives it.
pub struct Block {
    /// `module_path!()` of the bench, which names the file of the module.
    pub bench: &'static str,
    /// A device of a size, with nothing in it, and the traffic of a seed.
    pub build: fn(Size, Random) -> Box<dyn Bench>,
    /// Mistakes that the bench must notice.
    pub mistakes: &'static [Mistake],
}

inventory::collect!(Block);

/// Parameters of the module under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// So small that everything meets: what mistakes are looked for with.
    Small,
    /// That of the machine `fermi`, where it has one.
    Fermi,
    /// The same with a single set: what is synthesised, for in the machine a memory holds the sets.
    Synthesised,
    /// Drawn.
    Any,
}

/// A mistake in the SystemVerilog, for the bench to notice.
#[derive(Clone, Copy, Debug)]
pub struct Mistake {
    /// What stands there, once in the file of the module.
    pub instead_of: &'static str,
    /// What stands there by mistake.
    pub is: &'static str,
    /// Why nobody can notice, if nobody can.
    pub equivalent: Option<&'static str>,
}

impl Mistake {
    /// A mistake to be noticed.
    #[must_use]
    pub const fn new(instead_of: &'static str, is: &'static str) -> Self {
        Self { instead_of, is, equivalent: None }
    }

    /// One that nobody can notice.
    #[must_use]
    pub const fn equivalent(instead_of: &'static str, is: &'static str, why: &'static str) -> Self {
        Self { instead_of, is, equivalent: Some(why) }
    }
}

/// A device of `rtl` with its traffic.
pub trait Bench {
    /// Parameters of the module, by name.
    fn parameters(&self) -> Vec<(&'static str, String)>;

    /// One clock cycle: draws the inputs, takes the device through it, and says what the outputs are. The golden twin goes
    /// through the same, and is compared here.
    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports);

    /// Lists the registers, as they are before the cycle.
    fn describe(&self, to: &mut dyn Describe) {
        let _ = to;
    }

    /// Numbered scopes of which the module has a word each: its fields stand in it as in a cell of a memory.
    fn packed(&self) -> &'static [&'static str] {
        &[]
    }

    /// Bits described that never change, which synthesis drops.
    fn constant_bits(&self) -> u64 {
        0
    }

    /// Registers that the host keeps in another form, by name: they are not compared.
    fn other_form(&self) -> &'static [&'static str] {
        &[]
    }
}

impl Block {
    /// Its path in `hdl/`, without the ending: `l1/mshr`.
    #[must_use]
    pub fn path(&self) -> String {
        path_of(self.bench)
    }

    /// Parameters of its module at a size, and bits of its registers.
    #[must_use]
    pub fn shape(&self, size: Size) -> (Vec<(&'static str, String)>, u64) {
        let bench = (self.build)(size, Random::new(1));
        (bench.parameters(), synthesis::described(&*bench).bits)
    }

    /// The name that tests keep something under which a tool makes of it. Of sizes that are drawn no two are alike.
    fn kept_name(&self, size: Size, made: &str) -> Option<String> {
        (cfg!(test) && size != Size::Any).then(|| format!("{}-{size:?}-{made}", self.path().replace('/', ".")))
    }

    /// The name of its module: that of its file.
    #[must_use]
    pub fn module(&self) -> &'static str {
        module_of(self.bench)
    }
}

/// The path in `hdl/` of the module of a bench.
fn path_of(bench: &str) -> String {
    let (_, path) = bench.split_once("::").unwrap_or(("", bench));
    path.replace("::", "/")
}

/// The name of the module of a bench.
fn module_of(bench: &'static str) -> &'static str {
    bench.rsplit("::").next().unwrap_or(bench)
}

/// Every block, by path.
#[must_use]
pub fn blocks() -> Vec<&'static Block> {
    let mut blocks: Vec<_> = inventory::iter::<Block>.into_iter().collect();
    blocks.sort_by_key(|block| block.bench);
    blocks
}

#[cfg(test)]
mod tests;
