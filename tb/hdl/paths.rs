//! # Combinational paths of a module
//! Yosys maps a module to gates with at most two inputs, for short paths rather than for few gates. The
//! longest path is counted in levels: the number of gates on it, inverters included. Levels need no cell
//! library. With a library of the user, ABC reports the delay in picoseconds instead.
//!
//! A second netlist, before that mapping, shows which inputs reach which outputs in the same cycle. It still
//! has the structure of the module's text, so that the result does not depend on the optimizations of ABC.
//!
//! As in [`Synthesis`](super::Synthesis), reset and enable of a register are gates in front of it.

use std::collections::BTreeMap;
use std::fmt;

use miette::{IntoDiagnostic, Report, WrapErr, miette};
use serde_json::Value;
use warpsieve::text::folded_within;

use super::synthesis::{find_written, script, written};
use super::{Block, Random, Size, module_of};

/// Commands of ABC that restructure the logic for few levels, and map it to gates. A comma stands for a
/// space. The two passes of `if -g` balance the logic by the arrival times of its inputs.
const FOR_SPEED: &str =
    "+strash;&get,-n;&fraig,-x;&put;scorr;dc2;strash;if,-g,-K,6;strash;if,-g,-K,6;strash;dch;map,-B,0.9";

/// Commands of ABC that map the logic to the cells of a library, size them, and print the longest delay.
const FOR_DELAY: &str = "+strash;&get,-n;&fraig,-x;&put;scorr;dc2;strash;if,-g,-K,6;strash;if,-g,-K,6;strash;\
                         &get,-n;&dch,-f;&nf;&put;buffer;upsize;dnsize;stime,-p";

/// Kind of a path, by what it starts and ends at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathKind {
    /// From a register to a register. It limits the clock, whatever surrounds the module.
    RegisterToRegister,
    /// From an input to a register.
    InputToRegister,
    /// From a register to an output.
    RegisterToOutput,
    /// From an input to an output in the same cycle.
    InputToOutput,
}

impl fmt::Display for PathKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::RegisterToRegister => "register to register",
            Self::InputToRegister => "input to register",
            Self::RegisterToOutput => "register to output",
            Self::InputToOutput => "input to output",
        })
    }
}

/// Longest combinational path of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongestPath {
    /// Number of gates on the path.
    pub levels: u32,
    /// Port or register at which the path starts.
    pub from: String,
    /// Port or register at which the path ends.
    pub to: String,
}

/// Inputs that reach an output in the same cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Name of the output.
    pub output: String,
    /// Names of the inputs, in the order of the module's ports; empty if the output depends on registers
    /// only.
    pub inputs: Vec<String>,
}

/// Returns a line for each set of outputs that the same inputs reach: the outputs, then the inputs.
fn describe_reach(reach: &[Reach]) -> Vec<String> {
    let mut groups: Vec<(Vec<&str>, &[String])> = Vec::new();
    for Reach { output, inputs } in reach {
        match groups.iter_mut().find(|(_, others)| others == inputs) {
            Some((outputs, _)) => outputs.push(output),
            None => groups.push((vec![output], inputs)),
        }
    }
    let line = |(outputs, inputs): (Vec<&str>, &[String])| {
        let inputs = if inputs.is_empty() { "registers only".to_owned() } else { inputs.join(" ") };
        format!("{}: {inputs}", outputs.join(" "))
    };
    groups.into_iter().map(line).collect()
}

/// Widest line of [`describe_block`], in characters.
const WIDTH: usize = 110;

/// Describes which inputs of a module reach which outputs: the path and the parameters of the module, then a
/// line for each set of outputs. Long lines continue with an indent.
#[must_use]
pub fn describe_block(block: &Block, size: Size, reach: &[Reach]) -> String {
    let lines = describe_reach(reach);
    let lines = lines.iter().map(|line| folded_within(WIDTH, &format!("  {line}"), 6) + "\n");
    [describe_parameters(block, size)].into_iter().chain(lines).collect()
}

/// Returns the path of a module and its parameters, as in the first line of [`describe_block`].
pub(super) fn describe_parameters(block: &Block, size: Size) -> String {
    let (parameters, _) = block.shape(size);
    let parameters: Vec<_> = parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    folded_within(WIDTH, &format!("{} at {}", block.path(), parameters.join(" ")), 2) + "\n"
}

/// Delay of a module with the cells of a library.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delay {
    /// Longest delay between registers and ports in picoseconds, without the setup time of a register.
    pub ps: f64,
    /// Area of all gates without the flip-flops, in the unit of the library.
    pub area: f64,
}

