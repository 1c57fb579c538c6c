//! # Synthesis of a module to gates
//! Yosys maps a module to the standard cells of `sim/area/technology.toml`. The area is compared with the
//! estimate that the command `area` computes from the Rust model's description of its structures. A register
//! with an enable is mapped to a flip-flop behind a multiplexer. A register with a reset, even an
//! asynchronous reset, is mapped to a flip-flop behind a gate. The multiplexer and the gate count as logic.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use area::{Kind, Memory, Node, Technology};
use miette::{IntoDiagnostic, Report};
use rtl::kernel::{BlockId, Blocks, Describe, Edge, Logic, Sleep};
use warpsieve::estimate::Block as Estimate;
use warpsieve::readers::Counts;
use waves::atomic_file::Scratch;

use super::hierarchy::{files, is_macro, texts_of};
use super::ports::{input_pin, output_pin};
use super::program::{run_tool, yosys};
use super::tool_cache::find_cached;
use super::{Bench, Block, Random, Size, module_of};

/// Text that marks the end of a list in the output of Yosys.
const END: &str = "end of list";

/// Yosys rules that make asynchronous resets synchronous before synthesis. The standard-cell library has only
/// flip-flops without reset.
const RESETS: &str = include_str!("resets.v");

/// Gate-level size of a module: number of flip-flops, and areas at 45 nm in um2.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gates {
    /// Number of flip-flops in the module, including those that implement its memories.
    pub flip_flops: u64,
    /// Area of all flip-flops in um2.
    pub flip_flop_um2: f64,
    /// Area of all standard cells other than flip-flops, in um2.
    pub logic_um2: f64,
}

impl Gates {
    /// Sums the areas of all standard cells, given how often each cell type occurs.
    pub(super) fn of(cells: &BTreeMap<String, u64>, technology: &Technology) -> Self {
        let mut gates = Self::default();
        for (name, count) in cells {
            let um2 = *count as f64 * technology.cell_um2(name).unwrap_or_default();
            if Technology::is_flip_flop(name) {
                gates.flip_flops += count;
                gates.flip_flop_um2 += um2;
            } else {
                gates.logic_um2 += um2;
            }
        }
        gates
    }

    /// Returns the total area of flip-flops and logic in um2.
    #[must_use]
    pub fn um2(&self) -> f64 {
        self.flip_flop_um2 + self.logic_um2
    }
}

/// Result of synthesizing a module to standard cells, with the estimate of its area.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthesis {
    /// Names and values of the SystemVerilog module's parameters.
    pub parameters: Vec<(&'static str, String)>,
    /// Number of instances of each standard cell, by cell name.
    pub cells: BTreeMap<String, u64>,
    /// Flip-flops and area of the synthesized standard cells.
    pub synthesised: Gates,
    /// Estimate of the `area` model, under the assumption that memories consist of flip-flops. The flip-flop
    /// area includes the multiplexers that keep a register's value.
    pub estimated: Gates,
    /// Logic units in the description of the Rust model, by name, with the number of each and its total area
    /// in um2.
    pub pieces: BTreeMap<String, (u32, f64)>,
}

impl Block {
    /// Synthesizes the module to standard cells.
    ///
    /// # Errors
    /// Returns an error if Yosys is missing or rejects the module.
    pub fn synthesise(&self, size: Size, technology: &Technology) -> Result<Synthesis, Report> {
        let bench = (self.build)(size, Random::new(1));
        let parameters = bench.parameters();
        let name = self.kept_name(size, "cells");
        let cells = cells(&self.file(), &module_of(&self.path()), &parameters, technology, name.as_deref())?;
        let synthesised = Gates::of(&cells, technology);
        let (estimated, pieces) = estimate(&*bench, technology);
        Ok(Synthesis { parameters, cells, synthesised, estimated, pieces })
    }

    /// Returns the area that the `area` model estimates for the Rust model.
    #[must_use]
    pub fn estimate(&self, size: Size, technology: &Technology) -> Gates {
        estimate(&*(self.build)(size, Random::new(1)), technology).0
    }

    /// Returns the number of flip-flops that the module has with the given parameters.
    ///
    /// # Errors
    /// Returns an error if Yosys is missing or rejects the module.
    pub fn flip_flops(&self, parameters: &[(&str, u32)], technology: &Technology) -> Result<u64, Report> {
        let parameters: Vec<_> = parameters.iter().map(|(name, value)| (*name, value.to_string())).collect();
        let cells = cells(&self.file(), &module_of(&self.path()), &parameters, technology, None)?;
        Ok(Gates::of(&cells, technology).flip_flops)
    }

    /// Returns the number of input bits on which each bit of an output depends, beginning with the lowest
    /// output bit.
    ///
    /// # Errors
    /// Returns an error if Yosys is missing or rejects the module.
    pub fn fan_ins(
        &self,
        parameters: &[(&str, u32)],
        input: &str,
        (output, bits): (&str, u32),
    ) -> Result<Vec<usize>, Report> {
        let parameters: Vec<_> = parameters.iter().map(|(name, value)| (*name, value.to_string())).collect();
        let module = module_of(&self.path());
        let wires = ["opt_clean -purge".to_owned(), "splitnets -ports -format _".to_owned(), format!("cd {module}")];
        let (input, output) = (input_pin(input), output_pin(output));
        // For each output bit, Yosys lists the inputs of its logic cone, followed by a line that marks the
        // end of the list.
        let cones = (0..bits).flat_map(|bit| {
            [
                format!("tee -q -a out.txt select -list o:{output}_{bit} %ci* i:{input}_* %i"),
                format!("tee -q -a out.txt log {END}"),
            ]
        });
        let script = script(&self.file(), &module, &parameters, wires.into_iter().chain(cones))?;
        let text = written(&script, "")?;
        let lists = text.split(END).take(bits as usize);
        Ok(lists.map(|list| list.lines().filter(|line| line.contains('/')).count()).collect())
    }
}

