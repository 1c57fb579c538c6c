//! # What an engineer asks about a module first
//! The simulators that agree with the Rust model, the memories in the module, and its parameters whose values
//! are checked at elaboration.

use std::fs;

use miette::{IntoDiagnostic, Report, WrapErr};

use super::Block;
use super::hierarchy::{files, is_macro};

/// Modules in which Icarus 11 evaluates blocks that trigger each other without end. It agrees on the vectors of
/// all other modules, as a test shows.
pub(super) const ENDLESS_IN_ICARUS: [&str; 2] = ["l2/bank", "top"];

/// Modules whose synthesis with Yosys takes minutes even at the small size, and whose translation to a program
/// takes minutes at the size of `fermi`.
const LARGE: [&str; 7] = ["dram/channel", "l1/cache", "l1/coalescer", "l1/pending", "l2/bank", "noc/xbar", "top"];

/// Facts about a SystemVerilog module, apart from its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Names of the simulators in which the module agrees with the Rust model.
    pub simulators: Vec<&'static str>,
    /// Names of the modules below it that stand for memories of a technology: macros, and register files.
    pub memories: Vec<String>,
    /// Names of the parameters that a check at elaboration refuses if their values make no sense.
    pub checked_parameters: Vec<String>,
}

impl Block {
    /// Returns facts about the module from its text.
    ///
    /// # Errors
    /// Returns an error if the file of the module, or of one that it instantiates, cannot be read.
    pub fn survey(&self) -> Result<Survey, Report> {
        let file = self.file();
        let text = fs::read_to_string(&file).into_diagnostic().wrap_err_with(|| file.display().to_string())?;
        let is_endless = ENDLESS_IN_ICARUS.contains(&&*self.path());
        let instances = files(&file)?.into_iter().skip(1);
        let memories = instances.filter(|file| is_macro(file) || file.ends_with("ws_cells_register_file.sv"));
        let name = |file: std::path::PathBuf| Some(file.file_stem()?.to_str()?.to_owned());
        Ok(Survey {
            simulators: if is_endless { vec!["Verilator"] } else { vec!["Verilator", "Icarus"] },
            memories: memories.filter_map(name).collect(),
            checked_parameters: checked_parameters(&text),
        })
    }

    /// True if Yosys takes minutes to map the module to gates.
    pub(super) fn is_large(&self) -> bool {
        LARGE.contains(&&*self.path())
    }

    /// True if Yosys finds the paths through the module within minutes: the module is not large, and contains no
    /// memory macro, whose inside Yosys does not know.
    ///
    /// # Errors
    /// Returns an error if the file of the module, or of one that it instantiates, cannot be read.
    pub fn has_known_paths(&self) -> Result<bool, Report> {
        Ok(!self.is_large() && !files(&self.file())?.iter().any(|file| is_macro(file)))
    }
}

/// Returns the names with which the messages of `$error` in a module begin, each once.
fn checked_parameters(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for message in text.split("$error(\"").skip(1) {
        let name = message.split(' ').next().unwrap_or_default();
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::super::blocks;
    use super::*;

    #[test]
    fn memories_below_a_module_and_its_checked_parameters_are_found() {
        let of = |path: &str| blocks().into_iter().find(|block| block.path() == path).unwrap().survey().unwrap();
        assert_eq!(of("dram/channel").memories, ["ws_cells_sram"]);
        assert_eq!(of("l1/cache").memories, ["ws_cells_ram"]);
        assert_eq!(of("l2/bank").memories, ["ws_cells_register_file"]);
        assert_eq!(of("l2/bank").simulators, ["Verilator"]);
        let plain = of("tracker/transfers");
        assert_eq!(plain.memories, Vec::<String>::new());
        assert_eq!(plain.checked_parameters, ["ROWS", "SMS", "LINE_BITS", "TICKET_BITS"]);
    }

    #[test]
    fn a_parameter_with_two_checks_is_listed_once() {
        let text = "$error(\"WAYS is %0d\", WAYS); $error(\"SETS is %0d\", SETS); $error(\"WAYS must be\", 1);";
        assert_eq!(checked_parameters(text), ["WAYS", "SETS"]);
    }
}