impl Block {
    /// Returns the longest combinational path of each kind that the module has.
    ///
    /// # Errors
    /// If Yosys is missing or rejects the module, or if the module has no path.
    pub fn longest_paths(&self, size: Size) -> Result<BTreeMap<PathKind, LongestPath>, Report> {
        let netlist = self.netlist(size, Some(FOR_SPEED), "levels")?;
        let longest = netlist.longest_paths()?;
        if longest.is_empty() {
            return Err(miette!("{}: Yosys found no combinational path", self.path()));
        }
        Ok(longest)
    }

    /// Returns the inputs that reach each output in the same cycle. The outputs are in the order of the
    /// module's ports.
    ///
    /// # Errors
    /// If Yosys is missing or rejects the module.
    pub fn reach(&self, size: Size) -> Result<Vec<Reach>, Report> {
        self.netlist(size, None, "reach")?.reach()
    }

    /// Maps the module to the cells of a library, given as text in the Liberty format, and returns its delay.
    ///
    /// # Errors
    /// If Yosys is missing or rejects the module or the library, or if ABC reports no delay.
    pub fn delay(&self, size: Size, library: &str) -> Result<Delay, Report> {
        let map = [
            "dfflegalize -cell $_DFF_P_ x".to_owned(),
            "opt_merge".to_owned(),
            "dfflibmap -liberty cells.lib".to_owned(),
            format!("tee -q -o out.txt abc -liberty cells.lib -script {FOR_DELAY}"),
        ];
        let parameters = (self.build)(size, Random::new(1)).parameters();
        let script = script(&self.file(), &module_of(&self.path()), &parameters, map)?;
        let told = written(&script, library)?;
        delay_in(&told).ok_or_else(|| miette!("{}: ABC printed no delay:\n{told}", self.path()))
    }

    /// Returns the netlist of the module. If commands of ABC are given, its logic is mapped to gates with at
    /// most two inputs.
    fn netlist(&self, size: Size, abc: Option<&str>, made: &str) -> Result<Netlist, Report> {
        let gates = abc.map(|commands| format!("abc -g gates -script {commands}"));
        let map = ["dfflegalize -cell $_DFF_P_ x", "opt_merge"].map(str::to_owned).into_iter().chain(gates);
        let commands = map.chain(["opt_clean -purge", "write_json out.txt"].map(str::to_owned));
        let parameters = (self.build)(size, Random::new(1)).parameters();
        let module = module_of(&self.path());
        let script = script(&self.file(), &module, &parameters, commands)?;
        let text = find_written(self.kept_name(size, made).as_deref(), &self.file(), &script, "")?;
        Netlist::new(&text, &module).wrap_err_with(|| self.path())
    }
}

/// Returns the last delay that ABC has printed.
fn delay_in(told: &str) -> Option<Delay> {
    // Example of the parsed line: ABC: WireLoad = "none"  Gates = 97 ( 3.1 %)  Cap = 1.9 ff ( 0.9 %)
    // Area = 120.00 ( 99.0 %)  Delay = 235.12 ps ( 6.2 %)
    let value =
        |line: &str, name: &str| -> Option<f64> { line.split_once(name)?.1.split_whitespace().next()?.parse().ok() };
    let delay = |line: &str| Some(Delay { ps: value(line, "Delay =")?, area: value(line, "Area =")? });
    told.lines().filter_map(delay).next_back()
}

/// Gate of a netlist. Wires are numbered by Yosys.
struct Gate {
    inputs: Vec<usize>,
    output: usize,
}

/// Flattened netlist of a module, as Yosys writes it (`write_json`).
struct Netlist {
    /// Wires of each input port, in the order of the ports.
    inputs: Vec<(String, Vec<usize>)>,
    /// Wires of each output port, in the order of the ports.
    outputs: Vec<(String, Vec<usize>)>,
    /// Data input, output wire and name of each flip-flop. A constant data input has no wire.
    registers: Vec<(Option<usize>, usize, String)>,
    gates: Vec<Gate>,
    /// Number of wires, including unused numbers.
    wires: usize,
}