/// Returns how often each standard cell occurs in a synthesized module, as counted by Yosys. Caches the
/// counts if `name` is given.
pub(super) fn cells(
    file: &Path,
    module: &str,
    parameters: &[(&str, String)],
    technology: &Technology,
    name: Option<&str>,
) -> Result<BTreeMap<String, u64>, Report> {
    let commands = [
        "dfflegalize -cell $_DFF_P_ x",
        "opt_merge",
        "dfflibmap -liberty cells.lib",
        "abc -liberty cells.lib",
        "opt_clean -purge",
        "tee -q -o out.txt stat",
    ];
    let script = script(file, module, parameters, commands.map(str::to_owned))?;
    let text = find_written(name, file, &script, &technology.liberty())?;
    let cell = |line: &str| {
        let (name, count) = line.trim().split_once(' ')?;
        technology.cell_um2(name)?;
        Some((name.to_owned(), count.trim().parse().ok()?))
    };
    Ok(text.lines().filter_map(cell).collect())
}

/// Returns the commands with which Yosys reads a module and those that it instantiates.
///
/// # Errors
/// Returns an error if a file cannot be read.
pub(super) fn read_commands(file: &Path, module: &str, parameters: &[(&str, String)]) -> Result<String, Report> {
    let set: String = parameters.iter().map(|(name, value)| format!(" -chparam {name} {value}")).collect();
    let read = |file: &PathBuf| {
        let as_black_box = if is_macro(file) { "-lib " } else { "" };
        format!("read_verilog -sv {as_black_box}{}\n", file.display())
    };
    let all: String = files(file)?.iter().map(read).collect();
    Ok(format!("{all}hierarchy -check -top {module}{set}\n"))
}

/// Returns a Yosys script that reads a module, maps it to gates, and then runs further commands.
///
/// # Errors
/// Returns an error if a file cannot be read.
pub(super) fn script(
    file: &Path,
    module: &str,
    parameters: &[(&str, String)],
    commands: impl IntoIterator<Item = String>,
) -> Result<String, Report> {
    let map = ["proc", "techmap -map resets.v", "synth -flatten -noabc"].map(str::to_owned);
    let rest = map.into_iter().chain(commands).collect::<Vec<_>>().join("\n");
    Ok(read_commands(file, module, parameters)? + &rest)
}

/// Returns what [`written`] returns for a script that reads a module's file. If `name` is given, runs the
/// script only if its output is not in the cache.
pub(super) fn find_written(name: Option<&str>, file: &Path, script: &str, liberty: &str) -> Result<String, Report> {
    let Some(name) = name else { return written(script, liberty) };
    let version = run_tool(Command::new("yosys").arg("-V"))?;
    let from = [script, RESETS, liberty, &version, &texts_of(&files(file)?)?];
    let kept = find_cached(name, &from, |to| fs::write(to, written(script, liberty)?).into_diagnostic())?;
    fs::read_to_string(kept).into_diagnostic()
}

/// Runs a Yosys script with the standard-cell library in `cells.lib`. Returns the contents of the file
/// `out.txt` that the script writes.
pub(super) fn written(script: &str, liberty: &str) -> Result<String, Report> {
    let folder = Scratch::new().into_diagnostic()?;
    let folder = folder.path();
    fs::write(folder.join("cells.lib"), liberty).into_diagnostic()?;
    fs::write(folder.join("resets.v"), RESETS).into_diagnostic()?;
    yosys(folder, script)?;
    fs::read_to_string(folder.join("out.txt")).into_diagnostic()
}

/// Returns two results of the `area` model for a Rust model: the estimated area, and the logic units that it
/// counts, by name.
pub(super) fn estimate(bench: &dyn Bench, technology: &Technology) -> (Gates, BTreeMap<String, (u32, f64)>) {
    let counts = count_structures(bench);
    let tree = Estimate::of(&counts, technology, Node::N45);
    let mut estimated = Gates { flip_flops: counts.bits, ..Gates::default() };
    let mut pieces = BTreeMap::new();
    tree.walk(&mut |_, block| {
        estimated.flip_flop_um2 += technology.flops(Node::N45, block.own_flops()).um2;
        for array in &block.arrays {
            let memory = Memory { kind: Kind::Flops, ..array.memory };
            estimated.flip_flop_um2 += technology.memory(Node::N45, &memory).um2;
            // CAM bit cells include their comparators. A CAM made of flip-flops needs additional comparators.
            if array.memory.kind == Kind::Cam {
                let Memory { entries, width, ports, .. } = array.memory;
                let search = Logic::Comparator { width, count: entries * ports.reads };
                estimated.logic_um2 += technology.logic(Node::N45, search).um2;
            }
        }
        for piece in &block.logic {
            let (number, um2) = pieces.entry(piece.name.to_owned()).or_insert((0, 0.0));
            (*number, *um2) = (*number + 1, *um2 + piece.um2);
            estimated.logic_um2 += piece.um2;
        }
    });
    (estimated, pieces)
}

/// Returns the memories, registers and logic units that a Rust model lists in its description.
pub(super) fn count_structures(bench: &dyn Bench) -> Counts {
    Counts::of(&SingleBlock(bench))
}

/// Wrapper that presents a single hardware block as if it were a whole machine, so that its description can
/// be read.
struct SingleBlock<'a>(&'a dyn Bench);

impl Blocks for SingleBlock<'_> {
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
