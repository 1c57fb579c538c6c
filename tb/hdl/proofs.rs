//! # Formal proofs
//! Each file in `rtl/hdl/proofs` instantiates the module at the same path, assumes that the inputs obey the
//! module's contract, and asserts a property. Yosys translates the module and the property into gates. ABC,
//! which comes with Yosys, searches for an inductive invariant that proves the property (command `pdr`), or
//! for the shortest counterexample (command `bmc3`), which is shown as a waveform.
//!
//! Registers start at 0, as in the Rust model. A proof holds only for the module sizes that it names.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use miette::{IntoDiagnostic, Report, WrapErr, miette};
use waves::atomic_file::Scratch;

use super::assertions::CheckerText;
use super::hierarchy::instantiated;
use super::lockstep::with_mistake;
use super::program::{run_tool, yosys};
use super::{Mistake, file_of, hdl_folder, module_of};

/// Formal proof of a property of a module, for module sizes that are small enough to be proven.
pub struct Proof {
    /// Rust module path of the module's testbench (`module_path!()`), from which the path of the proof
    /// follows.
    pub bench: &'static str,
    /// Module parameters of each size at which the property is proven, in the form `NAME=VALUE NAME=VALUE`.
    /// Deliberate mistakes are tested at the first size.
    pub sizes: fn() -> Vec<String>,
    /// Number of sizes at which a test proves the property, beginning with the first size. Tests skip the
    /// other sizes, since their proofs take longer.
    pub quick: usize,
    /// Deliberate mistakes, in the module or in the proof file, that violate the property.
    pub mistakes: &'static [Mistake],
}

inventory::collect!(Proof);

/// Size of the inductive invariant that proves a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invariant {
    /// Number of clauses of the invariant; 0 if the module has no registers.
    pub clauses: u32,
    /// Number of register bits that occur in the clauses of the invariant.
    pub register_bits: u32,
}

/// Shortest input sequence that violates a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterExample {
    /// Labels of the violated assertions.
    pub broken: Vec<String>,
    /// Number of cycles from reset to the violation, including the cycle of the violation.
    pub cycles: u32,
    /// Waveform of all signals until the violation, in VCD format.
    pub waveform: String,
}

/// Returns all formal proofs, sorted by path.
#[must_use]
pub fn proofs() -> Vec<&'static Proof> {
    let mut proofs: Vec<_> = inventory::iter::<Proof>.into_iter().collect();
    proofs.sort_by_key(|proof| proof.bench);
    proofs
}

impl Proof {
    /// Returns the path of the proof in `rtl/hdl/proofs/`, without file extension. It equals the path of the
    /// proven module in `rtl/hdl/`.
    #[must_use]
    pub fn path(&self) -> String {
        super::path_of(self.bench)
    }

    /// Returns a description of the proven property, taken from the title of the proof file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or has no title.
    pub fn property(&self) -> Result<String, Report> {
        let text = read(&self.file())?;
        let property = text.lines().find_map(|line| line.strip_prefix("// # Proof: "));
        property.map(str::to_owned).ok_or_else(|| miette!("{}: expected `// # Proof: ...`", self.file().display()))
    }

