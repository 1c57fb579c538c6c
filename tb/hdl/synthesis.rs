//! # Gates of a module
//! Yosys maps a module to the cells of `area/technology.toml`; beside it stands what `area` estimates of the structures that
//! the part describes. A register with an enable is a flip-flop behind a multiplexer, one with a reset a flip-flop behind
//! a gate: both count as logic.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use area::{Node, Technology};
use miette::{IntoDiagnostic, Report};
use rtl::kernel::{BlockId, Blocks, Describe, Edge, Sleep};
use warpsieve::estimate::Block as Estimate;
use warpsieve::readers::Counts;

use super::program::done;
use super::{Bench, Block, Random, Size, hdl_folder};

/// Flip-flops, and um2 at 45 nm.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gates {
    /// Flip-flops, those of memories among them.
    pub flip_flops: u64,
    /// What they cost.
    pub flip_flop_um2: f64,
    /// What everything else costs.
    pub logic_um2: f64,
}

impl Gates {
    /// All of it.
    #[must_use]
    pub fn um2(&self) -> f64 {
        self.flip_flop_um2 + self.logic_um2
    }
}

/// A module mapped to cells, beside its estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthesis {
    /// Parameters of the module.
    pub parameters: Vec<(&'static str, String)>,
    /// Cells by name.
    pub cells: BTreeMap<String, u64>,
    /// What they cost.
    pub synthesised: Gates,
    /// What is described costs by the model of `area`. Memories count as flip-flops without their multiplexers.
    pub estimated: Gates,
    /// Pieces of logic described, by name, with their number and um2 in all.
    pub pieces: BTreeMap<String, (u32, f64)>,
}

impl Block {
    /// Maps the module to cells.
    ///
    /// # Errors
    /// If Yosys is missing, or refuses the module.
    pub fn synthesise(&self, size: Size, technology: &Technology) -> Result<Synthesis, Report> {
        let bench = (self.build)(size, Random::new(1));
        let parameters = bench.parameters();
        let cells = self.cells(&parameters, technology)?;
        let mut synthesised = Gates::default();
        for (name, count) in &cells {
            let um2 = *count as f64 * technology.cell_um2(name).unwrap_or_default();
            if Technology::is_flip_flop(name) {
                synthesised.flip_flops += count;
                synthesised.flip_flop_um2 += um2;
            } else {
                synthesised.logic_um2 += um2;
            }
        }
        let counts = described(&*bench);
        let tree = Estimate::of(&counts, technology, Node::N45);
        let flip_flops = counts.bits;
        let mut estimated =
            Gates { flip_flops, flip_flop_um2: technology.flops(Node::N45, flip_flops).um2, logic_um2: 0.0 };
        let mut pieces = BTreeMap::new();
        tree.walk(&mut |_, block| {
            for piece in &block.logic {
                let (number, um2) = pieces.entry(piece.name.clone()).or_insert((0, 0.0));
                (*number, *um2) = (*number + 1, *um2 + piece.um2);
                estimated.logic_um2 += piece.um2;
            }
        });
        Ok(Synthesis { parameters, cells, synthesised, estimated, pieces })
    }

    /// Cells by name, as Yosys counts them.
    fn cells(&self, parameters: &[(&str, String)], technology: &Technology) -> Result<BTreeMap<String, u64>, Report> {
        let folder = tempfile::tempdir().into_diagnostic()?;
        let [library, script, counted] = ["cells.lib", "script.ys", "counted.txt"].map(|name| folder.path().join(name));
        let file = hdl_folder().join(self.path()).with_extension("sv");
        let set: String = parameters.iter().map(|(name, value)| format!(" -chparam {name} {value}")).collect();
        let [module, beside] = [self.module().to_owned(), file.with_file_name("").display().to_string()];
        fs::write(&library, technology.liberty()).into_diagnostic()?;
        let lib = library.display();
        let commands = [
            format!("read_verilog -sv {}", file.display()),
            format!("hierarchy -check -libdir {beside} -top {module}{set}"),
            "synth -flatten -noabc".to_owned(),
            "dfflegalize -cell $_DFF_P_ x".to_owned(),
            "opt_merge".to_owned(),
            format!("dfflibmap -liberty {lib}"),
            format!("abc -liberty {lib}"),
            "opt_clean -purge".to_owned(),
            format!("tee -q -o {} stat", counted.display()),
        ];
        fs::write(&script, commands.join("\n")).into_diagnostic()?;
        done(Command::new("yosys").arg("-q").arg("-s").arg(&script))?;
        let text = fs::read_to_string(&counted).into_diagnostic()?;
        let cell = |line: &str| {
            let (name, count) = line.trim().split_once(' ')?;
            technology.cell_um2(name)?;
            Some((name.to_owned(), count.trim().parse().ok()?))
        };
        Ok(text.lines().filter_map(cell).collect())
    }
}

/// What the description of a part counts.
pub(super) fn described(bench: &dyn Bench) -> Counts {
    Counts::of(&Alone(bench))
}

/// A part by itself, for those who read descriptions of blocks.
struct Alone<'a>(&'a dyn Bench);

impl Blocks for Alone<'_> {
    fn population(&self) -> Vec<u8> {
        vec![1]
    }
    fn eval(&mut self, _: BlockId, _: &mut Edge<'_>) -> Sleep {
        Sleep::UntilEvent
    }
    fn describe(&self, _: BlockId, to: &mut dyn Describe) {
        self.0.describe(to);
    }
}
