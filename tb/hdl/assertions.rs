//! # Assertions of a module
//! Some modules have a checker next to them, such as `rtl/hdl/l1/ws_l1_mshr_sva.sv`. A `bind` statement adds
//! it to the module. It states the contract of the module: the caller's side as assumptions, the module's
//! side as assertions. The lockstep simulations check both, and the proofs use the assumptions and prove the
//! assertions.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use miette::{IntoDiagnostic, Report, WrapErr, miette};

use super::hierarchy::texts_of;
use super::{Block, Mistake, file_of, module_of};

/// Deliberate violations of each property in the checker of a module.
pub struct Checker {
    /// Rust module path of the module's testbench (`module_path!()`), from which the path of the checker
    /// follows.
    pub bench: &'static str,
    /// Violations, each of a property that the simulation must report.
    pub violations: &'static [Violation],
}

inventory::collect!(Checker);

/// Deliberate violation of a property.
#[derive(Clone, Copy, Debug)]
pub struct Violation {
    /// Label of the property.
    pub property: &'static str,
    /// Change that violates the property.
    pub change: Change,
}

/// Change of a module or of its inputs that violates its contract.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// Mistake in the module.
    Module(Mistake),
    /// Caller that drives an input, given by its name without ending, with another value in every cycle.
    Input(&'static str, &'static str),
}

impl Violation {
    /// Creates a violation by a mistake in the module.
    #[must_use]
    pub const fn by_module(property: &'static str, instead_of: &'static str, is: &'static str) -> Self {
        Self { property, change: Change::Module(Mistake::new(instead_of, is)) }
    }

    /// Creates a violation by a caller that always drives an input with the given value.
    #[must_use]
    pub const fn by_input(property: &'static str, input: &'static str, value: &'static str) -> Self {
        Self { property, change: Change::Input(input, value) }
    }
}

/// Returns all checkers with their violations, sorted by path.
#[must_use]
pub fn checkers() -> Vec<&'static Checker> {
    let mut checkers: Vec<_> = inventory::iter::<Checker>.into_iter().collect();
    checkers.sort_by_key(|checker| checker.bench);
    checkers
}

/// Text of a checker, without the statement that binds it to its module.
#[derive(Clone, Debug)]
pub(super) struct CheckerText {
    /// Text before and after the `bind` statement.
    around: [String; 2],
    /// Name of the module to which the checker is bound.
    module: String,
    /// Instance of the checker, as it would stand in the module.
    instance: String,
}

impl CheckerText {
    /// Reads the checker of the module at a path in `rtl/hdl/`. Returns `None` if the module has none.
    pub fn read(path: &str) -> Result<Option<Self>, Report> {
        let file = checker_file(path);
        if !file.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&file).into_diagnostic().wrap_err_with(|| file.display().to_string())?;
        let module = module_of(path);
        let parts = text.split_once(&format!("\nbind {module} ")).and_then(|(before, rest)| {
            let (instance, after) = rest.split_once(";\n")?;
            Some((before, instance, after))
        });
        let missing = || miette!("{}: expected a statement `bind {module} ...;`", file.display());
        let (before, instance, after) = parts.ok_or_else(missing)?;
        let around = [format!("{before}\n"), after.to_owned()];
        Ok(Some(Self { around, module, instance: format!("{instance};\n") }))
    }

    /// Returns the text of the checker, bound to modules with other names.
    pub fn bound_to(&self, modules: &[String]) -> String {
        let [before, after] = &self.around;
        let binds: String = modules.iter().map(|module| format!("bind {module} {}", self.instance)).collect();
        format!("{before}{binds}{after}")
    }

    /// Returns the text of the checker, not bound to any module, and the text of the module with an instance
    /// of the checker. Yosys 0.23 reads `bind`, but adds nothing to a module with parameters.
    pub fn in_module(&self, text: &str) -> Result<[String; 2], Report> {
        let (before, after) =
            text.rsplit_once("endmodule").ok_or_else(|| miette!("{}: expected `endmodule`", self.module))?;
        Ok([self.around.concat(), format!("{before}{}endmodule{after}", self.instance)])
    }

    /// Returns the labels of all properties.
    #[cfg(test)]
    pub fn properties(&self) -> BTreeSet<String> {
        let property = |line: &str| {
            let line = line.strip_prefix("  `WS_ASSERT(").or_else(|| line.strip_prefix("  `WS_ASSUME("))?;
            line.split(',').next().map(str::to_owned)
        };
        self.around.iter().flat_map(|text| text.lines()).filter_map(property).collect()
    }
}