    /// Returns the labels of the assertions in the proof file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn labels(&self) -> Result<Vec<String>, Report> {
        let text = read(&self.file())?;
        let label = |before: &str| before.rsplit([' ', '\n']).next().map(str::to_owned);
        let mut labels: Vec<_> = text.split(" : assert (").filter_map(label).collect();
        // The text after the last ` : assert (` is not followed by an assertion, so its last word is no
        // label.
        labels.pop();
        Ok(labels)
    }

    /// Returns the name of the SystemVerilog module that wraps the proven module.
    fn top(&self) -> String {
        module_of(&self.path()) + "_proof"
    }

    /// Returns the path of the proof's SystemVerilog file.
    pub(super) fn file(&self) -> PathBuf {
        hdl_folder().join("proofs").join(self.path()).with_file_name(self.top() + ".sv")
    }

    /// Proves the property at the given module size, or returns a counterexample. If `mistake` is given, it
    /// is first inserted into the module or the proof file.
    ///
    /// # Errors
    /// Returns an error if Yosys is missing or rejects the module, or if the code that the mistake replaces
    /// does not occur exactly once.
    pub fn prove(&self, size: &str, mistake: Option<&Mistake>) -> Result<Result<Invariant, CounterExample>, Report> {
        let folder = Scratch::new().into_diagnostic()?;
        let folder = folder.path();
        self.gates(size, mistake, folder)?;
        let told = abc(folder, "scleanup; scorr; dc2; pdr")?;
        if let Some(proven) = proven(&told) {
            return Ok(Ok(proven));
        }
        // The ABC command `pdr` seldom finds the shortest counterexample, so the command `bmc3` searches for
        // it.
        let told = abc(folder, "bmc3 -F 100; write_cex -a steps.aiw")?;
        let cycles = told.split_once("was asserted in frame ").and_then(|(_, rest)| rest.split(['.', ' ']).next());
        let cycles = cycles.and_then(|frame| frame.parse::<u32>().ok());
        let cycles = cycles.ok_or_else(|| miette!("{}: neither proven nor broken:\n{told}", self.path()))?;
        let (broken, waveform) = replay(folder)?;
        Ok(Err(CounterExample { broken, cycles, waveform }))
    }

    /// Translates the module and the property into gates. Writes three files to the given folder: the gates
    /// (`proof.aig`), the names of their inputs, and the design before technology mapping.
    fn gates(&self, size: &str, mistake: Option<&Mistake>, folder: &Path) -> Result<(), Report> {
        let module = file_of(&self.path());
        let texts = [read(&self.file())?, read(&module)?];
        // The proof may instantiate modules beside the proven one.
        let others = instantiated(&texts)?.into_iter().filter(|file| *file != module);
        let others: String = others.map(|file| format!(" {}", file.display())).collect();
        // A deliberate mistake may be in the module's file or in the proof file.
        let stands_in = |text: &String| mistake.is_some_and(|mistake| text.contains(mistake.instead_of));
        if mistake.is_some() && !texts.iter().any(stands_in) {
            return Err(miette!("{}: no text for a mistake", self.path()));
        }
        let [proof, design] = texts.map(|text| match mistake.filter(|_| stands_in(&text)) {
            Some(mistake) => with_mistake(&text, mistake),
            None => Ok(text),
        });
        let (proof, design) = (proof?, design?);
        // The checker of the module states what callers guarantee, and is proven too. A mistake is proven
        // without it: the counterexample violates an assertion of the proof, and no assumption of the checker,
        // which may constrain outputs that are now wrong, excludes it.
        let checker = if mistake.is_none() { CheckerText::read(&self.path())? } else { None };
        let [checker, design] = match checker {
            Some(checker) => checker.in_module(&design)?,
            None => [String::new(), design],
        };
        for (name, text) in [("proof.sv", proof), ("checker.sv", checker), ("module.sv", design)] {
            fs::write(folder.join(name), text).into_diagnostic()?;
        }
        let top = self.top();
        let sizes = size.split_whitespace().filter_map(|one| one.split_once('='));
        let sizes = sizes.map(|(name, value)| format!("chparam -set {name} {value} {top}"));
        let read = format!("read_verilog -formal -sv proof.sv module.sv checker.sv{others}");
        let commands = [read].into_iter().chain(sizes).chain([
            format!("hierarchy -check -top {top}"),
            "proc; flatten; opt_clean; memory_map; setundef -init -zero; opt -fast".to_owned(),
            "async2sync; dffunmap; opt_clean; write_rtlil design.il".to_owned(),
            "formalff -clk2ff; setundef -anyseq -undriven; simplemap; techmap; abc -g AND -fast; opt_clean".to_owned(),
            "write_aiger -L -zinit -map inputs.aim proof.aig".to_owned(),
        ]);
        yosys(folder, &commands.collect::<Vec<_>>().join("\n")).map(drop)
    }
}

fn read(path: &Path) -> Result<String, Report> {
    fs::read_to_string(path).into_diagnostic().wrap_err_with(|| path.display().to_string())
}

/// Runs the model checker ABC on the gates and returns what it printed. The assumptions about the inputs
/// become part of the circuit (command `fold`).
fn abc(folder: &Path, commands: &str) -> Result<String, Report> {
    let commands = format!("read_aiger proof.aig; fold; strash; {commands}");
    run_tool(Command::new("yosys-abc").arg("-c").arg(commands).current_dir(folder))
}

fn proven(told: &str) -> Option<Invariant> {
    // Example of the parsed line: Invariant F[9] : 419 clauses with 53 flops (out of 60) ...
    let (_, invariant) = told.split_once("Invariant F[").filter(|_| told.contains("Property proved."))?;
    let mut numbers = invariant.split_whitespace().filter_map(|word| word.parse().ok());
    Some(Invariant { clauses: numbers.next()?, register_bits: numbers.next()? })
}

/// Replays a counterexample of the model checker ABC on the design. Returns the assertions that are violated
/// in its last cycle, and the waveform.
fn replay(folder: &Path) -> Result<(Vec<String>, String), Report> {
    let steps = read(&folder.join("steps.aiw"))?;
    // The model checker ABC appends an end mark to the last line of the counterexample. Yosys cannot parse
    // the mark there, so it is replaced by a line break.
    fs::write(folder.join("steps.aiw"), steps.replace("# DONE", "\n")).into_diagnostic()?;
    let told = yosys(
        folder,
        "read_rtlil design.il\nsim -clock clk_i -r steps.aiw -map inputs.aim -vcd steps.vcd -timescale 1ns",
    )?;
    // Example of the parsed line: Warning: Assert ws_l1_mshr_proof.filled (...) failed.
    let labels = told.split("Assert ").skip(1).filter_map(|rest| rest.split_whitespace().next()?.rsplit('.').next());
    let mut broken: Vec<_> = labels.map(str::to_owned).collect();
    broken.sort();
    broken.dedup();
    if broken.is_empty() {
        return Err(miette!("the steps of the counter-example break nothing:\n{told}"));
    }
    Ok((broken, read(&folder.join("steps.vcd"))?))
}