impl Netlist {
    /// Parses a netlist.
    ///
    /// # Errors
    /// If the text is not a netlist of one module, or if it has a cell that is neither a gate nor a
    /// flip-flop.
    fn new(text: &str, module: &str) -> Result<Self, Report> {
        let design: Value = serde_json::from_str(text).into_diagnostic()?;
        let modules = entries(&design, "modules")?;
        let [(_, design)] = modules[..] else {
            return Err(miette!("the netlist has {} modules, expected {module} only", modules.len()));
        };
        let mut ports = [Vec::new(), Vec::new()];
        for (name, port) in entries(design, "ports")? {
            let direction = port["direction"].as_str();
            let side = ["input", "output"].iter().position(|known| direction == Some(known));
            let side = side.ok_or_else(|| miette!("port {name} is neither an input nor an output"))?;
            ports[side].push((name.to_owned(), wires(&port["bits"])));
        }
        // Yosys numbers the wires in the order of the ports.
        ports.iter_mut().for_each(|ports| ports.sort_by_key(|(name, wires)| (wires.first().copied(), name.clone())));
        let names = names(design)?;
        let (mut registers, mut gates) = (Vec::new(), Vec::new());
        for (name, cell) in entries(design, "cells")? {
            let kind = cell["type"].as_str().unwrap_or_default();
            let pins = entries(cell, "connections")?;
            let pin = |pin: &str| wires(&cell["connections"][pin]).first().copied();
            // Flip-flops and latches have an output `Q`, gates an output `Y`.
            let is_gate = kind.starts_with("$_") && kind != "$_TBUF_";
            if let (true, Some(q)) = (kind == "$_DFF_P_", pin("Q")) {
                // No path ends at a constant data input, but paths start at the flip-flop.
                let name = names.get(&q).cloned().unwrap_or_else(|| "unnamed register".to_owned());
                registers.push((pin("D"), q, name));
            } else if let (true, Some(output)) = (is_gate, pin("Y")) {
                let inputs = pins.iter().filter(|(name, _)| *name != "Y").flat_map(|(_, bits)| wires(bits)).collect();
                gates.push(Gate { inputs, output });
            } else {
                return Err(miette!("cell {name} is a {kind}, expected a gate or a flip-flop"));
            }
        }
        registers.sort_by(|a, b| (&a.2, a.0, a.1).cmp(&(&b.2, b.0, b.1)));
        let [inputs, outputs] = ports;
        let of_ports = inputs.iter().chain(&outputs).flat_map(|(_, wires)| wires.iter());
        let of_registers = registers.iter().flat_map(|(d, q, _)| d.iter().chain([q]));
        let of_gates = gates.iter().flat_map(|gate| gate.inputs.iter().chain([&gate.output]));
        let wires = of_ports.chain(of_registers).chain(of_gates).max().map_or(0, |last| last + 1);
        Ok(Self { inputs, outputs, registers, gates, wires })
    }

    /// Returns the gates in an order in which each one comes after those that drive its inputs.
    fn in_order(&self) -> Result<Vec<&Gate>, Report> {
        let mut readers = vec![Vec::new(); self.wires];
        let mut is_driven = vec![false; self.wires];
        for (at, gate) in self.gates.iter().enumerate() {
            gate.inputs.iter().for_each(|&wire| readers[wire].push(at));
            is_driven[gate.output] = true;
        }
        let mut missing: Vec<_> =
            self.gates.iter().map(|gate| gate.inputs.iter().filter(|&&wire| is_driven[wire]).count()).collect();
        let mut order: Vec<_> = (0..self.gates.len()).filter(|&at| missing[at] == 0).collect();
        let mut next = 0;
        while let Some(&at) = order.get(next) {
            next += 1;
            for &reader in &readers[self.gates[at].output] {
                missing[reader] -= 1;
                if missing[reader] == 0 {
                    order.push(reader);
                }
            }
        }
        if order.len() < self.gates.len() {
            return Err(miette!("{} gates are on combinational loops", self.gates.len() - order.len()));
        }
        Ok(order.into_iter().map(|at| &self.gates[at]).collect())
    }

    /// Returns the longest path of each kind. Of several with as many levels, it is the first one by its end.
    fn longest_paths(&self) -> Result<BTreeMap<PathKind, LongestPath>, Report> {
        // For each wire, the longest path from an input and from a register: its levels, and the name of its
        // start.
        let mut arrivals: Vec<[Option<(u32, &str)>; 2]> = vec![[None; 2]; self.wires];
        for (name, wires) in &self.inputs {
            wires.iter().for_each(|&wire| arrivals[wire][0] = Some((0, name)));
        }
        for (_, wire, name) in &self.registers {
            arrivals[*wire][1] = Some((0, name));
        }
        for gate in self.in_order()? {
            arrivals[gate.output] = [0, 1].map(|side: usize| {
                let before = gate.inputs.iter().filter_map(|&wire| arrivals[wire][side]);
                let later = before.reduce(|a, b| if b.0 > a.0 { b } else { a });
                later.map(|(levels, from)| (levels + 1, from))
            });
        }
        let to_outputs = self.outputs.iter().flat_map(|(name, wires)| wires.iter().map(move |wire| (*wire, name)));
        let to_outputs = to_outputs.map(|end| (end, [PathKind::InputToOutput, PathKind::RegisterToOutput]));
        let to_registers = self.registers.iter().filter_map(|(d, _, name)| Some(((*d)?, name)));
        let to_registers = to_registers.map(|end| (end, [PathKind::InputToRegister, PathKind::RegisterToRegister]));
        let mut longest: BTreeMap<_, LongestPath> = BTreeMap::new();
        for ((wire, to), kinds) in to_outputs.chain(to_registers) {
            for (arrival, kind) in arrivals[wire].iter().zip(kinds) {
                let Some((levels, from)) = *arrival else { continue };
                if longest.get(&kind).is_none_or(|other| levels > other.levels) {
                    longest.insert(kind, LongestPath { levels, from: from.to_owned(), to: to.clone() });
                }
            }
        }
        Ok(longest)
    }