/// Returns the file of the checker of the module at a path in `rtl/hdl/`.
pub(super) fn checker_file(path: &str) -> PathBuf {
    file_of(&format!("{path}_sva"))
}

/// Returns the texts of the checkers of the given modules, as far as they have one.
pub(super) fn checkers_of(modules: &[PathBuf]) -> Result<String, Report> {
    let checker = |file: &PathBuf| {
        let name = file.file_stem().and_then(OsStr::to_str).unwrap_or_default();
        file.with_file_name(format!("{name}_sva.sv"))
    };
    let files: Vec<_> = modules.iter().map(checker).filter(|file| file.exists()).collect();
    texts_of(&files)
}

/// Returns the properties that failed in each copy of a module, from the messages of a verilated program.
pub(super) fn failures(told: &str, copies: usize) -> Vec<BTreeSet<String>> {
    let mut failed = vec![BTreeSet::new(); copies];
    for message in told.lines() {
        // Example of the parsed line: [0] %Error: checker.sv:9: Assertion failed in TOP.top.dut3.i_sva.room: ...
        let Some((_, place)) = message.split_once("Assertion failed in ") else { continue };
        let mut scopes = place.split(": ").next().unwrap_or_default().split('.');
        let copy = scopes.find_map(|scope| scope.strip_prefix("dut")?.parse::<usize>().ok());
        if let (Some(set), Some(property)) = (copy.and_then(|copy| failed.get_mut(copy)), scopes.next_back()) {
            set.insert(property.to_owned());
        }
    }
    failed
}

impl Block {
    /// Returns the checker of the module, if it has one.
    pub(super) fn checker(&self) -> Result<Option<CheckerText>, Report> {
        CheckerText::read(&self.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_attributed_to_the_copy_that_failed() {
        let line =
            |place: &str| format!("[0] %Error: checker.sv:9: Assertion failed in TOP.top.{place}: 'assert' failed.\n");
        let told = [line("dut1.i_sva.one_way"), "-Info: ignored\n".to_owned(), line("dut1.i_sva.room")].concat();
        let expected = [vec![], vec!["one_way", "room"]];
        let expected = expected.map(|set| set.into_iter().map(str::to_owned).collect::<BTreeSet<_>>());
        assert_eq!(failures(&told, 2), expected);
    }

    #[test]
    fn a_checker_is_bound_to_copies_and_stands_in_a_module() {
        let checker = CheckerText::read("l1/mshr").unwrap().unwrap();
        assert!(CheckerText::read("l1/tags").unwrap().is_none());
        let bound = checker.bound_to(&["a".to_owned(), "b".to_owned()]);
        assert!(
            bound.contains("\nbind a ws_l1_mshr_sva #(") && bound.contains("\nbind b ws_l1_mshr_sva #("),
            "{bound}"
        );
        let [text, module] = checker.in_module("module m;\nendmodule\n").unwrap();
        assert!(module.starts_with("module m;\nws_l1_mshr_sva #(") && module.ends_with(") i_sva (.*);\nendmodule\n"));
        assert!(text.contains("\n  `WS_ASSERT(") && text.contains("\n  `WS_ASSUME(") && !text.contains("\nbind "));
        assert!(checker.properties().contains("offer_stable"));
    }
}