    fn reach(&self) -> Result<Vec<Reach>, Report> {
        if self.inputs.len() > u128::BITS as usize {
            return Err(miette!("the module has {} inputs, expected 128 at most", self.inputs.len()));
        }
        let mut reached = vec![0u128; self.wires];
        for (at, (_, wires)) in self.inputs.iter().enumerate() {
            wires.iter().for_each(|&wire| reached[wire] |= 1 << at);
        }
        for gate in self.in_order()? {
            reached[gate.output] = gate.inputs.iter().fold(0, |set, &wire| set | reached[wire]);
        }
        let of_output = |(output, wires): &(String, Vec<usize>)| {
            let set = wires.iter().fold(0, |set, &wire| set | reached[wire]);
            let inputs = self.inputs.iter().enumerate().filter(|(at, _)| set >> at & 1 != 0);
            Reach { output: output.clone(), inputs: inputs.map(|(_, (name, _))| name.clone()).collect() }
        };
        Ok(self.outputs.iter().map(of_output).collect())
    }
}

/// Returns the fields of an object in a netlist.
fn entries<'a>(of: &'a Value, name: &str) -> Result<Vec<(&'a str, &'a Value)>, Report> {
    let fields = of[name].as_object().ok_or_else(|| miette!("the netlist has no `{name}`"))?;
    Ok(fields.iter().map(|(name, value)| (name.as_str(), value)).collect())
}

/// Returns the wires of a port or pin. Constants are left out.
fn wires(bits: &Value) -> Vec<usize> {
    let bits = bits.as_array().map_or(&[][..], Vec::as_slice);
    bits.iter().filter_map(|bit| bit.as_u64().map(|wire| wire as usize)).collect()
}

/// Returns the name of each wire in the text of the module. Of several, it is that of a register, if there is
/// one.
fn names(module: &Value) -> Result<BTreeMap<usize, String>, Report> {
    let mut named: BTreeMap<usize, (bool, String)> = BTreeMap::new();
    for (name, net) in entries(module, "netnames")? {
        if net["hide_name"].as_u64() != Some(0) {
            continue;
        }
        let is_register = name.split('[').next().is_some_and(|name| name.ends_with("_q"));
        for wire in wires(&net["bits"]) {
            let known = named.entry(wire).or_insert_with(|| (is_register, name.to_owned()));
            if is_register && !known.0 {
                *known = (true, name.to_owned());
            }
        }
    }
    Ok(named.into_iter().map(|(wire, (_, name))| (wire, name)).collect())
}

#[cfg(test)]
mod tests {
    use super::super::blocks;
    use super::*;

    /// Netlist of a module with an input `a`, an output `y = !a`, and a register that loads `a & q`.
    const NETLIST: &str = r#"{"modules": {"m": {
        "ports": {"y": {"direction": "output", "bits": [4]}, "a": {"direction": "input", "bits": [3]},
                  "one": {"direction": "output", "bits": ["1"]}},
        "cells": {
            "not": {"type": "$_NOT_", "connections": {"A": [3], "Y": [4]}},
            "and": {"type": "$_AND_", "connections": {"A": [3], "B": [6], "Y": [5]}},
            "ff": {"type": "$_DFF_P_", "connections": {"C": [2], "D": [5], "Q": [6]}}
        },
        "netnames": {"q_q": {"hide_name": 0, "bits": [6]}, "hidden": {"hide_name": 1, "bits": [5]}}
    }}}"#;

    #[test]
    fn paths_of_every_kind_are_found_in_a_netlist() {
        let netlist = Netlist::new(NETLIST, "m").unwrap();
        let longest = netlist.longest_paths().unwrap();
        let path = |levels, from: &str, to: &str| LongestPath { levels, from: from.to_owned(), to: to.to_owned() };
        let expected = [
            (PathKind::RegisterToRegister, path(1, "q_q", "q_q")),
            (PathKind::InputToRegister, path(1, "a", "q_q")),
            (PathKind::InputToOutput, path(1, "a", "y")),
        ];
        assert_eq!(longest, BTreeMap::from(expected));
        let reach = netlist.reach().unwrap();
        let inputs = |of: &str| &reach.iter().find(|reach| reach.output == of).unwrap().inputs[..];
        assert_eq!(inputs("y"), ["a"]);
        assert!(inputs("one").is_empty());
        let constant = NETLIST.replace("\"D\": [5]", "\"D\": [\"0\"]").replace("\"bits\": [4]", "\"bits\": [6]");
        let longest = Netlist::new(&constant, "m").unwrap().longest_paths().unwrap();
        assert_eq!(longest, BTreeMap::from([(PathKind::RegisterToOutput, path(0, "q_q", "y"))]));
    }

    #[test]
    fn loops_unknown_cells_and_several_modules_are_rejected() {
        let problem = |text: &str| match Netlist::new(text, "m").and_then(|netlist| netlist.reach()) {
            Err(problem) => problem.to_string(),
            Ok(_) => String::new(),
        };
        assert_eq!(
            problem(&NETLIST.replace("[6], \"Y\": [5]", "[5], \"Y\": [5]")),
            "1 gates are on combinational loops"
        );
        let latch = problem(&NETLIST.replace("$_DFF_P_", "$_DLATCH_P_"));
        assert_eq!(latch, "cell ff is a $_DLATCH_P_, expected a gate or a flip-flop");
        let buffer = problem(&NETLIST.replace("$_NOT_", "$_TBUF_"));
        assert_eq!(buffer, "cell not is a $_TBUF_, expected a gate or a flip-flop");
        assert_eq!(problem("{}"), "the netlist has no `modules`");
        assert_eq!(problem(r#"{"modules": {"m": {}, "n": {}}}"#), "the netlist has 2 modules, expected m only");
    }

    #[test]
    #[cfg_attr(not(has_yosys), ignore = "yosys or yosys-abc is not installed")]
    fn the_longest_path_has_the_levels_that_yosys_counts() {
        for path in ["dram/bank", "l1/tags"] {
            let block = blocks().into_iter().find(|block| block.path() == path).unwrap();
            let longest = block.longest_paths(Size::Small).unwrap();
            let parameters = (block.build)(Size::Small, Random::new(1)).parameters();
            let abc = format!("abc -g gates -script {FOR_SPEED}");
            let map =
                ["dfflegalize -cell $_DFF_P_ x", "opt_merge", &abc, "opt_clean -purge", "tee -o out.txt ltp -noff"];
            let commands = map.map(str::to_owned);
            let told = written(&script(&block.file(), &module_of(path), &parameters, commands).unwrap(), "").unwrap();
            let (_, length) = told.split_once("(length=").unwrap_or_else(|| panic!("{path}: {told}"));
            let levels: u32 = length.split(')').next().unwrap().parse().unwrap();
            assert_eq!(longest.values().map(|path| path.levels).max(), Some(levels), "{path}: {longest:?}");
        }
    }

    #[test]
    #[cfg_attr(not(has_yosys), ignore = "yosys or yosys-abc is not installed")]
    fn the_delay_follows_the_library() {
        const LIBRARY: &str = include_str!("cells.lib");
        let block = blocks().into_iter().find(|block| block.path() == "dram/refresh").unwrap();
        let delay = |library: &str| block.delay(Size::Small, library);
        let (slow, fast) = (delay(LIBRARY).unwrap(), delay(&LIBRARY.replace("\"1ns\"", "\"100ps\"")).unwrap());
        assert!(fast.ps > 0.0 && slow.ps > 5.0 * fast.ps && slow.area > 0.0, "{slow:?} {fast:?}");
        assert!(delay("library(none) {}").is_err());
    }

    #[test]
    fn the_delay_is_the_last_that_abc_prints() {
        let line = |ps: &str| {
            format!(
                "ABC: WireLoad = \"none\"  Gates = 9 ( 0.0 %)   Cap = 1.9 ff ( 0.0 %)   Area = 12.50 ( 9.0 %)   Delay = {ps} ps  ( 6.2 %)\n"
            )
        };
        let told = format!("{}ABC: Path 0 -- 1 : 0 2 pi Delay\n{}", line("300.5"), line("235.25"));
        assert_eq!(delay_in(&told), Some(Delay { ps: 235.25, area: 12.5 }));
        assert_eq!(delay_in("ABC: no cells"), None);
    }
}
